// Asks whoever waits for a run for the first time whether they may be told when it is over, or asks something.

yaa.define('ext/inspector/notify-offer', ['ui/dom', 'ext/inspector/texts'], ({ h, icon }, { t }) => {
  /** After this time a run is waited for. */
  const WAIT_MS = 10_000

  /** @param {import('../../ui/types').CommandContext} context */
  function notifyOffer({ app }) {
    let timer = 0

    /** @param {import('../../ui/types').State} state */
    function look({ live }) {
      if (live && !timer) timer = window.setTimeout(offer, WAIT_MS)
      if (!live) timer = (clearTimeout(timer), 0)
    }

    function offer() {
      const asked = globalThis.Notification?.permission !== 'default' || app.settings.get('notify') === 'no'
      if (asked || document.querySelector('.note.notify')) return
      const allow = h('button.button.small', { type: 'button', onclick: () => Notification.requestPermission().finally(() => note.remove()) }, t('desk.notify'))
      const later = h('button.button.ghost.small', { type: 'button', onclick: () => (app.settings.set('notify', 'no'), note.remove()) }, t('desk.notifyLater'))
      const note = h('div.note.notify', null, icon('clock'), h('span', null, t('desk.notifyAsk')), allow, later)
      document.querySelector('.foot .notes')?.prepend(note)
    }

    return { look }
  }

  return { notifyOffer }
})
