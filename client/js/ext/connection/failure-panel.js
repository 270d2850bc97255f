// What is wrong with the connection, in four checks. A browser tells a page only "failed", so what explains it
// tries step by step.

yaa.define('ext/connection/failure-panel', ['ui/dom', 'ext/connection/texts', 'ext/connection/diagnosis', 'css/cards', 'ext/connection/style'], ({ h, icon, text, attr, fill }, { t }, { explain }) => {
  /** In the order in which a person can do something about them. */
  const CHECKS = ['server', 'key', 'cors', 'permission']
  /** What the failure itself says best. */
  const SAID = new Set(['slow', 'busy', 'foreign', 'cut', 'other'])
  const TONES = { ok: '.good', bad: '.bad', unknown: '' }

  /** What is wrong and what to do about it. A missing key is asked for right here. @param {import('../../ui/types').Actions} actions */
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

  /** @param {import('../../ui/types').Actions} actions */
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

  return { failurePanel, explain }
})
