// Counts what waits for a person in all sessions of this browser, in the title and as a notification where the browser
// allows one, which also tells of an answer.

yaa.define('ext/inspector/pending-calls', ['ext/inspector/texts', 'core/session'], ({ t }, sessions) => {
  const FLASH_MS = 1000

  /**
   * @param {import('../../ui/types').CommandContext} context @param {(n: number) => void} onCount
   */
  function pendingCalls({ app }, onCount) {
    let count = 0
    let flash = 0
    let shown = ''
    let wasLive = ''
    /** @type {Set<() => void>} */ const listeners = new Set()
    document.addEventListener('visibilitychange', calm)

    /** Heads say how many questions a stored session has; an open one knows better. @param {import('../../ui/types').State} state */
    function look(state) {
      const own = app.current.session
      const others = app.sessionStore.listed().filter((head) => head.id !== own.id)
      const here = state.live ? 0 : sessions.questionsOf(own).length
      const next = here + others.reduce((sum, head) => sum + waitingIn(head), 0)
      const more = next > count
      count = next
      onCount(next)
      title()
      if (more && document.hidden) call(t('desk.waiting', { n: count }))
      else if (wasLive === own.id && !state.live && document.hidden) call(t('desk.done', { title: sessions.titleOf(own) }))
      wasLive = state.live ? own.id : ''
      const key = JSON.stringify([next, here, others.map((head) => [head.id, head.waiting])])
      if (key !== shown) for (const listener of listeners) listener()
      shown = key
    }

    /** @param {Head} head */
    function waitingIn(head) {
      const session = app.sessionStore.entry(head.id)?.session
      return session ? sessions.questionsOf(session).length : head.waiting ?? 0
    }

    /** The app writes the title; the count goes before it. */
    function title() {
      const plain = document.title.replace(/^\(\d+\) /, '')
      document.title = count ? `(${count}) ${plain}` : plain
    }

    /** Somebody is wanted who does not look. @param {string} words */
    function call(words) {
      if (globalThis.Notification?.permission === 'granted') {
        const note = new Notification(t('app.name'), { body: words, tag: 'yaa-desk' })
        note.onclick = () => {
          window.focus()
          note.close()
        }
      }
      clearInterval(flash)
      const plain = document.title
      let on = false
      flash = window.setInterval(() => {
        on = !on
        document.title = on ? words : plain
      }, FLASH_MS)
    }

    function calm() {
      if (document.hidden) return
      clearInterval(flash)
      flash = 0
      app.draw()
    }

    /**
     * Every session with something open, with its questions.
     * @returns {Promise<{entry: import('../../ui/types').Entry, open: Interrupt[]}[]>}
     */
    async function all() {
      const ids = [app.current.session.id, ...app.sessionStore.listed().map((head) => head.id).filter((id) => id !== app.current.session.id)]
      const found = []
      for (const id of ids) {
        const head = app.sessionStore.listed().find((one) => one.id === id)
        const known = id === app.current.session.id || waitingIn(/** @type {Head} */ (head)) > 0
        const entry = known ? app.sessionStore.entry(id) ?? await app.sessionStore.open(id) : null
        const open = entry ? (entry.session.interrupts ?? []).filter((one) => one && typeof one === 'object' && one.reason !== 'model_error') : []
        if (entry && sessions.questionsOf(entry.session).length) found.push({ entry, open })
      }
      return found
    }

    return { look, all, listen: (/** @type {() => void} */ listener) => void listeners.add(listener) }
  }

  return { pendingCalls }
})
