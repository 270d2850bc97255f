// How much the open session asks: a chip beside the model with three choices (config.yaa.ask). The server says where each is
// effective (`permission_modes` of /info), and which calls ask; where a choice is not offered its row says why.

yaa.define('ui/permission-picker', ['ui/dom', 'ui/i18n', 'ui/popup', 'ui/commands', 'i18n/modes', 'css/modes'], ({ h, icon, text, attr }, { t, language }, { openMenu, toast }, commands) => {
  const MODES = ['by_rules', 'edits_run', 'copy_runs']

  /** @param {import('./types').CommandContext} context */
  function start({ app, actions }) {
    let view = picker(app, actions)

    /** The composer is made anew when the language changes. @param {import('./types').State} state */
    function update(state) {
      if (!state.whole) return
      if (view.language !== language()) {
        view.el.remove()
        view = picker(app, actions)
      }
      if (!view.el.isConnected) document.querySelector('.composer-bar .gap')?.before(view.el)
      view.update(state)
    }

    commands.register({ id: 'permission', title: 'permission.choose', icon: 'hand', slash: 'permission', run: () => view.open(), when: () => Boolean(offers(app)) })
    app.watchers.add(update)
    app.draw()
  }

  /** Mode -> {} or why it is not effective where the open session works; null from an older server. @param {import('./types').App} app */
  function offers(app) {
    const { permission_modes: places, folders = [] } = app.server.info() ?? {}
    const name = app.current.session.workspace?.folder
    const place = name ? folders.find((/** @type {any} */ one) => one.name === name)?.mode : 'own'
    return places?.[place ?? ''] ?? null
  }

  /** @param {import('./types').App} app @param {import('./types').Actions} actions */
  function picker(app, actions) {
    const shown = h('span')
    const el = h('button.select.permission', { type: 'button', hidden: true, 'aria-haspopup': 'menu', onclick: open }, icon('hand'), shown)
    let live = false

    /** What the session says, or the server in its place. */
    const own = () => app.current.session.config?.yaa?.ask ?? app.server.info()?.defaults?.config?.yaa?.ask ?? 'by_rules'

    /** Why a mode is not effective here; '' if it is. @param {string} mode */
    function reason(mode) {
      const { code, message = '' } = offers(app)?.[mode] ?? {}
      if (!code) return ''
      const words = t(`permission.${code}`)
      return words === `permission.${code}` ? message : words
    }

    /** @param {import('./types').State} state */
    function update(state) {
      live = state.live
      el.hidden = !offers(app)
      if (el.hidden) return
      const mode = own()
      const why = reason(mode)
      text(shown, t(`permission.${why ? 'by_rules' : mode}`))
      const said = t('permission.is', { name: t(`permission.${mode}`), about: why ? t('permission.not', { why }) : t(`permission.${mode}.about`) })
      attr(el, 'aria-label', said)
      attr(el, 'title', said)
      el.classList.toggle('wide', !why && mode !== 'by_rules' && mode !== 'every_call')
    }

    function open() {
      if (live) return toast(t('permission.busy'))
      const mode = own()
      const at = el.checkVisibility() ? el : document.querySelector('.composer-bar > .pair')
      openMenu(at, MODES.map((name) => {
        const why = reason(name)
        return {
          label: h('span.mode-row', null, h('span', null, t(`permission.${name}`)), h('span.hint', null, why || t(`permission.${name}.about`))),
          icon: name === mode ? 'check' : 'none', checked: name === mode, disabled: Boolean(why), action: () => choose(name, why),
        }
      }), t('permission.choose'))
    }

    /** @param {string} mode @param {string} why it has no effect here */
    function choose(mode, why) {
      if (why) return toast(why)
      if (own() === 'every_call') actions.pause(false)
      actions.choose('permission', mode)
    }

    return { el, update, open, language: language() }
  }

  return { start }
})
