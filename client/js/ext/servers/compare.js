// What would be different for a session on another server, from the two answers to GET /info: tools it used or has to
// use that are not there, a model nobody knows, tighter limits, stricter rules, calls that wait for an answer. Pure.

yaa.define('ext/servers/compare', ['core/session', 'core/context'], ({ openInterrupts }, { limitOf }) => {
  const LIMITS = ['max_steps', 'max_tokens', 'max_wall_s', 'max_consecutive_errors', 'max_cost_micro']
  const STRICT = ['run', 'allow', 'ask', 'never', 'deny']

  /**
   * @param {Session} session @param {any} here /info of the server in use, or null @param {any} there of the other one
   * @returns {Difference[]} what stands in the way first
   */
  function compare(session, here, there) {
    const found = [
      ...pending(session, there), ...model(session, there), ...agent(session, there), ...tools(session, here, there), ...limits(session, here, there),
      ...records(session, here, there), ...sandbox(here, there), ...version(here, there),
    ]
    const order = ['bad', 'warn', 'note']
    return found.sort((a, b) => order.indexOf(a.level) - order.indexOf(b.level))
  }

  /** @param {any} info @returns {Map<string, any>} */
  const byName = (info) => new Map((info?.tools ?? []).map((/** @type {any} */ tool) => [tool.name, tool]))

  /** Calls that wait for an answer whose tool is not there: the answer could not be carried out. @param {Session} session @param {any} there @returns {Difference[]} */
  function pending(session, there) {
    const known = byName(there)
    return openInterrupts(session).filter((one) => one.reason === 'tool_call').map((one) => {
      const name = String(one.tool ?? session.calls?.[one.call_id ?? '']?.name ?? '')
      return known.has(name) ? { kind: 'asking', level: 'note', name } : { kind: 'pending', level: 'bad', name }
    })
  }

  /** @param {Session} session @param {any} there @returns {Difference[]} */
  function model(session, there) {
    const provider = session.config?.llm_api?.provider ?? {}
    const name = provider.name ?? 'auto'
    const offered = there?.models ?? []
    if (!offered.length) return [{ kind: 'noModel', level: 'bad', name: '' }]
    const usable = offered.some((/** @type {any} */ one) => !one.demo)
    const found = name === 'auto' ? offered[0] : offered.find((/** @type {any} */ one) => one.name === name)
    if (!found) return [{ kind: 'provider', level: 'bad', name, there: offered.map((/** @type {any} */ one) => one.name).join(', ') }]
    const wanted = provider.model_name ?? ''
    const known = found.models ?? []
    if (wanted && known.length && !known.includes(wanted)) return [{ kind: 'model', level: 'warn', name: wanted }]
    return usable ? [] : [{ kind: 'demo', level: 'warn', name: '' }]
  }

  /** @param {Session} session @param {any} there @returns {Difference[]} */
  function agent(session, there) {
    const name = typeof session.agent === 'string' ? session.agent : ''
    const names = (there?.agents ?? []).map((/** @type {any} */ one) => one?.name ?? one)
    return name && !names.includes(name) ? [{ kind: 'agent', level: 'warn', name }] : []
  }

  /** Tools the session has used count more than those it could have used. @param {Session} session @param {any} here @param {any} there @returns {Difference[]} */
  function tools(session, here, there) {
    const [before, after] = [byName(here), byName(there)]
    const own = new Set((session.tools ?? []).map((/** @type {any} */ tool) => tool.function?.name ?? tool.name))
    const used = new Set(session.messages.flatMap((message) => (message.tool_calls ?? []).map((call) => call.function.name)))
    /** @type {Difference[]} */
    const found = []
    for (const name of new Set([...used, ...before.keys()])) {
      if (own.has(name)) continue
      if (!after.has(name)) found.push({ kind: 'tool', level: used.has(name) ? 'warn' : 'note', name })
      else if (before.has(name)) {
        const [a, b] = [before.get(name).policy, after.get(name).policy]
        if (STRICT.indexOf(b) > STRICT.indexOf(a)) found.push({ kind: 'stricter', level: 'note', name, here: a, there: b })
      }
    }
    return found
  }

  /** @param {Session} session @param {any} here @param {any} there @returns {Difference[]} */
  function limits(session, here, there) {
    if (!here) return []
    return LIMITS.flatMap((name) => {
      const [mine, theirs] = [here, there].map((info) => limitOf(session, info, name))
      if (theirs === null || (mine !== null && mine <= theirs)) return []
      return [{ kind: 'limit', level: /** @type {const} */ ('note'), name, here: mine ?? '∞', there: theirs }]
    })
  }

  /** A session that was cut, and a server that does not know of its last run. @param {Session} session @param {any} here @param {any} there @returns {Difference[]} */
  function records(session, here, there) {
    const before = session.run?.home ?? here?.records?.home
    const wasCut = session.status === 'in_progress' || Object.values(session.calls ?? {}).some((one) => one.state === 'started')
    const differ = before && there?.records?.home && before !== there.records.home
    return wasCut && differ ? [{ kind: 'records', level: 'warn', name: '' }] : []
  }

  /** @param {any} here @param {any} there @returns {Difference[]} */
  function sandbox(here, there) {
    const [a, b] = [here?.sandbox?.tier, there?.sandbox?.tier]
    return a !== undefined && b !== undefined && a !== b ? [{ kind: 'sandbox', level: 'note', name: '', here: a, there: b }] : []
  }

  /** @param {any} here @param {any} there @returns {Difference[]} */
  function version(here, there) {
    const [a, b] = [here?.version, there?.version]
    return a && b && a !== b ? [{ kind: 'version', level: 'note', name: '', here: a, there: b }] : []
  }

  return { compare }
})
