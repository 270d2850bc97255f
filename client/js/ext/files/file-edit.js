// What edit_file makes of a text, by the rules of server/tools/builtin/edits.py. Pure.

yaa.define('ext/files/file-edit', ['ext/files/apply-patch'], ({ applyPatch, isCrlf }) => {
  /** Characters: a longer result is not made, a short text in many places can make it as long as it likes. */
  const MOST = 1_000_000

  /**
   * @param {string | null} text null: there is no such file @param {any} args of the call
   * @returns {EditOutcome | null} null if the arguments are none of edit_file's
   */
  function editFile(text, args) {
    const edits = Array.isArray(args.edits) && args.edits.length ? args.edits : isText(args.old) && args.old ? [args] : []
    if (isText(args.patch) && args.patch) return edits.length ? null : applyPatch(text, args.patch, args.path)
    if (!edits.length || !edits.every((/** @type {any} */ one) => isText(one?.old) && one.old && isText(one.new))) return null
    return text === null ? { after: null, problem: { why: 'noFile', part: 0, lines: [] } } : applyEdits(text, edits)
  }

  /**
   * Replacements, each in what the one before it left. If all lines of the file end in CRLF, line feeds stand for that.
   * @param {string} text @param {{old: string, new: string, replace_all?: boolean}[]} edits @returns {EditOutcome}
   */
  function applyEdits(text, edits) {
    const crlf = isCrlf(text)
    const plain = (/** @type {string} */ part) => (crlf ? part.replaceAll('\r\n', '\n') : part)
    let [now, places] = [plain(text), 0]
    for (const [n, edit] of edits.entries()) {
      const { times, after } = replaceText(now, plain(edit.old), plain(edit.new))
      if (times > 1 && !edit.replace_all) return { after: text, problem: { why: 'often', part: edits.length > 1 ? n + 1 : 0, lines: [], times } }
      if (!times) return { after: text, problem: { why: 'missing', part: edits.length > 1 ? n + 1 : 0, lines: [] } }
      if (after === null) return { after: text, problem: { why: 'large', part: 0, lines: [] } }
      now = after
      places += times
    }
    return { after: crlf ? now.replaceAll('\n', '\r\n') : now, places }
  }

  /**
   * Replace a text in every place where it occurs; if nowhere, where its lines occur once with other spaces at their ends.
   * @param {string} text @param {string} old @param {string} next
   * @returns {{times: number, after: string | null}} `after` is null if it is too long
   */
  function replaceText(text, old, next) {
    const parts = text.split(old)
    const times = parts.length - 1
    if (times) return { times, after: text.length + times * (next.length - old.length) > MOST ? null : parts.join(next) }
    const loose = looseOf(old)
    const found = loose ? [...text.matchAll(loose)] : []
    if (found.length !== 1) return { times: 0, after: text }
    const from = found[0].index ?? 0
    return { times: 1, after: text.slice(0, from) + next + text.slice(from + found[0][0].length) }
  }

  /** @param {string} old @returns {RegExp | null} null for one line */
  function looseOf(old) {
    const lines = old.split('\n')
    const last = lines.pop() ?? ''
    if (!lines.length || !old.trim()) return null
    const ends = lines.map((line) => `${escaped(line.replace(/(?<![ \t])[ \t]+$/, ''))}[ \\t]{0,200}\\n`)
    return new RegExp(ends.join('') + escaped(last), 'g')
  }

  /** @param {string} text */
  const escaped = (text) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')

  /** @param {any} value @returns {value is string} */
  const isText = (value) => typeof value === 'string'

  return { editFile, applyEdits }
})
