// When what happened: one bar for each model call, tool, wait for a person and further attempt, read off the times a
// session keeps. The waits of people are bars of their own, so that "it was slow" and "I was away" are told apart.
//
// An answer's `at` is its first event, `meta.ms` its whole time and `meta.first_ms` the part before the first word; a
// result's `at` is its end and `result.duration_ms` its time.

yaa.define('ext/inspector/timeline', ['core/usage'], ({ ofMessage }) => {
  /** A pause before a tool that is longer than any server takes: somebody was asked. */
  const ASKED_MS = 1200
  /** An answer whose first word took this share of it, and this long, has stalled. */
  const STALL_MS = 8000

  /**
   * @param {Session} session @param {{live?: boolean}} [options] live: an open answer is being written, not cut off
   * @returns {Timeline}
   */
  function timeline(session, { live = false } = {}) {
    const messages = (Array.isArray(session.messages) ? session.messages : []).filter((one) => one && typeof one === 'object')
    const results = new Map(messages.filter((one) => one.role === 'tool').map((one) => [one.tool_call_id, one]))
    /** @type {Bar[]} */
    const bars = []
    let end = 0
    messages.forEach((message, n) => {
      if (!Number.isFinite(message.at) || message.role === 'tool') return
      if (message.role === 'user') {
        if (end && message.at > end) bars.push(bar('human', 'you', end, message.at, message.id))
        end = Math.max(end, message.at)
        return
      }
      if (message.role === 'error') return void bars.push({ ...bar('error', '', message.at, message.at, message.id), failed: true })
      if (message.role !== 'assistant') return
      const again = messages[n - 1]?.role === 'error'
      const model = modelBar(message, again, live)
      bars.push(model)
      end = Math.max(end, model.to)
      for (const one of toolBars(session, message, results, end)) {
        bars.push(one)
        end = Math.max(end, one.to)
      }
    })
    return { bars, ...spanOf(bars), totals: totalsOf(bars) }
  }

  /** @param {Message} message @param {boolean} again @param {boolean} live @returns {Bar} */
  function modelBar(message, again, live) {
    const usage = ofMessage(message)
    const from = message.at - usage.first_ms
    const name = typeof message.meta?.model === 'string' ? message.meta.model : ''
    return {
      ...bar(again ? 'retry' : 'model', name, from, from + Math.max(usage.ms, 0), message.id),
      tokens: usage.total, cost_micro: usage.cost_micro, cost_unit: usage.cost_unit, first_ms: usage.first_ms,
      ...(usage.first_ms > STALL_MS ? { stalled: true } : {}), ...(message.open && !live ? { failed: true } : {}),
    }
  }

  /**
   * @param {Session} session @param {Message} message @param {Map<any, Message>} results @param {number} ready when the model had asked
   * @returns {Bar[]}
   */
  function toolBars(session, message, results, ready) {
    /** @type {Bar[]} */
    const found = []
    const calls = (Array.isArray(message.tool_calls) ? message.tool_calls : []).filter((call) => call && typeof call === 'object')
    for (const call of calls) {
      const result = results.get(call.id)
      if (!result || !Number.isFinite(result.at)) continue
      const took = Number(result.result?.duration_ms ?? 0) || 0
      const from = Math.max(result.at - took, Math.min(ready, result.at))
      const entry = session.calls && Object.hasOwn(session.calls, call.id) ? session.calls[call.id] : undefined
      const name = String(call.function?.name ?? '')
      const one = { ...bar((entry?.attempt ?? 1) > 1 ? 'retry' : 'tool', name, from, result.at, message.id), call: call.id }
      found.push({ ...one, ...(result.is_error ? { failed: true } : {}) })
    }
    found.sort((a, b) => a.from - b.from)
    const first = found[0]
    const asked = first && first.from - ready > ASKED_MS
    if (!asked) return found
    const what = first.name === 'ask_user' ? 'answer' : 'approval'
    return [{ ...bar('human', what, ready, first.from, message.id), call: first.call }, ...found]
  }

  /** @param {Bar['kind']} kind @param {string} name @param {number} from @param {number} to @param {string} message @returns {Bar} */
  const bar = (kind, name, from, to, message) => ({ kind, name, from, to, ms: to - from, message })

  /** @param {Bar[]} bars */
  function spanOf(bars) {
    if (!bars.length) return { from: 0, to: 0 }
    const from = bars.reduce((least, one) => Math.min(least, one.from), Infinity)
    return { from, to: bars.reduce((most, one) => Math.max(most, one.to), -Infinity) }
  }

  /** Time by kind; tools that ran side by side count once. @param {Bar[]} bars @returns {Record<string, number>} */
  function totalsOf(bars) {
    /** @type {Record<string, number>} */
    const totals = {}
    for (const kind of ['model', 'tool', 'human', 'retry']) {
      const own = bars.filter((one) => one.kind === kind).sort((a, b) => a.from - b.from)
      let [sum, covered] = [0, -Infinity]
      for (const { from, to } of own) {
        sum += Math.max(0, to - Math.max(from, covered))
        covered = Math.max(covered, to)
      }
      totals[kind] = sum
    }
    return totals
  }

  /**
   * Tells the part of a wait in which nothing else went on: clocks of two machines differ, so that what follows it may seem
   * to have begun before its end.
   * @param {Bar[]} busy in order
   */
  function idleIn(busy) {
    let last = -Infinity
    const ends = busy.map((one) => (last = Math.max(last, one.to))) // of all up to this one
    return (/** @type {Bar} */ wait) => {
      const from = Math.max(wait.from, ends[count(busy, (one) => one.from <= wait.from) - 1] ?? -Infinity)
      const to = Math.min(wait.to, busy[count(busy, (one) => one.from <= from)]?.from ?? Infinity)
      return { from, to, ms: to - from }
    }
  }

  /**
   * The axis with long waits of people folded to a fixed length: a night away would flatten everything else.
   * @param {Bar[]} bars @param {number} most milliseconds a wait is drawn with at most
   * @returns {{place: (at: number) => number, length: number}} milliseconds from the beginning, as drawn
   */
  function axis(bars, most) {
    const { from, to } = spanOf(bars)
    const busy = bars.filter((one) => one.kind !== 'human').sort((a, b) => a.from - b.from)
    const idle = idleIn(busy)
    const folds = bars.filter((one) => one.kind === 'human').map(idle).filter((one) => one.ms > most).sort((a, b) => a.to - b.to)
    let sum = 0
    const cuts = [0, ...folds.map((one) => (sum += one.ms - most))]
    const place = (/** @type {number} */ at) => {
      const over = count(folds, (one) => one.to <= at)
      let cut = cuts[over]
      for (let i = over; i < folds.length && folds[i].from < at; i++) cut += (at - folds[i].from) * (1 - most / folds[i].ms)
      return at - from - cut
    }
    return { place, length: Math.max(1, place(to)) }
  }

  /** How many of a sorted list come before the first that does not pass. @template T @param {T[]} sorted @param {(one: T) => boolean} passes */
  function count(sorted, passes) {
    let [low, high] = [0, sorted.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (passes(sorted[middle])) low = middle + 1
      else high = middle
    }
    return low
  }

  return { timeline, axis }
})
