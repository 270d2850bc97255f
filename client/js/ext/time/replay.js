// A session as the events that make it: what was recorded of its runs where that is at hand, and for the rest events
// that would have led to the same document. Folded to the end they give the document itself, byte for byte: whatever
// the events leave different is set right by a last one.
// What people do is an event too, of a kind of its own: `yaa.local`, RFC 6902 on the whole document.

yaa.define('ext/time/replay', ['core/fold', 'core/patch', 'ext/time/event-recording'], ({ fold }, patches, { unpack, idsOf }) => {
  const { parsePointer, patch, put, own, pointer } = patches
  /** A text comes in this many pieces at most, so that a long session is not a million events. */
  const MOST_PIECES = 24
  const PIECE = 24
  /** What runs write; everything else was there before the first one. */
  const WRITTEN = new Set([
    'messages', 'calls', 'interrupts', 'status', 'finish_reason', 'usage', 'run', 'rev', 'output', 'plan', 'context',
  ])
  const { hasOwn } = Object

  /** One event on a document, a person's or a run's. @param {Session} session @param {YaaEvent} event */
  function applyEvent(session, event) {
    if (event.type !== 'yaa.local') return fold(session, event)
    for (const operation of event.ops) {
      const parts = parsePointer(operation.path)
      if (parts) patch(session, operation, parts)
    }
  }

  /**
   * @param {Session} session @param {Recording[]} [recordings] of runs; those that do not belong to this path are left out
   * @returns {Replayed}
   */
  function replay(session, recordings = []) {
    const start = /** @type {Session} */ ({})
    for (const key of Object.keys(session)) if (!WRITTEN.has(key)) put(start, key, own(session[key]))
    start.messages = []
    const messages = Array.isArray(session.messages) ? session.messages : []
    const made = new Maker(session, messages, recordings)
    made.run()
    const whole = hasTwins(messages)
    const built = sessionAfter({ start, events: made.events, whole }, made.events.length)
    const ops = corrections(built, session)
    if (ops.length) made.events.push({ type: 'yaa.local', ops, timestamp: made.time })
    return { start, events: made.events, turns: made.turns, recorded: made.recorded, whole }
  }

  /** Is an id of a message or of a call used twice? @param {Message[]} messages */
  function hasTwins(messages) {
    const ids = messages.flatMap((one) => [one?.id, ...(Array.isArray(one?.tool_calls) ? one.tool_calls.map((call) => call?.id) : [])])
    return new Set(ids).size < ids.length
  }

  /**
   * The fold looks for a message from the end of the session to its beginning when there is none; so earlier turns, which
   * no later event touches, are put aside while it works. Where ids are used twice (`whole`) nothing is put aside.
   * @param {{start: Session, events: YaaEvent[], whole?: boolean}} replayed @param {number} count of events @returns {Session}
   */
  function sessionAfter({ start, events, whole = false }, count) {
    const session = structuredClone(start)
    /** @type {Message[]} */
    let aside = []
    for (let n = 0; n < count; n++) {
      const event = events[n]
      if (!whole && beginsTurn(event)) {
        for (const message of session.messages) aside.push(message)
        session.messages = []
      } else if (aside.length && pointsAnywhere(event)) {
        session.messages = [...aside, ...session.messages]
        aside = []
      }
      applyEvent(session, event)
    }
    if (aside.length) session.messages = [...aside, ...session.messages]
    return session
  }

  /** @param {YaaEvent} event */
  const beginsTurn = (event) => event.type === 'yaa.local' && event.ops[0]?.path === '/messages/-' && event.ops[0].value?.role === 'user'

  /** Does it name messages by their place? @param {YaaEvent} event */
  const pointsAnywhere = (event) => event.type === 'CUSTOM'
    || (event.type === 'yaa.local' && event.ops.some((/** @type {any} */ one) => one.path !== '/messages/-' && one.path.startsWith('/messages')))

  class Maker {
    /** @type {YaaEvent[]} */ events = []
    /** @type {number[]} where a person spoke */ turns = []
    time = 0
    recorded = 0
    running = false
    ledgered = false
    /** @type {Set<string>} */ done = new Set()

    /** @param {Session} session @param {Message[]} messages @param {Recording[]} recordings */
    constructor(session, messages, recordings) {
      this.session = session
      this.messages = messages
      this.results = new Set(messages.filter((message) => message?.role === 'tool').map((message) => message.tool_call_id))
      const known = new Set(messages.map((message) => message?.id))
      /** @type {Map<string, {events: YaaEvent[], ids: string[]}>} */
      this.recordings = new Map()
      for (const each of recordings) {
        const events = unpack(each)
        const ids = idsOf(events)
        const fits = ids.length > 0 && ids.every((id) => known.has(id)) && !ids.some((id) => this.recordings.has(id))
        if (fits) for (const id of ids) this.recordings.set(id, { events, ids })
      }
    }

    run() {
      this.messages.forEach((message, index) => {
        const recording = this.recordings.get(message?.id)
        if (this.done.has(message?.id)) return
        if (recording) this.play(recording)
        else this.make(message, index)
      })
      if (this.running) this.finish(true)
    }

    /** @param {{events: YaaEvent[], ids: string[]}} recording */
    play({ events, ids }) {
      if (this.running) this.finish(false)
      for (const event of events) this.push(event)
      for (const id of ids) this.done.add(id)
      this.recorded += events.length
    }

    /** @param {Message} message @param {number} index */
    make(message, index) {
      const role = message?.role
      if (role === 'assistant' && typeof message.id === 'string') this.answer(message)
      else if (role === 'tool' && this.isResult(message)) this.result(message)
      else {
        if (role === 'user') {
          if (this.running) this.finish(false)
          this.turns.push(this.events.length)
        }
        this.local([{ op: 'add', path: '/messages/-', value: message }], message?.at)
        if (role === 'user' && this.messages[index + 1]) this.begin()
      }
    }

    /** @param {YaaEvent} event @param {any} [at] */
    push(event, at) {
      const given = at ?? event.timestamp
      if (Number.isFinite(given)) this.time = Math.max(this.time, given)
      this.events.push(event)
    }

    /** @param {any[]} ops @param {any} [at] */
    local(ops, at) {
      this.push({ type: 'yaa.local', ops, ...(Number.isFinite(at) ? { timestamp: at } : {}) })
    }

    begin() {
      this.running = true
      this.push({ type: 'RUN_STARTED', threadId: this.session.id })
    }

    /** @param {boolean} last the document says how the last run ended */
    finish(last) {
      this.running = false
      /** @type {any} */
      const result = { status: 'completed', finish_reason: 'completed' }
      if (last) for (const key of ['status', 'finish_reason', 'rev']) if (hasOwn(this.session, key)) result[key] = this.session[key]
      this.push({ type: 'RUN_FINISHED', result })
    }

    /** @param {Message} message */
    answer(message) {
      if (!this.running) this.begin()
      const { id, at, reasoning } = message
      if (typeof reasoning?.text === 'string') this.think(message)
      this.push({ type: 'TEXT_MESSAGE_START', messageId: id, role: 'assistant', ...stamp(at) })
      if (typeof message.content === 'string') {
        for (const delta of pieces(message.content)) this.push({ type: 'TEXT_MESSAGE_CONTENT', messageId: id, delta })
      }
      const calls = Array.isArray(message.tool_calls) ? message.tool_calls : []
      for (const call of calls) this.call(call, id)
      if (message.open) return
      const end = Number.isFinite(at) && Number.isFinite(message.meta?.ms) ? at + message.meta.ms - (message.meta.first_ms ?? 0) : undefined
      const ours = { ...(message.meta ? { meta: message.meta } : {}),
        ...(reasoning?.details ? { reasoning_details: reasoning.details } : {}) }
      this.push({ type: 'TEXT_MESSAGE_END', messageId: id, ...stamp(end), metadata: { yaa: ours } })
      for (const call of calls) this.ledger(call?.id)
    }

    /** @param {Message} message */
    think({ id, at, reasoning }) {
      const span = typeof reasoning.id === 'string' ? reasoning.id : `think-${id}`
      this.push({
        type: 'REASONING_MESSAGE_START', messageId: span, role: 'reasoning', ...stamp(at),
        metadata: { yaa: { message_id: id, ...(reasoning.field ? { field: reasoning.field } : {}) } },
      })
      for (const delta of pieces(reasoning.text)) this.push({ type: 'REASONING_MESSAGE_CONTENT', messageId: span, delta })
      this.push({ type: 'REASONING_MESSAGE_END', messageId: span })
    }

    /** @param {any} call @param {string} owner */
    call(call, owner) {
      if (typeof call?.id !== 'string' || typeof call.function?.name !== 'string') return
      this.push({ type: 'TOOL_CALL_START', toolCallId: call.id, toolCallName: call.function.name, parentMessageId: owner })
      for (const delta of pieces(String(call.function.arguments ?? ''))) this.push({ type: 'TOOL_CALL_ARGS', toolCallId: call.id, delta })
      this.push({ type: 'TOOL_CALL_END', toolCallId: call.id, ...(call.extra ? { metadata: { yaa: { extra: call.extra } } } : {}) })
    }

    /** The entry of the ledger before the call's result. @param {any} id */
    ledger(id) {
      const calls = this.session.calls
      if (typeof id !== 'string' || !calls || !hasOwn(calls, id)) return
      const entry = this.results.has(id) ? { ...calls[id], state: calls[id]?.attempt ? 'started' : 'proposed' } : calls[id]
      const delta = this.ledgered ? [] : [{ op: 'add', path: '/yaa/calls', value: {} }]
      this.ledgered = true
      this.push({ type: 'STATE_DELTA', delta: [...delta, { op: 'add', path: `/yaa${pointer('calls', id)}`, value: entry }] })
    }

    /** @param {Message} message */
    result(message) {
      const { name, is_error: bad, result, tool_call_id: id, at } = message
      const calls = this.session.calls
      const state = calls && id !== undefined && hasOwn(calls, id) ? calls[id]?.state : bad ? 'failed' : 'done'
      const ours = { ...(name ? { name } : {}), state, ...(bad === undefined ? {} : { is_error: bad }),
        ...(result === undefined ? {} : { result }) }
      this.push({ type: 'TOOL_CALL_RESULT', messageId: message.id, toolCallId: id, content: message.content, ...stamp(at),
        metadata: { yaa: ours } })
    }

    /** Could an event have made it? @param {Message} message */
    isResult({ id, tool_call_id: call, content }) {
      return this.running && [id, call, content].every((value) => typeof value === 'string')
    }
  }

  /** @param {any} at */
  const stamp = (at) => (Number.isFinite(at) ? { timestamp: at } : {})

  /** A text cut where words end, into a few dozen pieces at most. @param {string} text @returns {string[]} */
  function pieces(text) {
    const size = Math.max(PIECE, Math.ceil(text.length / MOST_PIECES))
    const found = []
    let from = 0
    while (from < text.length) {
      let to = Math.min(text.length, from + size)
      const space = text.indexOf(' ', to)
      if (space >= 0 && space < to + PIECE) to = space + 1
      if (/[\ud800-\udbff]/.test(text[to - 1])) to += 1
      found.push(text.slice(from, to))
      from = to
    }
    return found
  }

  /** What is still to be changed in `built` to make it `wanted`. @param {any} built @param {any} wanted @returns {any[]} */
  function corrections(built, wanted) {
    const ops = []
    for (const key of Object.keys(built)) if (!hasOwn(wanted, key)) ops.push({ op: 'remove', path: pointer(key) })
    for (const key of Object.keys(wanted)) {
      const inside = key === 'messages' && Array.isArray(wanted.messages) && wanted.messages.length === built.messages.length
      if (!inside && hasOwn(built, key) && equal(built[key], wanted[key])) continue
      if (!inside) ops.push({ op: 'add', path: pointer(key), value: wanted[key] })
      else wanted.messages.forEach((/** @type {any} */ message, /** @type {number} */ i) => {
        if (!equal(message, built.messages[i])) ops.push({ op: 'replace', path: pointer('messages', i), value: message })
      })
    }
    return ops
  }

  /** @param {any} a @param {any} b @returns {boolean} JSON that is the same but for the order of its keys */
  function equal(a, b) {
    if (a === b) return true
    if (typeof a !== 'object' || typeof b !== 'object' || !a || !b || Array.isArray(a) !== Array.isArray(b)) return false
    const keys = Object.keys(a)
    return keys.length === Object.keys(b).length && keys.every((key) => hasOwn(b, key) && equal(a[key], b[key]))
  }

  return { replay, sessionAfter, applyEvent }
})
