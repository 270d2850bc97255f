// Texts of the buttons of a block of code; they come with the scripts that need them.

yaa.define('i18n/code', ['ui/i18n'], ({ extend }) => extend({
  en: {
    'artifact.open': 'Show it',
    'code.copy': 'Copy code',
    'code.wrap': 'Wrap long lines',
    'code.numbers': 'Line numbers',
    'code.download': 'Save code as a file',
  },
  zh: {
    'artifact.open': '预览',
    'code.copy': '复制代码',
    'code.wrap': '长行换行',
    'code.numbers': '行号',
    'code.download': '将代码保存为文件',
  },
}))
