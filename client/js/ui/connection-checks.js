// The connection to the server in a few words, and an empty session. What is wrong with it is the failure panel's.

yaa.define('ui/connection-checks', ['ui/dom', 'ui/i18n'], ({ h, icon, text }, { t }) => {
  const STARTERS = [['hello', 'spark'], ['tool', 'hand'], ['question', 'question'], ['code', 'pencil']]

  /** @param {any} server `{url, checking, ok, failure}` @returns {'good' | 'bad' | 'warn' | ''} */
  const toneOf = (server) => (server.checking ? '' : server.ok ? 'good' : server.failure?.kind === 'key' ? 'warn' : 'bad')

  /** @param {any} server */
  function wordsOf(server) {
    if (server.checking) return t('server.checking')
    if (server.ok) return t('server.ready')
    if (server.failure?.kind === 'key') return t(server.hasKey ? 'server.keyBad' : 'server.keyMissing')
    return t(`fail.title.${server.failure?.kind ?? 'other'}`)
  }

  /** What is wrong: a line, until the script of the panel is there. @param {import('./types').Actions} actions */
  function failureView(actions) {
    const el = h('p.problem', { role: 'alert', hidden: true })
    /** @type {any} */ let panel = null
    /** @type {any} */ let last = null

    async function bring() {
      panel = { update() {} }
      try {
        const part = await yaa.part('failure-panel')
        if (!part) return
        panel = part.failurePanel(actions)
        el.replaceWith(panel.el)
        panel.update(last)
      } catch {
        panel = null
      }
    }

    /** @param {any} state */
    function update(state) {
      last = state
      el.hidden = !state.server.failure
      if (state.server.failure && !panel) bring()
      if (panel) panel.update(state)
      text(el, state.server.failure?.detail ?? '')
    }

    return { el, update }
  }

  /** An empty session: a few things to try. @param {import('./types').Actions} actions */
  function emptyView(actions) {
    const starters = STARTERS.map(([name, sign]) => {
      const words = t(`starter.${name}.text`)
      const lines = h('span', null, h('b', null, t(`starter.${name}.title`)), h('span', null, words))
      return h('li', null, h('button.starter', { type: 'button', onclick: () => actions.send(words) }, icon(sign), lines))
    })
    const el = h('section.empty', null,
      h('div', null, h('h2', null, t('empty.title')), h('p.empty-lead', null, t('empty.lead'))),
      h('ul.starters', { 'aria-label': t('empty.starters') }, starters))
    return { el, update() {} }
  }

  return { failureView, emptyView, toneOf, wordsOf }
})
