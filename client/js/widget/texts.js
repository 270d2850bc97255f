// Words of the widget, in the language of the page it is on.

yaa.define('widget/texts', ['core/message-format'], ({ format }) => {
  /** @type {Record<string, Record<string, string>>} */
  const TEXTS = {
    en: {
      title: 'Assistant', open: 'Open the assistant', close: 'Close', reset: 'New conversation', placeholder: 'Write a message …', message: 'Message',
      send: 'Send', stop: 'Stop', working: 'Working …', waits: 'Waiting for your answer.', typed: '“yes” allows it, other words deny it and are the reason.', ready: 'Answer ready.', allow: 'Allow', deny: 'Deny', answer: 'Answer', skip: 'Don’t answer',
      asks: '{tool} wants to run', question: 'The model asks:', askServer: 'The server {server} asks (tool {tool}), and gets your answer:', askTool: 'The tool {tool} asks, and gets your answer:', secret: 'Tell no key, password or token of yours here.', more: 'Go on', limit: 'The run reached its limit.', again: 'Try again', lost: 'Connection lost – trying again …',
      unclear: 'It is not known whether {tool} ran.', skipCall: 'Leave it', failed: 'That did not work: {detail}',
      'io.aborted': 'Stopped.', 'io.network': 'The server cannot be reached.', 'io.timeout': 'The server did not answer in time.', 'io.busy': 'The server is busy. {detail}',
      'io.foreign': 'Something else answered in place of the server.', 'io.refused': 'The server refused this.', 'io.cut': 'The answer of the server broke off.',
      used: 'used {tool}', using: 'uses {tool}', cut: 'Cut off here.', stopped: 'Stopped.', conversation: 'Conversation', you: 'You', image: 'Picture: {alt}',
    },
    zh: {
      title: '助手', open: '打开助手', close: '关闭', reset: '新对话', placeholder: '输入消息…', message: '消息',
      send: '发送', stop: '停止', working: '处理中…', waits: '等待你的回应。', typed: '“好”表示允许，其他文字表示拒绝并作为理由。', ready: '回答完毕。', allow: '允许', deny: '拒绝', answer: '回答', skip: '不回答',
      asks: '{tool} 请求运行', question: '模型提问：', askServer: '服务器 {server} 在提问（工具 {tool}），你的回答会交给它：', askTool: '工具 {tool} 在提问，你的回答会交给它：', secret: '不要在这里说出你的密钥、密码或令牌。', more: '继续', limit: '运行已达到限制。', again: '重试', lost: '连接中断，正在重试…',
      unclear: '无法确定 {tool} 是否已运行。', skipCall: '跳过', failed: '操作未成功：{detail}',
      'io.aborted': '已停止。', 'io.network': '无法连接服务器。', 'io.timeout': '服务器没有及时回应。', 'io.busy': '服务器正忙。{detail}',
      'io.foreign': '回应的不是服务器。', 'io.refused': '服务器拒绝了此请求。', 'io.cut': '服务器的回应中途断开。',
      used: '使用了 {tool}', using: '正在使用 {tool}', cut: '在此处中断。', stopped: '已停止。', conversation: '对话', you: '你', image: '图片：{alt}',
    },
  }

  /** @param {string} [wanted] a language; without it the page's, then the browser's */
  function textsFor(wanted) {
    const tags = [wanted, document.documentElement.lang, ...navigator.languages].map((tag) => (tag ?? '').split('-')[0])
    const language = tags.find((tag) => tag in TEXTS) ?? 'en'
    /** @param {string} key @param {Record<string, any>} [values] */
    return (key, values = {}) => format(TEXTS[language][key] ?? key, values, language)
  }

  return { textsFor }
})
