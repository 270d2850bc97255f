// Texts of the cards of calls; they come with the first of them.

yaa.define('i18n/calls', ['ui/i18n'], ({ extend }) => {
  const en = {
    'tool.stopped': 'stopped after {time}{n, plural, =0 {} one {, # line} other {, # lines}}',
  }
  const zh = {
    'tool.stopped': '{time} 后停止{n, plural, =0 {} other {，# 行}}',
  }
  extend({ en, zh })
  return { en, zh }
})
