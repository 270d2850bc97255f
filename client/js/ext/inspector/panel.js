// The inspector: a panel beside the conversation, over it where the screen is narrow. Each tab is a view that is made
// when it is first opened and brought up to date only while it is seen.

yaa.define('ext/inspector/panel', [
  'ui/dom', 'ext/inspector/texts', 'ext/inspector/context-view', 'ext/inspector/waterfall', 'ext/inspector/compare-runs',
  'ext/inspector/checks', 'ext/inspector/json-view', 'ext/inspector/approvals-board', 'ext/inspector/style',
], (
  { h, iconButton, attr, fill, uid }, { t }, { contextView }, { waterfallView }, { compareView }, { checksView }, { jsonView },
  { approvalsBoard },
) => {
  const TABS = ['context', 'waterfall', 'compare', 'checks', 'json', 'desk']

  /**
   * @param {import('../../ui/types').CommandContext} context @param {any} calls what waits for a person
   */
  function start(context, calls) {
    const go = goTo(context)
    /** @type {Record<string, () => any>} */
    const makers = {
      context: () => contextView(context, go), waterfall: () => waterfallView(go), compare: () => compareView(context, go),
      checks: () => checksView(go),
      json: () => jsonView(), desk: () => approvalsBoard(context, calls),
    }
    /** @type {Record<string, any>} */ const made = {}
    const id = uid('inspector')
    const tabs = TABS.map((name) => h('button', { type: 'button', role: 'tab', id: `${id}-${name}`, 'aria-controls': id,
      onclick: () => choose(name) }, t(`inspect.${name}`)))
    const body = h('div.inspector-body', { id, role: 'tabpanel', tabIndex: 0 })
    const el = h('aside.inspector', { 'aria-label': t('inspect.label'), onkeydown },
      h('div.inspector-head', null, h('div.inspector-tabs', { role: 'tablist', 'aria-label': t('inspect.label'), onkeydown: move }, tabs),
        iconButton('x', t('inspect.close'), { onclick: close })),
      body)
    let open = false
    let chosen = 'context'
    addEventListener('yaa-beside', (/** @type {any} */ event) => { if (open && event.detail !== 'inspector') close() })
    /** @type {Element | null} */ let before = null

    /** @param {string} name @param {string} [what] for the view itself */
    function show(name, what) {
      if (!open) before = document.activeElement
      open = true
      dispatchEvent(new CustomEvent('yaa-beside', { detail: 'inspector' })) // there is room for one panel
      mount()
      choose(name)
      if (what) made[name].choose?.(what)
      tabs[TABS.indexOf(name)].focus()
    }

    function mount() {
      const root = document.getElementById('app')
      if (el.parentElement !== root) root?.append(el)
      attr(/** @type {Element} */ (root), 'data-inspector', open ? 'open' : null)
    }

    /** @param {string} name */
    function choose(name) {
      made[chosen]?.hidden?.()
      chosen = name
      made[name] ??= makers[name]()
      tabs.forEach((tab, i) => {
        attr(tab, 'aria-selected', TABS[i] === name)
        tab.tabIndex = TABS[i] === name ? 0 : -1
      })
      attr(body, 'aria-labelledby', `${id}-${name}`)
      fill(body, made[name].el)
      made[name].update(context.state())
    }

    function close() {
      open = false
      made[chosen]?.hidden?.()
      el.remove()
      attr(/** @type {Element} */ (document.getElementById('app')), 'data-inspector', null)
      // who had it nowhere works with single keys: they go on where nothing is written
      const back = before?.isConnected && before !== document.body ? before : document.querySelector('.scroll')
      if (back) /** @type {HTMLElement} */ (back).focus({ preventScroll: true })
    }

    /** @param {KeyboardEvent} event */
    function move(event) {
      const step = { ArrowRight: 1, ArrowLeft: -1, Home: -TABS.length, End: TABS.length }[event.key]
      if (!step) return
      event.preventDefault()
      const at = Math.abs(step) > 1 ? (step > 0 ? TABS.length - 1 : 0) : (TABS.indexOf(chosen) + step + TABS.length) % TABS.length
      choose(TABS[at])
      tabs[at].focus()
    }

    /** @param {KeyboardEvent} event */
    function onkeydown(event) {
      if (event.key !== 'Escape' || event.defaultPrevented) return
      event.preventDefault()
      close()
    }

    /** @param {import('../../ui/types').State} state */
    function update(state) {
      if (!open) return
      mount()
      if (state.whole || !state.live) made[chosen]?.update(state)
    }

    return { open: show, update, end: close }
  }

  /** Bring an article into view; over a narrow page the panel makes room. @param {import('../../ui/types').CommandContext} context */
  function goTo({ app }) {
    return (/** @type {string} */ id) => {
      app.views.thread.reveal(id)?.focus({ preventScroll: true })
    }
  }

  return { start }
})
