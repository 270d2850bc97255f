// The list of kept sessions, as far as a person has scrolled: read again now and then, for nobody says that it has changed.

yaa.define('ext/keeper/list', ['ui/i18n', 'ext/keeper/rules', 'ext/keeper/runs', 'ext/keeper/texts'], ({ t }, rules, runs) => {
  const PAGE = 50
  /** Between two looks: while the page is seen, and while it is not. */
  const [SEEN_MS, HIDDEN_MS] = [10_000, 60_000]
  /** So near to its end the list goes on. */
  const NEAR_PX = 400

  /** @param {import('../../ui/types').App} app @param {(rows: any[]) => void} onAsking rows that ask something now @param {() => boolean} isUsual are new sessions kept? */
  function listOf(app, onAsking, isUsual) {
    const { server, sessionStore } = app
    /** @type {any[]} */ let rows = []
    let [next, from, pages] = ['', '', 1]
    /** @type {any} */ let timer = 0
    /** @type {Promise<void> | null} */ let reading = null
    const words = { sign: /** @type {[string, string, string]} */ (['', '', '']), unusable: (/** @type {any} */ { problem }) => t('keep.unusable', { detail: problem }) }

    const isPossible = () => Boolean(server.info()?.keeper && server.state().ok)

    /** @param {string} [before] @returns {Promise<{sessions: any[], next: string}>} */
    const ask = (before = '') => server.api().ask(`/keeper/sessions?${new URLSearchParams({ limit: String(PAGE), ...(before ? { before } : {}) })}`, { retry: false })

    /** Read it as far as it is shown. */
    async function read() {
      const { base, key } = server.api()
      if (from !== base + key) [rows, from, pages, next] = [[], base + key, 1, '']
      /** @type {any[]} */ let found = []
      let place = ''
      for (let n = 0; n < pages; n++) {
        const page = await ask(place)
        found = [...found, ...page.sessions]
        place = page.next
        if (!place) break
      }
      const asking = rules.newlyAsking(rows, found)
      const known = runs.records()
      for (const { id } of found) if (known[id]?.gone && known[id].base === base) runs.note(id, { gone: false })
      const isNew = JSON.stringify(found) !== JSON.stringify(rows);
      [rows, next] = [found, place]
      if (isNew) app.draw()
      onAsking(asking)
    }

    /** Look now, and again later. */
    function look() {
      clearTimeout(timer)
      timer = setTimeout(() => { if (rows.length || isUsual() || Object.keys(records()).length) look() }, document.hidden ? HIDDEN_MS : SEEN_MS)
      if (isPossible()) reading ??= read().catch(() => {}).finally(() => { reading = null })
      return reading
    }

    /** @param {Event} event */
    function onScroll({ target }) {
      const place = /** @type {any} */ (target)
      if (!next || reading || !place.matches?.('.side-list') || place.scrollHeight - place.scrollTop - place.clientHeight > NEAR_PX) return
      pages += 1
      look()
    }

    /** Of what this server keeps. */
    const records = () => Object.fromEntries(Object.entries(runs.records()).filter(([, record]) => record.base === server.api().base && !record.gone))

    /** @param {Head[]} heads */
    function shown(heads) {
      if (!isPossible() && !rows.length) return heads
      const { base, key } = server.api()
      words.sign = [t('keep.sign'), t('keep.signTitle'), '.quiet']
      const isOpen = (/** @type {string} */ id) => id === app.current.session.id || Boolean(sessionStore.entry(id)?.going)
      return rules.merged(heads, { rows: from === base + key ? rows : [], records: records(), isOpen, words })
    }

    document.addEventListener('scroll', onScroll, { capture: true, passive: true })
    document.addEventListener('visibilitychange', () => { if (!document.hidden) look() })
    return { look, shown, row: (/** @type {string} */ id) => rows.find((row) => row.id === id), isPossible }
  }

  return { listOf }
})
