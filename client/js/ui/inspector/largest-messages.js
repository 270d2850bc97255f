// The largest messages of a request that does not fit, with a link to each.

yaa.define('ui/inspector/largest-messages', ['ui/dom', 'ui/inspector/i18n', 'ui/message'], ({ h }, { t, count }, { plainText }) => {
  const MAX_WORDS = 60
  const ROLES = ['user', 'assistant', 'tool', 'system']

  /**
   * @param {import('../types').App} app @param {any} found the interrupt's [{id, role, tokens}]
   * @returns {any} nothing where none of them is here
   */
  function largestView(app, found) {
    const { messages } = app.current.session
    const rows = (Array.isArray(found) ? found : []).flatMap((one) => {
      const message = messages.find(({ id }) => id !== undefined && id === one?.id)
      return message ? [h('li', null, row(app, message, one.tokens))] : []
    })
    return rows.length ? h('ul.largest', { 'aria-label': t('largest.title') }, rows) : null
  }

  /** @param {import('../types').App} app @param {Message} message @param {any} tokens */
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
