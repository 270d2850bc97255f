// Sign-ins at MCP servers, which the server keeps: the link opens in another tab, and whoever began it is told when the
// person is back. Only the owner's key may; the answer of the other tab goes to the server, not to this page.

yaa.define('ui/mcp-sign-in', ['ui/dom', 'ui/i18n', 'ui/interrupt-cards', 'i18n/questions'], ({ h, fill, attr }, { t }, { button }) => {
  /** @typedef {{server: string, host: string, state: string, interactive: boolean, issuer?: string, scopes?: string[]}} Account */

  /** @param {Api} api @returns {Promise<Account[]>} */
  const listed = async (api) => (await api.ask('/mcp/sign-ins')).servers

  const REASONS = ['unusable', 'unreachable', 'unsafe', 'refused', 'unregistered', 'begin_again', 'misconfigured']

  /** What the person reads, and the server's own words behind it. @param {{message: string, reason?: string}} error */
  const why = ({ message, reason = '' }) => (REASONS.includes(reason) ? `${t(`signIn.why.${reason}`)} (${message})` : message)

  /** @param {Api} api @param {string} path @param {any} body */
  const post = (api, path, body) => api.ask(path, { body })

  /**
   * A button that begins a sign-in, and the line that says how it goes.
   * @param {() => Api} api @param {string} server @param {string} style
   * @param {() => void} back the person is here again, maybe signed in; called until `end`
   */
  function signInButton(api, server, style, back) {
    const note = h('p.hint', { role: 'status', hidden: true })
    const start = button('signIn.open', style, open)
    let begun = false

    /** @param {...any} words */
    function say(...words) {
      note.hidden = false
      fill(note, words)
    }

    async function open() {
      const tab = globalThis.open('about:blank', '_blank') // now: later it would not be the person who opens it
      if (tab) tab.opener = null
      attr(start, 'aria-disabled', true)
      say(t('signIn.opening'))
      try {
        const { url, issuer } = await post(api(), '/mcp/sign-in', { server, callback: `${api().base}/mcp/callback` })
        if (!/^https?:\/\//.test(url)) throw new Error(t('signIn.noLink'))
        say(t('signIn.waiting', { issuer }), ' ', h('a', { href: url }, t('signIn.link')))
        if (tab) tab.location.replace(url)
        watch()
      } catch (error) {
        tab?.close()
        say(why(/** @type {any} */ (error)))
      }
      attr(start, 'aria-disabled', null)
    }

    function watch() {
      if (begun) return
      begun = true
      globalThis.addEventListener('focus', look)
      document.addEventListener('visibilitychange', look)
    }

    function end() {
      globalThis.removeEventListener('focus', look)
      document.removeEventListener('visibilitychange', look)
    }

    function look() {
      if (!start.isConnected) end()
      else if (document.visibilityState !== 'hidden') back()
    }

    return { start, note, end, fail: (/** @type {any} */ error) => say(why(error)) }
  }

  /** The servers that take a sign-in, in the settings. @param {import('./types').Actions} actions */
  function signInsPart(actions) {
    const rows = h('ul.rules')
    const el = h('section.stack', { hidden: true }, h('h3', null, t('signIn.servers')), h('p.hint', null, t('signIn.lead')), rows)
    const api = () => actions.asking.api()
    let drawn = ''
    let asked = ''

    async function refresh() {
      const found = await listed(api()).catch(() => []) // not the owner's key, or an older server
      el.hidden = !found.length
      if (drawn === JSON.stringify(found)) return
      drawn = JSON.stringify(found)
      fill(rows, found.map(row))
    }

    /** @param {Account} one */
    function row({ server, host, state, interactive, issuer, scopes }) {
      const isIn = state === 'signed_in'
      const words = [host, t(isIn ? 'signIn.in' : 'signIn.out'), issuer, scopes?.join(' ')].filter(Boolean).join(' · ')
      const begin = signInButton(api, server, '.small', refresh)
      const leave = button('signIn.leave', '.small', () => post(api(), '/mcp/sign-out', { server }).then(refresh, begin.fail))
      return h('li', null, h('div', null, h('code', null, server), h('p', null, words), begin.note),
        interactive ? h('div', { role: 'group', 'aria-label': server }, isIn ? leave : begin.start) : null)
    }

    /** @param {import('./types').State} state */
    function update({ server }) {
      const now = `${server.url} ${server.ok}`
      if (server.ok && asked !== now) refresh()
      asked = now
    }

    return { el, update }
  }

  return { signInButton, signInsPart, listed }
})
