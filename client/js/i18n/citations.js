// Texts of citations; they come with the scripts that need them.

yaa.define('i18n/citations', ['ui/i18n'], ({ extend }) => {
  const en = {
    'cite.label': 'Source {id}: {title}',
    'cite.panel': 'Source {id}',
    'cite.read': 'What the model read',
    'cite.nothing': 'The search gave no passage of this page.',
    'cite.open': 'Open the page',
    'cite.close': 'Close',
  }
  const zh = {
    'cite.label': '来源 {id}：{title}',
    'cite.panel': '来源 {id}',
    'cite.read': '模型读到的内容',
    'cite.nothing': '搜索没有给出此页面的段落。',
    'cite.open': '打开页面',
    'cite.close': '关闭',
  }
  extend({ en, zh })
  return { en, zh }
})
