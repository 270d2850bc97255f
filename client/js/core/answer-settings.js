// How much a session's model thinks, how freely it chooses its words, and how long an answer may be: three members of
// `config.llm_api`, read and written as a person sets them. Pure.

yaa.define('core/answer-settings', [], () => {
  const HOTTEST = 2
  /** What vendors call it, the least first. */
  const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh']

  /**
   * @typedef {{effort: string, temperature: string, length: string}} Wishes as they stand in fields: '' leaves it to the model
   */

  /** @param {any} config of a session @returns {Wishes} */
  function read(config) {
    const { model_settings: settings, max_tokens: length } = config?.llm_api ?? {}
    const { reasoning_effort: effort, temperature, use_custom_temp: used } = settings ?? {}
    return {
      effort: typeof effort === 'string' ? effort : '',
      temperature: used === true && Number.isFinite(temperature) ? String(temperature) : '',
      length: Number.isInteger(length) ? String(length) : '',
    }
  }

  /** Which of them can not be sent. @param {Wishes} wishes @returns {'temperature' | 'length' | null} */
  function wrong({ temperature, length }) {
    const heat = Number(temperature)
    if (temperature.trim() && !(heat >= 0 && heat <= HOTTEST)) return 'temperature'
    return length.trim() && !(Number.isSafeInteger(Number(length)) && Number(length) > 0) ? 'length' : null
  }

  /** @param {any} config @param {Wishes} wishes that are right @returns {any} another config; everything else in it stays */
  function write(config, { effort, temperature, length }) {
    const { reasoning_effort: _, temperature: ____, use_custom_temp: __, ...others } = config?.llm_api?.model_settings ?? {}
    const settings = {
      ...others,
      ...(effort.trim() ? { reasoning_effort: effort.trim() } : {}),
      ...(temperature.trim() ? { use_custom_temp: true, temperature: Number(temperature) } : {}),
    }
    const { model_settings: ___, max_tokens: _____, ...api } = config?.llm_api ?? {}
    return {
      ...config,
      llm_api: {
        ...api,
        ...(Object.keys(settings).length || config?.llm_api?.model_settings ? { model_settings: settings } : {}),
        ...(length.trim() ? { max_tokens: Number(length) } : config?.llm_api?.max_tokens === undefined ? {} : { max_tokens: null }),
      },
    }
  }

  return { read, wrong, write, EFFORTS }
})
