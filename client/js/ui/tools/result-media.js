// What the model saw with a result, under its card, or made, under its words: pictures, which a press makes larger,
// sounds, and files by their name. All of it is in the document, so it is shown without a server, in a saved page too.

yaa.define('ui/tools/result-media', [
  'ui/dom', 'i18n/tools', 'io/download', 'ui/tools/parts', 'core/safe-urls', 'ui/interrupt-cards', 'css/tools',
], ({ h, icon, list }, { t, count }, download, { size }, safeUrls, { escapeControls }) => {
  /** As many as a result may have; anybody may have written the document. */
  const MOST = 8
  const SOUND = /^audio\/(?:wav|mpeg|flac|ogg)$/
  const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

  /** @param {boolean} [made] by the model? @returns {{el: any, update: (media: any[]) => void}} */
  function resultMediaView(made = false) {
    const el = h('ul.handed.shown', { 'aria-label': t(made ? 'shown.made' : 'shown.title') })
    /** @param {any[]} all */
    function update(all) {
      const usable = all.filter((one) => one && typeof one === 'object').slice(0, MOST)
      el.hidden = !usable.length
      list(el, usable, (one, i) => `${i} ${one.name} ${one.bytes}`, (one) => ({ el: h('li', null, itemView(one)), update() {} }))
    }
    return { el, update }
  }

  /** @param {any} item {media_type, data, name, bytes, width?, height?} */
  function itemView({ media_type: type, data, name, bytes, width, height }) {
    const label = escapeControls(String(name || t('attached.unnamed')))
    const facts = [Number.isInteger(width) && Number.isInteger(height) ? t('shown.pixels', { width: count(width), height: count(height) }) : '',
      Number.isFinite(bytes) ? size(bytes) : ''].filter(Boolean).join(', ')
    const known = typeof data === 'string' && BASE64.test(data)
    const safe = known ? safeUrls.image(`data:${type};base64,${data}`) : null
    const row = h('div.handed-row', null, icon(safe ? 'image' : 'file'), h('span.path', null, label), h('span.part-note', null, known ? facts : t('shown.missing')))
    if (safe && !safe.remote) return [row, picture(safe.src, label, row, { width, height })]
    if (known) row.append(saveButton(label, data))
    if (known && SOUND.test(type)) return [row, h('audio', { controls: true, preload: 'metadata', src: `data:${type};base64,${data}`, 'aria-label': label })]
    return row
  }

  /** @param {string} src @param {string} label @param {any} row @param {{width: any, height: any}} size */
  function picture(src, label, row, { width, height }) {
    const img = h('img', { src, alt: label, loading: 'lazy' })
    if (width > 0 && height > 0) Object.assign(img, { width, height })
    const el = h('button.shown-image', { type: 'button', 'aria-pressed': 'false', 'aria-label': t('shown.enlarge', { name: label }), onclick: () => {
      el.setAttribute('aria-pressed', String(el.getAttribute('aria-pressed') !== 'true'))
    } }, img)
    img.addEventListener('error', () => {
      el.hidden = true
      row.append(h('span.part-note', null, t('attached.broken')))
    })
    return el
  }

  /** @param {string} label @param {string} data base64 */
  function saveButton(label, data) {
    const save = () => {
      const bytes = Uint8Array.from(atob(data), (one) => one.charCodeAt(0))
      download.blob(label.split(/[\\/]/).at(-1) || 'file', new Blob([bytes], { type: 'application/octet-stream' }))
    }
    return h('button.button.small', { type: 'button', 'aria-label': t('attached.saveFile', { name: label }), onclick: save }, icon('download'), t('attached.save'))
  }

  return { resultMediaView }
})
