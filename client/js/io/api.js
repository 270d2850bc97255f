// The server's routes as functions. Every failure is an ApiError with the server's own code and place, or `network`
// when there was no answer to read: a browser does not say why (io/connection-diagnosis finds out).

yaa.define('io/api', [], () => {
  const PROBE_MS = 10_000
  /** Messages. */
  const LONG = 20
  const JSON_BODY = { 'Content-Type': 'application/json' }
  /** Larger bodies are packed on their way to another machine; on this one packing only costs time. */
  const PACK_BYTES = 32 * 1024
  /** Nothing of this page goes along, and the key goes to no other address. */
  const PLAIN = /** @type {const} */ ({ cache: 'no-store', credentials: 'omit', redirect: 'error', referrerPolicy: 'no-referrer' })
  const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/

  const STOPPED = /** @type {const} */ ({ kind: 'aborted', code: 'aborted', message: 'Stopped.' })
  const TOO_LATE = /** @type {const} */ ({ kind: 'network', code: 'timeout', message: 'The server did not answer in time.' })
  const UNREACHABLE = /** @type {const} */ ({ kind: 'network', code: 'network', message: 'The server cannot be reached.' })
  const NOT_OURS = /** @type {const} */ ({
    kind: 'protocol', code: 'not_json', message: 'The answer cannot be read. Is this the address of a yaa server?',
  })

  class ApiError extends Error {
    /** @param {Partial<Failure>} details */
    constructor({ message, ...details }) {
      super(message)
      this.name = /** @type {'ApiError'} */ ('ApiError')
      this.kind = /** @type {Failure['kind']} */ ('http')
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
   * @param {{base: string, key?: string, fetch?: typeof globalThis.fetch}} options `fetch` is replaced in tests
   * @returns {Api}
   */
  function create({ base, key = '', fetch = (...all) => globalThis.fetch(...all) }) {
    const root = base.replace(/\/+$/, '')

    /** @param {string} path @param {RequestInit} options @returns {Promise<Response>} */
    async function request(path, options) {
      const url = root + path
      const headers = { ...options.headers, ...(key ? { Authorization: `Bearer ${key}` } : {}) }
      try {
        const response = await fetch(url, { ...PLAIN, ...options, headers })
        if (!response.ok) throw await refusal(response, url)
        return response
      } catch (error) {
        throw failure(error, url)
      }
    }

    /** @param {string} path @param {AbortSignal} [stop] not heard before Safari 17.4 and Firefox 124 @returns {Promise<any>} */
    async function ask(path, stop) {
      const late = AbortSignal.timeout(PROBE_MS)
      const signal = stop ? AbortSignal.any?.([late, stop]) ?? late : late
      const response = await request(path, { headers: { Accept: 'application/json' }, signal })
      return readJson(response, root + path)
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
      })
    }

    /**
     * A file that a tool made, whole.
     * @param {string} id the session's @param {string} path as its attachment says @param {string} [folder] that the session works on
     */
    async function file(id, path, folder) {
      const response = folder ? await request(`/workspaces/${encodeURIComponent(id)}/file?${new URLSearchParams({ path, folder })}`, {})
        : await request('/files', { method: 'POST', headers: JSON_BODY, body: JSON.stringify({ id, path }) })
      return response.blob().catch((error) => { throw failure(error, `${root}/files`) })
    }

    /** Ends what runs of a session on the server. @param {string} id */
    const stop = (id) => request('/session/stop', { method: 'POST', headers: JSON_BODY, body: JSON.stringify({ id }), signal: AbortSignal.timeout(PROBE_MS) })

    return {
      base: root,
      key,
      request,
      health: (stop) => ask('/health', stop),
      info: () => ask('/info'),
      run,
      hold,
      stop,
      file,
    }
  }

  /** @param {string} text */
  function gzip(text) {
    return new Response(new Blob([text]).stream().pipeThrough(new CompressionStream('gzip'))).arrayBuffer()
  }

  /** An answer that says no. @param {Response} response @param {string} url */
  async function refusal(response, url) {
    const body = await response.json().catch(() => null)
    const errors = Array.isArray(body?.errors) ? body.errors : []
    const wait = Number(response.headers.get('Retry-After') ?? NaN)
    return new ApiError({
      status: response.status,
      code: typeof body?.code === 'string' ? body.code : body?.error?.code ?? `http_${response.status}`,
      message: body?.detail ?? body?.error?.message ?? body?.title ?? `${response.status} ${response.statusText}`.trim(),
      pointer: errors[0]?.pointer ?? '',
      errors,
      received: body?.received,
      reason: body?.reason,
      retryAfter: Number.isFinite(wait) ? wait : null,
      url,
    })
  }

  /** @param {Response} response @param {string} url */
  async function readJson(response, url) {
    return response.json().catch((error) => { throw failure(error, url) })
  }

  /** Whatever was thrown, as an ApiError. @param {any} error @param {string} url @returns {Failure} */
  function failure(error, url) {
    if (error instanceof ApiError) return error
    if (error?.name === 'AbortError') return new ApiError({ ...STOPPED, url })
    if (error?.name === 'TimeoutError') return new ApiError({ ...TOO_LATE, url })
    return new ApiError({ ...(error instanceof SyntaxError ? NOT_OURS : UNREACHABLE), url })
  }

  return { create, failure }
})
