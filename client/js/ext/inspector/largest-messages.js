// What is large in a request that does not fit: the tools, which can be offered in brief, and messages, each with a link.

yaa.define('ext/inspector/largest-messages', ['ui/dom', 'ext/inspector/texts', 'ui/message'], ({ h }, { t, count }, { plainText }) => {
  const MAX_WORDS = 60
  const ROLES = ['user', 'assistant', 'tool', 'system']

  /**
   * @param {import('../../ui/types').App} app @param {any} interrupt `largest` is [{id, role, tokens}] @param {() => void} again
   * @returns {any} nothing where none of them is here
   */
  function largestView(app, { largest, remedies }, again) {
    const { messages, config } = app.current.session
    const rows = (Array.isArray(largest) ? largest : []).flatMap((one) => {
      const message = messages.find(({ id }) => id !== undefined && id === one?.id)
      return message ? [h('li', null, row(app, message, one.tokens))] : []
    })
    const tools = Array.isArray(remedies) && remedies.find((one) => one?.action === 'offer_fewer_tools')
    return h('div', null,
      tools && h('p', null, t('largest.tools', { count: count(Number(tools.count) || 0), n: count(Number(tools.tokens) || 0) }), ' ',
        config?.yaa?.tool_detail ? null : h('button.link', { type: 'button', onclick: () => brief(app, again) }, t('largest.brief'))),
      rows.length ? h('ul.largest', { 'aria-label': t('largest.title') }, rows) : null)
  }

  /** @param {import('../../ui/types').App} app @param {() => void} again */
  async function brief(app, again) {
    const done = await app.sessionStore.edit(app.current, (one) => {
      one.config = { ...one.config, yaa: { ...one.config?.yaa, tool_detail: true } }
      return true
    })
    if (done) again()
  }

  /** @param {import('../../ui/types').App} app @param {Message} message @param {any} tokens */
  function row(app, message, tokens) {
    const shown = message.role === 'tool' ? app.current.session.messages
      .find((one) => one.tool_calls?.some((call) => call.id === message.tool_call_id)) ?? message : message
    const words = plainText(message.content).replace(/\s+/g, ' ').slice(0, MAX_WORDS)
    const who = t(`lens.role.${ROLES.includes(message.role) ? message.role : 'other'}`)
    return h('button.link', { type: 'button', onclick: () => app.views.thread.reveal(shown.id) },
      t('largest.row', { who, words: words || message.name || '…', n: count(Number(tokens) || 0) }))
  }

  return { largestView }
})
