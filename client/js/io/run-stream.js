// One run: the session is POSTed and its events are folded, until a terminal event. A stream that ends without one is
// lost, not finished: what was folded is POSTed again.
//
//   idle → posting → streaming → done | interrupted
//              ↖ lost (waits) ↙          interrupted also: stopped by the user, refused, gave up
//                  any → stopping, until it is confirmed
//
// What is sent was saved before, with approved calls marked `started` (core/session.writeAhead). The marks come into
// the document itself once it is unknown what happened.

yaa.define('io/run-stream', ['core/fold', 'core/session', 'core/sse', 'io/api'], ({ fold, digest }, sessions, { Decoder }, { failure, pause }) => {
  const { writeAhead, applyMarks } = sessions
  const DELAYS = [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]
  /** Tries when nothing was ever received. */
  const FIRST_TRIES = 2
  /** Without `X-Heartbeat`. */
  const SILENCE_MS = 45_000
  /** Pings that may be missing. */
  const MISSED = 3
  /** For what came while the page itself slept. */
  const GRACE_MS = 3000
  /** No byte for so long is said, where the server has not said how often it pings. */
  const QUIET_MS = 10_000
  const STOP_PAUSES = [0, 1000, 2000, 4000]
  /** A timer's most. */
  const LONGEST_MS = 2 ** 31 - 1
  const MAX_WAITS = 60
  const KEPT_OUTPUT = 200_000
  /** Refusals that pass: run_active, busy, overloaded. */
  const PASSING = new Set([409, 429, 503])
  const STOPS = new Set(['stopped', 'stopped_by_owner'])
  /** Events that count as progress. */
  const PROGRESS = new Set(['TEXT_MESSAGE_END', 'TOOL_CALL_RESULT'])

  /** @type {Timers} */
  const realTimers = {
    now: () => Date.now(),
    set: (callback, ms) => setTimeout(callback, ms),
    clear: (timer) => clearTimeout(timer),
  }

  /** @param {Session} session folded in place @param {RunOptions} options @returns {Run} */
  const start = (session, options) => new Streaming(session, options)

  class Streaming {
    /** @type {RunState} */ state = { phase: 'idle', attempt: 0, resumed: 0 }
    /** @type {Map<string, string>} live output by call */ output = new Map()
    /** @type {{at: number, event: YaaEvent}[]} */ events = []
    /** @type {Marks} */ marks = {}
    /** @type {RunState | null} how it ended */ end = null
    stopped = false
    heard = false
    /** A request of it may have reached the server. */ posted = false
    /** The server has said that nothing runs. */ confirmed = false
    /** No attempt is on, and none follows. */ over = false
    /** Why it does not stop it. */ refusal = ''
    /** @type {YaaEvent[]} what came after the stop */ late = []
    /** @type {Promise<void> | null} */ telling = null
    hungUp = new AbortController()
    attempt = 0
    waits = 0
    controller = new AbortController()
    wakeUp = () => {}
    lastSign = 0
    /** ms between the server's pings, if it says. */ beat = 0
    /** @type {any} the timer of a silence */ watch = undefined
    /** @type {any} and of its first word */ quiet = undefined

    /** @param {Session} session @param {RunOptions} options */
    constructor(session, options) {
      this.session = session
      this.api = options.api
      this.store = options.store
      this.onEvent = options.onEvent ?? (() => {})
      this.onState = options.onState ?? (() => {})
      this.wake = options.wake ?? (() => () => {})
      this.delays = options.delays ?? DELAYS
      this.silence = options.silence_ms ?? SILENCE_MS
      this.timers = options.timers ?? realTimers
      this.done = this.run()
    }

    /** @returns {Promise<RunState>} */
    async run() {
      const sleep = this.wake(() => this.look())
      let wait = await this.post()
      while (wait) {
        await this.pause(wait)
        wait = this.stopped ? null : await this.post()
      }
      sleep()
      this.over = true
      if (this.confirmed) this.hungUp.abort()
      if (!this.end) await this.telling
      if (this.stopped && !this.end) this.finishStopped()
      await this.store?.put(this.session)
      this.say(/** @type {RunState} */ (this.end))
      return this.state
    }

    /** Ends a wait: for the next attempt, or for an answer that does not begin. */
    retryNow() {
      this.wakeUp()
      if (this.posted && this.state.phase === 'posting') this.abort()
    }

    /** Go on by another way: what is on is left as if the line were lost. @param {Api} api */
    move(api) {
      this.api = api
      this.abort()
    }

    /** Has the server end the run and its calls. A second time it hangs up. */
    stop() {
      if (this.stopped || !this.posted) {
        this.controller.abort()
        this.hungUp.abort()
      } else this.telling = this.tell()
      this.stopped = true
      this.wakeUp()
    }

    /** Ask the server to stop until it has answered or was silent too long; then what it still says has a moment to come. */
    async tell() {
      const streams = this.state.phase === 'streaming'
      this.say({ phase: 'stopping', since: this.timers.now() })
      const { signal } = this.hungUp
      for (const ms of STOP_PAUSES) {
        if (ms) await pause(ms, signal, this.timers)
        if (this.end || signal.aborted) break
        const answer = await this.api.stop(this.session.id, signal).catch(({ code }) => void (code === 'timeout' && this.hungUp.abort()))
        if (!answer) continue
        this.refusal = answer.detail ?? ''
        this.confirmed = answer.stopped || answer.running === false
        if (streams && !this.over) await pause(GRACE_MS, signal, this.timers)
        break
      }
      this.controller.abort()
    }

    /** Results of calls that came after the stop are kept; words that nobody has seen are not. */
    finishStopped() {
      for (const event of this.late.splice(0, this.late.findLastIndex(({ type }) => type === 'TOOL_CALL_RESULT') + 1)) this.fold(event)
      const unconfirmed = this.posted && !this.confirmed ? this.refusal : undefined
      this.finish({ phase: 'interrupted', reason: 'stopped', ...(unconfirmed === undefined ? {} : { unconfirmed }) })
    }

    // -- one attempt --

    /** @returns {Promise<{ms: number, error: Failure} | null>} how long to wait before the next attempt; null: there is none */
    async post() {
      this.controller = new AbortController()
      const marks = this.marks = writeAhead(this.session)
      this.say({ phase: 'posting', since: this.timers.now() })
      await this.store?.put(this.session, marks)
      try {
        // an approval is not sent into the void: if nobody is there, nothing can have run
        if (Object.keys(marks).length) await this.beforehand()
        if (this.stopped) return this.unsent()
        this.wonder()
        this.posted = true
        const response = await this.api.run(this.session, { signal: this.controller.signal }).finally(() => this.timers.clear(this.watch))
        const stream = response.headers.get('Content-Type')?.startsWith('text/event-stream')
        await (stream ? this.read(response) : this.replace(response))
        return this.end ? null : this.lost(failure(new TypeError('The stream ended before the run did.'), this.api.base, true))
      } catch (error) {
        return this.failed(failure(error, this.api.base, this.state.phase === 'streaming' && !(error instanceof SyntaxError)))
      }
    }

    async beforehand() {
      await this.api.health(this.controller.signal).catch((error) => {
        this.unsent()
        throw error
      })
    }

    unsent() {
      this.marks = {}
      return null
    }

    /** @param {Failure} error */
    failed(error) {
      if (this.stopped) return null
      const passing = PASSING.has(error.status)
      if (passing && this.waits++ < MAX_WAITS) return { ms: Math.min(Math.max(1000 * (error.retryAfter ?? 1), this.delays[Math.min(this.waits, this.delays.length) - 1]), LONGEST_MS), error }
      if (error.status < 400 || error.status >= 500) return this.lost(error)
      this.marks = {} // it was refused before anything ran
      this.finish({ phase: 'interrupted', reason: 'refused', error })
      return null
    }

    /** Nobody knows how far the server got. @param {Failure} error */
    lost(error) {
      if (this.stopped) return null
      this.settleMarks()
      const tries = this.heard ? this.delays.length : Math.min(FIRST_TRIES, this.delays.length)
      if (this.attempt < tries) return { ms: this.delays[this.attempt++], error }
      this.finish({ phase: 'interrupted', reason: 'gave_up', error })
      return null
    }

    /** Marks approved calls as started in the document. */
    settleMarks() {
      const { calls } = applyMarks(this.session, this.marks)
      if (calls) this.session.calls = calls
      this.marks = {}
    }

    /** @param {{ms: number, error: Failure}} wait */
    async pause({ ms, error }) {
      const over = new Promise((resolve) => {
        const timer = this.timers.set(() => this.wakeUp(), ms)
        this.wakeUp = () => {
          this.timers.clear(timer)
          this.wakeUp = () => {}
          resolve(undefined)
        }
      })
      this.say({ phase: 'lost', wait_ms: ms, retry_at: this.timers.now() + ms, error })
      await this.store?.put(this.session)
      await over
    }

    // -- the stream --

    /** @param {Response} response */
    async read(response) {
      const decoder = new Decoder()
      const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader()
      if (!this.stopped) this.say({ phase: 'streaming' })
      this.beat = Number(response.headers.get('X-Heartbeat')) * 1000
      this.listen(decoder)
      try {
        for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
          this.listen(decoder)
          for (const data of decoder.feed(chunk.value)) this.take(JSON.parse(data))
          if (this.end) return
        }
      } finally {
        this.timers.clear(this.watch)
        this.timers.clear(this.quiet)
        reader.cancel().catch(() => {}) // the connection may be gone already
      }
    }

    /** No answer begins. A proxy may hold it back: it is lost if the server is gone. */
    wonder() {
      const { controller } = this
      const still = () => controller === this.controller && this.state.phase === 'posting'
      const ask = () => this.api.health(controller.signal).then(() => still() && this.wonder(), () => still() && this.abort())
      this.watch = this.timers.set(ask, this.silence)
    }

    /**
     * Drops a connection that is silent for longer than the server's pings.
     * @param {SseDecoder} decoder
     */
    listen(decoder) {
      this.lastSign = this.timers.now()
      this.timers.clear(this.watch)
      this.timers.clear(this.quiet)
      const streams = () => this.state.phase === 'streaming'
      if (streams() && this.state.since !== undefined) this.say({ phase: 'streaming' })
      this.quiet = this.timers.set(() => streams() && this.say({ phase: 'streaming', since: this.lastSign }), this.beat > 0 ? this.beat + GRACE_MS : QUIET_MS)
      const patience = this.beat > 0 ? Math.min(this.beat * MISSED, LONGEST_MS) : decoder.comments ? this.silence : 0
      this.watch = patience ? this.timers.set(() => this.doubt(), patience) : undefined
    }

    doubt() {
      this.timers.clear(this.watch)
      this.watch = this.timers.set(() => this.abort(), GRACE_MS)
    }

    abort() {
      this.controller.abort(new DOMException('', 'TimeoutError'))
    }

    /** The network is back, or the page is visible. */
    look() {
      this.wakeUp()
      const watched = this.state.phase === 'streaming' && this.watch !== undefined
      if (watched && this.timers.now() - this.lastSign > (this.beat || this.silence / MISSED) * 1.5) this.doubt()
    }

    /** @param {YaaEvent} event */
    take(event) {
      if (this.end) return
      this.heard = true
      const over = event.type === 'RUN_FINISHED' || event.type === 'RUN_ERROR'
      if (this.stopped && (!over || STOPS.has(event.code))) return void this.late.push(event) // the text stops when the person says so
      if (event.name === 'yaa.wait') return this.say({ phase: 'streaming', wait: event.value })
      for (const one of this.late.splice(0)) this.fold(one)
      if (!this.stopped && (this.state.wait || this.state.phase !== 'streaming')) this.say({ phase: 'streaming' })
      this.fold(event)
      if (over) this.terminal(event)
      guard(() => this.onEvent(event, this.session))
    }

    /** @param {YaaEvent} event */
    fold(event) {
      fold(this.session, event)
      if (!hear(this.output, event)) {
        this.events.push({ at: this.timers.now(), event })
        this.store?.append(this.session.id, event)
      }
      if (PROGRESS.has(event.type)) this.attempt = this.waits = 0
    }

    /** @param {YaaEvent} event */
    terminal(event) {
      this.marks = {} // the document says what became of all that was approved
      const { digest: server, since } = event.metadata?.yaa ?? {}
      const client = server && since >= 0 ? digest(this.session, since) : server
      const differs = server !== client
      if (differs) this.session.ext = { ...this.session.ext, yaa_diverged: { run: this.session.run?.id, server, client } }
      else this.api.hold(this.session).catch(() => {}) // then all of it is sent
      this.finish({ ...restOf(this.session, event), ...(differs ? { diverged: { server, client } } : {}) })
    }

    /** The whole document came back instead of events. @param {Response} response */
    async replace(response) {
      const document = await response.json()
      const same = Array.isArray(document?.messages) && document.id === this.session.id
      if (!same) throw new SyntaxError('The answer is not this session.')
      for (const key of Object.keys(this.session)) delete this.session[key]
      Object.assign(this.session, document)
      this.heard = true
      this.marks = {}
      this.finish(restOf(this.session, { type: 'RUN_FINISHED' }))
      guard(() => this.onEvent({ type: 'yaa.reset' }, this.session))
    }

    // -- state --

    /** @param {Partial<RunState>} end */
    finish(end) {
      this.settleMarks()
      this.end = /** @type {RunState} */ (end)
    }

    /** @param {Partial<RunState> & {phase: RunState['phase']}} state */
    say(state) {
      const resumed = this.state.resumed + (state.phase === 'posting' && this.heard ? 1 : 0)
      this.state = { ...state, attempt: this.attempt, resumed }
      guard(() => this.onState(this.state))
    }

  }

  /**
   * Take live output of a call.
   * @param {Map<string, string>} output by call @param {YaaEvent} event @returns {boolean} false: it is none
   */
  function hear(output, { type, messageId, content, patch }) {
    const first = type === 'ACTIVITY_SNAPSHOT'
    if (!first && type !== 'ACTIVITY_DELTA') return false
    const call = String(messageId).replace(/^out-/, '')
    const pieces = first ? content?.chunks ?? [] : (patch ?? []).map((/** @type {any} */ each) => each?.value)
    const before = first ? '' : output.get(call) ?? ''
    const text = before + pieces.filter((/** @type {any} */ piece) => typeof piece === 'string').join('')
    output.set(call, text.length > KEPT_OUTPUT * 2 ? text.slice(-KEPT_OUTPUT) : text)
    return true
  }

  /** A mistake in a view must not look like a lost connection. @param {() => void} callback */
  function guard(callback) {
    try {
      callback()
    } catch (error) {
      console.error(error)
    }
  }

  /**
   * How a run that ended by itself stands.
   * @param {Session} session
   * @param {YaaEvent} event
   * @returns {Partial<RunState>}
   */
  function restOf(session, event) {
    const reasons = new Set((session.interrupts ?? []).map((interrupt) => interrupt.reason))
    if (reasons.has('model_error')) return { phase: 'interrupted', reason: 'model_error' }
    if (STOPS.has(event.code)) return { phase: 'interrupted', reason: 'stopped' }
    if (event.type === 'RUN_ERROR' || session.status === 'failed') return { phase: 'done', reason: 'failed' }
    if (reasons.has('limit')) return { phase: 'interrupted', reason: 'limit' }
    return reasons.size ? { phase: 'interrupted', reason: 'awaiting' } : { phase: 'done', reason: 'completed' }
  }

  return { start, hear }
})
