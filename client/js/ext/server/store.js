// The settings of the server as the open page knows them: read once, changed by what the forms say, read again when
// another has changed them meanwhile.

yaa.define('ext/server/store', ['ext/server/routes', 'ext/server/texts', 'ext/server/values'], ({ open }, { t }, { holds }) => {
  /** @param {import('../../ui/types').App} app */
  function storeOf(app) {
    const routes = open(() => app.server.api())
    /** @type {Set<() => void>} */ const listeners = new Set()
    /** @type {any} */ let now = null
    /** @type {string} of the server that `now` is from */ let base = ''

    /** @param {any} found */
    function take(found) {
      now = found
      base = app.server.api().base
      for (const listener of listeners) listener()
      return found
    }

    /** Read the settings anew. */
    const read = async () => take(await routes.read())

    /** Look what came of a change that failed: perhaps only its answer was lost. @template T @param {Promise<T>} change @returns {Promise<T>} */
    const seen = (change) => change.catch((error) => {
      read().catch(() => {})
      throw error
    })

    /**
     * @param {any[]} changes as `PATCH /settings` takes them
     * @returns {Promise<any>} the settings afterwards. Rejects with a Failure; after `revision_changed` the next one goes by the new settings.
     */
    async function change(changes) {
      if (!now) await read()
      try {
        take(await routes.change(now.revision, changes))
      } catch (error) {
        if (/** @type {Failure} */ (error).code !== 'revision_changed') throw error
        await read()
        // it was this very change, whose answer was lost
        if (!holds(now.file, changes)) throw Object.assign(/** @type {Error} */ (error), { message: t('host.changed') })
      }
      await app.server.connect()
      return now
    }

    return {
      routes, read, change, seen, app,
      /** null before they were read, or of another server */
      now: () => (base === app.server.api().base ? now : null),
      /** @param {() => void} listener @returns {() => void} ends it */
      listen: (listener) => (listeners.add(listener), () => { listeners.delete(listener) }),
    }
  }

  return { storeOf }
})
