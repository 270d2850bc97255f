// The state of the server: whether it answers, what it offers, and if not, whether key, cross-origin access or
// permission is the cause. One object, replaced as a whole.

yaa.define('ui/server-state', ['io/api'], (apis) => {
  /** @typedef {import('./types').ServerState} ServerState */

  /** What starts a server. A server that lies could have people run anything else. @param {any} info @returns {string} */
  const commandOf = (info) => (/^(yaa|python3 (-m yaa|[\w+.-]+\.pyz))$/.test(info?.command) ? info.command : 'python3 -m server')

  const PAUSES_MS = [2000, 4000, 8000, 16_000, 30_000, 60_000]
  const FRESH_MS = 300_000
  /** @type {Timers} */
  const TIMERS = { now: () => Date.now(), set: (callback, ms) => setTimeout(callback, ms), clear: (timer) => clearTimeout(timer) }

  /**
   * What a server has told of itself is kept by its address, and no failure but a refused key makes the page forget it.
   * @param {{settings: Settings, onChange: () => void, create?: typeof apis.create, timers?: Timers}} options
   */
  function openServer({ settings, onChange, create = apis.create, timers = TIMERS }) {
    const open = () => create({ base: settings.base(), key: settings.key(), onAnswer })
    let api = open()
    /** @type {any} */ let info = settings.info()
    /** @type {ServerState} */ let state = { url: api.base, hasKey: Boolean(api.key), checking: true, ok: false, command: commandOf(info) }
    let [turn, asking, tries, asked] = [0, false, 0, 0]
    /** @type {any} */ let timer = null
    /** @type {() => void} */ let heard = () => {}
    /** @type {Promise<void>} */ const ready = new Promise((resolve) => { heard = resolve })

    /** Ask for /info with the address and key as they are now. */
    async function connect() {
      const before = api.base
      api = open()
      if (api.base !== before) info = settings.info()
      tries = 0
      publish({ url: api.base, hasKey: Boolean(api.key), checking: true, ok: false, command: commandOf(info) })
      await ask()
    }

    async function ask() {
      const mine = ++turn
      timers.clear(timer)
      asking = true
      asked = timers.now()
      const found = await api.info().catch((error) => (mine === turn ? failed(error, mine) : null))
      if (mine !== turn) return
      asking = false
      if (!found) return
      keep(found)
      tries = 0
      heard()
      publish({ ...state, checking: false, ok: true, failure: undefined, version: found.version, tier: found.sandbox?.tier, command: commandOf(found) })
    }

    /** @param {any} error @param {number} mine */
    async function failed(error, mine) {
      await yaa.load('connection-diagnosis').catch(() => {})
      const { cause, checks, error: failure } = await explain(error, api)
      if (mine !== turn) return
      if (failure?.status === 401) keep(null)
      publish({ ...state, checking: false, ok: false, failure: { kind: cause, detail: failure?.message, checks } })
      if (failure?.kind !== 'refused') timer = timers.set(ask, Math.max(PAUSES_MS[Math.min(tries++, PAUSES_MS.length - 1)], (failure?.retryAfter ?? 0) * 1000))
    }

    /** @param {any} found */
    function keep(found) {
      info = found
      settings.keepInfo(found)
    }

    function again() {
      if (turn && !asking) ask()
    }

    function look() {
      if (globalThis.document?.visibilityState !== 'hidden' && (state.failure || timers.now() - asked > FRESH_MS)) again()
    }

    function onAnswer() {
      if (state.failure) again()
    }

    globalThis.addEventListener?.('online', look)
    globalThis.document?.addEventListener?.('visibilitychange', look)

    /** @param {ServerState} next */
    function publish(next) {
      state = next
      onChange()
    }

    return { connect, refresh: ask, again, ready, api: () => api, state: () => state, info: () => info }
  }

  /** @type {any} */ let explanation = null

  /** @param {any} explain what finds out more of a failure, once it is there */
  const explainBy = (explain) => { explanation = explain }

  /**
   * Without a server its page may not be able to load more of itself, so that this has to do without.
   * @param {any} error @param {Api} api @returns {Promise<any>}
   */
  async function explain(error, api) {
    try {
      return await explanation(error, { api })
    } catch {
      return { cause: error.status === 401 ? 'key' : error.kind === 'network' ? 'server' : 'other', error, checks: undefined }
    }
  }

  /**
   * The providers a session can name, with the model that answers. In a session that names none the first is the one
   * that the server takes.
   * @param {any} info @param {{name?: string, model_name?: string}} said
   * @returns {import('./types').Offer[]}
   */
  function modelsOf(info, { name: own = 'auto', model_name: wanted }) {
    /** @type {any[]} */ const all = info?.models ?? []
    const first = all.find((one) => one.default) ?? all[0]
    const taken = [first, ...all].find((one) => one?.models?.includes(wanted)) ?? first
    const offer = (/** @type {any} */ { name, model, demo }, /** @type {any} */ wish) => {
      const answers = wish || model || name
      return { name, label: answers === name ? name : `${answers} · ${name}`, demo: demo === true }
    }
    const offers = all.map((one) => offer(one, (one.name === own || !all[1]) && wanted))
    if (!all[1] || own !== 'auto') return offers
    return [{ ...offer(taken, wanted), name: 'auto' }, ...offers.filter(({ name }) => name !== taken.name)]
  }

  /**
   * The agents a session can name, and its own: else the one for new sessions, else what the server takes. One that is
   * not there goes on by the copy that the session carries; without a copy the server refuses it by name.
   * @param {any} info @param {string | undefined} current @param {string | undefined} usual
   * @returns {{agents: import('./types').AgentOffer[], agent: string}}
   */
  function agentsOf(info, current, usual) {
    /** @type {import('./types').AgentOffer[]} */
    const offered = (info?.agents ?? []).map((/** @type {any} */ { name, description = '', default: first }) => (
      { name, label: name, title: description, first: first === true }
    ))
    const own = (current && current !== 'auto' ? current : usual) || ''
    const missing = own && offered.length && offered.every((one) => one.name !== own)
    const agents = missing ? [...offered, { name: own, label: own, title: '', first: false }] : offered
    return { agents, agent: own || offered.find((one) => one.first)?.name || '' }
  }

  return { openServer, explainBy, commandOf, modelsOf, agentsOf }
})
