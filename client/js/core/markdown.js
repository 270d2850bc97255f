// Markdown → a tree of plain objects (see Block and Inline in types.d.ts): CommonMark 0.31 and GFM's tables, task
// lists, strike and bare addresses. HTML comes out as text. `stream` does it for a text that grows: only the blocks
// at its end are made anew, all others stay the very same objects.

yaa.define('core/markdown', ['core/markdown-blocks', 'core/markdown-inline', 'core/markdown-links'], (lines, inlines, links) => {
  const { parseBlocks, definitionsEnd } = lines
  const { inline } = inlines
  const { unescape, trimSpaces, label } = links
  /** A top-level block as it stands in the text, blank lines behind it included. @typedef {{key: number, source: string, node: Block, start: number, definitions: Definition[]}} Slice */
  /** @typedef {{label: string, href: string, title: string, note?: boolean}} Definition */
  const TASK = /^\[([ xX])\][ \t]+/
  /** A line that has only marks so far: `-` may become a list, a heading's underline or a rule. */
  const ALERT = /^\[!(note|tip|important|warning|caution)\][ \t]*$/i
  const ALERT_BEGINS = /^\n?[ \t]*>[ \t]*\[(?:![A-Za-z]*\]?)?$/
  const UNDECIDED = /^\n?[ \t]*(?:>[ \t]*)*(?:>|[-=+*_#`~|:$][-=+*_#`~|:>$]*|[0-9]{1,9}[.)]?)[ \t]*$/

  /** @param {string} text @returns {Block[]} */
  function parse(text) {
    const slices = cut(clean(text))
    return buildAll(slices.map(({ tree }) => tree), referencesOf(slices))
  }

  /** @param {string} text */
  const clean = (text) => text.replace(/\r\n?/g, '\n').replaceAll('\0', '\ufffd')

  /**
   * Top-level blocks, still without inline nodes.
   * @param {string} text
   * @param {number} [offset] of the text in the whole
   */
  function cut(text, offset = 0) {
    const trees = parseBlocks(text)
    const lines = lineStarts(text)
    return trees.map((tree, i) => {
      const start = i ? lines[tree.start] : 0
      const end = i + 1 < trees.length ? lines[trees[i + 1].start] : text.length
      return { source: text.slice(start, end), start: start + offset, tree, definitions: definitionsIn(tree) }
    })
  }

  /** @param {string} text */
  function lineStarts(text) {
    const starts = [0]
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
    return starts
  }

  // -- link definitions --

  /** @param {BlockNode} tree @returns {Definition[]} */
  function definitionsIn(tree) {
    /** @type {Definition[]} */
    const found = []
    const visit = (/** @type {BlockNode} */ node) => {
      if (node.note !== undefined) found.push({ label: label(`^${node.note}`), href: '', title: '', note: true })
      else if (isProse(node) && textOf(node).startsWith('[')) definitionsEnd(textOf(node), (each) => found.push(each))
      node.children.forEach(visit)
    }
    visit(tree)
    return found
  }

  /** @param {{definitions: Definition[]}[]} slices the first of a name counts @returns {References} */
  function referencesOf(slices) {
    const references = new Map()
    let notes = 0
    for (const { definitions } of slices) {
      for (const { label, href, title, note } of definitions) {
        if (!references.has(label)) references.set(label, note ? { href, title, note: ++notes } : { href, title })
      }
    }
    return references
  }

  // -- building --

  /**
   * @param {BlockNode} node
   * @param {References} references
   * @returns {Block | null} null for link definitions alone
   */
  function build(node, references) {
    switch (node.type) {
      case 'heading': return { type: 'heading', level: node.level, children: inline(proseOf(node), references) }
      case 'code': return buildCode(node)
      case 'html': return { type: 'html', text: withoutBlankEnd(node.lines).join('\n') }
      case 'math': return buildMath(node, references)
      case 'rule': return { type: 'rule' }
      case 'quote': return buildQuote(node, references)
      case 'details': return { type: 'details', shown: node.shown, summary: inline(trimSpaces(node.summary ?? ''), references), children: buildAll(node.children, references) }
      case 'list': return buildList(node, references)
      case 'table': return {
        type: 'table',
        align: node.align,
        head: node.head.map((/** @type {string} */ cell) => inline(cell, references)),
        rows: node.rows.map((/** @type {string[]} */ row) => row.map((cell) => inline(cell, references))),
      }
      default: {
        const text = proseOf(node)
        if (node.note !== undefined) return buildNote(node, text, references)
        return text ? { type: 'paragraph', children: inline(text, references) } : null
      }
    }
  }

  /** A quote, or an alert of GitHub's. @param {BlockNode} node @param {References} references @returns {Block} */
  function buildQuote(node, references) {
    const first = node.children[0]
    const alert = first?.type === 'paragraph' ? ALERT.exec(first.lines[0] ?? '')?.[1].toLowerCase() : undefined
    if (alert) first.lines = first.lines.slice(1)
    const children = buildAll(node.children, references)
    return alert ? { type: 'quote', alert, children } : { type: 'quote', children }
  }

  /** @param {BlockNode} node @param {string} text @param {References} references @returns {Block} */
  function buildNote(node, text, references) {
    const children = inline(text.slice(text.indexOf(':') + 1).trimStart(), references)
    return { type: 'footnote', n: references.get(label(`^${node.note}`))?.note ?? 0, children }
  }

  /** @param {BlockNode[]} nodes @param {References} references */
  function buildAll(nodes, references) {
    return /** @type {Block[]} */ (nodes.map((node) => build(node, references)).filter((node) => node !== null))
  }

  /** @param {BlockNode} node @returns {Block} */
  function buildCode(node) {
    const info = unescape(node.info)
    const text = (node.fence ? node.lines : withoutBlankEnd(node.lines)).join('\n')
    return { type: 'code', text, lang: info.split(/\s/, 1)[0], info, ...(node.fence && !node.closed ? { open: true } : {}) }
  }

  /** A formula that has no end is text: it may be one that is still being written. @param {BlockNode} node @param {References} references */
  function buildMath(node, references) {
    const text = node.lines.join('\n').trim()
    const body = node.whole ? text : text.slice(2, -2).trim()
    if (node.closed && body) return { type: /** @type {'math'} */ ('math'), text: body, display: /** @type {true} */ (true) }
    return { type: /** @type {'paragraph'} */ ('paragraph'), children: inline(text, references) }
  }

  /** @param {BlockNode} node @param {References} references @returns {Block} */
  function buildList(node, references) {
    const tight = !hasGap(node.children) && !node.children.some((item) => hasGap(item.children))
    const items = node.children.map((item) => {
      const first = item.children[0]
      const task = first?.type === 'paragraph' ? TASK.exec(first.lines[0] ?? '') : null
      if (task) first.lines = [first.lines[0].slice(task[0].length), ...first.lines.slice(1)]
      return { checked: task ? task[1] !== ' ' : null, children: buildAll(item.children, references) }
    })
    return { type: 'list', ordered: node.ordered, start: node.first, tight, items }
  }

  /** Whether blank lines stand between these. @param {BlockNode[]} nodes */
  const hasGap = (nodes) => nodes.some((node, i) => i > 0 && node.start > nodes[i - 1].end + 1)

  /** @param {BlockNode} node */
  const isProse = (node) => (node.type === 'paragraph' && node.note === undefined) || (node.type === 'heading' && node.lines.length > 0)

  /** @param {BlockNode} node */
  const textOf = (node) => node.text ?? node.lines.join('\n')

  /** The text without link definitions and the space at its end. @param {BlockNode} node */
  function proseOf(node) {
    const text = textOf(node)
    return trimSpaces(isProse(node) ? text.slice(definitionsEnd(text)) : text)
  }

  /** @param {string[]} lines */
  function withoutBlankEnd(lines) {
    let end = lines.length
    while (end && lines[end - 1].trim() === '') end--
    return lines.slice(0, end)
  }

  // -- streaming --

  /** @returns {MarkdownStream} */
  function stream() {
    /** @type {Slice[]} */
    let slices = []
    let shown = ''
    let names = '[]'
    let nextKey = 0

    /** @param {string} whole all of the text so far @param {{live?: boolean}} [options] live: more will follow */
    function update(whole, { live = false } = {}) {
      const text = live ? decided(clean(whole)) : clean(whole)
      const before = slices
      let kept = before.slice(0, unchanged(before, shown, text))
      let fresh = cut(text.slice(endOf(kept)), endOf(kept))
      const references = referencesOf([...kept, ...fresh])
      const renamed = names !== (names = JSON.stringify([...references]))
      if (renamed) [kept, fresh] = [[], cut(text)]
      const made = fresh.map(({ source, start, tree, definitions }, i) => {
        const old = before[kept.length + i]
        const same = old?.source === source && !(renamed && source.includes('['))
        const node = same ? old.node : /** @type {Block} */ (build(tree, references))
        const key = same || (old && node && old.node?.type === node.type) ? old.key : nextKey++
        return { source, start, definitions, node, key }
      })
      slices = [...kept, ...made]
      shown = text
      return slices.filter((slice) => slice.node)
    }

    return { update }
  }

  /** @param {Slice[]} slices */
  const endOf = (slices) => (slices.length ? slices[slices.length - 1].start + slices[slices.length - 1].source.length : 0)

  /** How many blocks the new text can't have changed. @param {Slice[]} slices @param {string} shown their text @param {string} text */
  function unchanged(slices, shown, text) {
    const first = text.startsWith(shown) ? -1 : slices.findIndex((slice) => !text.startsWith(slice.source, slice.start))
    if (first >= 0) return Math.max(0, first - 1) // the line that differs may now belong to the block before it
    // so may half a line at the end: `2` was a paragraph, `2. b` belongs to the list above; `a\n|-` was a table
    const [, settled] = slices.at(-1)?.source.split('\n', 3).slice(1) ?? []
    return Math.max(0, slices.length - (settled === undefined ? 2 : 1))
  }

  /** The text without a last line of which nobody can tell yet what it becomes. @param {string} text */
  function decided(text) {
    const line = text.lastIndexOf('\n')
    const last = text.slice(Math.max(line, 0))
    return UNDECIDED.test(last) || ALERT_BEGINS.test(last) ? text.slice(0, line + 1) : text
  }

  return { parse, stream }
})
