// Notices over the composer: queued messages, a temporary session, approvals on hold. And the message queue: what is
// written during a run is sent when that has ended well.

yaa.define('ui/composer-notices', ['ui/dom', 'ui/i18n', 'ui/session-store', 'core/session', 'core/ids'], (dom, { t }, { isBusy }, sessions, { uuid }) => {
  const { h, icon, list, text } = dom

  /** @param {import('./types').Actions} actions @returns {import('./types').View<import('./types').State>} */
  function noticesView(actions) {
    const chips = h('ul.queue', { 'aria-label': t('queue.label') })
    const paused = note('hand', '', t('pause.end'), () => actions.pause(false))
    const fleeting = note('clock', t('temporary.on'), t('temporary.keep'), () => actions.setTemporary(false))
    const el = h('div.notes', null, paused, fleeting, chips)

    /** @param {import('./types').State} state */
    function update({ session, settings, queue, live }) {
      const asks = sessions.asksAlways(session)
      paused.hidden = !asks && !settings.paused
      text(paused.children[1], t(asks ? 'pause.on' : 'pause.next'))
      fleeting.hidden = !session.ext?.temporary
      chips.hidden = !queue.length
      if (queue.length && !chipView) return void bring()
      list(chips, queue.map((one) => ({ ...one, live, asks: holdsCall(session) })), (one) => one.id, () => chipView(actions))
    }

    async function bring() {
      await yaa.load('commands')
      chipView = yaa.use('ui/queue-chip').chipView
      actions.draw()
    }

    return { el, update }
  }

  /** @type {any} comes with the first message that waits */ let chipView = null

  /** @param {string} sign @param {string} words @param {string} label @param {() => void} onclick */
  function note(sign, words, label, onclick) {
    return h('div.note', { hidden: true }, icon(sign), h('span', null, words), h('button.button.small', { type: 'button', onclick }, label))
  }

  /** Does it ask about a call, which another message would withdraw? @param {Session} session */
  const holdsCall = (session) => sessions.openInterrupts(session).some((one) => one.call_id)

  // -- the queue --

  /**
   * Queue messages in their session (`ext.queue`): every tab shows them, and the one that ran it sends them.
   * @param {import('./types').App} app
   */
  function queueOf(app) {
    /** The message to send once the run it interrupts has stopped, by session. @type {Map<string, string>} */
    const next = new Map()
    const { sessionStore } = app

    /** @param {Session} [session] @returns {{id: string, content: any}[]} */
    const of = ({ ext } = app.current.session) => Object.entries(ext?.queue ?? {}).map(([id, content]) => ({ id, content }))

    /** @param {any} content text, or parts @param {import('./types').Entry} [entry] */
    const add = (content, entry = app.current) => sessionStore.queue(entry, uuid(), content)

    /** Say it at once; a run that is on is stopped first. @param {string} id */
    function sendNow(id) {
      const entry = app.current
      if (!isBusy(entry)) return take(entry, id)
      next.set(entry.session.id, id)
      entry.run?.stop()
    }

    /** @param {import('./types').Entry} entry @param {string | undefined} id */
    function take(entry, id) {
      const found = of(entry.session).find((one) => one.id === id)
      if (found && !isBusy(entry) && !holdsCall(entry.session)) sessionStore.send(entry, found.content, id)
    }

    /** Send the message that interrupted the run, or the first of the queue if it ended well. @param {import('./types').Entry} entry */
    function onEnd(entry) {
      const { id } = entry.session
      const wanted = next.get(id)
      next.delete(id)
      if (wanted) return take(entry, wanted)
      const well = entry.state?.phase === 'done' && entry.state.reason === 'completed' && !sessions.openInterrupts(entry.session).length
      if (well) take(entry, of(entry.session)[0]?.id)
    }

    return { of, add, sendNow, onEnd }
  }

  return { noticesView, queueOf }
})
