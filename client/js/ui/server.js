// What is known about the server: whether it answers, what it offers, and if not, which of key, cross-origin access
// or permission stands in the way. One object, replaced as a whole whenever it changes.

yaa.define('ui/server', ['io/api', 'io/explain'], (apis, { explain }) => {
  /** @typedef {import('./types').ServerState} ServerState */

  /**
   * @param {{settings: Settings, onChange: () => void}} options
   */
  function openServer({ settings, onChange }) {
    let api = apis.create({ base: settings.base(), key: settings.key() })
    /** @type {ServerState} */ let state = { url: api.base, hasKey: Boolean(api.key), checking: true, ok: false }
    /** @type {any} */ let info = null
    let turn = 0

    /** Ask for /info with the address and key as they are now. */
    async function connect() {
      const mine = ++turn
      api = apis.create({ base: settings.base(), key: settings.key() })
      publish({ url: api.base, hasKey: Boolean(api.key), checking: true, ok: false })
      try {
        const found = await api.info()
        if (mine !== turn) return
        info = found
        publish({ ...state, checking: false, ok: true, version: found.version, tier: found.sandbox?.tier })
      } catch (error) {
        const { cause, checks, error: failure } = await explain(error, { api })
        if (mine !== turn) return
        info = null
        publish({ ...state, checking: false, failure: { kind: cause, detail: failure?.message, checks } })
      }
    }

    /** A run that failed to reach the server tells more than nothing: look again. @param {ServerState} next */
    function publish(next) {
      state = next
      onChange()
    }

    return { connect, api: () => api, state: () => state, info: () => info }
  }

  /** The providers a session can name. @param {any} info @returns {{name: string, label: string, demo: boolean}[]} */
  function modelsOf(info) {
    return (info?.models ?? []).map((/** @type {any} */ one) => {
      const name = one.name ?? one.id ?? String(one)
      const model = one.model ?? one.model_name
      const demo = one.demo === true || one.preset === 'demo' || name === 'demo'
      return { name, label: model && model !== name ? `${model} · ${name}` : name, demo }
    })
  }

  /** @param {any} info @returns {{name: string, description: string, ceiling: string, readOnly: boolean}[]} */
  function toolsOf(info) {
    return (info?.tools ?? []).map((/** @type {any} */ one) => ({
      name: one.name, description: one.description ?? '', readOnly: one.hints?.read_only === true,
      ceiling: typeof one.policy === 'object' ? one.policy?.ceiling ?? '' : one.policy === 'deny' ? 'deny' : '',
    }))
  }

  return { openServer, modelsOf, toolsOf }
})
