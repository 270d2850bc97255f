// The context view: how each message is sent to the model, with its tokens, as the session says. The exact request is known
// to the server only.

yaa.define('ext/inspector/context-view', [
  'ui/dom', 'ext/inspector/texts', 'core/context', 'ui/message',
], (dom, { t, count }, contexts, { plainText }) => {
  const { h, list, text, attr } = dom
  const MAX_WORDS = 120

  /** @param {import('../../ui/types').CommandContext} context @param {(id: string) => void} go */
  function contextView({ app }, go) {
    const lead = h('p.hint', null, t('lens.lead'))
    const sum = h('p.lens-sum')
    const rows = h('ol.lens')
    const el = h('div.inspect-view', null, h('h3', null, t('inspect.context')), lead, sum, rows, h('p.hint', null, t('lens.exact')))
    let drawn = ''
    /** @type {Map<any, string>} the message that made each call */ let owners = new Map()

    /** @param {import('../../ui/types').State} state */
    function update({ session }) {
      const all = contexts.messageViews(session)
      const gauge = contexts.contextUsage(session, app.server.info())
      const hidden = all.reduce((total, row) => total + row.full - row.sent, 0)
      text(sum, [
        gauge.window ? t('gauge.label', { used: count(gauge.used), window: count(gauge.window) })
          : t('lens.used', { used: count(gauge.used) }),
        hidden ? t('lens.saved', { n: count(hidden) }) : t('lens.nothing'),
      ].join(' '))
      const key = JSON.stringify(all.map((row) => [row.message.id, row.state, row.sent, row.pinned]))
      owners = ownersOf(session)
      rails(all, owners)
      if (key === drawn) return
      drawn = key
      list(rows, all, (row, i) => `${i} ${row.message.id}`, rowView)
    }

    /** Never under a run, nor in the past. @param {(session: Session) => void} work */
    function change(work) {
      if (!app.past) app.sessionStore.edit(app.current, work)
    }

    function rowView() {
      const words = h('span.lens-words')
      const state = h('span.lens-state')
      const tokens = h('span.lens-tokens')
      let id = ''
      const button = h('button', { type: 'button', onclick: () => go(id) }, state, words, tokens)
      const pinning = h('button.button.small.ghost', { type: 'button', onclick: () => change((session) => contexts.pin(session, own, !pinned)) })
      const whole = h('button.button.small.ghost', { type: 'button', onclick: () => change((session) => contexts.restore(session, own)) }, t('lens.restore'))
      const inner = h('li', null, button, h('span.lens-actions', null, whole, pinning))
      let own = ''
      let pinned = false

      /** @param {MessageView} row */
      function draw({ message, state: how, full, sent, pinned: kept, op }) {
        id = placeOf(message, owners)
        own = message.id ?? ''
        pinned = kept
        text(pinning, t(kept ? 'lens.unpin' : 'lens.pin'))
        attr(pinning, 'aria-pressed', kept)
        pinning.hidden = how === 'never' || !own
        whole.hidden = how === 'whole' || how === 'never'
        attr(inner, 'data-lens', how)
        text(state, [t(`lens.${how}`), pinned ? t('lens.pinned') : ''].filter(Boolean).join(' · '))
        text(words, wordsOf(message))
        text(tokens, sent === full ? count(full) : `${count(sent)} / ${count(full)}`)
        attr(button, 'title', op ? JSON.stringify(op) : null)
      }

      return { el: inner, update: draw }
    }

    return { el, update, hidden: () => rails([], owners) }
  }

  /**
   * The mark at the left of each article; a result that is not sent whole marks the one of its call.
   * @param {MessageView[]} all @param {Map<any, string>} owners
   */
  function rails(all, owners) {
    for (const article of document.querySelectorAll('article.message[data-lens]')) article.removeAttribute('data-lens')
    for (const { message, state } of all) {
      if (message.role === 'tool' && state === 'whole') continue
      const article = document.getElementById(`message-${placeOf(message, owners)}`)
      if (article) attr(article, 'data-lens', state)
    }
  }

  /** @param {Session} session @returns {Map<any, string>} */
  function ownersOf(session) {
    /** @type {Map<any, string>} */
    const owners = new Map()
    for (const message of session.messages) for (const call of message?.tool_calls ?? []) owners.set(call?.id, message.id)
    return owners
  }

  /** The message whose article shows this one. @param {Message} message @param {Map<any, string>} owners */
  const placeOf = (message, owners) => (message.role === 'tool' ? owners.get(message.tool_call_id) : undefined) ?? message.id

  /** @param {Message} message */
  function wordsOf(message) {
    const calls = (message.tool_calls ?? []).map((call) => call?.function?.name).join(', ')
    const who = t(`lens.role.${['user', 'assistant', 'tool', 'system', 'error'].includes(message.role) ? message.role : 'other'}`)
    const words = plainText(message.content).slice(0, MAX_WORDS).replace(/\s+/g, ' ')
    return `${who}: ${[words, calls, message.role === 'tool' ? message.name : ''].filter(Boolean).join(' · ')}`
  }

  return { contextView }
})
