// Changes of sessions that are made less often than something is said: ui/session-store loads them. Each is made under the
// session's lock, of what is stored then.

yaa.define('ui/session-edits', ['core/session', 'core/session-settings'], (sessions, { changesOf }) => {
  /** @typedef {import('./types').Entry} Entry */

  /** @param {any} own what ui/session-store has */
  function editsOf({ api, store, entries, hooks, channel, onChange, isTemporary, isActive, isBusy, hold, open, read, refresh, changed, alone, turns, make, take, settle, catchUp, save, removed }) {
    /** What is asked to run a session: the server, or what an extension whose key the session has puts before it. @param {Entry} entry @returns {Promise<Api>} */
    async function way(entry) {
      for (const { name, group } of yaa.parts('runs')) {
        if (!Object.hasOwn(entry.session.ext ?? {}, name.split('/')[1])) continue
        await yaa.load(group)
        return yaa.use(name).way(entry, api())
      }
      return api()
    }

    /**
     * Change what was said: branches and edits, never under a run.
     * @template T @param {Entry} entry @param {(session: Session) => T} work @returns {Promise<T | null>} null: it is running
     */
    const edit = (entry, work) => mark(entry, (session) => {
      entry.state = null
      return work(session)
    })

    /**
     * The same, where its last run stays what is said of it.
     * @template T @param {Entry} entry @param {(session: Session) => T} work @returns {Promise<T | null>}
     */
    async function mark(entry, work) {
      const { id } = entry.session
      return isActive(entry) || entry.elsewhere ? null : alone(id, async () => {
        const { taken } = await catchUp(entry)
        const done = work(entry.session)
        onChange(id, true)
        await save(entry.session, taken)
        changed(id)
        return done
      })
    }

    /**
     * Change what a person has set in a session, at once or when no run has it any more. One that nobody has written in is
     * not kept. @param {Entry} entry @param {(session: Session) => any} work @param {boolean} [quiet]
     */
    const amend = (entry, work, quiet) => take(entry, changesOf(entry.session, work), quiet)

    /** Answers the server did not take are open again, so that they can be given anew. @param {Entry} entry */
    const takeBack = (entry) => take(entry, sessions.answeredInterrupts(entry.session).map(({ id }) => ({ kind: 'answer', question: id, answer: null })))

    /** @param {string} id @param {string} title */
    const rename = (id, title) => change(id, (session) => { session.title = title })

    /**
     * The same in a session that may not be open. Who does this, or one of the next two, to many says so with `quiet`, and
     * at the end what has `changed`. @param {string} id @param {(session: Session) => any} work @param {boolean} [quiet]
     */
    async function change(id, work, quiet) {
      const entry = await open(id)
      if (entry) await amend(entry, work, quiet)
    }

    /** Once nothing runs it, here or in another tab. @param {string} id @param {boolean} [quiet] @returns {Promise<Session | null>} what was deleted, for `restore` */
    async function remove(id, quiet) {
      const entry = entries.get(id)
      const elsewhere = await Promise.all(hooks.map((/** @type {import('./types').Hooks} */ hook) => hook.onRemove?.(id)))
      removed.add(id)
      channel.send({ removed: id })
      for (; entry?.going; await entry.going) entry.run?.stop()
      entries.delete(id)
      const session = await store.delete(id)
      if (!quiet) await changed(id)
      return session ?? entry?.session ?? elsewhere.find(Boolean) ?? null
    }

    /** In the place of what is here. @param {Session} session @param {boolean} [quiet] @param {number} [said] when it was @returns {Promise<boolean>} false: it is running */
    async function restore(session, quiet, said) {
      const entry = entries.get(session.id)
      const done = !isActive(entry) && await alone(session.id, async () => {
        if (isActive(entry)) return false // a person has said something while the lock was awaited
        removed.delete(session.id)
        if (entry) Object.assign(entry, { session, state: null, later: [], stored: [] })
        else if (isTemporary(session)) hold(session)
        await save(session, undefined, said)
        return true
      })
      if (done && !quiet) await changed(session.id)
      return Boolean(done)
    }

    /** Another tab wrote: what is open here and not running is read again. @param {any} message */
    async function hear(message) {
      if (message?.removed) removed.add(message.removed)
      if (message?.who && entries.get(message.who)?.locked) channel.send({ changed: [message.who], running: true })
      const waited = message?.later && entries.get(message.later)
      if (waited?.locked) await beside(waited)
      else if (waited) await settle(waited, true)
      if (message?.removed && entries.has(message.removed)) await gone(message.removed)
      if (!message?.changed) return
      await refresh()
      for (const id of message.changed) {
        /** @type {Entry | undefined} */ const entry = entries.get(id)
        if (entry && isActive(entry) && !entry.locked) entry.elsewhere ||= message.running
        if (entry && !isActive(entry)) {
          entry.elsewhere = message.running
          entry.mirrored &&= message.running
          const { stamp } = entry
          const found = await read(id)
          // who writes here meanwhile reads it first; what this tab has written since, or follows, is newer
          const isNewer = found && !isBusy(entry) && !turns.has(id) && entry.stamp === stamp
          if (isNewer) Object.assign(entry, { session: found.session, stamp: found.stamp })
          if (isNewer || (found && entry.mirrored && !isActive(entry))) view(entry, found.changes)
          if (found && !message.running) settle(entry, found.changes.length > 0)
        }
        onChange(id, true)
      }
    }

    /** Show what waits in the store, and what this tab has not stored yet. @param {Entry} entry @param {SessionChange[]} stored */
    function view(entry, stored) {
      entry.stored = stored
      for (const change of [...stored, ...entry.later]) make(entry, change)
    }

    /** What another tab has changed under a run of this one. @param {Entry} entry */
    async function beside(entry) {
      const { changes } = await store.look(entry.session.id)
      if (!entry.locked) return settle(entry, true)
      view(entry, changes)
      await save(entry.session)
      await changed(entry.session.id)
    }

    /** What another tab has deleted stays deleted, unless a person wants it back. @param {string} id */
    async function gone(id) {
      const entry = /** @type {Entry} */ (entries.get(id))
      if (isActive(entry)) await remove(id)
      entries.delete(id)
      if (hooks.some((/** @type {import('./types').Hooks} */ hook) => hook.onGone?.(entry))) entries.set(id, entry)
    }

    return { way, takeBack, edit, mark, amend, rename, change, remove, restore, hear }
  }

  return { editsOf }
})
