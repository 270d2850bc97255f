// The files of the open session: beside the thread, over the whole screen of a phone. It shows them at the point that the
// page shows: now, or what the time slider and a cut conversation say.

yaa.define('ext/files/panel', [
  'ui/dom', 'ext/files/texts', 'ui/popup', 'ext/files/session-files', 'ext/files/folder-picker', 'ext/files/file-tree', 'ext/files/file-view', 'ext/files/changes-view',
  'ext/files/layer-view', 'ext/files/uploads', 'ext/files/file-list', 'core/workspace-stand', 'ext/files/file-changes', 'core/file-names', 'ext/files/panel-style', 'css/tools',
], (
  { h, icon, iconButton, attr, fill, text, uid }, { t, count }, { toast }, files, folders, { fileTree }, { fileView }, { changesView }, { layerView }, { uploadsView }, { size, leftWords },
  { standOf }, { changesOf }, { visible },
) => {
  /** @typedef {import('../../ui/types').CommandContext} CommandContext */
  /** @typedef {import('./files').Shared} Shared */

  /** @param {CommandContext} context @param {{forget: () => void}} mention */
  function start(context, mention) {
    const { app } = context
    /** Then it is said that no answer has come yet. */
    const SILENT_MS = 3000
    let opened = false
    let drawn = ''
    /** The session and folder that the views are of. */
    let place = ''
    /** What the server says of the files. @type {any} */ let state = null
    /** A notice of the page's own. */
    let trouble = ''
    let [asked, tries, later] = [0, 0, 0]
    /** What the server has said nothing to for a while. @type {Set<Promise<any>>} */ const silent = new Set()
    /** What was in the way when this page brought files back. @type {any} */ let inWay = null
    /** What of the open session is not kept in this browser. */
    let unkept = { id: '', count: 0, bytes: 0 }
    /** @type {Element | null} */ let before = null

    /** @type {Shared} */
    const shared = {
      app, context,
      session: () => app.past ?? app.current.session,
      routes: () => files.routesOf(app, undefined, watch),
      mode: () => files.modeOf(app),
      tree: () => pointOf().tree,
      state: () => state,
      canWrite: () => !pointOf().tree && files.modeOf(app) !== 'read' && app.server.info()?.workspace?.recorded !== false,
      open: (path, diff) => show('file', path, diff),
      list: (name) => show(name),
      refresh, again, target, failed: files.failed, wordsOf: files.wordsOf,
    }
    const tree = fileTree(shared)
    const viewer = fileView(shared, () => show('tree'))
    const changes = changesView(shared, (/** @type {number} */ n) => number(tabs[chosen === 'changes' && shared.mode() === 'overlay' ? 2 : 1], n))
    const layer = layerView(shared, (/** @type {number} */ n) => { if (chosen !== 'changes') number(tabs[2], n) })
    const uploads = uploadsView(shared, () => tree.folder())
    /** @type {Record<string, any>} */ const views = { tree, file: viewer, changes, layer }
    const id = uid('files')
    const tabs = ['tree', 'changes', 'layer'].map((name) => h('button', { type: 'button', role: 'tab', id: `${id}-${name}`, 'aria-controls': id, onclick: () => show(name) },
      t(`files.tab.${name}`), h('span.desk-count', { hidden: true })))
    const folder = h('button.select.folder', { type: 'button', 'aria-haspopup': 'menu', onclick: () => folders.openFolders(context, folder) })
    const notice = h('div.files-notice', { role: 'status' })
    const body = h('div.files-body', { id, role: 'tabpanel', tabIndex: -1 })
    const el = h('aside.files', { 'aria-label': t('files.title'), onkeydown, ondragover: drag, ondragleave: drag, ondrop: drag, onpaste: paste },
      h('div.files-head', null, h('h2', null, t('files.title')), folder, h('span.gap'),
        iconButton('retry', t('files.refresh'), { onclick: () => refresh() }), iconButton('x', t('files.close'), { onclick: close })),
      h('div.files-tabs', { role: 'tablist', 'aria-label': t('files.title'), onkeydown: move }, tabs),
      notice, body, uploads.el)
    let chosen = 'tree'
    /** It gave its place to a page that is looked at for a while. */
    let yielded = false
    addEventListener('yaa-beside', (/** @type {any} */ { detail }) => {
      const back = yielded && detail === 'back'
      yielded = (opened || yielded) && detail === 'artifact'
      if (back) open()
      else if (opened && detail !== 'files') close(false)
    })

    /** Which point is shown. @returns {{tree?: string, past: boolean, behind: boolean}} `behind`: the run that comes next takes the files there */
    function pointOf() {
      const stand = standOf(shared.session()) ?? undefined
      if (app.past) return { tree: stand, past: true, behind: false }
      const { going, elsewhere, session } = app.current
      const isNewer = going || elsewhere || session.ext?.uploaded // the server's are
      const behind = Boolean(stand && state?.tree && state.tree !== stand && !isNewer && files.modeOf(app) !== 'write')
      return { tree: behind ? stand : undefined, past: false, behind }
    }

    /** @param {string} [path] @param {string} [view] @param {boolean} [whole] every diff is open */
    function open(path, view, whole) {
      if (!opened) before = document.activeElement
      opened = true
      dispatchEvent(new CustomEvent('yaa-beside', { detail: 'files' }))
      mount()
      drawn = ''
      update(context.state())
      if (path) show('file', path)
      else if (view) show(view, whole)
      refresh()
      ;(path ? body : tabs[['tree', 'changes', 'layer'].indexOf(chosen)] ?? body).focus()
    }

    function mount() {
      const root = document.getElementById('app')
      if (opened && el.parentElement !== root) root?.append(el)
      attr(/** @type {Element} */ (root), 'data-files', opened ? 'open' : null)
    }

    /** @param {any} [focus] */
    function close(focus = true) {
      opened = false
      el.remove()
      attr(/** @type {Element} */ (document.getElementById('app')), 'data-files', null)
      const back = before?.isConnected && before !== document.body ? before : document.querySelector('.scroll')
      if (back && focus) /** @type {HTMLElement} */ (back).focus({ preventScroll: true })
    }

    /** @param {string} name @param {any[]} rest */
    function show(name, ...rest) {
      chosen = name
      const tab = name === 'file' ? 'tree' : name === 'changes' && shared.mode() === 'overlay' ? 'layer' : name
      tabs.forEach((one) => {
        const on = one.id === `${id}-${tab}`
        attr(one, 'aria-selected', on)
        one.tabIndex = on ? 0 : -1
      })
      attr(body, 'aria-labelledby', `${id}-${tab}`)
      if (body.firstChild !== views[name].el) fill(body, views[name].el)
      views[name].show?.(...rest)
      body.scrollTop = 0
    }

    /** Say so while the server does not answer. @template T @param {Promise<T>} work @returns {Promise<T>} */
    function watch(work) {
      const timer = setTimeout(() => (silent.add(work), drawNotice()), SILENT_MS)
      return work.finally(() => {
        clearTimeout(timer)
        if (silent.delete(work)) drawNotice()
      })
    }

    /** What was shown may be old: look once more in a while. @param {any} error */
    function again({ kind }) {
      clearTimeout(later)
      if (kind !== 'refused') later = setTimeout(() => opened && refresh(tries + 1), Math.min(2000 * 2 ** tries, 30_000))
    }

    /** Ask the server anew, and draw what is shown. @param {number} [n] so often it has failed */
    async function refresh(n = 0) {
      const [{ id: of }, mine] = [app.current.session, ++asked]
      tries = n
      clearTimeout(later)
      drawHead()
      try {
        const next = await shared.routes().state()
        if (mine !== asked || of !== app.current.session.id) return
        state = next
        trouble = ''
      } catch (error) {
        if (mine !== asked || of !== app.current.session.id) return
        state = null
        trouble = /** @type {any} */ (error).message
        again(/** @type {any} */ (error))
      }
      draw()
      lookAtCopies(of)
    }

    /** @param {string} of */
    async function lookAtCopies(of) {
      await yaa.load('kept-files')
      const left = (await yaa.use('ext/files/kept-objects').of(of))?.left ?? { count: 0, bytes: 0 }
      unkept = { id: of, ...left }
      if (opened) drawNotice()
    }

    function drawHead() {
      if (!opened) return
      const mode = files.modeOf(app)
      fill(folder, icon('folder'), h('span.sr-only', null, `${t('folder.choose')} `), h('span', null, folders.nameOf(app)), ' ', mode === 'own' ? null : h('span.badge', { 'data-mode': mode }, t(`folder.mode.${mode}`)))
      attr(folder, 'title', t(`folder.about.${mode}`))
      folder.disabled = !files.foldersOf(app).length && !files.folderOf(app)
      // one list of changes: over a copy that with boxes
      tabs[1].hidden = mode === 'overlay'
      tabs[2].hidden = !tabs[1].hidden
      if (mode !== 'overlay' && chosen === 'layer') show('changes')
      drawNotice()
    }

    function draw() {
      if (!opened) return
      drawHead()
      const mode = files.modeOf(app)
      if (chosen !== 'changes') changes.refresh()
      if (mode === 'overlay' && chosen !== 'layer' && state) layer.refresh()
      views[chosen].refresh?.()
    }

    /** @param {any} tab @param {number} n */
    function number(tab, n) {
      tab.lastChild.hidden = !n
      text(tab.lastChild, n ? count(n) : '')
    }

    function drawNotice() {
      const { past, behind, tree: at } = pointOf()
      const info = app.server.info()?.workspace
      const { leftOut } = changesOf(shared.session())
      /** @type {any[]} */ const said = []
      if (silent.size) said.push([t('files.silent'), 'ask'])
      if (trouble) said.push([t('files.failed', { detail: trouble }), 'bad'])
      const { changed_outside_count: outside } = shared.session().workspace ?? {}
      const why = shared.session().messages.findLast((message) => message.role === 'tool')?.result?.unrecorded
      if (info?.recorded !== false && typeof why === 'string') said.push([t('files.unrecorded', { reason: why }), 'ask'])
      if (outside > 0) said.push([t('files.outside', { n: outside }), 'ask'])
      if (info?.recorded === false) said.push([t('files.unrecorded', { reason: info.reason ?? '' }), 'ask'])
      if (past) said.push([t(at ? 'files.past' : 'files.pastNothing'), 'ask'])
      if (behind) said.push([t('files.behind'), 'ask', h('button.button.small', { type: 'button', onclick: () => takeBack({}) }, t('files.takeBack'))])
      const { goal, blocked } = wayOf()
      if (goal && Array.isArray(blocked) && blocked.length) said.push([t('files.inWay', { files: blocked.map((one) => visible(String(one))).join(', ') }), 'ask', h('button.button.small.danger', { type: 'button', onclick: () => takeBack(wayOf()) }, t('files.giveUp'))])
      if (unkept.count && unkept.id === shared.session().id) said.push([t('copies.left', { n: unkept.count, size: size(unkept.bytes) }), ''])
      if (leftWords(leftOut)) said.push([t('left.said', { what: leftWords(leftOut) }), ''])
      if (Array.isArray(leftOut.rules)) said.push([t('left.rules', { files: leftOut.rules.join(', ') }), 'ask'])
      const key = JSON.stringify(said.map(([words]) => words))
      if (notice.dataset.key === key) return
      notice.dataset.key = key
      fill(notice, said.map(([words, tone, more]) => h('p.notice', tone ? { 'data-tone': tone } : null, icon(tone ? 'alert' : 'file'), h('span', null, words), more)))
    }

    /** What the last restore left, since no tree has what is there: its own, or that of the run. @returns {any} */
    const wayOf = () => (inWay?.of === restoredKey() ? inWay : shared.session().workspace?.restored ?? {})
    const restoredKey = () => JSON.stringify([shared.session().id, shared.session().workspace?.restored])

    /** Take the files to where the conversation stands, now; or only `blocked` ones, which the person gives up. @param {any} way */
    async function takeBack({ goal = pointOf().tree, blocked }) {
      if (!goal) return
      try {
        const [of, { routes, changed }] = [restoredKey(), target()]
        const answer = await routes.restore(goal, undefined, blocked)
        inWay = { of, goal, blocked: answer.blocked }
        await changed(answer)
      } catch (error) {
        files.failed(error)
      }
    }

    /** The files of the session that is open now, for work at whose end another may be open. @returns {import('./files').Target} */
    function target() {
      const entry = app.current
      const isOpen = () => entry === app.current
      async function changed(/** @type {any} */ answer) {
        files.adopt(app, entry, answer?.tree)
        files.keep(app, entry)
        mention.forget()
        if (isOpen()) await refresh()
      }
      return { id: entry.session.id, routes: files.routesOf(app, entry.session, watch), isOpen, changed }
    }

    /** @param {import('../../ui/types').State} next */
    function update(next) {
      if (!opened) return
      mount()
      const { session } = next
      const key = JSON.stringify([session.id, files.folderOf(app, session), standOf(session), pointOf(), next.live, session.messages.length])
      if (key === drawn) return
      const here = JSON.stringify([session.id, files.folderOf(app, session)])
      const other = place && place !== here
      place = here
      drawn = key
      if (other) { // a session or folder
        state = null
        tree.reset()
        number(tabs[1], 0)
        show('tree')
      }
      if (app.past) draw()
      else refresh()
    }

    /** @param {any} event a DragEvent; the page's own handler leaves alone what is handled here */
    function drag(event) {
      if (!event.dataTransfer?.types.includes('Files')) return
      event.preventDefault()
      attr(el, 'data-drop', event.type === 'dragover' && shared.canWrite() ? 'true' : null)
      if (event.type !== 'drop') return
      if (!shared.canWrite()) return toast(t('files.readOnly'), { bad: true })
      uploads.drop(event.dataTransfer)
    }

    /** @param {any} event a ClipboardEvent */
    function paste(event) {
      const given = [...event.clipboardData?.files ?? []]
      if (!given.length || event.target.matches('input, textarea')) return
      event.preventDefault()
      if (!shared.canWrite()) return toast(t('files.readOnly'), { bad: true })
      uploads.add(given.map((file) => ({ file, path: file.name })))
    }

    /** @param {KeyboardEvent} event */
    function move(event) {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
      if (!step) return
      event.preventDefault()
      const there = tabs.filter((tab) => !tab.hidden)
      const at = there.findIndex((tab) => tab.getAttribute('aria-selected') === 'true')
      const next = there[(at + step + there.length) % there.length]
      next.click()
      next.focus()
    }

    /** @param {KeyboardEvent} event */
    function onkeydown(event) {
      if (event.key !== 'Escape' || event.defaultPrevented) return
      event.preventDefault()
      if (chosen === 'file') {
        show('tree')
        tree.focus(viewer.path())
      } else close()
    }

    shared.upload = uploads.pick
    show('tree')
    /** Undo what the last turn did, if nothing has changed it since. @param {{before: string, after: string}} turn */
    async function undo({ before, after }) {
      const { routes, changed } = target()
      try {
        await changed(await routes.restore(before, after))
        toast(t('review.undone'))
      } catch (error) {
        files.failed(error)
      }
    }

    return { open, close, update, undo, act: layer.act, isOpen: () => opened }
  }

  return { start }
})
