// Two runs side by side. Steps are aligned by what was done (kind, tool, arguments with their keys in order), so that
// one step more does not shift all that follow; texts and results are then compared where the steps meet.

yaa.define('ext/inspector/run-diff', ['core/canonical-json', 'core/diff', 'core/patch', 'core/usage'], ({ canonical, equal }, diff, { parseJson }, usage) => {
  const WORDS = new Set(['user', 'answer', 'error', 'system'])

  /** What a session did, step by step. @param {Session} session @returns {RunStep[]} */
  function steps(session) {
    const messages = (Array.isArray(session.messages) ? session.messages : []).filter((one) => one && typeof one === 'object')
    const results = new Map(messages.filter((one) => one.role === 'tool').map((one) => [one.tool_call_id, one]))
    /** @type {RunStep[]} */
    const found = []
    for (const message of messages) {
      const text = textOf(message.content)
      const { role } = message
      if (role === 'user' || role === 'error' || role === 'system') found.push(step(role, '', '', text, message.id))
      if (message.role !== 'assistant' || message.open) continue
      if (text) found.push(step('answer', '', '', text, message.id))
      for (const call of Array.isArray(message.tool_calls) ? message.tool_calls : []) {
        const result = results.get(call?.id)
        const args = normal(call?.function?.arguments)
        found.push({ ...step('call', String(call?.function?.name ?? ''), args, textOf(result?.content), message.id), call: call?.id,
          failed: result?.is_error === true })
      }
    }
    return found
  }

  /**
   * @param {RunStep['kind']} kind @param {string} name @param {string} args @param {string} text @param {string} message
   * @returns {RunStep}
   */
  const step = (kind, name, args, text, message) => ({ kind, name, args, text, message })

  /** Arguments that mean the same read the same. @param {any} source */
  function normal(source) {
    const value = parseJson(source || '{}')
    return value === source ? String(source) : canonical(value)
  }

  /**
   * @param {Session} before @param {Session} after
   * @returns {RunDiff}
   */
  function compare(before, after) {
    const [a, b] = [steps(before), steps(after)]
    const same = (/** @type {RunStep} */ x, /** @type {RunStep} */ y) => x.kind === y.kind && x.name === y.name && x.args === y.args
    /** @type {RunRow[]} */
    const rows = []
    for (const { op, before: i, after: j } of diff.align(a, b, same)) {
      if (op !== 'same') rows.push({ op, ...(i >= 0 ? { before: a[i] } : {}), ...(j >= 0 ? { after: b[j] } : {}) })
      else rows.push({ op: a[i].text === b[j].text && a[i].failed === b[j].failed ? 'same' : 'changed', before: a[i], after: b[j] })
    }
    const paired = pairs(rows)
    return {
      rows: paired, first: paired.findIndex((row) => row.op !== 'same'),
      totals: [totalsOf(before, a), totalsOf(after, b)], settings: settingsOf(before, after),
    }
  }

  /** A call that went and one of the same tool that came in its place are one changed step. @param {RunRow[]} rows */
  function pairs(rows) {
    /** @type {RunRow[]} */
    const found = []
    for (const row of rows) {
      const at = row.op === 'added' ? partnerOf(found, row) : -1
      if (at < 0) found.push(row)
      else found[at] = { op: 'changed', before: found[at].before, after: row.after }
    }
    return found
  }

  /**
   * The first one that went and waits for a partner. Order is kept: none is taken before one that came since.
   * @param {RunRow[]} found @param {RunRow} row
   */
  function partnerOf(found, row) {
    let at = found.length
    while (at > 0 && (found[at - 1].op === 'removed')) at -= 1
    for (; at < found.length; at++) {
      if (found[at].before?.kind === row.after?.kind && found[at].before?.name === row.after?.name) return at
    }
    return -1
  }

  /** @param {Session} session @param {RunStep[]} all @returns {RunTotals} */
  function totalsOf(session, all) {
    const answers = session.messages.filter((message) => message?.role === 'assistant').map(usage.ofMessage)
    const sum = (/** @type {'total' | 'cost_micro' | 'ms'} */ key) => answers.reduce((total, one) => total + one[key], 0)
    const tools = session.messages.reduce((total, one) => total + (one?.role === 'tool' ? Number(one.result?.duration_ms) || 0 : 0), 0)
    return {
      turns: all.filter((one) => one.kind === 'user').length, calls: all.filter((one) => one.kind === 'call').length,
      tokens: sum('total'), cost_micro: sum('cost_micro'), cost_unit: answers.find((one) => one.cost_unit)?.cost_unit ?? '',
      ms: sum('ms') + tools,
    }
  }

  /**
   * Settings that differ: by path, what was and what is.
   * @param {any} before @param {any} after @returns {{path: string, before: any, after: any}[]}
   */
  function settingsOf(before, after) {
    /** @type {{path: string, before: any, after: any}[]} */
    const found = []
    for (const key of ['character', 'agent', 'config', 'tools', 'environment']) walk(key, before[key], after[key], found)
    return found
  }

  /** @param {string} path @param {any} before @param {any} after @param {{path: string, before: any, after: any}[]} found */
  function walk(path, before, after, found) {
    if (before === after || (before !== undefined && after !== undefined && equal(before, after))) return
    const inside = [before, after].every((one) => one && typeof one === 'object' && !Array.isArray(one))
    if (!inside) return void found.push({ path, before, after })
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) walk(`${path}.${key}`, before[key], after[key], found)
  }

  /** @param {any} content */
  function textOf(content) {
    if (typeof content === 'string') return content
    if (!Array.isArray(content)) return ''
    return content.map((part) => (typeof part === 'string' ? part : part?.text ?? `[${part?.type ?? '?'}]`)).join('\n')
  }

  /** Is a step nothing but words? @param {RunStep} one */
  const isWords = (one) => WORDS.has(one.kind)

  return { steps, compare, isWords }
})
