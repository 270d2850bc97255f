// Runs a transaction of IndexedDB that does not outlive its page. WebKit keeps a page that is left, with its open
// transactions, and the next page would wait for the database. So they are aborted when the page is left, and run again
// when it is back.

yaa.define('io/idb-transaction', [], () => {
  /** What is under way, and how to say that it was undone. @type {Map<IDBTransaction, () => void>} */
  const open = new Map()
  /** Until the page that was left is back. @type {Promise<any> | null} */
  let back = null

  globalThis.addEventListener?.('pagehide', () => {
    back = new Promise((resolve) => addEventListener('pageshow', resolve, { once: true })).then(() => { back = null })
    for (const [transaction, undone] of open) {
      try {
        transaction.abort()
        undone()
      } catch { /* it was committed, and ends without the page */ }
    }
  })

  /**
   * @param {IDBDatabase} database @param {string[]} tables @param {IDBTransactionMode} mode
   * @param {(tables: Record<string, IDBObjectStore>) => IDBRequest[] | void} work begins at once, and may be done again
   * @returns {Promise<any[]>} results of the requests that `work` returns
   */
  async function transact(database, tables, mode, work) {
    for (;;) {
      if (back) await back
      const results = await once(database.transaction(tables, mode, { durability: 'relaxed' }), tables, work)
      if (results) return results
    }
  }

  /**
   * @param {IDBTransaction} transaction @param {string[]} tables @param {(tables: Record<string, IDBObjectStore>) => IDBRequest[] | void} work
   * @returns {Promise<any[] | null>} null if it was undone
   */
  function once(transaction, tables, work) {
    return new Promise((resolve, reject) => {
      /** @type {IDBRequest[]} */ let requests = []
      open.set(transaction, () => resolve(null))
      transaction.oncomplete = () => {
        open.delete(transaction)
        resolve(requests.map((request) => request.result))
      }
      transaction.onabort = () => {
        open.delete(transaction)
        reject(transaction.error)
      }
      requests = work(Object.fromEntries(tables.map((name) => [name, transaction.objectStore(name)]))) ?? []
    })
  }

  /**
   * A database that is opened when it is used, and once more where the browser has closed it under a page that is open for long.
   * @param {string} name @param {(made: IDBDatabase) => any} make its tables
   */
  function lazyDatabase(name, make) {
    /** @type {Promise<IDBDatabase> | null} */ let opened = null
    /** @type {(tables: string[], mode: IDBTransactionMode, work: (tables: Record<string, IDBObjectStore>) => IDBRequest[] | void, again?: boolean) => Promise<any[]>} */
    return async function within(tables, mode, work, again = true) {
      try {
        return await transact(await (opened ??= openDatabase(name, make)), tables, mode, work)
      } catch (error) {
        opened = null
        if (!again) throw error
        return within(tables, mode, work, false)
      }
    }
  }

  /**
   * @param {string} name @param {(made: IDBDatabase) => any} make its tables
   * @param {IDBFactory} [indexedDB] @returns {Promise<IDBDatabase>}
   */
  function openDatabase(name, make, indexedDB = globalThis.indexedDB) {
    return new Promise((resolve, reject) => {
      const request = indexedDB.open(name, 1)
      request.onupgradeneeded = () => make(request.result)
      request.onsuccess = () => resolve(request.result)
      request.onerror = request.onblocked = () => reject(request.error)
    })
  }

  /** @returns {IDBFactory | null} in some browsers even looking at it throws */
  function factory() {
    try {
      return globalThis.indexedDB ?? null
    } catch {
      return null
    }
  }

  return { transact, openDatabase, lazyDatabase, factory }
})
