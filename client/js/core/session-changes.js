// Changes of a session as plain values. The document that a page shows may be older than the one that is stored: so the
// change is what is kept and told, and is applied to what is there when its turn has come.

yaa.define('core/session-changes', ['core/session', 'core/patch'], (sessions, { put, isObject }) => {
  /** False: it cannot be made any more. @type {Record<string, (session: Session, change: any) => boolean>} */
  const KINDS = {
    set(session, { path: [name, ...rest], value }) {
      if (rest.length) {
        /** @type {any} */ const own = Object.hasOwn(session, name) && isObject(session[name]) ? { ...session[name] } : {}
        KINDS.set(own, { path: rest, value })
        value = Object.keys(own).length ? own : undefined
      }
      if (value === undefined) delete session[name]
      else put(session, name, value)
      return true
    },
    /** The first answer to a question counts. */
    answer(session, { question, answer }) {
      const other = session.interrupts?.find(({ id }) => id === question)?.answer
      return !(answer && other) && sessions.answer(session, question, answer)
    },
    /** Once. One that waited in the session is `queued` there, unless another tab has said it. */
    say(session, { message, queued }) {
      const isSaid = session.messages.some(({ id }) => id === message.id)
      const waits = session.ext?.queue?.[queued] !== undefined
      if (queued && !waits && !isSaid) return false
      if (waits) KINDS.set(session, { path: ['ext', 'queue', queued] })
      if (!isSaid) session.messages.push(message)
      return true
    },
  }

  /** @param {Session} session @param {SessionChange} change @returns {boolean} */
  const apply = (session, change) => KINDS[change.kind](session, change)

  /** May it be made while a run goes on? No run reads these. @param {SessionChange} change */
  const isBeside = ({ kind, path }) => kind === 'set' && (path[0] === 'title' || path[0] === 'ext')

  return { apply, isBeside }
})
