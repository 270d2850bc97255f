// Notices over the composer: queued messages, a temporary session, approvals on hold. And the message queue: what is
// written during a run is sent when that has ended well.

yaa.define('ui/composer-notices', ['ui/dom', 'ui/i18n', 'ui/popup', 'ui/session-store', 'core/session'], (dom, { t }, { toast }, { isBusy }, sessions) => {
  const { h, icon, list, text } = dom
  const FILE = /^<(?:file|resource) name="([^"]*)/

  /** @param {import('./types').Actions} actions @returns {import('./types').View<import('./types').State>} */
  function noticesView(actions) {
    const chips = h('ul.queue', { 'aria-label': t('queue.label') })
    const paused = note('hand', '', t('pause.end'), () => actions.pause(false))
    const fleeting = note('clock', t('temporary.on'), t('temporary.keep'), () => actions.setTemporary(false))
    const offer = h('button.button.ghost.small.offer', { type: 'button', onclick: () => actions.setTemporary(true) }, icon('clock'), t('temporary.start'))
    const el = h('div.notes', null, paused, fleeting, chips, offer)

    /** @param {import('./types').State} state */
    function update({ session, settings, queue, live }) {
      const asks = sessions.asksAlways(session)
      paused.hidden = !asks && !settings.paused
      text(paused.children[1], t(asks ? 'pause.on' : 'pause.next'))
      fleeting.hidden = !session.ext?.temporary
      offer.hidden = Boolean(session.messages.length || session.ext?.temporary)
      chips.hidden = !queue.length
      if (queue.length && !chipView) return void bring()
      list(chips, queue.map((one) => ({ ...one, live, label: one.text || filesOf(/** @type {any} */ (one).content) })), (one) => one.id, () => chipView(actions))
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

  // -- the queue --

  /**
   * Queue messages by session; the queue outlives a reload of the tab.
   * @param {import('./types').App} app @param {(entry: import('./types').Entry, words: any) => void} send
   */
  function queueOf(app, send) {
    /** By session: here alone those of a temporary one, and what is more than the browser keeps. @type {Map<string, any[]>} */
    const queues = new Map()
    /** The message to send once the run it interrupts has stopped, by session. @type {Map<string, string>} */
    const next = new Map()
    let serial = Date.now()

    /** @param {Session} session @returns {{id: string, text: string, content: any}[]} */
    function of({ id }) {
      if (!queues.has(id)) queues.set(id, stored(id))
      return queues.get(id) ?? []
    }

    /** @param {Session} session @param {any[]} items */
    function keep({ id, ext }, items) {
      queues.set(id, items)
      try {
        sessionStorage.removeItem(nameOf(id))
        if (items.length && !ext?.temporary) sessionStorage.setItem(nameOf(id), JSON.stringify(items))
      } catch {
        // full, as after some pictures, or forbidden: it waits for as long as the page is open
      }
      app.draw()
    }

    /** @param {any} content text, or parts @param {Session} [session] */
    function add(content, session = app.current.session) {
      keep(session, [...of(session), { id: `q${++serial}`, text: wordsOf(content), content }])
    }

    /** @param {string} id @param {string} words '' takes it out */
    function change(id, words) {
      const { session } = app.current
      const items = of(session)
      const old = items.find((one) => one.id === id)
      keep(session, items.flatMap((one) => (one.id !== id ? [one] : words ? [{ ...one, text: words, content: withWords(one.content, words) }] : [])))
      if (!words && old) toast(t('queue.removed'), { label: t('side.undo'), action: () => keep(session, [...of(session), old]) })
    }

    /** Say it at once; a run that is on is stopped first. @param {string} id */
    function sendNow(id) {
      const entry = app.current
      if (!isBusy(entry)) return take(entry, id)
      next.set(entry.session.id, id)
      entry.run?.stop()
    }

    /** @param {import('./types').Entry} entry @param {string | undefined} id */
    function take(entry, id) {
      const items = of(entry.session)
      const found = items.find((one) => one.id === id)
      if (!found || isBusy(entry)) return // it has gone on by itself
      keep(entry.session, items.filter((one) => one !== found))
      send(entry, found.content)
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

    return { of, add, change, sendNow, onEnd }
  }

  /** What is written in a message, not what goes along (core/attachments). @param {any} part */
  const isWords = (part) => part.type === 'text' && !FILE.test(part.text)

  /** @param {any} content @returns {string} */
  const wordsOf = (content) => (Array.isArray(content) ? content.filter(isWords).map((part) => part.text).join('\n') : content)

  /** What goes along with it, by name. @param {any[]} content */
  const filesOf = (content) => content.map((part) => FILE.exec(part.text)?.[1] ?? t('image.alt')).join(', ')

  /** @param {any} content @param {string} words */
  function withWords(content, words) {
    if (!Array.isArray(content)) return words
    return [{ type: 'text', text: words }, ...content.filter((part) => !isWords(part))]
  }

  /** @param {string} id */
  const nameOf = (id) => `yaa.queue.${id}`

  /** @param {string} id @returns {any[]} what the tab had before it was loaded again */
  function stored(id) {
    try {
      return JSON.parse(sessionStorage.getItem(nameOf(id)) ?? '[]')
    } catch {
      return []
    }
  }

  return { noticesView, queueOf }
})
