// The words of a draft made of what another app shared: title, text and address, each once.

yaa.define('core/shared-text', [], () => {
  const LONGEST = 100_000
  // What nobody sees in the field, and a model reads: control characters, changes of direction, tags.
  const UNSEEN = /[\0-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]/gu

  /**
   * @param {any} texts of the form, of any kind and length
   * @param {string} label goes before a "/" at the beginning, which would make a command of it
   * @returns {string} '' where nothing was shared
   */
  function draftText(texts, label) {
    /** @type {string[]} */ const kept = []
    for (const text of Array.isArray(texts) ? texts : []) {
      if (typeof text !== 'string') continue
      const words = text.slice(0, LONGEST).toWellFormed().replace(/\r\n?/g, '\n').replace(UNSEEN, '').trim()
      if (words && !kept.some((one) => one.includes(words))) kept.push(words)
    }
    const joined = kept.join('\n\n')
    return joined.startsWith('/') ? `${label} ${joined}` : joined
  }

  return { draftText }
})
