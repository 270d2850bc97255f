// The widget's one session: what is said in it, its runs, and the tools of the page. The document lives in the tab's own
// storage, so that it is still there on the next page of the same site.

yaa.define('widget/talk', ['core/session', 'io/api', 'io/stream'], (sessions, apis, stream) => {
  const LONGEST = 20_000

  /** @param {WidgetOptions} options live: headers and environment may be set anew @param {() => void} onChange */
  function open(options, onChange) {
    const name = `yaa.widget ${options.server}`
    let session = stored() ?? sessions.create()
    /** @type {Run | null} */ let run = null
    /** @type {RunState} */ let state = { phase: 'idle', attempt: 0, resumed: 0 }
    const base = new URL(String(options.server), location.href).href
    const api = apis.create({ base, fetch: withHeaders })

    /** @param {any} url @param {any} init */
    async function withHeaders(url, init) {
      const more = typeof options.headers === 'function' ? await options.headers() : options.headers
      return fetch(url, { ...init, headers: { ...init.headers, ...more } })
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

    async function put() {
      try {
        sessionStorage.setItem(name, JSON.stringify(session))
      } catch {
        // full or forbidden: it is there for as long as the page is
      }
    }

    /** @param {string} text */
    function send(text) {
      sessions.append(session, text)
      return go()
    }

    /** @param {string} id @param {Answer} answer */
    function answer(id, answer) {
      sessions.answer(session, id, answer)
      return sessions.open(session).length ? onChange() : go()
    }

    async function go() {
      if (run) return
      const environment = typeof options.environment === 'function' ? await options.environment() : options.environment
      session.environment = (environment ?? []).map(String)
      session.tools = (options.tools ?? []).map(({ name, description = '', parameters = { type: 'object', properties: {} } }) => ({ name, description, parameters }))
      const mine = run = stream.start(session, { api, store: { put, append() {} }, onEvent: onChange, onState: (next) => { state = next; onChange() } })
      state = await mine.done
      if (run !== mine) return // it was reset meanwhile
      run = null
      onChange()
      await serve()
    }

    /** Calls of the page's own tools are carried out here, and the run goes on. */
    async function serve() {
      const mine = sessions.open(session).filter((one) => one.reason === 'client_tool')
      const here = session
      for (const one of mine) sessions.answer(here, one.id, { status: 'resolved', payload: await carryOut(one) })
      if (mine.length && here === session && !sessions.open(session).length) await go()
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

    function reset() {
      run?.stop()
      run = null
      session = sessions.create()
      state = { phase: 'idle', attempt: 0, resumed: 0 }
      sessionStorage.removeItem(name)
      onChange()
    }

    return {
      send, answer, go, reset, stop: () => run?.stop(), close: () => run?.stop(),
      session: () => session, state: () => state, live: () => run !== null, open: () => sessions.open(session).filter((one) => one.reason !== 'client_tool'),
    }
  }

  return { open }
})
