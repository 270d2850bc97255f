// Tokens, money and time of a message and of a session. Money is counted in millionths, as whole numbers.

yaa.define('core/usage', [], () => {
  /** @param {Message} message @returns {Totals} */
  function ofMessage(message) {
    const meta = message.meta ?? {}
    return { ...totals(meta.usage), calls: 1, ms: number(meta.ms), first_ms: number(meta.first_ms) }
  }

  /** Tokens as the session counts them; time as its messages say. @param {Session} session @returns {Totals} */
  function ofSession(session) {
    const usage = session.usage ?? {}
    const sum = { ...totals(usage), calls: number(usage.calls) }
    for (const message of session.messages) if (message.role === 'assistant') sum.ms += number(message.meta?.ms)
    return sum
  }

  /** @param {any} usage @returns {Totals} */
  function totals(usage = {}) {
    return {
      prompt: number(usage.prompt_tokens),
      completion: number(usage.completion_tokens),
      total: number(usage.total_tokens),
      reasoning: number(usage.reasoning_tokens),
      cached: number(usage.cached_tokens),
      cost_micro: number(usage.cost_micro),
      cost_unit: typeof usage.cost_unit === 'string' ? usage.cost_unit : '',
      calls: 0,
      ms: 0,
      first_ms: 0,
      estimated: usage.estimated === true,
    }
  }

  /** @param {any} value */
  const number = (value) => (Number.isFinite(value) ? value : 0)

  /**
   * An amount of millionths: cents where it has any, else two digits that count.
   * @param {number} micro
   * @param {string} [unit]
   * @param {string} [language]
   */
  function money(micro, unit = '', language = 'en') {
    const amount = micro / 1e6
    const digits = Math.abs(amount) >= 0.1 || amount === 0
      ? { minimumFractionDigits: 2, maximumFractionDigits: 2 }
      : { minimumSignificantDigits: 1, maximumSignificantDigits: 2 }
    const currency = (/** @type {string} */ code) => new Intl.NumberFormat(language, { style: 'currency', currency: code, ...digits })
    if (/^[A-Z]{3}$/.test(unit)) return currency(unit).format(amount)
    // a sign that several currencies share stands where the language puts that of one
    if (/^\p{Sc}$/u.test(unit)) return currency('USD').formatToParts(amount).map(({ type, value }) => (type === 'currency' ? unit : value)).join('')
    const text = new Intl.NumberFormat(language, digits).format(amount)
    return unit ? `${text} ${unit}` : text
  }

  /** 950, 12.3K, 4.1M. @param {number} n @param {string} [language] */
  function short(n, language = 'en') {
    return new Intl.NumberFormat(language, { notation: 'compact', maximumFractionDigits: 1 }).format(n)
  }

  return { ofMessage, ofSession, money, short }
})
