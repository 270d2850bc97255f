// The files of a session on a server: its routes as functions (docs/reference/http.md). A file goes up in pieces, so that
// one that is cut off goes on where it was.

yaa.define('ext/files/workspace-api', ['io/api', 'io/changes'], ({ pause: wait }, { once }) => {
  /** Bytes of one piece: well below what the server takes at once. */
  const PIECE = 2 ** 20
  /** Entries of one answer. */
  const MOST_LISTED = 10_000
  /** A piece that did not arrive is sent again after so long. */
  const PAUSES_MS = [300, 1000, 3000, 8000]
  /** The server may write to a large folder before it says a word. */
  const SILENCE_MS = 120_000

  /**
   * @param {Api} api @param {string} session its id @param {string} [folder] a named folder; without one the session's own
   * @param {(work: Promise<any>) => Promise<any>} [watch] is given each answer that is waited for
   * @returns {Workspace}
   */
  function open(api, session, folder, watch = (work) => work) {
    /** @param {string} route @param {Record<string, any>} [query] what is undefined is left out */
    function address(route, query = {}) {
      const given = new URLSearchParams()
      for (const [name, value] of Object.entries({ ...query, ...(folder ? { folder } : {}) })) {
        for (const one of [value].flat()) if (one !== undefined) given.append(name, String(one))
      }
      return `/workspaces/${encodeURIComponent(session)}/${route}${given.size ? `?${given}` : ''}`
    }

    /** @param {string} route @param {Record<string, any>} [query] @param {Parameters<Api['ask']>[1]} [options] @returns {Promise<any>} */
    const ask = (route, query, options) => watch(api.ask(address(route, query), options))

    /** @param {string} method @param {string} route @param {Record<string, any>} query @param {Parameters<Api['ask']>[1]} [options] @returns {Promise<any>} */
    const change = (method, route, query, options) => once(`${method} ${api.base}${address(route, query)}`, (headers) => ask(route, query, { method, headers, retry: true, ...options }))

    /** @param {string} route @param {any} body @returns {Promise<any>} */
    const post = (route, body) => change('POST', route, {}, { body, silence: SILENCE_MS })

    /** @type {Workspace['list']} */
    const list = (path, options = {}) => ask('files', { path: path || undefined, ...options })

    /** Asks the folders on the way: a browser reports each 404. @type {Workspace['find']} */
    async function find(path) {
      const names = path.split('/')
      /** @type {FileEntry | undefined} */ let entry
      for (let deep = 1; deep <= names.length; deep += 1) {
        const { entries, complete } = await list(names.slice(0, deep - 1).join('/'), { limit: MOST_LISTED })
        entry = entries.find((each) => each.path === names.slice(0, deep).join('/'))
        if (!entry) return complete ? null : { path, kind: 'unknown' }
      }
      return entry ?? null
    }

    /** @type {Workspace['read']} */
    async function read(path, { tree, most } = {}) {
      const headers = most ? { Range: `bytes=0-${most - 1}` } : undefined
      const response = await watch(api.request(address('file', { path, tree }), { headers })).catch((error) => {
        if (error.status === 416) return null // of an empty file there is no first byte
        throw error
      })
      return response ? response.blob() : new Blob([])
    }

    /** @type {Workspace['upload']} */
    async function upload(path, file, { signal, onProgress = () => {}, pause = wait } = {}) {
      let [sent, failed] = [0, 0]
      for (;;) {
        const end = Math.min(sent + PIECE, file.size)
        const whole = file.size <= PIECE
        /** @type {RequestOptions} */
        const options = {
          method: 'PUT', retry: true, signal, body: file.slice(sent, end),
          headers: { 'Content-Type': 'application/octet-stream', Accept: 'application/json', ...(whole ? {} : { 'Content-Range': `bytes ${sent}-${end - 1}/${file.size}` }) },
        }
        try {
          const at = address('file', { path })
          const response = await once(`PUT ${api.base}${at}`, (headers) => api.request(at, { ...options, headers: { ...options.headers, ...headers } }))
          const answer = await response.json()
          if (response.status !== 202) return onProgress(file.size), answer
          // what the server has is what counts; one that takes nothing would be asked for ever
          const received = Number.isSafeInteger(answer.received) ? Math.max(0, Math.min(answer.received, file.size)) : end
          failed = received > sent ? 0 : failed + 1
          sent = received
          onProgress(sent)
        } catch (error) {
          if (!isPassing(/** @type {any} */ (error))) throw error
          failed += 1
          if (failed > PAUSES_MS.length) throw error
          const { received } = /** @type {Failure} */ (error)
          if (Number.isSafeInteger(received) && Number(received) >= 0 && Number(received) < sent) sent = Number(received) // it has lost some
        }
        if (failed > PAUSES_MS.length) throw new Error(`${path}: the server takes nothing of it.`)
        if (failed) await pause(PAUSES_MS[failed - 1], signal)
        signal?.throwIfAborted()
      }
    }

    return {
      list,
      find,
      read,
      upload,
      remove: (path) => change('DELETE', 'file', { path }),
      move: (from, to) => post('move', { from, to }),
      state: () => ask('state'),
      record: () => post('record', {}),
      diff: (from, to, path) => ask('diff', { from, to, path }),
      status: () => ask('status'),
      apply: (paths, force, tree) => post('apply', { paths, force: force || undefined, tree }), // what is undefined is left out
      discard: (paths, tree) => post('discard', { paths, tree }),
      restore: (tree, after, paths) => post('restore', { tree, after, paths }),
      archive: async ({ tree, paths } = {}) => (await api.request(address('archive', { tree, path: paths }), { silence: SILENCE_MS })).blob(),
    }
  }

  /** May it go better the next time? @param {Failure} error */
  const isPassing = ({ kind, status }) => kind !== 'aborted' && (kind !== 'refused' || status === 409 || status >= 502)

  return { open }
})
