// The files a call made for people, under its card: pictures are shown, texts open at a press, everything can be saved.
// The document only names them; the bytes are on the server that made them, until somebody wants them.

yaa.define('ui/tools/result-files', [
  'ui/dom', 'i18n/tools', 'io/download', 'ui/tools/parts', 'ui/interrupt-cards', 'css/tools',
], (dom, { t }, download, parts, { escapeControls }) => {
  const { h, icon, list, text, attr, fill } = dom
  const { size } = parts
  /** `asked`: a person has pressed for it. @typedef {(path: string, asked?: boolean) => Promise<Blob>} Fetched */
  /** What an <img> may hold: nothing in it runs or is loaded. */
  const PICTURES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif', 'image/bmp', 'image/svg+xml'])
  const TEXTS = /^text\/|^application\/(?:json|xml|javascript|x-sh|x-yaml|yaml|toml|sql|x-python)$|\+(?:json|xml)$/
  /** Larger pictures are fetched only when asked for, larger pages are no page here; of larger texts the beginning is shown. */
  const MAX_PICTURE = 4_000_000
  const MAX_TEXT = 200_000
  /** @type {Map<Element, () => void>} what to do with a row once it is on the screen */
  const waiting = new Map()
  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue
      seen.unobserve(target)
      waiting.get(target)?.()
      waiting.delete(target)
    }
  })

  /** @param {Fetched} fetched @returns {{el: any, update: (attachments: any[]) => void}} */
  function resultFilesView(fetched) {
    const el = h('ul.handed', { 'aria-label': t('attached.title') })
    /** @param {any[]} all */
    function update(all) {
      const named = all.filter((one) => typeof one?.path === 'string' && one.path)
      el.hidden = !named.length
      list(el, named, (one, i) => `${i} ${one.path} ${one.bytes}`, (one) => fileView(one, fetched))
    }
    return { el, update }
  }

  /** @param {any} attachment {path, name, media_type, bytes} @param {Fetched} fetched */
  function fileView({ path, name, media_type: type, bytes }, fetched) {
    const label = String(name || path.split('/').at(-1) || t('attached.unnamed'))
    const kind = PICTURES.has(type) ? 'picture' : TEXTS.test(type) ? 'text' : 'other'
    const note = h('span.part-note', null, Number.isFinite(bytes) ? size(bytes) : '')
    const place = h('div.handed-inside', { hidden: true })
    const save = h('button.button.small', { type: 'button', 'aria-label': t('attached.saveFile', { name: label }), onclick: give },
      icon('download'), t('attached.save'))
    const shows = kind === 'text' || (kind === 'picture' && bytes > MAX_PICTURE)
    const show = shows ? h('button.button.small.ghost', { type: 'button', 'aria-expanded': 'false', onclick: toggle }, t('attached.show')) : null
    const isPage = type === 'text/html' && !(bytes > MAX_PICTURE) && yaa.parts('preview')[0]?.group // a saved page has no frame for it
    const page = isPage ? h('button.button.small', { type: 'button', 'aria-label': t('attached.openFile', { name: label }), onclick: preview }, icon('eye'), t('attached.open')) : null
    const row = h('div.handed-row', null, icon(kind === 'picture' ? 'image' : 'file'), h('span.path', { title: escapeControls(path) }, escapeControls(label)), note, page, show, save)
    const el = h('li', null, row, place)
    /** @type {Promise<Blob | null> | null} */ let coming = null
    let here = false

    /** The file, asked for once; null where it did not come, which is said, and tried again when it is wanted again. @param {boolean} asked */
    function bring(asked) {
      if (coming && (here || !asked)) return coming
      coming = fetched(path, asked).then((blob) => {
        here = true
        const changed = Number.isFinite(bytes) && blob.size !== bytes
        text(note, changed ? t('attached.changed', { size: size(blob.size) }) : size(blob.size))
        return blob
      }, (error) => {
        coming = null
        text(note, error?.status === 404 ? t('attached.gone') : t('attached.failed', { detail: error?.message ?? error }))
        return null
      })
      return coming
    }

    async function give() {
      const blob = await bring(true)
      if (blob) download.blob(label.split(/[\\/]/).at(-1) || 'file', blob)
    }

    /** As the page that it is, in a frame without rights. */
    async function preview() {
      const [blob, shown] = await Promise.all([bring(true), yaa.part('preview')])
      if (blob) shown.show(await blob.text(), 'html')
    }

    async function toggle() {
      if (place.firstChild) place.hidden = !place.hidden
      else await draw(true)
      attr(show, 'aria-expanded', !place.hidden)
      text(show, t(place.hidden ? 'attached.show' : 'attached.hide'))
    }

    async function draw(asked = false) {
      const blob = await bring(asked)
      if (!blob || place.firstChild) return
      if (kind === 'picture') return drawPicture(blob)
      const block = parts.block()
      const words = await blob.slice(0, MAX_TEXT).text()
      const rest = blob.size > MAX_TEXT ? h('p.hint', null, t('attached.part', { size: size(MAX_TEXT) })) : null
      block.update({ text: words || t('attached.empty'), lang: words ? label.split('.').at(-1) : '' })
      fill(place, [block.el, rest])
      place.hidden = false
    }

    /** The type is ours, not what the bytes or the server say. @param {Blob} blob */
    function drawPicture(blob) {
      const src = URL.createObjectURL(blob.slice(0, blob.size, type))
      const picture = h('img', { src, alt: label })
      picture.addEventListener('load', () => URL.revokeObjectURL(src))
      picture.addEventListener('error', () => {
        URL.revokeObjectURL(src)
        place.hidden = true
        text(note, t('attached.broken'))
      })
      fill(place, picture)
      place.hidden = false
    }

    if (kind === 'picture' && !shows) {
      waiting.set(row, draw)
      seen.observe(row)
    }
    return { el, update: () => {}, destroy: () => { seen.unobserve(row); waiting.delete(row) } }
  }

  return { resultFilesView }
})
