// The small grammars inside Markdown that links are made of: destination, title, label, definition, entity, bare
// address. Each reads at one place and never looks further than it consumes, or stops at a fixed length.

yaa.define('core/markdown-links', [], () => {
  const FORMULA_MAX = 2000
  const ESCAPED = /\\([!-/:-@[-`{-~])|&(?:#([0-9]{1,7})|#[xX]([0-9a-fA-F]{1,6})|([A-Za-z][A-Za-z0-9]{1,31}));/g
  const ENTITY = /&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});/y
  const TITLE = /"(?:[^"\\]|\\[^])*"|'(?:[^'\\]|\\[^])*'|\((?:[^()\\]|\\[^])*\)/y
  const POINTED = /<(?:[^<>\n\\]|\\[^\n])*>/y
  const LABEL = /\[(?:[^[\]\\]|\\[^]){0,999}\]/y
  const MAX_LABEL = 1000
  const MAX_PARENTHESES = 32
  /** The named characters that people and models really write; any other name is left as it stands. */
  const NAMED = new Map(Object.entries({
    amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0', copy: '©', reg: '®', trade: '™', hellip: '…',
    mdash: '—', ndash: '–', lsquo: '‘', rsquo: '’', ldquo: '“', rdquo: '”', laquo: '«', raquo: '»', bull: '•', middot: '·',
    times: '×', divide: '÷', plusmn: '±', minus: '−', deg: '°', micro: 'µ', para: '¶', sect: '§', euro: '€', pound: '£',
    yen: '¥', cent: '¢', larr: '←', uarr: '↑', rarr: '→', darr: '↓', harr: '↔', rArr: '⇒', hArr: '⇔', le: '≤', ge: '≥',
    ne: '≠', asymp: '≈', infin: '∞', sum: '∑', prod: '∏', radic: '√', part: '∂', int: '∫', pi: 'π', alpha: 'α', beta: 'β',
    gamma: 'γ', delta: 'δ', lambda: 'λ', mu: 'μ', sigma: 'σ', omega: 'ω', ouml: 'ö', auml: 'ä', uuml: 'ü', Ouml: 'Ö',
    Auml: 'Ä', Uuml: 'Ü', szlig: 'ß', eacute: 'é', egrave: 'è', check: '✓', star: '☆', num: '#', ast: '*', lowbar: '_',
    grave: '`', vert: '|', lbrack: '[', rbrack: ']', lpar: '(', rpar: ')', bsol: '\\', sol: '/', Tab: '\t', NewLine: '\n',
  }))

  /** Backslash escapes and entities undone. @param {string} text */
  function unescape(text) {
    if (!text.includes('\\') && !text.includes('&')) return text
    return text.replace(ESCAPED, (whole, char, decimal, hex, name) => {
      if (char) return char
      if (name) return NAMED.get(name) ?? whole
      const code = decimal ? Number(decimal) : parseInt(hex, 16)
      const valid = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)
      return valid ? String.fromCodePoint(code) : '\ufffd'
    })
  }

  /** An entity that starts at `at`: its source, or ''. @param {string} text @param {number} at */
  const entity = (text, at) => match(ENTITY, text, at)

  /**
   * A label in the form in which labels are compared (CommonMark 0.31 section 4.7).
   * @param {string} text without brackets
   */
  const label = (text) => text.trim().replace(/[ \t\r\n]+/g, ' ').toLowerCase().toUpperCase()

  /** `[label]` at `at`: its text without brackets, or null. @param {string} text @param {number} at */
  function readLabel(text, at) {
    const found = match(LABEL, text, at)
    return found && found.length <= MAX_LABEL && found.slice(1, -1).trim() ? found.slice(1, -1) : null
  }

  /**
   * `(destination "title")` at `at`.
   * @param {string} text
   * @param {number} at
   * @returns {{href: string, title: string, end: number} | null}
   */
  function readInlineTarget(text, at) {
    let end = skipSpace(text, at + 1)
    const destination = readDestination(text, end) ?? ''
    end += destination.length
    const space = skipSpace(text, end)
    const title = space > end ? match(TITLE, text, space) : ''
    if (title) end = space + title.length
    end = skipSpace(text, end)
    if (text[end] !== ')') return null
    return { href: address(destination), title: unescape(title.slice(1, -1)), end: end + 1 }
  }

  /** `<…>`, or no spaces and balanced parentheses: its source, or null. @param {string} text @param {number} at */
  function readDestination(text, at) {
    if (text[at] === '<') return match(POINTED, text, at) || null
    let depth = 0
    let end = at
    for (; end < text.length; end++) {
      const char = text[end]
      if (char <= ' ' || char === '\x7f') break
      if (char === '\\' && end + 1 < text.length && text[end + 1] > ' ') end++
      else if (char === '(' && ++depth > MAX_PARENTHESES) return null
      else if (char === ')' && --depth < 0) break
    }
    return depth > 0 || end === at ? null : text.slice(at, end)
  }

  /** @param {string} source of a destination */
  const address = (source) => unescape(source.startsWith('<') ? source.slice(1, -1) : source)

  /**
   * `[label]: destination "title"` at the start.
   * @param {string} text
   * @returns {{label: string, href: string, title: string, end: number} | null}
   */
  function readDefinition(text) {
    const name = readLabel(text, 0)
    if (name === null || text[name.length + 2] !== ':') return null
    const start = skipSpace(text, name.length + 3)
    const destination = readDestination(text, start)
    if (destination === null) return null
    const afterDestination = start + destination.length
    const space = skipSpace(text, afterDestination)
    const title = space > afterDestination ? match(TITLE, text, space) : ''
    const ends = title ? [space + title.length, afterDestination] : [afterDestination]
    for (const end of ends) {
      const lineEnd = restIsBlank(text, end)
      if (lineEnd < 0) continue
      const used = end === afterDestination ? '' : title
      return { label: label(name), href: address(destination), title: unescape(used.slice(1, -1)), end: lineEnd }
    }
    return null
  }

  /**
   * Where the next line begins if nothing but spaces is left on this one, else -1.
   * @param {string} text
   * @param {number} at
   */
  function restIsBlank(text, at) {
    while (text[at] === ' ' || text[at] === '\t') at++
    return at >= text.length ? text.length : text[at] === '\n' ? at + 1 : -1
  }

  /** Spaces and at most one line end. @param {string} text @param {number} at */
  function skipSpace(text, at) {
    let lines = 0
    for (; at < text.length; at++) {
      if (text[at] === '\n' && ++lines > 1) break
      if (text[at] !== ' ' && text[at] !== '\t' && text[at] !== '\n') break
    }
    return at
  }

  /**
   * How far a bare address goes that begins at `at` (GFM 6.9): no spaces, no punctuation at its end, parentheses
   * balanced. Full-width punctuation ends it too, since no space follows an address in Chinese.
   * @param {string} text @param {number} at
   */
  function bareEnd(text, at) {
    const run = match(/[^\s<\u3000-\u303f\uff00-\uffef]*/y, text, at)
    let end = at + run.length
    let closers = 0
    for (const char of run) closers += char === ')' ? 1 : char === '(' ? -1 : 0
    for (; end > at; end--) {
      const char = text[end - 1]
      if (char === ')' && closers-- > 0) continue
      if (char === ';') {
        const near = Math.max(at, end - 34) // no entity is longer
        const amp = near + text.slice(near, end).lastIndexOf('&')
        if (amp > near && match(ENTITY, text, amp).length === end - amp) end = amp + 1
        else break
      } else if (!/[?!.,:*_~'"]/.test(char)) break
    }
    return end
  }

  /**
   * `$x$`; but not the prices in `$5 and $6` or `$5. For R$ 6`, nor `$HOME and $PATH`.
   * @param {string} text @param {number} at
   */
  function readDollars(text, at) {
    let end = at
    do end = text.indexOf('$', end + 1)
    while (text[end - 1] === '\\')
    const body = end < 0 || end - at > FORMULA_MAX ? '' : text.slice(at + 1, end)
    const price = /^\d[^\\]*(?:\s\p{L}{2}|\p{Script=Han})/u // a number, and then words
    const good = /^[^\s`](?:[^`]*[^\s`])?$/.test(body) && !price.test(body) && !/[0-9]/.test(text[end + 1] ?? '')
    return good ? { text: body, end: end + 1 } : null
  }

  /**
   * A formula in `$$…$$`, `\\(…\\)` or `\\[…\\]`.
   * @param {string} text @param {number} at
   * @param {string} mark its end
   * @param {Map<string, number>} ends where the next end of each kind is: looked for once
   */
  function readFormula(text, at, mark, ends) {
    const known = ends.get(mark) ?? 0
    const end = known < at + 2 ? text.indexOf(mark, at + 2) : known
    ends.set(mark, end < 0 ? Infinity : end)
    if (end < 0 || end - at > FORMULA_MAX) return null
    const body = text.slice(at + 2, end)
    return /[\p{L}\p{N}]/u.test(body) && !body.includes('`') ? { text: body.trim(), end: end + 2 } : null
  }

  /** @param {RegExp} pattern sticky @param {string} text @param {number} at */
  function match(pattern, text, at) {
    pattern.lastIndex = at
    return pattern.exec(text)?.[0] ?? ''
  }

  /** Spaces and tabs at the end taken off, by hand: a pattern for it takes quadratic time. @param {string} text */
  function trimSpaces(text) {
    let end = text.length
    while (text[end - 1] === ' ' || text[end - 1] === '\t') end--
    return text.slice(0, end)
  }

  /** @param {string} text @param {number} at */
  function characterBefore(text, at) {
    if (at === 0) return ''
    const low = text.charCodeAt(at - 1)
    return low >= 0xdc00 && low <= 0xdfff && at > 1 ? text.slice(at - 2, at) : text[at - 1]
  }

  return { unescape, entity, label, readLabel, readInlineTarget, readDefinition, bareEnd, readDollars, readFormula, match, trimSpaces, characterBefore }
})
