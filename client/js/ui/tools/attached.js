// What a tool handed out besides its result: shown where it is a picture or a text, saved where the session holds it.

yaa.define('ui/tools/attached', [
  'ui/h', 'ui/tools/text', 'core/urlsafe', 'io/download', 'ui/tools/parts',
], (dom, { t }, urlsafe, download, { size }) => {
  const { h, icon, list } = dom
  const MAX_TEXT = 4000

  /** @returns {{el: any, update: (attachments: any[]) => void}} */
  function attachedView() {
    const el = h('ul.attached')
    /** @param {any[]} attachments */
    const update = (attachments) => list(el, attachments, (one, i) => `${i} ${one?.name}`, fileView)
    return { el, update }
  }

  /** @param {any} attachment {name?, path?, mime?, data? (base64), text?} */
  function fileView(attachment) {
    const name = String(attachment?.name ?? attachment?.path ?? t('attached.unnamed'))
    const blob = blobOf(attachment)
    const held = blob !== null
    const picture = held && previewOf(attachment, name)
    const note = held ? size(blob.size) : t('attached.elsewhere')
    const give = () => blob && download.blob(name.split(/[\\/]/).at(-1) || name, blob)
    const save = held ? h('button.button.small', { type: 'button', onclick: give }, icon('download'), t('attached.save')) : null
    const row = h('div.attached-row', null, icon(picture ? 'image' : 'file'), h('span.path', null, name),
      h('span.part-note', null, note), save)
    return { el: h('li', null, row, picture || null), update: () => {} }
  }

  /** @param {any} attachment @returns {Blob | null} null: the document only names it */
  function blobOf(attachment) {
    const type = typeof attachment?.mime === 'string' ? attachment.mime : ''
    if (typeof attachment?.text === 'string') return new Blob([attachment.text], { type: type || 'text/plain' })
    if (typeof attachment?.data !== 'string') return null
    try {
      return new Blob([Uint8Array.from(atob(attachment.data), (char) => char.charCodeAt(0))], { type })
    } catch {
      return null
    }
  }

  /** @param {any} attachment @param {string} name */
  function previewOf({ mime, data, text }, name) {
    if (typeof text === 'string') return text.length <= MAX_TEXT ? h('pre.attached-text', { tabIndex: 0 }, text) : null
    const src = urlsafe.image(`data:${mime};base64,${data}`)?.src
    return src ? h('img', { src, alt: name, loading: 'lazy' }) : null
  }

  return { attachedView }
})
