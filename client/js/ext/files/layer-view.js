// The layer over a folder: what it holds, each file with its diff, to be applied to the folder or discarded; all of it, some
// files, or none. What changed in the folder meanwhile too is marked, and taken over only after a question. What programs run,
// and links that lead out, have no box: each is opened and applied by itself. All is done with the tree that is shown.

yaa.define('ext/files/layer-view', ['ui/dom', 'ext/files/texts', 'ui/popup', 'ui/dialog', 'ext/files/file-list', 'ext/files/diff-part', 'ext/files/file-actions', 'core/file-names', 'ext/files/layer-diffs'], (
  { h, icon, fill, text, attr }, { t }, { toast }, { openDialog, button: dialogButton }, { mark, pathOf, openingRow, size, leftWords, writeLines }, { diffPart }, { offerUndo }, names, { layerOf, diffOf, linesIn, MOST },
) => {
  /** @param {import('./files').Shared} shared @param {(count: number) => void} counted what the layer holds, each time it is looked at */
  function layerView(shared, counted) {
    const note = h('p.hint')
    const alone = h('p.hint')
    const left = h('p.hint', { hidden: true })
    const list = h('ul.file-list.opening')
    const apply = h('button.button.small.primary', { type: 'button', onclick: () => change('apply') }, t('layer.apply'))
    const discard = h('button.button.small.danger', { type: 'button', onclick: () => change('discard', whole() ? layer.files : chosen()) }, t('layer.discard'))
    const all = h('input', { type: 'checkbox', checked: true, onchange: () => { for (const box of boxes.values()) box.checked = all.checked; count() } })
    const about = h('p.hint')
    const diffs = h('button.button.small.ghost', { type: 'button', 'aria-pressed': 'false', onclick: () => openAll(!allOpen) }, t('layer.diffs'))
    const junk = h('button.button.small.ghost', { type: 'button', hidden: true, onclick: () => { junkShown = !junkShown, refresh() } })
    const points = h('button.button.small.ghost', { type: 'button', onclick: () => shared.list('changes') }, t('layer.points'))
    const bar = h('div.files-bar', null, h('label.check', null, all, t('layer.all')), diffs, h('span.gap'), discard, apply)
    const el = h('div.files-view', null, about, bar, note, alone, left, list, junk, points)
    /** @type {Map<string, any>} */ const boxes = new Map()
    /** What shows the diff of each file, and what says its lines. @type {Map<string, {open: (on: boolean) => any, lines: any}>} */ const rows = new Map()
    let allOpen = false
    let junkShown = false
    /** As the server said it. @type {any} */ let layer = null
    /** @type {FileChange[]} */ let files = []
    let turn = 0
    let drawn = ''
    /** Of the layer that is shown. @type {string | undefined} */ let tree

    async function refresh() {
      const mine = ++turn
      text(about, t(shared.tree() ? 'layer.past' : 'layer.about'))
      count()
      try {
        const found = await layerOf(shared.routes()) ?? { files: [], meant: [], count: 0, left_out: {} }
        if (mine !== turn) return
        layer = found
        const hidden = found.files.length - found.meant.length
        files = junkShown ? found.files : found.meant
        tree = found.tree
        const n = found.count - (junkShown ? 0 : hidden)
        counted(found.count - hidden)
        text(note, n ? t('points.count', { n, shown: files.length }) : t('layer.empty'))
        junk.hidden = !hidden
        text(junk, t(junkShown ? 'layer.junkHide' : 'layer.junk', { n: hidden }))
        text(alone, t('layer.alone', { n: files.length - plain().length }))
        alone.hidden = plain().length === files.length
        const what = leftWords(found.left_out)
        text(left, t('layer.left', { what }))
        left.hidden = !what
        const key = JSON.stringify([found.base, tree, files, shared.state()?.tree, shared.tree()])
        if (key !== drawn) draw()
        drawn = key
      } catch (error) {
        if (mine !== turn) return
        text(note, t('files.failed', { detail: /** @type {any} */ (error).message }))
        shared.again(error)
      }
    }

    function draw() {
      const before = new Map([...boxes].map(([path, box]) => [path, box]))
      boxes.clear()
      bar.hidden = !files.length
      rows.clear()
      fill(list, files.map((file) => {
        const box = before.get(file.path) // what has become a conflict is chosen anew
        return row(file, box && box.dataset.conflict === String(Boolean(file.conflict)) ? box.checked : !file.conflict && !names.isJunk(file.path))
      }))
      count()
      openAll(allOpen)
      sayLines()
    }

    /** The lines of each file in the place of its bytes, where they can be counted. */
    function sayLines() {
      const drawn = new Map(rows)
      linesIn(shared.routes(), layer, (path, lines) => writeLines(drawn.get(path)?.lines, lines)).catch(() => {})
    }

    /** Every diff in one view, of the first files. @param {boolean} on */
    function openAll(on) {
      if (!on && !allOpen) return
      allOpen = on
      attr(diffs, 'aria-pressed', on)
      for (const { open } of [...rows.values()].slice(0, MOST)) open(on)
    }

    const chosen = () => files.filter(({ path }) => boxes.get(path)?.checked)
    const plain = () => files.filter(({ asks }) => !asks)
    /** All are chosen that can be. */
    const whole = () => chosen().length === plain().length

    function count() {
      const n = chosen().length
      all.checked = n > 0 && whole()
      all.disabled = !boxes.size
      all.indeterminate = n > 0 && !whole()
      const past = Boolean(shared.tree()) // what is shown beside it is not what would be applied
      apply.disabled = !n || past
      discard.disabled = !n && !whole() || past
      text(apply, n && n === files.length ? t('layer.applyAll') : t('layer.applyN', { n }))
      text(discard, whole() ? t('layer.discardAll') : t('layer.discardN', { n }))
    }

    /** @param {FileChange} file @param {boolean} checked */
    function row(file, checked) {
      const { path } = file
      const asks = file.asks === 'runs' || file.asks === 'leads_out' ? file.asks : ''
      const box = asks ? icon('alert') : h('input', { type: 'checkbox', checked, 'data-conflict': Boolean(file.conflict), 'aria-label': t('layer.take', { name: names.visible(path) }), onchange: count })
      if (!asks) boxes.set(path, box)
      const bytes = file.bytes_after ?? file.bytes
      const of = layer
      const bring = async () => {
        const { diff } = await diffOf(shared.routes(), of, path)
        const said = [asks ? t(`layer.${asks}Text`) : '', file.conflict ? t(file.unkept ? 'layer.unkeptText' : 'layer.conflictText') : ''].filter(Boolean)
        return [said.map((words) => h('p.notice', { 'data-tone': 'bad' }, icon('alert'), h('span', null, words))),
          diff ? diffPart(diff) : h('p.hint', null, t('view.binaryChanged')),
          h('div.files-bar', null, h('span.gap'),
            h('button.button.small.danger', { type: 'button', disabled: Boolean(shared.tree()), onclick: () => change('discard', [file]) }, t('layer.discardOne')),
            h('button.button.small', { type: 'button', disabled: Boolean(shared.tree()), onclick: () => change('apply', [file]) }, t('layer.applyOne')))]
      }
      const lines = h('span.part-note', null, Number.isFinite(bytes) ? size(Number(bytes)) : '')
      const { button, place, turn: open } = openingRow([mark(file.change), pathOf(file),
        asks ? h('span.badge.bad', null, t(`layer.${asks}`)) : null,
        file.conflict ? h('span.badge.bad', null, t('layer.conflict')) : null, lines], bring)
      rows.set(path, { open, lines })
      return h('li.layer-row', null, asks ? h('span.layer-alone', null, box) : h('label', null, box), button, place)
    }

    /** @param {'apply' | 'discard'} what @param {FileChange[]} [given] */
    function change(what, given = chosen()) {
      const conflicts = given.filter((file) => file.conflict)
      if (what === 'apply' && conflicts.length) return ask(given, conflicts)
      perform(what, given.map((file) => file.path))
    }

    /** Over what somebody else has changed nothing is written without a word. @param {FileChange[]} given @param {FileChange[]} conflicts */
    function ask(given, conflicts) {
      const rest = given.filter((file) => !file.conflict)
      const go = (/** @type {FileChange[]} */ some, /** @type {boolean} */ force) => () => {
        dialog.close()
        perform('apply', some.map((file) => file.path), force)
      }
      const dialog = openDialog({
        title: t('layer.conflictTitle', { n: conflicts.length }),
        body: h('div.group', null, h('p', null, t(conflicts.some((file) => file.unkept) ? 'layer.unkeptText' : 'layer.conflictAsk')), h('ul.file-list', null, conflicts.map((file) => h('li', null, mark(file.change), h('bdi.path', null, names.visible(file.path)))))),
        buttons: [dialogButton(t('rename.cancel'), () => dialog.close()), rest.length ? dialogButton(t('layer.applyRest', { n: rest.length }), go(rest, false)) : null, dialogButton(t('layer.force'), go(given, true), 'danger')],
      })
    }

    /** What the bar over the field does: apply all that needs no look, or discard everything, if it is still what was seen. @param {'apply' | 'discard'} what @param {string} [seen] */
    async function act(what, seen) {
      await refresh()
      if (!layer || tree !== seen) return toast(t('layer.moved'), { bad: true })
      const usual = what === 'apply' ? layer.meant.filter((/** @type {FileChange} */ { asks, conflict }) => !asks && !conflict) : layer.files
      await perform(what, usual.map((/** @type {FileChange} */ { path }) => path), false, layer.meant.length - usual.length)
    }

    /** @param {'apply' | 'discard'} what @param {string[]} paths @param {boolean} [force] @param {number} [rest] files that have to be looked at first */
    async function perform(what, paths, force = false, rest = 0) {
      const [target, seen] = [shared.target(), tree]
      try {
        // by name, and of this tree: what came into the layer since nobody has seen
        const answer = await (what === 'apply' ? target.routes.apply(paths, force, seen) : target.routes.discard(paths, seen))
        await target.changed(answer)
        await refresh()
        const n = answer.applied ?? answer.discarded ?? paths.length
        if (what === 'discard') return offerUndo(shared, target, t('layer.discarded', { n }), [answer])
        if (rest > 0) return toast(t('review.rest', { n, rest }), { bad: true })
        toast(answer.conflicts?.length ? t('layer.appliedBut', { n, left: answer.conflicts.length }) : t('layer.applied', { n }), { bad: Boolean(answer.conflicts?.length) })
      } catch (error) {
        if (/** @type {any} */ (error).code === 'workspace_moved') toast(t('layer.moved'), { bad: true })
        else shared.failed(error)
        refresh()
      }
    }

    return { el, refresh, act, show: (/** @type {boolean} */ all) => { allOpen ||= all === true, refresh() } }
  }

  return { layerView }
})
