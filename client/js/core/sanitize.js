// Removes from an imported session whatever could permit something, by an allow-list of keys. Messages, results, titles and
// branches stay; approvals, policies, agents, providers, hidden instructions and limits above the defaults go. The server
// has the same function (server/session/sanitize.py); tests/vectors/foreign.json holds for both.

yaa.define('core/sanitize', ['core/patch'], ({ pointer, parsePointer, put, own, isObject }) => {
  // What the server says of each key: python3 -m tests.session.test_sanitize writes it.
  const RULES = /** @type {any} */ ({
    KEYS: ["id", "title", "start_time", "startTime", "character", "status", "messages", "config", "version", "rev", "agent", "again",
      "finish_reason", "calls", "interrupts", "grants", "context", "tools", "environment", "plan", "output", "usage", "run",
      "workspace", "skills", "instructions", "ext"],
    TOP: ["id", "title", "start_time", "startTime", "version", "rev", "again", "messages", "plan", "output", "usage"],
    RUN: ["id", "message", "started_at", "step", "tokens", "cost_micro", "wall_ms"],
    CONTEXT: ["ops", "events"],
    WORKSPACE: ["tree", "message", "start"],
    STATE: ["plan", "output"],
    EXT: ["forked_from", "pinned", "tags"],
    BRANCH: ["id", "at", "name", "favourite", "fresh"],
    ACTIVE: ["id", "name", "favourite", "fresh"],
    ENDED: ["done", "failed", "denied", "skipped"],
    BEGUN: ["started", "done", "failed", "indeterminate"],
    MAX_LANGUAGE: 40,
    BEYOND_RULES: ["edits_run", "copy_runs"],
    NETWORKS: ["off", "proxy", "full"],
    CONFIG: {
      llm_api: {"at_most": ["max_tokens", "request_timeout", "first_byte_timeout", "idle_timeout", "interval"], "each_at_most": ["retry"],
        "keep": ["stream"]},
      yaa: {"keep": ["auto_title", "mode", "output_schema", "max_context", "stream", "tool_mode", "require_finish_tool", "tool_detail",
        "result_schema", "progress_hint", "skills_off", "reply"]},
      limits: {"at_most": ["max_steps", "max_wall_s", "max_tokens", "max_cost_micro", "max_consecutive_errors"], "keep": ["on_limit"],
        "each_at_most": ["tool"]},
      context: {"keep": ["enabled", "trigger_ratio", "target_ratio", "max_messages", "keep_turns", "keep_messages", "large_chars",
        "preview_chars", "ingest_tokens", "min_saving", "window_runs", "summary", "summary_ratio", "summary_timeout_s", "strategies",
        "exempt_tools", "retain_tool"], "at_most": ["budget"]},
    },
    DEFAULTS: {
      character: "You are yaa, a helpful agent.",
      agent: "default",
      config: {"llm_api": {"max_tokens": null, "request_timeout": 600, "first_byte_timeout": 120, "idle_timeout": 60, "interval": 0, "retry":
        {"times": 3, "delay": 2}}, "limits": {"max_steps": 100, "max_wall_s": 3600, "max_tokens": null, "max_cost_micro": null,
        "max_consecutive_errors": 16, "tool": {"wall_s": 300, "cpu_s": 600, "memory_mb": 1024, "file_mb": 256, "disk_mb": 1024,
        "output_kb": 256, "processes": 64, "open_files": 256}}, "context": {"budget": 100000}},
    },
  })
  const { KEYS, TOP, CONFIG, MAX_LANGUAGE, RUN, CONTEXT, WORKSPACE, STATE, EXT, BRANCH, ACTIVE, ENDED, BEGUN, BEYOND_RULES, NETWORKS, DEFAULTS } = RULES
  /** The same where the server may have set its sessions to ask least. */
  const UNKNOWN = { ...DEFAULTS, config: { ...DEFAULTS.config, yaa: { ask: 'copy_runs' } } }

  /**
   * The document without what could permit something, and what was taken out of it. What the server fills in or asks
   * again by itself is not listed. The document is not changed; the copy shares its messages.
   * @param {any} document @param {any} [defaults] the session half of the server's configuration
   * @returns {{session: any, removed: Removed[]}}
   */
  function sanitize(document, defaults = DEFAULTS) {
    /** @type {Removed[]} */ const removed = []
    const found = only(document, TOP)
    instructions(document.character, ['character'], defaults.character, removed)
    agent(document, defaults, removed)
    const config = settings(document, object(defaults.config), removed)
    if (size(config)) found.config = config
    const tools = list(document.tools).filter(isObject)
    if (tools.length) removed.push(item('tools', ['tools'], tools.map((tool) => tool.name ?? null)))
    const facts = list(document.environment).filter((text) => typeof text === 'string')
    instructions(facts.join('\n'), ['environment'], '', removed)
    const denied = grants(document.grants, ['grants'], removed)
    if (denied.length) found.grants = denied
    for (const [name, entry] of Object.entries(object(object(document.skills).used))) instructions(object(entry).text, ['skills', 'used', name, 'text'], '', removed)
    const answered = new Set(paths(document).flatMap((messages) => [...results(messages)]))
    const calls = ledger(document.calls, ['calls'], answered, removed)
    if (size(calls)) found.calls = calls
    Object.assign(found, path(document, [], waits(document.messages), removed))
    const ext = extras(document, removed)
    if (size(ext)) found.ext = ext
    const workspace = object(document.workspace)
    const stand = only(workspace, WORKSPACE)
    if (size(stand) || paths(document).some(namesTree)) found.workspace = { ...stand, foreign: true }
    if ('folder' in workspace) removed.push(item('unknown', ['workspace', 'folder']))
    for (const key of Object.keys(document)) if (!KEYS.includes(key)) removed.push(item('unknown', [key]))
    return { session: found, removed }
  }

  // -- what a run goes by --

  /** @param {any} text @param {Place} place @param {any} standard @param {Removed[]} removed */
  function instructions(text, place, standard, removed) {
    if (typeof text === 'string' && text && text !== standard) removed.push(item('instructions', place, text))
  }

  /** An agent of the owner's may need no approvals, so even the name is a permission. @param {any} document @param {any} defaults @param {Removed[]} removed */
  function agent(document, defaults, removed) {
    const name = document.agent
    if (typeof name !== 'string' || ['', 'auto', defaults.agent].includes(name)) return
    /** @type {any} */ const value = { name }
    const definition = object(object(document.config).agent)
    const policy = Object.entries(object(definition.policy))
    const narrows = (/** @type {[string, any]} */ [, word]) => word === 'ask' || word === 'deny'
    if (definition.name === name) value.definition = { ...definition, ...('policy' in definition ? { policy: Object.fromEntries(policy.filter(narrows)) } : {}) }
    removed.push(item('agent', ['agent'], value))
    if (!value.definition) return
    for (const [tool, word] of policy) if (!narrows([tool, word])) removed.push(item('agent_policy', ['config', 'agent', 'policy', tool], word))
  }

  /** @param {any} document @param {any} defaults @param {Removed[]} removed */
  function settings(document, defaults, removed) {
    let config = object(document.config)
    const own = object(object(document.ext).limits)
    // what a person has set for this session alone counts before the rest
    if (size(own)) config = { ...config, limits: { ...object(config.limits), ...own } }
    /** @type {[string, any][]} */ const found = []
    for (const [name, section] of Object.entries(config)) {
      if (name === 'agent') continue
      /** @type {any} */ let kept = {}
      if (name === 'tool') kept = toolSettings(section, ['config', 'tool'], removed)
      else if (name === 'prompt') for (const [key, text] of Object.entries(object(section))) instructions(text, ['config', 'prompt', key], '', removed)
      else if (Object.hasOwn(CONFIG, name)) kept = sectionOf(name, object(section), object(defaults[name]), removed)
      else removed.push(item('unknown', ['config', name]))
      if (size(kept)) found.push([name, kept])
    }
    const all = Object.fromEntries(found)
    if (BEYOND_RULES.includes(object(defaults.yaa).ask)) all.yaa = { ask: 'by_rules', ...all.yaa } // this session would get it
    return all
  }

  /** @param {string} name @param {any} section @param {any} defaults @param {Removed[]} removed */
  function sectionOf(name, section, defaults, removed) {
    const { keep = [], at_most = [], each_at_most = [] } = CONFIG[name]
    /** @type {any} */ const found = {}
    for (const [key, value] of Object.entries(section)) {
      const place = ['config', name, key]
      if (keep.includes(key)) found[key] = value
      else if (at_most.includes(key)) {
        if (fits(value, key, defaults)) found[key] = value
        else removed.push(item('limit', place, value))
      } else if (each_at_most.includes(key)) {
        const most = object(defaults[key])
        const inner = Object.entries(object(value))
        const kept = inner.filter(([one, number]) => fits(number, one, most))
        if (kept.length) found[key] = Object.fromEntries(kept)
        for (const [one, number] of inner) if (!fits(number, one, most)) removed.push(item('limit', [...place, one], number))
      } else if (key === 'language' && typeof value === 'string' && [...value].length <= MAX_LANGUAGE) found[key] = value
      else if (key === 'ask' && value === 'every_call') found[key] = value // it only narrows
      else removed.push(...other(place, key, value))
    }
    return found
  }

  /** A setting that goes: what is told of it, if anything. @param {Place} place @param {string} key @param {any} value @returns {Removed[]} */
  function other(place, key, value) {
    if (key === 'language') return typeof value === 'string' ? [item('instructions', place, value)] : []
    if (key === 'ask') return BEYOND_RULES.includes(value) ? [item('ask', place, value)] : []
    if (key === 'unattended') return value === true ? [item('unattended', place, true)] : []
    if (key === 'provider') {
      const all = Object.entries(object(value))
      const named = all.some(([name, one]) => name !== 'name' || one !== 'auto')
      return named ? [item('provider', place, Object.fromEntries(all.filter(([name]) => name !== 'api_key')))] : []
    }
    if (key === 'model_settings' || key === 'tool_choice') return value && (!isObject(value) || size(value)) ? [item(key, place, value)] : []
    return [item('unknown', place)]
  }

  /** Whether a limit permits no more than the default, null being none. @param {any} value @param {string} key @param {any} defaults */
  function fits(value, key, defaults) {
    if (!Object.hasOwn(defaults, key)) return false
    const most = defaults[key]
    if (most === null) return value === null || typeof value === 'number'
    return typeof value === 'number' && typeof most === 'number' && value <= most
  }

  /** Settings of tools that only narrow. @param {any} section @param {Place} place @param {Removed[]} removed */
  function toolSettings(section, place, removed) {
    /** @type {[string, any][]} */ const found = []
    for (const [name, tool] of Object.entries(object(section))) {
      const all = Object.entries(object(tool))
      const narrows = (/** @type {[string, any]} */ [key, value]) => (key === 'deny' && value === true) || (key === 'network' && NETWORKS.includes(value))
      const over = all.filter(([key, value]) => !narrows([key, value]) && !((key === 'deny' || key === 'auto_approve') && value === false))
      const kept = all.filter(narrows)
      if (kept.length) found.push([name, Object.fromEntries(kept)])
      if (over.length) removed.push(item('tool', [...place, name], Object.fromEntries(over)))
    }
    return Object.fromEntries(found)
  }

  /** The refusals among them. @param {any} all @param {Place} place @param {Removed[]} removed */
  function grants(all, place, removed) {
    /** @type {any[]} */ const found = []
    list(all).forEach((grant, i) => {
      if (!isObject(grant)) return
      if (grant.decision === 'deny') found.push(only(grant, ['tool', 'match', 'decision']))
      else removed.push(item('grant', [...place, i], grant))
    })
    return found
  }

  // -- how far it came --

  /**
   * What is kept of how one path stands. Questions go: the server asks them again, with the arguments that the calls
   * really have.
   * @param {any} state @param {Place} place @param {boolean} waiting it has calls without a result @param {Removed[]} removed
   */
  function path(state, place, waiting, removed) {
    list(state.interrupts).forEach((one, i) => {
      if (isObject(one) && isObject(one.answer)) removed.push(item('answer', [...place, 'interrupts', i], only(one, ['reason', 'tool'])))
    })
    const again = state.status === 'interrupted' && (waiting || list(state.interrupts).length > 0)
    /** @type {any} the page offers to go on */ const found = again ? { status: 'in_progress' } : only(state, ['status', 'finish_reason'])
    if (isObject(state.run)) found.run = Object.fromEntries(Object.entries(only(state.run, RUN)).filter(([, one]) => typeof one === 'string' || typeof one === 'number'))
    if (isObject(state.context)) found.context = only(state.context, CONTEXT)
    return found
  }

  /**
   * The ledger without what an approval has left in it. A call without a result was not allowed yet; one that may have run
   * is asked about.
   * @param {any} calls @param {Place} place @param {Set<string>} answered @param {Removed[]} removed
   */
  function ledger(calls, place, answered, removed) {
    /** @type {[string, any][]} */ const found = []
    for (const [id, entry] of Object.entries(object(calls))) {
      if (!isObject(entry)) continue
      let { state } = entry
      const has = (/** @type {string} */ key) => Object.hasOwn(entry, key)
      if (answered.has(id)) state = ENDED.includes(state) ? state : 'done'
      else {
        if (['input', 'policy', 'args'].some(has)) removed.push(item('call', [...place, id], only(entry, ['name', 'state'])))
        state = BEGUN.includes(state) || has('input') ? 'indeterminate' : 'proposed'
      }
      const { name, attempt } = entry
      const kept = { ...(typeof name === 'string' ? { name } : {}), state, ...(Number.isInteger(attempt) && attempt >= 0 ? { attempt } : {}) }
      found.push([id, kept])
    }
    return Object.fromEntries(found)
  }

  /** What the page keeps. What is no key of the page's goes too: tools of the owner's can read all of it. @param {any} document @param {Removed[]} removed */
  function extras(document, removed) {
    const ext = object(document.ext)
    const found = only(ext, EXT)
    const held = object(ext.held)
    grants(held.grants, ['ext', 'held', 'grants'], removed)
    toolSettings(held.tool, ['ext', 'held', 'tool'], removed)
    const tree = object(ext.tree)
    /** @type {any[]} */ const branches = []
    list(tree.branches).forEach((one, i) => { if (isBranch(one)) branches.push(branch(one, ['ext', 'tree', 'branches', i], removed)) })
    const active = only(object(tree.active), ACTIVE)
    if (size(active)) found.tree = { branches, active }
    else if (branches.length) found.tree = { branches }
    const known = [...EXT, 'held', 'tree', 'limits', 'temporary', 'archived', 'yaa_diverged', 'paused', 'uploaded']
    for (const key of Object.keys(ext)) if (!known.includes(key)) removed.push(item('unknown', ['ext', key]))
    return found
  }

  /** A path that was set aside. Its own ledger entries are of calls before it that had no result there. @param {any} one @param {Place} place @param {Removed[]} removed */
  function branch(one, place, removed) {
    const answered = results(one.messages)
    const gone = Object.entries(one.calls).filter(([, entry]) => entry === null)
    const calls = Object.fromEntries([...gone, ...Object.entries(ledger(one.calls, [...place, 'calls'], answered, removed))])
    const waiting = Object.keys(calls).some((id) => !answered.has(id)) || waits(one.messages)
    const state = { ...only(one.state, STATE), ...path(one.state, [...place, 'state'], waiting, removed) }
    return { ...only(one, BRANCH), messages: one.messages, state, calls }
  }

  // -- taking over --

  /** What a person can have back, one by one. The rest is asked anew, or is the page's or the server's to say. @param {Removed} item */
  const canTakeOver = ({ kind }) => ['instructions', 'agent', 'grant', 'tool', 'ask', 'limit', 'model_settings', 'tool_choice'].includes(kind)

  /** Put back what was taken out of a session. @param {Session} session @param {Removed} item */
  function takeOver(session, { kind, path: from, value }) {
    const place = parsePointer(from) ?? []
    const name = place[place.length - 1]
    if (kind === 'grant') session.grants = [...list(session.grants), own(value)]
    else if (kind === 'agent') {
      session.agent = value.name
      if (value.definition) putAt(session, ['config', 'agent'], value.definition)
    } else if (kind === 'tool') {
      const set = object(object(session.config).tool)
      putAt(session, ['config', 'tool', name], { ...(Object.hasOwn(set, name) ? set[name] : {}), ...value })
    } else if (from === '/environment') session.environment = [value]
    else if (canTakeOver({ kind, path: from })) {
      putAt(session, place, value)
      // the settings of the page count before the session's, but for what was set for it alone
      if (place[1] === 'limits' && place.length === 3) putAt(session, ['ext', 'limits', name], value)
    }
  }

  /** @param {any} node @param {string[]} place @param {any} value */
  function putAt(node, place, value) {
    for (const key of place.slice(0, -1)) {
      if (!Object.hasOwn(node, key) || !isObject(node[key])) put(node, key, {})
      node = node[key]
    }
    put(node, place[place.length - 1], own(value))
  }

  // -- reading --

  /** @param {any} document @returns {any[]} the messages of every path */
  const paths = (document) => [document.messages, ...list(object(object(document.ext).tree).branches).filter(isBranch).map((one) => one.messages)]

  /** Does a message say how the files were? @param {any} messages */
  const namesTree = (messages) => list(messages).filter(isObject).some((one) => Object.hasOwn(one, 'tree') || Object.hasOwn(object(one.result), 'tree'))

  /** Calls that have a result in these messages. @param {any} messages @returns {Set<string>} */
  function results(messages) {
    const tools = list(messages).filter((one) => isObject(one) && one.role === 'tool')
    return new Set(tools.map((one) => one.tool_call_id).filter((id) => typeof id === 'string'))
  }

  /** Whether a call in these messages has no result in them. @param {any} messages */
  function waits(messages) {
    const found = results(messages)
    const calls = list(messages).flatMap((message) => list(object(message).tool_calls))
    return calls.some((call) => typeof object(call).id === 'string' && !found.has(call.id))
  }

  /** @param {any} one */
  function isBranch(one) {
    if (!isObject(one) || typeof one.id !== 'string' || typeof one.at !== 'string') return false
    const parts = isObject(one.state) && isObject(one.calls) && Array.isArray(one.messages)
    return parts && one.messages.every((/** @type {any} */ message) => isObject(message) && typeof message.id === 'string')
  }

  /** @param {string} kind @param {Place} place @param {any[]} value @returns {Removed} */
  const item = (kind, place, ...value) => ({ kind, path: pointer(...place), ...(value.length ? { value: value[0] } : {}) })

  /** @param {any} node @param {string[]} keys @returns {any} */
  const only = (node, keys) => Object.fromEntries(keys.filter((key) => Object.hasOwn(node, key)).map((key) => [key, node[key]]))

  /** @param {any} value @returns {any} */
  const object = (value) => (isObject(value) ? value : {})

  /** @param {any} value @returns {any[]} */
  const list = (value) => (Array.isArray(value) ? value : [])

  /** @param {any} value */
  const size = (value) => Object.keys(value).length

  return { sanitize, canTakeOver, takeOver, DEFAULTS, UNKNOWN }
})
