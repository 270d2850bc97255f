// What this browser's key is good for besides: signing in on another device, by a link that is good once. And what runs
// with it have used.

yaa.define('ext/device-link/device-link', ['ui/dom', 'ui/i18n', 'ui/commands', 'ext/device-link/picture', 'ui/monthly-usage', 'ext/device-link/texts'], ({ h, icon, fill, text }, { t }, { context }, { linkParts }, { monthlyUsage }) => {
  /** In the server tab of the settings. */
  function linkPart() {
    const spent = h('p.hint', { hidden: true })
    const look = monthlyUsage((/** @type {Map<string, string>} */ words) => {
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

  return { linkPart, linkParts }
})
