// Changing what was said and done, to go on from there. Nothing is overwritten: each change begins a branch (core/branch-tree)
// whose changed message says what it was made from (`meta.edited_from`), so a transcript is never silently falsified.
// An edit changes words, not what happened: calls keep their ids, with what the ledger says of them, and results keep
// the files they left. Only a call with other arguments is another call, and gets an id of its own.

yaa.define('core/message-edits', ['core/ids', 'core/branch-tree', 'core/session', 'core/workspace-stand'], (
  { id: newId, uuid }, { beginBranch }, { create, callsOf, wellFormed }, { standOf },
) => {
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
    const { open, ...rest } = message
    if (open) delete rest.tool_calls
    replace(session, index, { ...rest, content: wellFormed(content), at: now, meta: { edited_from: id } }, open ? [] : session.messages.slice(index + 1, endOf(session, index)))
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
    const id = newId('call')
    const text = wellFormed(typeof args === 'string' ? args : JSON.stringify(args))
    const calls = message.tool_calls?.map((call) => (call.id === callId ? { ...call, id, function: { ...call.function, arguments: text } } : call))
    const results = session.messages.slice(index + 1, endOf(session, index)).filter((result) => result.tool_call_id !== callId)
    replace(session, index, { ...message, tool_calls: calls, at: now, meta: { edited_from: message.id, edited_call: id } }, results)
    return true
  }

  /**
   * Another result for a call: what the model will read in place of what the tool returned. The files stay as the call left them.
   * @param {Session} session @param {string} callId
   * @param {{value: any, isError?: boolean}} result @param {When} [when] @returns {boolean}
   */
  function editResult(session, callId, { value, isError = false }, { now = Date.now() } = {}) {
    const { messages } = session
    const index = messages.findIndex((message) => message.role === 'tool' && message.tool_call_id === callId)
    const message = messages[index]
    if (!message) return false
    const content = wellFormed(typeof value === 'string' ? value : JSON.stringify(value))
    const { is_error: _, result, ...rest } = message
    const { status: _status, result: _result, error: _error, ...facts } = result ?? {}
    const outcome = isError ? { status: 'error', error: { message: content } } : { status: 'ok', result: typeof value === 'string' ? content : value }
    const edited = { ...rest, ...(isError ? { is_error: true } : {}), content, at: now, result: { ...outcome, ...facts }, meta: { edited_from: message.id } }
    const end = messages.findIndex((each, i) => i > index && each.role !== 'tool')
    replace(session, index, edited, messages.slice(index + 1, end < 0 ? undefined : end))
    return true
  }

  /**
   * Begin a branch with an edited message and the results that stay behind it, under new ids; the files of a message stay with its copy.
   * @param {Session} session @param {number} index @param {any} edited @param {Message[]} results
   */
  function replace(session, index, edited, results) {
    const { workspace } = session
    const before = [session.messages[index], ...results]
    const after = [edited, ...results].map((message) => ({ ...message, id: newId('msg') }))
    beginBranch(session, index, after, { edits: 1 })
    const copy = after[before.findIndex(({ id }) => id === workspace?.message)]
    if (copy) session.workspace = { ...workspace, message: copy.id }
  }

  /** Tell whether a change lets the next run put the files back as they were earlier. @param {Session} session @param {(session: Session) => any} change */
  function takesFilesBack(session, change) {
    const after = structuredClone({ ...session, ext: undefined })
    change(after)
    return standOf(after) !== standOf(session)
  }

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

  return { fork, takeBack, retry, editMessage, editArguments, editResult, takesFilesBack, forkSession }
})
