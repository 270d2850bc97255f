// The contents of a session's files, beside the session: so that it can go on at a server that has none of them. They have
// a database of their own; without one, and for a session that is not stored, they last until the page is closed.
//
//   objects   sha256 → {sha256, bytes}        sessions  id → {id, objects[], bytes, left}

yaa.define('ext/files/kept-objects', ['io/idb-transaction'], ({ lazyDatabase }) => {
  /** Of sessions that are not stored. @type {Map<string, KeptObjects>} */ const held = new Map()
  /** @type {Map<string, ArrayBuffer>} */ const here = new Map()

  const database = lazyDatabase('yaa-objects', (made) => {
    made.createObjectStore('objects', { keyPath: 'sha256' })
    made.createObjectStore('sessions', { keyPath: 'id' })
  })

  /**
   * @param {IDBTransactionMode} mode @param {(tables: Record<string, IDBObjectStore>) => IDBRequest[]} work
   * @returns {Promise<any[]>} its results; none where nothing can be kept
   */
  const within = (mode, work) => database(['objects', 'sessions'], mode, work).catch(() => [])

  /**
   * Keep what a session has now, in the place of what was kept for it.
   * @param {string} id @param {KeptObjects} found @param {Map<string, ArrayBuffer>} bytes those of its objects that are new
   */
  async function save(id, { objects, bytes: total, left }, bytes) {
    await within('readwrite', (tables) => [
      ...[...bytes].map(([sha256, content]) => tables.objects.put({ sha256, bytes: content })),
      tables.sessions.put({ id, objects, bytes: total, left }),
    ])
    await drop()
  }

  /** For as long as the page is open. @param {string} id @param {Map<string, ArrayBuffer>} bytes */
  function hold(id, bytes) {
    for (const [hash, content] of bytes) here.set(hash, content)
    held.set(id, { objects: [...bytes.keys()], bytes: [...bytes.values()].reduce((sum, one) => sum + one.byteLength, 0), left: { count: 0, bytes: 0 } })
  }

  /** @param {string} id @returns {Promise<KeptObjects | null>} null: nothing is kept */
  const of = async (id) => held.get(id) ?? (await within('readonly', ({ sessions }) => [sessions.get(id)]))[0] ?? null

  /** @param {string} hash @returns {Promise<ArrayBuffer | null>} */
  const get = async (hash) => here.get(hash) ?? (await within('readonly', ({ objects }) => [objects.get(hash)]))[0]?.bytes ?? null

  /** @param {string} id */
  async function remove(id) {
    held.delete(id)
    await within('readwrite', ({ sessions }) => [sessions.delete(id)])
    await drop()
  }

  /** Forgets those of sessions that are no more. @param {Set<string>} sessions */
  async function removeUnused(sessions) {
    const [all = []] = await within('readonly', (tables) => [tables.sessions.getAllKeys()])
    const gone = all.filter((/** @type {string} */ id) => !sessions.has(id))
    if (!gone.length) return
    await within('readwrite', (tables) => gone.map((/** @type {string} */ id) => tables.sessions.delete(id)))
    await drop()
  }

  /** Deletes the objects that no session names. */
  async function drop() {
    const [sessions = [], keys = []] = await within('readonly', (tables) => [tables.sessions.getAll(), tables.objects.getAllKeys()])
    const wanted = new Set(sessions.flatMap((/** @type {KeptObjects} */ one) => one.objects))
    const unused = keys.filter((/** @type {string} */ hash) => !wanted.has(hash))
    if (unused.length) await within('readwrite', ({ objects }) => unused.map((/** @type {string} */ hash) => objects.delete(hash)))
  }

  return { save, hold, of, get, remove, removeUnused }
})
