// The page as a whole: one state object is put together from settings, server and sessions, and every view is
// brought up to date from it, at most once a frame. What views can do is in `actionsOf`; nothing else changes anything.

yaa.define('ui/app', [
  'ui/h', 'ui/text', 'ui/popup', 'ui/book', 'ui/server', 'ui/line', 'ui/sidebar', 'ui/thread', 'ui/composer', 'ui/connection',
  'ui/settings', 'core/session', 'io/download',
], (
  { h, fill, attr }, words, { toast, say }, { openBook, isActive }, { openServer, modelsOf, toolsOf }, { statusLine, markOf, announce },
  { sidebarView, headerView }, { threadView }, { composerView }, { failurePanel }, { settingsDialog }, sessions, download,
) => {
  /** @typedef {import('./types').App} App */
  const { t } = words
  const NARROW = matchMedia('(max-width: 48rem)')
  /** Focusing a field on a touch screen opens the keyboard over the page. */
  const KEYBOARD = matchMedia('(hover: hover)')

  /** @param {{root: HTMLElement, settings: Settings, store: Store}} given */
  function startApp({ root, settings, store }) {
    const server = openServer({ settings, onChange: () => draw() })
    const book = openBook({
      store, api: server.api, prepare: (session) => prepare(session, settings), onChange,
      onEnd: (entry) => onEnd(entry, server), onElsewhere: () => toast(t('run.elsewhere')),
    })
    /** @type {App} */
    const app = { settings, server, book, current: book.fresh(), drawer: false, views: null, show, draw, mount }
    const actions = actionsOf(app)
    yaa.use('ui/clienttools').open(app, store)
    let frame = 0
    let timer = 0
    let tick = 0
    let whole = true

    async function start() {
      look(settings)
      const signedIn = settings.takeKeyFromHash()
      const wanted = new URLSearchParams(location.hash.slice(1)).get('s')
      mount()
      if (signedIn) say(t('toast.signedIn'))
      if (KEYBOARD.matches) app.views.composer.focus()
      server.connect()
      await book.refresh()
      const entry = wanted && await book.open(wanted)
      if (entry) show(entry)
      draw()
      NARROW.addEventListener('change', draw)
      addEventListener('keydown', shortcuts(app, actions))
    }

    /** Make every view; done again when the language changes. */
    function mount() {
      const settingsOpen = app.views?.settings.el.open
      const thread = threadView(actions)
      const views = {
        thread, side: sidebarView(actions), header: headerView(actions), composer: composerView(actions), failure: failurePanel(actions),
        settings: settingsDialog(actions),
      }
      app.views = views
      fill(root,
        h('button.skip', { type: 'button', onclick: views.composer.focus }, t('app.skip')),
        views.side.el,
        h('button.scrim', { type: 'button', 'aria-label': t('side.hide'), onclick: actions.toggleSide }),
        h('main.main', { 'aria-label': t('app.main') }, views.header.el, thread.el,
          h('footer.foot', null, thread.toEnd, h('div.column', null, views.failure.el), views.composer.el)),
        views.settings.el)
      views.composer.write(draftOf(app.current.session.id))
      if (settingsOpen) views.settings.show('look')
      draw()
    }

    /** @param {import('./types').Entry} entry */
    function show(entry) {
      app.current = entry
      app.drawer = false
      address(entry.session)
      app.views?.composer.write(draftOf(entry.session.id))
      draw()
    }

    /** @param {string} id @param {boolean} all more than the last turn may have changed */
    function onChange(id, all) {
      const mine = id === app.current.session.id
      if (mine && !location.hash) address(app.current.session)
      if (mine || all) schedule(all)
    }

    function draw() {
      schedule(true)
    }

    /** A hidden page draws no frames, but its title has to be right: there a timer takes their place. @param {boolean} all */
    function schedule(all) {
      whole ||= all
      if (!app.views) return
      if (document.hidden) timer ||= window.setTimeout(render)
      else frame ||= requestAnimationFrame(render)
    }

    function render() {
      cancelAnimationFrame(frame)
      clearTimeout(timer)
      frame = timer = 0
      const state = stateOf(app, whole)
      app.views.thread.update(state)
      if (whole) renderAround(app, root, state)
      whole = false
      clearTimeout(tick)
      if (state.line?.until) tick = window.setTimeout(draw, 1000)
    }

    return { start }
  }

  /**
   * Everything but the thread; it need not be looked at while an answer streams in.
   * @param {App} app @param {HTMLElement} root @param {import('./types').State} state
   */
  function renderAround(app, root, state) {
    attr(root, 'data-side', state.sideOpen ? 'open' : 'closed')
    attr(root, 'data-drawer', app.drawer ? 'open' : 'closed')
    for (const name of ['side', 'header', 'composer', 'failure', 'settings']) app.views[name].update(state)
    const mark = markOf(app.current)
    document.title = [mark && t(`side.${mark}`), titleOf(state.session), t('app.name')].filter(Boolean).join(' – ')
  }

  /** @param {App} app @returns {import('./types').Actions} */
  function actionsOf(app) {
    const { settings, server, book, show, draw } = app

    /** @param {Record<string, any>} changes */
    function set(changes) {
      for (const [name, value] of Object.entries(changes)) setOne(settings, name, value)
      if ('url' in changes || 'key' in changes) server.connect()
      if ('theme' in changes || 'language' in changes) look(settings)
      if ('language' in changes) app.mount()
      draw()
    }

    /** @param {string} id */
    async function open(id) {
      const entry = await book.open(id)
      if (entry) show(entry)
    }

    /** @param {string} id */
    async function remove(id) {
      const session = await book.remove(id)
      if (app.current.session.id === id) show(book.fresh())
      if (!session) return
      const undo = async () => {
        await book.restore(session)
        open(id)
      }
      toast(t('side.deleted', { title: titleOf(session) }), { label: t('side.undo'), action: undo })
    }

    /** @param {string} id */
    async function save(id) {
      const session = (await book.open(id))?.session
      if (session) download.json(download.nameFor(session, 'yaa.json'), session)
    }

    return {
      set, open, remove, download: save, draw,
      send(text) {
        app.views.thread.follow()
        book.send(app.current, text)
      },
      stop: () => app.current.run?.stop(),
      goOn: () => book.retry(app.current),
      answer: (id, answer) => book.answer(app.current, [[id, answer]]),
      answerAll: (answers) => book.answer(app.current, answers),
      newSession() {
        show(app.current.session.messages.length ? book.fresh() : app.current)
        app.views.composer.focus()
      },
      rename: (id, title) => book.rename(id, title),
      draft: (text) => sessionStorage.setItem(draftName(app.current.session.id), text),
      connect: () => server.connect(),
      signIn: (key) => set({ key }),
      setProvider: (name) => set({ provider: name }),
      setTool: (name, rule) => set({ tools: withEntry(settings.get('tools'), name, rule) }),
      setLimit: (name, value) => set({ limits: withEntry(settings.get('limits'), name, Number(value) > 0 ? Number(value) : '') }),
      openSettings(tab) {
        app.views.settings.show(tab)
        draw()
      },
      toggleSide() {
        if (NARROW.matches) app.drawer = !app.drawer
        else settings.set('side', settings.get('side') === 'closed' ? 'open' : 'closed')
        draw()
      },
    }
  }

  /** Keys that work outside of fields: `g` then `a` goes to what waits for an answer. @param {App} app @param {import('./types').Actions} actions */
  function shortcuts(app, actions) {
    let before = ''
    return (/** @type {KeyboardEvent} */ event) => {
      const typing = /** @type {Element} */ (event.target).closest?.('input, textarea, select, dialog')
      const pair = before + event.key
      before = event.key
      if (event.key === 'Escape' && app.drawer) actions.toggleSide()
      if (!typing && pair === 'ga') app.views.thread.showAsk()
    }
  }

  /** @param {Settings} settings @param {string} name @param {any} value */
  function setOne(settings, name, value) {
    if (name === 'url') settings.setBase(value)
    else if (name === 'key') settings.setKey(value, { remember: settings.remembers() })
    else if (name === 'remember') settings.setKey(settings.key(), { remember: value })
    else settings.set(name, value)
  }

  /** @param {App} app @param {boolean} whole @returns {import('./types').State} */
  function stateOf({ settings, server, book, current }, whole) {
    const { session } = current
    const live = isActive(current)
    const info = server.info()
    const offered = modelsOf(info)
    const first = offered.find((one) => one.first) ?? offered[0]
    const models = offered.length > 1 ? [{ ...first, name: 'auto', label: t('compose.auto') }, ...offered] : offered
    const provider = settings.get('provider') || 'auto'
    const chosen = models.find((one) => one.name === provider) ?? models[0]
    return {
      session, live, whole, models, provider,
      items: sessions.items(whole ? session : lastTurn(session), { live: live || current.elsewhere }),
      outputs: current.run?.output ?? new Map(),
      line: statusLine(current),
      server: server.state(),
      sideOpen: !NARROW.matches && settings.get('side') !== 'closed',
      sessions: book.heads().map((head) => rowOf(head, session.id, book.entry(head.id))),
      demo: Boolean(chosen?.demo),
      tools: toolsOf(info),
      defaults: info?.defaults?.config?.limits,
      onDisk: !settings.canRememberSafely,
      settings: { ...settings.all(), url: settings.base(), key: settings.key(), remember: settings.remembers() },
    }
  }

  /** The part of a session that a run writes to. @param {Session} session @returns {Session} */
  function lastTurn(session) {
    const start = session.messages.findLastIndex((message) => message.role === 'user')
    return { ...session, messages: session.messages.slice(Math.max(0, start)) }
  }

  /** @param {Head} head @param {string} current @param {import('./types').Entry | undefined} entry */
  function rowOf(head, current, entry) {
    const mark = entry ? markOf(entry) : head.waiting ? 'asking' : ''
    return { id: head.id, title: entry?.session.title || head.title || t('session.untitled'), updated: head.updated, current: head.id === current, mark }
  }

  /**
   * Settings travel in the session's configuration; what is left empty is filled in by the server.
   * @param {Session} session @param {Settings} settings
   */
  function prepare(session, settings) {
    const config = (session.config ??= {})
    const model = settings.get('model') ? { model_name: settings.get('model') } : {}
    config.llm_api = { ...config.llm_api, provider: { name: settings.get('provider') || 'auto', ...model } }
    config.yaa = { ...config.yaa, stream: true, language: words.language() }
    config.limits = { ...config.limits, ...settings.get('limits') }
    config.tool = { ...config.tool }
    for (const [name, rule] of Object.entries(settings.get('tools') ?? {})) {
      config.tool[name] = rule === 'deny' ? { deny: true } : { auto_approve: rule === 'allow' }
    }
    if (settings.get('character') && !session.character) session.character = settings.get('character')
  }

  /** @param {import('./types').Entry} entry whose run has come to rest @param {App['server']} server */
  function onEnd(entry, server) {
    announce(entry)
    if (entry.state?.diverged) toast(t('run.diverged'), { bad: true })
    const error = entry.state?.error
    if (error?.code === 'answer_invalid') toast(t('toast.answerRefused', { detail: error.message }), { bad: true })
    if (error?.code === 'unauthorized' || error?.code === 'network') server.connect()
  }

  /** @param {Settings} settings */
  function look(settings) {
    attr(document.documentElement, 'data-theme', settings.get('theme') || null)
    words.use(settings.get('language') ?? '')
  }

  /** The open session is in the address, so that a reload opens it again. @param {Session} session */
  function address({ id, messages }) {
    history.replaceState(null, '', messages.length ? `#s=${encodeURIComponent(id)}` : location.pathname + location.search)
  }

  /** @param {Record<string, any> | undefined} map @param {string} name @param {any} value '' takes the entry out */
  function withEntry(map, name, value) {
    const { [name]: _, ...rest } = map ?? {}
    return value === '' ? rest : { ...rest, [name]: value }
  }

  /** @param {string} id */
  const draftName = (id) => `yaa.draft.${id}`

  /** What was being written in a session when the page was left. @param {string} id */
  const draftOf = (id) => sessionStorage.getItem(draftName(id)) ?? ''

  /** @param {Session} session */
  const titleOf = (session) => session.title || t('session.untitled')

  return { startApp }
})
