// Markdown on the page: the tree core/markdown makes becomes nodes. While an answer streams in, top-level blocks
// that did not change keep their nodes (measured: 238 ms instead of 5,750 ms for an answer of 61 KB).

yaa.define('ui/markdown-view', ['ui/dom', 'ui/i18n', 'ui/code-block', 'core/markdown', 'core/markdown-reconcile', 'core/safe-urls'], (
  dom, { t }, { codeBlock }, markdown, { piecesOf, refill }, safeUrls,
) => {
  const { h, attr, fill, fromRight, grow, list } = dom

  /** @param {(marks: any[]) => void} [cite] without it citations are text */
  function markdownView(cite) {
    const el = h('div.prose')
    const stream = markdown.stream()
    let shown = ''
    let grows = false

    /** @param {string} text all of it so far @param {boolean} [live] more will follow: a mark alone is not shown yet */
    function update(text, live = false) {
      if (text === shown && live === grows) return
      if (fromRight(text.startsWith(shown) ? text.slice(shown.length) : text)) attr(el, 'data-bidi', '')
      shown = text
      grows = live
      list(el, stream.update(text, { live }), keyOf, blockView)
      if (cited.length) cite?.(cited)
      cited = []
    }

    return { el, update }
  }

  /** A block whose kind changes is a new view: a paragraph may become a table with its second line. @param {any} block */
  const keyOf = ({ key, node }) => `${key}/${node.type}${node.level ?? ''}${node.ordered ? '1' : ''}${node.alert ?? node.n ?? ''}`

  /** @param {any} block @returns {import('./types').View} */
  function blockView({ node }) {
    if (node.type === 'code') {
      const code = codeBlock()
      return { el: code.el, update: (/** @type {any} */ block) => code.update(block.node) }
    }
    const el = elementOf(node)
    /** @type {any} */ let drawn = null
    /** @param {any} block */
    function update(block) {
      if (block.node === drawn) return
      const before = drawn
      drawn = block.node
      const words = plainOf(drawn)
      if (words === null) refill(el, before ? piecesOf(before) : [], piecesOf(drawn), draw)
      else grow(el, words)
    }
    return { el, update }
  }

  /** The text of a block of nothing but text, else null: as such it grows where it is. @param {any} node @returns {string | null} */
  const plainOf = (node) => (node?.type !== 'footnote' && node?.children?.length === 1 && node.children[0].type === 'text' ? node.children[0].text : null)

  /** Blocks of code inside a block grow in place, like those that are none. @type {WeakMap<Element, any>} */
  const codes = new WeakMap()

  /** Citations just drawn. @type {any[]} */
  let cited = []

  /** A piece as a node of the page; given the node that shows another one of its kind, it may make it of that. @param {any} node @param {any} [shown] @returns {any} */
  function draw(node, shown) {
    switch (node.type) {
      case 'text': return node.text
      case 'code': return node.lang === undefined ? h('code', { translate: false }, node.text) : codeOf(node, shown)
      case 'math': return formulaOf(node)
      case 'cite': return cited[cited.push(h('span', null, node.text)) - 1]
      case 'break': return h('br')
      case 'alert': case 'note': case 'noteLabel': return markupOf(node)
      case 'image': return imageOf(node)
      case 'box': return h('input', { type: 'checkbox', checked: node.checked, disabled: true, 'aria-label': t(node.checked ? 'task.done' : 'task.open') })
    }
    const el = elementOf(node)
    fill(el, piecesOf(node).map((/** @type {any} */ one) => draw(one)))
    return el
  }

  /** @param {any} node @param {any} shown */
  function codeOf(node, shown) {
    const code = codes.get(shown) ?? codeBlock()
    codes.set(code.el, code)
    code.update(node)
    return code.el
  }

  /** An element, empty. @param {any} node */
  function elementOf(node) {
    switch (node.type) {
      case 'heading': return h(`h${Math.min(6, node.level + 2)}.level-${node.level}`)
      case 'quote': return h('blockquote', { dir: 'auto', 'data-alert': node.alert })
      case 'details': return withMarkup(h('details.fold', { open: node.shown || null }), node)
      case 'kbd': case 'sub': case 'sup': return withMarkup(h(node.type), node)
      case 'footnote': return h('p.footnote', { 'data-note': node.n, tabIndex: -1 })
      case 'list': return h(node.ordered ? 'ol' : 'ul', { dir: 'auto', start: node.ordered ? node.start : null })
      case 'item': return h(node.checked === null ? 'li' : 'li.task')
      case 'table': return h('div.table', { dir: 'auto', tabIndex: 0 })
      case 'head': return h(node.align ? `th.${node.align}` : 'th', { scope: 'col' })
      case 'cell': return h(node.align ? `td.${node.align}` : 'td')
      case 'rule': return h('hr')
      case 'math': case 'formula': return h('div.formula.display', { tabIndex: 0 })
      case 'link': return linkOf(node)
      default: return h(TAGS[node.type] ?? 'p')
    }
  }

  /** @type {Record<string, string>} */
  const TAGS = { grid: 'table', top: 'thead', rest: 'tbody', row: 'tr', summary: 'summary', emphasis: 'em', strong: 'strong', strike: 's' }

  /** @type {any} what draws them, once it is here */
  let maths = null

  /** What draws formulas is loaded with the first one; until then, and if it does not come, there is the source. @param {any} node */
  function formulaOf({ text, display }) {
    const el = h('span.formula', null, h('code', null, text))
    if (maths) maths.draw(el, text, display)
    else yaa.part('formulas').then((one) => (maths = one)?.draw(el, text, display), () => {})
    return el
  }

  /** What has styles and words of its own (ui/markup): they come with the first. @param {any} node */
  function markupOf(node) {
    return withMarkup(h(node.type === 'alert' ? 'p' : 'span', null, node.text ?? node.kind ?? `${node.n}.`), node)
  }

  /** @param {any} el @param {any} node */
  function withMarkup(el, node) {
    yaa.load('markup').then(() => yaa.use('ui/markup').draw(el, node), () => {})
    return el
  }

  /** What is no safe address is words, or a file of the session. @param {any} node */
  function linkOf({ href, title }) {
    const safe = safeUrls.link(href)
    return safe ? h('a', { href: safe, title: title || safe }) : withMarkup(h('span', { title: href }), { type: 'file', path: href })
  }

  /** A remote image is loaded only when the reader asks (ui/markup): its address could carry words of the session away. @param {any} node */
  function imageOf({ src, title, alt }) {
    const image = safeUrls.image(src)
    if (image && !image.remote) return h('img', { src: image.src, alt: alt ?? '', title: title || undefined, loading: 'lazy' })
    return withMarkup(h('span', null, alt || src), { type: image ? 'remote' : 'file', path: src, alt, ...image })
  }

  return { markdownView }
})
