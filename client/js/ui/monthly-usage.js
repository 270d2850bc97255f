// What the runs of a key have used this month, in words.

yaa.define('ui/monthly-usage', ['ui/i18n', 'ui/commands', 'core/usage', 'i18n/settings'], ({ t, moment, language }, { context }, { money, short }) => {
  /** So long what was asked for counts as new. */
  const FRESH_MS = 10_000

  /** @param {(words: Map<string, string>) => void} show by the name of whose runs they are @returns {() => void} asks, unless that was just done */
  function monthlyUsage(show) {
    let asked = -FRESH_MS
    return () => {
      if (performance.now() - asked < FRESH_MS) return
      asked = performance.now()
      context().app.server.api().ask('/usage').then(({ months: [month] }) => {
        show(new Map(month?.people.map((/** @type {any} */ one) => [one.person, wordsOf(one, month.since)])))
      }, () => {}) // an older server keeps no account
    }
  }

  /** @param {any} spent @param {number} since */
  function wordsOf({ runs, tokens, cost_micro: costs }, since) {
    const paid = Object.entries(costs).map(([unit, micro]) => money(micro, unit, language()))
    return [t('link.spent', { since: moment(since), runs, tokens: short(tokens, language()) }), ...paid].join(' · ')
  }

  return { monthlyUsage }
})
