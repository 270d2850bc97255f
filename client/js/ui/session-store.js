// The sessions of this browser and their runs. Several may run at once; each is folded by its own stream and saved
// as it grows. Views never change a session: they call these functions, and `onChange` redraws them.

yaa.define('ui/session-store', ['core/session', 'io/run-stream', 'io/lock', 'io/tab-channel', 'io/store-memory'], (sessions, stream, locks, channels, { headOf }) => {
  /** Runs of this tab, remembered over a reload so that they go on by themselves. */
  const RUNNING = 'yaa.running'
  /** Events that change more than the thread. */
  const TURNS = new Set(['yaa.reset', 'STATE_DELTA', 'TOOL_CALL_RESULT'])
  /** @type {RunState} */ const BEGUN = { phase: 'posting', attempt: 0, resumed: 0 }
  const begun = () => ({ ...BEGUN, since: Date.now() })
  /** @type {RunState} */ const STOPPED = { ...BEGUN, phase: 'interrupted', reason: 'stopped' }

  /**
   * @typedef {object} Entry an open session
   * @property {Session} session @property {Run | null} run @property {RunState | null} state
   * @property {Promise<any> | null} going its run, until it rests @property {boolean} [elsewhere] another tab is running it
   * @property {boolean} [mirrored] and sends what happens (io/run-mirror)
   * @property {Map<string, Answer>} given answers that wait for that @property {((session: Session) => void)[]} [later] changes too
   */

  /**
   * @param {{store: Store, api: () => Api, prepare: (session: Session) => any, onChange: (id: string, whole: boolean) => void,
   *   onEnd: (entry: Entry) => void, onElsewhere: () => void, onUnsaid: (entry: Entry, words: any) => void}} options
   *   `prepare` writes the person's settings into a session before it is sent; `whole`: more than its last turn changed
   */
  function openSessionStore({ store, api, prepare, onChange, onEnd, onElsewhere, onUnsaid }) {
    /** @type {Map<string, Entry>} */ const entries = new Map()
    /** @type {Head[]} */ let heads = []
    /** Called when a run begins, at each of its events, and when it has ended. @type {import('./types').Hooks[]} */
    const hooks = []
    const channel = channels.open()
    const lock = locks.create({ channel })
    const slots = locks.slots({ acquire: lock.acquire, wake: (callback) => channel.listen((message) => message?.slot && callback()) })
    channel.listen(onOtherTab)

    /** @param {Session} session @returns {Entry} */
    function hold(session) {
      const entry = { session, run: null, state: null, going: null, given: new Map() }
      entries.set(session.id, entry)
      return entry
    }

    /** @type {Map<string, Promise<any>>} */ const turns = new Map()

    /** Take the lock of a session, after who has it in this tab for a moment. @param {string} id @returns {Promise<(() => Promise<any>) | null>} null: another tab has it */
    async function takeLock(id) {
      while (turns.has(id)) await turns.get(id)
      let over = (/** @type {any} */ _) => {}
      turns.set(id, new Promise((resolve) => { over = resolve }))
      const release = await lock.acquire(`session ${id}`)
      const end = async () => {
        await release?.()
        turns.delete(id)
        over(null)
      }
      if (release) return end
      await end()
      return null
    }

    /** Sessions that nobody wants kept are in memory only. @param {Session} session */
    const isTemporary = (session) => session.ext?.temporary === true

    /** @param {Session} session */
    async function save(session) {
      if (isTemporary(session)) return
      await store.put(session, entries.get(session.id)?.run?.marks)
      globalThis.dispatchEvent?.(new CustomEvent('yaa-saved', { detail: session }))
    }

    /** @returns {Promise<void>} */
    async function refresh() {
      const open = [...entries.values()].filter(({ session }) => isTemporary(session) && session.messages.length)
      const stored = await store.list().catch(() => null)
      if (stored) heads = [...open.map(({ session }) => headOf(session, Date.now())), ...stored]
    }

    /** @param {Entry} entry @param {boolean} on only a session that was never stored becomes temporary */
    function setTemporary({ session }, on) {
      session.ext = { ...session.ext, temporary: true }
      if (!on) delete session.ext.temporary
      if (!on && session.messages.length) save(session)
      changed(session.id)
    }

    /** What is stored; a pause that a page of before wrote into it is ended. @param {string} id */
    async function read(id) {
      const session = await store.get(id)
      if (session?.ext?.held) await yaa.load('session-defaults').then(() => yaa.use('core/session-defaults').release(session), console.warn)
      return session
    }

    /** @param {string} id @returns {Promise<Entry | null>} */
    async function open(id) {
      const session = entries.has(id) ? null : await read(id)
      if (!session || entries.has(id)) return entries.get(id) ?? null
      const entry = hold(session)
      channel.send({ who: id })
      if (wasRunning(id) && sessions.canResume(session)) run(entry)
      return entry
    }

    /** A session nobody has written in yet; it is kept only with its first message. */
    function fresh() {
      return hold(sessions.create())
    }

    /** Send a message. In a session that another tab writes, `onUnsaid` gets it back. @param {Entry} entry @param {any} words */
    async function send(entry, words) {
      if (isActive(entry)) return
      const said = sessions.append(entry.session, words)
      if (await run(entry)) return
      entry.session.messages = entry.session.messages.filter((one) => one !== said)
      onUnsaid(entry, words)
    }

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
      const taken = answers.filter(([id, one]) => sessions.answer(entry.session, id, one))
      onChange(entry.session.id, true)
      const isWhole = () => !sessions.openInterrupts(entry.session).length && taken.some(([, one]) => one)
      if (taken.length && !isWhole()) await keepAnswers(entry, taken)
      if (isWhole()) return run(entry)
    }

    /** Store answers beside those of other tabs; the first to a question counts. @param {Entry} entry @param {[string, Answer | null][]} taken */
    async function keepAnswers({ session }, taken) {
      const release = await takeLock(session.id)
      if (!release) return // the tab that runs it stores it; ours are kept for then (takeOver)
      const stored = isTemporary(session) ? null : await read(session.id)
      for (const { id, answer = null } of stored ? sessions.answeredInterrupts(stored) : []) {
        if (!taken.some(([own, one]) => own === id && !one)) sessions.answer(session, id, answer)
      }
      await save(session)
      await release()
      await changed(session.id)
    }

    /** Run once, from start to rest: `going`. The state is for display. @param {Entry} entry */
    const run = (entry) => (entry.going ??= perform(entry).catch(broken).then((end) => rest(entry, end)))

    /** A script that did not come, or a mistake of ours, leaves nothing running. @param {any} error @returns {RunState} */
    function broken(error) {
      console.error(error)
      return { ...STOPPED, reason: 'gave_up', error }
    }

    /** @param {Entry} entry @returns {Promise<RunState | null>} how it ended; null: another tab has it */
    async function perform(entry) {
      const { id } = entry.session
      entry.state = begun()
      let stopped = false
      let giveUp = () => {}
      const stopping = new Promise((resolve) => { giveUp = () => resolve(null) })
      entry.run = unsent(() => {
        stopped = true
        giveUp()
      })
      onChange(id, true) // with the next frame: what was said, and the way to stop it
      const release = await takeLock(id)
      if (!release) return null
      try {
        await takeOver(entry)
        sessions.markContinued(entry.session)
        settle(entry)
        // stored before the first script or request that it needs
        if (!isTemporary(entry.session)) remember(id, true)
        await save(entry.session)
        refresh().then(() => onChange(id, true))
        await Promise.race([prepare(entry.session), stopping])
        for (const hook of hooks) hook.onStart(entry)
        const free = !stopped && await slot(entry)
        if (!free) return STOPPED
        entry.run = stream.start(entry.session, {
          api: api(), store: isTemporary(entry.session) ? undefined : store, wake,
          onEvent: (event) => {
            for (const hook of hooks) hook.onEvent(entry, event)
            onChange(id, TURNS.has(event.type))
          },
          onState: (state) => onState(entry, state),
        })
        return await entry.run.done.finally(free)
      } finally {
        remember(id, false)
        release()
      }
    }

    /**
     * Read again what another tab ran and left, with messages and answers given here since. What this tab knew is older;
     * tools may have run. Only under the session's lock. @param {Entry} entry
     */
    async function takeOver(entry) {
      const { session: mine, elsewhere } = entry
      entry.elsewhere = entry.mirrored = false
      const session = elsewhere && await read(mine.id)
      if (!session) return
      const last = mine.messages.at(-1)
      if (last?.role === 'user' && session.messages.every(({ id }) => id !== last.id)) session.messages.push(last)
      for (const { id, answer } of sessions.answeredInterrupts(mine)) if (!isAnswered(session, id)) sessions.answer(session, id, answer ?? null)
      entry.session = session
    }

    /** @param {Entry} entry @param {RunState | null} end @returns {RunState | null} */
    function rest(entry, end) {
      entry.going = null
      entry.given.clear()
      entry.state = end
      entry.elsewhere = !end
      if (end) {
        settle(entry)
        takeBackRefused(entry)
        // at once: what goes on by itself is not drawn as a question first
        for (const hook of hooks) hook.onRest(entry)
        onEnd(entry)
        changed(entry.session.id)
      } else onElsewhere()
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
          save(session).then(() => changed(session.id)) // with its settings; it may wait for long
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
      // the stream saves the session before it sends it, so now it is in the list
      if (begins) changed(entry.session.id)
      else onChange(entry.session.id, true)
    }

    /** An answer the server did not take is open again, so that it can be given anew. @param {Entry} entry */
    function takeBackRefused({ session, state }) {
      if (state?.reason !== 'refused' || state.error?.code !== 'answer_invalid') return
      for (const one of sessions.answeredInterrupts(session)) sessions.answer(session, one.id, null)
    }

    /** @param {Entry} entry */
    function retry(entry) {
      entry.run?.retryNow()
      run(entry)
    }

    /**
     * Change what was said: branches and edits, never under a run.
     * @template T @param {Entry} entry @param {(session: Session) => T} work @returns {T | null} null: it is running
     */
    function edit(entry, work) {
      if (isActive(entry) || entry.elsewhere) return null
      const done = work(entry.session)
      entry.state = null
      onChange(entry.session.id, true)
      save(entry.session).then(() => changed(entry.session.id))
      return done
    }

    /**
     * Change what the person has set in it: at once, or when no run has it any more. One that nobody has written in is not kept.
     * @param {Entry} entry @param {(session: Session) => void} work
     */
    function amend(entry, work) {
      entry.later = [...entry.later ?? [], work]
      if (!isActive(entry) && !entry.elsewhere) settle(entry)
    }

    /** @param {Entry} entry */
    function settle(entry) {
      const { session, later = [] } = entry
      entry.later = []
      for (const work of later) work(session)
      if (!later.length) return
      onChange(session.id, true)
      if (heads.some(({ id }) => id === session.id)) save(session).then(() => changed(session.id))
    }

    /** @param {string} id @param {string} title */
    const rename = (id, title) => change(id, (session) => { session.title = title })

    /**
     * Change what a person says about a session: its title, its tags. If another tab runs it, that one writes them.
     * Who does this, or one of the next two, to many says so with `quiet`, and at the end what has `changed`.
     * @param {string} id @param {(session: Session) => void} edit @param {boolean} [quiet]
     */
    async function change(id, edit, quiet) {
      const entry = await open(id)
      if (!entry) return
      const release = isActive(entry) ? () => {} : await takeLock(id)
      if (release && !isActive(entry)) await takeOver(entry)
      edit(entry.session)
      const { title, ext } = entry.session
      if (!release) return channel.send({ says: id, about: { title, ext } })
      await release()
      await save(entry.session)
      if (!quiet) await changed(id)
    }

    /** Once nothing runs it, here or in another tab. @param {string} id @param {boolean} [quiet] @returns {Promise<Session | null>} what was deleted, for `restore` */
    async function remove(id, quiet) {
      const entry = entries.get(id)
      channel.send({ removed: id })
      for (; entry?.going; await entry.going) entry.run?.stop()
      entries.delete(id)
      const session = await store.delete(id)
      if (!quiet) await changed(id)
      return session ?? entry?.session ?? null
    }

    /** In the place of what is here. @param {Session} session @param {boolean} [quiet] @returns {Promise<boolean>} false: it is running */
    async function restore(session, quiet) {
      const entry = entries.get(session.id)
      if (isActive(entry)) return false
      if (entry) Object.assign(entry, { session, state: null })
      else if (isTemporary(session)) hold(session)
      await save(session)
      if (!quiet) await changed(session.id)
      return true
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

    /** Another tab wrote: what is open here and not running is read again. @param {any} message */
    async function onOtherTab(message) {
      if (message?.who && isActive(entries.get(message.who))) channel.send({ changed: [message.who], running: true })
      if (message?.says && isActive(entries.get(message.says))) return change(message.says, (session) => Object.assign(session, message.about))
      if (message?.removed && entries.has(message.removed)) await gone(message.removed)
      if (!message?.changed) return
      await refresh()
      for (const id of message.changed) {
        const entry = entries.get(id)
        if (entry && !isActive(entry)) {
          entry.elsewhere = message.running
          entry.mirrored &&= message.running
          const session = await read(id)
          if (session && !isBusy(entry)) entry.session = session
          if (session && !message.running) settle(entry)
        }
        onChange(id, true)
      }
    }

    /** What another tab has deleted stays deleted, unless a person wants it back. @param {string} id */
    async function gone(id) {
      const entry = /** @type {Entry} */ (entries.get(id))
      if (isActive(entry)) await remove(id)
      entries.delete(id)
      if (hooks.some((hook) => hook.onGone?.(entry))) entries.set(id, entry)
    }

    /** The tab that had it is silent. @param {Entry} entry @returns {Promise<boolean>} is it gone? */
    async function takeFromSilent(entry) {
      const release = isActive(entry) ? null : await takeLock(entry.session.id)
      if (!release) return false
      await takeOver(entry)
      release()
      onChange(entry.session.id, true)
      return true
    }

    const entry = (/** @type {string} */ id) => entries.get(id)
    return { takeFromSilent, redraw: onChange, refresh, open, fresh, setTemporary, send, answer, retry, edit, amend, rename, change, remove, restore, changed, heads: () => heads, entry, hooks }
  }

  /** @param {Entry | undefined} entry */
  const isActive = (entry) => Boolean(entry?.going)

  /** @param {Session} session @param {string} id of a question */
  const isAnswered = ({ interrupts }, id) => interrupts?.some((one) => one.id === id && one.answer) ?? false

  /** Is a run of it going on, here or in a tab that is mirrored? @param {Entry | undefined} entry */
  const isBusy = (entry) => Boolean(entry?.going || entry?.mirrored)

  /** A run before it is sent. @param {() => void} stop @returns {any} */
  const unsent = (stop) => ({ output: new Map(), events: [], stop, retryNow() {} })

  /** @param {string} id */
  const wasRunning = (id) => runningIds().includes(id)

  /** @returns {string[]} none where a tab may store nothing: then nothing goes on by itself */
  function runningIds() {
    try {
      return JSON.parse(sessionStorage.getItem(RUNNING) ?? '[]')
    } catch {
      return []
    }
  }

  /** @param {string} id @param {boolean} running */
  function remember(id, running) {
    const others = runningIds().filter((one) => one !== id)
    try {
      sessionStorage.setItem(RUNNING, JSON.stringify(running ? [...others, id] : others))
    } catch { /* full, or forbidden */ }
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
