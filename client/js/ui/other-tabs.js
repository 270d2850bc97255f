// What other tabs of this browser run is shown here as it goes; and whoever leaves in the middle of something is asked,
// and told what would happen.

yaa.define('ui/other-tabs', ['ui/i18n', 'ui/popup', 'io/tab-channel', 'io/run-mirror', 'i18n/other-tabs'], ({ t, use }, { toast }, channels, mirrors) => {
  /** @param {import('./types').CommandContext} context */
  function start({ app }) {
    const { sessionStore } = app
    const mirror = mirrors.create({
      channel: channels.open('yaa-runs'), entry: sessionStore.entry, onChange: sessionStore.redraw, takeFromSilent: (/** @type {import('./types').Entry} */ entry) => sessionStore.settle(entry, true),
    })
    sessionStore.hooks.push({ ...mirror.hooks, onGone })
    /** What another tab has deleted stays where it is shown. @param {import('./types').Entry} entry */
    function onGone(entry) {
      const shown = entry === app.current && entry.session.messages.length > 0
      if (shown) toast(t('gone.said'), { label: t('gone.restore'), action: () => sessionStore.restore(entry.session) })
      return shown
    }

    const look = () => {
      for (const entry of new Set([app.current, ...waitingOf(app)])) {
        mirror.look(entry)
        if (!entry.elsewhere && !entry.going) app.queue.onEnd(entry) // another tab's message may come after the end
      }
    }
    app.watchers.add(look)
    look()
    addEventListener('storage', ({ key, newValue }) => {
      if (key === 'yaa.setting language') follow(app, JSON.parse(newValue ?? '""'))
    })
    addEventListener('beforeunload', (event) => {
      const lost = losses(app)
      if (!lost.length) return
      event.preventDefault()
      setTimeout(() => toast(lost.join(' '))) // for who stays: a browser asks in words of its own
    })
  }

  /** Editors do not outlive the page that is made anew. */
  const EDITORS = 'main textarea:not(.composer textarea), dialog[open] textarea'

  /** The language that was chosen in another tab. @param {import('./types').App} app @param {string} language */
  function follow(app, language) {
    const action = () => use(language).then(() => app.mount())
    if (!document.querySelector(EDITORS)) return action()
    toast(t('language.elsewhere'), { label: t('language.follow'), action })
  }

  /** Sessions with messages that wait for the end of a run, though another one is looked at. @param {import('./types').App} app */
  const waitingOf = ({ sessionStore, queue }) => openOf(sessionStore).filter(({ session }) => queue.of(session).length)

  /** @param {import('./types').App['sessionStore']} sessionStore */
  const openOf = (sessionStore) => sessionStore.heads().map(({ id }) => sessionStore.entry(id)).filter((entry) => entry !== undefined)

  /** What would be lost if this page were closed now, in words. @param {import('./types').App} app @returns {string[]} */
  function losses({ sessionStore, store, queue }) {
    const open = openOf(sessionStore)
    const runs = open.filter((entry) => entry.going && !entry.run?.api?.lasting).length
    const temporary = open.filter(({ session }) => session.ext?.temporary && session.messages.length).length
    const queued = open.reduce((sum, { session }) => sum + queue.of(session).length, 0)
    return [
      runs && t('leave.run', { n: runs }),
      temporary && t('leave.temporary', { n: temporary }),
      queued && t('leave.queued', { n: queued }),
      store.kind === 'memory' && open.length > temporary && t('leave.memory'),
    ].filter((one) => typeof one === 'string')
  }

  return { start, losses }
})
