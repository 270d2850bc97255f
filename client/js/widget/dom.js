// Elements of the widget: a small builder, and Markdown as nodes. Text from a model becomes text nodes and a dozen kinds of
// elements, links are checked, pictures are named and not loaded: they would tell their host who reads this.

yaa.define('widget/dom', ['core/markdown', 'core/markdown-reconcile', 'core/safe-urls'], (markdown, { piecesOf, blockOf, refill }, safeUrls) => {
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

  /** Markdown that may grow: what did not change keeps its nodes. @param {(key: string, values?: any) => string} t */
  function prose(t) {
    const el = h('div.prose')
    const stream = markdown.stream()
    /** @type {any[]} */
    let shown = []

    /** @param {string} text @param {boolean} live */
    function update(text, live) {
      const next = stream.update(text, { live }).map(({ node }) => blockOf(node))
      refill(el, shown, next, draw)
      shown = next
    }

    /** @param {any} node @param {any} [now] the element of another one of its type @returns {any} */
    function draw(node, now) {
      switch (node.type) {
        case 'text': case 'cite': return node.text
        case 'break': return h('br')
        case 'box': return node.checked ? '☑ ' : '☐ '
        case 'image': return t('image', { alt: node.alt || node.src })
        case 'math': return h('code', PLAIN, node.text)
        case 'code': return node.lang === undefined ? h('code', PLAIN, node.text) : codeOf(node, now)
      }
      return h(tagOf(node), propsOf(node), piecesOf(node).map((/** @type {any} */ one) => draw(one)))
    }

    return { el, update }
  }

  /** A program that translates pages leaves it alone. */
  const PLAIN = { translate: false }

  /** A block of code that grows is still the one that is scrolled, or marked for copying. @param {any} node @param {any} now */
  function codeOf({ text }, now) {
    if (now?.localName !== 'pre') return h('pre', { tabIndex: 0 }, h('code', PLAIN, text))
    const words = now.firstChild.firstChild
    if (text.startsWith(words.data)) words.appendData(text.slice(words.length))
    else words.data = text
    return now
  }

  /** @type {Record<string, string>} */
  const TAGS = {
    quote: 'blockquote', rule: 'hr', formula: 'pre', table: 'div.table', grid: 'table', top: 'thead', rest: 'tbody', row: 'tr', head: 'th', cell: 'td',
    item: 'li', emphasis: 'em', strong: 'strong', strike: 's',
  }

  /** @param {any} node */
  function tagOf({ type, level, ordered, href }) {
    if (type === 'heading') return `h${Math.min(6, level + 2)}`
    if (type === 'list') return ordered ? 'ol' : 'ul'
    if (type === 'link') return safeUrls.link(href) ? 'a' : 'span' // an unsafe address stays what it is: words
    return TAGS[type] ?? 'p'
  }

  /** @param {any} node */
  function propsOf({ type, ordered, start, href }) {
    const safe = type === 'link' && safeUrls.link(href)
    if (safe) return { href: safe, target: '_blank', rel: 'noreferrer noopener' }
    if (type === 'list' && ordered) return { start }
    return type === 'table' || type === 'formula' ? { tabIndex: 0 } : null
  }

  return { h, icon, prose }
})
