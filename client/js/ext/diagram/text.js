// How wide words of a diagram are, about: nothing is measured, so that it can be laid out anywhere. Pure.

yaa.define('ext/diagram/text', [], () => {
  const [SIZE, LINE] = [14, 18]
  /** A letter of this many pixels, of 14. */
  const [LETTER, WIDE_LETTER] = [7.8, 14]
  const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6]|\p{Extended_Pictographic}/u
  const LINE_MAX = 210

  /** @param {string} text */
  const widthOf = (text) => [...text].reduce((sum, char) => sum + (WIDE.test(char) ? WIDE_LETTER : LETTER), 0)

  /** Lines of at most some width. @param {string} text @param {number} [most] @returns {string[]} */
  function wrap(text, most = LINE_MAX) {
    /** @type {string[]} */ const lines = []
    for (const part of text.split('\n')) {
      let line = ''
      for (const word of part.match(/\s*(?:[\u2e80-\ua4cf\uac00-\ud7a3\uff00-\uff60]|[^\s\u2e80-\ua4cf\uac00-\ud7a3\uff00-\uff60]+)/gu) ?? ['']) {
        if (line && widthOf(line + word) > most) {
          lines.push(line)
          line = word.trimStart()
        } else line += word
      }
      lines.push(line.trim())
    }
    return lines
  }

  /** @param {string[]} lines */
  const boxOf = (lines) => ({ width: Math.max(...lines.map(widthOf)), height: lines.length * LINE })

  /**
   * Lines around a point. @param {string[]} lines @param {number} x @param {number} y of the middle @param {string} [kind] @param {string} [anchor]
   * @returns {DiagramShape[]}
   */
  const textAt = (lines, x, y, kind = 'words', anchor = 'middle') => lines.filter(Boolean).map((text, i) => (
    { tag: 'text', kind, text, attrs: { x: round(x), y: round(y + (i - (lines.length - 1) / 2) * LINE + SIZE * 0.35), 'text-anchor': anchor } }
  ))

  /** @param {number} n */
  const round = (n) => Math.round(n * 10) / 10

  /** @template T, K @param {Iterable<T>} all @param {(one: T) => K} keyOf @returns {Map<K, T[]>} */
  function groupBy(all, keyOf) {
    const groups = new Map()
    for (const one of all) {
      const there = groups.get(keyOf(one))
      if (there) there.push(one)
      else groups.set(keyOf(one), [one])
    }
    return groups
  }

  return { groupBy, widthOf, wrap, boxOf, textAt, round, LINE }
})
