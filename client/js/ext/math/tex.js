// A formula in TeX → a tree of MathML elements as plain objects. It knows what people write in answers and papers,
// not TeX: no definitions, no colours, no addresses. One word it does not know makes the whole formula `null`, and it is
// shown as it was written, since half a formula says something else. Depth and size have bounds.

yaa.define('ext/math/tex', ['ext/math/tex-symbols'], (symbols) => {
  const { LETTERS, OPERATORS, SUMS, INTEGRALS, FUNCTIONS, LIMITS, ACCENTS, UNDERS, SPACES, ALPHABETS, letterIn } = symbols
  const { AROUND, PAIRS, COLUMNS, SWITCHES, LETTER_SIZES, LONG_ARROWS, FENCE, STYLES, TEXT, UNITS, node, row, operator, space, over } = symbols
  const MAX_DEPTH = 50
  const MAX_TOKENS = 4000
  const TOKEN = /\\(?:[A-Za-z]+\*?|[^])|%[^\n]*(?:\n|$)|\s+|[0-9]+(?:[.,][0-9]+)*|[^]/gu

  const SIZES = /^(?:[bB]igg?)[lrm]?$/
  const SIZE = { b: [1.2, 2.4], B: [1.8, 3] }
  const WIDTH = /^(-?[0-9]*\.?[0-9]+) ?([a-z]{2})$/
  const LIMIT_SPACE = { lspace: '0.1667em', rspace: '0.1667em', movablelimits: 'true' }

  class Unknown extends Error {}

  /** @param {string} source @returns {MathNode | null} */
  function parse(source) {
    const tokens = source.match(TOKEN) ?? []
    if (tokens.length > MAX_TOKENS) return null
    try {
      const parser = new Parser(tokens.filter((token) => token[0] !== '%'))
      const found = parser.lines()
      return parser.at < parser.tokens.length ? null : found
    } catch (error) {
      if (error instanceof Unknown) return null
      throw error
    }
  }

  class Parser {
    at = 0
    depth = 0
    alphabet = ''

    /** @param {string[]} tokens */
    constructor(tokens) {
      this.tokens = tokens
    }

    /** A formula of several lines, `\\` between them. */
    lines() {
      const rows = this.rows()
      return rows.length === 1 && rows[0].length === 1 ? row(rows[0][0]) : this.table(rows, { align: true })
    }

    /** @returns {string} the token here, spaces passed over; '' at the end */
    peek() {
      while (this.tokens[this.at]?.trim() === '') this.at++
      return this.tokens[this.at] ?? ''
    }

    next() {
      const token = this.peek()
      this.at++
      return token
    }

    /** @param {string} wanted */
    expect(wanted) {
      if (this.next() !== wanted) throw new Unknown(wanted)
    }

    /** @param {...string} ends @returns {MathNode[]} up to one of these, which is left */
    list(...ends) {
      if (++this.depth > MAX_DEPTH) throw new Unknown('too deep')
      /** @type {MathNode[]} */
      const nodes = []
      for (let token = this.peek(); token && !ends.includes(token); token = this.peek()) {
        const name = token[0] === '\\' ? token.slice(1) : ''
        const [style, letters] = [STYLES.get(name), SWITCHES.get(name)]
        const fraction = name === 'over' || name === 'choose' // of all that stands before it
        if (style || letters || fraction) this.at++
        const rest = style || letters || fraction ? this.within(letters ?? this.alphabet, () => this.list(...ends)) : []
        if (fraction) nodes.push(over(row(nodes.splice(0)), row(rest), name === 'choose'))
        else if (style) nodes.push(node('mstyle', rest, { displaystyle: style }))
        else nodes.push(...(letters ? rest : this.scripted()))
      }
      this.depth--
      return nodes
    }

    /** What comes next, in letters of another kind. @template T @param {string} alphabet @param {() => T} read @returns {T} */
    within(alphabet, read) {
      const before = this.alphabet
      this.alphabet = alphabet
      const found = read()
      this.alphabet = before
      return found
    }

    // -- sub- and superscripts --

    /** One thing with what is below and above it. @returns {MathNode[]} */
    scripted() {
      let base = /^[_^']$/.test(this.peek()) ? node('mrow', []) : this.atom()
      if (!base) return []
      let limits = base.limits === true
      let [under, over] = /** @type {(MathNode | null)[]} */ ([null, null])
      for (;;) {
        const token = this.peek()
        if (token === '\\limits' || token === '\\nolimits') limits = token === '\\limits'
        if (token === '\\limits' || token === '\\nolimits') this.at++
        else if (token === '_' && !under) under = this.script()
        else if (token === '^' && !over) over = this.script()
        else if (token === "'" && !over) over = this.primes()
        else if (token === '_' || token === '^') throw new Unknown('twice')
        else break
      }
      if (base.limits) base = node(base.tag, base.children, base.attrs)
      const tags = limits ? ['munder', 'mover', 'munderover'] : ['msub', 'msup', 'msubsup']
      if (under && over) return [node(tags[2], [base, under, over])]
      if (under) return [node(tags[0], [base, under])]
      return [over ? node(tags[1], [base, over]) : base]
    }

    script() {
      this.at++
      return this.argument()
    }

    primes() {
      let marks = ''
      for (; this.peek() === "'"; this.at++) marks += '′'
      const more = this.peek() === '^' ? [this.script()] : []
      return row([operator(marks), ...more])
    }

    /** A group in braces, or one thing. @returns {MathNode} */
    argument() {
      if (this.peek() === '{') {
        this.at++
        const nodes = this.list('}')
        this.expect('}')
        return row(nodes)
      }
      if (++this.depth > MAX_DEPTH) throw new Unknown('too deep')
      const found = this.atom(true)
      this.depth--
      if (!found) throw new Unknown('nothing there')
      return found
    }

    /** The letters of a group, unread: names, widths, text. */
    words() {
      this.expect('{')
      let text = ''
      for (let depth = 0; ; this.at++) {
        const token = this.tokens[this.at]
        if (token === undefined) throw new Unknown('{')
        if (token === '}' && !depth--) break
        if (token === '{') depth++
        text += /^\\[{}$%&#_ ]$/.test(token) ? token[1] : token === '{' || token === '}' ? '' : token
      }
      this.at++
      return text
    }

    /** `[…]`, where there is one. */
    option() {
      if (this.peek() !== '[') return null
      this.at++
      const nodes = this.list(']')
      this.expect(']')
      return row(nodes)
    }

    // -- things --

    /** @param {boolean} [single] only one digit of a number @returns {MathNode | null} null: nothing to be seen */
    atom(single = false) {
      const token = this.next()
      if (token === '{') {
        this.at--
        return this.argument()
      }
      if (token[0] === '\\') return this.command(token.slice(1))
      if (!token || '}&_^#$'.includes(token)) throw new Unknown(token)
      if (/^[0-9]/.test(token)) return this.number(token, single)
      if (token === '~') return space(0.25)
      if (/^\p{L}$/u.test(token)) return this.letter(token)
      const sign = { '-': '−', '*': '∗', '`': '‘', ':': ':' }[token] ?? token
      return operator(sign, FENCE.has(sign) ? { stretchy: 'false' } : undefined)
    }

    /** @param {string} token @param {boolean} single */
    number(token, single) {
      if (single && token.length > 1) this.tokens.splice(this.at, 0, token.slice(1))
      const text = single ? token[0] : token
      return node('mn', [this.styled(text)])
    }

    /** @param {string} char */
    letter(char) {
      if (/[^\u0000-\u024f\u0370-\u03ff\u1f00-\u1fff]/.test(char)) return node('mtext', [char])
      return node('mi', [this.styled(char)], this.alphabet === 'mathrm' ? { mathvariant: 'normal' } : undefined)
    }

    /** @param {string} text */
    styled(text) {
      return this.alphabet in ALPHABETS ? [...text].map((char) => letterIn(char, this.alphabet)).join('') : text
    }

    /** @param {string} name @returns {MathNode | null} */
    command(name) {
      if (name in LETTERS) return node('mi', [LETTERS[name]], /^[A-Z∞]/.test(name) ? { mathvariant: 'normal' } : undefined)
      if (name in OPERATORS) return operator(OPERATORS[name], FENCE.has(OPERATORS[name]) ? { stretchy: 'false' } : undefined)
      if (name in SUMS) return { ...operator(SUMS[name]), limits: true }
      if (name in INTEGRALS) return operator(INTEGRALS[name])
      if (FUNCTIONS.has(name)) return operator(name, { lspace: '0.1667em', rspace: '0.1667em' })
      if (name in LIMITS) return { ...operator(LIMITS[name], LIMIT_SPACE), limits: true }
      if (name in SPACES) return space(Number(SPACES[name]))
      if (name in ACCENTS) return this.accent('mover', ACCENTS[name], /^(?:wide|over)/.test(name), name.includes('brac'))
      if (name in UNDERS) return this.accent('munder', UNDERS[name], true, name.includes('brac'))
      if (name in ALPHABETS && !name.startsWith('text')) return this.inAlphabet(name)
      if (TEXT.has(name)) return node('mtext', [this.textIn(name)])
      if (SIZES.test(name)) return this.sized(name)
      if (name in LONG_ARROWS) return this.longArrow(LONG_ARROWS[name])
      if (LETTER_SIZES.has(name)) return null
      return this.structure(name)
    }

    /** @param {string} name @returns {MathNode | null} */
    structure(name) {
      switch (name) {
        case 'frac': case 'tfrac': case 'dfrac': case 'cfrac': return this.fraction(name)
        case 'binom': case 'dbinom': case 'tbinom': return over(this.argument(), this.argument(), true)
        case 'sqrt': return this.root()
        case 'left': return this.fenced()
        case 'begin': return this.environment()
        case 'mathrm': case 'mathit': case 'mathnormal': return this.inAlphabet(name)
        case 'operatorname': case 'operatorname*': return { ...operator(this.words().trim(), LIMIT_SPACE), limits: name.endsWith('*') }
        case 'overset': case 'stackrel': return this.stacked('mover')
        case 'underset': return this.stacked('munder')
        case 'substack': return this.substack()
        case 'not': return this.negated()
        case 'pmod': return row([space(0.5), operator('('), node('mi', ['mod']), space(0.3), this.argument(), operator(')')])
        case 'mod': return row([space(1), node('mi', ['mod']), space(0.3)])
        case 'bmod': return operator('mod', { lspace: '0.2222em', rspace: '0.2222em' })
        case 'phantom': return node('mphantom', [this.argument()])
        case 'boxed': return node('mrow', [this.argument()], { class: 'boxed' })
        case 'cancel': case 'bcancel': case 'xcancel': return node('mrow', [this.argument()], { class: name })
        case 'mathop': return { ...node('mrow', [this.argument()]), limits: true }
        case 'mathrel': case 'mathbin': case 'mathord': case 'mathopen': case 'mathclose': case 'pmb': return this.argument()
        case 'hspace': case 'hspace*': return space(this.width())
        case 'tag': case 'tag*': return row([space(2), node('mtext', [name === 'tag' ? `(${this.words()})` : this.words()])])
        case 'label': this.words(); return null
        case 'nonumber': case 'notag': case 'hline': return null
        case ' ': return space(0.25)
        default: throw new Unknown(name)
      }
    }

    /** @param {string} name */
    fraction(name) {
      const made = node('mfrac', [this.argument(), this.argument()])
      const style = { d: 'true', c: 'true', t: 'false' }[name[0]]
      return style ? node('mstyle', [made], { displaystyle: style }) : made
    }

    root() {
      const index = this.option()
      const inner = this.argument()
      return index ? node('mroot', [inner, index]) : node('msqrt', [inner])
    }

    /** @param {string} tag @param {string} sign @param {boolean} wide @param {boolean} brace */
    accent(tag, sign, wide, brace) {
      const made = node(tag, [this.argument(), operator(sign, { stretchy: String(wide) })], { [tag === 'mover' ? 'accent' : 'accentunder']: String(!brace) })
      return brace ? { ...made, limits: true } : made
    }

    /** @param {string} tag */
    stacked(tag) {
      const mark = this.argument()
      return node(tag, [this.argument(), mark])
    }

    /** @param {string} sign */
    longArrow(sign) {
      const below = this.option()
      const above = node('mpadded', [this.argument()], { width: '+1em', lspace: '0.5em' })
      const arrow = operator(sign, { stretchy: 'true' })
      return below ? node('munderover', [arrow, below, above]) : node('mover', [arrow, above])
    }

    negated() {
      const found = this.argument()
      const [sign] = found.children
      if (typeof sign !== 'string') throw new Unknown('not')
      return node(found.tag, [`${sign}\u0338`.normalize('NFC')], found.attrs)
    }

    /** @param {string} name */
    inAlphabet(name) {
      const found = this.within(name, () => this.argument())
      const letters = found.tag === 'mrow' && name === 'mathrm' && found.children.every((one) => typeof one !== 'string' && one.tag === 'mi')
      if (!letters) return found
      return node('mi', [found.children.map((one) => /** @type {MathNode} */ (one).children[0]).join('')], { mathvariant: 'normal' })
    }

    /** @param {string} name */
    textIn(name) {
      const words = this.words().replace(/\s+/g, '\u00a0')
      if (words.includes('\\')) throw new Unknown(words)
      const alphabet = { textbf: 'mathbf', texttt: 'mathtt', textsf: 'mathsf' }[name]
      return alphabet ? [...words].map((char) => letterIn(char, alphabet)).join('') : words
    }

    /** A length, in em. */
    width() {
      const [, number, unit] = WIDTH.exec(this.words().trim()) ?? []
      if (!Object.hasOwn(UNITS, unit ?? '')) throw new Unknown('width')
      return Math.max(-1, Math.min(10, Number(number) * UNITS[unit]))
    }

    // -- fences, matrices --

    /** A bracket; '' for a dot. */
    fence() {
      const token = this.next()
      const sign = token === '.' ? '' : token[0] === '\\' ? OPERATORS[token.slice(1)] ?? LETTERS[token.slice(1)] ?? '?' : { '<': '⟨', '>': '⟩' }[token] ?? token
      if (sign && !FENCE.has(sign)) throw new Unknown(token)
      return sign
    }

    fenced() {
      const nodes = [operator(this.fence(), { stretchy: 'true', form: 'prefix' })]
      for (;;) {
        nodes.push(...this.list('\\right', '\\middle'))
        const end = this.next()
        if (end !== '\\right' && end !== '\\middle') throw new Unknown('left')
        nodes.push(operator(this.fence(), { stretchy: 'true', form: end === '\\right' ? 'postfix' : 'infix' }))
        if (end === '\\right') return node('mrow', nodes.filter(({ children }) => children[0] !== ''))
      }
    }

    /** @param {string} name big, Big, bigg, Bigg, with l, r or m behind */
    sized(name) {
      const size = `${SIZE[/** @type {'b' | 'B'} */ (name[0])][name.includes('gg') ? 1 : 0]}em`
      return operator(this.fence(), { stretchy: 'true', minsize: size, maxsize: size })
    }

    environment() {
      const name = this.words()
      const kind = name.replace(/\*$/, '')
      if (!Object.hasOwn(AROUND, kind)) throw new Unknown(name)
      const said = ['array', 'subarray', 'alignat', 'alignedat'].includes(kind) ? this.words().replace(/[^lcr]/g, '') : ''
      const columns = said || (COLUMNS[kind] ?? '')
      const rows = this.rows()
      this.expect('\\end')
      if (this.words() !== name) throw new Unknown('end')
      const [before, after] = AROUND[kind]
      const table = this.table(rows, { columns, align: PAIRS.has(kind) })
      if (!before && !after) return table
      const sides = [before, after].map((sign) => operator(sign, { stretchy: 'true' }))
      return node('mrow', [sides[0], table, sides[1]].filter(({ children }) => children[0] !== ''))
    }

    /** @returns {MathNode[][][]} cells of rows, up to `\end` or the end */
    rows() {
      /** @type {MathNode[][][]} */
      const rows = [[]]
      for (;;) {
        rows[rows.length - 1].push(this.list('&', '\\\\', '\\end', '}'))
        const token = this.peek()
        if (token !== '&' && token !== '\\\\') break
        this.at++
        if (token === '&') continue
        if (this.tokens[this.at] === '[') this.option() // `\\[2pt]`, more room between two lines
        rows.push([])
      }
      const last = rows[rows.length - 1]
      if (rows.length > 1 && last.length === 1 && !last[0].length) rows.pop()
      return rows
    }

    /** @param {MathNode[][][]} rows @param {{columns?: string, align?: boolean}} options align: columns right and left in turns */
    table(rows, { columns = '', align = false }) {
      const side = (/** @type {number} */ i) => (align ? 'rl'[i % 2] : columns[i])
      const cell = (/** @type {MathNode[]} */ nodes, /** @type {number} */ i) => {
        const at = side(i)
        return node('mtd', nodes, at && at !== 'c' ? { class: at === 'l' ? 'left' : 'right' } : undefined)
      }
      const lines = rows.map((cells) => node('mtr', cells.map(cell)))
      return node('mtable', lines, align ? { displaystyle: 'true', class: 'aligned' } : undefined)
    }

    substack() {
      this.expect('{')
      const rows = this.rows()
      this.expect('}')
      return this.table(rows, {})
    }
  }

  return { parse }
})
