// Texts of citations; they come with the scripts that need them.

yaa.define('ext/citations/texts', ['ui/i18n'], ({ extend }) => extend({
  en: {
    'cite.label': 'Source {id}: {title}',
    'cite.panel': 'Source {id}',
    'cite.read': 'What the model read',
    'cite.nothing': 'No passage of it was given.',
    'cite.open': 'Open the page',
    'cite.document': 'A document',
    'cite.page': 'page {page}',
    'cite.close': 'Close',
  },
  zh: {
    'cite.label': '来源 {id}：{title}',
    'cite.panel': '来源 {id}',
    'cite.read': '模型读到的内容',
    'cite.nothing': '没有给出其中的段落。',
    'cite.open': '打开页面',
    'cite.document': '文档',
    'cite.page': '第 {page} 页',
    'cite.close': '关闭',
  },
}))
