// The card of a call whose MCP server wants a sign-in. The run goes on when the person comes back from the other tab.

yaa.define('ui/mcp-sign-in-card', ['ui/dom', 'ui/i18n', 'ui/interrupt-cards', 'ui/mcp-sign-in'], ({ h }, { t }, { button, bodies, callArgs }, { signInButton, listed }) => {
  /** @param {any} interrupt @param {(payload: any, status?: 'resolved' | 'cancelled') => void} answer @param {any} call @param {import('./types').Asking} does */
  function signIn(interrupt, answer, call, does) {
    const server = String(interrupt.server ?? '')
    const { start, note, end } = signInButton(does.api, server, '.primary', look)
    const actions = h('div.ask-actions', null,
      start, button('signIn.goOn', '', goOn), button('signIn.cancel', '.ghost', () => answer(undefined, 'cancelled')))
    const el = h('div.form', null, callArgs(interrupt, call), actions, note)

    /** The person is back: maybe signed in. */
    async function look() {
      if (el.closest('[hidden]')) return end()
      const found = await listed(does.api()).catch(() => [])
      if (el.isConnected && found.some((one) => one.server === server && one.state === 'signed_in')) goOn()
    }

    function goOn() {
      end()
      answer({ action: 'retry' })
    }

    return { icon: 'key', title: t('signIn.title', { server }), text: t('signIn.text'), content: [el] }
  }

  bodies.mcp_sign_in = signIn
  return {}
})
