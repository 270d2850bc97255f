// Several servers: a list of addresses, and moving a session to another one. Before it moves, the differences between the
// servers that concern it are shown.

yaa.define('ext/servers/server-list', [
  'ui/dom', 'ext/servers/texts', 'ui/popup', 'ui/commands', 'ui/dialog', 'ext/servers/compare', 'io/api', 'css/storage', 'ext/servers/style',
], ({ h, icon, iconButton, fill, text }, { t }, { toast }, { context }, { openDialog, button }, { compare }, apis) => {
  /** @param {string} url */
  const nameOf = (url) => url.replace(/^https?:\/\//, '')

  /** @returns {string[]} addresses, the one in use first */
  function known() {
    const { settings } = context().app
    const list = /** @type {string[]} */ (settings.get('servers') ?? [])
    return [settings.base(), ...list.filter((url) => url !== settings.base())]
  }

  /** @param {string[]} urls */
  const keep = (urls) => context().app.settings.set('servers', [...new Set(urls)])

  /** In the server tab of the settings. @param {import('../../ui/types').Actions} actions */
  function settingsPart(actions) {
    const rows = h('ul.servers')
    const url = h('input.input', { type: 'url', inputmode: 'url', 'aria-label': t('servers.url'), placeholder: 'http://' })
    const key = h('input.input', { type: 'password', autocomplete: 'off', 'aria-label': t('servers.key'), placeholder: t('servers.key') })
    const form = h('form.inline-row', { onsubmit }, url, key, h('button.button.small', { type: 'submit' }, icon('plus'), t('servers.add')))
    const el = h('section.stack', null, h('h3', null, t('servers.title')), h('p.hint', null, t('servers.lead')), rows, form)

    /** @param {Event} event */
    async function onsubmit(event) {
      event.preventDefault()
      await yaa.load('sign-in')
      const link = await yaa.use('ui/sign-in').redeem(url.value)
      if (!link) return
      const { address } = link
      const given = key.value.trim() || link.key
      if (!/^https?:\/\/[^\s/]+/.test(address)) return url.focus()
      if (given) context().app.settings.keepKey(address, given)
      keep([...known(), address])
      url.value = key.value = ''
      actions.draw()
    }

    let drawn = ''
    function update() {
      const urls = known()
      if (drawn === urls.join()) return
      drawn = urls.join()
      fill(rows, urls.map((one, i) => {
        const name = nameOf(one)
        const remove = () => {
          keep(known().filter((other) => other !== one))
          actions.draw()
        }
        const end = i
          ? [button(t('servers.move'), () => moveSession(one, actions), 'small'), iconButton('x', t('servers.remove', { name }), { onclick: remove })]
          : [h('span.badge', null, t('servers.current'))]
        return h('li', null, h('span.server-name', { title: one }, name), end)
      }))
    }

    return { el, update }
  }

  /** Asks the other server, says what would be different, and goes on there if that is wanted. @param {string} url @param {import('../../ui/types').Actions} actions */
  async function moveSession(url, actions) {
    const { app } = context()
    const name = nameOf(url)
    const body = h('div.stack', { 'aria-live': 'polite' }, h('p', null, t('servers.checking')))
    const go = button(t('servers.go'), onGo, 'primary')
    go.disabled = true
    const dialog = openDialog({ title: t('servers.moveTo', { name }), body, buttons: [button(t('servers.cancel'), () => dialog.close()), go] })
    const session = app.current.session

    function onGo() {
      keep([...known(), url])
      dialog.close()
      actions.set({ url })
      toast(t('servers.moved', { name }))
    }

    try {
      const api = apis.create({ base: url, key: app.settings.keys()[url] ?? '' })
      const there = await api.info()
      const found = compare(session, app.server.info(), there)
      fill(body, h('p', null, t(found.length ? 'servers.diff' : 'servers.same')), h('ul.differences', null, found.map(rowOf)))
      go.disabled = false
    } catch (error) {
      fill(body, h('p.problem', null, t('servers.failed', { detail: /** @type {Error} */ (error).message })))
    }
  }

  /** @param {Difference} one */
  function rowOf({ kind, level, name, here, there }) {
    const sign = { bad: 'alert', warn: 'alert', note: 'chevron' }[level]
    const row = h('li', { 'data-level': level }, icon(sign), h('span'))
    text(row.lastChild, t(`diff.${kind}`, { name, here: String(here ?? ''), there: String(there ?? '') }))
    return row
  }

  /** The command: choose one of the others, or add one in the settings. @param {import('../../ui/types').CommandContext} context */
  function chooseServer({ actions }) {
    const others = known().slice(1)
    if (!others.length) return actions.openSettings('server')
    if (others.length === 1) return moveSession(others[0], actions)
    const pick = (/** @type {string} */ url) => () => {
      dialog.close()
      moveSession(url, actions)
    }
    const dialog = openDialog({ title: t('servers.title'), body: h('div.button-row', null, others.map((url) => button(nameOf(url), pick(url)))) })
  }

  return { settingsPart, moveSession, chooseServer }
})
