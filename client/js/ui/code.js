// A block of code: language, wrap and copy buttons, text. Colours are ranges in the CSS Custom Highlight API: no
// elements, no second layout. Only what is on the screen is painted.

yaa.define('ui/code', ['ui/h', 'ui/text', 'ui/popup', 'ui/seen'], (dom, { t }, popup, { whenSeen, whenGone }) => {
  const { h, text, attr, grow, iconButton } = dom
  /** More than this is shown without colours: tokenizing it would take more than a frame. */
  const COLOUR_MAX = 100_000
  /** A block of limited height follows its end, as live output does, while it is read within this many pixels of it. */
  const NEAR_END = 40
  const PAINT = 'CSS' in window && 'highlights' in CSS

  /** A page in one file has no artifact.html beside it. */
  const SHOWS = document.querySelector('template[data-later="artifact"]') !== null

  /** @param {string} kind @returns {any} the page-wide set of ranges for one kind of token */
  function paintFor(kind) {
    const name = `code-${kind}`
    const set = CSS.highlights.get(name) ?? new Highlight()
    CSS.highlights.set(name, set)
    return set
  }

  /** @type {any} core/highlight, once there is code to colour */
  let highlight = null

  /** A block that changed is painted when it is on the screen. @param {Element} el @param {() => void} paint */
  async function soon(el, paint) {
    if (!PAINT) return
    if (!highlight) await yaa.later('code').then(() => { highlight = yaa.use('core/highlight') }, () => {})
    if (highlight) whenSeen(el, paint)
  }

  /**
   * @param {{plain?: boolean}} [options] `plain`: no bar, wrapped, limited height (arguments, results)
   */
  function codeBlock(options = {}) {
    const code = h('code')
    const label = h('span.lang')
    const pre = h('pre', { tabIndex: 0 }, code)
    const bar = options.plain ? null : h('div.code-bar', null, label)
    if (bar) whenSeen(bar, addButtons)
    /** @type {any} */ let show = null
    const el = h('div.code', options.plain ? { 'data-plain': 'true' } : null, bar, pre)
    /** @type {StaticRange[]} */ let ranges = []
    let shown = { text: '', lang: '' }
    let dirty = true

    function addButtons() {
      const wrap = iconButton('wrap', t('code.wrap'), { 'aria-pressed': 'false', onclick: () => {
        const on = el.dataset.wrap !== 'true'
        el.dataset.wrap = String(on)
        attr(wrap, 'aria-pressed', on)
      } })
      const copy = iconButton('copy', t('code.copy'), { onclick: () => popup.copy(code.textContent ?? '', copy) })
      if (SHOWS) show = iconButton('eye', t('artifact.open'), { onclick: preview })
      bar.append(...[show, wrap, copy].filter(Boolean))
      offer()
    }

    /** A page or a picture can be looked at. */
    function offer() {
      if (show) show.hidden = !/^(?:html|svg)$/i.test(shown.lang)
    }

    async function preview() {
      await yaa.later('artifact')
      yaa.use('ui/artifact').open(shown.text, shown.lang.toLowerCase())
    }

    /** @param {{text: string, lang?: string}} block */
    function update(block) {
      const lang = block.lang ?? ''
      if (block.text === shown.text && lang === shown.lang) return
      const first = !shown.text
      shown = { text: block.text, lang }
      const follow = options.plain && !first && pre.scrollHeight - pre.scrollTop - pre.clientHeight < NEAR_END
      grow(code, block.text)
      if (follow) pre.scrollTop = pre.scrollHeight
      text(label, lang || t('code.plain'))
      offer()
      dirty = true
      soon(el, paint)
    }

    function paint() {
      const [node] = code.childNodes
      if (!dirty || !node) return
      dirty = false
      clear()
      if (shown.text.length > COLOUR_MAX) return
      for (const [kind, startOffset, endOffset] of highlight.spans(shown.text, shown.lang)) {
        const range = new StaticRange({ startContainer: node, startOffset, endContainer: node, endOffset })
        paintFor(kind).add(range)
        ranges.push(range)
      }
      // with every change of the page the browser goes through all ranges there are
      if (ranges.length) whenGone(el, fade)
    }

    function fade() {
      dirty = true
      clear()
      whenSeen(el, paint)
    }

    function clear() {
      for (const range of ranges) for (const set of CSS.highlights.values()) set.delete(range)
      ranges = []
    }

    function destroy() {
      dirty = false
      clear()
    }

    return { el, update, destroy }
  }

  return { codeBlock }
})
