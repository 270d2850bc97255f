// The words of the inspector are added to the page's when the inspector is.

yaa.define('ui/inspector/i18n', ['ui/i18n', 'i18n/inspector-en', 'i18n/inspector-zh'], (texts, en, zh) => {
  texts.extend({ en, zh })
  return texts
})
