// A page or a picture that a model wrote, shown in a frame of its own: scripts run, but without this page, its
// storage or any network (artifact.html). The frame is made when it is asked for and taken away when it is closed.

yaa.define('ui/artifact', ['ui/dom', 'ui/i18n', 'css/dialogs', 'css/artifact', 'i18n/artifact'], ({ h, iconButton, attr, uid }, { t }) => {
  const READY = 'yaa.artifact.ready'

  /** A picture gets a page around it, so that it is centred and scaled. @param {string} text @param {string} lang */
  function pageOf(text, lang) {
    if (lang !== 'svg') return text
    const style = 'margin:0;min-height:100vh;display:grid;place-items:center;background:white'
    return `<!doctype html><meta charset="utf-8"><style>svg{max-width:100%;max-height:100vh}</style><body style="${style}">${text}</body>`
  }

  /** @param {string} page @returns {HTMLIFrameElement} */
  function frameOf(page) {
    const frame = document.createElement('iframe')
    // the sandbox comes first: what is loaded before it is set has the rights of this page
    frame.setAttribute('sandbox', 'allow-scripts')
    frame.setAttribute('referrerpolicy', 'no-referrer')
    frame.setAttribute('allow', '')
    attr(frame, 'title', t('artifact.frame'))
    frame.src = 'artifact.html'
    const onmessage = (/** @type {MessageEvent} */ event) => {
      if (event.source !== frame.contentWindow || event.data !== READY) return
      removeEventListener('message', onmessage)
      frame.contentWindow?.postMessage({ page }, '*') // it has no origin to name
    }
    addEventListener('message', onmessage)
    return frame
  }

  /** @param {string} text @param {string} lang `html` or `svg` */
  function open(text, lang) {
    const heading = uid('artifact')
    const close = iconButton('x', t('artifact.close'), { onclick: () => el.close() })
    const el = h('dialog.dialog.artifact', { 'aria-labelledby': heading, closedby: 'any', onclose: () => el.remove() },
      h('header.dialog-head', null, h('h2', { id: heading }, t('artifact.title')), close),
      frameOf(pageOf(text, lang)),
      h('p.hint', null, t('artifact.note')))
    document.body.append(el)
    el.showModal()
    return el
  }

  return { open }
})
