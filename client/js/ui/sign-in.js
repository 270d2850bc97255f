// Links that sign in. A code is exchanged for its key by POST, so no key is ever in an address. Any page can open a link here:
// a key that is kept is replaced only if the person agrees, and the first one is taken unasked only where the browser says
// that no other site opened the page.

yaa.define('ui/sign-in', ['ui/dom', 'ui/i18n', 'ui/popup', 'ui/dialog', 'io/api', 'io/settings', 'i18n/sign-in'], ({ h }, { t }, { toast, say }, { openDialog, button }, apis, { linkOf }) => {
  /** A press that was meant for another page, over which this one was put, changes nothing. */
  const NO_PRESS_MS = 600

  /** @param {string} address @param {string} code @returns {Promise<{key: string, name?: string}>} */
  async function exchange(address, code) {
    const { key, name } = await apis.create({ base: address }).ask('/sign-in', { body: { code } })
    if (typeof key !== 'string' || !key) throw new Error(t('link.noKey'))
    return { key, name: String(name ?? '') }
  }

  /** @param {any} error @param {string} [command] */
  const why = (error, command = 'python3 -m server') => (error.code === 'link_expired' ? t('link.used', { command }) : t('link.failed', { detail: error.message }))

  /** What was typed as an address or a link, with the key of its code. @param {string} words @returns {Promise<{address: string, key: string} | null>} null: it was said why not */
  async function redeem(words) {
    const { address, key, code } = linkOf(words)
    try {
      return { address, key: code ? (await exchange(address, code)).key : key }
    } catch (error) {
      toast(why(error), { bad: true })
      return null
    }
  }

  /**
   * Sign in with a link, or say why not; the server is asked in each case.
   * @param {import('./types').App} app @param {SignInLink} link
   */
  async function take(app, link) {
    const { settings, server } = app
    const address = link.address || settings.base()
    const kept = settings.keys()[address] ?? ''
    try {
      const { key, name } = link.code ? await exchange(address, link.code) : { ...link, name: '' }
      if (link.pasted || key === kept || (!kept && isOwnStep(link)) || await asked(address, name ?? '', Boolean(kept))) {
        settings.setBase(address)
        settings.setKey(key, { remember: settings.remembers() })
        say(t('link.in'))
      } else if (kept) say(t('link.still'))
    } catch (error) {
      const words = why(error, server.state().command)
      toast(kept && !link.pasted ? `${words} ${t('link.still')}` : words, { bad: !kept || link.pasted })
    }
    server.connect()
    app.draw()
  }

  /**
   * Is it certain that no other site opened this page? The server marks what a browser says of that (`elsewhere`), which
   * browsers send to secure addresses only; pages from disk are not told, and a service worker in between hides it.
   * @param {SignInLink} link
   */
  function isOwnStep({ elsewhere }) {
    const referrer = URL.canParse(document.referrer) ? new URL(document.referrer).origin : location.origin
    return !elsewhere && isSecureContext && !navigator.serviceWorker?.controller && /^https?:$/.test(location.protocol) && !globalThis.opener && referrer === location.origin
  }

  /** @param {string} address @param {string} name of the key @param {boolean} replaces @returns {Promise<boolean>} */
  function asked(address, name, replaces) {
    return new Promise((resolve) => {
      const named = name ? t('link.named', { name }) : ''
      const use = button(t('link.use'), () => {
        resolve(true)
        dialog.close()
      })
      const keep = button(t(replaces ? 'link.keep' : 'link.refuse'), () => dialog.close(), 'primary')
      const text = t(replaces ? 'link.replaceText' : 'link.firstText', { address, named })
      const dialog = openDialog({ title: t(replaces ? 'link.replace' : 'link.first'), body: h('p', null, text), buttons: [use, keep], onclose: () => resolve(false) })
      use.disabled = true
      setTimeout(() => { use.disabled = false }, NO_PRESS_MS)
      keep.focus()
    })
  }

  return { take, redeem }
})
