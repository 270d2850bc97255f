// Writes the person's defaults into a new session. What the session says stays; what nobody has set is left out, so that
// the server decides it. Pure.

yaa.define('core/session-defaults', ['core/session', 'core/patch'], ({ asksAlways }, { put, isObject }) => {
  /** Limits that the settings keep under a name of their own. */
  const LIMITS = ['max_steps', 'max_tokens', 'max_cost_micro', 'max_wall_s', 'max_consecutive_errors']
  /** Objects that are taken whole or not at all: a key of one provider is of no use to another. */
  const UNITS = new Set(['llm_api.provider', 'llm_api.model_settings', 'prompt', 'yaa.output_schema', 'agent', 'tool'])
  const STRICTNESS = ['allow', 'ask', 'deny']
  /** In front of the address of a model provider, where its key is kept beside the servers' keys. */
  const SECRET = 'provider '

  /** Has this provider an address or a key of its own, rather than a name the server knows? @param {any} provider */
  const isOwn = (provider) => Boolean(provider?.api_url || provider?.api_key || provider?.preset)

  /** Where the key of a provider is kept. @param {any} provider */
  const secretOf = (provider) => `${SECRET}${provider.api_url || provider.preset || ''}`

  /**
   * Writes the settings into a session that is about to be sent. What a person has set never depends on what the server
   * told: it may not have been heard yet, and it refuses by name what it does not know.
   * @param {Session} session @param {Pick<Settings, 'get' | 'keys'>} settings
   * @param {any} info what the server told of itself, or null: only for whether a model writes titles
   */
  function prepare(session, settings, info) {
    release(session)
    if (session.ext?.archived) delete session.ext.archived // it is in use again
    const config = (session.config ??= {})
    fill(config, defaultsOf(settings), '')
    if (session.ext?.limits) config.limits = { ...config.limits, ...session.ext.limits }
    if (config.yaa?.auto_title === undefined && !session.title && hasRealModel(config, info)) config.yaa = { ...config.yaa, auto_title: true }
    const rules = Object.entries(settings.get('tools') ?? {})
    if (rules.length) config.tool = isObject(config.tool) ? { ...config.tool } : {}
    for (const [name, rule] of rules) {
      const own = Object.hasOwn(config.tool, name) ? config.tool[name] : {}
      if (isStricter(rule, ruleOf(own))) put(config.tool, name, withRule(own, rule))
    }
    if (settings.get('agent') && !session.agent) session.agent = settings.get('agent')
    if (settings.get('character') && !session.character) session.character = settings.get('character')
    pause(session, Boolean(settings.get('paused')))
  }

  /**
   * Begin or end the pause of this browser in a session. `ext.paused` marks that the session itself does not say it.
   * @param {Session} session @param {boolean} on
   */
  function pause(session, on) {
    if (on === asksAlways(session) || (!on && !session.ext?.paused)) return
    const { ask: _, ...yaa } = session.config?.yaa ?? {}
    const { paused: __, ...ext } = session.ext ?? {}
    session.config = { ...session.config, yaa: on ? { ...yaa, ask: 'every_call' } : yaa }
    session.ext = on ? { ...ext, paused: true } : ext
    if (!Object.keys(session.ext).length) delete session.ext
  }

  /** End the pause in the open session, whoever began it. @param {Session} session */
  function endPause(session) {
    pause(session, false)
    if (asksAlways(session)) session.config = { ...session.config, yaa: { ...session.config?.yaa, ask: 'by_rules' } }
  }

  /** Give back what pages of before kept in `ext.held` during a pause. @param {Session} session */
  function release(session) {
    if (!session.ext || !('held' in session.ext)) return
    const { held, ...ext } = session.ext
    if (Array.isArray(held?.grants)) session.grants = [...held.grants, ...session.grants ?? []]
    if (isObject(held?.tool)) session.config = { ...session.config, tool: held.tool }
    session.ext = ext
    if (!Object.keys(ext).length) delete session.ext
  }

  /** What is not there comes from `more`; what is there stays, whatever it is. @param {any} target @param {any} more @param {string} at */
  function fill(target, more, at) {
    for (const [name, value] of Object.entries(more)) {
      const here = at ? `${at}.${name}` : name
      const own = Object.hasOwn(target, name) ? target[name] : undefined
      if (own === undefined) put(target, name, structuredClone(value))
      else if (isObject(own) && isObject(value) && !UNITS.has(here)) put(target, name, fill({ ...own }, value, here))
    }
    return target
  }

  /**
   * The part of `session.config` that the person has set for new sessions.
   * @param {Pick<Settings, 'get' | 'keys'>} settings @returns {any}
   */
  function defaultsOf(settings) {
    const config = structuredClone(settings.get('config') ?? {})
    const limits = { ...config.limits, ...settings.get('limits') }
    if (Object.keys(limits).length) config.limits = limits
    const provider = providerOf(config.llm_api?.provider, settings)
    if (provider) config.llm_api = { ...config.llm_api, provider }
    else delete config.llm_api?.provider
    return config
  }

  /** @param {any} own @param {Pick<Settings, 'get' | 'keys'>} settings */
  function providerOf(own, settings) {
    if (isOwn(own)) {
      const key = settings.keys()[secretOf(own)]
      return key ? { ...own, api_key: key } : own
    }
    const [name, model] = [settings.get('provider'), settings.get('model')]
    if (name || model) return { ...own, name: name || 'auto', ...(model ? { model_name: model } : {}) }
    return own
  }

  /**
   * Keeps what new sessions begin with. The key of a provider goes where the keys are; the name of one of the server's,
   * and limits, where the other panels of the settings show them.
   * @param {Pick<Settings, 'set' | 'keepKey'>} settings @param {any} config
   */
  function keepDefaults(settings, config) {
    const { limits = {}, ...rest } = structuredClone(config)
    const own = Object.fromEntries(Object.entries(limits).filter(([name]) => LIMITS.includes(name)))
    const others = Object.fromEntries(Object.entries(limits).filter(([name]) => !LIMITS.includes(name)))
    const { provider, ...api } = rest.llm_api ?? {}
    const mine = isOwn(provider)
    if (mine && provider.api_key) settings.keepKey(secretOf(provider), provider.api_key)
    const { api_key: _, name, model_name: model, ...more } = provider ?? {}
    const kept = mine ? { ...more, ...(name ? { name } : {}), ...(model ? { model_name: model } : {}) } : more
    if (Object.keys(kept).length) api.provider = kept
    if (Object.keys(api).length) rest.llm_api = api
    else delete rest.llm_api
    if (Object.keys(others).length) rest.limits = others
    settings.set('limits', own)
    settings.set('provider', mine || name === 'auto' ? '' : name ?? '')
    settings.set('model', mine ? '' : model ?? '')
    settings.set('config', rest)
  }

  /** Does a model answer this session that is more than the demo? Not known without a server. @param {any} config @param {any} info */
  function hasRealModel(config, info) {
    if (info?.defaults?.config?.yaa?.auto_title) return false // the owner says it
    const provider = config.llm_api?.provider
    if (isOwn(provider)) return true
    const offered = info?.models ?? []
    const named = offered.find((/** @type {any} */ one) => one.name === provider?.name)
    const one = named ?? offered.find((/** @type {any} */ each) => each.default) ?? offered[0]
    return Boolean(one) && !one.demo
  }

  /** @param {any} entry of `config.tool` @returns {string} '' where it says neither */
  function ruleOf(entry) {
    if (entry?.deny === true) return 'deny'
    return typeof entry?.auto_approve === 'boolean' ? (entry.auto_approve ? 'allow' : 'ask') : ''
  }

  /** A person's rule for all sessions holds where a session says less, and never allows what it does not. @param {string} rule @param {string} own */
  const isStricter = (rule, own) => !own || STRICTNESS.indexOf(rule) > STRICTNESS.indexOf(own)

  /** @param {any} entry @param {string} rule '' takes it out @returns {any} the other words of the entry stay */
  function withRule(entry, rule) {
    const { deny: _, auto_approve: __, ...rest } = entry ?? {}
    return { ...rest, ...(rule ? (rule === 'deny' ? { deny: true } : { auto_approve: rule === 'allow' }) : {}) }
  }

  return { prepare, pause, endPause, release, defaultsOf, keepDefaults, withRule, isOwn, secretOf, hasRealModel }
})
