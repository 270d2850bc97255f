// A link that signs another device in, to be copied or read by its camera.

yaa.define('ui/qr-picture', ['ui/dom', 'ui/i18n', 'ui/popup', 'ui/commands', 'core/qr', 'i18n/sign-in'], ({ h, icon, uid }, { t }, { copy }, commands, { encode }) => {
  const SVG = 'http://www.w3.org/2000/svg'
  const EDGE = 4 // white modules around a code, without which no camera finds it

  /** @param {string} text @returns {any} a picture of a QR code, or null where the text is too long for one */
  function qrPicture(text) {
    const rows = encode(text)
    if (!rows) return null
    const size = rows.length + 2 * EDGE
    const make = (/** @type {string} */ tag, /** @type {Record<string, any>} */ attributes) => {
      const el = document.createElementNS(SVG, tag)
      for (const [name, value] of Object.entries(attributes)) el.setAttribute(name, value)
      return el
    }
    const svg = make('svg', { viewBox: `0 0 ${size} ${size}`, class: 'qr', role: 'img', 'shape-rendering': 'crispEdges', 'aria-label': t('link.qr') })
    // dark on light in both themes: readers expect it
    svg.append(make('rect', { width: size, height: size, fill: '#fff' }))
    const runs = rows.flatMap((row, y) => [...row.join('').matchAll(/1+/g)].map((run) => `M${run.index + EDGE} ${y + EDGE}h${run[0].length}v1h-${run[0].length}z`))
    svg.append(make('path', { d: runs.join(''), fill: '#000' }))
    return svg
  }

  /** @param {string} link that only this machine can follow? */
  const isLocal = (link) => URL.canParse(link) && /^(?:localhost|127\.|\[::1\])/.test(new URL(link).hostname)

  /** A text to copy. @param {string} label @param {string} value */
  function copyField(label, value) {
    const id = uid('copy')
    const input = h('input.input.mono', { id, value, readOnly: true, onfocus: () => input.select() })
    const press = h('button.button.small', { type: 'button', 'aria-label': `${t('link.copy')}: ${label}`, onclick: () => copy(value, press) }, icon('copy'), t('link.copy'))
    return h('div.field', null, h('label', { htmlFor: id }, label), input, h('div', null, press))
  }

  /** The link, how long it is good, and its code for a camera. @param {string} link */
  const linkParts = (link) => [
    copyField(t('link.label'), link), h('p.hint', null, t('link.once')), isLocal(link) ? h('p.hint', null, t('link.local', { command: commands.context().app.server.state().command })) : null,
    qrPicture(link) ?? h('p.hint', null, t('link.noQr')),
  ]

  return { qrPicture, copyField, linkParts }
})
