// Translations: looks texts up in the current language and formats numbers, times and durations. Views call t() when
// they are made; changing the language makes them anew.

yaa.define('ui/i18n', ['core/message-format', 'i18n/en'], ({ format }, en) => {
  /** English is on the page; what it has for another language comes when that is used. @type {Record<string, Record<string, string>>} */
  const LANGUAGES = { en, zh: {} }
  let language = 'en'
  let newest = 'en'
  let number = new Intl.NumberFormat('en')

  /**
   * Of two wishes the later one counts.
   * @param {string} wanted a language of ours, or '' for the browser's
   * @returns {Promise<Error | null>} why it could not be loaded, and is English
   */
  async function use(wanted) {
    const known = [wanted, ...navigator.languages].map((tag) => tag.split('-')[0]).find((tag) => tag in LANGUAGES) ?? 'en'
    newest = known
    const missing = await bring(known).then(() => null, (error) => error)
    if (newest !== known) return null
    language = missing ? 'en' : known
    number = new Intl.NumberFormat(language)
    document.documentElement.lang = language === 'zh' ? 'zh-CN' : language
    return missing
  }

  /** @param {string} name */
  async function bring(name) {
    if (name === 'en') return
    await yaa.load(name)
    Object.assign(LANGUAGES[name], yaa.use(`i18n/${name}`))
  }

  /**
   * The text for `key`, with `{name}` and `{n, plural, …}` filled in. A missing text is the key itself: visible, not fatal.
   * @param {string} key @param {Record<string, any>} [values]
   */
  function t(key, values = {}) {
    return format(LANGUAGES[language][key] ?? en[key] ?? key, values, language)
  }

  /** Texts of a part that comes later, in every language. @param {Record<string, Record<string, string>>} more */
  function extend(more) {
    for (const [name, added] of Object.entries(more)) Object.assign(LANGUAGES[name] ?? {}, added)
    return texts
  }

  /** @param {number} n */
  const count = (n) => number.format(n)

  /** A duration in milliseconds for people: 34 ms, 2.4 s, 3 min 5 s. @param {number} ms */
  function duration(ms) {
    if (ms < 1000) return t('unit.ms', { n: Math.round(ms) })
    if (ms < 59_950) return t('unit.s', { n: number.format(Number((ms / 1000).toFixed(ms < 9950 ? 1 : 0))) })
    const seconds = Math.round(ms / 1000)
    return t('unit.min', { m: number.format(Math.floor(seconds / 60)), s: seconds % 60 })
  }

  /** Clock time of today, else day and time. @param {number} ms since 1970 */
  function moment(ms) {
    const date = new Date(ms)
    const today = new Date().toDateString() === date.toDateString()
    return date.toLocaleString(language, today ? { timeStyle: 'short' } : { dateStyle: 'medium', timeStyle: 'short' })
  }

  /** Words of a text, for the status line of a screen reader; works for languages without spaces. @param {string} text */
  function words(text) {
    if (!('Segmenter' in Intl)) return text.split(/\s+/).length
    let n = 0
    for (const part of new Intl.Segmenter(language, { granularity: 'word' }).segment(text)) if (part.isWordLike) n++
    return n
  }

  const texts = { t, use, extend, count, duration, moment, words, language: () => language }
  return texts
})
