// The storage tab of the settings: where sessions are, copies of them, a folder, the key under a passphrase.

yaa.define('ui/storage-settings', ['ui/dom', 'ui/i18n', 'ui/popup', 'ui/storage-notices', 'ui/session-expiry'], ({ h, icon, text, fill }, { t }, { toast }, notices, expiry) => {
  const DAY = 86_400_000

  /** @param {number} bytes */
  const size = (bytes) => (bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`)

  /** @param {string} label @param {() => any} onclick */
  const button = (label, onclick) => h('button.button.small', { type: 'button', onclick }, label)

  /** @param {string} title @param {...any} parts */
  const section = (title, ...parts) => h('section.stack', null, h('h3', null, title), parts)

  /** @param {import('./types').Actions} actions */
  function panel(actions) {
    const place = placePart()
    const old = expiry.settingsPart(actions)
    const copies = copiesPart()
    const folder = folderPart()
    const vault = vaultPart(actions)
    const el = h('div.group', null, place.el, old.el, copies.el, folder.el, vault.el)
    /** @param {import('./types').State} state */
    function update(state) {
      old.update()
      for (const part of [place, copies, folder, vault]) part.update(state)
    }
    return { el, update }
  }

  function placePart() {
    const where = h('p')
    const disk = h('p.hint', null, t('storage.disk'))
    const promise = h('p.hint')
    const ask = button(t('storage.persist'), persist)
    const el = h('div.stack', null, where, promise, h('div', null, ask), disk)

    async function persist() {
      if (!(await navigator.storage.persist())) toast(t('storage.refused'))
      update(null)
    }

    /** @param {import('./types').State | null} state */
    async function update(state) {
      const { app } = notices.context()
      if (state) disk.hidden = !state.onDisk
      const { usage = 0, quota = 0 } = (await navigator.storage?.estimate?.().catch(() => null)) ?? /** @type {StorageEstimate} */ ({})
      const used = quota ? t('storage.used', { used: size(usage), quota: size(quota) }) : ''
      text(where, app.standalone ? t('storage.standalone') : app.store.kind === 'memory' ? t('storage.memory') : t('storage.here', { n: app.sessionStore.heads().length, used }))
      const kept = await notices.isPersistent()
      promise.hidden = app.store.kind === 'memory'
      text(promise, t(kept ? 'storage.persisted' : 'storage.evictable'))
      ask.hidden = kept || !navigator.storage?.persist || app.store.kind === 'memory'
    }

    return { el, update }
  }

  function copiesPart() {
    const age = h('p.hint')
    const file = h('input.sr-only', { type: 'file', 'aria-label': t('storage.restore'), tabIndex: -1, onchange })
    const el = section(t('storage.copyTitle'), age,
      h('div.button-row', null, button(t('storage.copy'), notices.copyAll), button(t('storage.restore'), () => file.click()), file))

    async function onchange() {
      if (file.files?.[0]) await notices.restore(file.files[0])
      file.value = ''
    }

    function update() {
      const copied = notices.context().app.settings.get('copied')
      text(age, copied ? t('storage.copied', { days: Math.floor((Date.now() - copied) / DAY) }) : t('storage.never'))
    }

    return { el, update }
  }

  function folderPart() {
    const { folder } = notices
    const words = h('p.hint')
    const buttons = h('div.button-row')
    const el = section(t('storage.folderTitle'), h('p.hint', null, t('storage.folderLead')), words, buttons)
    el.hidden = !folder.possible

    /** @param {() => Promise<any>} work */
    const then = (work) => async () => {
      await work()
      const { app } = notices.context()
      if ((await folder.state()).state === 'ready') for (const head of await app.store.list()) notices.copyToFolder(await app.store.get(head.id))
      update()
    }

    async function update() {
      if (!folder.possible) return
      const { state, name } = await folder.state()
      words.hidden = state === 'none'
      text(words, t(state === 'ask' ? 'storage.folderAsk' : 'storage.folderOn', { name }))
      fill(buttons,
        state === 'none' ? button(t('storage.folderChoose'), then(folder.choose)) : null,
        state === 'ask' ? button(t('storage.folderAllow'), then(folder.ask)) : null,
        state !== 'none' ? button(t('storage.folderOff'), then(folder.forget)) : null)
    }

    return { el, update }
  }

  /** @param {import('./types').Actions} actions */
  function vaultPart(actions) {
    const { keyStorage } = notices
    const label = t('storage.vaultPass')
    const input = h('input.input', { type: 'password', autocomplete: 'new-password', 'aria-label': label, placeholder: label })
    const sealed = h('p', null, icon('check'), ' ', t('storage.vaultSealed'))
    const forget = button(t('storage.vaultForget'), () => {
      keyStorage.forget()
      actions.draw()
    })
    const form = h('form.inline-row', { onsubmit }, input, h('button.button.small', { type: 'submit' }, t('storage.vaultSeal')))
    const el = section(t('storage.vaultTitle'), h('p.hint', null, t('storage.vaultLead')), sealed, form, h('div', null, forget))

    /** @param {Event} event */
    async function onsubmit(event) {
      event.preventDefault()
      if (!notices.context().app.settings.key()) return toast(t('storage.vaultNoKey'), { bad: true })
      if (input.value) await notices.sealKeys(input.value)
      input.value = ''
      actions.draw()
    }

    /** @param {import('./types').State} state */
    function update({ onDisk }) {
      el.hidden = !onDisk || !keyStorage.possible
      const exists = keyStorage.exists()
      sealed.hidden = forget.hidden = !exists
      form.hidden = exists
    }

    return { el, update }
  }

  return { panel }
})
