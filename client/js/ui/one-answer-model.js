// Another model for one answer: when the run rests and waits for nothing, the session has its own again.

yaa.define('ui/one-answer-model', ['core/session'], (sessions) => {
  /** What each session had before, and what it has for one answer. @type {WeakMap<import('./types').Entry, {before: any, now: any}>} */
  const lent = new WeakMap()
  /** @type {WeakSet<object>} */ const hooked = new WeakSet()

  /** @param {Session} session @param {any} provider undefined takes it out */
  function write(session, provider) {
    const { provider: _, ...api } = session.config?.llm_api ?? {}
    session.config = { ...session.config, llm_api: provider === undefined ? api : { ...api, provider } }
  }

  /**
   * Name the model that the next run of a session uses. Call it before the run begins.
   * @param {import('./types').App['sessionStore']} sessionStore @param {import('./types').Entry} entry
   * @param {string} name of a provider @param {string} model empty for its usual one
   */
  function lend(sessionStore, entry, name, model) {
    if (!hooked.has(sessionStore)) sessionStore.hooks.push({ onStart() {}, onEvent() {}, onRest: (/** @type {import('./types').Entry} */ one) => giveBack(sessionStore, one) })
    hooked.add(sessionStore)
    const before = lent.get(entry)?.before ?? { provider: entry.session.config?.llm_api?.provider }
    const now = { name, ...(model ? { model_name: model } : {}) }
    lent.set(entry, { before, now })
    return sessionStore.amend(entry, (session) => write(session, now))
  }

  /** A model that the person has chosen meanwhile stays. @param {import('./types').App['sessionStore']} sessionStore @param {import('./types').Entry} entry */
  function giveBack(sessionStore, entry) {
    const one = lent.get(entry)
    if (!one || sessions.openInterrupts(entry.session).length) return
    lent.delete(entry)
    sessionStore.amend(entry, (session) => {
      const { name, model_name: model } = session.config?.llm_api?.provider ?? {}
      if (name === one.now.name && model === one.now.model_name) write(session, one.before.provider)
    })
  }

  return { lend }
})
