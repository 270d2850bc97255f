// Markdown on the page: the tree core/markdown makes becomes nodes. While an answer streams in, top-level blocks
// that did not change keep their nodes (measured: 238 ms instead of 5,750 ms for an answer of 61 KB).

yaa.define('ui/md-dom', ['ui/h', 'ui/text', 'ui/code', 'core/markdown', 'core/urlsafe'], (dom, { t }, { codeBlock }, markdown, urlsafe) => {
  const { h, attr, fill, fromRight, grow, icon, list } = dom

  function markdownView() {
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
      const { blocks } = stream.update(text, { live })
      list(el, blocks, keyOf, blockView)
    }

    return { el, update }
  }

  /** A block whose kind changes is a new view: a paragraph may become a table with its second line. @param {any} block */
  const keyOf = ({ key, node }) => `${key}/${node.type}${node.level ?? ''}${node.ordered ? '1' : ''}`

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
      drawn = block.node
      const words = plainOf(drawn)
      if (words === null) fill(el, contentOf(drawn))
      else grow(el, words)
    }
    return { el, update }
  }

  /** The text of a block of nothing but text, else null: as such it grows where it is. @param {any} node @returns {string | null} */
  const plainOf = (node) => (node?.children?.length === 1 && node.children[0].type === 'text' ? node.children[0].text : null)

  /** The element of a block, empty. @param {any} node */
  function elementOf(node) {
    switch (node.type) {
      case 'heading': return h(`h${Math.min(6, node.level + 2)}.level-${node.level}`)
      case 'quote': return h('blockquote', { dir: 'auto' })
      case 'list': return h(node.ordered ? 'ol' : 'ul', { dir: 'auto', start: node.ordered ? node.start : null })
      case 'table': return h('div.table', { tabIndex: 0 })
      case 'rule': return h('hr')
      case 'math': return h('div.formula.display', { tabIndex: 0 })
      default: return h('p')
    }
  }

  /** What goes into it. @param {any} node */
  function contentOf(node) {
    switch (node.type) {
      case 'quote': return blocksOf(node.children)
      case 'list': return node.items.map((/** @type {any} */ item) => listItem(item, node.tight))
      case 'table': return tableOf(node)
      case 'rule': return null
      case 'math': return formulaOf(node)
      case 'html': return node.text
      default: return inlinesOf(node.children)
    }
  }

  /** Blocks inside a block: drawn anew with it. @param {any[]} nodes @param {boolean} [tight] */
  function blocksOf(nodes, tight = false) {
    return nodes.map((node) => {
      if (tight && node.type === 'paragraph') return inlinesOf(node.children)
      if (node.type !== 'code') {
        const el = elementOf(node)
        fill(el, contentOf(node))
        return el
      }
      const code = codeBlock()
      code.update(node)
      return code.el
    })
  }

  /** @param {any} item @param {boolean} tight */
  function listItem(item, tight) {
    const task = typeof item.checked === 'boolean'
    const box = task ? h('input', { type: 'checkbox', checked: item.checked, disabled: true, 'aria-label': t(item.checked ? 'task.done' : 'task.open') }) : null
    return h(task ? 'li.task' : 'li', null, box, blocksOf(item.children, tight))
  }

  /** @param {any} node */
  function tableOf(node) {
    const selector = (/** @type {string} */ tag, /** @type {number} */ i) => (node.align[i] ? `${tag}.${node.align[i]}` : tag)
    const head = node.head.map((/** @type {any[]} */ cell, /** @type {number} */ i) => h(selector('th', i), { scope: 'col' }, inlinesOf(cell)))
    const rows = node.rows.map((/** @type {any[][]} */ row) => h('tr', null, row.map((cell, i) => h(selector('td', i), null, inlinesOf(cell)))))
    return h('table', null, h('thead', null, h('tr', null, head)), h('tbody', null, rows))
  }

  /** @param {any[]} nodes @returns {any[]} */
  const inlinesOf = (nodes) => nodes.map(inlineOf)

  /** @param {any} node @returns {any} */
  function inlineOf(node) {
    switch (node.type) {
      case 'text': return node.text
      case 'code': return h('code', null, node.text)
      case 'math': return formulaOf(node)
      case 'break': return h('br')
      case 'emphasis': return h('em', null, inlinesOf(node.children))
      case 'strong': return h('strong', null, inlinesOf(node.children))
      case 'strike': return h('s', null, inlinesOf(node.children))
      case 'link': return linkOf(node)
      case 'image': return imageOf(node)
      default: return node.text ?? null
    }
  }

  /** @type {any} ui/math, once it is here */
  let maths = null

  /** What draws formulas is loaded with the first one; until then, and if it does not come, there is the source. @param {any} node */
  function formulaOf({ text, display }) {
    const el = h('span.formula', null, h('code', null, text))
    if (maths) maths.draw(el, text, display)
    else yaa.later('maths').then(() => (maths = yaa.use('ui/math')).draw(el, text, display), () => {})
    return el
  }

  /** An unsafe address stays what it is: words. @param {any} node */
  function linkOf({ href, title, children }) {
    const safe = urlsafe.link(href)
    const words = inlinesOf(children)
    return safe ? h('a', { href: safe, title: title || safe }, words) : h('span', { title: href }, words)
  }

  /** A remote image is loaded only when the reader asks: its address could carry words of the session away. @param {any} node */
  function imageOf({ src, title, alt }) {
    const image = urlsafe.image(src)
    if (!image) return alt || src
    if (!image.remote) return h('img', { src: image.src, alt: alt ?? '', title: title || undefined, loading: 'lazy' })
    const words = [alt || t('image.alt'), t('image.load', { host: image.host })].join(' · ')
    const onclick = () => load(button, image.src, alt)
    const button = h('button.image-off', { type: 'button', title: image.src, onclick }, icon('image'), words)
    return button
  }

  /**
   * The page's policy allows no foreign pictures, so it is fetched without cookies or referrer and shown from memory.
   * @param {any} button @param {string} src @param {string} alt
   */
  async function load(button, src, alt) {
    button.disabled = true
    try {
      const reply = await fetch(src, { credentials: 'omit', referrerPolicy: 'no-referrer' })
      const blob = await reply.blob()
      if (!blob.type.startsWith('image/')) throw new TypeError(`not an image: ${blob.type}`)
      button.replaceWith(h('img', { src: URL.createObjectURL(blob), alt: alt ?? '' }))
    } catch {
      // the other site does not let a page read it: leave a link the reader can open
      button.replaceWith(h('a', { href: src }, alt || src))
    }
  }

  return { markdownView }
})
