// The sessions of this browser and their runs. Several may run at once; each is folded by its own stream and saved
// as it grows. Views never change one: they call these functions, and `onChange` redraws them.

yaa.define('ui/session-store', ['core/ids', 'core/session', 'core/session-changes', 'io/lock', 'io/tab-channel', 'io/store-memory'], ({ uuid }, sessions, { apply, isBeside }, locks, channels, { headOf }) => {
  /** Runs of this tab, remembered over a reload so that they go on by themselves. */
  const RUNNING = 'yaa.running'
  /** Events that change more than the thread. */
  const TURNS = new Set(['yaa.reset', 'STATE_DELTA', 'TOOL_CALL_RESULT'])
  const [TRIES, MOMENT_MS] = [50, 40] // another tab may only store something; one with a run answers
  /** @type {RunState} */ const BEGUN = { phase: 'posting', attempt: 0, resumed: 0 }
  const LATE = ['way', 'takeBack', 'edit', 'mark', 'amend', 'rename', 'change', 'remove', 'restore', 'hear']
  const NOTHING = { stamp: '', changes: /** @type {any[]} */ ([]), keys: /** @type {any[]} */ ([]) }
  /** @type {RunState} */ const STOPPED = { ...BEGUN, phase: 'interrupted', reason: 'stopped' }

  /** @typedef {import('./types').Entry} Entry an open session */
  /** @type {Modules['ui/session-store']['openSessionStore']} */
  function openSessionStore({ store, api, prepare, onChange, onEnd, onUnsaid, onLost }) {
    /** @type {Map<string, Entry>} */ const entries = new Map()
    /** @type {Head[]} */ let heads = []
    /** @type {import('./types').Hooks[]} */ const hooks = []
    const channel = channels.open()
    const lock = locks.create({ channel })
    const slots = locks.slots({ acquire: lock.acquire, wake: (callback) => channel.listen((message) => message?.slot && callback()) })

    /** @param {Session} session @returns {Entry} */
    function hold(session) {
      const entry = { session, run: null, state: null, going: null, given: new Map(), later: [], stored: [] }
      entries.set(session.id, entry)
      return entry
    }

    /** @type {Map<string, Promise<any>>} */ const turns = new Map()

    /** Work under the lock of a session, after who has it for a moment. @template T @param {string} id @param {() => Promise<T>} work @returns {Promise<T | null>} null: another tab runs it */
    async function alone(id, work) {
      while (turns.has(id)) await turns.get(id)
      let over = (/** @type {any} */ _) => {}
      turns.set(id, new Promise((resolve) => { over = resolve }))
      const take = () => lock.acquire(`session ${id}`)
      let release = await take()
      if (!release) channel.send({ who: id })
      for (let n = 0; !release && n < TRIES && !entries.get(id)?.elsewhere; n++) {
        await new Promise((resolve) => { setTimeout(resolve, MOMENT_MS) })
        release = await take()
      }
      try {
        return release && await work()
      } finally {
        await release?.()
        turns.delete(id)
        over(null)
      }
    }

    /** @param {Session} session */
    const isTemporary = (session) => session.ext?.temporary === true

    /** Store a session: nothing else does. @param {Session} session @param {Marks} [marks] @param {any[]} [taken] keys of changes that waited @param {number} [said] when it was, of one from elsewhere */
    async function write(session, marks = entries.get(session.id)?.run?.marks, taken = [], said = undefined) {
      if (isTemporary(session)) return
      const [entry, stamp] = [entries.get(session.id), uuid()]
      if (await store.put(session, marks, { stamp, taken, said }) !== false && entry) entry.stamp = stamp
    }

    /** @param {Session} session @param {any[]} [taken] @param {number} [said] */
    async function save(session, taken, said) {
      await write(session, undefined, taken, said)
      if (!isTemporary(session)) globalThis.dispatchEvent?.(new CustomEvent('yaa-saved', { detail: session }))
    }

    /** Ids of what was stored, and of what a person has deleted. @type {Set<string>} */ let before = new Set()
    const removed = new Set()

    async function refresh() {
      const stored = await store.list().catch(() => null)
      if (!stored) return
      const now = new Set(stored.map(({ id }) => id))
      const lost = [...before].filter((id) => !now.has(id) && !removed.has(id))
      before = now
      // who clears the data of a site in one page has what is open there
      const detail = { code: 'cleared', message: String(lost.length) }
      if (lost.length && [...now].every((id) => entries.has(id))) globalThis.dispatchEvent?.(new CustomEvent('yaa-storage', { detail }))
      const open = [...entries.values()].filter(({ session: { id, messages } }) => messages.length && !now.has(id) && !removed.has(id))
      heads = [...open.map(({ session }) => headOf(session, Date.now())), ...stored]
    }

    /** @param {Entry} entry @param {boolean} on only a session that was never stored becomes temporary */
    const setTemporary = (entry, on) => take(entry, [{ kind: 'set', path: ['ext', 'temporary'], value: on || undefined }])

    /** What is stored, without a pause that a page of before wrote into it, and what waits. @param {string} id */
    async function read(id) {
      const { stamp, changes } = await store.look(id).catch(() => NOTHING)
      const session = await store.get(id) ?? (await Promise.all(hooks.map((hook) => hook.fetch?.(id)))).find(Boolean)
      if (session?.ext?.held) await yaa.load('session-defaults').then(() => yaa.use('core/session-defaults').release(session), console.warn)
      return session && { session, stamp, changes }
    }

    /** @param {string} id @returns {Promise<Entry | null>} */
    async function open(id) {
      const found = entries.has(id) ? null : await read(id)
      if (!found || entries.has(id)) return entries.get(id) ?? null
      const entry = Object.assign(hold(found.session), { stamp: found.stamp, stored: found.changes })
      channel.send({ who: id })
      if (wasRunning(id) && sessions.canResume(entry.session)) run(entry)
      else if (found.changes.length) settle(entry, true)
      return entry
    }

    /** A session nobody has written in yet; it is kept only with its first message. */
    const fresh = () => hold(sessions.create())

    /** Send a message, or give it back. @param {Entry} entry @param {any} words @param {string} [queued] where it waits in the session */
    async function send(entry, words, queued) {
      if (isActive(entry)) return
      const message = sessions.append(/** @type {any} */ ({ messages: [] }), words)
      note(entry, [{ kind: 'say', message, queued }])
      if (await run(entry)) return
      entry.later = entry.later.filter((change) => change.message !== message)
      entry.session.messages = entry.session.messages.filter((one) => one !== message)
      if (queued) apply(entry.session, waiting(queued, words)) // it still waits where it is stored
      else onUnsaid(entry, words)
    }

    /** @param {string} id @param {any} [content] none: it waits no more @returns {SessionChange} */
    const waiting = (id, content) => ({ kind: 'set', path: ['ext', 'queue', id], value: content })

    /** Let a message wait, change or take out one that waits. @param {Entry} entry @param {string} id @param {any} [content] */
    const queue = (entry, id, content) => take(entry, [waiting(id, content)])

    /**
     * Take answers, once the run that asks has come to rest; it goes on when nothing is left to ask.
     * @param {Entry} entry @param {[string, Answer | null][]} answers
     */
    async function answer(entry, answers) {
      if (entry.going) {
        for (const [id, one] of answers) if (one && !entry.given.has(id)) entry.given.set(id, one)
        onChange(entry.session.id, true)
        await entry.going
      }
      if (entry.going) return
      const taken = note(entry, answers.map(([question, answer]) => ({ kind: 'answer', question, answer })))
      onChange(entry.session.id, true)
      const isWhole = () => !sessions.openInterrupts(entry.session).length && taken.some(({ answer }) => answer)
      if (!isWhole()) await settle(entry)
      if (isWhole()) return run(entry)
    }

    /** Make a change, under a run if none reads it. @param {Entry} entry @param {SessionChange} change @returns {boolean} false: it cannot be made any more */
    const make = (entry, change) => ((isActive(entry) || entry.elsewhere) && !isBeside(change)) || apply(entry.session, change)

    /** Take changes, seen at once. @param {Entry} entry @param {SessionChange[]} changes those that can be made come back */
    const note = (entry, changes) => changes.filter((change) => make(entry, change) && entry.later.push(change))

    /** Take changes, and store them. @param {Entry} entry @param {SessionChange[]} changes @param {boolean} [quiet] */
    function take(entry, changes, quiet) {
      note(entry, changes)
      onChange(entry.session.id, true)
      return settle(entry, false, quiet)
    }

    /** Store changes; under a run beside the session, for who has its lock next. @param {Entry} entry @param {boolean} [waits] also what waits there @param {boolean} [quiet] @returns {Promise<any>} true: made */
    async function settle(entry, waits, quiet) {
      const { id } = entry.session
      if (!waits && !entry.later.length) return
      if (isTemporary(entry.session) || !entry.stamp && !entry.session.messages.length) return void (isActive(entry) || (entry.later = []))
      if (!isActive(entry) && await alone(id, () => keep(entry))) {
        if (!quiet) await changed(id)
        return true
      }
      const posted = entry.later.filter(({ kind }) => kind !== 'say')
      if (!posted.length) return // two tabs that wait for a third would tell one another for ever
      entry.later = entry.later.filter(({ kind }) => kind === 'say')
      entry[await store.post(id, posted) ? 'stored' : 'later'].push(...posted)
      if (!entry.locked) channel.send({ later: id })
      else if (posted.some(isBeside)) await save(entry.session).then(() => changed(id))
    }

    /** Where nothing can be read, what is here is the newest. @param {Entry} entry */
    const lookAt = ({ session, stamp = '' }) => (isTemporary(session) ? { ...NOTHING, stamp } : store.look(session.id).catch(() => ({ ...NOTHING, stamp })))

    /** Bring it up to date, and store it. @param {Entry} entry */
    async function keep(entry) {
      const { taken, news } = await catchUp(entry)
      if (news) await save(entry.session, taken)
      return true
    }

    /** Read what another tab has stored, apply what waits. Only under the session's lock. @param {Entry} entry */
    async function catchUp(entry) {
      const { session: { id }, elsewhere } = entry
      const { stamp, changes, keys: taken } = await lookAt(entry)
      const found = (elsewhere || stamp !== (entry.stamp ?? '')) && await read(id)
      entry.elsewhere = entry.mirrored = false
      if (found) Object.assign(entry, { session: found.session, stamp: found.stamp })
      const news = [...changes, ...entry.later] // each can be made again in their order
      Object.assign(entry, { later: [], stored: [] })
      const refused = news.filter((change) => !apply(entry.session, change))
      if (found || news.length) onChange(id, true)
      return { taken, news: news.length, said: refused.some(({ kind }) => kind === 'say') }
    }

    /** Run once, from start to rest: `going`. The state is for display. @param {Entry} entry */
    const run = (entry) => (entry.going ??= perform(entry).catch(broken).then((end) => rest(entry, end)))

    /** A mistake leaves nothing running. @param {any} error @returns {RunState} */
    function broken(error) {
      console.error(error)
      return { ...STOPPED, reason: 'gave_up', error }
    }

    /** @param {Entry} entry @returns {Promise<RunState | null>} how it ended; null: another tab has it */
    async function perform(entry) {
      const { session: { id }, state } = entry
      entry.state = { ...BEGUN, since: Date.now() }
      let stopped = false
      let giveUp = () => {}
      const stopping = new Promise((resolve) => { giveUp = () => resolve(null) })
      entry.run = unsent(() => {
        stopped = true
        giveUp()
      })
      onChange(id, true) // with the next frame: what was said, and the way to stop it
      return alone(id, async () => {
        try {
          const { taken, said } = await catchUp(entry)
          entry.locked = true
          if (said) return await save(entry.session, taken), state ?? STOPPED
          sessions.markContinued(entry.session)
          if (!isTemporary(entry.session)) remember(id, true)
          // stored before the first script that it needs; the stream stores it before the first request
          const script = entry.watched ? null : prepare(entry.session)
          if (script || taken.length || !entry.stamp) {
            await save(entry.session, taken)
            refresh().then(() => onChange(id, true))
          }
          await Promise.race([script, stopping])
          const [way] = await Promise.race([Promise.all([late.way(entry), ...hooks.map((hook) => hook.onStart(entry))]), stopping]) ?? []
          const free = !stopped && await slot(entry)
          if (!free) return await save(entry.session), STOPPED
          entry.run = yaa.use('io/run-stream').start(entry.session, {
            api: way, store: isTemporary(entry.session) ? undefined : { put: (session, marks) => write(session, marks), append: store.append }, wake,
            onEvent: (event) => {
              for (const hook of hooks) hook.onEvent(entry, event)
              onChange(id, TURNS.has(event.type))
            },
            onState: (state) => onState(entry, state),
          })
          const end = await entry.run.done.finally(free)
          await keep(entry)
          return end
        } catch (error) {
          await write(entry.session)
          throw error
        } finally {
          remember(id, false)
          entry.locked = false
        }
      })
    }

    /** @param {Entry} entry @param {RunState | null} end @returns {RunState | null} */
    function rest(entry, end) {
      entry.going = null
      entry.given.clear()
      entry.state = end
      entry.elsewhere = !end
      if (end) {
        if (end.error?.code === 'answer_invalid') late.takeBack(entry)
        // before it is drawn as a question
        for (const hook of hooks) hook.onRest(entry)
        onEnd(entry)
        changed(entry.session.id)
        settle(entry)
      }
      entry.watched = false
      onChange(entry.session.id, true)
      return end
    }

    /**
     * One of the few connections that streams may have; a person's answer does not wait behind other runs.
     * @param {Entry} entry @returns {Promise<(() => void) | null>} null: stopped while it waited
     */
    async function slot(entry) {
      const { session } = entry
      const waiting = slots.take({
        urgent: sessions.answeredInterrupts(session).length > 0,
        onWait: () => {
          onState(entry, { ...BEGUN, reason: 'queued' })
          save(session).then(() => changed(session.id))
        },
      })
      entry.run = unsent(waiting.cancel)
      const release = await waiting.ready
      entry.run = null
      return release && (() => {
        release()
        channel.send({ slot: 'free' })
      })
    }

    /** @param {Entry} entry @param {RunState} state */
    function onState(entry, state) {
      if (state.phase === 'interrupted' || state.phase === 'done') return // said when it rests
      const begins = state.phase === 'streaming' && entry.state?.phase !== 'streaming'
      entry.state = state
      if (state.phase === 'lost' && state.error?.kind === 'network') onLost?.()
      // the stream saves the session before it sends it, so now it is in the list
      if (begins) changed(entry.session.id)
      else onChange(entry.session.id, true)
    }

    /** @param {Entry} entry */
    function retry(entry) {
      entry.run?.retryNow()
      run(entry)
    }

    /** @param {string[]} ids */
    async function changed(...ids) {
      await refresh()
      for (const running of [true, false]) {
        const told = ids.filter((id) => isActive(entries.get(id)) === running && !entries.get(id)?.session.ext?.temporary)
        if (told.length) channel.send({ changed: told, running })
      }
      for (const id of ids) onChange(id, true)
    }

    const own = { api, store, entries, hooks, channel, onChange, isTemporary, isActive, isBusy, hold, open, read, refresh, changed, alone, turns, make, take, settle, catchUp, save, removed, heads: () => heads }
    /** ui/session-edits. @type {any} */
    const late = Object.fromEntries(LATE.map((name) => [name, async (/** @type {any[]} */ ...rest) => {
      await yaa.load('session-defaults')
      edits ??= yaa.use('ui/session-edits').editsOf(own)
      return edits[name](...rest)
    }]))
    /** @type {any} */ let edits
    channel.listen((message) => late.hear(message).catch(console.warn))

    return { ...late, redraw: onChange, refresh, open, fresh, setTemporary, send, queue, answer, retry, settle, changed, heads: own.heads, listed: () => hooks.reduce((rows, hook) => hook.rows?.(rows) ?? rows, heads), entry: (/** @type {string} */ id) => entries.get(id), hooks }
  }

  /** @param {Entry | undefined} entry */
  const isActive = (entry) => Boolean(entry?.going)

  /** Does it run, here or in a mirrored tab? @param {Entry | undefined} entry */
  const isBusy = (entry) => Boolean(entry?.going || entry?.mirrored)

  /** A run before it is sent. @param {() => void} stop @returns {any} */
  const unsent = (stop) => ({ output: new Map(), events: [], stop, retryNow() {} })

  /** @param {string} id */
  const wasRunning = (id) => running().includes(id)

  /** @param {string} id @param {boolean} on */
  const remember = (id, on) => running([...running().filter((one) => one !== id), ...(on ? [id] : [])])

  /** @param {string[]} [next] @returns {string[]} none where a tab may store nothing: then nothing goes on by itself */
  function running(next) {
    try {
      if (next) sessionStorage.setItem(RUNNING, JSON.stringify(next))
      return JSON.parse(sessionStorage.getItem(RUNNING) ?? '[]')
    } catch { // full, or forbidden
      return []
    }
  }

  /** Waiting to try again ends early when the network is back or the page is looked at. @param {() => void} callback */
  function wake(callback) {
    const seen = () => document.visibilityState === 'visible' && callback()
    addEventListener('online', callback)
    document.addEventListener('visibilitychange', seen)
    return () => {
      removeEventListener('online', callback)
      document.removeEventListener('visibilitychange', seen)
    }
  }

  return { openSessionStore, isActive, isBusy }
})
