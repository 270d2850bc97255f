// Tools that run in this page: who offers them, and how a call of one is carried out once. A call that is waited for
// comes as a `client_tool` interrupt; an action (`wait: false`) comes as a result that says it was sent here.
//
// The rule of the file: first it is kept, then it is done. A call is marked `started` in the session, and that is
// saved, before its tool runs; an action is done when its result is new to the session, and that is saved. Whatever
// happens in between, nothing is done twice without a person saying so (docs/reference/session.md, resume rule 5).

yaa.define('core/client-tools', ['core/session'], (sessions) => {
  const NAME = /^[A-Za-z0-9_-]{1,64}$/
  const KEYS = new Set([
    'name', 'description', 'parameters', 'hints', 'wait', 'run', 'confirm', 'gesture', 'timeout_s', 'about', 'label', 'enabled',
  ])
  const TIMEOUT_S = 30
  /** Characters of an answer that are sent; the server keeps less. */
  const MAX_CONTENT = 200_000
  /** @type {Map<string, PageTool>} */ const tools = new Map()

  /** @param {PageTool} tool @returns {() => void} takes it back @throws TypeError for what no model or page could use */
  function register(tool) {
    const wrong = misfit(tool)
    if (wrong) throw new TypeError(`register: ${wrong}`)
    tools.set(tool.name, tool)
    return () => { if (tools.get(tool.name) === tool) tools.delete(tool.name) }
  }

  /** @param {any} tool */
  function misfit(tool) {
    if (typeof tool?.name !== 'string' || !NAME.test(tool.name)) return 'a name has 1 to 64 letters a-z, digits, _ or -'
    if (tools.has(tool.name)) return `there is a tool named ${tool.name} already`
    if (typeof tool.run !== 'function') return `${tool.name} has no function run(args, {signal})`
    if (typeof tool.description !== 'string' || !tool.description) return `${tool.name} has no description for the model`
    if (tool.parameters !== undefined && tool.parameters?.type !== 'object') return `the parameters of ${tool.name} are no JSON Schema of an object`
    const unknown = Object.keys(tool).find((key) => !KEYS.has(key))
    return unknown ? `${tool.name} has ${unknown}, which means nothing` : ''
  }

  /**
   * What a session says of the tools that are switched on.
   * @param {Record<string, boolean>} enabled @param {Iterable<string>} taken names of the server's own tools
   */
  function declare(enabled, taken) {
    const theirs = new Set(taken)
    return [...tools.values()].filter(({ name }) => enabled[name] === true && !theirs.has(name)).map((tool) => ({
      name: tool.name,
      description: tool.description,
      parameters: tool.parameters ?? { type: 'object', properties: {} },
      ...(tool.hints ? { hints: tool.hints } : {}),
      ...(isAction(tool) ? { wait: false } : {}),
    }))
  }

  /** What a person is asked about first is waited for. @param {PageTool} tool */
  const isAction = (tool) => tool.wait === false && !tool.confirm && !tool.gesture

  /**
   * Does a person have to press a button first?
   * @param {PageTool} tool @param {any} interrupt
   */
  const asksFirst = (tool, interrupt) => Boolean(interrupt.confirm) || holds(tool.confirm, interrupt) || holds(tool.gesture, interrupt)

  /** @param {boolean | ((args: any) => boolean) | undefined} rule @param {any} interrupt */
  const holds = (rule, { args }) => (typeof rule === 'function' ? rule(args ?? {}) : rule === true)

  // -- one call --

  /**
   * Run a tool; never rejects. `gesture`: it could not without a click, and nothing has happened.
   * @param {PageTool} tool @param {any} args @param {AbortSignal} signal @returns {Promise<Outcome>}
   */
  async function perform(tool, args, signal) {
    const own = new AbortController()
    const limit = tool.timeout_s ?? TIMEOUT_S
    /** @type {any} */ let timer
    const late = new Promise((_, reject) => {
      const end = (/** @type {string} */ words) => { reject(new Error(words)); own.abort() }
      if (signal.aborted) end('The user stopped it.')
      signal.addEventListener('abort', () => end('The user stopped it.'), { once: true })
      if (limit) timer = setTimeout(() => end(`It took longer than ${limit} s and was given up.`), limit * 1000)
    })
    try {
      return { content: contentOf(await Promise.race([tool.run(args ?? {}, { signal: own.signal }), late])) }
    } catch (error) {
      const { name, message, content } = /** @type {any} */ (error) ?? {}
      if (name === 'GestureNeeded') return { gesture: true }
      return { content: contentOf(content ?? message ?? String(error)), is_error: true }
    } finally {
      clearTimeout(timer)
      late.catch(() => {})
    }
  }

  /** To be thrown by a tool that needs a click and had none. */
  const gestureNeeded = () => Object.assign(new Error('The browser wants a click for this.'), { name: 'GestureNeeded' })

  /** A value as it can be sent: text, parts, JSON; not too long. @param {any} value */
  function contentOf(value) {
    if (value === undefined || value === null) return 'done'
    if (typeof value === 'string') return cut(value)
    try {
      const text = JSON.stringify(value)
      if (text === undefined) return String(value)
      return text.length > MAX_CONTENT ? cut(text) : JSON.parse(text)
    } catch {
      return cut(String(value))
    }
  }

  /** @param {string} text */
  function cut(text) {
    const more = text.length - MAX_CONTENT
    return more > 0 ? `${text.slice(0, MAX_CONTENT).toWellFormed()}\n… ${more} more characters` : text.toWellFormed()
  }

  // -- the calls of all sessions --

  /** @param {CallRunnerOptions} options @returns {CallRunner} */
  function openCallRunner({ enabled, going, save, answer, changed, failed }) {
    /** What is going on in this page, by session and interrupt. @type {Map<string, RunningCall>} */
    const doings = new Map()
    /** Calls with a result when a session was sent last, and since. @type {Map<string, Set<string>>} */
    const known = new Map()

    /** @param {any} interrupt @returns {PageTool | null} a tool of this page that is switched on */
    function toolFor({ tool }) {
      return enabled()[tool] === true ? tools.get(tool) ?? null : null
    }

    /** Before a session is sent. @param {CallRunnerEntry} entry */
    function onStart({ session }) {
      known.set(session.id, new Set(session.messages.flatMap((message) => message.tool_call_id ?? [])))
    }

    /** An event of a run, after it was folded. @param {CallRunnerEntry} entry @param {YaaEvent} event */
    function onEvent({ session }, event) {
      if (event.type === 'TOOL_CALL_RESULT' && event.metadata?.yaa?.result?.status === 'sent') take(session, event.toolCallId)
      if (event.type === 'yaa.reset') for (const message of session.messages) take(session, message.tool_call_id)
    }

    /** @param {Session} session @param {string | undefined} callId whose result may be new here, and an action */
    function take(session, callId) {
      const before = known.get(session.id)
      const message = callId && !before?.has(callId) && session.messages.findLast((each) => each.tool_call_id === callId)
      if (!before || !message) return
      before.add(callId)
      const { status, args } = message.result ?? {}
      const tool = toolFor({ tool: message.name })
      const declared = session.tools?.some((/** @type {any} */ each) => each.name === message.name && each.wait === false)
      if (status === 'sent' && tool && isAction(tool) && declared) act(tool, args)
    }

    /** @param {PageTool} tool @param {any} args */
    async function act(tool, args) {
      await save(null)
      const { content, is_error: bad } = await perform(tool, args, new AbortController().signal)
      if (bad) failed(tool, typeof content === 'string' ? content : JSON.stringify(content))
    }

    /** A run has come to rest: what waits for this page is done, what was done meanwhile is answered. @param {CallRunnerEntry} entry */
    function onRest(entry) {
      const open = calls(entry)
      const ids = new Set(open.map((interrupt) => key(entry, interrupt)))
      for (const [id, doing] of doings) {
        if (doing.session !== entry.session.id || ids.has(id)) continue
        doing.controller.abort() // the person went on without it
        doings.delete(id)
      }
      give(entry)
      if (entry.state?.reason !== 'awaiting') return
      for (const interrupt of open) {
        const tool = toolFor(interrupt)
        if (tool && !asksFirst(tool, interrupt) && stateOf(entry, interrupt) === 'waiting') run(entry, interrupt)
      }
    }

    /**
     * Run the tool of an interrupt, here and now. By a click a tool that needs one is called at once: the click would
     * be over when the session is saved, and the person sees what happens. A run that is on would not hear of it: it
     * comes to rest first.
     * @param {CallRunnerEntry} entry @param {any} interrupt
     */
    async function run(entry, interrupt) {
      while (going(entry)) await going(entry)
      const tool = toolFor(interrupt)
      const id = key(entry, interrupt)
      if (!tool || doings.get(id)?.running || !calls(entry).some((each) => each.id === interrupt.id)) return
      const doing = { session: entry.session.id, interrupt: interrupt.id, controller: new AbortController(), running: true }
      const atOnce = holds(tool.gesture, interrupt) || doings.get(id)?.outcome?.gesture
      doings.set(id, doing)
      const saved = save(entry, (session) => mark(session, interrupt, 'started'))
      if (!atOnce) await saved
      changed(entry)
      const outcome = await perform(tool, interrupt.args, doing.controller.signal)
      if (doings.get(id) !== doing) return
      doings.set(id, { ...doing, running: false, outcome })
      if (!outcome.gesture) return give(entry)
      await save(entry, (session) => mark(session, interrupt, 'waiting'))
      changed(entry)
    }

    /** Answers that are ready. During a run they wait: it would not hear them. @param {CallRunnerEntry} entry */
    function give(entry) {
      if (going(entry)) return
      /** @type {[string, Answer][]} */ const answers = []
      for (const interrupt of calls(entry)) {
        const id = key(entry, interrupt)
        const outcome = doings.get(id)?.outcome
        if (!outcome || outcome.gesture) continue
        answers.push([interrupt.id, { status: 'resolved', payload: outcome }])
        doings.delete(id)
      }
      if (answers.length) answer(entry, answers)
    }

    /**
     * How a call stands: it may be `running` here, `waiting` for somebody to begin, wanting a `click`, or `begun` by a
     * page that is gone.
     * @param {CallRunnerEntry} entry @param {any} interrupt @returns {'running' | 'waiting' | 'click' | 'begun'}
     */
    function status(entry, interrupt) {
      const doing = doings.get(key(entry, interrupt))
      if (doing?.outcome?.gesture) return 'click'
      if (doing) return 'running'
      return stateOf(entry, interrupt) === 'started' ? 'begun' : 'waiting'
    }

    /** @param {CallRunnerEntry} entry @param {any} interrupt */
    const stop = (entry, interrupt) => doings.get(key(entry, interrupt))?.controller.abort()

    return { onStart, onEvent, onRest, run, stop, status, toolFor }
  }

  /** @param {CallRunnerEntry} entry calls that wait for the page, without an answer */
  const calls = ({ session }) => sessions.openInterrupts(session).filter(({ reason }) => reason === 'client_tool')

  /** @param {CallRunnerEntry} entry @param {any} interrupt */
  const key = ({ session }, { id }) => `${session.id} ${id}`

  /** @param {CallRunnerEntry} entry @param {any} interrupt */
  const stateOf = ({ session }, { call_id: id }) => session.calls?.[id]?.state ?? 'waiting'

  /** The page's write-ahead mark in the ledger. @param {Session} session @param {any} interrupt @param {string} state */
  function mark(session, { call_id: id, tool }, state) {
    const before = session.calls?.[id] ?? { name: tool, attempt: 0 }
    const attempt = (before.attempt ?? 0) + (state === 'started' ? 1 : -1)
    session.calls = { ...session.calls, [id]: { ...before, state, attempt } }
  }

  return { register, get: (name) => tools.get(name), all: () => [...tools.values()], declare, perform, gestureNeeded, openCallRunner }
})
