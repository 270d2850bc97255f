// What the model sees of a session, and how much room it takes. `messages` is never cut: `context.ops` says what is
// sent in place of it, and `context.events` when the server decided so (docs/design/context.md). Operations this page
// does not know change nothing here; they are shown by their name.
//
// Tokens are estimated from the text, then brought in line with what the provider counted for the last answer.

yaa.define('core/context', ['core/usage'], ({ ofMessage }) => {
  const KNOWN = new Set(['stub', 'preview', 'args', 'summary', 'fold', 'pin', 'unpin', 'expire'])
  /** What a placeholder in place of a result costs. */
  const STUB = 20
  /** A file, or a picture of unknown size; others by their pixels, about as the server reckons. */
  const MEDIA = 1000

  /** About how many tokens: four letters are one, a Chinese character is one. @param {any} value */
  function estimate(value) {
    const text = typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value)
    let wide = 0
    for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x2e7f) wide += 1
    return Math.ceil((text.length - wide) / 4 + wide)
  }

  /** @template T @param {T[] | undefined} value @returns {T[]} */
  const objectsOf = (value) => (Array.isArray(value) ? value : []).filter((one) => one && typeof one === 'object')

  /** @param {Session} session @returns {Message[]} */
  const messagesOf = (session) => objectsOf(session.messages)

  /** @param {Session} session @returns {any[]} */
  const opsOf = (session) => objectsOf(session.context?.ops)

  /** @param {Session} session @returns {any[]} */
  const recordsOf = (session) => objectsOf(session.context?.events)

  /** @param {any} op */
  const kindOf = (op) => String(op.op ?? '?')

  /** @param {any} op @returns {any[]} */
  const idsOf = (op) => [op.ids ?? op.id ?? []].flat()

  /**
   * How each message is sent. @param {Session} session @returns {MessageView[]} one for each message
   */
  function messageViews(session) {
    const messages = messagesOf(session)
    const rows = messages.map((message, i) => {
      const full = estimateOf(message)
      const never = message.role === 'error' || (message.open === true && !isStopped(messages, i))
      return /** @type {MessageView} */ ({ message, state: never ? 'never' : 'whole', full, sent: never ? 0 : full, pinned: false })
    })
    const at = new Map(messages.map((message, index) => [message.id, index]))
    const ops = opsOf(session)
    for (const op of ops) for (const id of idsOf(op)) shrink(rows[at.get(id) ?? -1], op)
    for (const { op, from, to } of foldsOf(ops, at)) {
      for (let i = from; i <= to; i++) if (rows[i].state !== 'never') set(rows[i], 'fold', i === from ? estimate(op.text) : 0, op)
    }
    hideEarlier(session, rows)
    return rows
  }

  /** Has the user written on after this open message, whose text the model then sees? @param {Message[]} messages @param {number} i */
  function isStopped(messages, i) {
    const after = messages.slice(i + 1).find((each) => each.role !== 'error')
    return messages[i].role === 'assistant' && Boolean(messages[i].content) && after?.role === 'user'
  }

  /** Only the last so many runs are sent. @param {Session} session @param {MessageView[]} rows */
  function hideEarlier(session, rows) {
    const runs = session.config?.context?.window_runs
    if (!Number.isInteger(runs) || runs < 1) return
    const spoken = rows.flatMap(({ message }, i) => (message.role === 'user' ? [i] : []))
    for (const row of rows.slice(0, spoken.at(-runs) ?? 0)) Object.assign(row, { state: 'never', sent: 0 })
  }

  /** Messages that did not change are not measured again. @type {WeakMap<Message, {content: any, calls: any, tokens: number}>} */
  const known = new WeakMap()

  /** @param {Message} message */
  function estimateOf(message) {
    const before = known.get(message)
    if (before && !message.open && before.content === message.content && before.calls === message.tool_calls) return before.tokens
    const tokens = measured(message)
    known.set(message, { content: message.content, calls: message.tool_calls, tokens })
    return tokens
  }

  /** @param {Message} message */
  function measured(message) {
    const calls = objectsOf(message.tool_calls).map((call) => call.function)
    return contentTokens(message.content) + mediaTokens(message.role === 'assistant' ? message : message.result) + calls.reduce((sum, one) => sum + estimate(one?.name) + estimate(one?.arguments), 0) + 4
  }

  /** A picture's bytes are no words. @param {any} content @returns {number} */
  function contentTokens(content) {
    if (!Array.isArray(content)) return estimate(content)
    return objectsOf(content).reduce((sum, part) => sum + (typeof part.text === 'string' ? estimate(part.text) : MEDIA), 0)
  }

  /** What the model was shown with a result, or made. @param {any} holder the envelope or the message @returns {number} */
  const mediaTokens = (holder) => objectsOf(holder?.media).reduce((sum, { width, height }) => (
    sum + (width > 0 && height > 0 ? Math.round(Math.min(Math.max(width * height / 750, 85), 1600)) : MEDIA)
  ), 0)

  /** Of several operations the last counts, but nothing is less than one line. @param {MessageView | undefined} row @param {any} op */
  function shrink(row, op) {
    const kind = kindOf(op)
    if (!row || row.state === 'never') return
    if (kind === 'pin' || kind === 'unpin') row.pinned = kind === 'pin'
    else if (kind === 'stub' && row.message.role === 'tool') set(row, kind, Math.min(row.full, STUB), op)
    else if (row.state === 'stub') return
    else if (kind === 'preview') set(row, kind, Math.min(row.full, Math.ceil(((op.head ?? 0) + (op.tail ?? 0)) / 4) + STUB), op)
    else if (kind === 'summary') set(row, kind, Math.min(row.full, estimate(op.text) + STUB), op)
    else if (kind === 'args') set(row, kind, Math.min(row.full, contentTokens(row.message.content) + STUB), op)
  }

  /** @param {MessageView} row @param {MessageView['state']} state @param {number} sent @param {any} op */
  const set = (row, state, sent, op) => Object.assign(row, { state, sent, op })

  /**
   * A later fold takes in the earlier ones it covers; one that cuts into another is left out.
   * @param {any[]} ops @param {Map<any, number>} at @returns {{op: any, from: number, to: number}[]}
   */
  function foldsOf(ops, at) {
    /** @type {{op: any, from: number, to: number}[]} */ const chosen = []
    for (const op of ops.toReversed()) {
      const [from, to] = kindOf(op) === 'fold' ? [at.get(op.from) ?? -1, at.get(op.to) ?? -1] : [-1, -1]
      if (from >= 0 && to >= from && chosen.every((one) => to < one.from || from > one.to)) chosen.push({ op, from, to })
    }
    return chosen
  }

  /**
   * The room taken, by kind, and of how much. `measured`: the provider counted it; otherwise it is an estimate.
   * @param {Session} session @param {any} [info] of GET /info @returns {ContextUsage}
   */
  function contextUsage(session, info) {
    const rows = messageViews(session)
    const parts = {
      system: estimate(session.character) + estimate(session.environment), tools: estimate(objectsOf(info?.tools).flatMap(declared)) + estimate(session.tools),
      history: 0, results: 0, summaries: 0,
    }
    for (const { message, state, sent } of rows) {
      const key = state === 'fold' ? 'summaries' : message.role === 'tool' ? 'results' : message.role === 'system' ? 'system' : 'history'
      parts[key] += sent
    }
    const { tokens, upto } = anchor(session, rows)
    const used = tokens ? tokens + rows.slice(upto).reduce((sum, row) => sum + row.sent, 0) : sumOf(parts)
    if (tokens) bringInLine(parts, used)
    const limit = roomFrom(info, session)
    const [free, share] = limit ? [Math.max(0, limit - used), used / limit] : [null, null]
    return { used, window: limit, free, parts, measured: tokens > 0, share }
  }

  /**
   * What is known of the request so far: what the provider counted last, or what the last compaction left if it came
   * later. Thoughts are not sent again.
   * @param {Session} session @param {MessageView[]} rows @returns {{tokens: number, upto: number}} `upto`: how many messages are in it
   */
  function anchor(session, rows) {
    const record = recordsOf(session).at(-1)
    const made = Number.isInteger(record?.at) && record.at <= rows.length && record.after > 0 ? record : { at: 0, after: 0 }
    for (let place = rows.length - 1; place >= made.at; place--) {
      const { message } = rows[place]
      const usage = message.role === 'assistant' && !message.open ? ofMessage(message) : null
      if (usage?.prompt && !usage.estimated) return { tokens: usage.prompt + Math.max(0, usage.completion - usage.reasoning), upto: place + 1 }
    }
    return { tokens: made.after, upto: made.at }
  }


  /**
   * What a provider counts beyond our estimate is its own prompt around ours; less than it shrinks all.
   * @param {Record<string, number>} parts @param {number} used
   */
  function bringInLine(parts, used) {
    const sum = sumOf(parts)
    if (used >= sum) parts.system += used - sum
    else for (const key of Object.keys(parts)) parts[key] = Math.round((parts[key] * used) / sum)
  }

  /** @param {Record<string, number>} parts */
  const sumOf = (parts) => Object.values(parts).reduce((sum, one) => sum + one, 0)

  /** What a model is sent of a tool. @param {any} tool of GET /info */
  const declared = ({ name, description, parameters, policy, unavailable }) => (policy === 'deny' || unavailable ? [] : [{ name, description, parameters }])

  /**
   * The most that is sent: the window of the model a session names, as the server says, the session wants or a refusal
   * has taught, and the budget.
   * @param {any} info of GET /info @param {Session} session @returns {number | null}
   */
  function roomFrom(info, session) {
    const name = session.config?.llm_api?.provider?.name ?? 'auto'
    const models = objectsOf(info?.models)
    const model = models.find((one) => one.name === name) ?? models.find((one) => one.default)
    const { enabled, budget } = { ...info?.defaults?.config?.context, ...session.config?.context }
    const all = [model?.max_context, session.context?.windows?.[model?.name ?? name], session.config?.yaa?.max_context, enabled === false ? null : budget]
    const known = all.filter((one) => Number.isFinite(one) && one > 0)
    return known.length ? Math.min(...known) : null
  }

  /**
   * How far a run of a session may go: as the session says or a server fills in, and as far as that server lets anyone.
   * @param {Session} session @param {any} info of the server @param {string} name of the limit @returns {number | null} none
   */
  function limitOf(session, info, name) {
    const own = session.config?.limits?.[name]
    const usual = own === undefined ? info?.defaults?.config?.limits?.[name] : own
    const all = [usual, session.config?.agent?.limits?.[name], info?.limits?.session?.[name]].filter(Number.isFinite)
    return all.length ? Math.min(...all) : null
  }

  /**
   * The operations of each compaction: the server's are in the order of its records, which say how many each has. What a
   * person added (`by`) belongs to none.
   * @param {Session} session @returns {{records: {record: any, ops: any[]}[], rest: any[]}}
   */
  function passes(session) {
    const ops = opsOf(session)
    const own = ops.filter((op) => !op.by)
    let told = 0
    const records = recordsOf(session).map((record) => {
      const from = told
      told += Number.isInteger(record.ops) ? Math.max(0, record.ops) : 0
      return { record, ops: own.slice(from, told) }
    })
    return { records, rest: [...own.slice(told), ...ops.filter((op) => op.by)] }
  }

  /**
   * Where the view was made smaller: one for each compaction, or one for operations no record tells of.
   * @param {Session} session @returns {Marker[]} `after`: the id of the last message it looked at, '' if that is not here
   */
  function markers(session) {
    const messages = messagesOf(session)
    const { records, rest: others } = passes(session)
    const rest = others.filter((op) => kindOf(op) !== 'pin' && kindOf(op) !== 'unpin')
    const found = records.map(({ record, ops }, n) => markerOf(`${record.id ?? n}`, record, ops, messages[record.at - 1]?.id, messages))
    if (!rest.length) return found
    const seen = rest.flatMap((op) => [...idsOf(op), op.to]).map((id) => messages.findIndex((one) => one.id === id))
    return [...found, markerOf('rest', {}, rest, messages[Math.max(-1, ...seen)]?.id, messages)]
  }

  /** @param {string} id @param {any} record @param {any[]} ops @param {string | undefined} after @param {Message[]} messages @returns {Marker} */
  function markerOf(id, record, ops, after, messages) {
    const at = new Map(messages.map((message, index) => [message.id, index]))
    const length = (/** @type {any} */ op) => Math.max(0, (at.get(op.to) ?? -1) - (at.get(op.from) ?? 0) + 1)
    return {
      id: `context-${id}`, after: after ?? '', trigger: typeof record.trigger === 'string' ? record.trigger : '',
      before: Number.isFinite(record.before) ? record.before : null, to: Number.isFinite(record.after) ? record.after : null,
      ops: ops.map((op) => ({
        kind: kindOf(op), known: KNOWN.has(kindOf(op)), text: typeof op.text === 'string' ? op.text : '',
        count: kindOf(op) === 'fold' ? length(op) : idsOf(op).length, op,
      })),
    }
  }

  /**
   * Never make these smaller, or no longer so; the server keeps to it up to a quarter of what it sends.
   * @param {Session} session @param {string} id of a message @param {boolean} on
   */
  function pin(session, id, on) {
    session.context = { ...session.context, ops: [...opsOf(session), { op: on ? 'pin' : 'unpin', ids: [id], by: 'person' }] }
  }

  /**
   * Send a message whole again from the next turn on. Its record tells of one operation less where that is gone.
   * @param {Session} session @param {string} id
   */
  function restore(session, id) {
    const messages = messagesOf(session)
    const at = new Map(messages.map((message, index) => [message.id, index]))
    const place = at.get(id) ?? -1
    const folds = (/** @type {any} */ op) => kindOf(op) === 'fold' && (at.get(op.from) ?? Infinity) <= place && place <= (at.get(op.to) ?? -1)
    /** @param {any} op @returns {any} null: nothing of it is left */
    const without = (op) => {
      if (folds(op) || (['preview', 'args', 'summary'].includes(kindOf(op)) && op.id === id)) return null
      if (kindOf(op) !== 'stub' || !idsOf(op).includes(id)) return op
      const ids = idsOf(op).filter((one) => one !== id)
      return ids.length ? { ...op, ids } : null
    }
    const events = passes(session).records.map(({ record, ops }) => {
      const gone = ops.filter((op) => !without(op)).length
      return gone ? { ...record, ops: record.ops - gone } : record
    })
    session.context = { ...session.context, ops: opsOf(session).map(without).filter(Boolean), events }
  }

  return { estimate, messageViews, contextUsage, roomFrom, limitOf, markers, pin, restore }
})
