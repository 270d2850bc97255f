// Every model that a server offers, as rows to choose from. Pure.

yaa.define('core/model-choices', [], () => {
  /**
   * List the models of all providers, in the order of the server, each once.
   * @param {any} info what the server told of itself, or null
   * @returns {{provider: string, model: string, name: string, window: number}[]} `window`: tokens, told of a provider's usual model alone; else 0
   */
  function modelRows(info) {
    /** @type {any[]} */ const providers = Array.isArray(info?.models) ? info.models : []
    return providers.filter((one) => typeof one?.name === 'string').flatMap(({ name, model, models, max_context: size }) => {
      const named = [model, ...Array.isArray(models) ? models : []].filter((one) => typeof one === 'string' && one)
      return [...new Set(named.length ? named : [''])].map((one) => ({
        provider: name, model: one, name: one && one !== name ? `${one} · ${name}` : name, window: one === model && size > 0 ? Number(size) : 0,
      }))
    })
  }

  return { modelRows }
})
