// Follows the kept session that is looked at, while this page does not run it: what other devices change is taken over, and a run
// that begins there goes on here as one of this page.

yaa.define('ext/keeper/follow', ['core/fold', 'io/api', 'ext/keeper/rules', 'ext/keeper/runs'], ({ fold }, { pause }, rules, runs) => {
  const PAUSES_MS = [500, 2000, 5000, 15_000]
  /** A stream that said nothing for so many of its heartbeats is gone. */
  const MISSED = 3
  const SILENCE_MS = 45_000

  /** @param {import('../../ui/types').App} app @param {any} sync ext/keeper/sync */
  function followerOf(app, sync) {
    const { sessionStore, server } = app
    /** What is followed. @type {{id: string, api: Api, control: AbortController} | null} */ let now = null

    /** Follow what is looked at, and nothing else: browsers open few connections. */
    function look() {
      const [entry, api] = [app.current, server.api()]
      const { id } = entry.session
      const wanted = document.visibilityState === 'visible' && !entry.going && !entry.elsewhere && runs.keptAt(id, api)?.revision && server.info()?.keeper
      if (now && (!wanted || now.id !== id || now.api !== api)) {
        now.control.abort()
        runs.relink(now.id, { live: false })
        now = null
      }
      if (!wanted || now) return
      now = { id, api, control: new AbortController() }
      follow(entry, now)
    }

    /** @param {import('../../ui/types').Entry} entry @param {NonNullable<typeof now>} own */
    async function follow(entry, own) {
      const { signal } = own.control
      for (let n = 0; !signal.aborted; n++) {
        try {
          await sync.push(own.id)
          if (await listen(entry, own, () => { n = 0 })) break
        } catch (error) {
          if (signal.aborted) break
          if (/** @type {any} */ (error).code === 'not_found') sync.leave(own.id)
          if (!runs.keptAt(own.id, own.api)) break
        }
        runs.relink(own.id, { live: false })
        await pause(PAUSES_MS[Math.min(n, PAUSES_MS.length - 1)], signal)
      }
      if (now === own) now = null
    }

    /**
     * @param {import('../../ui/types').Entry} entry @param {NonNullable<typeof now>} own @param {() => void} onSign
     * @returns {Promise<boolean>} true: it runs, and this page follows the run
     */
    async function listen(entry, { id, api, control }, onSign) {
      const record = runs.keptAt(id, api)
      const silent = new AbortController()
      const signal = AbortSignal.any([control.signal, silent.signal])
      const response = await runs.events(api, id, record?.stale ? '' : rules.AT_REST + record?.revision, signal)
      const beat_ms = Number(response.headers.get('X-Heartbeat')) * 1000
      /** @type {any} */ let timer = 0
      /** @type {Session | null} */ let whole = null
      let last = ''
      try {
        for await (const frames of runs.framesOf(response, () => {
          clearTimeout(timer)
          timer = setTimeout(() => silent.abort(), beat_ms > 0 ? beat_ms * MISSED : SILENCE_MS)
        })) {
          onSign()
          for (const frame of frames) {
            const { id: at, event } = frame
            if (event.name !== rules.SIGN && !at.startsWith('document/')) return attach(entry, last)
            if (event.name !== rules.SIGN) {
              whole ??= /** @type {any} */ ({})
              fold(/** @type {Session} */ (whole), event)
              continue
            }
            last = at
            const revision = at.startsWith(rules.AT_REST) ? at.slice(rules.AT_REST.length) : ''
            runs.relink(id, { sign: event.value, live: !event.value.running })
            if (event.value.branch) sync.moved(entry, event.value.branch)
            if (whole) await sync.install(id, whole, revision)
            whole = null
            if (event.value.running) return attach(entry, last)
            app.draw()
          }
        }
      } finally {
        clearTimeout(timer)
      }
      return false
    }

    /** @param {import('../../ui/types').Entry} entry @param {string} last the id of the frame that it is at */
    function attach(entry, last) {
      const { id } = entry.session
      if (entry.going) return true
      runs.note(id, { stale: true, unbegun: false, said: rules.saidIn(entry.session) })
      runs.relink(id, { last, following: true, held: null })
      entry.watched = true
      sessionStore.retry(entry)
      return true
    }

    document.addEventListener('visibilitychange', look)
    addEventListener('online', look)
    return { look }
  }

  return { followerOf }
})
