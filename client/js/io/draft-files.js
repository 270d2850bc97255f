// Files attached to a draft: they outlive a reload, as its text does (io/settings). They have a database of their own; without
// one they last until the page is closed.
//
//   files   draft → {draft, files}

yaa.define('io/draft-files', ['io/idb-transaction'], ({ transact }) => {
  /** @type {Promise<IDBDatabase> | null} */ let opened = null
  /** What this page has kept. @type {Map<string, any[]>} */ const own = new Map()

  /** @returns {Promise<IDBDatabase>} */
  function database() {
    opened ??= new Promise((resolve, reject) => {
      const request = indexedDB.open('yaa-unsent', 1)
      request.onupgradeneeded = () => request.result.createObjectStore('files', { keyPath: 'draft' })
      request.onsuccess = () => resolve(request.result)
      request.onerror = request.onblocked = () => reject(request.error)
    })
    return opened
  }

  /**
   * @param {IDBTransactionMode} mode @param {(files: IDBObjectStore) => IDBRequest} work @param {boolean} [again]
   * @returns {Promise<any>} undefined where nothing can be kept
   */
  async function inFiles(mode, work, again = true) {
    try {
      return (await transact(await database(), ['files'], mode, ({ files }) => [work(files)]))[0]
    } catch {
      opened = null // once more over a new connection: browsers close one under a page that is open for long
      return again ? inFiles(mode, work, false) : undefined
    }
  }

  /** One that begins with ~ leaves no traces. @param {string} draft */
  const isFleeting = (draft) => draft.startsWith('~')

  /** @param {string} draft @param {any[]} all none takes it out */
  async function save(draft, all) {
    own.set(draft, all)
    if (!isFleeting(draft)) await inFiles('readwrite', (files) => {
      const request = all.length ? files.put({ draft, files: all }) : files.delete(draft)
      files.transaction.commit?.() // handed over now: the page may be loaded again before the browser has answered
      return request
    })
  }

  /** @param {string} draft @returns {Promise<any[]>} */
  async function load(draft) {
    const known = own.get(draft)
    if (known || isFleeting(draft)) return known ?? []
    return (await inFiles('readonly', (files) => files.get(draft)))?.files ?? []
  }

  /** Forgets those of drafts that are no more. @param {(draft: string) => boolean} here */
  async function removeUnused(here) {
    const all = await inFiles('readonly', (files) => files.getAllKeys()) ?? []
    for (const draft of all) if (!here(draft)) await save(draft, [])
  }

  return { save, load, removeUnused }
})
