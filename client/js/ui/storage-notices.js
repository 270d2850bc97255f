// Notices over the composer when sessions are not safe (storage fails, no backup, a locked key), and the functions behind the
// storage and server settings. Loaded once the page can be typed in.

yaa.define('ui/storage-notices', [
  'ui/dom', 'ui/i18n', 'ui/popup', 'ui/commands', 'core/backup', 'io/download', 'io/key-storage', 'io/session-folder', 'core/session-import', 'core/ids', 'ui/removed-permissions',
  'i18n/storage', 'css/storage',
], ({ h, icon, list, attr }, { t }, { toast, say }, { context }, backups, download, keyStorages, folders, importer, { uuid }, removedPermissions) => {
  /** @typedef {{key: string, tone: string, words: string, next?: string, buttons: any[], form?: any}} Notice */
  const keyStorage = vaultOf()
  const folder = folders.open()
  /** @type {Map<string, Notice>} */
  const notices = new Map()
  const el = h('div.notices')

  /** Even looking at localStorage throws where cookies are off. */
  function vaultOf() {
    try {
      return keyStorages.open()
    } catch {
      return keyStorages.open({ storage: /** @type {any} */ ({ getItem: () => null }) })
    }
  }

  /** What the page of a standalone never does; the settings may be open before. */
  function start() {
    const { app } = context()
    addEventListener('yaa-storage', (event) => {
      event.preventDefault()
      troubled(/** @type {any} */ (event).detail)
    })
    addEventListener('yaa-saved', (event) => copyToFolder(/** @type {any} */ (event).detail))
    app.watchers.add(place)
    if (app.store.kind === 'memory') troubled(app.store.trouble?.code === 'newer' ? app.store.trouble : { code: 'blocked', message: '' })
    if (keyStorage.possible && keyStorage.exists() && !app.settings.key()) notice(locked())
    remind()
    yaa.use(/** @type {any} */ ('ui/session-expiry')).start(notice, (/** @type {string} */ key) => put(key, null))
    place()
  }

  /** The page is made anew when the language changes: then this is put back where it belongs. */
  function place() {
    if (!el.isConnected) document.querySelector('.foot .column')?.prepend(el)
    if (notices.has('vault') && context().app.settings.key()) put('vault', null)
  }

  /** @param {string} key @param {Notice | null} one */
  function put(key, one) {
    if (!one && !notices.has(key)) return
    if (one) notices.set(key, one)
    else notices.delete(key)
    list(el, [...notices.values()], (one) => one.key + one.words, ({ tone, words, next, buttons, form }) => {
      const text = h('p', null, words, next ? h('span.hint', null, ' ', next) : null)
      const row = h('div.keep-note', { role: 'group', 'aria-label': words }, icon(tone === 'bad' ? 'alert' : 'download'), text, form, h('div.notice-buttons', null, buttons))
      attr(row, 'data-tone', tone)
      return { el: row, update() {} }
    })
  }

  /** @param {Notice} one */
  function notice(one) {
    if (notices.get(one.key)?.words === one.words) return // as each write of a run that the storage has no room for
    put(one.key, one)
    say(one.words, one.tone === 'bad')
  }

  /** @param {string} label @param {() => void} onclick @param {string} [look] */
  const button = (label, onclick, look = 'small') => h(`button.button.${look}`, { type: 'button', onclick }, label)

  /** @param {StoreError} error */
  function troubled({ code, message }) {
    const key = `store-${code}` // each trouble stays said beside the others
    const words = code === 'blocked' && !message ? t('storage.memory') : t(`storage.${code}`, { detail: message })
    const buttons = [button(t('storage.copy'), copyAll), button(t('settings.close'), () => put(key, null), 'small.ghost')]
    notice({ key, tone: 'bad', words, next: t(`storage.${code}Next`), buttons })
  }

  // -- copies --

  async function isPersistent() {
    return await navigator.storage?.persisted?.() ?? false
  }

  async function remind() {
    const { app } = context()
    const { settings } = app
    const heads = app.sessionStore.heads()
    const kept = { copied: settings.get('copied'), snoozed: settings.get('snoozed') }
    const folderOn = folder.possible && (await folder.state()).state === 'ready'
    const { due, days, changed } = backups.reminder({ now: Date.now(), heads, persisted: await isPersistent(), folder: folderOn, ...kept })
    if (!due || app.store.kind === 'memory') return
    const later = () => {
      settings.set('snoozed', Date.now())
      put('nag', null)
    }
    const words = t(days === null ? 'nag.first' : 'nag.again', { n: changed, days: days ?? 0 })
    put('nag', { key: 'nag', tone: 'note', words, buttons: [button(t('storage.copy'), copyAll), button(t('nag.later'), later, 'small.ghost')] })
  }

  /** Every session, as it is known now, in one file: what is open here even if the storage has failed. */
  async function copyAll() {
    const { app } = context()
    const heads = [...await app.store.list().catch(() => []), ...app.sessionStore.heads(), { id: app.current.session.id }]
    const ids = [...new Set(heads.map(({ id }) => id))]
    const known = await Promise.all(ids.map((id) => currentState(app, id)))
    const all = known.filter((one) => one?.messages.length && !one.ext?.temporary)
    const lost = known.filter((one) => !one).length
    const now = Date.now()
    download.json(`yaa-${new Date(now).toISOString().slice(0, 10)}.yaa.json`, backups.backup(/** @type {Session[]} */ (all), now))
    if (!lost) app.settings.set('copied', now)
    if (!lost) put('nag', null)
    toast(t(lost ? 'storage.copyPart' : 'storage.copyDone', { n: all.length, lost }), { bad: lost > 0 })
    app.draw()
  }

  /** What is open is newer than what is stored, but for a run, whose calls are marked there. @param {import('./types').App} app @param {string} id */
  async function currentState({ sessionStore, store }, id) {
    const entry = sessionStore.entry(id)
    if (entry && !entry.going) return entry.session
    return await store.get(id).catch(() => null) ?? entry?.session ?? null
  }

  /**
   * A copy may be anybody's: it comes in as any file does, beside what is here, until the person says that it is their own.
   * @param {File} file
   */
  async function restore(file) {
    const { app } = context()
    const found = backups.readBackup(await file.text().then(JSON.parse).catch(() => null))
    if (!found) return toast(t('storage.notACopy'), { bad: true })
    /** @type {(import('./types').ImportedSession & {raw: Session})[]} */ const brought = []
    for (const raw of found.sessions) {
      const here = await app.store.get(raw.id)
      const made = backups.isLater(raw, here) ? importer.importSession(raw, '', app.server.info()?.defaults) : null
      if (!made) continue
      const { session, removed } = made
      if (here) session.id = uuid()
      if (await app.sessionStore.restore(session, true)) brought.push({ id: session.id, title: session.title, removed, beside: Boolean(here), raw })
    }
    await app.sessionStore.changed(...brought.map(({ id }) => id))
    toast(t('storage.restored', { taken: brought.length, kept: found.sessions.length - brought.length }))
    removedPermissions.showRemoved(app, brought, { own: () => takeBack(brought) })
  }

  /** The person's own copy: as it was, in the place of what came in without its permissions. @param {{id: string, raw: Session}[]} brought */
  async function takeBack(brought) {
    const { sessionStore } = context().app
    for (const { id, raw } of brought) {
      if (!await sessionStore.restore(raw, true)) continue // it runs: both stay
      if (id !== raw.id) await sessionStore.remove(id, true)
    }
    await sessionStore.changed(...brought.flatMap(({ id, raw }) => [id, raw.id]))
  }

  /** A session that has changed goes into the folder too. @param {Session} session */
  function copyToFolder(session) {
    if (folder.possible && !session.ext?.temporary) folder.write(session).catch((error) => troubled({ code: 'failed', message: error.message }))
  }

  // -- keys under a passphrase --

  /** @returns {Notice} */
  function locked() {
    const label = t('storage.vaultPass')
    const input = h('input.input', { type: 'password', autocomplete: 'off', 'aria-label': label, placeholder: label })
    async function onsubmit(/** @type {Event} */ event) {
      event.preventDefault()
      const keys = await keyStorage.unseal(input.value)
      input.value = ''
      if (!keys) return toast(t('storage.vaultWrong'), { bad: true })
      context().app.settings.takeKeys(keys)
      put('vault', null)
      context().actions.connect()
    }
    const form = h('form.inline-row', { onsubmit }, input, h('button.button.small', { type: 'submit' }, t('storage.vaultOpen')))
    return { key: 'vault', tone: 'note', words: t('storage.vaultLocked'), form, buttons: [] }
  }

  /** The keys leave the open storage with it. @param {string} passphrase */
  async function sealKeys(passphrase) {
    const { settings } = context().app
    await keyStorage.seal(passphrase, settings.keys())
    settings.setKey(settings.key(), { remember: false })
  }

  return { start, context, copyAll, restore, copyToFolder, isPersistent, sealKeys, keyStorage, folder, storagePanel }

  /** @param {import('./types').Actions} actions */
  function storagePanel(actions) {
    return yaa.use(/** @type {any} */ ('ui/storage-settings')).panel(actions)
  }
})
