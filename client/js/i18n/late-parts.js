// Texts of small parts that come after the page.

yaa.define('i18n/late-parts', ['ui/i18n'], ({ extend }) => {
  const en = {
    'queue.edit': 'Edit the waiting message',
    'queue.remove': 'Take it out',
    'queue.removed': 'Taken out.',
    'queue.now': 'Send now',
    'queue.interrupt': 'Stop and send',
    'queue.interruptHint': 'Stops the run and sends this at once. Otherwise it is sent when the run has ended.',
    'drop.attach': 'Let go to attach these files',
    'drop.import': 'Let go to import sessions',
    'later.updated': 'The server was updated. Reload the page to go on; what you wrote stays.',
    'later.reload': 'Reload',
    'say.ready': '{n, plural, one {Answer ready, # word} other {Answer ready, # words}}',
    'say.approval': 'Approval needed: {tool}',
    'say.question': 'yaa has a question',
    'say.limit': 'A limit was reached',
    'say.failed': 'The run failed',
    'wait.retry': '{cause} · Try {attempt} of {of} in {left}.',
    'wait.again': '{cause} · Try {attempt} of {of} is on its way.',
    'wait.model': 'The model has said nothing for {waited}. Try {attempt} of {of}.',
    'wait.interval': 'The next call of the model is in {left}, as this session’s pause between calls says.',
    'wait.place': 'Waiting for its turn for {waited}: others are at work.',
  }
  const zh = {
    'queue.edit': '修改等待发送的消息',
    'queue.remove': '移出队列',
    'queue.removed': '已移出队列。',
    'queue.now': '立即发送',
    'queue.interrupt': '停止并发送',
    'queue.interruptHint': '停止当前运行并立即发送；否则会在运行结束后发送。',
    'drop.attach': '松开即可添加这些文件',
    'drop.import': '松开即可导入会话',
    'later.updated': '服务器已更新。请重新加载页面后继续，已输入的内容会保留。',
    'later.reload': '重新加载',
    'say.ready': '{n, plural, other {回答完成，共 # 个词}}',
    'say.approval': '需要批准：{tool}',
    'say.question': 'yaa 有个问题',
    'say.limit': '到达上限',
    'say.failed': '运行失败',
    'wait.retry': '{cause} · {left}后进行第 {attempt} 次尝试，共 {of} 次。',
    'wait.again': '{cause} · 正在进行第 {attempt} 次尝试，共 {of} 次。',
    'wait.model': '模型已有 {waited} 没有回应。这是第 {attempt} 次尝试，共 {of} 次。',
    'wait.interval': '按本会话设置的调用间隔，{left}后再次调用模型。',
    'wait.place': '正在排队，已等待 {waited}：其他人正在使用。',
  }
  extend({ en, zh })
  return { en, zh }
})
