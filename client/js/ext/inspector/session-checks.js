// Lists irregularities of a session: calls without a result, results without a call, visible keys. Nothing is changed.

yaa.define('ext/inspector/session-checks', ['core/session', 'core/redact', 'core/patch'], (sessions, { scan }, { isObject, parseJson }) => {
  const MAX_RESULT = 40_000
  /** @param {Session} session @param {{live?: boolean}} [options] @returns {Finding[]} worst first, then in order */
  function checkSession(session, { live = false } = {}) {
    const messages = (Array.isArray(session.messages) ? session.messages : []).filter((one) => one && typeof one === 'object')
    /** @type {Finding[]} */
    const found = [...ofCalls(session, messages, live), ...ofMessages(messages, live), ...ofInterrupts(session, messages)]
    for (const message of messages) found.push(...ofSecrets(message))
    if (session.ext?.yaa_diverged) found.push({ rule: 'diverged', level: 'bad' })
    const rank = { bad: 0, warn: 1, note: 2 }
    return found.sort((a, b) => rank[a.level] - rank[b.level])
  }

  /** @param {Session} session @param {Message[]} messages @param {boolean} live @returns {Finding[]} */
  function ofCalls(session, messages, live) {
    /** @type {Finding[]} */
    const found = []
    const results = new Set(messages.filter((one) => one.role === 'tool').map((one) => one.tool_call_id))
    const waiting = new Set(sessions.openInterrupts(session).map((one) => one.call_id))
    const seen = new Set()
    for (const message of messages) {
      for (const call of Array.isArray(message.tool_calls) ? message.tool_calls : []) {
        const where = { message: message.id, call: call?.id, detail: String(call?.function?.name ?? '') }
        if (seen.has(call?.id)) found.push({ rule: 'call_twice', level: 'bad', ...where })
        seen.add(call?.id)
        const answered = live || message.open || results.has(call?.id) || waiting.has(call?.id)
        if (!answered) found.push({ rule: 'no_result', level: 'warn', ...where })
        if (!isObject(parseJson(call?.function?.arguments || '{}', null))) found.push({ rule: 'bad_arguments', level: 'warn', ...where })
      }
    }
    for (const message of messages) {
      if (message.role !== 'tool' || seen.has(message.tool_call_id)) continue
      found.push({ rule: 'no_call', level: 'bad', message: message.id, detail: String(message.name ?? '') })
    }
    return found
  }

  /** @param {Message[]} messages @param {boolean} live @returns {Finding[]} */
  function ofMessages(messages, live) {
    /** @type {Finding[]} */
    const found = []
    const ids = new Set()
    for (const { id, role, open, content } of messages) {
      /** @param {string} rule @param {Finding['level']} level @param {any} [detail] */
      const add = (rule, level, detail) => found.push({ rule, level, message: id, ...(detail === undefined ? {} : { detail: String(detail) }) })
      const size = typeof content === 'string' ? content.length : 0
      if (id !== undefined && ids.has(id)) add('id_twice', 'bad', id)
      ids.add(id)
      if (open && !live) add('cut', 'warn')
      if (role === 'error') add('error', 'note', String(content ?? '').slice(0, 200))
      if (role === 'tool' && size > MAX_RESULT) add('large', 'note', size)
    }
    return found
  }

  /** @param {Session} session @param {Message[]} messages @returns {Finding[]} */
  function ofInterrupts(session, messages) {
    const calls = new Set(messages.flatMap((one) => (Array.isArray(one.tool_calls) ? one.tool_calls : []).map((call) => call?.id)))
    const all = (Array.isArray(session.interrupts) ? session.interrupts : []).filter((one) => one && typeof one === 'object')
    return all.filter((one) => one.call_id !== undefined && !calls.has(one.call_id))
      .map((one) => ({ rule: 'no_call_for_question', level: 'bad', detail: String(one.reason ?? '') }))
  }

  /** @param {Message} message @returns {Finding[]} */
  function ofSecrets(message) {
    return scan(message).map(({ kind, shown }) => ({ rule: 'secret', level: 'bad', message: message.id, detail: kind, shown }))
  }

  return { checkSession }
})
