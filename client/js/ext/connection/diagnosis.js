// Finds out why a request failed. A browser reports the same TypeError for a server that is down, a refused origin, a missing
// permission and mixed content; probing tells them apart.

yaa.define('ext/connection/diagnosis', ['io/api'], ({ failure }) => {
  const PROBE_MS = 5000
  /** Chromium's and Firefox's names for "this page may reach the machines around you" (Local Network Access). */
  const PERMISSIONS = ['local-network-access', 'loopback-network', 'local-network']
  const LOCAL_NAME = /^[^.:]+$|\.(?:local|lan|home|internal|localhost)$/i
  const LOCAL_ADDRESS = /^(?:127\.|10\.|192\.168\.|169\.254\.|172\.(?:1[6-9]|2\d|3[01])\.|\[::1\]|\[f[cde])/i

  /**
   * @param {any} error
   * @param {{api: Api, page?: string, fetch?: typeof globalThis.fetch, permissions?: any}} options `page`: this page's address
   * @returns {Promise<Explanation>}
   */
  async function explain(error, { api, page = globalThis.location?.href ?? 'file:///', ...means }) {
    const { fetch = (...all) => globalThis.fetch(...all), permissions = globalThis.navigator?.permissions } = means
    const found = failure(error, api.base)
    if (found.kind !== 'network') return answered(found)
    const [from, to] = [new URL(page), new URL(api.base)]
    if (found.code === 'timeout') { // not even a foreign origin is refused so late; Firefox waits while it asks
      return await needsPermission(from, to, permissions) ? say('permission', found, { permission: 'bad' }) : say('slow', found, {})
    }
    const loopback = /^(?:localhost$|127\.|\[::1\])/.test(to.hostname)
    if (from.protocol === 'https:' && to.protocol === 'http:' && !loopback) return say('mixed', found, {})
    const there = await isThere(api.base, fetch)
    if (there && from.origin === to.origin) return say('cut', failure(new TypeError(), api.base, true), {}) // a page is allowed what is its own server's
    if (there) return say('cors', found, { server: 'ok', cors: 'bad' })
    if (await needsPermission(from, to, permissions)) return say('permission', found, { permission: 'bad' })
    return say('server', found, { server: 'bad' })
  }

  /** There was an answer: so there is a server, and this page may read what it says. @param {Failure} error */
  function answered(error) {
    const readable = /** @type {const} */ ({ server: 'ok', cors: 'ok', permission: 'ok' })
    if (error.status === 401) return say('key', error, { ...readable, key: 'bad' })
    if (error.kind === 'refused') return say('other', error, readable)
    return say(error.kind === 'busy' || error.kind === 'cut' ? error.kind : 'foreign', error, {})
  }

  /**
   * @param {Explanation['cause']} cause
   * @param {Failure} error
   * @param {Partial<Explanation['checks']>} checks
   * @returns {Explanation}
   */
  function say(cause, error, checks) {
    return { cause, error, checks: { server: 'unknown', key: 'unknown', cors: 'unknown', permission: 'unknown', ...checks } }
  }

  /**
   * Whether anything answers: without CORS the answer can't be read, but it is seen to arrive.
   * @param {string} base
   * @param {typeof globalThis.fetch} fetch
   */
  async function isThere(base, fetch) {
    try {
      await fetch(`${base}/health`, { mode: 'no-cors', cache: 'no-store', credentials: 'omit', signal: AbortSignal.timeout(PROBE_MS) })
      return true
    } catch {
      return false
    }
  }

  /**
   * Only pages from the internet are asked; those from disk or from the local network are not.
   * @param {URL} from
   * @param {URL} to
   * @param {any} permissions
   */
  async function needsPermission(from, to, permissions) {
    if (from.protocol === 'file:' || from.hostname === to.hostname) return false
    if (isLocal(from.hostname) || !isLocal(to.hostname)) return false
    if (from.protocol === 'http:') return true // Chromium blocks it without asking
    for (const name of PERMISSIONS) {
      const status = await permissions?.query({ name }).catch(() => null)
      if (status && status.state !== 'granted') return true
    }
    return false
  }

  /** @param {string} host */
  const isLocal = (host) => LOCAL_NAME.test(host) || LOCAL_ADDRESS.test(host)

  return { explain }
})
