// Citations in an answer, as buttons; pressed, each shows the passage that the model read, which is in the session. The
// words there are those of strangers: they are text, never Markdown, and the link is http(s) only.

yaa.define('ext/citations/cite', ['ui/dom', 'ui/i18n', 'core/sources', 'ext/citations/texts', 'ext/citations/style'], ({ h, icon, iconButton, fill, uid }, { t }, sources) => {
  /**
   * Make buttons of the marks that name a source; the others stay text.
   * @param {any[]} marks elements with the mark as text @param {() => Session} sessionOf the open session
   */
  function draw(marks, sessionOf) {
    for (const el of marks) {
      const id = sources.idOf(el.textContent)
      const within = el.closest('article')?.id.replace('message-', '')
      const find = () => id && sources.find(sessionOf(), id, within)
      const source = find()
      if (source) fill(el, buttonOf(source, source.id.slice(1), find))
    }
  }

  /** @param {Source} source @param {string} words @param {() => Source | null | ""} find */
  function buttonOf(source, words, find) {
    const name = nameOf(source)
    const label = t('cite.label', { id: words, title: name })
    const button = h('button.cite', { type: 'button', 'aria-label': label, title: [name, source.host].filter(Boolean).join(' – '), 'aria-haspopup': 'dialog', onclick: () => {
      const now = find()
      if (now) show(button, now, words)
    } }, words)
    return button
  }

  /** @param {Source} source */
  const nameOf = (source) => source.title || source.host || t('cite.document')

  /** @param {any} anchor @param {Source} source @param {string} words what stands on the button */
  function show(anchor, source, words) {
    if (anchor.popoverTargetElement) return // with this press the browser closes it
    const id = uid('cite')
    const close = iconButton('x', t('cite.close'), { onclick: () => panel.hidePopover() }, 'small')
    const panel = h('section.cited', { popover: 'auto', role: 'dialog', 'aria-labelledby': id, ontoggle },
      h('header', null, h('h4', { id, dir: 'auto' }, nameOf(source)), close),
      h('p.hint', null, h('bdi', null, [t('cite.panel', { id: words }), source.host, source.date, source.page && t('cite.page', { page: source.page })].filter(Boolean).join(' · '))),
      source.text ? h('blockquote', { dir: 'auto', tabIndex: 0, 'aria-label': t('cite.read') }, source.text) : h('p.hint', null, t('cite.nothing')),
      source.href && h('a.button.small', { href: source.href, title: source.href }, icon('link'), t('cite.open')))
    ;(anchor.closest('main, dialog') ?? document.body).append(panel)
    panel.showPopover()
    place(panel, anchor.getBoundingClientRect())
    close.focus()

    /** @param {any} event */
    function ontoggle({ newState }) {
      anchor.popoverTargetElement = newState === 'open' ? panel : null
      if (newState === 'open') return
      if (panel.contains(document.activeElement) || document.activeElement === document.body) anchor.focus()
      panel.remove()
    }
  }

  /** Under the button, or above it where there is more room. @param {any} panel @param {DOMRect} at */
  function place(panel, at) {
    const { width, height } = panel.getBoundingClientRect()
    const left = Math.max(8, Math.min(at.left, innerWidth - width - 8))
    const below = at.bottom + height + 12 < innerHeight || at.top < innerHeight - at.bottom
    panel.style.setProperty('left', `${left}px`)
    panel.style.setProperty('top', `${below ? Math.max(8, Math.min(at.bottom + 4, innerHeight - height - 8)) : Math.max(8, at.top - height - 4)}px`)
  }

  return { draw }
})
