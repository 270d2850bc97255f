// Texts of failures that only io/connection-diagnosis finds; they come with it.

yaa.define('i18n/connection-diagnosis', ['ui/i18n'], ({ extend }) => {
  const en = {
    'fail.title.cors': 'The server does not allow this page',
    'fail.title.permission': 'The browser wants your permission',
    'fail.title.mixed': 'A secure page may not call an http server',
    'fail.cors': 'It answers, but not to this page. Add this page’s origin to server.cors_origins, or open the client from the server itself.',
    'fail.permission': 'A page from the internet reaches your own network only if you allow it. Look for the question at the address bar, or open the client from the server or from disk.',
    'fail.mixed': 'This page came over https and the server listens on http. Open the client from the server itself, or from disk.',
  }
  const zh = {
    'fail.title.cors': '服务器不允许本页访问',
    'fail.title.permission': '浏览器需要你的许可',
    'fail.title.mixed': '安全页面不能访问 http 服务器',
    'fail.cors': '它有回应，但不回应本页。请把本页的来源加入 server.cors_origins，或直接从服务器打开客户端。',
    'fail.permission': '来自互联网的页面要经过你的许可才能访问你的网络。请看地址栏旁的提问，或从服务器或磁盘打开客户端。',
    'fail.mixed': '本页通过 https 打开，而服务器使用 http。请从服务器或磁盘打开客户端。',
  }
  extend({ en, zh })
  return { en, zh }
})
