// The one way to ask a server. A request ends after its limit of silence or by its signal, and is tried again where that is
// safe. A failure is `network` (no line), `busy` (with a Retry-After), `foreign` (a
// portal or a gateway answered), `refused` (with the server's own words), `cut` (the answer broke off) or `aborted`.

yaa.define('io/api', ['core/patch'], ({ parseJson }) => {
  /** A request that has heard nothing for so long has failed. A body that goes up has more: see `limitOf`. */
  const SILENCE_MS = 30_000
  /** An approval waits so long for a word of the server before it is sent. */
  const PATIENCE_MS = 45_000
  /** Bytes in a millisecond that a slow line sends. */
  const SLOWEST = 8
  /** Before a request that may be repeated is sent again. */
  const PAUSES_MS = [500, 1500]
  /** A gateway whose server is away for a moment. */
  const AWAY = /^http_50[234]$/
  const LONG = 20
  const JSON_BODY = { 'Content-Type': 'application/json', Accept: 'application/json' }
  /** Larger bodies are packed on their way to another machine; on this one packing only costs time. */
  const PACK_BYTES = 32 * 1024
  /** Nothing of this page goes along, and the key goes to no other address. */
  const PLAIN = /** @type {const} */ ({ cache: 'no-store', credentials: 'omit', redirect: 'manual', referrerPolicy: 'no-referrer' })
  const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/
  /** Says why it failed, in the language of the page. @type {(name: string, values: {detail: string}) => string} */
  let sentence = (name, { detail }) => detail || name

  class ApiError extends Error {
    /** @param {Partial<Failure> & {kind: Failure['kind'], detail?: string}} details */
    constructor({ detail = '', ...details }) {
      const name = ['timeout', 'unauthorized'].find((code) => code === details.code) ?? details.kind
      super(name === 'refused' && detail ? detail : sentence(name, { detail }).trim())
      this.name = /** @type {'ApiError'} */ ('ApiError')
      this.kind = details.kind
      this.status = 0
      this.code = ''
      this.pointer = ''
      this.errors = /** @type {Failure['errors']} */ ([])
      this.retryAfter = /** @type {number | null} */ (null)
      this.url = ''
      Object.assign(this, details)
    }
  }

  /**
   * @param {{base: string, key?: string, fetch?: typeof globalThis.fetch, timers?: Pick<Timers, 'set' | 'clear'>, onAnswer?: () => void}} options
   *   `fetch` and `timers` are replaced in tests; `onAnswer`: the server has answered
   * @returns {Api}
   */
  function create({ base, key = '', fetch = (...all) => globalThis.fetch(...all), timers = TIMERS, onAnswer = () => {} }) {
    const root = base.replace(/\/+$/, '')

    /**
     * One attempt: the whole answer, or its beginning where it is a stream.
     * @param {string} url @param {RequestOptions} options @returns {Promise<Response>}
     */
    async function attempt(url, { silence = SILENCE_MS, stream, signal, ...options }) {
      const controller = new AbortController()
      const cancel = () => controller.abort(signal?.reason)
      const limit = limitOf(options.body, silence)
      /** @type {any} */ let timer = null
      const wait = () => {
        timers.clear(timer)
        timer = timers.set(() => controller.abort(new DOMException('', 'TimeoutError')), limit)
      }
      let begun = false
      if (!stream) wait()
      signal?.addEventListener('abort', cancel)
      try {
        signal?.throwIfAborted()
        const headers = { ...options.headers, ...(key ? { Authorization: `Bearer ${key}` } : {}) }
        const response = await fetch(url, { ...PLAIN, ...options, headers, signal: stream ? signal : controller.signal })
        begun = true
        if (!response.ok) throw await refusal(response, url)
        if (isPage(response)) throw new ApiError({ kind: 'foreign', code: 'not_json', url })
        onAnswer()
        return stream ? response : await whole(response, wait)
      } catch (error) {
        throw failure(controller.signal.aborted ? controller.signal.reason : error, url, begun)
      } finally {
        timers.clear(timer)
        signal?.removeEventListener('abort', cancel)
      }
    }

    /** @type {Api['request']} */
    async function request(path, options = {}) {
      for (let n = 0; ; n++) {
        try {
          return await attempt(root + path, options)
        } catch (error) {
          if (n >= PAUSES_MS.length || !mayRepeat(options) || !isPassing(/** @type {any} */ (error))) throw error
          await pause(PAUSES_MS[n], options.signal, timers)
        }
      }
    }

    /** @type {Api['ask']} */
    async function ask(path, { body, headers, ...options } = {}) {
      const given = body === undefined ? { headers: { Accept: 'application/json', ...headers } }
        : { method: 'POST', headers: { ...JSON_BODY, ...headers }, body: JSON.stringify(body) }
      const response = await request(path, { ...given, ...options })
      if (response.status === 204) return null
      return response.json().catch((error) => {
        throw failure(error, root + path, /json/.test(response.headers.get('Content-Type') ?? ''))
      })
    }

    /** @type {any} io/session-base, once a long session was run */ let bases

    /** @param {Session} session which the server has now */
    async function hold(session) {
      if (session.messages.length < LONG) return
      await yaa.load('session-base')
      bases ??= yaa.use('io/session-base').create(post)
      await bases.hold(session)
    }

    /** @type {Api['run']} */
    const run = (session, options) => (bases?.run ?? post)(session, options)

    /** @param {Session} session @param {{signal?: AbortSignal}} [options] */
    async function post(session, { signal } = {}) {
      const text = JSON.stringify(session)
      const packs = text.length > PACK_BYTES && 'CompressionStream' in globalThis && !LOOPBACK.test(new URL(root).hostname)
      return request('/session', {
        method: 'POST',
        headers: {
          Accept: 'text/event-stream',
          'Content-Type': 'application/json',
          ...(packs ? { 'Content-Encoding': 'gzip' } : {}),
        },
        body: packs ? await gzip(text) : text,
        signal,
        stream: true,
      })
    }

    /**
     * A file that a tool made, whole.
     * @param {string} id the session's @param {string} path as its attachment says @param {string} [folder] that the session works on
     */
    async function file(id, path, folder) {
      const response = await (folder ? request(`/workspaces/${encodeURIComponent(id)}/file?${new URLSearchParams({ path, folder })}`)
        : request('/files', { method: 'POST', headers: JSON_BODY, body: JSON.stringify({ id, path }) }))
      return response.blob()
    }

    return {
      base: root,
      key,
      request,
      ask,
      health: (signal) => ask('/health', { signal, retry: false, silence: PATIENCE_MS }),
      info: (signal) => ask('/info', { signal, retry: false }),
      run,
      hold,
      /** Ends what runs of a session: said within 5 s. */
      stop: (id, signal) => ask('/session/stop', { body: { id }, signal, silence: 9000 }),
      file,
    }
  }

  /** @type {Pick<Timers, 'set' | 'clear'>} */
  const TIMERS = { set: (callback, ms) => setTimeout(callback, ms), clear: (timer) => clearTimeout(timer) }

  /** May it be sent twice? `retry` says so where the method does not. @param {RequestOptions} options */
  const mayRepeat = ({ stream, method = 'GET', retry = method === 'GET' || method === 'HEAD' }) => retry && !stream

  /** May it go better in a moment? Not where the limit of silence was waited for. @param {Failure} error */
  const isPassing = ({ kind, code }) => kind === 'cut' || (kind === 'network' && code !== 'timeout') || AWAY.test(code)

  /** @param {number} ms @param {AbortSignal | null} [signal] @param {Pick<Timers, 'set'>} [timers] @returns {Promise<void>} */
  const pause = (ms, signal = null, timers = TIMERS) => new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    timers.set(resolve, ms)
    signal?.addEventListener('abort', () => resolve(), { once: true })
  })

  /** @param {any} body @param {number} silence */
  const limitOf = (body, silence) => silence + (body?.size ?? body?.byteLength ?? body?.length ?? 0) / SLOWEST

  /** The server sends pages to nobody who asks it for something else. @param {Response} response */
  const isPage = ({ headers }) => /^text\/html/i.test(headers.get('Content-Type') ?? '')

  /** Read all of an answer. @param {Response} response @param {() => void} heard called at each piece @returns {Promise<Response>} */
  async function whole(response, heard) {
    const reader = response.body?.getReader()
    if (!reader) return response
    const pieces = []
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      heard()
      pieces.push(piece.value)
    }
    const { status, statusText, headers } = response
    return new Response(pieces[0] && new Blob(pieces), { status, statusText, headers })
  }

  /** @param {string} text */
  function gzip(text) {
    return new Response(new Blob([text]).stream().pipeThrough(new CompressionStream('gzip'))).arrayBuffer()
  }

  /**
   * An answer that says no. It is the server's own if it is a JSON object; what another one says has no status here, so that
   * nobody takes its 404 for the server's.
   * @param {Response} response @param {string} url
   */
  async function refusal(response, url) {
    const { headers } = response
    const text = await response.text()
    const body = objectIn(text)
    const own = body || (!text && /json/.test(headers.get('Content-Type') ?? '')) // of HEAD there is no more
    const wait = Number(headers.get('Retry-After') ?? NaN)
    const retryAfter = Number.isFinite(wait) ? wait : null
    const busy = (response.status === 429 || response.status === 503) && (own || retryAfter !== null)
    const errors = Array.isArray(body?.errors) ? body.errors : []
    const code = typeof body?.code === 'string' ? body.code : body?.error?.code ?? `http_${response.status}`
    return new ApiError({
      kind: busy ? 'busy' : own ? 'refused' : 'foreign',
      status: own || busy ? response.status : 0,
      code,
      detail: body?.detail ?? body?.error?.message ?? body?.title ?? '',
      pointer: errors[0]?.pointer ?? '',
      errors,
      received: body?.received,
      reason: body?.reason,
      facts: body,
      retryAfter,
      url,
    })
  }

  /** @param {string} text @returns {any} the JSON object that it is, or null */
  function objectIn(text) {
    const value = parseJson(text)
    return typeof value === 'object' ? value : null
  }

  /** Whatever was thrown, as an ApiError. @param {any} error @param {string} url @param {boolean} [begun] there was an answer @returns {Failure} */
  function failure(error, url, begun = false) {
    if (error instanceof ApiError) return error
    if (error?.name === 'AbortError') return new ApiError({ kind: 'aborted', code: 'aborted', url })
    if (error?.name === 'TimeoutError') return new ApiError({ kind: 'network', code: 'timeout', url })
    if (begun) return new ApiError({ kind: 'cut', code: 'cut', url })
    return new ApiError(error instanceof SyntaxError ? { kind: 'foreign', code: 'not_json', url } : { kind: 'network', code: 'network', url })
  }

  /** @param {typeof sentence} words */
  function speak(words) {
    sentence = words
  }

  return { create, failure, speak, pause }
})
