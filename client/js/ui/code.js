// A block of code: language, wrap and copy buttons, text. Colours are ranges in the CSS Custom Highlight API: no
// elements, no second layout. Only what is on the screen is painted.

yaa.define('ui/code', ['ui/h', 'ui/text', 'ui/popup'], (dom, { t }, popup) => {
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

  /** @type {WeakMap<Element, () => void>} */
  const painters = new WeakMap()
  /** @type {any} core/highlight, once there is code to colour */
  let highlight = null
  /** @type {Set<any>} */
  const changed = new Set()

  /** Blocks that changed are painted with the next frame if they are on the screen, and otherwise when they get there. @param {any} el */
  function soon(el) {
    if (!PAINT) return
    if (!changed.size) {
      if (highlight) requestAnimationFrame(paintVisible)
      else yaa.later('code').then(begin, () => changed.clear())
    }
    changed.add(el)
  }

  function begin() {
    highlight = yaa.use('core/highlight')
    requestAnimationFrame(paintVisible)
  }

  function paintVisible() {
    for (const el of changed) if (el.checkVisibility({ contentVisibilityAuto: true })) painters.get(el)?.()
    changed.clear()
  }

  // the browser says so when it begins to render an article: cheaper than an observer on each block
  document.addEventListener('contentvisibilityautostatechange', (event) => {
    const { skipped, target } = /** @type {any} */ (event)
    if (!skipped && target.matches('.message')) for (const el of target.querySelectorAll('.code')) painters.get(el)?.()
  })

  /**
   * @param {{plain?: boolean}} [options] `plain`: no bar, wrapped, limited height (arguments, results)
   */
  function codeBlock(options = {}) {
    const code = h('code')
    const label = h('span.lang')
    const wrap = iconButton('wrap', t('code.wrap'), { 'aria-pressed': 'false', onclick: toggleWrap })
    const copy = iconButton('copy', t('code.copy'), { onclick: () => popup.copy(code.textContent ?? '', copy) })
    const pre = h('pre', { tabIndex: 0 }, code)
    const show = SHOWS && !options.plain ? iconButton('eye', t('artifact.open'), { hidden: true, onclick: preview }) : null
    const bar = options.plain ? null : h('div.code-bar', null, label, show, wrap, copy)
    const el = h('div.code', options.plain ? { 'data-plain': 'true' } : null, bar, pre)
    /** @type {Range[]} */ let ranges = []
    let shown = { text: '', lang: '' }
    let dirty = true

    function toggleWrap() {
      const on = el.dataset.wrap !== 'true'
      el.dataset.wrap = String(on)
      attr(wrap, 'aria-pressed', on)
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
      if (show) show.hidden = !/^(?:html|svg)$/i.test(lang)
      dirty = true
      soon(el)
    }

    function paint() {
      if (!highlight || !dirty || !code.firstChild) return
      dirty = false
      clear()
      if (shown.text.length > COLOUR_MAX) return
      for (const [kind, from, to] of highlight.spans(shown.text, shown.lang)) {
        const range = new Range()
        range.setStart(code.firstChild, from)
        range.setEnd(code.firstChild, to)
        paintFor(kind).add(range)
        ranges.push(range)
      }
    }

    function clear() {
      for (const range of ranges) for (const set of CSS.highlights.values()) set.delete(range)
      ranges = []
    }

    function destroy() {
      changed.delete(el)
      clear()
    }

    painters.set(el, paint)
    return { el, update, destroy }
  }

  return { codeBlock }
})
