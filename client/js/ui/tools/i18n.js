// The words of the pictures of tool calls are added to the page's when the pictures are.

yaa.define('ui/tools/i18n', ['ui/i18n', 'i18n/tools-en', 'i18n/tools-zh'], (texts, en, zh) => {
  texts.extend({ en, zh })
  return texts
})
