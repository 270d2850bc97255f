// The inline nodes of a block while it is parsed: a linked list, so that wrapping a stretch takes constant time, turned
// into a tree of plain objects at the end. Nothing recurses: the writer chooses the depth.

yaa.define('core/markdown-nodes', ['core/safe-urls'], ({ otherHost }) => {
  /** @typedef {InlineNode} Node */
  /** Marks nested deeper than this are taken off: a page can't lay out thousands of levels. */
  const MAX_DEPTH = 24

  /** @param {string} type @param {string} [text] @returns {Node} */
  const leaf = (type, text) => ({ type, text, prev: null, next: null })

  /**
   * Puts what is between two nodes into a new one between them.
   * @param {Node} before
   * @param {Node} after
   * @param {string} type
   */
  function wrap(before, after, type) {
    const node = { ...leaf(type), first: before.next === after ? null : before.next, prev: before, next: after }
    if (after.prev) after.prev.next = null
    before.next = after.prev = node
  }

  /** @param {Node | null | undefined} first @returns {string} */
  function plainText(first) {
    const stack = first ? [first] : []
    let text = ''
    for (let node = stack.pop(); node; node = stack.pop()) {
      if (node.next) stack.push(node.next)
      if (node.type === 'break') text += '\n'
      if (node.first && node.type !== 'image') stack.push(node.first)
      else text += node.text ?? ''
    }
    return text
  }

  /** Linked nodes → the tree that is given out. @param {Node | null} first @returns {Inline[]} */
  function collect(first) {
    /** @type {Inline[]} */
    const root = []
    /** @type {{node: Node | null, into: any[], inLink: boolean}[]} */
    const stack = [{ node: first, into: root, inLink: false }]
    for (let frame = stack[0]; frame; frame = stack[stack.length - 1]) {
      const { node, into, inLink } = frame
      if (!node) {
        stack.pop()
        continue
      }
      frame.node = node.next
      if (node.type === 'cite' && !inLink) into.push({ type: 'cite', text: node.text })
      else if (node.type === 'text' || node.type === 'cite') addText(into, inLink ? straight(node.text) : node.text ?? '')
      else if (node.type === 'code') into.push({ type: 'code', text: inLink ? straight(node.text) : node.text })
      else if (node.type === 'math') into.push({ type: 'math', text: node.text, display: node.display })
      else if (node.type === 'note') inLink ? addText(into, node.text ?? '') : into.push({ type: 'note', n: node.n, text: node.text })
      else if (node.type === 'break') into.push({ type: 'break' })
      else if (node.type === 'image') into.push({ type: 'image', src: node.src, title: node.title, alt: node.text })
      else {
        const link = node.type === 'link'
        const bare = link ? inLink : stack.length > MAX_DEPTH // links hold no links
        const host = link && otherHost(plainText(node.first), node.href ?? '')
        const target = link ? { href: node.href, title: node.title, ...(host && { host }) } : {}
        const made = { type: node.type, ...target, children: [] }
        if (!bare) into.push(made)
        stack.push({ node: node.first ?? null, into: bare ? into : made.children, inLink: inLink || link })
      }
    }
    return root
  }

  /** Without what turns the direction of writing: a link could be read as another one. @param {string} [text] */
  const straight = (text = '') => text.replace(/[\u202a-\u202e\u2066-\u2069]/g, '')

  /** @param {any[]} into @param {string} text */
  function addText(into, text) {
    const last = into[into.length - 1]
    if (last?.type === 'text') last.text += text
    else if (text) into.push({ type: 'text', text })
  }

  return { leaf, wrap, plainText, collect }
})
