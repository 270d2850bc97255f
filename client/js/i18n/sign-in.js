// Texts of links that sign a browser in.

yaa.define('i18n/sign-in', ['ui/i18n'], ({ extend }) => extend({
  en: {
    'link.in': 'Signed in with the key from the link.',
    'link.still': 'You stay signed in with the key that is kept here.',
    'link.used': 'The link was used already, or is older than 10 minutes. For a new one run “{command} link” where the server runs.',
    'link.noKey': 'the server sent no key',
    'link.failed': 'The link could not be used: {detail}',
    'link.replace': 'Sign in with another key?',
    'link.replaceText': 'A link brought another key{named} for {address}. With it this browser forgets the key that is kept here. What you write then goes to the sessions, files and agents of whoever owns that key. To get back to your own you need your own key.',
    'link.first': 'Sign in with the key of this link?',
    'link.firstText': 'A link brought a key{named} for {address}, and it may be that another website opened it. What you write then goes to the sessions, files and agents of whoever owns that key. Go on only if you wanted to sign in.',
    'link.named': ' (“{name}”)',
    'link.keep': 'Keep my key',
    'link.refuse': 'Don’t sign in',
    'link.use': 'Use the link’s key',
  },
  zh: {
    'link.in': '已用链接里的密钥登录。',
    'link.still': '你仍以保存在这里的密钥登录。',
    'link.used': '该链接已被使用，或已超过 10 分钟。要得到新的链接，请在运行服务器的地方执行“{command} link”。',
    'link.noKey': '服务器没有发来密钥',
    'link.failed': '链接无法使用：{detail}',
    'link.replace': '改用另一个密钥登录？',
    'link.replaceText': '一个链接带来了 {address} 的另一个密钥{named}。使用它之后，此浏览器会忘掉保存在这里的密钥。之后你写的内容会进入该密钥所有者的会话、文件和智能体；没有你自己的密钥，就无法再得到你自己的那些。',
    'link.first': '用此链接的密钥登录？',
    'link.firstText': '一个链接带来了 {address} 的密钥{named}，它可能是由另一个网站打开的。之后你写的内容会进入该密钥所有者的会话、文件和智能体。只有在你确实想登录时才继续。',
    'link.named': '（“{name}”）',
    'link.keep': '保留我的密钥',
    'link.refuse': '不登录',
    'link.use': '使用链接的密钥',
  },
}))
