// Texts with holes, the part of ICU MessageFormat that a user interface needs: {name}, {n, plural, =0 {…} one {…}
// other {…}}, {kind, select, a {…} other {…}}, one inside another, # for the number, 'quoted {braces}'.
// A text that is not well formed is shown as it stands: visible, not fatal.

yaa.define('core/message-format', [], () => {
  /** @typedef {string | {name: string, kind: string, forms: Map<string, Part[]>} | {number: true}} Part */
  /** @type {Map<string, Part[]>} */
  const parsed = new Map()

  /** @param {string} pattern @param {Record<string, any>} [values] @param {string} [language] */
  function format(pattern, values = {}, language = 'en') {
    let parts = parsed.get(pattern)
    if (!parts) parsed.set(pattern, parts = parse(pattern))
    return render(parts, values, language, 0)
  }

  /**
   * @param {Part[]} parts
   * @param {Record<string, any>} values
   * @param {string} language
   * @param {number} n what # stands for
   * @returns {string}
   */
  function render(parts, values, language, n) {
    return parts.map((part) => {
      if (typeof part === 'string') return part
      if ('number' in part) return new Intl.NumberFormat(language).format(n)
      const value = Object.hasOwn(values, part.name) ? values[part.name] : undefined
      if (!part.kind) return value === undefined ? `{${part.name}}` : String(value)
      const plural = part.kind === 'plural'
      const key = plural ? pluralOf(part.forms, value, language) : String(value)
      const form = part.forms.get(key) ?? part.forms.get('other')
      return form ? render(form, values, language, plural ? Number(value) : n) : ''
    }).join('')
  }

  /** @param {Map<string, Part[]>} forms @param {any} value @param {string} language */
  function pluralOf(forms, value, language) {
    const exact = `=${value}`
    return forms.has(exact) ? exact : new Intl.PluralRules(language).select(Number(value))
  }

  /** @param {string} pattern @returns {Part[]} */
  function parse(pattern) {
    const reader = { text: pattern, at: 0 }
    const parts = readParts(reader, false)
    return reader.at === pattern.length && parts ? parts : [pattern]
  }

  /**
   * @param {{text: string, at: number}} reader
   * @param {boolean} inPlural
   * @returns {Part[] | null} up to an unmatched } or the end
   */
  function readParts(reader, inPlural) {
    /** @type {Part[]} */
    const parts = []
    let text = ''
    for (; reader.at < reader.text.length && reader.text[reader.at] !== '}'; ) {
      const char = reader.text[reader.at++]
      if (char === "'") text += readQuoted(reader)
      else if (char === '#' && inPlural) parts.push(text, { number: true }), (text = '')
      else if (char !== '{') text += char
      else {
        const hole = readHole(reader, inPlural)
        if (!hole) return null
        parts.push(text, hole)
        text = ''
      }
    }
    return [...parts, text]
  }

  /**
   * '' is an apostrophe, '{…' is literal up to the next apostrophe; any other apostrophe is itself.
   * @param {{text: string, at: number}} reader
   */
  function readQuoted(reader) {
    const next = reader.text[reader.at]
    if (next === "'") return reader.text[reader.at++]
    if (next !== '{' && next !== '}') return "'"
    const end = reader.text.indexOf("'", reader.at)
    const literal = reader.text.slice(reader.at, end < 0 ? undefined : end)
    reader.at += literal.length + (end < 0 ? 0 : 1)
    return literal
  }

  /** @param {{text: string, at: number}} reader @param {boolean} inPlural @returns {Part | null} */
  function readHole(reader, inPlural) {
    const head = /\s*(\w+)\s*(?:,\s*(plural|select)\s*,)?\s*/y
    head.lastIndex = reader.at
    const [whole, name, kind = ''] = head.exec(reader.text) ?? []
    if (!whole) return null
    reader.at += whole.length
    const forms = kind ? readForms(reader, inPlural || kind === 'plural') : new Map()
    return reader.text[reader.at++] === '}' && forms ? { name, kind, forms } : null
  }

  /** @param {{text: string, at: number}} reader @param {boolean} inPlural */
  function readForms(reader, inPlural) {
    const forms = new Map()
    const head = /\s*(=\d+|\w+)\s*\{/y
    for (head.lastIndex = reader.at; ; head.lastIndex = reader.at) {
      const found = head.exec(reader.text)
      if (!found) break
      reader.at = head.lastIndex
      const parts = readParts(reader, inPlural)
      if (!parts || reader.text[reader.at++] !== '}') return null
      forms.set(found[1], parts)
    }
    const space = /\s*/y
    space.lastIndex = reader.at
    reader.at += space.exec(reader.text)?.[0].length ?? 0
    return forms.has('other') ? forms : null
  }

  return { format }
})
