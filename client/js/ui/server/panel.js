// The tab of the server's settings, for its owner alone: parts that are made when they are first opened.

yaa.define('ui/server/panel', [
  'ui/dom', 'ui/server/i18n', 'ui/commands', 'ui/server/store', 'ui/server/parts', 'ui/server/state', 'ui/server/providers', 'ui/server/folders', 'ui/server/mcp', 'ui/server/skills', 'ui/server/agents', 'ui/server/keys', 'css/config-form',
], ({ h, icon, text }, { t }, { context }, { storeOf }, { problemLine, wordsOf }, { notices, sandboxPart, runsPart }, providers, folders, mcp, skills, agents, keys) => {
  const PARTS = /** @type {[string, string, (store: any, actions: import('../types').Actions) => any][]} */ ([
    ['providers', 'spark', providers.part], ['folders', 'folder', folders.part], ['mcp', 'tool', mcp.part], ['skills', 'book', skills.part],
    ['agents', 'star', agents.part], ['keys', 'key', keys.part], ['sandbox', 'hand', sandboxPart], ['runs', 'clock', runsPart],
  ])

  /** @param {import('../types').Actions} actions @returns {import('../types').View<import('../types').State>} */
  function panel(actions) {
    const store = storeOf(context().app)
    const top = notices(store)
    const note = problemLine()
    const again = h('button.button', { type: 'button', hidden: true, onclick: read }, icon('retry'), t('host.again'))
    const waiting = h('p.hint', { role: 'status' }, t('host.reading'))
    const groups = PARTS.map(([name, sign, make]) => groupOf(name, sign, make))
    const list = h('div.config-groups', { hidden: true }, groups.map((group) => group.el))
    const el = h('div.group.host', null, h('p.hint', null, t('host.lead')), waiting, note, again, top.el, list)
    let asked = ''
    store.listen(draw)

    /** @param {string} name @param {string} sign @param {(store: any, actions: import('../types').Actions) => any} make */
    function groupOf(name, sign, make) {
      const inside = h('div.config-fields')
      const el = h('details.config-group', { 'data-part': name, ontoggle: () => el.open && open() }, h('summary', null, icon('chevron', 'chevron'), icon(sign), h('span', null, t(`host.${name}`))), inside)
      /** @type {any} */ let view = null

      function open() {
        if (!store.now()) return
        if (!view) {
          view = make(store, actions)
          inside.append(view.el)
        }
        view.update(store.now())
      }

      return { el, update: () => { if (el.open) open() } }
    }

    function draw() {
      const now = store.now()
      list.hidden = !now
      waiting.hidden = Boolean(now)
      if (!now) return
      top.update(now)
      for (const group of groups) group.update()
    }

    async function read() {
      note.hidden = again.hidden = true
      waiting.hidden = false
      try {
        await store.read()
      } catch (error) {
        waiting.hidden = true
        text(note, wordsOf(error))
        note.hidden = again.hidden = false
      }
    }

    /** @param {import('../types').State} state */
    function update({ server }) {
      if (!server.ok || asked === server.url) return
      asked = server.url
      read()
    }

    return { el, update }
  }

  return { panel }
})
