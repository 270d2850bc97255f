// The page as a whole: one state object is put together from settings, server and sessions, and every view is
// brought up to date from it, at most once a frame. What views can do is in `actions`; nothing else changes anything.

yaa.define('ui/app', ['ui/h', 'ui/text', 'ui/popup', 'ui/book', 'ui/server', 'ui/line', 'ui/sidebar', 'ui/thread', 'ui/composer', 'ui/connection', 'ui/settings', 'core/session', 'io/download'],
  ({ h, fill, attr }, words, { toast, say }, { openBook, isActive }, { openServer, modelsOf, toolsOf }, { statusLine, markOf, announce }, { sidebarView, headerView }, { threadView }, { composerView }, { failurePanel }, { settingsDialog }, sessions, download) => {
    const { t } = words
    const NARROW = matchMedia('(max-width: 48rem)')

    /** @param {{root: HTMLElement, settings: Settings, store: Store}} given */
    function startApp({ root, settings, store }) {
      const server = openServer({ settings, onChange: draw })
      const book = openBook({ store, api: server.api, prepare: (/** @type {Session} */ session) => prepare(session, settings), onChange, onEnd, onElsewhere: () => toast(t('run.elsewhere')) })
      /** @type {any} */ let current = book.fresh()
      /** @type {any} */ let views = null
      let frame = 0
      let whole = true
      let drawer = false
      let tick = 0

      const actions = {
        send: (/** @type {string} */ text) => { views.thread.follow(); book.send(current, text) },
        stop: () => current.run?.stop(),
        goOn: () => book.retry(current),
        answer: (/** @type {string} */ id, /** @type {Answer | null} */ answer) => book.answer(current, [[id, answer]]),
        answerAll: (/** @type {any} */ answers) => book.answer(current, answers),
        newSession() { show(current.session.messages.length ? book.fresh() : current); views.composer.focus() },
        async open(/** @type {string} */ id) { show(await book.open(id) ?? current) },
        rename: (/** @type {string} */ id, /** @type {string} */ title) => book.rename(id, title),
        async remove(/** @type {string} */ id) {
          const session = await book.remove(id)
          if (current.session.id === id) show(book.fresh())
          if (session) toast(t('side.deleted', { title: titleOf(session) }), { label: t('side.undo'), action: async () => { await book.restore(session); actions.open(id) } })
        },
        async download(/** @type {string} */ id) {
          const session = (await book.open(id))?.session
          if (session) download.json(download.nameFor(session, 'yaa.json'), session)
        },
        draft: (/** @type {string} */ text) => sessionStorage.setItem(`yaa.draft.${current.session.id}`, text),
        connect: () => server.connect(),
        signIn(/** @type {string} */ key) { settings.setKey(key); server.connect() },
        set,
        setProvider: (/** @type {string} */ name) => set({ provider: name }),
        setTool(/** @type {string} */ name, /** @type {string} */ rule) { set({ tools: without(settings.get('tools'), name, rule) }) },
        setLimit(/** @type {string} */ name, /** @type {string} */ value) { set({ limits: without(settings.get('limits'), name, Number(value) > 0 ? Number(value) : '') }) },
        openSettings: (/** @type {string} */ tab) => { views.settings.show(tab); draw() },
        settingsClosed: draw,
        toggleSide() {
          if (NARROW.matches) drawer = !drawer
          else settings.set('side', settings.get('side') === 'closed' ? 'open' : 'closed')
          draw()
        },
      }

      /** @param {Record<string, any>} changes */
      function set(changes) {
        for (const [name, value] of Object.entries(changes)) {
          if (name === 'url') settings.setBase(value)
          else if (name === 'key') settings.setKey(value, { remember: settings.remembers() })
          else if (name === 'remember') settings.setKey(settings.key(), { remember: value })
          else settings.set(name, value)
        }
        if ('url' in changes || 'key' in changes) server.connect()
        if ('theme' in changes || 'language' in changes) look()
        if ('language' in changes) mount()
        draw()
      }

      function look() {
        attr(document.documentElement, 'data-theme', settings.get('theme') || null)
        words.use(settings.get('language') ?? '')
      }

      /** @param {any} entry */
      function show(entry) {
        current = entry
        drawer = false
        const { id, messages } = entry.session
        history.replaceState(null, '', messages.length ? `#s=${encodeURIComponent(id)}` : location.pathname + location.search)
        views?.composer.write(sessionStorage.getItem(`yaa.draft.${id}`) ?? '')
        draw()
      }

      /** Make every view; done again when the language changes. */
      function mount() {
        const open = views?.settings.el.open
        const thread = threadView(actions)
        views = { side: sidebarView(actions), header: headerView(actions), thread, composer: composerView(actions), failure: failurePanel(actions), settings: settingsDialog(actions) }
        const foot = h('footer.foot', null, thread.toEnd, h('div.column', null, views.failure.el), views.composer.el)
        fill(root,
          h('a.skip', { href: '#compose', onclick: (/** @type {Event} */ event) => { event.preventDefault(); views.composer.focus() } }, t('app.skip')),
          views.side.el, h('button.scrim', { type: 'button', 'aria-label': t('side.hide'), onclick: actions.toggleSide }),
          h('main.main', { 'aria-label': t('app.main') }, views.header.el, thread.el, foot), views.settings.el)
        views.composer.write(sessionStorage.getItem(`yaa.draft.${current.session.id}`) ?? '')
        if (open) views.settings.show('look')
        draw()
      }

      /** @param {string} id @param {boolean} all */
      function onChange(id, all) {
        if (id !== current.session.id && !all) return
        if (id === current.session.id && current.session.messages.length && !location.hash) show(current)
        schedule(all)
      }

      function draw() {
        schedule(true)
      }

      /** A hidden page draws no frames, but its title and status still have to be right. @param {boolean} all */
      function schedule(all) {
        whole ||= all
        if (frame || !views) return
        frame = document.hidden ? setTimeout(render) : requestAnimationFrame(render)
      }

      function render() {
        frame = 0
        const state = stateNow()
        attr(root, 'data-side', state.sideOpen ? 'open' : 'closed')
        attr(root, 'data-drawer', drawer ? 'open' : 'closed')
        views.thread.update(state)
        if (whole) {
          for (const name of ['side', 'header', 'composer', 'failure', 'settings']) views[name].update(state)
          const mark = markOf(current)
          document.title = [mark && t(`side.${mark}`), titleOf(current.session), t('app.name')].filter(Boolean).join(' – ')
        }
        whole = false
        clearTimeout(tick)
        if (state.line?.until) tick = setTimeout(draw, 1000)
      }

      function stateNow() {
        const info = server.info()
        const offered = modelsOf(info)
        const models = offered.length > 1 ? [{ name: 'auto', label: t('compose.auto'), demo: offered[0].demo }, ...offered] : offered
        const provider = settings.get('provider') || 'auto'
        const chosen = models.find((/** @type {any} */ one) => one.name === provider)
        return {
          session: current.session, whole, live: isActive(current), outputs: current.run?.output ?? new Map(),
          items: sessions.items(current.session, { live: isActive(current) }), line: statusLine(current), server: server.state(), sideOpen: NARROW.matches ? false : settings.get('side') !== 'closed',
          sessions: book.heads().map((/** @type {Head} */ head) => rowOf(head)), models, provider, demo: chosen?.demo ?? (models.length > 0 && models.every((/** @type {any} */ one) => one.demo)),
          tools: toolsOf(info), defaults: info?.defaults?.config?.limits, onDisk: !settings.canRememberSafely,
          settings: { ...settings.all(), url: settings.base(), key: settings.key(), remember: settings.remembers() },
        }
      }

      /** @param {Head} head */
      function rowOf(head) {
        const entry = book.entry(head.id)
        return { id: head.id, title: head.title || t('session.untitled'), updated: head.updated, current: head.id === current.session.id, mark: entry ? markOf(entry) : head.waiting ? 'asking' : '' }
      }

      /** @param {any} entry whose run has come to rest */
      function onEnd(entry) {
        announce(entry)
        const code = entry.state?.error?.code
        if (code === 'answer_invalid') toast(t('toast.answerRefused', { detail: entry.state.error.message }), { bad: true })
        if (code === 'unauthorized' || code === 'network') server.connect()
      }

      return {
        async start() {
          look()
          if (settings.takeKeyFromHash()) say(t('toast.signedIn'))
          const wanted = new URLSearchParams(location.hash.slice(1)).get('s')
          mount()
          views.composer.focus()
          server.connect()
          await book.refresh()
          const entry = wanted && await book.open(wanted)
          if (entry) show(entry)
          draw()
          NARROW.addEventListener('change', draw)
          addEventListener('keydown', (event) => { if (event.key === 'Escape' && drawer) actions.toggleSide() })
        },
      }
    }

    /** Settings travel in the session's configuration; what is left empty is filled in by the server. @param {Session} session @param {Settings} settings */
    function prepare(session, settings) {
      const config = (session.config ??= {})
      const provider = { name: settings.get('provider') || 'auto', ...(settings.get('model') ? { model_name: settings.get('model') } : {}) }
      config.llm_api = { ...config.llm_api, provider: { ...config.llm_api?.provider, ...provider } }
      config.yaa = { ...config.yaa, stream: true, language: words.language() }
      config.limits = { ...config.limits, ...settings.get('limits') }
      config.tool = { ...config.tool }
      for (const [name, rule] of Object.entries(settings.get('tools') ?? {})) {
        config.tool[name] = rule === 'deny' ? { deny: true } : { auto_approve: rule === 'allow' }
      }
      if (settings.get('character') && !session.character) session.character = settings.get('character')
    }

    /** @param {Record<string, any> | undefined} map @param {string} name @param {any} value '' takes the entry out */
    function without(map, name, value) {
      const { [name]: _, ...rest } = map ?? {}
      return value === '' ? rest : { ...rest, [name]: value }
    }

    /** @param {Session} session */
    const titleOf = (session) => session.title || t('session.untitled')

    return { startApp }
  })
