// Adds the texts of files to those of the page.

yaa.define('ui/files/i18n', ['ui/i18n', 'i18n/files-en', 'i18n/files-zh'], (texts, en, zh) => {
  texts.extend({ en, zh })
  return texts
})
