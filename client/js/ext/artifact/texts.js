// Texts of the preview; they come with the scripts that need them.

yaa.define('ext/artifact/texts', ['ui/i18n'], ({ extend }) => extend({
  en: {
    'artifact.title': 'Preview',
    'artifact.close': 'Close the preview',
    'artifact.frame': 'Preview of a page',
    'artifact.note': 'Runs in a closed frame, without access to this page. It has no network, except that the browser may look up and connect to hosts that it names. Don’t type secrets into it.',
  },
  zh: {
    'artifact.title': '预览',
    'artifact.close': '关闭预览',
    'artifact.frame': '网页预览',
    'artifact.note': '在隔离的框架中运行，无法访问本页面，也不能联网；但浏览器可能会查询并连接它提到的主机。请勿在其中输入密码等敏感信息。',
  },
}))
