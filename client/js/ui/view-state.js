// The state that all views are drawn from, composed from settings, server and sessions for each drawing.

yaa.define('ui/view-state', ['ui/i18n', 'ui/session-store', 'ui/server-state', 'ui/status-line', 'core/session'], (
  { t, language, moment }, { isBusy }, { modelsOf, agentsOf }, { statusLine, markOf }, sessions,
) => {
  const NARROW = matchMedia('(max-width: 48rem)')

  /**
   * @param {import('./types').App} app
   * @param {boolean} whole else only what the thread shows: an answer streams in, and this is made for each frame of it
   * @returns {import('./types').State}
   */
  function stateOf(app, whole) {
    const { current, past } = app
    const session = past ?? current.session
    const live = !past && isBusy(current)
    // at an earlier moment an answer was being written, and not cut off
    const writing = past ? past.status === 'in_progress' : live || current.elsewhere
    const items = sessions.items(whole ? session : lastTurn(session), { live: writing, given: current.given })
    const thread = { session, live, whole, items, outputs: current.run?.output ?? new Map() }
    return /** @type {import('./types').State} */ (whole ? { ...thread, ...around(app, session, live) } : thread)
  }

  /** @param {import('./types').App} app @param {Session} session @param {boolean} live */
  function around({ settings, server, sessionStore, current, queue }, session, live) {
    const info = server.info()
    const said = session.config?.llm_api?.provider ?? settings.get('config')?.llm_api?.provider
      ?? { name: settings.get('provider') || 'auto', model_name: settings.get('model') }
    const provider = said.api_url || said.preset || said.name || 'auto'
    const models = modelsOf(info, { ...said, name: provider })
    if (provider !== 'auto' && models.every((one) => one.name !== provider)) models.push({ name: provider, label: said.model_name || provider, demo: false })
    return {
      models, provider, ...agentsOf(info, session.agent, settings.get('agent')),
      // a fresh branch has not been cut off: it waits for the person (ui/message-actions)
      line: sessions.treeOf(session).active?.fresh && !live ? null : statusLine(current),
      title: sessions.titleOf(session) || t('session.untitled'), queue: queue.of(session),
      server: server.state(),
      sideOpen: !NARROW.matches && settings.get('side') !== 'closed',
      sessions: apart(sessionStore.listed().map((head) => rowOf(head, session.id, sessionStore.entry(head.id)))),
      demo: Boolean((models.find((one) => one.name === provider) ?? models[0])?.demo),
      info,
      onDisk: !settings.canRememberSafely,
      settings: { ...settings.all(), url: settings.base(), key: settings.key(), remember: settings.remembers() },
    }
  }

  /** The part of a session that a run writes to. @param {Session} session @returns {Session} */
  function lastTurn(session) {
    const start = session.messages.findLastIndex((message) => message.role === 'user')
    return { ...session, messages: session.messages.slice(Math.max(0, start)) }
  }

  /** @param {Head} head @param {string} current @param {import('./types').Entry | undefined} entry */
  function rowOf(head, current, entry) {
    const mark = head.mark ?? (entry ? markOf(entry) : head.waiting ? 'asking' : '')
    const badge = head.badge ?? (entry?.session.ext?.temporary ? [t('side.temporary'), t('side.temporaryNote')] : null)
    const labels = { pinned: Boolean(head.pinned), tags: head.tags, archived: Boolean(head.archived), badge, note: head.note }
    return { id: head.id, title: entry?.session.title || head.title || t('session.untitled'), updated: head.said ?? head.updated, current: head.id === current, mark, ...labels }
  }

  /** What `moment` said, of one day in one language: it takes long for thousands. @type {Map<number, string>} */ const times = new Map()
  let timesOf = ''

  /** @param {number} ms */
  function timeOf(ms) {
    const now = `${language()} ${new Date().toDateString()}`
    if (now !== timesOf) times.clear()
    timesOf = now
    const known = times.get(ms) ?? moment(ms)
    times.set(ms, known)
    return known
  }

  /**
   * Rows of the same name say when each was, and which of several in that minute.
   * @template {{title: string, updated: number}} T @param {T[]} rows the newest first @returns {(T & {when: string})[]}
   */
  function apart(rows) {
    /** @type {Map<string, number>} */ const seen = new Map()
    const count = (/** @type {string} */ key) => seen.set(key, (seen.get(key) ?? 0) + 1).get(key) ?? 0
    for (const { title } of rows) count(title)
    const timed = rows.map((row) => ({ ...row, when: Number(seen.get(row.title)) > 1 ? timeOf(row.updated) : '' }))
    for (const { title, when } of timed) count(`${title}\n${when}`)
    return timed.reverse().map((row) => {
      const key = `${row.title}\n${row.when}`
      return row.when && Number(seen.get(key)) > 1 ? { ...row, when: `${row.when} · ${count(`${key}\n`)}` } : row
    }).reverse()
  }

  return { stateOf, NARROW }
})
