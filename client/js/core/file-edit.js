// What edit_file makes of a text, by the rules of server/tools/builtin/files.py. Pure.

yaa.define('core/file-edit', [], () => {
  /** Characters: a longer result is not made, a short text in many places can make it as long as it likes. */
  const MOST = 1_000_000
  const BARE_LINE_FEED = /(?<!\r)\n/

  /**
   * Replace a text in every place where it occurs. If all lines of the file end in CRLF, its line feeds stand for that.
   * @param {string} text @param {string} old @param {string} next
   * @returns {{times: number, after: string | null}} `times`: 0 if `old` is empty too; `after` is null if it is too long
   */
  function replaceText(text, old, next) {
    if (!old) return { times: 0, after: text }
    const crlf = text.includes('\r\n') && !BARE_LINE_FEED.test(text)
    const [from, to] = [old, next].map((part) => (crlf ? part.replace(new RegExp(BARE_LINE_FEED, 'g'), '\r\n') : part))
    const parts = text.split(from)
    const times = parts.length - 1
    return { times, after: text.length + times * (to.length - from.length) > MOST ? null : parts.join(to) }
  }

  return { replaceText }
})
