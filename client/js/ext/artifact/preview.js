// A page or a picture that a model wrote, shown in a frame of its own: scripts run, but without this page, its
// storage or any network (artifact.html). It stands beside the thread, or over it where there is no room. The frame is made
// when it is asked for and taken away when it is closed.

yaa.define('ext/artifact/preview', ['ui/dom', 'ui/i18n', 'ui/commands', 'css/dialogs', 'ext/artifact/style', 'ext/artifact/texts'], ({ h, iconButton, attr, uid }, { t }, commands) => {
  const READY = 'yaa.artifact.ready'
  /** As the style of the panel says (css/artifact). */
  const WIDE = matchMedia('(min-width: 64.01rem)')
  /** The one that stands beside the thread. @type {{close: (back?: boolean) => void} | null} */ let beside = null

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

  /** @param {string} heading its id @param {string} text @param {string} lang @param {() => void} onclick */
  const inside = (heading, text, lang, onclick) => [
    h('header.dialog-head', null, h('h2', { id: heading }, t('artifact.title')), iconButton('x', t('artifact.close'), { onclick })),
    frameOf(pageOf(text, lang)),
    h('p.hint', null, t('artifact.note')),
  ]

  /** Over everything. @param {string} text @param {string} lang `html` or `svg` */
  function open(text, lang) {
    const heading = uid('artifact')
    const el = h('dialog.dialog.artifact', { 'aria-labelledby': heading, closedby: 'any', onclose: () => el.remove() }, inside(heading, text, lang, () => el.close()))
    document.body.append(el)
    el.showModal()
    return el
  }

  /** Beside the thread where there is room, in the place of what stood there. @param {string} text @param {string} lang `html` or `svg` */
  function show(text, lang) {
    if (!WIDE.matches) return open(text, lang)
    const root = /** @type {HTMLElement} */ (document.getElementById('app'))
    beside?.close(false)
    const before = /** @type {HTMLElement | null} */ (document.activeElement)
    const heading = uid('artifact')
    const el = h('aside.artifact', { 'aria-labelledby': heading, onkeydown }, inside(heading, text, lang, () => close()))
    const { app } = commands.context()
    const { id } = app.current.session

    /** The page may be made anew without it, or show another session. */
    const watch = () => { if (!el.isConnected || app.current.session.id !== id) close(false) }
    const yields = (/** @type {any} */ event) => { if (event.detail !== 'artifact') close(false) }

    /** @param {boolean} [back] the focus goes back to where it came from */
    function close(back = true) {
      beside = null
      app.watchers.delete(watch)
      removeEventListener('yaa-beside', yields)
      el.remove()
      attr(root, 'data-artifact', null)
      if (back) dispatchEvent(new CustomEvent('yaa-beside', { detail: 'back' })) // what gave its place has it again
      if (back && before?.isConnected) before.focus({ preventScroll: true })
    }

    /** @param {KeyboardEvent} event */
    function onkeydown(event) {
      if (event.key !== 'Escape' || event.defaultPrevented) return
      event.preventDefault()
      close()
    }

    dispatchEvent(new CustomEvent('yaa-beside', { detail: 'artifact' })) // there is room for one panel
    addEventListener('yaa-beside', yields)
    app.watchers.add(watch)
    root.append(el)
    attr(root, 'data-artifact', 'open')
    beside = { close }
    el.querySelector('button').focus()
    return el
  }

  return { open, show }
})
