// What changed between two points of a session: the start, a turn, a call, the folder as it was first found, now.

yaa.define('ext/files/changes-view', [
  'ui/dom', 'ext/files/texts', 'ext/files/file-list', 'ext/files/diff-part', 'ext/files/launcher', 'ext/files/file-changes', 'core/file-names', 'ext/files/layer-diffs',
], ({ h, icon, fill, text, uid }, { t }, { mark, pathOf, openingRow, size, writeLines }, { diffPart }, launcher, changes, names, { linesIn }) => {
  /** @param {import('./files').Shared} shared @param {(n: number) => void} counted is told how many files are listed */
  function changesView(shared, counted) {
    const ids = [uid('from'), uid('to')]
    const from = h('select.input', { id: ids[0], onchange: pick })
    const to = h('select.input', { id: ids[1], onchange: pick })
    const note = h('p.hint')
    const list = h('ul.file-list.opening')
    const junk = h('button.button.small.ghost', { type: 'button', hidden: true, onclick: () => { junkShown = !junkShown, load() } })
    let junkShown = false
    const el = h('div.files-view', null, h('div.point-row', null,
      h('div.field', null, h('label', { htmlFor: ids[0] }, t('points.from')), from), icon('chevron'), h('div.field', null, h('label', { htmlFor: ids[1] }, t('points.to')), to)), note, list, junk)
    let turn = 0
    let drawnFor = ''
    let rowsFor = ''
    /** The session for which a person chose the points. */
    let picked = ''
    /** The rows by their paths. @type {Map<string, {place: any, note: any}>} */ let drawn = new Map()

    /** @returns {{value: string, label: string}[]} */
    function points() {
      const session = shared.session()
      const start = changes.turnStart(session)
      const begun = launcher.runs.get(session.id)
      const turnTree = changes.treeBefore(session, start)
      const runTree = begun !== undefined && begun <= session.messages.length ? changes.treeBefore(session, begun) : null
      const named = [
        { value: changes.treeBefore(session, 0), label: t('points.session') },
        { value: turnTree, label: t('points.turn') },
        { value: begun !== undefined && begun > start + 1 ? runTree : null, label: t('points.run') },
        { value: shared.mode() === 'overlay' ? 'base' : null, label: t('points.base') },
      ]
      const calls = changes.pointsOf(session).filter(({ kind }) => kind !== 'start')
        .map(({ kind, tree, words }, i) => ({ value: tree, label: t(kind === 'turn' ? 'points.before' : 'points.after', { n: i + 1, words }) }))
      return /** @type {any[]} */ ([...named, ...calls].filter(({ value }) => value))
    }

    function refresh() {
      const session = shared.session()
      const all = points()
      const last = shared.tree() ? { value: String(shared.tree()), label: t('points.shown') } : { value: 'now', label: t('points.now') }
      const key = JSON.stringify([session.id, all, last])
      if (key !== drawnFor) {
        const kept = picked === session.id ? [from.selectedOptions[0]?.textContent, to.selectedIndex] : []
        drawnFor = key
        fill(from, all.map((one) => h('option', { value: one.value }, one.label)))
        fill(to, [last, ...[...all].reverse()].map((one) => h('option', { value: one.value }, one.label)))
        const same = all.findIndex((one) => one.label === kept[0])
        // of a turn that has changed nothing there is nothing to see
        const turned = changes.changesOf(session, changes.turnStart(session)).count > 0
        const usual = all.findIndex((one) => one.label === t(turned ? 'points.turn' : 'points.session'))
        from.selectedIndex = same >= 0 ? same : Math.max(0, usual)
        if (kept[1] > 0 && kept[1] <= all.length) to.selectedIndex = kept[1]
      }
      load()
    }

    function pick() {
      // what the copy holds over its folder is in the list with boxes
      if (from.value === 'base' && !to.selectedIndex) return shared.list('layer')
      picked = shared.session().id
      load()
    }

    async function load() {
      const mine = ++turn
      if (!from.value) {
        fill(list)
        junk.hidden = true
        rowsFor = ''
        counted(0)
        return text(note, t('points.nothing'))
      }
      const between = { from: from.value, to: to.value }
      try {
        const { files, count } = await shared.routes().diff(between.from, between.to)
        if (mine === turn) draw(files, count, between)
      } catch (error) {
        if (mine !== turn) return
        // without the server, what the document says of this session
        const known = changes.changesOf(shared.session())
        draw(known.files, known.count, null)
        text(note, t('points.offline', { detail: /** @type {any} */ (error).message }))
      }
    }

    /** @param {FileChange[]} files @param {number} count @param {{from: string, to: string} | null} between */
    function draw(files, count, between) {
      const meant = files.filter(({ path }) => !names.isJunk(path))
      const hidden = files.length - meant.length
      counted(count - hidden)
      junk.hidden = !hidden
      text(junk, t(junkShown ? 'layer.junkHide' : 'layer.junk', { n: hidden }))
      const rows = junkShown ? files : meant
      const n = count - files.length + rows.length
      text(note, n ? t('points.count', { n, shown: rows.length }) : t('points.same'))
      const key = JSON.stringify([rows, between])
      const open = new Set([...drawn].filter(([, { place }]) => !place.hidden).map(([path]) => path))
      if (key === rowsFor && !open.size) return // a row stays where it is while it is pressed
      rowsFor = key
      const now = drawn = new Map()
      fill(list, rows.map((file) => fileRow(file, between, open.has(file.path))))
      if (between) linesIn(shared.routes(), { base: key, from: between.from, tree: between.to === 'now' ? undefined : between.to, meant: rows, files, count }, (path, lines) => writeLines(now.get(path)?.note, lines)).catch(() => {})
    }

    /** @param {FileChange} file @param {{from: string, to: string} | null} between @param {boolean} isOpen */
    function fileRow(file, between, isOpen) {
      const { path, change } = file
      const bytes = file.bytes_after ?? file.bytes ?? file.bytes_before
      const note = h('span.part-note', null, Number.isFinite(bytes) ? size(Number(bytes)) : '')
      const bring = async () => {
        const { diff, files } = await shared.routes().diff(between?.from ?? '', between?.to ?? '', path)
        const binary = file.binary || files[0]?.binary
        return [diff ? diffPart(diff) : h('p.hint', null, t(binary ? 'view.binaryChanged' : 'view.unchanged')),
          change === 'deleted' ? null : h('button.button.small.ghost', { type: 'button', onclick: () => shared.open(path, between ?? undefined) }, icon('file'), t('points.open'))]
      }
      const { button, place, turn } = openingRow([mark(change), pathOf(file), note], bring, !between)
      drawn.set(path, { place, note })
      if (between && isOpen) turn(true)
      return h('li', null, button, place)
    }

    return { el, refresh, show: refresh }
  }

  return { changesView }
})
