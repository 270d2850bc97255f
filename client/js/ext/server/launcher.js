// Where there is only the demo, the page offers to connect a model: in an empty session, and behind the badge beside the
// message field. What it offers is loaded when it is shown.

yaa.define('ext/server/launcher', ['ui/dom', 'ui/i18n', 'i18n/commands'], ({ h }, { t, language }) => {
  /** @param {import('../../ui/types').CommandContext} context */
  function start(context) {
    const { app } = context
    /** The card of each empty view, which is made anew when the language changes. @type {any} */ let card = null
    let shown = ''
    /** @type {Element | null} where it is */ let place = null

    /** Which card belongs into an empty session now. */
    function wanted() {
      const info = app.server.info()
      if (app.standalone || !info?.models || info.models.some((/** @type {any} */ one) => !one.demo)) return ''
      return `${language()} ${info.owner === false ? 'other' : info.owner && info.settings ? app.server.api().base : 'none'}`
    }

    /** @param {import('../../ui/types').State} state */
    function update(state) {
      if (!state.whole || state.server.checking) return
      const [now, empty] = [wanted(), document.querySelector('.empty')]
      if (now === shown && empty === place) return
      card?.remove()
      ;[card, shown, place] = [null, now, empty]
      if (!now || !empty || now.endsWith(' none')) return
      const made = card = now.endsWith(' other') ? h('p.hint', null, t('connect.ask')) : h('section.connect-card', { 'aria-label': t('connect.title') }, h('h3', null, t('connect.title')))
      Promise.resolve(made.localName === 'section' && fillCard(made, app)).then(() => card === made && empty.append(made)) // below what can be pressed already
    }

    app.watchers.add(update)
    app.draw()
  }

  /** @param {any} card @param {import('../../ui/types').App} app */
  async function fillCard(card, app) {
    try {
      await yaa.load('server')
      const store = yaa.use('ext/server/store').storeOf(app)
      await store.read().catch(() => {}) // the view tries again, and says what is wrong
      if (app.server.info()?.demo) card.append(h('p.hint', null, t('demo.note')))
      card.append(yaa.use('ext/server/connect').connectView(store).el)
    } catch (error) {
      card.append(h('p.problem', null, /** @type {Error} */ (error).message))
    }
  }

  return { start }
})
