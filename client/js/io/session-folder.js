// Writes sessions as files into a folder of the person's after each change (Chromium's File System Access). The handle has a
// database of its own; after a restart the browser may ask again.

yaa.define('io/session-folder', ['core/backup', 'io/idb-transaction'], ({ fileName }, { transact, openDatabase }) => {
  const DATABASE = 'yaa-folder'

  /** @param {{indexedDB?: IDBFactory}} [options] */
  function open({ indexedDB: given } = {}) {
    /** @type {any} a FileSystemDirectoryHandle */
    let folder = null
    /** Writes follow one another: two of the same file would undo each other. */
    let turn = Promise.resolve()
    /** @type {Map<string, string>} names of the files that this page has written, by session */
    const names = new Map()

    /** @param {IDBTransactionMode} mode @param {(store: IDBObjectStore) => IDBRequest} work @returns {Promise<any>} */
    async function keep(mode, work) {
      const database = await openDatabase(DATABASE, (made) => made.createObjectStore('handles'), given)
      try {
        return (await transact(database, ['handles'], mode, ({ handles }) => [work(handles)]))[0]
      } finally {
        database.close()
      }
    }

    /** @param {any} handle */
    async function use(handle) {
      folder = handle
      names.clear()
      await keep('readwrite', (store) => (handle ? store.put(handle, 'folder') : store.delete('folder')))
    }

    /** What is known of it: `none`, `ready`, or `ask`: it was chosen before, and the browser has to be asked again. */
    async function state() {
      folder ??= await keep('readonly', (store) => store.get('folder')).catch(() => null)
      if (!folder) return { state: 'none', name: '' }
      const granted = await folder.queryPermission?.({ mode: 'readwrite' }) ?? 'granted'
      return { state: granted === 'granted' ? 'ready' : 'ask', name: folder.name }
    }

    /** Within a click: the browser shows its own dialog. @returns {Promise<boolean>} */
    async function choose() {
      const handle = await /** @type {any} */ (globalThis).showDirectoryPicker({ id: 'yaa', mode: 'readwrite' }).catch(() => null)
      if (handle) await use(handle)
      return handle !== null
    }

    /** Within a click. */
    const ask = async () => (await folder?.requestPermission({ mode: 'readwrite' })) === 'granted'

    /** @param {Session} session @returns {Promise<void>} */
    function write(session) {
      turn = turn.catch(() => {}).then(async () => {
        if ((await state()).state !== 'ready') return
        const [name, text] = [fileName(session), `${JSON.stringify(session, null, 2)}\n`]
        const file = await folder.getFileHandle(name, { create: true })
        const stream = await file.createWritable() // the old file stays until the new one is whole
        await stream.write(text)
        await stream.close()
        if (names.get(session.id) !== name) await dropOlder(session.id, name)
        names.set(session.id, name)
      })
      return turn
    }

    /** A new title is a new name: the file of the old one goes, also if a page that is closed has written it. @param {string} id @param {string} name */
    async function dropOlder(id, name) {
      const end = name.slice(name.indexOf('.'))
      for await (const other of folder.keys()) if (other !== name && other.endsWith(end) && await idIn(other) === id) await folder.removeEntry(other)
    }

    /** @param {string} name of a file */
    async function idIn(name) {
      const file = await folder.getFileHandle(name).then((/** @type {any} */ handle) => handle.getFile())
      return file.text().then(JSON.parse).then((/** @type {any} */ session) => session?.id, () => null)
    }

    return { possible: 'showDirectoryPicker' in globalThis, state, choose, ask, use, write, forget: () => use(null) }
  }

  return { open }
})
