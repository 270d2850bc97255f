// The state of a session in words: the line above the composer, and the mark in the list.

yaa.define('ui/status-line', ['ui/i18n', 'core/session'], ({ t, duration }, sessions) => {
  /** After so long without a sign: what is awaited is said; something can be done about it. */
  const [SILENT_MS, LONG_MS] = [3000, 10_000]

  /**
   * The line above the composer, or null when there is nothing to say.
   * @param {import('./types').Entry} entry
   * @returns {{text: string, tone?: string, busy?: boolean, icon?: string, action?: string, until?: number} | null}
   */
  function statusLine({ session, state, elsewhere, mirrored }) {
    if (mirrored) return { text: t('run.mirrored'), icon: 'clock' }
    if (elsewhere) return { text: t('run.elsewhere'), icon: 'clock', action: t('run.resume') }
    switch (state?.phase) {
      case 'posting': if (state.reason === 'queued') return { text: t('run.queued'), busy: true, tone: 'ask' }
        return waitLine(state, 'run.waiting') ?? (state.attempt || state.resumed ? { text: t('run.lost'), busy: true, tone: 'ask' } : null)
      case 'streaming': return waitLine(state, 'run.quiet')
      case 'stopping': return { text: t('run.stopping'), busy: true, tone: 'ask' }
      case 'lost': return lostLine(state)
      case 'interrupted': return restLine(session, state)
      default: return pastLine(session)
    }
  }

  /** Tell from the session alone how the last run ended: after a reload there is no run. @param {Session} session */
  function pastLine(session) {
    const { kind } = sessions.stopReason(session, { live: false })
    if (kind === 'ready' && !session.run && session.messages.length > 1 && session.messages.at(-1)?.role === 'user') return null // a talk from elsewhere, where it ended
    const unfinished = kind === 'cut' || kind === 'ready' || kind === 'running'
    return unfinished ? { text: t('run.unfinished'), icon: 'alert', tone: 'ask', action: t('run.resume') } : null
  }

  /** What is awaited, and since when. @param {RunState} state @param {string} key */
  function waitLine({ phase, since }, key) {
    const ms = since ? Date.now() - since : 0
    if (ms < SILENT_MS) return null
    return { text: t(key, { time: duration(Math.floor(ms / 1000) * 1000) }), busy: true, tone: 'ask', action: phase === 'posting' && ms > LONG_MS ? t('run.retry') : undefined, until: since }
  }

  /** @param {RunState} state */
  function lostLine(state) {
    const wait = (state.retry_at ?? 0) - Date.now()
    const gone = !state.error || state.error.kind === 'network' || state.error.kind === 'cut'
    if (wait < 1000) return { text: gone ? t('run.lost') : state.error?.message ?? '', busy: true, tone: 'ask' }
    const time = duration(Math.ceil(wait / 1000) * 1000)
    const text = gone ? t('run.lostWait', { time }) : `${state.error?.message} ${t('run.next', { time })}`
    return { text, busy: true, tone: 'ask', action: t('run.retry'), until: state.retry_at }
  }

  /** @param {Session} session @param {RunState} state */
  function restLine(session, { reason, error, unconfirmed }) {
    if (reason === 'stopped') return unconfirmed === undefined ? stoppedLine(session) : { ...stoppedLine(session), text: `${t('run.unstopped')} ${unconfirmed}`.trim(), tone: 'bad', icon: 'alert' }
    if (reason !== 'gave_up' && reason !== 'refused') return null
    const text = [t('run.failed'), error?.message].filter(Boolean).join(' ')
    return { text, tone: 'bad', icon: 'alert', action: t('run.retry') }
  }

  /** Whoever stopped it elsewhere is named in the thread. @param {Session} session */
  function stoppedLine(session) {
    if (session.messages.at(-1)?.role === 'error') return null
    return { text: t('run.stopped'), icon: 'stop', action: sessions.canResume(session) ? t('run.resume') : undefined }
  }

  /** @param {import('./types').Entry} entry @returns {'' | 'busy' | 'asking' | 'failed'} */
  function markOf({ session, state, mirrored }) {
    if (mirrored || state && ['posting', 'streaming', 'stopping', 'lost'].includes(state.phase)) return 'busy'
    if (sessions.questionsOf(session).length) return 'asking'
    return ['failed', 'gave_up', 'model_error'].includes(state?.reason ?? '') ? 'failed' : ''
  }

  return { statusLine, markOf }
})
