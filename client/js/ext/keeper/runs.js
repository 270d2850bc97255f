// Runs of kept sessions: the document is stored at the server, which runs it, and the page folds what comes of it. Whether the
// page is there makes no difference to the run.

yaa.define('ext/keeper/runs', ['core/sse', 'core/session', 'ext/keeper/rules'], ({ Decoder }, sessions, rules) => {
  /** In front of the id: what this browser knows of a session that a server keeps. */
  const RECORD = 'yaa.kept '
  /** Refusals after which a session runs as it did without a keeper. */
  const UNKEPT = ['keeper_full', 'body_too_large', 'not_found', 'method_not_allowed']
  /** Refusals that do not pass, though their status says so. */
  const FINAL = ['kept_conflict', 'question_closed']
  const encoder = new TextEncoder()
  /** Where nothing may be stored. @type {Map<string, KeptRecord>} */ const held = new Map()
  /** The streams of this page. @type {Map<string, KeptLink>} */ const links = new Map()

  /** What is stored and read of each session. @type {Map<string, Promise<any>>} */ const turns = new Map()

  /** One thing after the other, for each session. @type {<T>(id: string, work: () => Promise<T>) => Promise<T>} */
  const inTurn = (id, work) => /** @type {any} */ (turns.set(id, (turns.get(id) ?? Promise.resolve()).then(work, work)).get(id))

  /** @returns {Storage | null} */
  function storage() {
    try {
      return globalThis.localStorage ?? null
    } catch {
      return null
    }
  }

  /** @param {string} id @returns {KeptRecord | null} */
  function recordOf(id) {
    try {
      const text = storage()?.getItem(RECORD + id)
      return text ? JSON.parse(text) : held.get(id) ?? null
    } catch {
      return held.get(id) ?? null
    }
  }

  /** @returns {Record<string, KeptRecord>} of all */
  function records() {
    const [all, place] = [Object.fromEntries(held), storage()]
    for (let n = 0; n < (place?.length ?? 0); n++) {
      const name = String(place?.key(n))
      const record = name.startsWith(RECORD) && recordOf(name.slice(RECORD.length))
      if (record) all[name.slice(RECORD.length)] = record
    }
    return all
  }

  /** @param {string} id @param {Partial<KeptRecord> | null} changes null: it is kept no more @returns {KeptRecord | null} */
  function note(id, changes) {
    const next = changes && { base: '', revision: '', stamp: '', said: [], ...recordOf(id), ...changes }
    try {
      if (next) storage()?.setItem(RECORD + id, JSON.stringify(next))
      else storage()?.removeItem(RECORD + id)
      held.delete(id)
      if (next && !storage()) held.set(id, next)
    } catch {
      if (next) held.set(id, next)
    }
    return next
  }

  /** @param {string} id @returns {KeptLink} */
  function linkOf(id) {
    const link = links.get(id) ?? { last: '', following: false, held: null, revision: '', sign: {} }
    links.set(id, link)
    return link
  }

  /** @param {string} id @param {Partial<KeptLink>} changes */
  const relink = (id, changes) => void links.set(id, { ...linkOf(id), ...changes })

  /** Is it kept at this server? @param {string} id @param {Api} api @returns {KeptRecord | null} */
  function keptAt(id, { base }) {
    const record = recordOf(id)
    return record?.base === base && !record.gone ? record : null
  }

  /** Nobody has sent it yet. @param {Session} session */
  const isNew = ({ rev, run }) => !rev && !run

  /** Does the server have all that a person has said, in a copy that a run is to write? @param {KeptRecord | null} record @param {Session} session */
  const isThere = (record, session) => Boolean(record?.stale && !rules.isChanged(record, session, { stamp: '', changes: [] }))

  /** @param {string} id */
  const pathOf = (id) => `/keeper/sessions/${encodeURIComponent(id)}`

  /**
   * Store a session at the server, in the place of the revision that it was made from.
   * @param {Api} api @param {Session} session @param {string} revision '' for a new one @returns {Promise<string>} the revision that it has now
   */
  async function put(api, session, revision) {
    const made = revision ? { headers: { 'If-Match': `"${revision}"` } } : {}
    return (await api.ask(pathOf(session.id), { method: 'PUT', body: rules.keyed(session), ...made })).revision
  }

  /** @param {Api} api @param {string} id @param {string} last the id of the frame after which it goes on, '' for all of it @param {AbortSignal} [signal] */
  const events = (api, id, last, signal) => api.request(`${pathOf(id)}/events`, {
    headers: { Accept: 'text/event-stream', ...(last ? { 'Last-Event-ID': last } : {}) }, signal, stream: true,
  })

  /** The frames of a stream, piece by piece. @param {Response} response @param {() => void} [onBytes] @returns {AsyncGenerator<{id: string, event: YaaEvent}[]>} */
  async function* framesOf(response, onBytes) {
    const decoder = new Decoder()
    const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader()
    try {
      for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
        onBytes?.()
        const texts = decoder.feed(piece.value)
        yield texts.map((text, n) => ({ id: decoder.ids[n], event: JSON.parse(text) }))
      }
    } finally {
      reader.cancel().catch(() => {}) // the connection may be gone already
    }
  }

  /**
   * The stream of a run, as a run's own: until the session is at rest.
   * @param {string} id @param {Response} response @param {(last: string) => Promise<Response>} connect @returns {Response}
   */
  function streamOf(id, response, connect) {
    let frames = framesOf(response)
    const body = new ReadableStream({
      async pull(controller) {
        const { value, done } = await frames.next()
        if (done) return controller.close()
        let text = ''
        for (const frame of value) {
          const { link, emit, end, anew } = rules.step(linkOf(id), frame)
          links.set(id, link)
          text += emit.map((/** @type {YaaEvent} */ event) => `data: ${JSON.stringify(event)}\n\n`).join('')
          if (!end && !anew) continue
          frames.return(undefined)
          if (anew) {
            relink(id, { last: '', held: null })
            frames = framesOf(await connect(''))
          }
          break
        }
        controller.enqueue(encoder.encode(text || ':\n\n'))
      },
      cancel() { frames.return(undefined) },
    }, { highWaterMark: 0 }) // what is not read is not taken for folded
    return new Response(body, { headers: response.headers })
  }

  /**
   * Before a run is asked of the server: where it is kept, or shall be, the keeper is.
   * @param {import('../../ui/types').Entry} entry @param {Api} api @returns {Api}
   */
  function way({ session: { id, ext } }, api) {
    const isWanted = (/** @type {Session} */ session) => keptAt(id, api) || (isNew(session) && ext?.[rules.KEY] && !ext.temporary)

    /** Store it, or the answers alone if they are all that is new, and have it run. @param {Session} session @param {AbortSignal} [signal] */
    async function begin(session, signal) {
      await inTurn(id, async () => {}) // a change that is on its way has another revision come of it
      const record = keptAt(id, api)
      const answers = sessions.answeredInterrupts(session)
      if (record?.revision && answers.length && rules.saidIn(session)[0] === record.said[0]) {
        const { asked } = linkOf(id)
        relink(id, { asked: true })
        await api.ask(`${pathOf(id)}/answers`, { body: { resume: answers }, signal }).catch((error) => {
          if (!asked || error.code !== 'question_closed') throw error // else they had arrived, and the line broke
        })
        note(id, { said: rules.saidIn(session), stale: true, unbegun: false })
      } else {
        if (!record?.unbegun || !isThere(record, session)) {
          const revision = await put(api, session, record?.revision ?? '')
          note(id, { base: api.base, gone: false, revision, said: rules.saidIn(session), stale: true, unbegun: true })
        }
        await api.ask(`${pathOf(id)}/run`, { body: {}, signal })
        note(id, { unbegun: false })
      }
      relink(id, { following: true, last: '', held: null })
    }

    /** @type {Api['run']} */
    async function run(session, options = {}) {
      const record = keptAt(id, api)
      const isOn = linkOf(id).following || (!record?.unbegun && isThere(record, session))
      if (!record && !isWanted(session)) return api.run(session, options)
      relink(id, { touched: false })
      try {
        if (!isOn) await begin(session, options.signal)
      } catch (error) {
        const { code, message } = /** @type {Failure} */ (error)
        if (FINAL.includes(code)) throw Object.assign(/** @type {any} */ (error), { status: 412 })
        if (record?.revision || !UNKEPT.includes(code)) throw error
        note(id, null)
        globalThis.dispatchEvent?.(new CustomEvent('yaa-unkept', { detail: message }))
        return api.run(session, options)
      }
      relink(id, { following: true })
      const connect = (/** @type {string} */ last) => events(api, id, last, options.signal)
      return streamOf(id, await connect(linkOf(id).last), connect)
    }

    return {
      ...api, run,
      get lasting() { return Boolean(keptAt(id, api)) },
      hold: async (session) => (keptAt(id, api) ? undefined : api.hold(session)),
      stop: (_, signal) => (keptAt(id, api) ? api.ask(`${pathOf(id)}/stop`, { body: {}, signal, silence: 9000 }) : api.stop(id, signal)),
    }
  }

  return { inTurn, way, put, events, framesOf, pathOf, recordOf, records, note, linkOf, relink, keptAt, UNKEPT }
})
