// What a screen reader says when a run has ended.

yaa.define('ui/run-announcement', ['ui/i18n', 'ui/popup', 'ui/message', 'core/session', 'i18n/late-parts'], ({ t, words }, { say }, { plainText }, sessions) => {
  /** One sentence for a screen reader; only failures interrupt. @param {{session: Session, state: RunState | null}} entry */
  function announce({ session, state }) {
    // what the page has begun by itself asks nobody
    const [first] = sessions.openInterrupts(session).filter((one) => session.calls?.[one.call_id ?? '']?.state !== 'started')
    if (first?.reason === 'tool_call') say(t('say.approval', { tool: first.tool ?? '' }))
    else if (first?.reason === 'limit') say(t('say.limit'))
    else if (first) say(t('say.question'))
    else if (state?.reason === 'failed' || state?.reason === 'gave_up') say(t('say.failed'), true)
    else if (state?.phase === 'done') say(t('say.ready', { n: words(lastAnswer(session)) }))
  }

  /** @param {Session} session */
  const lastAnswer = (session) => plainText(session.messages.findLast((message) => message.role === 'assistant')?.content ?? '')

  return { announce }
})
