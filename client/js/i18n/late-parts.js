// Texts of small parts that come after the page.

yaa.define('i18n/late-parts', ['ui/i18n'], ({ extend }) => {
  const en = {
    'queue.edit': 'Edit the waiting message',
    'queue.remove': 'Take it out',
    'queue.now': 'Send now',
    'queue.interrupt': 'Stop and send',
    'queue.interruptHint': 'Stops the run and sends this at once. Otherwise it is sent when the run has ended.',
    'drop.attach': 'Let go to attach these files',
    'drop.import': 'Let go to import sessions',
    'later.updated': 'The server was updated. Reload the page to go on; what you wrote stays.',
    'later.reload': 'Reload',
  }
  const zh = {
    'queue.edit': '修改等待发送的消息',
    'queue.remove': '移出队列',
    'queue.now': '立即发送',
    'queue.interrupt': '停止并发送',
    'queue.interruptHint': '停止当前运行并立即发送；否则会在运行结束后发送。',
    'drop.attach': '松开即可添加这些文件',
    'drop.import': '松开即可导入会话',
    'later.updated': '服务器已更新。请重新加载页面后继续，已输入的内容会保留。',
    'later.reload': '重新加载',
  }
  extend({ en, zh })
  return { en, zh }
})
