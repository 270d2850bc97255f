// Adds the texts of the server's settings to those of the page.

yaa.define('ui/server/i18n', ['ui/i18n', 'i18n/server-en', 'i18n/server-zh'], (texts, en, zh) => {
  texts.extend({ en, zh })
  return texts
})
