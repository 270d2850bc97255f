// The state of the server: whether it answers, what it offers, and if not, whether key, cross-origin access or
// permission is the cause. One object, replaced as a whole.

yaa.define('ui/server-state', ['io/api'], (apis) => {
  /** @typedef {import('./types').ServerState} ServerState */

  /** What starts a server. A server that lies could have people run anything else. @param {any} info @returns {string} */
  const commandOf = (info) => (/^(yaa|python3 (-m yaa|[\w+.-]+\.pyz))$/.test(info?.command) ? info.command : 'python3 -m server')

  /**
   * @param {{settings: Settings, onChange: () => void}} options
   */
  function openServer({ settings, onChange }) {
    let api = apis.create({ base: settings.base(), key: settings.key() })
    /** @type {ServerState} */ let state = { url: api.base, hasKey: Boolean(api.key), checking: true, ok: false, command: commandOf(null) }
    /** @type {any} */ let info = null
    let turn = 0
    /** @type {() => void} */ let heard = () => {}
    /** @type {Promise<void>} */ const ready = new Promise((resolve) => { heard = resolve })

    /** Ask for /info with the address and key as they are now. */
    async function connect() {
      const mine = ++turn
      api = apis.create({ base: settings.base(), key: settings.key() })
      publish({ url: api.base, hasKey: Boolean(api.key), checking: true, ok: false, command: state.command })
      try {
        const found = await api.info()
        if (mine !== turn) return
        info = found
        heard()
        publish({ ...state, checking: false, ok: true, version: found.version, tier: found.sandbox?.tier, command: commandOf(found) })
      } catch (error) {
        await yaa.load('connection-diagnosis').catch(() => {})
        const { cause, checks, error: failure } = await explain(error, api)
        if (mine !== turn) return
        info = null
        publish({ ...state, checking: false, failure: { kind: cause, detail: failure?.message, checks } })
      }
    }

    /** Ask for /info again; where it does not come, what was there stays. */
    async function refresh() {
      const [mine, asked] = [turn, api]
      const found = await asked.info().catch(() => null)
      if (!found || mine !== turn || !info) return
      info = found
      onChange()
    }

    /** @param {ServerState} next */
    function publish(next) {
      state = next
      onChange()
    }

    return { connect, refresh, ready, api: () => api, state: () => state, info: () => info }
  }

  /**
   * Without a server its page may not be able to load more of itself, so that this has to do without.
   * @param {any} error @param {Api} api @returns {Promise<any>}
   */
  async function explain(error, api) {
    try {
      yaa.use('i18n/connection-diagnosis')
      return await yaa.use('io/connection-diagnosis').explain(error, { api })
    } catch {
      return { cause: error.status === 401 ? 'key' : 'server', error, checks: undefined }
    }
  }

  /**
   * The providers a session can name, with the model that answers; of several, the server's choice first.
   * @param {any} info @param {{name?: string, model_name?: string}} said @param {string} auto
   * @returns {import('./types').Offer[]}
   */
  function modelsOf(info, { name: own = 'auto', model_name: wanted }, auto) {
    /** @type {any[]} */ const all = info?.models ?? []
    const first = all.find((one) => one.default) ?? all[0]
    const taken = [first, ...all].find((one) => one?.models?.includes(wanted)) ?? first
    const offer = (/** @type {any} */ { name, model, demo }, /** @type {any} */ wish) => {
      const answers = wish || model || name
      return { name, label: answers === name ? name : `${answers} · ${name}`, demo: demo === true }
    }
    const offers = all.map((one) => offer(one, (one.name === own || !all[1]) && wanted))
    if (!all[1]) return offers
    const it = offer(taken, own === 'auto' && wanted)
    return [{ ...it, name: 'auto', label: `${it.label} (${auto})` }, ...offers]
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

  return { openServer, commandOf, modelsOf, agentsOf }
})
