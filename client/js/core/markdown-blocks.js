// Lines → the tree of blocks, by the method of CommonMark 0.31's appendix: each line is walked down the blocks that
// are open, then may open new ones, then gives its rest to the innermost. Each line is looked at once, so time is
// linear; depth has a bound, so it stays linear for a line of a hundred thousand `>`.

yaa.define('core/markdown-blocks', ['core/markdown-links'], ({ readDefinition }) => {
  const MAX_DEPTH = 32
  const RULE = /^(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/
  const HEADING = /^#{1,6}(?=[ \t]|$)/
  const FENCE = /^(?:`{3,}(?=[^`]*$)|~{3,})/
  const FENCE_END = /^(?:`{3,}|~{3,})(?=[ \t]*$)/
  /** `$$` or `\\[`, alone or with its end in the same line; behind `$$` the formula may begin at once. */
  const MATH = /^(?:\$\$(?!\$)(?:[^$]*(?:\$\$[ \t]*)?|.*\$\$[ \t]*)|\\\[(?:[ \t]*|.*\\\][ \t]*))$/
  /** A formula of several lines that has its own beginning and end. */
  const ENVIRONMENT = /^\\begin\{((?:align|aligned|alignat|equation|gather|multline|eqnarray|cases|[bpvBV]?matrix)\*?)\}/
  /** What follows is a note, to which `[^label]` in the text points. None has the name of a source: it would pose as it. */
  const NOTE = /^\[\^(?!(?:s\d+\.|p)\d+\])([^\]\s]{1,60})\]:(?=[ \t]|$)/
  /** May be opened by the reader; only at the beginning of a line, outside of lists and quotes. */
  const DETAILS = /^<details(\s+open)?\s*>[ \t]*(?:<summary>(.*?)<\/summary>)?[ \t]*$/i
  const DETAILS_END = /^ {0,3}<\/details>[ \t]*$/i
  const SUMMARY = /^ {0,3}<summary>(.*?)<\/summary>[ \t]*$/i
  const UNDERLINE = /^(?:=+|-+)[ \t]*$/
  const MARKER = /^(?:([*+-])|([0-9]{1,9})([.)]))(?=[ \t]|$)/
  const DEFAULT_TAGS = 'address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|'
    + 'fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|menuitem|nav|'
    + 'noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul'
  /** @type {[RegExp, RegExp | null][]} how an HTML block begins and ends; null: before an empty line */
  const HTML = [
    [/^<(?:script|pre|textarea|style)(?:\s|>|$)/i, /<\/(?:script|pre|textarea|style)>/i],
    [/^<!--/, /-->/], [/^<\?/, /\?>/], [/^<![A-Za-z]/, />/], [/^<!\[CDATA\[/, /\]\]>/],
    [new RegExp(`^</?(?:${DEFAULT_TAGS})(?:\\s|/?>|$)`, 'i'), null],
    [/^<(?:\/[A-Za-z][A-Za-z0-9-]*|[A-Za-z][A-Za-z0-9-]*(?:\s+[A-Za-z_:][\w.:-]*(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'=<>`]+))?)*)\s*\/?>\s*$/, null],
  ]

  /** @param {string} text lines end in LF @returns {BlockNode[]} */
  function parseBlocks(text) {
    const parser = new Parser()
    const lines = text.split('\n')
    if (lines[lines.length - 1] === '') lines.pop()
    for (const line of lines) parser.line(line)
    return parser.root.children
  }

  class Parser {
    root = block('root', 0, null)
    /** the innermost open block */ tip = this.root
    number = -1
    text = ''
    /** Where the rest of the line begins. What is before it holds no tab, so this is its column too. */ at = 0
    /** the next character that is not a space */ next = 0
    /** columns between the two */ indent = 0
    blank = false

    /** @param {string} text */
    line(text) {
      this.text = text
      this.number++
      this.at = 0
      if (this.tip !== this.root && text.includes('<') && this.inDetails()) return
      const reached = this.walk()
      if (!reached) return // it was a closing fence
      const container = isText(reached) ? reached : this.openBlocks(reached)
      const lazy = container === reached && this.tip !== reached && this.tip.type === 'paragraph' && !this.blank
      if (lazy) return this.add(this.tip)
      this.closeTo(container)
      if (isText(container) || container.type === 'paragraph' || container.type === 'table') this.add(container)
      else if (!this.blank && container.type !== 'heading' && container.type !== 'rule') this.add(this.open('paragraph'))
    }

    /** The end of what may be opened, or what stands over it. */
    inDetails() {
      /** @type {BlockNode | null} */ let node = this.tip
      if (isText(node) && node.until !== null) return false
      while (node && node.type !== 'details') node = node.parent
      const ends = node && DETAILS_END.test(this.text)
      const summary = node && this.tip === node && !node.children.length && node.summary === undefined ? SUMMARY.exec(this.text) : null
      if (!node || !(ends || summary)) return false
      this.touch(node)
      if (ends) this.closeTo(/** @type {BlockNode} */ (node.parent))
      else node.summary = summary?.[1]
      return true
    }

    /** Down the open blocks, as far as this line goes on with them. */
    walk() {
      let container = this.root
      for (let child = container.children.at(-1); child?.open; child = container.children.at(-1)) {
        this.look()
        if (child.fence && this.closes(child)) return null
        if (!this.continues(child)) break
        container = child
      }
      this.look()
      return container
    }

    /** @param {BlockNode} node whether the line belongs to it; if so, its mark is passed over */
    continues(node) {
      switch (node.type) {
        case 'list': case 'details': return true
        case 'quote': return this.quoteMark() && this.touch(node)
        case 'item': return (this.blank ? node.children.length > 0 : this.indent >= node.offset) && this.skip(node.offset)
        case 'code': return (node.fence || this.blank || this.indent >= 4) && this.skip(node.fence ? node.indent : 4)
        case 'html': return node.until !== null || !this.blank
        case 'paragraph': case 'table': case 'math': return !this.blank
        default: return false
      }
    }

    /** @param {BlockNode} node a fenced block */
    closes(node) {
      const found = this.indent <= 3 ? FENCE_END.exec(this.text.slice(this.next)) : null
      if (!found || found[0][0] !== node.fence[0] || found[0].length < node.fence.length) return false
      this.touch(node)
      node.closed = true
      this.closeTo(/** @type {BlockNode} */ (node.parent))
      return true
    }

    quoteMark() {
      if (this.indent > 3 || this.text[this.next] !== '>') return false
      this.skip(this.indent)
      this.at++
      this.look()
      return this.skip(1)
    }

    // -- opening --

    /** @param {BlockNode} container @returns {BlockNode} the innermost block that the line opens, or `container` */
    openBlocks(container) {
      for (;;) {
        this.look()
        if (this.blank) return container
        if (this.indent >= 4) {
          if (this.tip.type === 'paragraph' || this.tip.type === 'table') return container
          this.skip(4)
          this.closeTo(container)
          return this.open('code', { info: '' })
        }
        const rest = this.text.slice(this.next)
        const inner = container.depth < MAX_DEPTH ? this.openContainer(container, rest) : null
        if (!inner) return this.openLeaf(container, rest)
        container = inner
      }
    }

    /** @param {BlockNode} container @param {string} rest @returns {BlockNode | null} */
    openContainer(container, rest) {
      if (rest[0] === '>') {
        this.closeTo(container)
        const quote = this.open('quote')
        this.quoteMark()
        return quote
      }
      const details = rest[0] === '<' && isPlain(container) ? DETAILS.exec(rest) : null
      if (details) {
        this.closeTo(container)
        const made = this.open('details', { shown: Boolean(details[1]), summary: details[2] })
        this.skip(this.indent)
        this.at = this.text.length
        return made
      }
      const marker = RULE.test(rest) ? null : MARKER.exec(rest)
      if (!marker) return null
      const empty = rest.slice(marker[0].length).trim() === ''
      if (container.type === 'paragraph' && (empty || (marker[2] && Number(marker[2]) !== 1))) return null
      this.closeTo(container)
      const before = this.indent
      this.skip(before)
      this.at += marker[0].length
      this.look()
      const width = empty || this.indent > 4 ? 1 : this.indent
      this.skip(width)
      const kind = marker[1] ?? marker[3]
      const goesOn = container.type === 'list' && container.kind === kind
      if (!goesOn) this.open('list', { kind, ordered: !marker[1], first: Number(marker[2] ?? 1) })
      return this.open('item', { offset: before + marker[0].length + width })
    }

    /** @param {BlockNode} container @param {string} rest @returns {BlockNode} */
    openLeaf(container, rest) {
      const inParagraph = container.type === 'paragraph'
      const note = rest.startsWith('[^') && NOTE.exec(rest)
      if (note) {
        this.closeTo(container)
        return this.open('paragraph', { note: note[1] })
      }
      const heading = HEADING.exec(rest)?.[0]
      const fence = FENCE.exec(rest)?.[0]
      const rule = RULE.test(rest)
      const interrupts = this.tip.type === 'paragraph' ? HTML.length - 1 : HTML.length // kinds of HTML that may begin here
      const html = rest[0] === '<' && HTML.slice(0, interrupts).find(([begins]) => begins.test(rest))
      if (inParagraph && UNDERLINE.test(rest) && this.underline(container, rest)) return container
      const align = inParagraph ? alignments(rest) : null
      if (align && this.table(container, align)) return this.tip
      const formula = rest[0] === '\\' ? ENVIRONMENT.exec(rest)?.[1] : undefined
      const math = formula || ((rest[0] === '$' || rest[0] === '\\') && MATH.test(rest))
      if (!heading && !fence && !rule && !html && !math) return container
      this.closeTo(container)
      if (heading) return this.open('heading', { level: heading.length, text: headingText(rest.slice(heading.length)) })
      if (fence) return this.open('code', { fence, indent: this.indent, info: rest.slice(fence.length).trim() })
      if (math) return this.open('math', formula ? { mark: `\\end{${formula}}`, whole: true } : { mark: rest[0] === '$' ? '$$' : '\\]' })
      return html ? this.open('html', { until: html[1] }) : this.open('rule')
    }

    /**
     * A line of = or - makes a heading of the paragraph above it.
     * @param {BlockNode} paragraph
     * @param {string} rest
     */
    underline(paragraph, rest) {
      const text = paragraph.lines.join('\n')
      if (!text.slice(definitionsEnd(text)).trim()) return false
      Object.assign(paragraph, { type: 'heading', level: rest[0] === '=' ? 1 : 2, text: text.trim() })
      return this.touch(paragraph)
    }

    /**
     * A delimiter row makes a table whose head is the paragraph's last line (GFM 4.10).
     * @param {BlockNode} paragraph
     * @param {any[]} align
     */
    table(paragraph, align) {
      const head = cells(paragraph.lines[paragraph.lines.length - 1])
      if (head.length !== align.length) return false
      paragraph.lines.pop()
      const more = { align, head, rows: [], start: this.number - 1 }
      if (!paragraph.lines.length) Object.assign(paragraph, { ...more, type: 'table' })
      else {
        paragraph.end--
        this.open('table', more)
      }
      this.tip.fresh = true // the delimiter row itself is not to be added
      return this.touch(this.tip)
    }

    /**
     * A new block in the innermost open one that can hold it; those below it are closed.
     * @param {string} type
     * @param {object} [more]
     */
    open(type, more) {
      while (!holds(this.tip.type, type)) this.closeTo(/** @type {BlockNode} */ (this.tip.parent))
      const node = block(type, this.number, this.tip, more)
      this.tip.children.push(node)
      this.touch(this.tip)
      this.tip = node
      return node
    }

    /** Closes what is open below this block. @param {BlockNode} node */
    closeTo(node) {
      for (; this.tip !== node; this.tip = /** @type {BlockNode} */ (this.tip.parent)) this.tip.open = false
    }

    // -- adding --

    /** The rest of the line goes to this block. @param {BlockNode} node */
    add(node) {
      if (node.type === 'table') {
        if (!node.fresh) node.rows.push(cells(this.text.slice(this.next)).slice(0, node.align.length))
        node.fresh = false
      } else if (node.type === 'paragraph') node.lines.push(this.text.slice(this.next))
      else if (!node.fence || node.start !== this.number) node.lines.push(this.text.slice(this.at))
      if (!this.blank || node.fence) this.touch(node)
      if (node.mark && this.endsMath(node)) this.closeTo(/** @type {BlockNode} */ (node.parent))
      if (node.until?.test(this.text.slice(this.at))) this.closeTo(/** @type {BlockNode} */ (node.parent))
    }

    /** @param {BlockNode} node */
    endsMath(node) {
      const text = this.text.slice(this.next).trimEnd()
      const first = node.start === this.number
      node.closed = text.endsWith(node.mark) && (!first || text.length > 3)
      return node.closed
    }

    /** The block, and those around it, reach to this line. @param {BlockNode} node */
    touch(node) {
      /** @type {BlockNode | null} */
      let each = node
      for (; each && each.end !== this.number; each = each.parent) each.end = this.number
      return true
    }

    // -- the line --

    look() {
      let column = this.at
      for (this.next = this.at; this.next < this.text.length; this.next++) {
        if (this.text[this.next] === ' ') column++
        else if (this.text[this.next] === '\t') column += 4 - (column % 4)
        else break
      }
      this.indent = column - this.at
      this.blank = this.next === this.text.length
    }

    /**
     * Passes over so many columns of space, or what there is of it. A tab on the way becomes spaces, as it may be used in part.
     * @param {number} columns
     */
    skip(columns) {
      for (let end = this.at + Math.min(columns, this.indent); this.at < end; this.at++) {
        if (this.text[this.at] !== '\t') continue
        this.text = this.text.slice(0, this.at) + ' '.repeat(4 - (this.at % 4)) + this.text.slice(this.at + 1)
      }
      return true
    }
  }

  /**
   * @param {string} type
   * @param {number} line
   * @param {BlockNode | null} parent
   * @param {object} [more]
   * @returns {BlockNode}
   */
  function block(type, line, parent, more) {
    const depth = parent ? parent.depth + 1 : 0
    return { type, start: line, end: line, parent, depth, children: [], lines: [], open: true, ...more }
  }

  /** Blocks whose lines mean nothing else. @param {BlockNode} node */
  const isText = (node) => ['code', 'html', 'math'].includes(node.type)

  /** @param {string} outer @param {string} inner */
  const holds = (outer, inner) => (inner === 'item' ? outer === 'list' : ['root', 'quote', 'item', 'details'].includes(outer))

  /** Is it in nothing but what may be opened? @param {BlockNode} node */
  function isPlain(node) {
    /** @type {BlockNode | null} */ let each = node.type === 'paragraph' ? node.parent : node
    while (each?.type === 'details' || each?.type === 'list') each = each.parent // of a list whose items end here
    return each?.type === 'root'
  }

  /** Spaces and a closing run of # taken off. @param {string} text */
  function headingText(text) {
    const trimmed = text.trim()
    let end = trimmed.length
    while (trimmed[end - 1] === '#') end--
    const closed = end === 0 || trimmed[end - 1] === ' ' || trimmed[end - 1] === '\t'
    return closed ? trimmed.slice(0, end).trim() : trimmed
  }

  /**
   * Where the link definitions at the start of a paragraph end.
   * @param {string} text
   * @param {(definition: any) => void} [found]
   */
  function definitionsEnd(text, found) {
    let at = 0
    while (text[at] === '[') {
      const definition = readDefinition(text.slice(at))
      if (!definition) break
      found?.(definition)
      at += definition.end
    }
    return at
  }

  /**
   * The delimiter row of a table, or null.
   * @param {string} row
   * @returns {(null | 'left' | 'center' | 'right')[] | null}
   */
  function alignments(row) {
    if (!row.includes('|') || !/^[|:\- \t]+$/.test(row)) return null
    const marks = cells(row)
    if (!marks.every((mark) => /^:?-+:?$/.test(mark))) return null
    return marks.map((mark) => {
      const right = mark.endsWith(':')
      return mark.startsWith(':') ? (right ? 'center' : 'left') : right ? 'right' : null
    })
  }

  /** A row's cells. A bar behind a backslash is a bar, even in code. @param {string} row */
  function cells(row) {
    const text = row.trim()
    const found = ['']
    for (let i = text[0] === '|' ? 1 : 0; i < text.length; i++) {
      const last = found.length - 1
      if (text[i] === '\\' && text[i + 1] === '|') found[last] += text[++i]
      else if (text[i] !== '|') found[last] += text[i]
      else if (i < text.length - 1) found.push('')
    }
    return found.map((cell) => cell.trim())
  }

  return { parseBlocks, definitionsEnd }
})
