// What makes a session too large for its server is said over the composer, with a way to leave it out.

yaa.define('ui/large-session', ['ui/dom', 'ui/i18n', 'ui/popup', 'core/large-session', 'core/session', 'core/ids', 'i18n/late-parts'], ({ h, icon, text }, { t }, { toast, say }, { pictures, leaveOut }, { titleOf }, { uuid }) => {
  /** @param {import('./types').Entry} entry its last run was refused for that */
  const isTooLarge = ({ state }) => state?.phase === 'interrupted' && state.error?.status === 413

  /** @param {import('./types').CommandContext} context */
  function start({ app }) {
    const words = h('span')
    const button = h('button.button.small', { type: 'button', onclick: () => withoutPictures(app) }, t('large.leave'))
    const el = h('div.note.large', { hidden: true }, icon('alert'), words, button)

    function update() {
      el.hidden = !isTooLarge(app.current)
      if (el.hidden) return
      const { n, bytes } = pictures(app.current.session)
      el.hidden = !n
      if (!el.isConnected) document.querySelector('.foot .notes')?.prepend(el)
      const before = words.textContent
      text(words, t('large.pictures', { n, size: (bytes / 1e6).toFixed(1) }))
      if (n && before !== words.textContent) say(words.textContent ?? '')
    }

    app.watchers.add(update)
    update()
  }

  /** A copy keeps everything; this one goes on. @param {import('./types').App} app */
  async function withoutPictures({ current, sessionStore }) {
    const title = t('large.copy', { title: titleOf(current.session) || t('session.untitled') })
    const isKept = current.session.ext?.temporary || await sessionStore.restore({ ...structuredClone(current.session), id: uuid(), title })
    const done = isKept && await sessionStore.edit(current, (session) => (leaveOut(session), true))
    if (done) return sessionStore.retry(current)
    await yaa.load('branches')
    toast(t('branch.busy'))
  }

  return { start, isTooLarge }
})
