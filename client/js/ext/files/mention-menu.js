// `@` in the composer: the names of files and of MCP servers' resources that fit what is typed, in a list over the field. The
// focus stays in the field (aria-activedescendant). A path takes the place of what was typed; a resource goes along.

yaa.define('ext/files/mention-menu', ['ui/dom', 'ext/files/texts', 'ui/popup', 'ui/suggestions', 'ext/files/session-files', 'core/file-names', 'core/workspace-stand', 'css/dialogs', 'ext/files/style'], (
  { h, icon, attr }, { t }, { say }, { suggestions }, files, names, { standOf },
) => {
  const SHOWN = 8
  /** So many places are for files where there are resources too. */
  const FILES = 5
  /** Names of so many files are fetched, in pages of so many. */
  const [MOST, PAGE] = [20_000, 5000]
  /** A list is used for so long: tools of other programs change files too. */
  const FRESH_MS = 20_000
  /** A list that comes after so long comes late. */
  const LATE_MS = 700

  /** @param {import('../../ui/types').CommandContext} context */
  function start(context) {
    const { app } = context
    const el = h('ul.slash.mention', { 'aria-label': t('mention.label'), hidden: true })
    /** Of paths, and labels of resources. */
    const menu = suggestions(el, { key: (path) => path, option, choose })
    /** @type {Map<string, any>} resources by their label */ let resources = new Map()
    /** @type {any} who has them */ let from = null
    /** @type {any} the field */ let area = null
    /** @type {{key: string, until: number, paths: Promise<string[]>} | null} */ let cached = null
    /** What was put away with Escape, until something else is named. */
    let dismissed = -1

    /** @returns {Promise<string[]>} */
    function paths() {
      const { session } = app.current
      const key = JSON.stringify([session.id, files.folderOf(app), standOf(session), app.server.api().base])
      if (cached?.key !== key || cached.until < Date.now()) cached = { key, until: Date.now() + FRESH_MS, paths: fetched() }
      return cached.paths
    }

    async function fetched() {
      const routes = files.routesOf(app)
      /** @type {string[]} */ const all = []
      try {
        for (let whole = false; !whole && all.length < MOST;) {
          const { entries, complete } = await routes.list('', { depth: 32, offset: all.length, limit: PAGE })
          for (const { path, kind } of entries) all.push(/^(?:d|dir|directory|folder)$/.test(kind) ? `${path}/` : path)
          whole = complete || !entries.length
        }
      } catch (error) {
        console.warn(error)
        cached = null
      }
      return all
    }

    /** @param {any} field */
    async function look(field) {
      area = field
      const found = field.selectionStart === field.selectionEnd ? names.mentionAt(field.value, field.selectionStart) : null
      if (!found || found.from === dismissed) {
        if (!found) dismissed = -1
        return menu.close()
      }
      dismissed = -1
      const began = Date.now()
      const more = listResources().catch(console.warn) // a slow server holds up no list of files
      const all = files.isOffered(app) ? await paths() : []
      const show = () => {
        const now = names.mentionAt(field.value, field.selectionStart)
        if (now?.from === found.from && document.activeElement === field) draw(fitting(all, now.typed), Date.now() - began > LATE_MS)
      }
      show()
      if (await more) show()
    }

    /** @returns {Promise<boolean>} is there any? */
    async function listResources() {
      from = await yaa.part('composer')
      const list = await from?.resources(context) ?? []
      resources = new Map(list.map((/** @type {any} */ one) => [`${one.server}: ${one.name} ${one.uri ?? one.template}`, one]))
      return list.length > 0
    }

    /** @param {string[]} all paths @param {string} typed */
    function fitting(all, typed) {
      const others = names.bestMatches([...resources.keys()], typed, SHOWN)
      const meant = names.isJunk(typed) ? all : all.filter((path) => !names.isJunk(path))
      const found = names.bestMatches(meant, typed, Math.max(FILES, SHOWN - others.length))
      return [...found, ...others].slice(0, SHOWN)
    }

    /** @param {string[]} next @param {boolean} isLate then Enter is not for it yet: somebody may be about to send */
    function draw(next, isLate) {
      if (isLate && menu.first() !== next[0]) {
        attr(el, 'data-late', 'true')
        setTimeout(() => attr(el, 'data-late', null), LATE_MS)
      }
      if (el.parentElement !== area.parentElement) area.after(el)
      if (menu.show(area, next)) say(t('mention.count', { n: next.length }))
    }

    /** @param {string} path */
    function option(path) {
      const stay = (/** @type {Event} */ event) => event.preventDefault()
      const one = resources.get(path)
      if (one) {
        const el = h('li', { onpointerdown: stay, onclick: () => choose(path), title: one.uri ?? one.template },
          icon('link'), h('bdi', null, names.visible(one.name)), h('span', null, h('bdi', null, names.visible(`${one.server} · ${one.uri ?? one.template}`))))
        return { el, update() {} }
      }
      const bare = path.replace(/\/$/, '')
      const el = h('li', { onpointerdown: stay, onclick: () => choose(path) },
        icon(bare === path ? 'file' : 'folder'), h('bdi', null, names.visible(names.baseName(bare))), h('span', null, h('bdi', null, names.visible(names.folderOf(bare)))))
      return { el, update() {} }
    }

    /** @param {string} path */
    function choose(path) {
      const found = names.mentionAt(area.value, area.selectionStart)
      menu.close()
      if (!found) return
      const one = resources.get(path)
      if (one) {
        area.setRangeText('', found.from, area.selectionStart, 'end')
        area.dispatchEvent(new Event('input', { bubbles: true }))
        from.attach(context, one)
        return
      }
      area.setRangeText(`${names.mentionOf(path)} `, found.from, area.selectionStart, 'end')
      area.dispatchEvent(new Event('input', { bubbles: true }))
    }

    /** Before the field itself, which would send. @param {any} event */
    function onkeydown(event) {
      if (event.target !== area || (event.key === 'Enter' && el.dataset.late)) return
      const from = names.mentionAt(area.value, area.selectionStart)?.from ?? -1
      if (!menu.onkeydown(event)) return
      if (event.key === 'Escape') dismissed = from
      event.stopPropagation()
    }

    const isField = (/** @type {any} */ target) => target?.matches?.('.composer textarea')
    addEventListener('input', (event) => { if (isField(event.target)) look(event.target) })
    addEventListener('keydown', onkeydown, true)
    addEventListener('focusout', (event) => { if (event.target === area) menu.close() })
    return { forget: () => { cached = null } }
  }

  return { start }
})
