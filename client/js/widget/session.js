// The widget's one session: what is said in it, its runs, and the tools of the page. The document lives in the tab's own
// storage, so that it is still there on the next page of the same site.

yaa.define('widget/session', ['core/session', 'io/api', 'io/run-stream'], (sessions, apis, stream) => {
  const LONGEST = 20_000
  const STOPPED = { content: 'The person stopped it before it had an answer. Whether it was carried out is not known.', is_error: true }
  const LEFT = { content: 'The page was left before it had an answer. Whether it was carried out is not known.', is_error: true }
  /** Names in the tab's storage: widgets that ask the same server have a session each. @type {Set<string>} */
  const taken = new Set()

  /** @param {string} first */
  function nameFor(first) {
    let name = first
    for (let n = 2; taken.has(name); n++) name = `${first} ${n}`
    taken.add(name)
    return name
  }

  /** @param {WidgetOptions} options live: headers and environment may be set anew @param {() => void} onChange */
  function open(options, onChange) {
    const name = nameFor(`yaa.widget ${options.server}`)
    let session = stored() ?? sessions.create()
    /** @type {Run | null} */ let run = null
    /** @type {AbortController | null} while tools of the page are carried out */ let serving = null
    /** @type {Session | null} whose environment is being asked for */ let starting = null
    let closed = false
    /** Requests whose headers the page has not given yet. */ let unsent = 0
    /** @type {RunState} */ let state = { phase: 'idle', attempt: 0, resumed: 0 }
    const base = new URL(String(options.server), location.href).href
    const api = apis.create({ base, fetch: withHeaders })

    /** The page is asked for its headers before every request, also when a run is resumed: a key may live for minutes only. @param {any} url @param {any} init */
    async function withHeaders(url, init) {
      unsent += 1
      const more = new Headers(await unlessStopped(asked(options.headers), init.signal).catch(told).finally(() => { unsent -= 1 }))
      const all = new Headers(init.headers)
      more.forEach((value, name) => all.set(name, value))
      return fetch(url, { ...init, headers: all })
    }

    /** The page's own mistakes belong in its console. @param {any} error */
    function told(error) {
      if (error?.name !== 'AbortError') console.error(error)
      throw error
    }

    /** An option as it is now: a value, or what a function gives. @param {any} option */
    const asked = async (option) => (typeof option === 'function' ? option() : option) ?? undefined

    /** What never comes does not keep a run from being stopped. @param {Promise<any>} coming @param {AbortSignal} signal */
    function unlessStopped(coming, signal) {
      const stopped = new Promise((_, reject) => {
        if (signal.aborted) reject(signal.reason)
        signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      })
      return Promise.race([coming, stopped])
    }

    /** @returns {Session | null} */
    function stored() {
      try {
        const found = JSON.parse(sessionStorage.getItem(name) ?? 'null')
        return Array.isArray(found?.messages) ? found : null
      } catch {
        return null
      }
    }

    /** What may have run counts as started there. @returns {boolean} false: full or forbidden, it is there for as long as the page is */
    function keep(marks = run?.marks ?? {}) {
      try {
        sessionStorage.setItem(name, JSON.stringify(sessions.applyMarks(session, marks)))
        return true
      } catch {
        return false
      }
    }

    /** @param {Session} _ of a run, which may have been reset since @param {Marks} [marks] */
    const put = async (_, marks) => { keep(marks) }

    /** @param {string} text */
    function send(text) {
      sessions.append(session, text)
      return go()
    }

    /** @param {string} id @param {Answer} answer */
    function answer(id, answer) {
      sessions.answer(session, id, answer)
      return sessions.openInterrupts(session).length ? onChange() : go()
    }

    async function go() {
      const here = session
      if (run || starting === here) return
      starting = here
      const environment = await asked(options.environment).catch(console.error)
      if (closed || here !== session) return // it was reset meanwhile
      starting = null
      session.environment = (environment ?? []).map(String)
      session.tools = (options.tools ?? []).map(({ name, description = '', parameters = { type: 'object', properties: {} } }) => ({ name, description, parameters }))
      const mine = run = stream.start(session, { api, store: { put, append() {} }, onEvent: onChange, onState: (next) => { if (here === session) state = next, onChange() } })
      const end = await mine.done
      if (run !== mine) return // it was reset meanwhile
      state = end
      run = null
      onChange()
      await serve()
    }

    /** Calls of the page's own tools are carried out here, and the run goes on. */
    async function serve() {
      const [here, mine, wait] = [session, toolsOf(session), new AbortController()]
      if (!mine.length) return
      serving = wait
      for (const one of mine) {
        const { signal } = wait
        const payload = signal.aborted ? STOPPED : await unlessStopped(carryOut(one), signal).catch(() => STOPPED)
        sessions.answer(here, one.id, { status: 'resolved', payload })
      }
      if (serving !== wait) return // it was reset meanwhile
      serving = null
      if (!wait.signal.aborted && !sessions.openInterrupts(session).length) return go()
      if (wait.signal.aborted) state = { ...state, phase: 'interrupted', reason: 'stopped' }
      keep()
      onChange()
    }

    /** @param {Session} one */
    const toolsOf = (one) => sessions.openInterrupts(one).filter(({ reason }) => reason === 'client_tool')

    /** The page is left: if something goes on, the next one of this tab goes on with it. A page that came back may have ended it since. */
    function leave() {
      try {
        sessionStorage.removeItem(`${name} left`)
        const goesOn = run || serving || starting === session
        if (goesOn && keep()) sessionStorage.setItem(`${name} left`, 'true') // not from an older copy: what was done since would be done again
      } catch {
        // as above
      }
    }

    /** What was going on when the page before was left. */
    function goOn() {
      try {
        if (!sessionStorage.getItem(`${name} left`)) return
        sessionStorage.removeItem(`${name} left`)
      } catch {
        return
      }
      for (const { id } of toolsOf(session)) sessions.answer(session, id, { status: 'resolved', payload: LEFT })
      if (!sessions.openInterrupts(session).length) go()
    }

    /** @param {Interrupt} interrupt */
    async function carryOut(interrupt) {
      const tool = (options.tools ?? []).find(({ name }) => name === interrupt.tool)
      try {
        if (!tool) throw new Error(`this page has no tool ${interrupt.tool}`)
        const found = await tool.run(interrupt.args ?? argumentsOf(interrupt))
        return { content: (typeof found === 'string' ? found : JSON.stringify(found ?? null)).slice(0, LONGEST) }
      } catch (error) {
        return { content: String(/** @type {any} */ (error)?.message ?? error), is_error: true }
      }
    }

    /** @param {Interrupt} interrupt */
    function argumentsOf({ call_id }) {
      const call = session.messages.flatMap((message) => message.tool_calls ?? []).find(({ id }) => id === call_id)
      return JSON.parse(call?.function.arguments || '{}')
    }

    function stop() {
      if (serving) return serving.abort()
      run?.stop()
      if (unsent) run?.stop() // nobody has heard of it yet, and nobody has to be told
    }

    /** End what goes on without waiting for a word of the server: it notices that nobody listens. */
    function hangUp() {
      run?.stop()
      run?.stop()
      serving?.abort()
    }

    function reset() {
      hangUp()
      run = serving = null
      session = sessions.create()
      state = { phase: 'idle', attempt: 0, resumed: 0 }
      keep()
      onChange()
    }

    function close() {
      closed = true
      taken.delete(name)
      hangUp()
    }

    return {
      send, answer, go, goOn, leave, reset, stop, close,
      session: () => session, state: () => state, live: () => Boolean(run ?? serving), open: () => sessions.openInterrupts(session).filter((one) => one.reason !== 'client_tool'),
    }
  }

  return { open }
})
