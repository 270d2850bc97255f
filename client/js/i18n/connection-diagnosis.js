// Texts of failures that only io/connection-diagnosis finds; they come with it.

yaa.define('i18n/connection-diagnosis', ['ui/i18n'], ({ extend }) => {
  const en = {
    'fail.title.cors': 'The server does not allow this page',
    'fail.title.permission': 'The browser wants your permission',
    'fail.title.mixed': 'A secure page may not call an http server',
    'fail.check.server': 'Server',
    'fail.check.key': 'Key',
    'fail.check.cors': 'Cross-origin access',
    'fail.check.permission': 'Browser permission',
    'fail.ok': 'works',
    'fail.bad': 'here is the problem',
    'fail.unknown': 'not known yet',
    'fail.other': 'The server answered with an error; its log says more.',
    'fail.key': 'Open a link of the server: “{command} link” prints one. Or paste a key.',
    'fail.keyRefused': 'The server does not know this key. “{command} link” prints a link that signs in.',
    'fail.signIn': 'Sign in',
    'fail.server': 'Nothing answers at {url}. Is it running? Start it with “{command}” and check the address.',
    'fail.title.slow': 'The server has not answered yet',
    'fail.title.busy': 'The server is busy',
    'fail.title.foreign': 'Something else answered',
    'fail.title.cut': 'The answer broke off',
    'fail.cors': 'It answers, but not to this page. Add this page’s origin to server.cors_origins, or open the client from the server itself.',
    'fail.permission': 'A page from the internet reaches your own network only if you allow it. Look for the question at the address bar, or open the client from the server or from disk.',
    'fail.mixed': 'This page came over https and the server listens on http. Open the client from the server itself, or from disk.',
  }
  const zh = {
    'fail.title.cors': '服务器不允许本页访问',
    'fail.title.permission': '浏览器需要你的许可',
    'fail.title.mixed': '安全页面不能访问 http 服务器',
    'fail.check.server': '服务器',
    'fail.check.key': '密钥',
    'fail.check.cors': '跨源访问',
    'fail.check.permission': '浏览器许可',
    'fail.ok': '正常',
    'fail.bad': '问题在这里',
    'fail.unknown': '还不清楚',
    'fail.other': '服务器返回了错误，日志里有更多信息。',
    'fail.key': '请打开服务器的链接：“{command} link” 会打印一个。也可以粘贴密钥。',
    'fail.keyRefused': '服务器不认识这个密钥。“{command} link” 会打印用于登录的链接。',
    'fail.signIn': '登录',
    'fail.server': '{url} 没有回应。它在运行吗？用“{command}”启动它，并检查地址。',
    'fail.title.slow': '服务器尚未回应',
    'fail.title.busy': '服务器正忙',
    'fail.title.foreign': '回应的不是服务器',
    'fail.title.cut': '回应中断了',
    'fail.cors': '它有回应，但不回应本页。请把本页的来源加入 server.cors_origins，或直接从服务器打开客户端。',
    'fail.permission': '来自互联网的页面要经过你的许可才能访问你的网络。请看地址栏旁的提问，或从服务器或磁盘打开客户端。',
    'fail.mixed': '本页通过 https 打开，而服务器使用 http。请从服务器或磁盘打开客户端。',
  }
  extend({ en, zh })
  return { en, zh }
})
