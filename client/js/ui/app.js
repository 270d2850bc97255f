// The page as a whole: at most once a frame, all views are updated from one state object (ui/view-state). All that
// views can do is in `actionsOf`.

yaa.define('ui/app', [
  'ui/dom', 'ui/i18n', 'ui/popup', 'ui/session-store', 'ui/server-state', 'ui/status-line', 'ui/sidebar', 'ui/thread', 'ui/composer', 'ui/connection-checks',
  'ui/commands', 'ui/composer-notices', 'ui/view-state', 'io/settings', 'io/api', 'core/session',
], (
  { h, fill, attr }, words, { toast }, { openSessionStore, isBusy }, { openServer, explainBy }, { markOf },
  { sidebarView, headerView }, { threadView }, { composerView, draftOf }, { failureView }, commands, { noticesView, queueOf }, { stateOf, NARROW }, { linkOf }, { speak }, { openInterrupts, titleOf },
) => {
  /** @typedef {import('./types').App} App */
  /** @typedef {import('./types').How} How */
  const { t } = words
  yaa.lacking = () => t('later.failed')
  speak((name, values) => {
    const words = t(`io.${name}`, values)
    return words.startsWith('io.') ? values.detail : words // they come later
  })
  /** Focusing a field on a touch screen opens the keyboard over the page. */
  const KEYBOARD = matchMedia('(hover: hover)')
  /** Parts that did not come are asked for again after this. */
  const LATER_MS = 10_000
  /** A language that has not come by then is English meanwhile. */
  const LANGUAGE_MS = 1000

  /**
   * @param {{root: HTMLElement, settings: Settings, store: Store, standalone?: import('./types').StandalonePage}} given
   *   `standalone`: the page holds one session of its own, and calls no server until it is asked to
   */
  function startApp({ root, settings, store, standalone }) {
    const server = openServer({ settings, onChange: () => draw() })
    /** @type {any} core/session-defaults, once it is there */ let defaults = null
    /** What the person has set. @param {Session} session @returns {any} when, if a script is needed first */
    const prepare = (session) => (defaults ? defaults.prepare(session, settings, server.info())
      : yaa.load('session-defaults').then(() => { defaults = yaa.use('core/session-defaults'); return prepare(session) }))
    const sessionStore = openSessionStore({
      store, api: server.api, onChange,
      prepare,
      onEnd: (entry) => {
        onEnd(entry, server)
        app.queue.onEnd(entry)
      }, onUnsaid: (entry, words) => app.queue.add(words, entry), onLost: server.again,
    })
    /** @type {App} */
    const app = { settings, server, sessionStore, store, standalone, current: sessionStore.fresh(), past: null, watchers: new Set(), queue: /** @type {any} */ (null), drawer: false, views: null, show, draw, drawNow, mount }
    app.queue = queueOf(app)
    const own = presentOnly(app, actionsOf(app))
    const actions = standalone ? standalone.hold(app, own) : own
    let frame = 0
    let timer = 0
    let tick = 0
    let whole = true

    /** When the browser has time; what does not come is asked for again. @param {() => Promise<any>} load @param {(came: any) => any} begin */
    const bring = (load, begin) => idle(function again() {
      load().then(begin, () => setTimeout(again, LATER_MS))
    })

    async function start() {
      look(settings)
      const language = words.use(settings.get('language') ?? '')
      const late = await Promise.race([language.then(() => false), new Promise((resolve) => { setTimeout(resolve, LANGUAGE_MS, true) })])
      const link = standalone ? null : settings.takeLink()
      const wanted = standalone?.id ?? inHash('s')
      const shared = inHash('shared')
      const more = () => yaa.load('commands').then(() => yaa.use('ui/command-table'))
      const context = { app, actions, state: () => stateOf(app, true), more }
      commands.bind(context)
      mount()
      for (const type of ['dragover', 'drop']) addEventListener(type, (event) => drop(event, app))
      bring(() => Promise.all([failures(), yaa.part('failure-panel')]), ([one, panel]) => (one.start(), explainBy(panel?.explain)))
      language.then((missing) => {
        if (late && !missing) app.mount()
        lacking(missing)
      })
      if (KEYBOARD.matches && !standalone) app.views.composer.focus()
      if (!standalone) {
        if (link) idle(() => signIn(app, link))
        else server.connect()
        addEventListener('popstate', arrive)
      }
      await sessionStore.refresh()
      if (wanted) await actions.open(wanted, 'replaceState')
      else address(app.current.session)
      draw()
      NARROW.addEventListener('change', draw)
      addEventListener('keydown', shortcuts(app, actions))
      addEventListener('unhandledrejection', notLoaded)
      // another tab's; a composer made anew would lose its files
      addEventListener('storage', ({ key }) => { if (key?.startsWith('yaa.setting ')) look(settings), draw() })
      // Who has switched tools of the page on may need them with the first message.
      if (Object.values(settings.get('pageTools') ?? {}).includes(true)) pageTools(app)
      else if (!standalone) idle(() => pageTools(app))
      bring(() => yaa.load('commands'), () => yaa.use('ui/late-parts').start(context, shared, bring))
    }

    /** Follow a link that is opened in the open page (a server's or a session's), or the way back. */
    function arrive() {
      const wanted = inHash('s')
      if (wanted) return actions.open(wanted, 'replaceState')
      if (!location.hash) return show(sessionStore.entry(history.state) ?? sessionStore.fresh(), 'replaceState')
      const link = settings.takeLink()
      if (!link) return
      address(app.current.session)
      signIn(app, { ...link, elsewhere: true }) // nobody can say who brought an open page here
    }

    /** Make every view; done again when the language changes. @returns {Promise<void> | undefined} the settings are open again */
    function mount() {
      const settingsOpen = app.views?.settings?.el.open
      const typed = app.views?.composer.read()
      const thread = threadView(actions)
      const views = {
        thread, side: sidebarView(actions), header: headerView(actions), composer: composerView(actions), failure: failureView(actions),
        settings: /** @type {any} */ (null), notes: noticesView(actions),
      }
      app.views = views
      fill(root,
        h('button.skip', { type: 'button', onclick: views.composer.focus }, t('app.skip')),
        views.side.el,
        h('button.scrim', { type: 'button', 'aria-label': t('side.hide'), onclick: actions.toggleSide }),
        h('main.main', { 'aria-label': t('app.main') }, h('h1.sr-only', null, t('app.name')), views.header.el, thread.el,
          h('footer.foot', null, thread.toEnd, h('div.column', null, views.failure.el, views.notes.el), standalone ? standalone.foot(app, actions, views.composer.el) : views.composer.el)))
      views.composer.write(typed ?? settings.draft(draftOf(app.current.session)))
      drawNow()
      return settingsOpen ? actions.openSettings('look') : undefined
    }

    /** @param {import('./types').Entry} entry @param {How} [how] where the page is brought to is there already: pushed again, nobody gets back beyond it */
    function show(entry, how = 'pushState') {
      app.current = entry
      app.past = null
      app.drawer = false
      address(entry.session, how)
      app.views?.composer.write(settings.draft(draftOf(entry.session)))
      drawNow()
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

    /** Draw before the next key, for callers that look for a new element. */
    function drawNow() {
      whole = true
      if (app.views) render()
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
      if (whole) {
        renderAround(app, root, state)
        clearTimeout(tick)
        if (state.line?.until || app.current.state?.since) tick = window.setTimeout(draw, 1000)
      }
      for (const watcher of app.watchers) watcher(state)
      whole = false
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
    attr(/** @type {any} */ (app.views.header.el.parentElement), 'inert', app.drawer && NARROW.matches ? '' : null)
    for (const name of ['side', 'header', 'composer', 'failure', 'settings', 'notes']) app.views[name]?.update(state)
    const mark = markOf(app.current)
    document.title = [mark && t(`side.${mark}`), state.title, t('app.name')].filter(Boolean).join(' – ')
  }

  /** Disable writing actions while an earlier moment is shown. @param {App} app @param {import('./types').Actions} actions */
  function presentOnly(app, actions) {
    const guarded = /** @type {any} */ ({ ...actions })
    for (const name of ['send', 'goOn', 'answer', 'answerAll', 'rename', 'branch']) {
      guarded[name] = (/** @type {any[]} */ ...rest) => (app.past ? undefined : /** @type {any} */ (actions)[name](...rest))
    }
    return /** @type {import('./types').Actions} */ (guarded)
  }

  /** @param {App} app @returns {import('./types').Actions} */
  function actionsOf(app) {
    const { settings, server, sessionStore, show, draw } = app

    /** @param {Record<string, any>} changes */
    function set(changes) {
      const pasted = linkOf(changes.url ?? changes.key ?? '')
      if (pasted.code) return signIn(app, { ...pasted, pasted: true })
      for (const [name, value] of Object.entries(changes)) setOne(settings, name, value)
      if ('url' in changes || 'key' in changes) server.connect()
      look(settings)
      if ('language' in changes) words.use(changes.language).then(async (missing) => (await app.mount(), lacking(missing)))
      draw()
    }

    /** @param {string} id @param {How} [how] */
    async function open(id, how) {
      /** @type {any} */ let entry = null
      let before = app.current
      try {
        [entry, before] = [await sessionStore.open(id), app.current]
        if (entry) return show(entry, how)
        toast(t('session.gone'))
      } catch (error) { // nothing that is stored keeps the page from its work
        console.warn(error)
        if (entry) show(before === entry ? sessionStore.fresh() : before, how)
        const { said, message } = /** @type {any} */ (error)
        toast(said ?? t('session.broken', { detail: message }), { bad: true })
      }
      address(app.current.session)
    }

    /** @param {string} id */
    async function remove(id) {
      const session = await sessionStore.remove(id)
      if (app.current.session.id === id) show(sessionStore.fresh())
      if (!session) return
      const undo = () => sessionStore.restore(session).then(() => open(id))
      toast(t('side.deleted', { title: titleOf(session) || t('session.untitled') }), { label: t('side.undo'), action: undo })
    }

    /** Load the branch actions with their first use. @param {string} name @param {any[]} rest */
    async function branch(name, ...rest) {
      await yaa.load('branches')
      return yaa.use('ui/branch-actions').branchActions(app, actions)[name](...rest)
    }

    /** Set a choice for new sessions and the open one. @param {string} what @param {any[]} rest */
    async function choose(what, ...rest) {
      const entry = app.current
      await yaa.load('session-defaults')
      yaa.use('ui/session-choices').choose(app, entry, what, ...rest)
      draw()
    }

    /** @type {import('./types').Actions} */
    const actions = {
      cite: (marks) => void yaa.part('cite').then((one) => one?.draw(marks, () => app.past ?? app.current.session), () => {}),
      set, open, remove, draw, branch, queue: app.queue, file: (path) => server.api().file(app.current.session.id, path, app.current.session.workspace?.folder),
      work: null,
      asking: {
        approvalMenu: (...rest) => { branch('approvalMenu', ...rest) },
        offer: (asked) => branch('offer', asked), choose,
        marks: async (...about) => yaa.load('work').then(() => yaa.use('ui/work/call-marks').marksView(...about, server.info()), () => null),
        valueField: async (args) => yaa.load('branches').then(() => yaa.use('ui/editors').valueField(args, true)),
        picture: async (tool, args, of) => yaa.load('tools').then(() => yaa.use('ui/tools/card-body').previewOf(tool, args, app, of), () => null),
        largest: async (...about) => yaa.part('largest-messages').then((one) => one?.largestView(app, ...about), () => null),
        limits: () => { branch('limits') }, chooseModel: () => actions.openSettings('model'), changeKey: () => actions.openSettings('providers'),
        api: () => server.api(), others: () => openInterrupts(app.current.session).length > 0, costUnit: () => app.current.session.usage?.cost_unit ?? '',
      },
      setTemporary(on) {
        if (on && app.current.session.messages.length) return
        sessionStore.setTemporary(app.current, on)
        address(app.current.session)
      },
      send(text, id = app.current.session.id, later = false) {
        const entry = sessionStore.entry(id) ?? app.current
        if (entry === app.current) app.views.thread.follow()
        if (later || isBusy(entry)) app.queue.add(text, entry)
        else sessionStore.send(entry, text)
      },
      stop: () => app.current.run?.stop(),
      goOn: () => sessionStore.retry(app.current),
      answer: (id, answer) => sessionStore.answer(app.current, [[id, answer]]),
      answerAll: (answers) => sessionStore.answer(app.current, answers),
      newSession() {
        show(app.current.session.messages.length ? sessionStore.fresh() : app.current)
        app.views.composer.focus()
      },
      write: () => app.views.composer.focus(),
      rename: (id, title) => sessionStore.rename(id, title),
      draft: (text, draft) => settings.setDraft(draft, text),
      keepFiles: async (draft, files) => !app.standalone && settings.keepFiles(draft, files),
      connect: () => server.connect(),
      choose,
      pause: (on) => void (set({ paused: on }), choose('pause', on)),
      setAgent: (name) => { sessionStore.amend(app.current, (one) => { one.agent = name }), set({ agent: name }) },
      async openSettings(tab) {
        await Promise.all([yaa.load('settings'), yaa.load('commands'), pageTools(app)])
        if (!app.views.settings) {
          app.views.settings = yaa.use('ui/settings').settingsDialog(actions)
          app.views.side.el.after(app.views.settings.el)
        }
        app.views.settings.show(tab ?? (server.state().ok ? undefined : 'server'))
        draw()
      },
      toggleSide() {
        if (!NARROW.matches) {
          settings.set('side', settings.get('side') === 'closed' ? 'open' : 'closed')
          return draw()
        }
        // over the page: the focus goes there with the eyes, and back
        app.drawer = !app.drawer
        app.drawNow()
        app.views[app.drawer ? 'side' : 'header'].el.querySelector('button').focus()
      },
    }
    return actions
  }

  /** Attach a dropped file, or import it over the list. Unhandled, the browser would leave. @param {any} event @param {App} app */
  function drop(event, { views: { composer } }) {
    const { dataTransfer: data, target } = event
    if (!data?.types.includes('Files') || event.defaultPrevented) return
    event.preventDefault()
    const take = target.closest?.('.side') ? (/** @type {File[]} */ files) => commands.run('sessions.import', files) : composer.attach
    if (event.type === 'drop') take([...data.files])
  }

  /** Handle keys by the command table; Escape closes the drawer. @param {App} app @param {import('./types').Actions} actions */
  function shortcuts(app, actions) {
    return (/** @type {KeyboardEvent} */ event) => {
      if (event.key === 'Escape' && app.drawer) actions.toggleSide()
      commands.onkeydown(event)
    }
  }

  /** Report what nobody has caught, where it has words. @param {PromiseRejectionEvent} event */
  function notLoaded(event) {
    const { name, said } = event.reason ?? {}
    if (said) toast(said, { bad: true })
    else if (name === 'NotLoaded') lacking(event.reason)
    else return
    event.preventDefault()
  }

  /** @param {Error | null} error */
  const lacking = (error) => error && failures().then((one) => one.report(error), () => toast(t('later.failed'), { bad: true }))

  /** @param {App} app @param {SignInLink} link */
  const signIn = (app, link) => yaa.load('sign-in').then(() => yaa.use('ui/sign-in').take(app, link))

  const failures = () => yaa.load('load-failures').then(() => yaa.use('ui/load-failures'))

  /** @type {Promise<void> | null} */ let joined = null

  /** Connect the client tools to the runs, once. @param {App} app */
  function pageTools(app) {
    joined ??= yaa.load('client-tools').then(() => {
      yaa.use('ui/client-tools').open(app, app.store)
      app.draw()
    }, (error) => {
      joined = null
      console.warn(error)
    })
    return joined
  }

  /** Run when the page can be typed in, or after two seconds. @param {() => void} run */
  const idle = (run) => ('requestIdleCallback' in window ? requestIdleCallback(run, { timeout: 2000 }) : setTimeout(run))

  /** @param {Settings} settings @param {string} name @param {any} value */
  function setOne(settings, name, value) {
    if (name === 'url') settings.setBase(value)
    else if (name === 'key') settings.setKey(value, { remember: settings.remembers() })
    else if (name === 'remember') settings.setKey(settings.key(), { remember: value })
    else settings.set(name, value)
  }

  /** @param {import('./types').Entry} entry whose run has come to rest @param {App['server']} server */
  function onEnd(entry, server) {
    yaa.load('commands').then(() => yaa.use('ui/run-announcement').announce(entry), console.warn)
    dispatchEvent(new CustomEvent('yaa-saved', { detail: entry.session }))
    if (entry.state?.diverged) toast(t('run.diverged'), { bad: true })
    const error = entry.state?.error
    if (error?.code === 'answer_invalid') toast(t('toast.answerRefused', { detail: error.message }), { bad: true })
    if (error?.code === 'unauthorized') server.connect()
    else if (error && error.kind !== 'refused') server.again()
  }

  /** @param {Settings} settings */
  function look(settings) {
    const root = document.documentElement
    for (const name of ['theme', 'size', 'density']) attr(root, `data-${name}`, settings.get(name) || null)
    const theme = settings.get('theme')
    // the bars around the page are the browser's
    for (const bar of document.querySelectorAll('meta[name="theme-color"]')) {
      const { scheme } = /** @type {HTMLElement} */ (bar).dataset
      attr(bar, 'media', theme ? (theme === scheme ? 'all' : 'not all') : `(prefers-color-scheme: ${scheme})`)
    }
    if (settings.get('hue')) root.style.setProperty('--hue', settings.get('hue'))
    else root.style.removeProperty('--hue')
  }

  /** @param {string} name */
  const inHash = (name) => new URLSearchParams(location.hash.slice(1)).get(name)

  /**
   * Put the open session into the address, for reload and going back. One that is not stored is only in the state: going
   * back opens it, a reload does not.
   * @param {Session} session @param {How} [how]
   */
  function address({ id, messages, ext }, how = 'replaceState') {
    const bare = location.pathname + location.search
    const place = messages.length && !ext?.temporary ? `#s=${encodeURIComponent(id)}` : bare
    if (place !== (location.hash || bare) || (place === bare && history.state !== id)) history[how](id, '', place)
  }

  return { startApp }
})
