// Files attached to a draft: they outlive a reload, as its text does (io/settings). They have a database of their own; without
// one they last until the page is closed.
//
//   files   draft and tab → {draft: both, files, stamp}: each tab has its own, and finds what a tab has left that is gone.
//           Without a stamp: bare files, which were attached before this script was there (io/settings)

yaa.define('io/draft-files', ['core/ids', 'io/idb-transaction'], ({ uuid }, { lazyDatabase }) => {
  /** What this page has kept. @type {Map<string, any[]>} */ const own = new Map()
  /** Of a draft that another tab has begun: what was found, and where. @type {Map<string, {key: string, stamp: string}>} */ const found = new Map()
  /** Keys of bare files, which the next record of the draft has. @type {Map<string, string[]>} */ const bare = new Map()
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
    const [key, other, taken] = [keyOf(draft), found.get(draft), bare.get(draft) ?? []]
    for (const one of [found, bare]) one.delete(draft)
    await inFiles('readwrite', (files) => {
      const request = all.length ? files.put({ draft: key, files: all, stamp: uuid() }) : files.delete(key)
      const seen = other && files.get(other.key)
      if (seen) seen.onsuccess = () => seen.result?.stamp === other.stamp && files.delete(other.key) // what is newer is that tab's own
      for (const one of taken) files.delete(one)
      if (!seen) files.transaction.commit?.() // handed over now: the page may be loaded again before the browser has answered
      return request
    })
  }

  /** @param {string} draft @returns {Promise<any[]>} */
  async function load(draft) {
    const known = own.get(draft)
    if (isFleeting(draft)) return known ?? []
    const all = (await inFiles('readonly', (files) => files.getAll()) ?? []).filter((/** @type {any} */ one) => draftOf(one.draft) === draft)
    const [tabs, others] = [true, false].map((stamped) => all.filter((/** @type {any} */ { stamp }) => Boolean(stamp) === stamped))
    bare.set(draft, others.map((/** @type {any} */ one) => one.draft))
    const mine = known ? null : tabs.find((/** @type {any} */ one) => one.draft === keyOf(draft)) ?? tabs.at(-1)
    if (mine && mine.draft !== keyOf(draft)) found.set(draft, { key: mine.draft, stamp: mine.stamp })
    return [...known ?? mine?.files ?? [], ...others.flatMap((/** @type {any} */ one) => one.files)]
  }

  /** Forgets those of drafts that are no more. @param {(draft: string) => boolean} here */
  async function removeUnused(here) {
    const all = await inFiles('readonly', (files) => files.getAllKeys()) ?? []
    for (const key of all) if (!here(draftOf(key))) await inFiles('readwrite', (files) => files.delete(key))
  }

  return { save, load, removeUnused }
})
