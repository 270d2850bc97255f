// The one writer: `fold` applies one event to one session, and equals server/session/fold.py byte for byte (canonical
// JSON; tests/vectors/fold.json and random sequences hold the two together). Its laws:
// - total: an event that is unknown, malformed or speaks of something that is not there does nothing;
// - pure: no clock, no randomness; every id and time is in an event;
// - every prefix of a run folds to a document that may be POSTed again.
// Deltas are appended as they come: engines keep `a += b` as a rope, so a long answer costs linear time.

yaa.define('core/fold', ['core/canonical-json', 'core/crc32', 'core/patch'], ({ canonical }, { crc32 }, patches) => {
  const { parsePointer, patch, put, own, isObject } = patches
  const { hasOwn } = Object

  /** @param {Session} session changed in place @param {YaaEvent} event */
  function fold(session, event) {
    if (!isObject(event) || typeof event.type !== 'string') return
    const delta = DELTAS.get(event.type)
    if (delta) return append(session, event, delta)
    const handler = FOLDS.get(event.type)
    if (!handler || !isComplete(event)) return
    if (event.type === 'RUN_STARTED' || Array.isArray(session.messages)) handler(session, event)
  }

  /** Compute the digest of RUN_FINISHED (docs/reference/events.md). @param {Session} session @param {number} [since] */
  function digest(session, since = 0) {
    const messages = Array.isArray(session.messages) ? session.messages.slice(since) : []
    return crc32(canonical({ messages, calls: entriesOf(session, messages), interrupts: session.interrupts ?? null }))
  }

  /** Get the log entries of calls of `messages`. @param {{calls?: any}} session @param {Message[]} messages */
  function entriesOf({ calls }, messages) {
    /** @type {Record<string, Entry>} */ const found = {}
    for (const { id } of isObject(calls) ? messages.flatMap(callsOf) : []) {
      if (typeof id === 'string' && hasOwn(calls, id)) put(found, id, calls[id])
    }
    return found
  }

  /** @param {any} message @returns {ToolCall[]} those that are objects */
  const callsOf = (message) => (Array.isArray(message?.tool_calls) ? message.tool_calls.filter(isObject) : [])

  /** @param {Session} session @param {YaaEvent} event @param {Delta} delta */
  function append(session, event, { key, field, find }) {
    if (!Array.isArray(session.messages) || typeof event.delta !== 'string') return
    const target = find(session, event[key])
    if (!target) return
    const before = hasOwn(target, field) && !isBlank(target[field]) ? target[field] : ''
    if (typeof before === 'string') target[field] = before + event.delta
  }

  // -- run --

  /** @param {Session} session @param {YaaEvent} event */
  function runStarted(session, event) {
    session.status = 'in_progress'
    delete session.finish_reason
    if (!Array.isArray(session.messages)) session.messages = []
    const { run } = extra(event)
    if (isObject(run)) session.run = own(run)
  }

  /** @param {Session} session @param {YaaEvent} event */
  function runFinished(session, event) {
    const { result } = event
    if (isObject(result)) copy(session, result, ['status', 'finish_reason', 'rev'])
  }

  /** @param {Session} session @param {YaaEvent} event */
  function runError(session, event) {
    const details = extra(event)
    const id = details.message_id
    if (typeof id === 'string' && !findMessage(session, id)) {
      const code = typeof event.code === 'string' ? { code: event.code } : {}
      session.messages.push({ id, role: 'error', content: event.message, ...code, ...at(event) })
    }
    session.status = session.finish_reason = 'failed'
    copy(session, details, ['rev'])
  }

  // -- session --

  /** @param {Session} session @param {YaaEvent} event */
  function stateSnapshot(session, event) {
    const snapshot = hasOwn(event.snapshot, 'yaa') ? event.snapshot.yaa : null
    if (!isObject(snapshot)) return
    for (const key of Object.keys(session)) if (key !== 'messages') delete session[key]
    copy(session, snapshot, Object.keys(snapshot).filter((key) => key !== 'messages'))
  }

  /** @param {Session} session @param {YaaEvent} event */
  function stateDelta(session, event) {
    for (const operation of event.delta) {
      const parts = isObject(operation) ? parsePointer(operation.path) : null
      const ours = parts && parts.length > 1 && parts[0] === 'yaa' && parts[1] !== 'messages'
      if (ours) patch(session, operation, parts.slice(1))
    }
  }

  /**
   * What intake filled in inside messages: ids where there were none, or a field of one, never a whole one.
   * @param {Session} session
   * @param {YaaEvent} event
   */
  function custom(session, event) {
    const { name, value } = event
    if (name === 'yaa.ids' && typeof value === 'string') {
      session.messages.forEach((message, index) => {
        if (isObject(message) && !hasOwn(message, 'id')) message.id = `${value}_${index}`
      })
    }
    if (name !== 'yaa.messages' || !Array.isArray(value)) return
    for (const operation of value) {
      const parts = isObject(operation) ? parsePointer(operation.path) : null
      if (parts && parts.length > 1) patch(session.messages, operation, parts)
    }
  }

  /**
   * The messages of a stored session, as server/session/snapshot.py has worded them for AG-UI clients.
   * @param {Session} session
   * @param {YaaEvent} event
   */
  function messagesSnapshot(session, event) {
    session.messages = []
    for (const message of event.messages) {
      const names = isObject(message) && isObject(message.metadata) ? message.metadata['yaa.snapshot'] : null
      if (!Array.isArray(names)) continue
      const found = own(extra(message))
      for (const name of names) {
        const place = LIFTED.get(name)
        if (place && hasOwn(message, place)) found[name] = own(message[place])
      }
      session.messages.push(found)
    }
  }

  // -- the assistant's message --

  /** @param {Session} session @param {YaaEvent} event */
  function textStart(session, event) {
    openMessage(session, event.messageId, event)
  }

  /** @param {Session} session @param {YaaEvent} event */
  function textEnd(session, event) {
    const message = findMessage(session, event.messageId)
    if (!message) return
    delete message.open
    const details = extra(event)
    if (isObject(details.meta)) message.meta = own(details.meta)
    if (Array.isArray(details.media)) message.media = own(details.media)
    if (hasOwn(details, 'reasoning_details')) reasoningOf(message).details = own(details.reasoning_details)
  }

  /** @param {Session} session @param {YaaEvent} event */
  function thinkStart(session, event) {
    const { message_id: id, field } = extra(event)
    if (typeof id !== 'string') return
    const reasoning = reasoningOf(openMessage(session, id, event))
    reasoning.id = event.messageId
    if (typeof field === 'string') reasoning.field = field
  }

  /** @param {Session} session @param {string} id @param {YaaEvent} event @returns {Message} */
  function openMessage(session, id, event) {
    const found = findMessage(session, id)
    if (found) return found
    const message = { id, role: 'assistant', content: '', open: true, ...at(event) }
    session.messages.push(message)
    return message
  }

  /** @param {Message} message */
  function reasoningOf(message) {
    if (!isObject(message.reasoning)) message.reasoning = { text: '' }
    return message.reasoning
  }

  // -- tool calls --

  /** @param {Session} session @param {YaaEvent} event */
  function toolStart(session, event) {
    const message = findMessage(session, event.parentMessageId)
    if (!message || findCall(session, event.toolCallId)) return
    if (!Array.isArray(message.tool_calls)) message.tool_calls = []
    const called = { name: event.toolCallName, arguments: '' }
    message.tool_calls.push({ id: event.toolCallId, type: 'function', function: called })
  }

  /** @param {Session} session @param {YaaEvent} event */
  function toolEnd(session, event) {
    const call = findCall(session, event.toolCallId)
    if (call) copy(call, extra(event), ['extra'])
  }

  /**
   * The result goes behind its call's message and that message's earlier results, where the official AG-UI reducer
   * puts it. The first result of a call wins.
   * @param {Session} session @param {YaaEvent} event
   */
  function toolResult(session, event) {
    const { messages } = session
    const id = event.toolCallId
    let where = ownerIndex(messages, id) + 1
    if (!where) return
    for (; where < messages.length && messages[where]?.role === 'tool'; where++) {
      if (messages[where].tool_call_id === id) return
    }
    const details = extra(event)
    const { name = '', state = 'done' } = details
    /** @type {Message} */
    const message = { id: event.messageId, role: 'tool', tool_call_id: id, name, content: event.content, ...at(event) }
    copy(message, details, ['is_error', 'result'])
    messages.splice(where, 0, message)
    const { calls } = session
    if (isObject(calls) && hasOwn(calls, id) && isObject(calls[id])) calls[id].state = own(state)
    if (Array.isArray(session.interrupts)) {
      session.interrupts = session.interrupts.filter((item) => !isObject(item) || item.call_id !== id)
    }
  }

  // -- finding --

  /** @param {Session} session @param {any} id @returns {Message | undefined} */
  function findMessage(session, id) {
    if (typeof id !== 'string') return undefined
    return session.messages.findLast((message) => isObject(message) && message.id === id)
  }

  /** @param {Session} session @param {any} id @returns {any} the `reasoning` of a message */
  function findReasoning(session, id) {
    if (typeof id !== 'string') return undefined
    return session.messages.findLast((message) => isObject(message?.reasoning) && message.reasoning.id === id)?.reasoning
  }

  /** @param {Session} session @param {any} id @returns {any} */
  function findCall(session, id) {
    const owner = session.messages[ownerIndex(session.messages, id)]
    return callsOf(owner).find((call) => call.id === id)
  }

  /** @param {Session} session @param {any} id @returns {any} the `function` of a call */
  function findFunction(session, id) {
    const call = findCall(session, id)
    return isObject(call?.function) ? call.function : undefined
  }

  /** @param {Message[]} messages @param {any} id @returns {number} of the message that made the call, or -1 */
  function ownerIndex(messages, id) {
    if (typeof id !== 'string') return -1
    return messages.findLastIndex((message) => callsOf(message).some((call) => call.id === id))
  }

  /** What rides under `metadata.yaa`. @param {YaaEvent} event @returns {any} */
  function extra(event) {
    const ours = isObject(event.metadata) ? event.metadata.yaa : null
    return isObject(ours) ? ours : {}
  }

  /** @param {YaaEvent} event */
  const at = (event) => (hasOwn(event, 'timestamp') ? { at: event.timestamp } : {})

  /** @param {object} target @param {any} source @param {string[]} keys those that are there */
  function copy(target, source, keys) {
    for (const key of keys) if (hasOwn(source, key)) put(target, key, own(source[key]))
  }

  /** What Python calls false. @param {any} value */
  const isBlank = (value) => !value || (typeof value === 'object' && Object.keys(value).length === 0)

  // -- the tables --

  /** @typedef {(value: any) => boolean} Check */
  const STRING = (/** @type {any} */ value) => typeof value === 'string'
  /** @type {Map<string, Record<string, Check>>} what an event must bring to be folded at all */
  const REQUIRED = new Map(Object.entries(/** @type {Record<string, Record<string, Check>>} */ ({
    RUN_ERROR: { message: STRING },
    STATE_SNAPSHOT: { snapshot: isObject },
    STATE_DELTA: { delta: Array.isArray },
    MESSAGES_SNAPSHOT: { messages: Array.isArray },
    CUSTOM: { name: STRING },
    TEXT_MESSAGE_START: { messageId: STRING },
    TEXT_MESSAGE_END: { messageId: STRING },
    REASONING_MESSAGE_START: { messageId: STRING },
    TOOL_CALL_START: { toolCallId: STRING, toolCallName: STRING },
    TOOL_CALL_END: { toolCallId: STRING },
    TOOL_CALL_RESULT: { toolCallId: STRING, messageId: STRING, content: STRING },
  })))

  /** What a message of ours shares with its AG-UI counterpart, and what it is called there. */
  const LIFTED = new Map([
    ['id', 'id'], ['role', 'role'], ['content', 'content'], ['tool_calls', 'toolCalls'], ['tool_call_id', 'toolCallId'],
  ])

  const FOLDS = new Map(Object.entries({
    RUN_STARTED: runStarted,
    RUN_FINISHED: runFinished,
    RUN_ERROR: runError,
    STATE_SNAPSHOT: stateSnapshot,
    STATE_DELTA: stateDelta,
    MESSAGES_SNAPSHOT: messagesSnapshot,
    CUSTOM: custom,
    TEXT_MESSAGE_START: textStart,
    TEXT_MESSAGE_END: textEnd,
    REASONING_MESSAGE_START: thinkStart,
    TOOL_CALL_START: toolStart,
    TOOL_CALL_END: toolEnd,
    TOOL_CALL_RESULT: toolResult,
  }))

  /** @typedef {{key: string, field: string, find: (session: Session, id: any) => any}} Delta */
  /** @type {Map<string, Delta>} the id a delta carries, the field it extends, and where that field lives */
  const DELTAS = new Map(Object.entries({
    TEXT_MESSAGE_CONTENT: { key: 'messageId', field: 'content', find: findMessage },
    REASONING_MESSAGE_CONTENT: { key: 'messageId', field: 'text', find: findReasoning },
    TOOL_CALL_ARGS: { key: 'toolCallId', field: 'arguments', find: findFunction },
  }))

  /** @param {YaaEvent} event */
  function isComplete(event) {
    const required = REQUIRED.get(event.type) ?? {}
    return Object.entries(required).every(([key, fits]) => fits(event[key]))
  }

  return { fold, digest, entriesOf }
})
