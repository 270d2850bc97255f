// The mode of the open session: how its runs use tools. The server says which there are; the session keeps the choice
// in config.yaa.mode, and without one it is as its agent says.

yaa.define('ui/mode-picker', ['ui/dom', 'ui/i18n', 'ui/popup', 'ui/commands', 'i18n/modes', 'css/modes'], ({ h, icon, text, attr }, { t, language }, { openMenu, toast }, commands) => {
  /** @typedef {import('./types').CommandContext} CommandContext */
  /** @typedef {{name: string, description?: string}} Mode */

  /** @param {CommandContext} context */
  function start(context) {
    const { app } = context
    let view = picker(context)

    /** The page is made anew when the language changes. @param {import('./types').State} state */
    function update(state) {
      if (!state.whole) return
      if (view.language !== language()) {
        view.el.remove()
        view = picker(context)
      }
      if (!view.el.isConnected) document.querySelector('.composer-bar .gap')?.before(view.el)
      view.update(state)
    }

    commands.register({
      id: 'mode', title: 'mode.choose', icon: 'spark', slash: 'mode', run: () => view.open(),
      when: () => offered(app).length > 1,
    })
    app.watchers.add(update)
    app.draw()
  }

  /** @param {import('./types').App} app @returns {Mode[]} an older server names none */
  const offered = (app) => app.server.info()?.modes ?? []

  /** Case, - and _ do not matter to the server. @param {string} name */
  const plain = (name) => name.toLowerCase().replace(/[-_\s]/g, '')

  /** @param {Mode[]} modes @param {string} name @returns {string} as it is listed */
  const listed = (modes, name) => modes.find((one) => plain(one.name) === plain(name))?.name ?? name

  /** In the words of this page, where it has any. @param {string} key @param {string} otherwise */
  const words = (key, otherwise) => (t(key) === key ? otherwise : t(key))

  /** @param {string} name */
  const nameOf = (name) => words(`mode.${name}`, name)

  /** @param {Mode | undefined} mode */
  const aboutOf = (mode) => (mode ? words(`mode.${mode.name}.about`, mode.description ?? '') : '')

  /** @param {CommandContext} context */
  function picker({ app }) {
    const shown = h('span')
    const el = h('button.select.mode', { type: 'button', hidden: true, 'aria-haspopup': 'menu', onclick: open }, icon('spark'), shown)
    /** @type {import('./types').State | null} */ let state = null

    /** The session's own mode, and the one its runs go by. */
    function now() {
      const session = app.current.session
      const modes = offered(app)
      const own = session.config?.yaa?.mode ?? ''
      const named = (app.server.info()?.agents ?? []).find((/** @type {any} */ one) => one.name === state?.agent)?.mode
      const agents = listed(modes, named || session.config?.agent?.mode || 'free')
      return { modes, own: own && listed(modes, own), agents }
    }

    /** @param {import('./types').State} next */
    function update(next) {
      state = next
      const { modes, own, agents } = now()
      el.hidden = modes.length < 2 || !own // by the palette and /mode; what was chosen is seen
      if (el.hidden) return
      const about = aboutOf(modes.find((one) => one.name === (own || agents)))
      text(shown, nameOf(own || agents))
      const said = t('mode.is', { name: nameOf(own || agents), about })
      attr(el, 'aria-label', said)
      attr(el, 'title', own ? said : `${said}\n${t('mode.agent')}`)
      el.disabled = next.live // a run keeps the one it began with
    }

    function open() {
      if (el.disabled) return toast(t('mode.busy'))
      const { modes, own, agents } = now()
      const rows = [{ name: '', words: t('mode.agent'), about: t('mode.agentNow', { name: nameOf(agents) }) },
        ...modes.map((one) => ({ name: one.name, words: nameOf(one.name), about: aboutOf(one) }))]
      const others = ['.pair', '.permission', 'button'].map((css) => document.querySelector(`.composer-bar > ${css}`))
      const at = [el, ...others].find((one) => one?.checkVisibility())
      openMenu(at, rows.map((row) => ({
        label: h('span.mode-row', null, h('span', null, row.words), h('span.hint', null, row.about)),
        icon: row.name === own ? 'check' : 'none', checked: row.name === own, action: () => choose(row.name),
      })), t('mode.choose'))
    }

    /** @param {string} name */
    async function choose(name) {
      const done = await app.sessionStore.edit(app.current, (one) => {
        one.config = { ...one.config, yaa: { ...one.config?.yaa, mode: name } }
        return true
      })
      if (!done) toast(t('mode.busy'))
    }

    return { el, update, open, language: language() }
  }

  return { start }
})
