// What this browser's key is good for besides: signing in on another device, by a link that is good once. And what runs
// with it have used.

yaa.define('ui/device-link', ['ui/dom', 'ui/i18n', 'ui/commands', 'ui/qr-picture', 'core/usage', 'i18n/sign-in'], ({ h, icon, fill, text }, { t, moment, language }, { context }, { linkParts }, { money, short }) => {
  /** So long what was asked for counts as new. */
  const FRESH_MS = 10_000

  /** In the server tab of the settings. */
  function linkPart() {
    const spent = h('p.hint', { hidden: true })
    const look = monthlyUsage((words) => {
      text(spent, [...words.values()].join())
      spent.hidden = !words.size
    })
    const shown = h('div.stack', { 'aria-live': 'polite' })
    const make = h('button.button', { type: 'button', onclick: show }, icon('key'), t('link.make'))
    const el = h('div.group', null, spent, h('section.stack', null, h('h3', null, t('link.title')), h('p.hint', null, t('link.lead')), h('div', null, make), shown))

    async function show() {
      const api = context().app.server.api()
      try {
        const made = await api.ask('/sign-in/link', { body: {} })
        fill(shown, linkParts(api.base + made.link))
      } catch (error) {
        fill(shown, h('p.problem', { role: 'alert' }, /** @type {Error} */ (error).message))
      }
    }

    /** @param {any} state */
    function update({ server, info }) {
      el.hidden = !server.ok || !server.hasKey
      if (el.hidden) fill(shown)
      else if (info?.owner === false) look() // an owner is told of everybody, beside their keys
    }
    return { el, update }
  }

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

  return { linkPart, monthlyUsage }
})
