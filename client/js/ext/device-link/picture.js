// A link that signs another device in, to be copied or read by its camera.

yaa.define('ext/device-link/picture', ['ui/dom', 'ui/i18n', 'ui/copy-field', 'ui/commands', 'ext/device-link/qr', 'ext/device-link/texts'], ({ h }, { t }, { copyField }, commands, { encode }) => {
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

  /** The link, how long it is good, and its code for a camera. @param {string} link */
  const linkParts = (link) => [
    copyField(t('link.label'), link), h('p.hint', null, t('link.once')), isLocal(link) ? h('p.hint', null, t('link.local', { command: commands.context().app.server.state().command })) : null,
    qrPicture(link) ?? h('p.hint', null, t('link.noQr')),
  ]

  return { linkParts }
})
