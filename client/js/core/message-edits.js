// Changing what was said and done, to go on from there. Nothing is overwritten: each change begins a branch (core/branch-tree)
// whose changed message says what it was made from (`meta.edited_from`), so a transcript is never silently falsified.
// A call in a new branch gets a new id, or a server that ran the old one would take it for the same. Calls beside an
// edited one keep their results: they have happened.

yaa.define('core/message-edits', ['core/ids', 'core/branch-tree', 'core/session'], ({ id: newId, uuid }, { beginBranch }, { create, callsOf }) => {
  /**
   * @typedef {object} When
   * @property {number} [now]
   */

  /** @param {Session} session @param {string} id */
  const indexOf = ({ messages }, id) => messages.findIndex((message) => message.id === id)

  /** Behind a message and the results of its calls. @param {Session} session @param {number} index */
  function endOf({ messages }, index) {
    /** @type {Set<string | undefined>} */
    const calls = new Set(callsOf(messages[index]).map((call) => call.id))
    let end = index + 1
    while (messages[end]?.role === 'tool' && calls.has(messages[end].tool_call_id)) end++
    return end
  }

  /**
   * Set aside what follows a message, so that something else can be said there.
   * @param {Session} session @param {string} id @returns {boolean}
   */
  function fork(session, id) {
    const index = indexOf(session, id)
    const end = endOf(session, index)
    if (index < 0 || end >= session.messages.length) return false
    beginBranch(session, end)
    return true
  }

  /**
   * Set aside the last message of the user and what follows, so that it can be said otherwise.
   * @param {Session} session @returns {Message | false} that message; false for the first, before which there is nothing
   */
  function takeBack(session) {
    const index = session.messages.findLastIndex((message) => message.role === 'user')
    if (index < 1) return false
    const message = session.messages[index]
    beginBranch(session, index)
    return message
  }

  /**
   * Set aside an answer and what follows, so that the model gives another.
   * @param {Session} session @param {string} id of the answer, or of the user's message before it @returns {boolean}
   */
  function retry(session, id) {
    const index = indexOf(session, id)
    const message = session.messages[index]
    if (!message) return false
    const from = message.role === 'user' ? index + 1 : index
    if (from < session.messages.length) {
      beginBranch(session, from)
      session.again = newId('again') // or the server gives the answer that it has recorded
    }
    return from > 0
  }

  /**
   * Other words in a message of the user or the assistant.
   * @param {Session} session @param {string} id @param {any} content @param {When} [when] @returns {boolean}
   */
  function editMessage(session, id, content, { now = Date.now() } = {}) {
    const index = indexOf(session, id)
    const message = session.messages[index]
    if (!message) return false
    const { open: _, ...rest } = message
    const calls = renamed(message.open ? [] : message.tool_calls)
    const edited = { ...rest, ...calls.field, id: newId('msg'), content, at: now, meta: { edited_from: id } }
    if (message.open) delete edited.tool_calls
    beginBranch(session, index, [edited, ...carried(session, index, calls.ids)], { edits: 1 })
    return true
  }

  /**
   * Other arguments for a call, or the same as a text; it has not run with them yet.
   * @param {Session} session @param {string} callId @param {any} args @param {When} [when] @returns {boolean}
   */
  function editArguments(session, callId, args, { now = Date.now() } = {}) {
    const index = session.messages.findLastIndex((message) => callsOf(message).some((call) => call.id === callId))
    const message = session.messages[index]
    if (!message || message.open) return false
    const calls = renamed(message.tool_calls)
    const own = calls.ids.get(callId)
    const changed = calls.field.tool_calls?.map((call) => (
      call.id === own ? { ...call, function: { ...call.function, arguments: typeof args === 'string' ? args : JSON.stringify(args) } } : call
    ))
    const meta = { edited_from: message.id, edited_call: own }
    calls.ids.delete(callId)
    const edited = { ...message, tool_calls: changed, id: newId('msg'), at: now, meta }
    beginBranch(session, index, [edited, ...carried(session, index, calls.ids)], { edits: 1 })
    return true
  }

  /**
   * Another result for a call: what the model will read in place of what the tool returned.
   * @param {Session} session @param {string} callId
   * @param {{value: any, isError?: boolean}} result @param {When} [when] @returns {boolean}
   */
  function editResult(session, callId, { value, isError = false }, { now = Date.now() } = {}) {
    const { messages } = session
    const index = messages.findIndex((message) => message.role === 'tool' && message.tool_call_id === callId)
    const message = messages[index]
    if (!message) return false
    const content = typeof value === 'string' ? value : JSON.stringify(value)
    const cited = message.result?.sources ? { sources: message.result.sources } : {} // they point into what was changed
    const envelope = isError ? { status: 'error', error: { message: content } } : { status: 'ok', result: value, ...cited }
    const { is_error: _, ...rest } = message
    const bad = isError ? { is_error: true } : {}
    const edited = { ...rest, ...bad, id: newId('msg'), content, at: now, result: envelope, meta: { edited_from: message.id } }
    const others = []
    for (let i = index + 1; messages[i]?.role === 'tool'; i++) others.push(copyOf(messages[i], messages[i].tool_call_id))
    beginBranch(session, index, [edited, ...others], { edits: 1 })
    const entry = session.calls?.[callId]
    if (entry && Object.hasOwn(session.calls ?? {}, callId)) entry.state = isError ? 'failed' : 'done'
    return true
  }

  /** The calls under new ids, and which became which. @param {ToolCall[] | undefined} calls */
  function renamed(calls) {
    /** @type {Map<string, string>} */ const ids = new Map()
    const all = calls?.map((call) => {
      ids.set(call.id, newId('call'))
      return { ...call, id: /** @type {string} */ (ids.get(call.id)) }
    })
    return { ids, field: all ? { tool_calls: all } : {} }
  }

  /**
   * The results behind a message, for its calls under their new ids; the ledger says that these have run too.
   * @param {Session} session @param {number} index @param {Map<string, string>} ids
   */
  function carried(session, index, ids) {
    /** @type {Message[]} */ const copies = []
    for (const message of session.messages.slice(index + 1, endOf(session, index))) {
      const callId = ids.get(message.tool_call_id ?? '')
      if (!callId) continue
      copies.push(copyOf(message, callId))
      const entry = session.calls?.[message.tool_call_id ?? '']
      if (session.calls && entry) session.calls[callId] = { ...entry }
    }
    return copies
  }

  /** @param {Message} message a result @param {string | undefined} callId */
  const copyOf = (message, callId) => ({ ...message, id: newId('msg'), tool_call_id: callId })

  /**
   * A new session that begins with this one up to a message. Its branches, approvals and what it spent stay behind.
   * @param {Session} session @param {string} id of the message @param {{title?: string} & When} [how] @returns {Session}
   */
  function forkSession(session, id, { title = session.title, now = Date.now() } = {}) {
    const messages = structuredClone(session.messages.slice(0, endOf(session, indexOf(session, id))))
    const called = new Set(messages.flatMap(callsOf).map((call) => call.id))
    const answered = new Set(messages.map((message) => message.tool_call_id))
    const { config, agent, character, tools, environment, plan } = session
    const made = create({ id: uuid(), title, now })
    Object.assign(made, JSON.parse(JSON.stringify({ config, agent, character, tools, environment, plan })))
    const entries = Object.entries(session.calls ?? {}).filter(([callId]) => called.has(callId))
    made.calls = structuredClone(Object.fromEntries(entries))
    const waits = (/** @type {Interrupt} */ one) => called.has(one.call_id ?? '') && !answered.has(one.call_id)
    made.interrupts = structuredClone((session.interrupts ?? []).filter(waits))
    made.status = made.interrupts.length ? 'interrupted' : 'completed'
    made.messages = messages
    made.ext = { ...(session.ext?.paused ? { paused: true } : {}), forked_from: { session: session.id, message: id }, tree: { branches: [], active: { fresh: { edits: 0, aside: 0 } } } }
    return made
  }

  return { fork, takeBack, retry, editMessage, editArguments, editResult, forkSession }
})
