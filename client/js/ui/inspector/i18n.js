// Adds the texts of the inspector to those of the page.

yaa.define('ui/inspector/i18n', ['ui/i18n', 'i18n/inspector-en', 'i18n/inspector-zh'], (texts, en, zh) => {
  texts.extend({ en, zh })
  return texts
})
