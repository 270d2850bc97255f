// Text of one block → its inline nodes: CommonMark 0.31 with GFM's ~~strike~~ and bare addresses. HTML is text, except
// <br>. Every loop either consumes what it looks at or remembers what it did not find, so time stays linear.
//
// Two departures. Between a mark and CJK no space is needed, because CJK has none: `**注意：**请` and `**注意：**API` are strong.
// A single tilde is a tilde: `3~5 和 6~8` strikes nothing.

yaa.define('core/markdown-inline', ['core/markdown-links', 'core/markdown-nodes'], (links, nodes) => {
  const { match, trimSpaces, characterBefore } = links
  const { leaf, wrap, plainText, collect } = nodes
  const PLAIN = /[^\n\\`*_~[\]!<&:@w$]+/y
  const TAG = /<(?:\/[A-Za-z][A-Za-z0-9-]*\s*|[A-Za-z][A-Za-z0-9-]*(?:\s+[A-Za-z_:][\w.:-]*(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'=<>`]+))?)*\s*\/?)>/y
  const AUTOLINK = /<([A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*)>/y
  const AUTOMAIL = /<([\w.!#$%&'*+/=?^`{|}~-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})+)>/y
  /** A source of the session (core/sources) */
  const CITE = /\[\^(?:s\d+\.|p)\d+\]/y
  /** A note of the text (core/markdown-blocks). */
  const NOTE = /\[\^[^\]\s]{1,60}\]/y
  /** HTML that says what words are. */
  const WORDS = /^<(\/?)(kbd|sub|sup)\s*>$/i
  const MAIL_HOST = /@[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63})+/y
  /** No name of a mail address and no scheme is longer. */
  const LOOK_BACK = 64
  const SPILL = 1024
  const SPACE = /^$|\s/
  const PUNCTUATION = /[\p{P}\p{S}]/u
  const NARROW = /(?![\u3000-\u303f\uff00-\uffef])[\p{P}\p{S}]/u
  const CJK = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303f\uff00-\uffef]/u

  /** @typedef {InlineNode} Node */
  /**
   * @typedef {object} Mark a run of * _ ~
   * @property {Node} node @property {string} char @property {number} count @property {boolean} opens
   * @property {boolean} closes @property {Mark | null} prev @property {Mark | null} next
   */
  /** @typedef {{node: Node, image: boolean, at: number, marks: Mark | null}} Bracket */

  /** @param {string} text @param {References} references @returns {Inline[]} */
  function inline(text, references) {
    const parser = new Parser(text, references)
    return collect(parser.parse())
  }

  class Parser {
    at = 0
    pending = ''
    /** @type {Node} */ head = { type: 'head', prev: null, next: null }
    /** @type {Node} */ tail = this.head
    /** @type {Mark | null} the last one */ marks = null
    /** @type {Bracket[]} */ brackets = []
    /** brackets that opened before here can't become a link any more: links hold no links */ barrier = 0
    /** @type {Map<number, number[]> | null} places of the runs of backticks, by length */ ticks = null
    noComment = false
    /** open tags that a later one may close @type {{name: string, node: Node, at: number, marks: Mark | null}[]} */ tags = []
    /** how many of each @type {Map<string, number>} */ tagCounts = new Map()
    /** @type {Map<string, number>} where the next end of a formula is */ ends = new Map()
    /** @type {number | undefined} */ lastTarget

    /** @param {string} text @param {References} references */
    constructor(text, references) {
      this.text = text
      this.references = references
    }

    parse() {
      while (this.at < this.text.length) {
        const plain = match(PLAIN, this.text, this.at)
        if (plain) this.take(plain)
        else this.special(this.text[this.at])
        if (this.pending.length > SPILL) this.spill()
      }
      this.emphasize(null)
      this.flush()
      return this.head.next
    }

    /** @param {string} char */
    special(char) {
      switch (char) {
        case '\n': return this.lineEnd()
        case '\\': return this.backslash()
        case '`': return this.codeSpan()
        case '*': case '_': case '~': return this.mark(char)
        case '[': return this.openBracket(false)
        case '!': return this.text[this.at + 1] === '[' ? this.openBracket(true) : this.take('!')
        case ']': return this.closeBracket()
        case '<': return this.angle()
        case '&': return this.entity()
        case '$': return this.dollar()
        case ':': return this.bareAddress(/https?$/i.exec(this.pending.slice(-5))?.[0] ?? '', '://')
        case 'w': return this.bareAddress('', 'www.')
        default: return this.bareMail()
      }
    }

    /** Text that means itself. @param {string} text */
    take(text) {
      this.pending += text
      this.at += text.length
    }

    flush() {
      const text = this.pending
      this.pending = ''
      if (text) this.push(leaf('text', text))
    }

    /** Looking back into a long text copies all of it, so only its end is kept at hand. */
    spill() {
      const end = trimSpaces(this.pending).length - LOOK_BACK
      const rest = this.pending.slice(end)
      if (end <= 0) return
      this.pending = this.pending.slice(0, end)
      this.flush()
      this.pending = rest
    }

    /** @param {Node} node */
    push(node) {
      this.flush()
      node.prev = this.tail
      this.tail.next = node
      this.tail = node
    }

    lineEnd() {
      const kept = trimSpaces(this.pending)
      const hard = this.pending.length - kept.length >= 2 && this.pending.endsWith('  ')
      this.pending = kept
      this.at++
      if (hard) this.push(leaf('break'))
      else this.pending += '\n'
      while (this.text[this.at] === ' ') this.at++
    }

    backslash() {
      const next = this.text[this.at + 1] ?? ''
      if ((next === '(' && this.formula('\\)')) || (next === '[' && this.formula('\\]'))) return
      if (next === '\n') {
        this.at += 2
        this.push(leaf('break'))
        while (this.text[this.at] === ' ') this.at++
      } else if (/[!-/:-@[-`{-~]/.test(next)) {
        this.at++
        this.take(next)
      } else this.take('\\')
    }

    codeSpan() {
      const run = match(/`+/y, this.text, this.at)
      const from = this.at + run.length
      const end = this.closingTicks(run.length, from)
      if (end < 0) return this.take(run)
      const code = this.text.slice(from, end).replaceAll('\n', ' ')
      const padded = code.startsWith(' ') && code.endsWith(' ') && code.trim() !== ''
      this.push(leaf('code', padded ? code.slice(1, -1) : code))
      this.at = end + run.length
    }

    /** @param {number} length @param {number} from @returns {number} where a run of just this length begins, or -1 */
    closingTicks(length, from) {
      if (!this.ticks) {
        this.ticks = new Map()
        for (const run of this.text.matchAll(/`+/g)) {
          const places = this.ticks.get(run[0].length) ?? []
          if (!places.length) this.ticks.set(run[0].length, places)
          places.push(run.index)
        }
        for (const places of this.ticks.values()) places.reverse() // so that passed ones are popped
      }
      const places = this.ticks.get(length) ?? []
      while (places.length && places[places.length - 1] < from) places.pop()
      return places.pop() ?? -1
    }

    // -- formulas --

    dollar() {
      if (this.text[this.at + 1] === '$') return this.formula('$$') || this.take('$$')
      const found = links.readDollars(this.text, this.at)
      return found ? this.pushMath(found, false) : this.take('$')
    }

    /** @param {string} mark what ends it; what begins it is as long */
    formula(mark) {
      const found = links.readFormula(this.text, this.at, mark, this.ends)
      return found !== null && this.pushMath(found, mark !== '\\)')
    }

    /** @param {{text: string, end: number}} found @param {boolean} display */
    pushMath({ text, end }, display) {
      this.push({ ...leaf('math', text), display })
      this.at = end
      return true
    }

    // -- emphasis --

    /** @param {string} char */
    mark(char) {
      const [start, word] = [this.at, char === '_']
      let end = start
      while (this.text[end] === char) end++
      const run = this.text.slice(start, end)
      if (char === '~' && run.length !== 2) return this.take(run)
      const before = characterBefore(this.text, start)
      const after = end < this.text.length ? String.fromCodePoint(this.text.codePointAt(end) ?? 0) : ''
      const left = !SPACE.test(after) && (!NARROW.test(after) || isOpen(before))
      const right = !SPACE.test(before) && (!NARROW.test(before) || isOpen(after))
      const opens = left && (!word || !right || PUNCTUATION.test(before))
      const closes = right && (!word || !left || PUNCTUATION.test(after))
      const node = leaf('text', run)
      this.push(node)
      this.at = end
      if (!opens && !closes) return
      /** @type {Mark} */
      const mark = { node, char, count: run.length, opens, closes, prev: this.marks, next: null }
      if (this.marks) this.marks.next = mark
      this.marks = mark
    }

    /** Pairs the marks behind `bottom` (CommonMark, "process emphasis"). @param {Mark | null} bottom */
    emphasize(bottom) {
      this.flush()
      /** @type {Map<string, Mark | null>} below which there is no opener for such a closer */
      const bottoms = new Map()
      let closer = this.marks
      while (closer && closer.prev !== bottom) closer = closer.prev
      while (closer) {
        if (!closer.closes) {
          closer = closer.next
          continue
        }
        const kind = `${closer.char}${closer.opens}${closer.count % 3}`
        const floor = bottoms.has(kind) ? bottoms.get(kind) ?? null : bottom
        let opener = closer.prev
        while (opener && opener !== floor && opener !== bottom && !pairs(opener, closer)) opener = opener.prev
        if (opener && opener !== floor && opener !== bottom) closer = this.pair(opener, closer)
        else {
          bottoms.set(kind, closer.prev)
          const next = closer.next
          if (!closer.opens) this.drop(closer)
          closer = next
        }
      }
      while (this.marks && this.marks !== bottom) this.drop(this.marks)
    }

    /**
     * Wraps what is between the two.
     * @param {Mark} opener
     * @param {Mark} closer
     * @returns {Mark | null} the next closer to look at
     */
    pair(opener, closer) {
      const used = opener.count >= 2 && closer.count >= 2 ? 2 : 1
      const type = closer.char === '~' ? 'strike' : used === 2 ? 'strong' : 'emphasis'
      opener.next = closer // the marks between them found no partner
      closer.prev = opener
      for (const mark of [opener, closer]) {
        mark.count -= used
        mark.node.text = mark.node.text?.slice(used)
      }
      wrap(opener.node, closer.node, type)
      const next = closer.count ? closer : closer.next
      if (!opener.count) this.drop(opener)
      if (!closer.count) this.drop(closer)
      return next
    }

    /** @param {Mark} mark */
    drop(mark) {
      if (mark.prev) mark.prev.next = mark.next
      if (mark.next) mark.next.prev = mark.prev
      else this.marks = mark.prev
    }

    // -- links and pictures --

    /** @param {boolean} image */
    openBracket(image) {
      const cite = image ? '' : match(CITE, this.text, this.at)
      if (cite) {
        this.at += cite.length
        return this.push(leaf('cite', cite))
      }
      const note = image || !this.references.size ? '' : match(NOTE, this.text, this.at)
      const n = note && this.references.get(links.label(note.slice(1, -1)))?.note
      if (n) {
        this.at += note.length
        return this.push({ ...leaf('note', note), n })
      }
      const node = leaf('text', image ? '![' : '[')
      this.push(node)
      this.at += image ? 2 : 1
      this.brackets.push({ node, image, at: this.at, marks: this.marks })
    }

    closeBracket() {
      const opener = this.brackets.pop()
      const found = opener && this.isActive(opener) ? this.target(opener) : null
      if (!opener || !found) return this.take(']')
      this.emphasize(opener.marks)
      this.forget(opener.at)
      const node = opener.node // everything behind it becomes its own
      node.first = node.next
      node.next = null
      node.title = found.title
      this.tail = node
      if (opener.image) Object.assign(node, { type: 'image', src: found.href, text: plainText(node.first) })
      else {
        Object.assign(node, { type: 'link', href: found.href })
        this.barrier = this.at
      }
      this.at = found.end
    }

    /** @param {Bracket} bracket */
    isActive(bracket) {
      return bracket.image || bracket.at > this.barrier
    }

    /**
     * What the brackets that close here point to.
     * @param {Bracket} opener
     * @returns {{href: string, title: string, end: number} | null}
     */
    target(opener) {
      const after = this.at + 1
      const direct = this.text[after] === '(' ? links.readInlineTarget(this.text, after) : null
      if (direct || !this.references.size) return direct
      const name = this.text[after] === '[' ? links.readLabel(this.text, after) : null
      const empty = this.text.startsWith('[]', after)
      const own = this.at - opener.at < 1000 ? this.text.slice(opener.at, this.at) : ''
      const reference = this.references.get(links.label(name ?? own))
      if (!reference || reference.note) return null
      return { ...reference, end: name !== null ? after + name.length + 2 : empty ? after + 2 : after }
    }

    // -- addresses, HTML, entities --

    angle() {
      const link = match(AUTOLINK, this.text, this.at)
      if (link) return this.autolink(link, link.slice(1, -1), '')
      const mail = match(AUTOMAIL, this.text, this.at)
      if (mail) return this.autolink(mail, mail.slice(1, -1), 'mailto:')
      const tag = match(TAG, this.text, this.at)
      if (/^<br\s*\/?>$/i.test(tag)) {
        this.at += tag.length
        return this.push(leaf('break'))
      }
      const [, closes, name] = WORDS.exec(tag) ?? []
      if (name) return this.wordsTag(tag, name.toLowerCase(), Boolean(closes))
      this.take(tag || this.comment() || '<')
    }

    /**
     * A pair of tags around words; one without the other is text.
     * @param {string} tag @param {string} name @param {boolean} closes
     */
    wordsTag(tag, name, closes) {
      const count = this.tagCounts.get(name) ?? 0
      if (!closes) {
        const node = leaf('text', tag)
        this.push(node)
        this.at += tag.length
        this.tags.push({ name, node, at: this.at, marks: this.marks })
        this.tagCounts.set(name, count + 1)
        return
      }
      if (!count) return this.take(tag)
      const opener = this.tags[this.tags.findLastIndex((one) => one.name === name)]
      this.emphasize(opener.marks)
      this.forget(opener.at)
      while (this.brackets.length && this.brackets[this.brackets.length - 1].at >= opener.at) this.brackets.pop()
      Object.assign(opener.node, { type: name, text: undefined, first: opener.node.next, next: null })
      this.tail = opener.node
      this.at += tag.length
    }

    /** Tags that opened here or later can be closed no more. @param {number} at */
    forget(at) {
      while (this.tags.length && this.tags[this.tags.length - 1].at >= at) {
        const { name } = /** @type {{name: string}} */ (this.tags.pop())
        this.tagCounts.set(name, (this.tagCounts.get(name) ?? 1) - 1)
      }
    }

    comment() {
      if (this.noComment || !this.text.startsWith('<!--', this.at)) return ''
      const end = this.text.indexOf('-->', this.at + 4)
      this.noComment = end < 0
      return end < 0 ? '' : this.text.slice(this.at, end + 3)
    }

    /** @param {string} source @param {string} text @param {string} scheme */
    autolink(source, text, scheme) {
      this.push({ ...leaf('link'), href: scheme + text, title: '', first: leaf('text', text) })
      this.at += source.length
    }

    entity() {
      const source = links.entity(this.text, this.at)
      const text = links.unescape(source)
      if (!source) return this.take('&')
      this.pending += text
      this.at += source.length
    }

    /** @param {string} behind what was already taken as text @param {string} mark what must stand here */
    bareAddress(behind, mark) {
      const start = this.at - behind.length
      const apart = !/\w/.test(this.text[start - 1] ?? '')
      const begins = apart && this.text.startsWith(mark, this.at) && (behind || mark === 'www.')
      const plausible = begins && /^(?:https?:\/\/|www\.)[\p{L}\p{N}[]/iu.test(this.text.slice(start, start + 12))
      if (!plausible || this.mayBeLink()) return this.take(this.text[this.at])
      this.pending = this.pending.slice(0, this.pending.length - behind.length)
      this.at = start
      const source = this.text.slice(start, links.bareEnd(this.text, start))
      this.autolink(source, source, mark === 'www.' ? 'http://' : '')
    }

    bareMail() {
      const host = match(MAIL_HOST, this.text, this.at)
      if (!host) return this.take('@')
      const local = /[A-Za-z0-9.+-]*$/.exec(this.pending.slice(-LOOK_BACK))?.[0] ?? ''
      const start = this.at - local.length
      const bounded = !/[\w.+-]/.test(this.text[start - 1] ?? '') && !/[_-]/.test(host.at(-1) ?? '')
      if (!local || local.startsWith('.') || !bounded || this.mayBeLink()) return this.take('@')
      this.pending = this.pending.slice(0, this.pending.length - local.length)
      this.at = start
      this.autolink(local + host, local + host, 'mailto:')
    }

    /** Whether this is inside brackets that could still become a link. */
    mayBeLink() {
      this.lastTarget ??= Math.max(this.text.lastIndexOf(']('), this.text.lastIndexOf(']['))
      const last = this.brackets.at(-1)
      return last !== undefined && this.isActive(last) && (this.references.size > 0 || this.lastTarget >= this.at)
    }
  }

  /** @param {Mark} opener @param {Mark} closer */
  function pairs(opener, closer) {
    if (!opener.opens || opener.char !== closer.char) return false
    if (opener.char === '~') return true
    const odd = (closer.opens || opener.closes) && closer.count % 3 !== 0 && (opener.count + closer.count) % 3 === 0
    return !odd
  }

  /** Whether a mark may stand between punctuation and this character. @param {string} char */
  const isOpen = (char) => SPACE.test(char) || PUNCTUATION.test(char) || CJK.test(char)

  return { inline }
})
