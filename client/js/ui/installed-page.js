// The page as an app: it is kept for when there is no server, and what other apps share with it becomes a draft. The
// server offers it by the manifest in the page; from disk, and over plain HTTP to another machine, none of it exists.

yaa.define('ui/installed-page', ['ui/dom', 'ui/i18n', 'ui/popup', 'core/shared-text', 'i18n/installed-page'], ({ h }, { t }, { toast }, { draftText }) => {
  const SHARED = 'yaa-shared'

  /** @param {import('./types').CommandContext} context @param {string | null} shared what the address says was shared */
  function start(context, shared) {
    if (shared !== null) take(context, shared)
    if (!globalThis.isSecureContext || !navigator.serviceWorker || !document.querySelector('link[rel=manifest]')) return
    register()
  }

  /** Register the service worker, once: the browser itself looks for a newer one as it loads a page of the scope. */
  async function register() {
    // Firefox says so in the console when it is asked where nothing may be stored.
    const known = navigator.cookieEnabled ? await navigator.serviceWorker.getRegistration().catch(() => null) : null
    if (known?.scope === new URL('.', location.href).href) return // not that of another app above this one
    // The policy of this page forbids to name a worker. The frame goes when it has done so.
    const frame = h('iframe', { hidden: true })
    frame.src = 'worker.html'
    document.body.append(frame)
  }

  /**
   * Put what was shared into the draft of a new session, below what is in it.
   * @param {import('./types').CommandContext} context @param {string} id
   */
  async function take({ app }, id) {
    const found = await read(id).catch(() => null)
    if (!found) return toast(t('share.gone'), { bad: true })
    if (app.current.session.messages.length) app.show(app.sessionStore.fresh())
    const { composer } = app.views
    const before = composer.read()
    const words = draftText(found.texts, t('share.label'))
    composer.write(before)
    if (words) composer.insert(before ? `\n\n${words}` : words)
    await composer.attach(found.files)
    if (found.left) toast(t('share.left', { n: found.left }), { bad: true })
    toast(t('share.taken'))
  }

  /**
   * Read it from where the service worker has put it (service-worker.js), once.
   * @param {string} id @returns {Promise<{texts: string[], files: File[], left: number} | null>} null where it is gone
   */
  async function read(id) {
    if (!/^[0-9a-f-]{36}$/.test(id)) return null
    const cache = await caches.open(SHARED)
    const place = new URL(`share/${id}/`, location.href)
    const form = await (await cache.match(new URL('form', place)))?.json()
    if (!form) return null
    const files = await Promise.all(form.files.map(async (/** @type {{name: string, type: string}} */ { name, type }, /** @type {number} */ index) => {
      const part = await cache.match(new URL(String(index), place))
      return part && new File([await part.blob()], name, { type })
    }))
    await caches.delete(SHARED)
    return { texts: form.texts, files: files.filter(Boolean), left: form.left }
  }

  return { start }
})
