// The sessions of this browser and their runs. Several may run at once; each is folded by its own stream and saved
// as it grows. Views never touch a session: they call these, and are told when something changed.

yaa.define('ui/book', ['core/session', 'io/stream', 'io/lock', 'io/channel'], (sessions, stream, locks, channels) => {
  /** Runs of this tab, remembered over a reload so that they go on by themselves. */
  const RUNNING = 'yaa.running'

  /**
   * @typedef {object} Entry an open session
   * @property {Session} session @property {Run | null} run @property {RunState | null} state
   * @property {boolean} [elsewhere] another tab is running it
   */

  /**
   * @param {{store: Store, api: () => Api, prepare: (session: Session) => void, onChange: (id: string, whole: boolean) => void,
   *   onEnd: (entry: Entry) => void, onElsewhere: () => void}} options
   *   `prepare` writes the person's settings into a session before it is sent; `whole`: more than its last turn changed
   */
  function openBook({ store, api, prepare, onChange, onEnd, onElsewhere }) {
    /** @type {Map<string, Entry>} */ const entries = new Map()
    /** @type {Head[]} */ let heads = []
    /** What others do when a run begins, at each of its events, and when it has come to rest. @type {import('./types').Hooks[]} */
    const hooks = []
    const lock = locks.create()
    const channel = channels.open()
    channel.listen(onOtherTab)

    /** @param {Session} session @returns {Entry} */
    function hold(session) {
      const entry = { session, run: null, state: null }
      entries.set(session.id, entry)
      return entry
    }

    /** @returns {Promise<void>} */
    async function refresh() {
      heads = await store.list()
    }

    /** @param {string} id @returns {Promise<Entry | null>} */
    async function open(id) {
      const known = entries.get(id)
      if (known) return known
      const session = await store.get(id)
      if (!session) return null
      const entry = hold(session)
      channel.send({ who: id })
      if (wasRunning(id) && sessions.canResume(session)) run(entry)
      return entry
    }

    /** A session nobody has written in yet; it is kept only with its first message. */
    function fresh() {
      return hold(sessions.create())
    }

    /** @param {Entry} entry @param {string} words */
    function send(entry, words) {
      if (isActive(entry)) return
      sessions.append(entry.session, words)
      run(entry)
    }

    /**
     * Take answers; the run goes on when nothing is left to ask.
     * @param {Entry} entry @param {[string, Answer | null][]} answers
     */
    async function answer(entry, answers) {
      if (isActive(entry)) return
      for (const [id, one] of answers) sessions.answer(entry.session, id, one)
      onChange(entry.session.id, true)
      if (!sessions.open(entry.session).length && answers.some(([, one]) => one)) return run(entry)
      await store.put(entry.session)
    }

    /** @param {Entry} entry */
    async function run(entry) {
      const { id } = entry.session
      if (isActive(entry)) return
      entry.state = { phase: 'posting', attempt: 0, resumed: 0 }
      entry.elsewhere = false
      const release = await lock.acquire(`session ${id}`)
      if (!release) {
        entry.state = null
        entry.elsewhere = true
        onChange(id, true)
        return onElsewhere()
      }
      prepare(entry.session)
      for (const hook of hooks) hook.begins(entry)
      remember(id, true)
      entry.run = stream.start(entry.session, {
        api: api(), store, wake,
        onEvent: (event) => {
          for (const hook of hooks) hook.hears(entry, event)
          onChange(id, event.type === 'yaa.reset')
        },
        onState: (state) => onState(entry, state),
      })
      entry.state = entry.run.state
      onChange(id, true)
      entry.state = await entry.run.done
      remember(id, false)
      release()
      takeBackRefused(entry)
      // at once: what goes on by itself is not drawn as a question first
      for (const hook of hooks) hook.rests(entry)
      onEnd(entry)
      await changed(id)
    }

    /** @param {Entry} entry @param {RunState} state */
    function onState(entry, state) {
      const begins = state.phase === 'streaming' && entry.state?.phase !== 'streaming'
      entry.state = state
      // the stream saves the session before it sends it, so now it is in the list
      if (begins) changed(entry.session.id)
      else onChange(entry.session.id, true)
    }

    /** An answer the server did not take is open again, so that it can be given anew. @param {Entry} entry */
    function takeBackRefused({ session, state }) {
      if (state?.reason !== 'refused' || state.error?.code !== 'answer_invalid') return
      for (const one of sessions.answered(session)) sessions.answer(session, one.id, null)
    }

    /** @param {Entry} entry */
    function retry(entry) {
      if (isActive(entry)) entry.run?.retryNow()
      else run(entry)
    }

    /** @param {string} id @param {string} title */
    async function rename(id, title) {
      const entry = await open(id)
      if (!entry) return
      entry.session.title = title
      await store.put(entry.session)
      await changed(id)
    }

    /** @param {string} id @returns {Promise<Session | null>} what was deleted, for `restore` */
    async function remove(id) {
      const entry = entries.get(id)
      entry?.run?.stop()
      entries.delete(id)
      const session = await store.delete(id)
      await changed(id)
      return session ?? entry?.session ?? null
    }

    /** @param {Session} session */
    async function restore(session) {
      await store.put(session)
      await changed(session.id)
    }

    /** @param {string} id */
    async function changed(id) {
      await refresh()
      channel.send({ changed: id, running: isActive(entries.get(id)) })
      onChange(id, true)
    }

    /** Another tab wrote: what is open here and not running is read again. @param {any} message */
    async function onOtherTab(message) {
      if (message?.who && isActive(entries.get(message.who))) channel.send({ changed: message.who, running: true })
      if (!message?.changed) return
      await refresh()
      const entry = entries.get(message.changed)
      if (entry && !isActive(entry)) {
        entry.elsewhere = message.running
        const session = await store.get(message.changed)
        if (session) entry.session = session
      }
      onChange(message.changed, true)
    }

    const entry = (/** @type {string} */ id) => entries.get(id)
    return { refresh, open, fresh, send, answer, retry, rename, remove, restore, heads: () => heads, entry, hooks }
  }

  /** @param {Entry | undefined} entry */
  const isActive = (entry) => ['posting', 'streaming', 'lost'].includes(entry?.state?.phase ?? '')

  /** @param {string} id */
  const wasRunning = (id) => runningIds().includes(id)

  /** @returns {string[]} */
  const runningIds = () => JSON.parse(sessionStorage.getItem(RUNNING) ?? '[]')

  /** @param {string} id @param {boolean} running */
  function remember(id, running) {
    const others = runningIds().filter((one) => one !== id)
    sessionStorage.setItem(RUNNING, JSON.stringify(running ? [...others, id] : others))
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

  return { openBook, isActive }
})
