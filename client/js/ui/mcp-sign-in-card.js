// The card of a call whose MCP server wants a sign-in: the link opens in another tab, and the run goes on when the person
// comes back. Only the owner's key may begin it; the answer of the other tab goes to the server, not to this page.

yaa.define('ui/mcp-sign-in-card', ['ui/dom', 'ui/i18n', 'ui/interrupt-cards', 'i18n/questions'], ({ h, fill }, { t }, { button, bodies, callArgs }) => {
  const JSON_BODY = { 'Content-Type': 'application/json', Accept: 'application/json' }

  /** @param {any} interrupt @param {(payload: any, status?: 'resolved' | 'cancelled') => void} answer @param {any} call @param {import('./types').Asking} does */
  function signIn(interrupt, answer, call, does) {
    const server = String(interrupt.server ?? '')
    const note = h('p.hint', { role: 'status' })
    let begun = false
    const start = button('signIn.open', '.primary', open)
    const actions = h('div.ask-actions', null,
      start, button('signIn.goOn', '', goOn), button('signIn.cancel', '.ghost', () => answer(undefined, 'cancelled')))
    const el = h('div.form', null, callArgs(interrupt, call), actions, note)

    async function open() {
      const tab = globalThis.open('about:blank', '_blank') // now: later it would not be the person who opens it
      if (tab) tab.opener = null
      start.disabled = true
      fill(note, t('signIn.opening'))
      try {
        const { base, request } = does.api()
        const body = JSON.stringify({ server, callback: `${base}/mcp/callback` })
        const { url, issuer } = await (await request('/mcp/sign-in', { method: 'POST', headers: JSON_BODY, body })).json()
        if (!/^https?:\/\//.test(url)) throw new Error(t('signIn.noLink'))
        const link = h('a', { href: url }, t('signIn.link'))
        fill(note, t('signIn.waiting', { issuer }), ' ', link)
        if (tab) tab.location.replace(url)
        watch()
      } catch (error) {
        tab?.close()
        fill(note, /** @type {Error} */ (error).message)
      }
      start.disabled = false
    }

    function watch() {
      if (begun) return
      begun = true
      globalThis.addEventListener('focus', look)
      document.addEventListener('visibilitychange', look)
    }

    function leave() {
      globalThis.removeEventListener('focus', look)
      document.removeEventListener('visibilitychange', look)
    }

    /** The person is back: maybe signed in. */
    async function look() {
      if (!el.isConnected || el.closest('[hidden]')) return leave()
      if (document.visibilityState === 'hidden') return
      const response = await does.api().request('/mcp/sign-ins', { headers: JSON_BODY }).catch(() => null)
      const listed = (await response?.json())?.servers ?? []
      if (el.isConnected && listed.some((/** @type {any} */ one) => one.server === server && one.state === 'signed_in')) goOn()
    }

    function goOn() {
      leave()
      answer({ action: 'retry' })
    }

    return { icon: 'key', title: t('signIn.title', { server }), text: t('signIn.text'), content: [el] }
  }

  bodies.mcp_sign_in = signIn
  return {}
})
