// The parts of the settings that are the server's, for its owner alone: each is made when it is first opened.

yaa.define('ext/server/owner-settings', [
  'ui/dom', 'ext/server/texts', 'ui/commands', 'ext/server/store', 'ext/server/parts', 'ext/server/state', 'ext/server/providers', 'ext/server/folders', 'ext/server/mcp', 'ext/server/skills', 'ext/server/agents', 'ext/server/keys', 'css/config-form',
], ({ h, icon }, { t }, { context }, { storeOf }, { problemLine, attempt }, { notices, sandboxPart, runsPart }, providers, folders, mcp, skills, agents, keys) => {
  /** Of all parts: one that changes something changes it for the others. @type {any} */ let store = null

  /**
   * @param {(store: any, actions: import('../../ui/types').Actions) => any} make
   * @param {string} [about] whose problems it shows, as the server calls them; without it all
   * @returns {(actions: import('../../ui/types').Actions) => import('../../ui/types').View<import('../../ui/types').State>}
   */
  const part = (make, about) => (actions) => {
    store ??= storeOf(context().app)
    const top = notices(about)
    const note = problemLine()
    const again = h('button.button', { type: 'button', hidden: true, onclick: read }, icon('retry'), t('host.again'))
    const waiting = h('p.hint', { role: 'status' }, t('host.reading'))
    const el = h('div.group.host', null, waiting, note, again, top.el)
    /** @type {any} */ let view = null
    let asked = ''
    store.listen(draw)

    function draw() {
      const now = store.now()
      waiting.hidden = Boolean(now)
      if (view) view.el.hidden = !now
      if (!now || !asked) return
      if (!view) el.append((view = make(store, actions)).el)
      top.update(now)
      view.update(now)
    }

    async function read() {
      again.hidden = true
      waiting.hidden = false
      await attempt(note, store.read)
      waiting.hidden = true
      again.hidden = note.hidden
    }

    /** @param {import('../../ui/types').State} state */
    function update({ server }) {
      if (!server.ok) return
      if (asked === server.url) return view?.look?.()
      asked = server.url
      if (store.now()) draw()
      else read()
    }

    return { el, update }
  }

  return {
    providers: part(providers.part, 'model'), agents: part(agents.part, 'agents'), folders: part(folders.part), keys: part(keys.part, 'keys'), runs: part(runsPart, 'runs'),
    askForFolder: (/** @type {import('../../ui/types').App} */ app, /** @type {(name: string) => void} */ done) => folders.ask(storeOf(app), done),
    mcp: part(mcp.part, 'tools'), skills: part(skills.part, 'skills'), sandbox: part(sandboxPart, 'sandbox'),
  }
})
