// Where there is only the demo, the page offers to connect a model: in an empty session, and behind the badge beside the
// message field. What it offers is loaded when it is shown.

yaa.define('ui/server-launcher', ['ui/dom', 'ui/i18n', 'ui/popup', 'i18n/commands'], ({ h }, { t, language }, { toast }) => {
  /** @typedef {import('./types').CommandContext} CommandContext */

  /** @param {CommandContext} context */
  function start(context) {
    const { app } = context
    /** The card of each empty view, which is made anew when the language changes. @type {any} */ let card = null
    let shown = ''
    /** @type {Element | null} where it is */ let place = null

    /** Which card belongs into an empty session now. */
    function wanted() {
      const info = app.server.info()
      if (app.standalone || !info?.demo) return ''
      return `${language()} ${info.owner === true ? app.server.api().base : info.owner === false ? 'other' : 'older'}`
    }

    /** @param {import('./types').State} state */
    function update(state) {
      if (!state.whole || state.server.checking) return
      const [now, empty] = [wanted(), document.querySelector('.empty')]
      if (now === shown && empty === place) return
      card?.remove()
      ;[card, shown, place] = [null, now, empty]
      if (!now || !empty || now.endsWith(' older')) return
      const made = card = now.endsWith(' other') ? h('p.hint', null, t('connect.ask')) : h('section.connect-card', { 'aria-label': t('connect.title') }, h('h3', null, t('connect.title')))
      Promise.resolve(made.localName === 'section' && fillCard(made, app)).then(() => card === made && empty.append(made)) // below what can be pressed already
    }

    app.watchers.add(update)
    app.draw()
  }

  /** @param {any} card @param {import('./types').App} app */
  async function fillCard(card, app) {
    try {
      const { connectView } = await parts()
      const store = yaa.use('ui/server/store').storeOf(app)
      await store.read().catch(() => {}) // the view tries again, and says what is wrong
      card.append(h('p.hint', null, t('demo.note')), connectView(store).el)
    } catch (error) {
      card.append(h('p.problem', null, /** @type {Error} */ (error).message))
    }
  }

  /** @param {CommandContext} context */
  async function open({ app }) {
    const { owner } = app.server.info() ?? {}
    if (owner !== true) return toast(t(owner === false ? 'connect.ask' : 'demo.note'))
    const { openConnect } = await parts()
    openConnect(yaa.use('ui/server/store').storeOf(app))
  }

  const parts = async () => (await Promise.all([yaa.load('server'), yaa.load('questions')]), yaa.use('ui/server/connect'))

  return { start, open }
})
