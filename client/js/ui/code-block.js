// A block of code: language, buttons (ui/code-tools), text. Only what is on the screen is coloured, with a span for each
// token: text with ranges of the CSS Custom Highlight API is painted anew with every key (docs/design/speed.md).

yaa.define('ui/code-block', ['ui/dom', 'ui/i18n', 'ui/render-visibility'], (dom, { t }, { whenRendered }) => {
  const { h, text } = dom
  /** More than this is shown without colours: tokenizing it would take more than a frame. */
  const COLOUR_MAX = 100_000
  /** A block that is read within so many pixels of its end follows it. */
  const NEAR_END = 40

  /** @type {any} core/highlight, once there is code to colour */
  let highlight = null

  /** A block that changed is painted when it is on the screen. @param {Element} el @param {() => void} paint */
  async function soon(el, paint) {
    if (!highlight) await yaa.load('code').then(() => { yaa.use('css/code'), highlight = yaa.use('core/highlight') }, () => {})
    if (highlight) whenRendered(el, paint)
  }

  /**
   * @param {{plain?: boolean}} [options] `plain`: no bar, wrapped, limited height (arguments, results)
   */
  function codeBlock(options = {}) {
    const code = h('code', { translate: false })
    const label = h('span.lang')
    const pre = h('pre', { tabIndex: 0 }, code)
    const bar = options.plain ? null : h('div.code-bar', null, label)
    /** @type {any} */ let tools = null
    const el = h('div.code', options.plain ? { 'data-plain': 'true' } : null, bar, pre)
    /** What `code` holds: a piece without a kind is a text, any other a span. @type {{kind: string, text: string}[]} */
    let drawn = []
    /** @type {{text: string, lang: string, open?: boolean, spans?: [string, number, number][]}} */
    let shown = { text: '', lang: '' }

    /** @param {{text: string, lang?: string, open?: boolean, spans?: [string, number, number][]}} block `spans`: its colours, instead of those of its language */
    function update(block) {
      const lang = block.lang ?? ''
      if (block.text === shown.text && lang === shown.lang && block.spans?.length === shown.spans?.length && block.open === shown.open) return
      const { text: before } = shown
      shown = { ...block, lang }
      const follow = options.plain && before && pre.scrollHeight - pre.scrollTop - pre.clientHeight < NEAR_END
      if (before && block.text.startsWith(before)) grow(block.text.slice(before.length))
      else draw([{ kind: '', text: block.text }])
      if (follow) pre.scrollTop = pre.scrollHeight
      text(label, lang || t('code.plain'))
      soon(el, paint)
    }

    function paint() {
      if (tools) tools.update(shown)
      else if (bar) tools = yaa.use('ui/code-tools').codeTools(el, bar, pre, shown)
      if (shown.text.length > COLOUR_MAX) return
      const ansi = shown.spans ? null : yaa.use('core/ansi').parseAnsi(shown.text)
      const { lang } = shown
      const { text } = ansi ?? shown
      const spans = shown.spans ?? (ansi?.spans.length ? ansi.spans : highlight.spans(text, lang))
      /** @type {typeof drawn} */ const pieces = []
      let at = 0
      for (const [kind, start, end] of spans) {
        pieces.push({ kind: '', text: text.slice(at, start) }, { kind, text: text.slice(start, end) })
        at = end
      }
      draw([...pieces, { kind: '', text: text.slice(at) }].filter((piece) => piece.text))
    }

    /** What is there already stays, and with it what is selected. @param {typeof drawn} pieces */
    function draw(pieces) {
      const differs = pieces.findIndex(({ kind, text }, i) => kind !== drawn[i]?.kind || text !== drawn[i].text)
      const same = differs < 0 ? pieces.length : differs
      while (code.childNodes.length > same) code.lastChild.remove()
      code.append(...pieces.slice(same).map(({ kind, text }) => (kind ? h(`span.code-${kind}`, null, text) : text)))
      drawn = pieces
    }

    /** @param {string} more */
    function grow(more) {
      const [last, { lastChild: end }] = [drawn.at(-1), code]
      // a program that translates pages puts elements in the place of texts
      if (last?.kind !== '' || end?.nodeType !== Node.TEXT_NODE) return draw([...drawn, { kind: '', text: more }])
      end.appendData(more)
      last.text += more
    }

    return { el, update }
  }

  return { codeBlock }
})
