// Copies sessions from an older storage layout, each of which has a database of its own, in one transaction. The old one stays
// until the new one was opened once more, so a page that dies half-way loses nothing.

yaa.define('io/store-migration', [], () => {
  const TABLES = ['heads', 'bodies', 'events']
  /** Beside the bodies of sessions, whose ids are never empty: how often this layout has been opened. */
  const MARK = ''

  /** @param {string} name @param {number} layout */
  const nameOf = (name, layout) => (layout === 1 ? name : `${name}.${layout}`)

  /**
   * @param {IDBDatabase} to @param {{name: string, layout: number, indexedDB: IDBFactory, convert: (table: string, record: any) => any,
   *   names?: () => Promise<string[]>}} options `convert`: a record as it is in the new layout; null leaves it out
   * @returns {Promise<number>} sessions that were copied
   */
  async function migrate(to, { name, layout, indexedDB, convert, names = () => namesIn(indexedDB) }) {
    const there = await names()
    const older = Array.from({ length: layout - 1 }, (_, i) => nameOf(name, layout - 1 - i)).filter((one) => there.includes(one))
    const mark = (await read(to, 'bodies')).find((record) => record.id === MARK)
    if (mark) {
      for (const old of older) indexedDB.deleteDatabase(old)
      return 0
    }
    const from = older.length ? await opened(indexedDB.open(older[0])) : null
    const found = from ? await Promise.all(TABLES.map((table) => read(from, table))) : [[], [], []]
    from?.close()
    await write(to, found.map((records, i) => records.map((record) => convert(TABLES[i], record)).filter((record) => record !== null)))
    return found[0].length
  }

  /** @param {IDBDatabase} to @param {any[][]} tables */
  function write(to, tables) {
    return new Promise((resolve, reject) => {
      const transaction = to.transaction(TABLES, 'readwrite') // all or nothing
      tables.forEach((records, i) => records.forEach((record) => transaction.objectStore(TABLES[i]).put(record)))
      transaction.objectStore('bodies').put({ id: MARK })
      transaction.oncomplete = () => resolve(undefined)
      transaction.onabort = transaction.onerror = () => reject(transaction.error)
    })
  }

  /** @param {IDBDatabase} database @param {string} table @returns {Promise<any[]>} */
  const read = (database, table) => opened(database.transaction([table], 'readonly').objectStore(table).getAll())

  /** @param {IDBRequest} request @returns {Promise<any>} */
  function opened(request) {
    return new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result)
      request.onerror = () => reject(request.error)
    })
  }

  /** @param {IDBFactory} indexedDB */
  async function namesIn(indexedDB) {
    return (await indexedDB.databases()).map(({ name }) => name ?? '')
  }

  return { nameOf, migrate }
})
