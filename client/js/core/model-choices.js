// Every model that a server offers, as rows to choose from. Pure.

yaa.define('core/model-choices', [], () => {
  /**
   * List the models of all providers, in the order of the server, each once.
   * @param {any} info what the server told of itself, or null
   * @returns {{provider: string, model: string, name: string, window: number, price: Price | null}[]} `window` in tokens, 0 if it is not told
   */
  function modelRows(info) {
    /** @type {any[]} */ const providers = Array.isArray(info?.models) ? info.models : []
    return providers.filter((one) => typeof one?.name === 'string').flatMap(({ name, model, models, about, max_context: size }) => {
      const named = [model, ...Array.isArray(models) ? models : []].filter((one) => typeof one === 'string' && one)
      return [...new Set(named.length ? named : [''])].map((one) => ({
        provider: name, model: one, name: one && one !== name ? `${one} · ${name}` : name,
        ...knownOf(Object.hasOwn(about ?? {}, one) ? about[one] : null, one === model ? size : 0),
      }))
    })
  }

  /** @typedef {{input: number, output: number, unit: string}} Price of a million tokens */

  /** @param {any} told of a model @param {any} size of a usual one @returns {{window: number, price: Price | null}} */
  function knownOf(told, size) {
    const window = [told?.window, size].find((one) => Number.isFinite(one) && one > 0) ?? 0
    const { input, output, total, unit } = told?.price ?? {}
    const [from, to] = [input ?? total, output ?? total].map((one) => (Number.isFinite(one) && one >= 0 ? one * 1000 : NaN))
    return { window, price: Number.isNaN(from + to) ? null : { input: from, output: to, unit: typeof unit === 'string' ? unit : '' } }
  }

  return { modelRows }
})
