// Stores the events of runs for the time slider. The session is complete without them, so they have a database of their own,
// the oldest are removed first, and failures are ignored.
//
//   runs    [session, run] → {session, run, at, recording}

yaa.define('ext/time/event-log', ['ext/time/event-recording', 'io/idb-transaction'], ({ pack }, { lazyDatabase }) => {
  /** Runs kept on this device. */
  const MOST_RUNS = 400

  const database = lazyDatabase('yaa-runs', (made) => made.createObjectStore('runs', { keyPath: ['session', 'run'] }).createIndex('at', 'at'))

  /** @param {IDBTransactionMode} mode @param {(runs: IDBObjectStore) => IDBRequest | void} work @returns {Promise<any>} */
  const inRuns = async (mode, work) => (await database(['runs'], mode, ({ runs }) => [work(runs)].filter((one) => !!one)))[0]

  /** @param {string} session @param {string} run @param {{at: number, event: YaaEvent}[]} seen */
  async function save(session, run, seen) {
    const at = seen[0]?.at ?? 0
    await inRuns('readwrite', (runs) => {
      runs.put({ session, run: run || String(at), at, recording: pack(run, seen) })
      const count = runs.count()
      count.onsuccess = () => dropOldest(runs, count.result - MOST_RUNS)
    })
  }

  /** @param {IDBObjectStore} runs @param {number} many */
  function dropOldest(runs, many) {
    if (many <= 0) return
    const cursor = runs.index('at').openCursor()
    let left = many
    cursor.onsuccess = () => {
      if (!cursor.result || !left) return
      left -= 1
      cursor.result.delete()
      cursor.result.continue()
    }
  }

  /** @param {string} session @returns {Promise<Recording[]>} oldest first; none where nothing can be read */
  async function load(session) {
    try {
      const all = await inRuns('readonly', (runs) => runs.getAll(rangeOf(session)))
      return all.sort((/** @type {any} */ a, /** @type {any} */ b) => a.at - b.at).map((/** @type {any} */ one) => one.recording)
    } catch {
      return []
    }
  }

  /** @param {string} session */
  const remove = (session) => inRuns('readwrite', (runs) => runs.delete(rangeOf(session))).catch(() => {})

  /** Forget the runs of sessions that are no longer here; where none is, they may not have been read. @param {Set<string>} here ids */
  async function removeUnused(here) {
    if (!here.size) return
    const keys = await inRuns('readonly', (runs) => runs.getAllKeys())
    const gone = new Set(keys.map((/** @type {[string, string]} */ key) => key[0]).filter((/** @type {string} */ id) => !here.has(id)))
    for (const id of gone) await remove(id)
  }

  const clear = () => inRuns('readwrite', (runs) => runs.clear())

  /** @param {string} session */
  const rangeOf = (session) => IDBKeyRange.bound([session], [session, []])

  return { save, load, remove, removeUnused, clear }
})
