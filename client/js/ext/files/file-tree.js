// Files in their folders; a folder is asked for when it is opened. One row can be reached with Tab, the others with the
// arrow keys (ARIA: tree view). Some can be chosen, to be saved or deleted together.

yaa.define('ext/files/file-tree', ['ui/dom', 'ext/files/texts', 'ui/popup', 'ext/files/file-list', 'ext/files/file-actions', 'core/file-names', 'ext/files/file-changes', 'io/download'], (
  { h, icon, iconButton, fill, text, attr }, { t }, { say }, { mark, size }, actions, names, { changesOf }, download,
) => {
  /** Entries of a folder that are asked for at once. */
  const PAGE = 500
  /** @typedef {{entries: FileEntry[], complete: boolean} | null} Listed null: it is on its way */

  /** @param {import('./files').Shared} shared */
  function fileTree(shared) {
    const rows = h('ul.tree.file-tree', { role: 'tree', 'aria-label': t('files.tab.tree'), onkeydown })
    const none = h('p.hint.files-none', { hidden: true })
    const choose = h('button.button.small.ghost', { type: 'button', 'aria-pressed': 'false', onclick: toggleChoosing }, icon('check'), t('tree.choose'))
    const upload = h('button.button.small', { type: 'button', onclick: () => shared.upload?.(folder()) }, icon('upload'), t('tree.upload'))
    const all = h('button.button.small.ghost', { type: 'button', onclick: saveAll }, icon('download'), h('span', null, t('tree.saveAll')))
    const remove = h('button.button.small.danger', { type: 'button', hidden: true, onclick: removeChosen }, icon('trash'), t('tree.remove'))
    const more = iconButton('plus', t('tree.newFile'), { onclick: () => actions.makeFile(shared, folder()) })
    const el = h('div.files-view', null, h('div.files-bar', null, upload, more, h('span.gap'), choose, all, remove), none, rows)
    /** @type {Map<string, Listed>} */ const listed = new Map()
    /** @type {Set<string>} */ const opened = new Set([''])
    /** @type {Set<string>} */ const picked = new Set()
    let choosing = false
    /** The path of the row that the person was on, '' for none yet. */
    let current = ''
    /** The path that Tab goes to: the same, or the first row's. */
    let tabbed = ''
    let asked = ''
    /** The last request for each folder. @type {Map<string, object>} */ const asking = new Map()
    /** Why nothing came. */
    let trouble = ''

    /** @param {FileEntry} entry */
    const isFolder = ({ kind }) => /^(?:d|dir|directory|folder)$/.test(kind)

    /** What a listing depends on. */
    const keyOf = () => JSON.stringify([shared.session().id, shared.mode(), shared.tree() ?? shared.state()?.tree])

    function refresh() {
      const key = keyOf()
      upload.disabled = more.disabled = !shared.canWrite()
      if (key !== asked || !shared.tree()) load([...opened])
      asked = key
      draw()
    }

    /** @param {string[]} folders */
    async function load(folders) {
      const mine = {}
      trouble = ''
      for (const one of folders) asking.set(one, mine)
      for (const one of folders) {
        try {
          const found = await shared.routes().list(one, { tree: shared.tree(), depth: 1, limit: PAGE })
          if (asking.get(one) === mine) listed.set(one, found)
        } catch (error) {
          if (asking.get(one) !== mine) continue
          if (/** @type {any} */ (error).status === 404) {
            listed.delete(one)
            if (one) opened.delete(one)
            else listed.set('', { entries: [], complete: true })
          } else {
            trouble = shared.wordsOf(error)
            shared.again(error)
            if (shared.tree()) listed.clear() // what was there is of another point
            for (const other of folders) if (other && !listed.has(other)) opened.delete(other) // they can be opened again
            break
          }
        }
      }
      draw()
    }

    /** @param {string} of */
    async function loadMore(of) {
      const before = listed.get(of)
      try {
        const next = await shared.routes().list(of, { tree: shared.tree(), depth: 1, offset: before?.entries.length ?? 0, limit: PAGE })
        if (listed.get(of) !== before) return
        listed.set(of, { entries: [...before?.entries ?? [], ...next.entries], complete: next.complete || !next.entries.length })
      } catch (error) {
        shared.failed(error)
      }
      draw()
    }

    /** The folder that what is added goes into: that of the row where one is. */
    function folder() {
      const entry = flat().find((one) => one.entry?.path === current)?.entry
      return entry ? (isFolder(entry) ? entry.path : names.folderOf(entry.path)) : ''
    }

    /** @returns {{entry?: FileEntry, of: string, level: number}[]} rows in order; without an entry: there is more in `of` */
    function flat(of = '', level = 1) {
      const here = listed.get(of)
      /** @type {{entry?: FileEntry, of: string, level: number}[]} */ const found = []
      const sorted = [...here?.entries ?? []].sort((a, b) => Number(names.isJunk(a.path)) - Number(names.isJunk(b.path)) || Number(isFolder(b)) - Number(isFolder(a)) || (a.path < b.path ? -1 : 1))
      for (const entry of sorted) {
        found.push({ entry, of, level })
        if (isFolder(entry) && opened.has(entry.path)) found.push(...flat(entry.path, level + 1))
      }
      if (!here && of) found.push({ of, level })
      if (here && !here.complete) found.push({ of, level })
      return found
    }

    function draw() {
      const changed = new Map(changesOf(shared.session()).files.map((file) => [file.path, file.change]))
      const above = new Set([...changed.keys()].flatMap((path) => path.split('/').map((_, i, parts) => parts.slice(0, i).join('/'))))
      const shown = flat()
      if (!shown.some(({ entry }) => entry?.path === current)) current = ''
      tabbed = current || (shown[0]?.entry?.path ?? '')
      const focused = rows.contains(document.activeElement)
      fill(rows, shown.map((row) => (row.entry ? rowOf(row.entry, row.level, changed, above) : moreRow(row.of, row.level))))
      none.hidden = shown.length > 0 && !trouble
      rows.hidden = !shown.length
      text(none, trouble || t(listed.has('') ? (shared.canWrite() ? 'tree.empty' : 'tree.emptyRead') : 'tree.loading'))
      all.hidden = !shown.length
      choose.hidden = !shown.length
      remove.hidden = !picked.size || !shared.canWrite()
      text(all.lastChild, picked.size ? t('tree.saveChosen', { n: picked.size }) : t('tree.saveAll'))
      if (focused) rows.querySelector('[tabindex="0"]')?.focus()
    }

    /** @param {FileEntry} entry @param {number} level @param {Map<string, string>} changed @param {Set<string>} above */
    function rowOf(entry, level, changed, above) {
      const { path, bytes } = entry
      const inside = isFolder(entry)
      const change = changed.get(path)
      const el = h('li.node', {
        role: 'treeitem', 'aria-level': level, 'aria-expanded': inside ? opened.has(path) : null, 'aria-selected': choosing ? picked.has(path) : null,
        'data-path': path, tabIndex: path === tabbed ? 0 : -1, onclick: () => act(entry),
      }, choosing ? h('span.pick', { 'aria-hidden': 'true' }, picked.has(path) ? icon('check') : null) : null,
        inside ? icon('chevron', 'chevron') : null, icon(inside ? 'folder' : entry.kind === 'l' || entry.kind === 'link' ? 'link' : 'file'),
        h('bdi.name', null, names.visible(names.baseName(path))),
        change ? mark(change) : inside && above.has(path) ? h('span.dot.warn', { title: t('tree.changedInside') }, h('span.sr-only', null, t('tree.changedInside'))) : null,
        !inside && Number.isFinite(bytes) ? h('span.size', null, size(Number(bytes))) : null)
      el.style.setProperty('--level', String(level - 1))
      return el
    }

    /** @param {string} of @param {number} level */
    function moreRow(of, level) {
      const waits = !listed.has(of)
      const el = h('li.node', { role: 'treeitem', 'aria-level': level, 'data-path': `${of}\0`, tabIndex: -1, onclick: () => (waits ? load([of]) : loadMore(of)) }, icon(waits ? 'retry' : 'down'), t(waits ? 'tree.loading' : 'tree.more'))
      el.style.setProperty('--level', String(level - 1))
      return el
    }

    /** @param {FileEntry} entry */
    function act(entry) {
      current = entry.path
      if (choosing) pick(entry.path)
      else if (isFolder(entry)) toggle(entry.path)
      else shared.open(entry.path)
    }

    /** @param {string} path */
    function pick(path) {
      if (!picked.delete(path)) picked.add(path)
      draw()
    }

    /** @param {string} path */
    function toggle(path) {
      if (opened.delete(path)) return draw()
      opened.add(path)
      draw()
      load([path])
    }

    function toggleChoosing() {
      choosing = !choosing
      if (!choosing) picked.clear()
      attr(choose, 'aria-pressed', choosing)
      attr(rows, 'aria-multiselectable', choosing ? 'true' : null)
      draw()
    }

    async function saveAll() {
      try {
        const paths = picked.size ? [...picked] : undefined
        download.blob(download.nameFor(/** @type {any} */ ({ title: shared.session().title || t('files.title') }), 'zip'), await shared.routes().archive({ tree: shared.tree(), paths }))
      } catch (error) {
        shared.failed(error)
      }
    }

    async function removeChosen() {
      const paths = [...picked]
      toggleChoosing()
      await actions.remove(shared, paths)
    }

    /** @param {KeyboardEvent} event */
    function onkeydown(event) {
      const all = /** @type {HTMLElement[]} */ ([...rows.children])
      const at = all.findIndex((one) => one === document.activeElement)
      if (at < 0 || event.ctrlKey || event.metaKey || event.altKey) return
      const row = all[at]
      const open = row.getAttribute('aria-expanded')
      const steps = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }
      if (event.key in steps) reach(all[Math.max(0, Math.min(all.length - 1, steps[/** @type {'Home'} */ (event.key)]))])
      else if (event.key === 'Enter' || event.key === ' ') row.click()
      else if (event.key === 'ArrowRight' && open === 'false') row.click()
      else if (event.key === 'ArrowRight' && open === 'true') reach(all[at + 1])
      else if (event.key === 'ArrowLeft' && open === 'true' && !choosing) row.click()
      else if (event.key === 'ArrowLeft') reach(all.slice(0, at).findLast((one) => Number(one.getAttribute('aria-level')) < Number(row.getAttribute('aria-level'))))
      else if (event.key === 'Delete' && shared.canWrite() && !row.dataset.path?.endsWith('\0')) actions.remove(shared, [String(row.dataset.path)])
      else if (event.key === 'F2' && shared.canWrite() && !row.dataset.path?.endsWith('\0')) actions.rename(shared, String(row.dataset.path))
      else return
      event.preventDefault()
    }

    /** @param {HTMLElement | undefined} row */
    function reach(row) {
      if (!row) return
      current = String(row.dataset.path)
      for (const one of rows.children) one.tabIndex = one === row ? 0 : -1
      row.focus()
    }

    /** @param {string} path */
    function focus(path) {
      const row = [...rows.children].find((one) => one.dataset.path === path) ?? rows.querySelector('[tabindex="0"]')
      if (row) reach(row)
    }

    function reset() {
      listed.clear()
      asking.clear()
      opened.clear()
      opened.add('')
      picked.clear()
      asked = current = trouble = ''
      draw()
      say(t('tree.loading'))
    }

    draw()
    return { el, refresh, reset, folder, focus, show: () => { if (asked) refresh() } }
  }

  return { fileTree }
})
