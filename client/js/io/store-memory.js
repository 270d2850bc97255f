// Sessions for as long as the page is open: where the browser has no IndexedDB, or doesn't let this page use it.

yaa.define('io/store-memory', ['core/fold', 'core/session'], ({ fold }, { questionsOf: waiting, titleOf }) => {

  /** @returns {Store} */
  function open() {
    /** @type {Map<string, {session: Session, updated: number, stamp: string, said?: number}>} */
    const kept = new Map()

    /** @param {string} id */
    const copyOf = (id) => structuredClone(kept.get(id)?.session) ?? null

    return {
      kind: 'memory',
      list: async () => {
        return [...kept.values()].map(({ session, updated, said }) => headOf(session, updated, said)).sort(later)
      },
      look: async (id) => ({ stamp: kept.get(id)?.stamp ?? '', keys: [], changes: [] }), // no other tab has them
      post: async () => {},
      get: async (id) => copyOf(id),
      put: async (session, _, { stamp = '', said } = {}) => { kept.set(session.id, { session: structuredClone(session), updated: Date.now(), stamp, said }) },
      append: (id, event) => {
        const entry = kept.get(id)
        if (entry) fold(entry.session, event)
      },
      flush: async () => {},
      delete: async (id) => {
        const session = copyOf(id)
        kept.delete(id)
        return session
      },
      close: () => {},
    }
  }

  /** The latest first. @param {Head} a @param {Head} b */
  const later = (a, b) => (b.said ?? b.updated) - (a.said ?? a.updated)

  /** What a list of sessions shows. @param {Session} session @param {number} updated @param {number} [said] when it was, of one from elsewhere @returns {Head} */
  function headOf(session, updated, said) {
    const { id, status, messages, ext } = session
    const counts = { messages: messages.length, waiting: waiting(session).length }
    return { id, title: titleOf(session), status: status ?? '', updated, ...(said ? { said } : {}), ...counts, pinned: Boolean(ext?.pinned), archived: Number(ext?.archived) || 0, tags: textsIn(ext?.tags) }
  }

  /** @param {any} all @returns {string[]} */
  const textsIn = (all) => (Array.isArray(all) ? all.filter((one) => typeof one === 'string') : [])

  /** A time, 0 for what is none. @param {any} ms */
  const timeIn = (ms) => (Number.isFinite(ms) ? ms : 0)

  /** As much of a stored head as a list can show: one that is damaged must not hide the others. @param {any} head @returns {Head} */
  const readHead = ({ title, updated, said, tags, ...head }) => ({
    ...head, title: typeof title === 'string' ? title : '', updated: timeIn(updated), ...(said ? { said: timeIn(said) } : {}), tags: textsIn(tags),
  })

  return { open, headOf, readHead, later }
})
