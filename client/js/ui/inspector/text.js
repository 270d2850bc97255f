// The words of the inspector are added to the page's when the inspector is.

yaa.define('ui/inspector/text', ['ui/text', 'i18n/inspect-en', 'i18n/inspect-zh'], (texts, en, zh) => {
  texts.extend({ en, zh })
  return texts
})
