// Sessions unused for long: archived automatically (the toast undoes it), deleted after confirmation. Sessions that run, are
// pinned, open or not stored are left alone.

yaa.define('ui/session-expiry', [
  'ui/dom', 'ui/i18n', 'ui/popup', 'ui/commands', 'ui/dialog', 'ui/manage-sessions', 'core/backup', 'io/lock', 'io/tab-channel', 'i18n/storage',
], ({ h, text, uid }, { t }, { toast }, { context }, { openDialog, button }, manage, backup, locks, channels) => {
  const HOUR = 3_600_000
  const SNOOZE = 7 * 24 * HOUR
  /** So many titles are named; the others are counted. */
  const NAMED = 200
  /** @type {ReturnType<typeof locks.create> | null} */ let lock = null

  /** What is due, as the settings say. */
  function dueSessions() {
    const { app } = context()
    const { settings, sessionStore, current } = app
    const heads = sessionStore.heads()
    const busy = heads.filter(({ id }) => sessionStore.entry(id)?.going || sessionStore.entry(id)?.elsewhere || sessionStore.entry(id)?.session.ext?.temporary)
    const keep = new Set([current.session.id, ...busy.map(({ id }) => id)])
    return { heads, ...backup.expiredSessions({ now: Date.now(), heads, keep, ...settings.get('expiry') }) }
  }

  /** Another tab may run it: then its lock is taken. @param {Head[]} heads @returns {Promise<string[]>} ids of those that nobody runs */
  async function free(heads) {
    lock ??= locks.create({ channel: channels.open() })
    /** @type {string[]} */ const found = []
    for (const { id } of heads) {
      const release = await lock.acquire(`session ${id}`)
      if (release) found.push(id)
      await release?.()
    }
    return found
  }

  /** @param {Head[]} heads */
  async function archive(heads) {
    const ids = await free(heads)
    if (!ids.length) return
    await manage.archive(context(), ids, true)
  }

  /** Says what would go, and lets it go. @param {Head[]} heads */
  function ask(heads) {
    const rows = h('ul.expiring', { tabIndex: 0, 'aria-label': t('expiry.which') }, heads.slice(0, NAMED).map(({ title }) => h('li', null, title || t('session.untitled'))))
    const more = heads.length > NAMED ? h('p.hint', null, t('expiry.more', { n: heads.length - NAMED })) : null
    const go = async () => {
      el.close()
      const still = new Map(dueSessions().remove.map((head) => [head.id, head])) // of what was listed, what is due yet
      const ids = await free(heads.filter(({ id }) => still.has(id)))
      await manage.removeAll(context(), ids)
    }
    const copy = button(t('storage.copy'), () => yaa.use('ui/storage-notices').copyAll())
    const el = openDialog({
      title: t('expiry.title', { n: heads.length }), body: h('div.stack', null, h('p', null, t('expiry.lead')), rows, more),
      buttons: [copy, button(t('expiry.not'), () => el.close()), button(t('expiry.delete', { n: heads.length }), go, 'danger')],
    })
  }

  /** @param {(notice: any) => void} notice @param {(key: string) => void} gone */
  function start(notice, gone) {
    let looked = 0
    async function look() {
      const { app } = context()
      if (document.hidden || Date.now() - looked < HOUR || app.store.kind === 'memory') return
      looked = Date.now()
      const { archive: old, remove } = dueSessions()
      if (old.length) await archive(old)
      if (!remove.length || Date.now() - (app.settings.get('expirySnoozed') ?? 0) < SNOOZE) return
      const days = app.settings.get('expiry')?.remove
      const later = () => {
        app.settings.set('expirySnoozed', Date.now())
        gone('expiry')
      }
      const show = () => {
        gone('expiry')
        ask(dueSessions().remove)
      }
      notice({
        key: 'expiry', tone: 'note', words: t('expiry.due', { n: remove.length, days }),
        buttons: [button(t('expiry.look'), show, 'small'), button(t('nag.later'), later, 'small.ghost')],
      })
    }
    look()
    document.addEventListener('visibilitychange', look)
  }

  /** In the storage panel. @param {import('./types').Actions} actions */
  function settingsPart(actions) {
    const fields = /** @type {const} */ (['archive', 'remove']).map((name) => daysField(name, actions, update))
    const counts = h('p', { role: 'status' })
    const now = { archive: button('', () => archive(dueSessions().archive).then(update), 'small'), remove: button('', () => ask(dueSessions().remove), 'small') }
    const el = h('section.stack', null, h('h3', null, t('expiry.heading')), counts, fields.map((field) => field.el),
      h('p.hint', null, t('expiry.hint')), h('div.button-row', null, now.archive, now.remove))

    function update() {
      const { settings } = context().app
      const found = dueSessions()
      const archived = found.heads.filter((head) => head.archived).length
      text(counts, t('expiry.counts', { n: found.heads.length, archived, pinned: found.heads.filter((head) => head.pinned).length }))
      for (const field of fields) field.write(settings.get('expiry'))
      now.archive.hidden = !found.archive.length
      now.remove.hidden = !found.remove.length
      text(now.archive, t('expiry.archiveNow', { n: found.archive.length }))
      text(now.remove, t('expiry.deleteNow', { n: found.remove.length }))
    }

    return { el, update }
  }

  /** @param {'archive' | 'remove'} name @param {import('./types').Actions} actions @param {() => void} then */
  function daysField(name, actions, then) {
    const id = uid('days')
    const problem = h('p.problem', { hidden: true, id: `${id}-problem` }, t('expiry.bad'))
    const input = h('input.input', { id, inputmode: 'numeric', autocomplete: 'off', 'aria-describedby': `${id}-problem`, placeholder: t('expiry.never'), onchange })
    const el = h('div.field', null, h('label', { htmlFor: id }, t(`expiry.${name}`)), input, problem)

    function onchange() {
      const raw = input.value.trim()
      const days = Number(raw)
      problem.hidden = raw === '' || (Number.isInteger(days) && days >= 1 && days <= 36500)
      input.setAttribute('aria-invalid', String(!problem.hidden))
      if (!problem.hidden) return
      const { settings } = context().app
      actions.set({ expiry: { ...settings.get('expiry'), [name]: raw === '' ? undefined : days } })
      then()
    }

    return { el, write: (/** @type {any} */ value) => { if (input !== document.activeElement && problem.hidden) input.value = String(value?.[name] ?? '') } }
  }

  return { start, settingsPart, dueSessions }
})
