// Texts of a saved page.

yaa.define('ext/saved/texts', ['ui/i18n'], ({ extend }) => extend({
  en: {
    'standalone.label': 'A saved session',
    'standalone.note': 'This page holds one session{date}. Nothing is sent or stored until you say so.',
    'standalone.joined': 'This session is in memory only.',
    'standalone.continue': 'Continue …',
    'standalone.keep': 'Keep in this browser',
    'standalone.keepFailed': 'This browser does not let the page store anything.',
    'standalone.joinHint': 'The session goes on at a yaa server. The key stays in memory, and nothing is sent before you write.',
    'standalone.keyHint': 'Printed by the server when it starts.',
    'standalone.connect': 'Connect',
  },
  zh: {
    'standalone.label': '保存的会话',
    'standalone.note': '此网页保存了一个会话{date}。未经你同意，不会发送或存储任何内容。',
    'standalone.joined': '此会话目前只在内存中。',
    'standalone.continue': '继续对话…',
    'standalone.keep': '保存到此浏览器',
    'standalone.keepFailed': '此浏览器不允许该网页存储数据。',
    'standalone.joinHint': '会话将在 yaa 服务器上继续。密钥只留在内存中，你发送消息之前不会传出任何内容。',
    'standalone.keyHint': '服务器启动时会显示密钥。',
    'standalone.connect': '连接',
  },
}))
