// Elements of the widget: a small builder, and Markdown as nodes. Text from a model becomes text nodes and a dozen kinds of
// elements, links are checked, pictures are named and not loaded: they would tell their host who reads this.

yaa.define('widget/dom', ['core/markdown', 'core/urlsafe'], (markdown, urlsafe) => {
  const SVG = 'http://www.w3.org/2000/svg'
  /** @type {Record<string, string>} */
  const ICONS = {
    chat: 'M3.5 5.5a2 2 0 0 1 2-2h9a2 2 0 0 1 2 2v6a2 2 0 0 1-2 2H9l-4 3v-3h0a1.5 1.5 0 0 1-1.5-1.5z', x: 'M5 5l10 10M15 5L5 15', send: 'M10 16V4.5M5 9.5l5-5 5 5',
    stop: 'M6.5 6.5h7v7h-7z', fresh: 'M10 4v12M4 10h12', tool: 'M12.7 3.3a4.2 4.2 0 0 0-4 5.7l-5.1 5.1a1.65 1.65 0 0 0 2.3 2.3L11 11.3a4.2 4.2 0 0 0 5.7-4l-2.4 2.4-2.9-1.1-1.1-2.9z',
  }

  /**
   * @param {string} selector `tag.class.class` @param {Record<string, any> | null} [props] `on…` are listeners, `aria-…` and `role` attributes, others properties
   * @param {...any} children @returns {any}
   */
  function h(selector, props, ...children) {
    const [tag, ...classes] = selector.split('.')
    const el = /** @type {any} */ (document.createElement(tag))
    if (classes.length) el.className = classes.join(' ')
    for (const [name, value] of Object.entries(props ?? {})) {
      if (name.startsWith('on')) el.addEventListener(name.slice(2), value)
      else if (name.startsWith('aria-') || name === 'role') el.setAttribute(name, String(value))
      else el[name] = value
    }
    el.append(...children.flat(4).filter((child) => child !== null && child !== undefined && child !== false))
    return el
  }

  /** @param {string} name */
  function icon(name) {
    const svg = document.createElementNS(SVG, 'svg')
    svg.setAttribute('viewBox', '0 0 20 20')
    svg.setAttribute('aria-hidden', 'true')
    const path = document.createElementNS(SVG, 'path')
    path.setAttribute('d', ICONS[name])
    svg.append(path)
    return svg
  }

  /** Markdown that may grow: blocks that did not change keep their nodes. @param {(key: string, values?: any) => string} t */
  function prose(t) {
    const el = h('div.prose')
    const stream = markdown.stream()
    /** @type {{node: any, el: any}[]} */
    let shown = []

    /** @param {string} text @param {boolean} live */
    function update(text, live) {
      const { blocks } = stream.update(text, { live })
      const same = blocks.findIndex(({ node }, i) => shown[i]?.node !== node)
      if (same < 0 && blocks.length === shown.length) return
      const from = same < 0 ? blocks.length : same
      for (const one of shown.slice(from)) one.el.remove()
      shown = [...shown.slice(0, from), ...blocks.slice(from).map(({ node }) => ({ node, el: el.appendChild(block(node)) }))]
    }

    /** @param {any} node @returns {any} */
    function block(node) {
      switch (node.type) {
        case 'heading': return h(`h${Math.min(6, node.level + 2)}`, null, inline(node.children))
        case 'code': return h('pre', { tabIndex: 0 }, h('code', null, node.text))
        case 'math': return h('pre', { tabIndex: 0 }, h('code', null, node.text))
        case 'quote': return h('blockquote', null, node.children.map(block))
        case 'rule': return h('hr')
        case 'html': return h('p', null, node.text)
        case 'table': return h('div.table', { tabIndex: 0 }, h('table', null, rows([node.head], 'th'), rows(node.rows, 'td')))
        case 'list': return h(node.ordered ? 'ol' : 'ul', node.ordered ? { start: node.start } : null, node.items.map((/** @type {any} */ item) => (
          h('li', null, item.checked === null ? null : item.checked ? '☑ ' : '☐ ',
            item.children.map((/** @type {any} */ one) => (node.tight && one.type === 'paragraph' ? inline(one.children) : block(one))))
        )))
        default: return h('p', null, inline(node.children))
      }
    }

    /** @param {any[][][]} cells @param {string} tag */
    const rows = (cells, tag) => cells.map((row) => h('tr', null, row.map((cell) => h(tag, null, inline(cell)))))

    /** @param {any[]} nodes @returns {any[]} */
    const inline = (nodes) => nodes.map((node) => {
      switch (node.type) {
        case 'text': return node.text
        case 'break': return h('br')
        case 'emphasis': return h('em', null, inline(node.children))
        case 'strong': return h('strong', null, inline(node.children))
        case 'strike': return h('s', null, inline(node.children))
        case 'image': return t('image', { alt: node.alt || node.src })
        case 'link': {
          const href = urlsafe.link(node.href)
          return href ? h('a', { href, target: '_blank', rel: 'noreferrer noopener' }, inline(node.children)) : inline(node.children)
        }
        default: return h('code', null, node.text)
      }
    })

    return { el, update }
  }

  return { h, icon, prose }
})
