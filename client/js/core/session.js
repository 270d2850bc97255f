// The client's own changes of a session (create, append, answer) and queries on it. The server changes a session
// through events only (core/fold).

yaa.define('core/session', ['core/ids', 'core/patch'], ({ uuid, id }, { put, isObject }) => {
  /** States of a call that may have had its effect already (server/agent/call_decisions.py). */
  const MAYBE_EXECUTED = ['started', 'done', 'failed']
  const { hasOwn } = Object
  const TITLE_MAX = 60

  /**
   * A session that nobody has sent yet; the server fills in the rest.
   * @param {{id?: string, title?: string, character?: string, agent?: string, config?: any, tools?: any[], now?: number}} [options]
   * @returns {Session}
   */
  function create({ id = uuid(), now = Date.now(), ...given } = {}) {
    /** @type {Session} */
    const session = { id, version: 1, rev: 0, start_time: new Date(now).toISOString().replace(/\.\d+Z$/, 'Z'), messages: [] }
    for (const [key, value] of Object.entries(given)) if (value !== undefined) session[key] = value
    return session
  }

  /**
   * @param {Session} session
   * @param {any} content text or parts
   * @param {{id?: string, now?: number}} [options]
   * @returns {Message}
   */
  function append(session, content, { id: given = id('msg'), now = Date.now() } = {}) {
    const message = { id: given, role: 'user', content: wellFormed(content), at: now }
    session.messages.push(message)
    return message
  }

  /** Replace halves of surrogate pairs in a text, or in the texts of parts: no server takes them. @param {any} content */
  function wellFormed(content) {
    if (typeof content === 'string') return content.toWellFormed()
    if (!Array.isArray(content)) return content
    return content.map((part) => (typeof part?.text === 'string' ? { ...part, text: part.text.toWellFormed() } : part))
  }

  // -- interrupts --

  /** List interrupts without an answer. @param {Session} session */
  const openInterrupts = (session) => standing(session).filter((interrupt) => !interrupt.answer)

  /** Those that ask a person something: what failed waits for nobody. @param {Session} session */
  const questionsOf = (session) => openInterrupts(session).filter(({ reason }) => reason !== 'model_error')

  /** List interrupts whose answer has no recorded effect yet. @param {Session} session */
  const answeredInterrupts = (session) => standing(session).filter((interrupt) => interrupt.answer)

  /** Tell whether a call may have had its effect. @param {Entry | null | undefined} entry */
  const hasBegun = (entry) => MAYBE_EXECUTED.includes(entry?.state ?? '')

  /** Interrupts whose call has no result. @param {Session} session @returns {Interrupt[]} */
  function standing(session) {
    const interrupts = list(session.interrupts)
    if (!interrupts.length) return []
    const results = resultsOf(session)
    return interrupts.filter((interrupt) => interrupt.call_id === undefined || !results.has(interrupt.call_id))
  }

  /**
   * Write an answer beside its question; null takes it back. Sends nothing.
   * @param {Session} session
   * @param {string} id
   * @param {Answer | null} answer
   */
  function answer(session, id, answer) {
    const interrupt = standing(session).find((each) => each.id === id)
    if (!interrupt) return false
    if (answer) interrupt.answer = answer
    else delete interrupt.answer
    return true
  }

  /**
   * Mark calls that may run once the approvals are sent (docs/reference/session.md, resume rule 5). The stored copy
   * (`applyMarks`) says `started`, the copy that is sent does not, or nothing would run.
   * @param {Session} session @returns {Marks}
   */
  function writeAhead(session) {
    /** @type {Marks} */
    const marks = {}
    for (const interrupt of answeredInterrupts(session)) {
      const callId = interrupt.call_id
      if (callId === undefined || !setsGoing(interrupt)) continue
      const entry = entryOf(session, callId) ?? { state: 'proposed' }
      if (hasBegun(entry)) continue
      const args = interrupt.reason === 'tool_call' ? interrupt.answer?.payload?.edited_args : undefined
      const edited = args === undefined ? {} : { args }
      put(marks, callId, { ...entry, ...edited, state: 'started', attempt: (entry.attempt ?? 0) + 1 })
    }
    return marks
  }

  /** @param {Interrupt} interrupt whether its answer lets a call run */
  function setsGoing({ reason, answer }) {
    if (answer?.status !== 'resolved') return false
    if (reason === 'indeterminate') return answer.payload?.action === 'retry'
    return reason === 'tool_call' && answer.payload?.approved === true
  }

  /**
   * Copy the session for storage during a run, with the marks of approvals that the server has not yet acted on.
   * @param {Session} session @param {Marks} marks @returns {Session}
   */
  function applyMarks(session, marks) {
    const calls = { ...session.calls }
    const waiting = new Set(answeredInterrupts(session).filter(setsGoing).map((interrupt) => interrupt.call_id))
    for (const callId of Object.keys(marks)) {
      if (waiting.has(callId) && !hasBegun(entryOf(session, callId))) put(calls, callId, marks[callId])
    }
    return session.calls || Object.keys(calls).length ? { ...session, calls } : { ...session }
  }

  // -- reading --

  /**
   * The conversation for display: messages in order, with each call's ledger entry, result and question beside it.
   * @param {Session} session @param {{live?: boolean, given?: Map<string, Answer>}} [options] live: a run is
   *   writing it now; given: answers that wait for its end @returns {Item[]}
   */
  function items(session, { live = false, given = new Map() } = {}) {
    const results = resultsOf(session)
    const questions = new Map(list(session.interrupts).map((one) => [one.call_id, given.has(one.id) ? { answer: given.get(one.id), ...one } : one]))
    const called = new Set()
    /** @type {Item[]} */
    const found = []
    for (const message of list(session.messages)) {
      if (message.role === 'tool' && called.has(message.tool_call_id)) continue
      const cut = message.open === true && !live
      const calls = list(message.tool_calls).map((call) => {
        called.add(call.id)
        if (message.open) return { call } // not sent whole: it does not exist yet, and never will if it was cut
        return { call, entry: entryOf(session, call.id), result: results.get(call.id), interrupt: questions.get(call.id) }
      })
      found.push({ message, cut, calls })
    }
    return found
  }

  /** Tell why the session does not run. @param {Session} session @param {{live?: boolean}} [options] @returns {Why} */
  function stopReason(session, { live = false } = {}) {
    if (live) return { kind: 'running' }
    const messages = list(session.messages)
    if (!messages.length) return { kind: 'empty' }
    const waiting = openInterrupts(session)
    const ofRun = waiting.find((interrupt) => interrupt.reason === 'limit' || interrupt.reason === 'model_error')
    if (ofRun) return { kind: /** @type {'limit' | 'model_error'} */ (ofRun.reason), interrupt: ofRun }
    const last = messages[messages.length - 1]
    if (waiting.length && last.role !== 'user') return { kind: 'awaiting', open: waiting }
    if (last.role === 'assistant' && last.open) return { kind: 'cut', message: last }
    if (session.status === 'in_progress') return { kind: 'cut' }
    if (last.role === 'user' || answeredInterrupts(session).length) return { kind: 'ready' }
    if (session.status === 'failed') return { kind: 'failed', message: last.role === 'error' ? last : undefined }
    if (session.finish_reason === 'limit') return { kind: 'limit' }
    return { kind: 'completed' }
  }

  /**
   * Name what cut an answer off, or `empty`: after long thoughts or tool results some models stop without a word.
   * @param {Message} message @returns {'' | 'length' | 'filter' | 'broken' | 'empty'}
   */
  function endedBy({ role, meta, tool_calls, content }) {
    const reason = role === 'assistant' && !list(tool_calls).length && meta?.finish_reason
    if (typeof reason !== 'string') return ''
    if (/length|max_tokens|context_window/.test(reason)) return 'length'
    if (/filter|sensitive|refusal|safety|recitation/.test(reason)) return 'filter'
    if (/error|abort|incomplete|insufficient/.test(reason)) return 'broken'
    return reason && (typeof content === 'string' ? !content.trim() : !list(content).length) ? 'empty' : ''
  }

  /** Whether sending the session as it is would go on with something. @param {Session} session */
  const canResume = (session) => ['ready', 'cut', 'failed'].includes(stopReason(session).kind)

  /** Does the server ask before every call of this session? @param {Session} session */
  const asksAlways = (session) => session.config?.yaa?.ask === 'every_call'

  // -- branches: core/branch-tree writes them, a page without any needs only these --

  /** @param {Session} session @returns {Tree} as far as it is one: a document may come from anywhere */
  function treeOf(session) {
    const tree = session.ext?.tree
    if (!Array.isArray(tree?.branches)) return { branches: [] }
    const sound = tree.branches.every(isBranch) && isObject(tree.active ?? {})
    return sound ? tree : { branches: tree.branches.filter(isBranch) }
  }

  /** @param {any} branch @returns {branch is Branch} */
  function isBranch(branch) {
    if (!isObject(branch) || typeof branch.id !== 'string' || typeof branch.at !== 'string') return false
    const parts = isObject(branch.state) && isObject(branch.calls) && Array.isArray(branch.messages)
    return parts && branch.messages.every((/** @type {any} */ message) => isObject(message) && typeof message.id === 'string')
  }

  /**
   * Branches by age of their first message, so that switching doesn't change their order.
   * @template {{messages: Message[]}} T @param {T[]} branches @returns {T[]}
   */
  function orderOf(branches) {
    const first = (/** @type {T} */ branch) => branch.messages[0]
    return branches.toSorted((a, b) => {
      if (!first(a) || !first(b)) return Number(!first(a)) - Number(!first(b))
      return (first(a).at ?? 0) - (first(b).at ?? 0) || (first(a).id < first(b).id ? -1 : 1)
    })
  }

  /**
   * List the alternatives of each message of the active path: branch ids in order, null for the message itself. Those
   * behind the last message have the key ''.
   * @param {Session} session @returns {Map<string, (string | null)[]>}
   */
  function siblings(session) {
    const { branches } = treeOf(session)
    /** @type {Map<string, (string | null)[]>} */ const found = new Map()
    if (!branches.length) return found
    const { messages } = session
    const index = new Map(messages.map((message, i) => [message.id, i]))
    index.set('', -1)
    /** @type {Map<number, Branch[]>} */ const places = new Map()
    for (const branch of branches) {
      const place = index.get(branch.at)
      const there = places.get(place ?? NaN)
      if (there) there.push(branch)
      else if (place !== undefined) places.set(place, [branch])
    }
    for (const [place, there] of places) {
      const own = messages[place + 1]
      const all = orderOf([...there, ...(own ? [{ id: null, messages: [own] }] : [])])
      found.set(own?.id ?? '', all.map((branch) => branch.id))
    }
    return found
  }

  /** Note that a run writes the active path: it is no fresh edit any more. @param {Session} session */
  function markContinued(session) {
    const { active } = treeOf(session)
    if (active) delete active.fresh
  }

  // -- finding --

  /** @param {Message | undefined} message @returns {ToolCall[]} */
  const callsOf = (message) => list(message?.tool_calls)

  /** @param {Session} session @returns {Map<any, Message>} first result of each call */
  function resultsOf(session) {
    const results = new Map()
    for (const message of list(session.messages)) {
      if (message.role === 'tool' && !results.has(message.tool_call_id)) results.set(message.tool_call_id, message)
    }
    return results
  }

  /** @param {Session} session @param {string} callId @returns {Entry | undefined} */
  function entryOf(session, callId) {
    const calls = session.calls ?? {}
    return hasOwn(calls, callId) ? calls[callId] : undefined
  }

  /**
   * The objects of a list; a document that came from elsewhere may hold anything.
   * @template T
   * @param {T[] | undefined} value
   * @returns {T[]}
   */
  function list(value) {
    return Array.isArray(value) ? value.filter((each) => each !== null && typeof each === 'object') : []
  }

  /** Until a run has given it one: the first words. @param {Session} session @returns {string} */
  function titleOf({ title, messages }) {
    if (title) return title
    const said = messages.find((message) => message.role === 'user')?.content
    const text = Array.isArray(said) ? said.find((part) => typeof part?.text === 'string')?.text : said
    return typeof text === 'string' ? (/^<file name="([^"]*)/.exec(text)?.[1] ?? text).trim().split('\n')[0].slice(0, TITLE_MAX) : ''
  }

  return { titleOf, create, append, openInterrupts, questionsOf, answeredInterrupts, answer, writeAhead, applyMarks, items, stopReason, endedBy, canResume, asksAlways, treeOf, orderOf, siblings, callsOf, hasBegun, wellFormed, markContinued }
})
