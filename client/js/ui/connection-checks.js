// The connection to the server: one line when it works, four checks when it does not. A browser tells a page only
// "failed", so io/connection-diagnosis tries step by step.

yaa.define('ui/connection-checks', ['ui/dom', 'ui/i18n'], ({ h, icon, text, attr, fill }, { t }) => {
  /** In the order in which a person can do something about them. */
  const CHECKS = ['server', 'key', 'cors', 'permission']
  /** What the failure itself says best. */
  const SAID = new Set(['slow', 'busy', 'foreign', 'cut', 'other'])
  const TONES = { ok: '.good', bad: '.bad', unknown: '' }
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

  /** The first-run line of an empty session: server, key, version. @param {import('./types').Actions} actions */
  function firstLine(actions) {
    const dot = h('span.dot')
    const words = h('span')
    const link = h('button.link', { type: 'button', onclick: () => actions.openSettings('server') }, t('settings.title'))
    const el = h('div.first-line', null, dot, words, link)

    /** @param {any} server */
    function update(server) {
      dot.className = `dot ${toneOf(server)}`
      const { url, ok, version } = server
      const parts = [t('server.first', { url }), ok ? t('server.keyOk') : wordsOf(server), version && t('server.version', { version })]
      text(words, parts.filter(Boolean).join(' · '))
      el.hidden = Boolean(server.failure)
    }

    return { el, update }
  }

  /** What is wrong and what to do about it. A missing key is asked for right here. @param {import('./types').Actions} actions */
  function failurePanel(actions) {
    const title = h('h3')
    const reason = h('p')
    const sign = h('div')
    const checks = h('ul.checks')
    const key = keyForm(actions)
    const buttons = h('div.ask-actions', null,
      h('button.button.primary', { type: 'button', onclick: () => actions.connect() }, icon('retry'), t('fail.retry')),
      h('button.button', { type: 'button', onclick: () => actions.openSettings('server') }, icon('tune'), t('settings.title')))
    const el = h('section.card.failure', { hidden: true, role: 'group' },
      h('div.ask-head', null, sign, h('div', null, title, reason)), checks, key, buttons)
    let drawn = ''

    /** @param {any} state */
    function update({ server }) {
      const { failure } = server
      el.hidden = !failure
      if (!failure || drawn === JSON.stringify(server)) return
      drawn = JSON.stringify(server)
      const needsKey = failure.kind === 'key'
      attr(el, 'data-tone', needsKey ? 'ask' : 'bad')
      fill(sign, icon(needsKey ? 'key' : 'alert'))
      text(title, t(`fail.title.${failure.kind}`))
      const refused = needsKey && server.hasKey
      text(reason, failure.detail && SAID.has(failure.kind) ? failure.detail : t(refused ? 'fail.keyRefused' : `fail.${failure.kind}`, { url: server.url, command: server.command }))
      attr(el, 'aria-label', title.textContent)
      fill(checks, failure.checks ? CHECKS.map((name) => checkRow(name, failure.checks[name] ?? 'unknown')) : []) // their words come with what finds them out
      checks.hidden = needsKey
      key.hidden = !needsKey
      buttons.hidden = needsKey
    }

    return { el, update }
  }

  /** @param {string} name @param {'ok' | 'bad' | 'unknown'} health */
  function checkRow(name, health) {
    const words = h('span', null, h('b', null, t(`fail.check.${name}`)), ' ', h('span.why', null, t(`fail.${health}`)))
    return h('li', null, h(`span.dot${TONES[health]}`), words)
  }

  /** @param {import('./types').Actions} actions */
  function keyForm(actions) {
    const label = t('settings.key')
    const input = h('input.input', { type: 'password', autocomplete: 'off', 'aria-label': label, placeholder: label })
    /** @param {Event} event */
    function onsubmit(event) {
      event.preventDefault()
      const key = input.value.trim()
      if (key) actions.set({ key })
      input.value = ''
    }
    return h('form.inline-row', { onsubmit }, input, h('button.button.primary', { type: 'submit' }, t('fail.signIn')))
  }

  /** An empty session: a few things to try, and whether everything is ready. @param {import('./types').Actions} actions */
  function emptyView(actions) {
    const line = firstLine(actions)
    const starters = STARTERS.map(([name, sign]) => {
      const words = t(`starter.${name}.text`)
      const lines = h('span', null, h('b', null, t(`starter.${name}.title`)), h('span', null, words))
      return h('li', null, h('button.starter', { type: 'button', onclick: () => actions.send(words) }, icon(sign), lines))
    })
    const el = h('section.empty', null,
      h('div', null, h('h2', null, t('empty.title')), h('p.empty-lead', null, t('empty.lead'))),
      h('ul.starters', { 'aria-label': t('empty.starters') }, starters), line.el)
    return { el, update: (/** @type {import('./types').State} */ state) => line.update(state.server) }
  }

  return { firstLine, failurePanel, emptyView, toneOf, wordsOf }
})
