// Texts of signing in on another device, in both languages.

yaa.define('ext/device-link/texts', ['ui/i18n'], ({ extend }) => extend({
  en: {
    'link.title': 'Another device',
    'link.lead': 'A link signs another browser, or a phone, in with this browser’s key.',
    'link.make': 'Make a link',
    'link.label': 'Link that signs a browser in',
    'link.once': 'It can be used once, within 10 minutes. Whoever opens it first is signed in.',
    'link.local': 'This address works on the server’s own machine only: for a phone, start it with “{command} --host 0.0.0.0”, so that it listens on your network.',
    'link.qr': 'QR code of the link',
    'link.noQr': 'The link is too long for a QR code.',
  },
  zh: {
    'link.title': '另一台设备',
    'link.lead': '用一个链接，让另一个浏览器或手机以此浏览器的密钥登录。',
    'link.make': '创建链接',
    'link.label': '用于登录浏览器的链接',
    'link.once': '只能使用一次，10 分钟内有效。最先打开它的人即登录。',
    'link.local': '此地址只在服务器自己的机器上有效：要用手机访问，请用“{command} --host 0.0.0.0”启动它，使它监听你的网络。',
    'link.qr': '链接的二维码',
    'link.noQr': '链接太长，无法生成二维码。',
  },
}))
