// Brings changes of kept sessions to the server and those of the server here, and moves sessions in and out. What both have
// changed becomes a branch.

yaa.define('ext/keeper/sync', ['ui/i18n', 'ui/popup', 'ext/keeper/rules', 'ext/keeper/runs', 'ext/keeper/texts'], ({ t }, { toast }, rules, runs) => {
  /** @param {import('../../ui/types').CommandContext} context */
  function syncOf({ app, actions }) {
    const { sessionStore, store, server } = app
    const { inTurn } = runs
    /** Sessions that are written as the server has them. @type {Set<string>} */ const taking = new Set()
    /** Those that a person has deleted here, for who wants one back. @type {Set<string>} */ const deleted = new Set()

    /** @param {string} id */
    const stored = (id) => store.look(id).catch(() => ({ stamp: '', changes: [] }))

    /** @param {string} id */
    const recordOf = (id) => runs.keptAt(id, server.api())

    /** Store what the server has. @param {string} id @param {Session} session @param {Partial<KeptRecord>} about @param {number} [said] when that was */
    async function take(id, session, about, said) {
      taking.add(id)
      try {
        if (!await sessionStore.restore(rules.keyed(session), false, said)) return false
        runs.note(id, { base: server.api().base, gone: false, unbegun: false, said: rules.saidIn(session), stamp: (await stored(id)).stamp, ...about })
        return true
      } finally {
        taking.delete(id)
      }
    }

    /**
     * Take the document of the server, unless this browser has changed its copy.
     * @param {string} id @param {Session} session @param {string} revision '' while it runs
     */
    const install = (id, session, revision) => inTurn(id, async () => {
      const [record, entry] = [recordOf(id), sessionStore.entry(id)]
      if (!record || !entry || entry.going || (revision && !record.stale && record.revision === revision)) return
      if (rules.isChanged(record, entry.session, await stored(id))) return
      const waits = record.stale ? rules.withQueue(entry.session, session) : session
      await take(id, waits, { revision: revision || record.revision, stale: !revision, ...(waits === session ? {} : { stamp: '' }) })
    })

    /** The session as the server has it. @param {Api} api @param {string} id @returns {Promise<{session: Session, revision: string}>} */
    async function read(api, id) {
      const response = await api.request(runs.pathOf(id), { headers: { Accept: 'application/json' } })
      return { session: await response.json(), revision: (response.headers.get('ETag') ?? '').replace(/^W\/|"/g, '') }
    }

    /** Bring what was changed here to the server. Where there is no line it waits. @param {string} id */
    const push = (id) => inTurn(id, async () => {
      const [api, record, entry] = [server.api(), recordOf(id), sessionStore.entry(id)]
      if (!record || entry?.going) return
      const { stamp, changes } = await stored(id)
      const session = entry?.session ?? await store.get(id)
      if (!session || !rules.isChanged(record, session, { stamp, changes })) return
      try {
        const other = record.revision && !runs.linkOf(id).live ? await read(api, id) : null
        if (entry?.going) return // the answer that was given meanwhile comes with its run
        const next = other && other.revision !== record.revision ? rules.rebased(session, other.session) : null
        const revision = await runs.put(api, next ?? session, next && other ? other.revision : record.revision)
        if (next) await take(id, next, { revision, stale: false })
        else runs.note(id, { revision, stamp, said: rules.saidIn(session), stale: false })
      } catch (error) {
        await failed(id, /** @type {any} */ (error))
      }
    })

    /** @param {string} id @param {any} error */
    async function failed(id, error) {
      if (error.code === 'kept_conflict') return branchOff(id, error.facts)
      if (error.code === 'not_found' && recordOf(id)?.revision) return leave(id)
      if (error.kind !== 'refused') return // the line: it is tried again
      if (!recordOf(id)?.revision) runs.note(id, null)
      toast(t('keep.unkept', { detail: error.message }), { bad: true })
      app.draw()
    }

    /** The server has it no more. @param {string} id */
    function leave(id) {
      if (!recordOf(id)) return
      runs.note(id, { gone: true })
      if (app.current.session.id === id) toast(t('keep.gone'))
      app.draw()
    }

    /**
     * What was done here is a branch at the server: look at that, and let the session be what it is there.
     * @param {string} id @param {{branch: string, revision: string}} facts @param {boolean} [goesOn] it was to run
     */
    async function branchOff(id, { branch, revision }, goesOn) {
      const entry = sessionStore.entry(id)
      runs.note(id, { revision, stale: true, unbegun: false, said: entry ? rules.saidIn(entry.session) : [] })
      if (entry) entry.state = null
      toast(t('keep.branched'))
      if (app.current !== entry) return
      if (!await fetch(branch).catch(({ said, message }) => void toast(said ?? message, { bad: true }))) return
      await actions.open(branch)
      const opened = sessionStore.entry(branch)
      if (goesOn && opened && !opened.going) sessionStore.retry(opened)
    }

    /** The run of a session goes on in a branch, as another program has changed its file. @param {import('../../ui/types').Entry} entry @param {string} branch */
    function moved(entry, branch) {
      if (app.current === entry) toast(t('keep.moved'), { label: t('keep.open'), action: () => actions.open(branch) })
    }

    /** A kept session that is not here. Who asked for it says what it `said`. @param {string} id @param {number} [changed] @returns {Promise<Session | null>} */
    async function fetch(id, changed) {
      const { session, revision } = await read(server.api(), id).catch((error) => {
        throw Object.assign(error, { said: t('keep.failed', { detail: error.message }) })
      })
      await take(id, session, { revision, stale: false }, changed)
      return await store.get(id)
    }

    /** Move a session in; one that runs goes on there. @param {import('../../ui/types').Entry} entry */
    async function keep(entry) {
      const [{ session }, api] = [entry, server.api()]
      if (entry.elsewhere || entry.mirrored) return toast(t('keep.otherTab'))
      runs.note(session.id, { base: api.base, gone: false, revision: '', stamp: '', said: [], stale: false })
      taking.add(session.id)
      await sessionStore.amend(entry, (one) => { one.ext = rules.keyed(one).ext }).finally(() => taking.delete(session.id))
      if (entry.going) entry.run?.move?.(runs.way(entry, api))
      else await push(session.id)
      if (recordOf(session.id)) toast(t(session.config?.llm_api?.provider?.api_key ? 'keep.meansKey' : 'keep.meansOn'))
      app.draw()
    }

    /** Move a session out: what the server has is here, and deleted there. @param {import('../../ui/types').Entry} entry */
    async function takeBack(entry) {
      const { session: { id } } = entry
      if (entry.going || entry.elsewhere) return toast(t('keep.later'))
      try {
        await push(id)
        const { session, revision } = await read(server.api(), id)
        await install(id, session, revision)
        const record = recordOf(id)
        if (!record || record.revision !== revision || await inTurn(id, async () => rules.isChanged(record, entry.session, await stored(id)))) return
        runs.note(id, null)
        await server.api().request(runs.pathOf(id), { method: 'DELETE' }).catch((error) => {
          runs.note(id, record)
          throw error
        })
        await sessionStore.amend(entry, rules.unkeyed)
        toast(t('keep.meansOff'))
      } catch (error) {
        const { code, message } = /** @type {any} */ (error)
        toast(code === 'run_active' ? t('keep.later') : t('keep.failed', { detail: message }), { bad: true })
      }
      app.draw()
    }

    /**
     * Delete it at the server. It throws where that did not succeed.
     * @param {string} id @param {any} row of the list, if it is there @returns {Promise<Session | null>} what was there
     */
    async function remove(id, row) {
      const [api, record] = [server.api(), recordOf(id)]
      if (!record && !row) return null
      try {
        const session = row?.problem ? null : (await read(api, id)).session
        if (session) await api.ask(`${runs.pathOf(id)}/stop`, { body: {}, silence: 9000 })
        await api.request(runs.pathOf(id), { method: 'DELETE' })
        deleted.add(id)
        runs.note(id, null)
        return session
      } catch (error) {
        if (/** @type {any} */ (error).code === 'not_found') return runs.note(id, null), null
        toast(t('keep.failed', { detail: /** @type {any} */ (error).message }), { bad: true })
        throw error
      }
    }

    /** A session was stored in this browser. @param {Session} session */
    function saved({ id }) {
      if (taking.has(id)) return
      if (deleted.delete(id)) runs.note(id, { base: server.api().base, revision: '', stamp: '', said: [], stale: false }) // it is back
      if (!recordOf(id)) return
      if (sessionStore.entry(id)?.going) runs.relink(id, { touched: true })
      else push(id)
    }

    /** A run has come to rest. @param {import('../../ui/types').Entry} entry */
    function rest({ session, state, stamp = '', run }) {
      const [link, { code, facts }] = [runs.linkOf(session.id), state?.error ?? { code: '', facts: null }]
      runs.relink(session.id, { asked: false, following: link.following && state?.reason === 'gave_up' })
      if (!recordOf(session.id)) return
      if (state?.reason === 'refused' && recordOf(session.id)?.unbegun) runs.note(session.id, { unbegun: false, stale: false }) // what it lacked is stored with the next try
      if (code === 'kept_conflict') return void inTurn(session.id, () => branchOff(session.id, facts, true))
      if (code === 'question_closed') return runs.note(session.id, { stale: true, said: rules.saidIn(session) }), toast(t('keep.closed')) // what is there takes its place
      if (!link.following) return
      if (state?.reason === 'gave_up') return // it goes on there
      if (state?.reason === 'stopped' && !run?.posted) runs.way({ session }, server.api()).stop(session.id).catch(console.warn) // before it has asked anything: nobody else has told the server
      const isWhole = Boolean(link.revision && !state?.diverged && state?.reason !== 'stopped')
      runs.note(session.id, { ...(isWhole ? { revision: link.revision, stamp: link.touched ? '' : stamp } : {}), stale: !isWhole, said: rules.saidIn(session) })
      runs.relink(session.id, { revision: '', touched: false })
      if (link.touched) push(session.id)
    }

    return { install, push, fetch, keep, takeBack, remove, saved, rest, leave, moved, recordOf }
  }

  return { syncOf }
})
