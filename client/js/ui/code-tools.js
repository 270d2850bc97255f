// The buttons of a block of code: preview, line numbers, wrap, download, copy. A long block shows its first lines until
// it is opened. Loaded with the first block of code.

yaa.define('ui/code-tools', ['ui/dom', 'ui/i18n', 'i18n/code', 'ui/popup', 'io/download', 'core/code-text', 'css/code', 'css/ansi'], (dom, { t }, _texts, popup, download, { fileNameOf, lineCount, numbersOf, SHOWN }) => {
  const { h, attr, hide, iconButton } = dom

  /** A page in one file has no artifact.html beside it. */
  const SHOWS = yaa.parts('preview').some(({ group }) => group)

  /**
   * Add the buttons to a block's bar.
   * @param {HTMLElement} el the block @param {HTMLElement} bar @param {HTMLElement} pre
   * @param {{text: string, lang: string, open?: boolean}} first a block that is still being written is never folded: it is read as it comes
   */
  function codeTools(el, bar, pre, first) {
    let shown = first
    let opened = first.open === true
    const wrap = toggle('wrap', iconButton('wrap', t('code.wrap'), {}))
    const numbers = toggle('numbers', h('button.button.square.ghost.small', { type: 'button', 'aria-label': t('code.numbers'), title: t('code.numbers') }, '#'))
    const save = iconButton('download', t('code.download'), { onclick: () => download.text(fileNameOf(shown.lang), shown.text) })
    const copy = iconButton('copy', t('code.copy'), { onclick: () => popup.copy(shown.text, copy) })
    const show = SHOWS ? iconButton('eye', t('artifact.open'), { onclick: async () => (await yaa.part('preview')).show(shown.text, shown.lang.toLowerCase()) }) : null
    const more = h('button.code-more', { type: 'button', onclick: () => {
      opened = true
      fold()
      pre.focus({ preventScroll: true })
    } })
    bar.append(...[show, numbers, wrap, save, copy].filter(Boolean))
    el.append(more)

    /** A switch that the styles read from the block. @param {string} name @param {any} button */
    function toggle(name, button) {
      attr(button, 'aria-pressed', false)
      button.addEventListener('click', () => {
        const on = el.getAttribute(`data-${name}`) !== 'true'
        attr(el, `data-${name}`, on)
        attr(button, 'aria-pressed', on)
        number()
      })
      return button
    }

    /** A wrapped line has more than one row, so numbers and wrapping do not go together: while it wraps they are not shown. */
    function number() {
      const on = el.getAttribute('data-numbers') === 'true'
      attr(pre, 'data-lines', on ? numbersOf(shown.text) : null)
    }

    function fold() {
      const hidden = opened ? 0 : lineCount(shown.text) - SHOWN
      const folded = hidden > SHOWN
      attr(el, 'data-folded', folded ? '' : null)
      hide(more, !folded)
      if (folded) more.textContent = t('ask.lines', { n: hidden })
    }

    /** @param {typeof first} block what it shows now */
    function update(block) {
      shown = block
      if (/^mermaid$/i.test(shown.lang) && !shown.open) drawing().catch(console.warn)
      if (show) hide(show, !/^(?:html|svg)$/i.test(shown.lang))
      opened ||= shown.open === true
      number()
      fold()
    }

    /** @type {((text: string) => void) | null} */ let draw = null

    async function drawing() {
      draw ??= (await yaa.part('drawing'))?.diagramView(el, bar, pre) // without it the text stands there
      draw?.(shown.text)
    }

    update(first)
    return { update }
  }

  return { codeTools }
})
