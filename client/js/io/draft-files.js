// Files attached to a draft: they outlive a reload, as its text does (io/settings). They have a database of their own; without
// one they last until the page is closed.
//
//   files   draft and tab → {draft: both, files, stamp}: each tab has its own, and finds what a tab has left that is gone

yaa.define('io/draft-files', ['core/ids', 'io/idb-transaction'], ({ uuid }, { lazyDatabase }) => {
  /** What this page has kept. @type {Map<string, any[]>} */ const own = new Map()
  /** Of a draft that another tab has begun: what was found, and where. @type {Map<string, {key: string, stamp: string}>} */ const found = new Map()
  const TAB = 'yaa.files'
  /** Of this tab, over a reload. */ let tab = ''

  const database = lazyDatabase('yaa-unsent', (made) => made.createObjectStore('files', { keyPath: 'draft' }))

  /** @param {IDBTransactionMode} mode @param {(files: IDBObjectStore) => IDBRequest} work @returns {Promise<any>} undefined where nothing can be kept */
  const inFiles = async (mode, work) => (await database(['files'], mode, ({ files }) => [work(files)]).catch(() => []))[0]

  /** One that begins with ~ leaves no traces. @param {string} draft */
  const isFleeting = (draft) => draft.startsWith('~')

  /** @param {string} draft */
  function keyOf(draft) {
    try {
      tab ||= sessionStorage.getItem(TAB) ?? uuid()
      sessionStorage.setItem(TAB, tab)
    } catch { // nothing may be stored
      tab ||= uuid()
    }
    return `${draft} ${tab}`
  }

  /** @param {string} key */
  const draftOf = (key) => key.replace(/ [^ ]*$/, '')

  /** @param {string} draft @param {any[]} all none takes it out */
  async function save(draft, all) {
    own.set(draft, all)
    if (isFleeting(draft)) return
    const [key, other] = [keyOf(draft), found.get(draft)]
    found.delete(draft)
    await inFiles('readwrite', (files) => {
      const request = all.length ? files.put({ draft: key, files: all, stamp: uuid() }) : files.delete(key)
      const seen = other && files.get(other.key)
      if (seen) seen.onsuccess = () => seen.result?.stamp === other.stamp && files.delete(other.key) // what is newer is that tab's own
      else files.transaction.commit?.() // handed over now: the page may be loaded again before the browser has answered
      return request
    })
  }

  /** @param {string} draft @returns {Promise<any[]>} */
  async function load(draft) {
    const known = own.get(draft)
    if (known || isFleeting(draft)) return known ?? []
    const all = (await inFiles('readonly', (files) => files.getAllKeys()) ?? []).filter((/** @type {string} */ key) => draftOf(key) === draft)
    const key = all.includes(keyOf(draft)) ? keyOf(draft) : all.at(-1)
    if (!key) return []
    const { files = [], stamp } = await inFiles('readonly', (files) => files.get(key)) ?? {}
    if (key !== keyOf(draft)) found.set(draft, { key, stamp })
    return files
  }

  /** Forgets those of drafts that are no more. @param {(draft: string) => boolean} here */
  async function removeUnused(here) {
    const all = await inFiles('readonly', (files) => files.getAllKeys()) ?? []
    for (const key of all) if (!here(draftOf(key))) await inFiles('readwrite', (files) => files.delete(key))
  }

  return { save, load, removeUnused }
})
