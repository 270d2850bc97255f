// Sign in on another device with this browser's key: the server makes a link that is good once.

yaa.define('ui/device-link', ['ui/dom', 'ui/i18n', 'ui/storage-notices', 'ui/qr-picture', 'i18n/sign-in'], ({ h, icon, fill }, { t }, storage, { linkParts }) => {
  /** In the server tab of the settings. */
  function linkPart() {
    const shown = h('div.stack', { 'aria-live': 'polite' })
    const make = h('button.button', { type: 'button', onclick: show }, icon('key'), t('link.make'))
    const el = h('section.stack', null, h('h3', null, t('link.title')), h('p.hint', null, t('link.lead')), h('div', null, make), shown)

    async function show() {
      const api = storage.context().app.server.api()
      try {
        const made = await api.ask('/sign-in/link', { body: {} })
        fill(shown, linkParts(api.base + made.link))
      } catch (error) {
        fill(shown, h('p.problem', { role: 'alert' }, /** @type {Error} */ (error).message))
      }
    }

    /** @param {any} state */
    function update({ server }) {
      el.hidden = !server.ok || !server.hasKey
      if (el.hidden) fill(shown)
    }
    return { el, update }
  }

  return { linkPart }
})
