// Updates the nodes of a page from one Markdown tree to the next. An element that did not change is kept, and with it
// a press, the focus or a selection in it.

yaa.define('core/markdown-reconcile', [], () => {
  /** What goes into the element of a node, one piece for each of its children. @param {any} node @returns {any[]} */
  function piecesOf(node) {
    const { type, children } = node
    switch (type) {
      case 'list': return node.items.map((/** @type {any} */ item) => ({ ...item, type: 'item', tight: node.tight }))
      case 'item': return [...(node.checked === null ? [] : [{ type: 'box', checked: node.checked }]),
        ...children.flatMap((/** @type {any} */ one) => (node.tight && one.type === 'paragraph' ? one.children : blockOf(one)))]
      case 'quote': return [...(node.alert ? [{ type: 'alert', kind: node.alert }] : []), ...children.map(blockOf)]
      case 'details': return [{ type: 'summary', children: node.summary }, ...children.map(blockOf)]
      case 'footnote': return [{ type: 'noteLabel', n: node.n }, ...children]
      case 'table': return [{ type: 'grid', children: [rowsOf('top', 'head', [node.head], node), rowsOf('rest', 'cell', node.rows, node)] }]
      case 'link': return node.host ? [...children, { type: 'text', text: ` (${node.host})` }] : children
      case 'html': return [{ type: 'text', text: node.text }]
      case 'math': case 'formula': return [{ ...node, type: 'math' }]
      default: return children ?? []
    }
  }

  /** A formula that is a block has the name of one in a line. @param {any} node */
  const blockOf = (node) => (node.type === 'math' ? { ...node, type: 'formula' } : node)

  /** @param {string} type @param {string} cell @param {any[][][]} rows @param {any} table */
  const rowsOf = (type, cell, rows, { align }) => ({
    type, children: rows.map((row) => ({ type: 'row', children: row.map((children, i) => ({ type: cell, align: align[i], children })) })),
  })

  /** A piece without what is in it. @param {any} piece */
  const frameOf = ({ children, items, head, rows, summary, ...frame }) => JSON.stringify(frame)

  /**
   * @param {any} el whose children show the pieces `before` @param {any[]} before @param {any[]} after
   * @param {(piece: any, shown?: any) => any} draw a node or a text; it may give `shown`, which shows another piece of that type, made to show this one
   */
  function refill(el, before, after, draw) {
    // a text may have been put there in several nodes, and whatever else is there is not ours
    const known = el.childNodes.length === before.length ? before : []
    while (el.childNodes.length > Math.min(known.length, after.length)) el.lastChild.remove()
    after.forEach((piece, i) => {
      const [old, node] = [known[i], el.childNodes[i]]
      if (!old) el.append(draw(piece))
      else if (!isSame(old, piece)) renew(node, old, piece, draw)
    })
  }

  /** Asked at each level of a long table, with each word of it. @param {any} one @param {any} other @returns {boolean} */
  function isSame(one, other) {
    if (one === other || typeof one !== 'object' || !one || !other) return one === other
    for (const key in one) if (!isSame(one[key], other[key])) return false
    for (const key in other) if (!(key in one)) return false
    return true
  }

  /** @param {any} node @param {any} old @param {any} piece @param {(piece: any, shown?: any) => any} draw */
  function renew(node, old, piece, draw) {
    if (piece.type === 'text' && old.type === 'text' && node.nodeType === 3) { // a program that translates pages puts elements there
      if (piece.text.startsWith(node.data)) node.appendData(piece.text.slice(node.data.length))
      else node.data = piece.text
    } else if (frameOf(old) === frameOf(piece)) refill(node, piecesOf(old), piecesOf(piece), draw)
    else {
      const made = draw(piece, old.type === piece.type ? node : undefined)
      if (made !== node) node.replaceWith(made)
    }
  }

  return { piecesOf, blockOf, refill }
})
