// A run in the other tabs of this browser. The tab that has it (io/lock says which) sends its document once to a tab
// that shows the session too, and then each event, which is folded there. The other tab may stop it.

yaa.define('io/run-mirror', ['core/fold', 'io/run-stream'], ({ fold }, { hear }) => {
  /** Events after which more than the last turn looks different. */
  const TURNS = new Set(['STATE_DELTA', 'TOOL_CALL_RESULT'])
  /** How often a tab asks whether the other one is still there, and when it believes that it is not. */
  const [ASK_MS, SILENT_MS] = [3000, 10_000]

  /**
   * @param {object} given
   * @param {Channel} given.channel of its own: nobody else hears each word of an answer
   * @param {(id: string) => any} given.entry an open session
   * @param {(id: string, whole: boolean) => void} given.onChange
   * @param {(entry: any) => Promise<boolean>} given.takeFromSilent
   * @param {Timers} [given.timers]
   */
  function create({ channel, entry: entryOf, onChange, takeFromSilent, timers = realTimers }) {
    /** Runs of this tab that another one shows: how many events were sent. @type {Map<string, number>} */ const shown = new Map()
    /** Runs of other tabs: the last event that came, -1 before the document; and when something was heard. @type {Map<string, {n: number, heard: number}>} */
    const followed = new Map()
    /** @type {any} */ let timer
    channel.listen(onMessage)

    // -- of this tab --

    const hooks = {
      /** @param {any} entry */
      onStart: ({ session }) => channel.send({ begins: session.id }),
      /** @param {any} entry @param {YaaEvent} event */
      onEvent({ session: { id } }, event) {
        const n = shown.get(id)
        if (n === undefined) return
        shown.set(id, n + 1)
        channel.send({ run: id, n: n + 1, event })
      },
      /** @param {any} entry */
      onRest({ session: { id }, state }) {
        if (shown.delete(id)) channel.send({ rests: id, state: state && { phase: state.phase, reason: state.reason, attempt: 0, resumed: 0 } })
      },
    }

    /** @param {string} id */
    function show(id) {
      const entry = entryOf(id)
      if (!entry?.going || entry.session.ext?.temporary) return
      const n = shown.get(id) ?? 0
      shown.set(id, n)
      channel.send({ run: id, n, session: entry.session, output: [...entry.run?.output ?? []] })
    }

    // -- of others --

    /** Follow its run, or stop following it. @param {any} entry that is looked at */
    function look(entry) {
      const { id } = entry.session
      const mine = followed.get(id)
      if (entry.elsewhere && !entry.going && !mine) follow(id)
      if (entry.elsewhere || !mine) return
      followed.delete(id)
      if (!entry.going) rest(entry)
    }

    /** @param {string} id */
    function follow(id) {
      followed.set(id, { n: -1, heard: followed.get(id)?.heard ?? timers.now() })
      channel.send({ follow: id })
      timer ??= timers.set(ask, ASK_MS)
    }

    async function ask() {
      timer = undefined
      for (const [id, { n, heard }] of followed) {
        const entry = entryOf(id)
        if (!entry || entry.going || !entry.elsewhere) followed.delete(id)
        else if (timers.now() - heard < SILENT_MS) channel.send(n < 0 ? { follow: id } : { asks: id })
        else if (await takeFromSilent(entry)) look(entry)
        else follow(id)
      }
      if (followed.size) timer ??= timers.set(ask, ASK_MS)
    }

    /** @param {any} message */
    function onMessage(message) {
      const { begins, follow: wanted, stop, asks, run, lives, rests } = message ?? {}
      if (wanted) return show(wanted)
      if (stop) return void (entryOf(stop)?.going && entryOf(stop).run?.stop())
      if (asks) return void (entryOf(asks)?.going && channel.send({ lives: asks }))
      const mine = followed.get(begins ?? run ?? lives ?? rests)
      if (!mine) return
      mine.heard = timers.now()
      if (begins) follow(begins)
      else if (run) take(mine, entryOf(run), message)
      else if (rests) take(mine, entryOf(rests), message)
    }

    /** @param {{n: number}} mine @param {any} entry @param {any} message */
    function take(mine, entry, { n, session, output, event, state, rests }) {
      if (!entry || entry.going) return
      const { id } = entry.session
      if (rests) {
        mine.n = -1
        entry.state = state
        rest(entry)
      } else if (session) {
        mine.n = n
        entry.session = session
        entry.mirrored = true
        entry.run = { output: new Map(output), events: [], stop: () => channel.send({ stop: id }), retryNow() {} }
      } else if (mine.n < 0) return // the document is on its way
      else if (n !== mine.n + 1 || event.type === 'yaa.reset') return follow(id)
      else {
        mine.n = n
        fold(entry.session, event)
        hear(entry.run.output, event)
      }
      onChange(id, !event || TURNS.has(event.type))
    }

    /** @param {any} entry */
    function rest(entry) {
      entry.mirrored = false
      entry.run = null
    }

    return { hooks, look }
  }

  /** @type {Timers} */
  const realTimers = { now: () => Date.now(), set: (callback, ms) => setTimeout(callback, ms), clear: (timer) => clearTimeout(timer) }

  return { create }
})
