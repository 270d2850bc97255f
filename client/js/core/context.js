// What the model sees of a session, and how much room it takes. `messages` is never cut: `context.ops` says what is
// sent in place of it (docs/reference/session.md). Operations this page does not know change nothing here; they are
// shown by their name.
//
// Tokens are estimated from the text, then brought in line with what the provider counted for the last answer.

yaa.define('core/context', ['core/usage'], ({ ofMessage }) => {
  const HANDLE = /^m(\d+)(?:#(\d+))?$/
  const KNOWN = new Set(['stub', 'preview', 'args', 'fold', 'pin', 'unpin', 'expire'])
  /** What a placeholder in place of a result costs. */
  const STUB = 20

  /** About how many tokens: four letters are one, a Chinese character is one. @param {any} value */
  function estimate(value) {
    const text = typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value)
    let wide = 0
    for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x2e7f) wide += 1
    return Math.ceil((text.length - wide) / 4 + wide)
  }

  /** @param {Session} session @returns {Message[]} */
  const messagesOf = (session) => (Array.isArray(session.messages) ? session.messages : []).filter((one) => one && typeof one === 'object')

  /** @param {Session} session @returns {any[]} */
  const opsOf = (session) => (Array.isArray(session.context?.ops) ? session.context.ops : [])
    .filter((/** @type {any} */ one) => one && typeof one === 'object')

  /** @param {any} op */
  const kindOf = (op) => String(op.op ?? op.kind ?? op.type ?? '?')

  /**
   * How each message is sent. @param {Session} session @returns {LensRow[]} one for each message
   */
  function lens(session) {
    const messages = messagesOf(session)
    const rows = messages.map((message) => {
      const full = estimateOf(message)
      const never = message.role === 'error' || message.open === true
      return /** @type {LensRow} */ ({ message, state: never ? 'never' : 'whole', full, sent: never ? 0 : full, pinned: false })
    })
    for (const op of opsOf(session)) apply(op, rows, messages)
    return rows
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
    const calls = Array.isArray(message.tool_calls) ? message.tool_calls.map((call) => call?.function) : []
    return estimate(message.content) + calls.reduce((sum, one) => sum + estimate(one?.name) + estimate(one?.arguments), 0) + 4
  }

  /** @param {any} op @param {LensRow[]} rows @param {Message[]} messages */
  function apply(op, rows, messages) {
    const kind = kindOf(op)
    const targets = kind === 'fold' ? rangeOf(op, messages) : [op.ids ?? op.id ?? []].flat().map((id) => indexOf(messages, id))
    for (const index of targets) {
      const row = rows[index]
      if (!row || row.state === 'never') continue
      if (kind === 'pin' || kind === 'unpin') row.pinned = kind === 'pin'
      else if (kind === 'stub' || kind === 'expire') set(row, kind, Math.min(row.full, STUB), op)
      else if (kind === 'preview') set(row, kind, Math.min(row.full, Math.ceil(((op.head ?? 0) + (op.tail ?? 0)) / 4) + STUB), op)
      else if (kind === 'args') set(row, kind, Math.min(row.full, estimate(row.message.content) + STUB), op)
      else if (kind === 'fold') set(row, kind, index === targets[0] ? estimate(op.text) : 0, op)
    }
  }

  /** @param {LensRow} row @param {LensRow['state']} state @param {number} sent @param {any} op */
  const set = (row, state, sent, op) => Object.assign(row, { state, sent, op })

  /** @param {any} op @param {Message[]} messages @returns {number[]} */
  function rangeOf(op, messages) {
    const [from, to] = [indexOf(messages, op.from), indexOf(messages, op.to)]
    if (from < 0 || to < from) return []
    return Array.from({ length: to - from + 1 }, (_, i) => from + i)
  }

  /** A message by its id, by the id of its call, or by a handle such as m12 or m12#0. @param {Message[]} messages @param {any} id */
  function indexOf(messages, id) {
    const byId = messages.findIndex((one) => one.id === id)
    if (byId >= 0) return byId
    const byCall = messages.findIndex((one) => one.role === 'tool' && one.tool_call_id === id)
    if (byCall >= 0) return byCall
    const handle = HANDLE.exec(String(id))
    if (!handle) return -1
    if (handle[2] === undefined) return Number(handle[1]) < messages.length ? Number(handle[1]) : -1
    const call = messages[Number(handle[1])]?.tool_calls?.[Number(handle[2])]
    return call ? messages.findIndex((one) => one.role === 'tool' && one.tool_call_id === call.id) : -1
  }

  /**
   * The room taken, by kind. `measured`: the provider counted it; otherwise it is an estimate.
   * @param {Session} session @param {{window?: number | null, tools?: any[]}} [known] @returns {Gauge}
   */
  function gauge(session, { window = null, tools = [] } = {}) {
    const rows = lens(session)
    const parts = {
      system: estimate(session.character) + estimate(session.environment), tools: estimate(tools) + estimate(session.tools),
      history: 0, results: 0, summaries: 0,
    }
    for (const { message, state, sent } of rows) {
      const key = state === 'fold' ? 'summaries' : message.role === 'tool' ? 'results' : message.role === 'system' ? 'system' : 'history'
      parts[key] += sent
    }
    const last = rows.findLast(({ message }) => message.role === 'assistant' && !message.open && ofMessage(message).prompt > 0)?.message
    const counted = last && !ofMessage(last).estimated ? ofMessage(last).prompt + ofMessage(last).completion : 0
    const since = last ? rows.slice(rows.findIndex((row) => row.message === last) + 1).reduce((sum, row) => sum + row.sent, 0) : 0
    const used = counted ? counted + since : sumOf(parts)
    if (counted) bringInLine(parts, used)
    const limit = windowOf(session, window)
    const [free, share] = limit ? [Math.max(0, limit - used), used / limit] : [null, null]
    return { used, window: limit, free, parts, measured: counted > 0, share }
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

  /** @param {Session} session @param {number | null} window */
  function windowOf(session, window) {
    const own = session.config?.yaa?.max_context
    const both = [own, window].filter((one) => Number.isFinite(one) && Number(one) > 0)
    return both.length ? Math.min(...both) : null
  }

  /**
   * The window of the model a session names, as far as the server says.
   * @param {any} info of GET /info @param {Session} session @returns {number | null}
   */
  function windowFrom(info, session) {
    const name = session.config?.llm_api?.provider?.name ?? 'auto'
    const models = Array.isArray(info?.models) ? info.models : []
    const model = models.find((/** @type {any} */ one) => one.name === name) ?? models.find((/** @type {any} */ one) => one.default)
    return Number.isFinite(model?.max_context) ? model.max_context : null
  }

  /**
   * Where the view was made smaller: one for each compaction, or one for operations no event tells of.
   * @param {Session} session @returns {Marker[]} `after`: the id of the last message it looked at, '' if that is not here
   */
  function markers(session) {
    const messages = messagesOf(session)
    const events = (Array.isArray(session.context?.events) ? session.context.events : [])
      .filter((/** @type {any} */ one) => one && typeof one === 'object')
    const told = events.flatMap((/** @type {any} */ one) => (Array.isArray(one.ops) ? one.ops : [])).length
    const rest = opsOf(session).slice(told)
    /** @type {Marker[]} */
    const found = events.map((/** @type {any} */ event, /** @type {number} */ n) => markerOf(`${event.id ?? n}`, event, messages))
    if (rest.length) {
      const after = rest.flatMap((op) => [op.to ?? op.ids ?? op.id ?? []].flat()).map((id) => indexOf(messages, id))
      const upto = messages[Math.max(-1, ...after)]?.id
      found.push(markerOf('rest', { ops: rest, upto }, messages))
    }
    return found
  }

  /** @param {string} id @param {any} event @param {Message[]} messages @returns {Marker} */
  function markerOf(id, event, messages) {
    const ops = (Array.isArray(event.ops) ? event.ops : []).filter((/** @type {any} */ one) => one && typeof one === 'object')
    const at = messages[indexOf(messages, event.upto)]
    return {
      id: `context-${id}`, after: at?.id ?? '', trigger: typeof event.trigger === 'string' ? event.trigger : '',
      before: Number.isFinite(event.before) ? event.before : null, to: Number.isFinite(event.after) ? event.after : null,
      ops: ops.map((/** @type {any} */ op) => ({
        kind: kindOf(op), known: KNOWN.has(kindOf(op)), text: typeof op.text === 'string' ? op.text : '',
        count: kindOf(op) === 'fold' ? rangeOf(op, messages).length : [op.ids ?? op.id ?? []].flat().length, op,
      })),
    }
  }

  return { estimate, lens, gauge, windowFrom, markers }
})
