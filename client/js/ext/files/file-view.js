// One file: a text with its line numbers and colours, Markdown, a table, a picture; or what changed in it. Nothing of a
// file is ever run, and nothing in it is loaded.

yaa.define('ext/files/file-view', [
  'ui/dom', 'ext/files/texts', 'ui/code-block', 'ui/markdown-view', 'ext/files/file-list', 'ext/files/file-actions', 'ext/files/diff-part', 'ui/tools/parts', 'ext/files/csv', 'core/highlight',
  'core/file-names', 'ext/files/file-changes', 'io/download',
], (
  { h, icon, iconButton, fill, text, attr }, { t, count }, { codeBlock }, { markdownView }, { size, mark }, actions, { diffPart }, parts, { parseTable }, highlight, names, changes, download,
) => {
  /** Bytes of a file that are shown; pictures are whole or not at all. */
  const [MOST_TEXT, MOST_PICTURE, MOST_ROWS] = [400_000, 10_000_000, 2000]

  /** @param {import('./files').Shared} shared @param {() => void} back */
  function fileView(shared, back) {
    let path = ''
    /** @type {{from: string, to: string} | undefined} */ let range
    let way = 'show'
    let turn = 0
    /** What stands in `place`. */
    let shown = ''
    const name = h('bdi.path')
    const note = h('span.part-note')
    const ways = ['show', 'source', 'diff'].map((one) => h('button', { type: 'button', 'aria-pressed': 'false', 'data-way': one, onclick: () => { way = one; load() } }, t(`view.${one}`)))
    const place = h('div.file-place')
    const save = h('button.button.small', { type: 'button', title: t('view.save'), onclick: keep }, icon('download'), h('span', null, t('view.save')))
    const say = h('button.button.small.ghost', { type: 'button', title: t('view.mention'), onclick: mention }, icon('pencil'), h('span', null, t('view.mention')))
    const page = h('button.button.small', { type: 'button', hidden: true, onclick: preview }, icon('eye'), h('span', null, t('view.page')))
    const rename = iconButton('tag', t('rename.title'), { onclick: () => actions.rename(shared, path, (/** @type {string} */ next) => show(next)) })
    const remove = iconButton('trash', t('view.remove'), { onclick: async () => { await actions.remove(shared, [path]); back() } })
    const el = h('div.files-view', null,
      h('div.file-head', null, iconButton('left', t('view.back'), { onclick: back }), name, note, h('span.gap'), rename, remove),
      h('div.files-bar.file-bar', null, h('div.segmented', { role: 'group', 'aria-label': t('view.as') }, ways), h('span.gap'), page, save, say), place)

    /** @param {string} [next] @param {{from: string, to: string}} [between] */
    function show(next, between) {
      if (next !== undefined) {
        path = next
        range = between
        way = between ? 'diff' : 'show'
      }
      load()
    }

    /** What changed in it since the session began, if nothing else was asked for. @returns {{from: string, to: string} | null} */
    function between() {
      if (range) return range
      const from = changes.treeBefore(shared.session(), 0)
      return from ? { from, to: shared.tree() ?? 'now' } : null
    }

    async function load() {
      const mine = ++turn
      const kind = names.kindOf(path)
      const change = changes.changesOf(shared.session()).files.find((file) => file.path === path)
      fill(name, names.visible(path), change ? mark(change.change) : null)
      for (const one of ways) {
        const which = one.dataset.way
        one.hidden = which === 'source' ? kind !== 'markdown' && kind !== 'csv' && !/\.svg$/i.test(path) : which === 'diff' && !between()
        attr(one, 'aria-pressed', way === which)
      }
      ways[0].parentElement.hidden = ways.filter((one) => !one.hidden).length < 2
      rename.hidden = remove.hidden = !shared.canWrite()
      page.hidden = !yaa.parts('preview').length || !/\.html?$/i.test(path)
      const key = JSON.stringify([shared.session().id, path, way])
      if (key !== shown) { // nothing of another file stands under this name
        text(note, '')
        fill(place, h('p.hint', null, h('span.spinner'), ' ', t('tree.loading')))
      }
      shown = key
      try {
        const made = way === 'diff' ? await diffOf(mine) : await contentOf(kind, mine)
        if (mine === turn) fill(place, made)
      } catch (error) {
        if (mine !== turn) return
        const gone = /** @type {any} */ (error).status === 404
        fill(place, parts.notice(gone ? t('view.gone') : shared.wordsOf(error), 'bad'))
      }
    }

    /** @param {number} mine the turn that it is for */
    async function diffOf(mine) {
      const points = between()
      if (!points) return null
      const { diff, files } = await shared.routes().diff(points.from, points.to, path)
      if (mine === turn) text(note, '')
      if (diff) return diffPart(diff)
      return h('p.hint', null, t(files.some((file) => file.binary) ? 'view.binaryChanged' : 'view.unchanged'))
    }

    /** @param {FileKind} kind @param {number} mine the turn that it is for */
    async function contentOf(kind, mine) {
      if (kind === 'pdf') return offer(t('view.pdf'))
      const picture = kind === 'image' && way !== 'source'
      const blob = await shared.routes().read(path, { tree: shared.tree(), most: picture ? MOST_PICTURE + 1 : MOST_TEXT + 1 })
      const most = picture ? MOST_PICTURE : MOST_TEXT
      if (mine !== turn) return null
      text(note, blob.size > most ? t('view.over', { size: size(most) }) : size(blob.size))
      if (picture) return blob.size > MOST_PICTURE ? offer(t('view.large')) : pictureOf(blob)
      const bytes = new Uint8Array(await blob.slice(0, MOST_TEXT).arrayBuffer())
      if (!bytes.length) return h('p.hint', null, t('view.empty'))
      if (!names.isText(bytes)) return offer(t('view.binary'))
      const words = new TextDecoder().decode(bytes)
      const cut = blob.size > MOST_TEXT ? parts.notice(t('view.cut', { size: size(MOST_TEXT) }), 'ask') : null
      if (kind === 'csv' && way !== 'source') return [cut, tableOf(words)]
      if (kind === 'markdown' && way !== 'source') {
        const view = markdownView()
        view.update(words)
        view.el.classList.add('prose')
        return [cut, view.el]
      }
      return [cut, textOf(words)]
    }

    /** @param {string} words */
    const offer = (words) => h('div.file-offer', null, icon('file'), h('p', null, words), h('button.button', { type: 'button', onclick: keep }, icon('download'), t('view.save')))

    /** The type is ours, not what the bytes or the server say. @param {Blob} blob */
    function pictureOf(blob) {
      const src = URL.createObjectURL(blob.slice(0, blob.size, names.pictureType(path)))
      const img = h('img.file-picture', { src, alt: names.visible(names.baseName(path)) })
      img.addEventListener('load', () => {
        URL.revokeObjectURL(src)
        text(note, `${size(blob.size)} · ${img.naturalWidth} × ${img.naturalHeight}`)
      })
      img.addEventListener('error', () => {
        URL.revokeObjectURL(src)
        fill(place, offer(t('view.broken')))
      })
      return img
    }

    /** @param {string} words */
    function textOf(words) {
      const block = codeBlock()
      block.el.classList.add('numbered', 'whole')
      const lines = words.replace(/\n$/, '').split('\n').length
      block.el.querySelector('pre').prepend(h('span.gutter', { 'aria-hidden': 'true' }, Array.from({ length: lines }, (_, i) => i + 1).join('\n')))
      const base = names.baseName(path)
      block.update({ text: words, lang: highlight.languageOf(base.includes('.') ? base.split('.').at(-1) ?? '' : base.toLowerCase()) })
      return block.el
    }

    /** @param {string} words */
    function tableOf(words) {
      const { rows: [head = [], ...rows], columns, more } = parseTable(words, MOST_ROWS + 1) // the first names the columns
      const cell = (/** @type {string} */ tag, /** @type {string} */ value) => h(tag === 'td' && /^-?[\d.,]+%?$/.test(value) ? 'td.number' : tag, tag === 'th' ? { scope: 'col' } : null, value)
      const line = (/** @type {string[]} */ row, /** @type {string} */ tag) => h('tr', null, Array.from({ length: columns }, (_, i) => cell(tag, row[i] ?? '')))
      const inside = h('tbody')
      parts.longList(inside, rows, (row) => line(row, 'td'))
      const button = inside.querySelector('button')
      const table = h('div.grid.whole', { tabIndex: 0, role: 'group', 'aria-label': t('view.table', { name: names.visible(names.baseName(path)), rows: count(rows.length), columns: count(columns) }) },
        h('table', null, h('thead', null, line(head, 'th')), inside))
      if (button) table.append(button)
      return [more ? parts.notice(t('view.rows', { n: count(MOST_ROWS) }), 'ask') : null, table]
    }

    /** As the page that it is, in a frame without rights; this panel gives it its place. */
    async function preview() {
      try {
        const [blob, shown] = await Promise.all([shared.routes().read(path, { tree: shared.tree(), most: MOST_PICTURE + 1 }), yaa.part('preview')])
        if (blob.size > MOST_PICTURE) fill(place, offer(t('view.large')))
        else shown.show(await blob.text(), 'html')
      } catch (error) {
        shared.failed(error)
      }
    }

    async function keep() {
      try {
        download.blob(names.visible(names.baseName(path)), await shared.routes().read(path, { tree: shared.tree() }))
      } catch (error) {
        shared.failed(error)
      }
    }

    function mention() {
      const composer = shared.app.views.composer
      composer.insert(`${/\S$/.test(composer.read()) ? ' ' : ''}${names.mentionOf(path)} `)
    }

    return { el, show, refresh: load, path: () => path }
  }

  return { fileView }
})
