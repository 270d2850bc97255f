// Sessions in IndexedDB. A session is a snapshot and the events since, folded when it is read: while a run is on,
// only events are written, those that came together in one transaction. A snapshot replaces both.
//
//   heads   id → what the list shows        bodies  id → {session, marks}        events  n → {id, events[]}
//
// The rule of the file: what fails is reported once through `onError`, and stops neither the run it belongs to nor what
// is done with other sessions.

yaa.define('io/store-idb', ['core/fold', 'core/session', 'io/store-memory', 'io/idb-transaction'], ({ fold }, { applyMarks }, memory, { transact }) => {
  const VERSION = 1
  /** Of what is stored: another one gets another database, and io/store-migration copies into it. */
  const LAYOUT = 1
  const TABLES = ['heads', 'bodies', 'events']
  /** Writes on their way at the same time; what comes in beyond them is written together when one has arrived. */
  const AT_ONCE = 8
  const LATER = 'later ' // in front of the id
  const ENDS = new Set(['RUN_FINISHED', 'RUN_ERROR'])

  /**
   * @param {StoreOptions} [options] @returns {Promise<Store>} in memory if there is no other
   */
  async function open({ name = 'yaa', indexedDB: given, onError = () => {}, makeRoom = async () => {}, layout = LAYOUT, convert = same, names } = {}) {
    try {
      const indexedDB = given ?? globalThis.indexedDB // in some browsers even looking at it throws
      const connect = () => openDatabase(indexedDB, layout === 1 ? name : `${name}.${layout}`)
      const database = await connect()
      if (layout > 1) {
        await yaa.load('migrate')
        await yaa.use('io/store-migration').migrate(database, { name, layout, indexedDB, convert, names })
      }
      return storeOf(database, connect, onError, makeRoom)
    } catch (error) {
      const trouble = /** @type {StoreError} */ ({ code: isNewer(error) ? 'newer' : 'blocked', message: messageOf(error) })
      onError(trouble)
      return { ...memory.open(), trouble }
    }
  }

  /** @param {string} _table @param {any} record */
  const same = (_table, record) => record

  /** @param {IDBFactory} indexedDB @param {string} name @returns {Promise<IDBDatabase>} */
  function openDatabase(indexedDB, name) {
    const request = indexedDB.open(name, VERSION)
    request.onupgradeneeded = () => {
      const database = request.result
      database.createObjectStore('heads', { keyPath: 'id' })
      database.createObjectStore('bodies', { keyPath: 'id' })
      database.createObjectStore('events', { autoIncrement: true }).createIndex('id', 'id')
    }
    return new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result)
      request.onerror = () => reject(request.error)
      request.onblocked = () => reject(new Error('Another tab keeps an older version of the storage open. Close it and reload.'))
    })
  }

  /**
   * @param {IDBDatabase} database @param {() => Promise<IDBDatabase>} connect @param {(error: StoreError) => void} onError
   * @param {() => Promise<any>} makeRoom @returns {Store}
   */
  function storeOf(database, connect, onError, makeRoom) {
    /** @type {Map<string, YaaEvent[]>} not written yet */
    let pending = new Map()
    let due = false
    let writing = 0
    /** What is stored belongs to a newer page. */
    let over = false
    /** @type {Promise<void> | null} */ let connecting = null
    /** Other writes wait, or they would overtake. @type {Promise<any> | null} */ let room = null
    adopt(database)

    /** @param {IDBDatabase} next */
    function adopt(next) {
      if (next !== database) database.close() // what failed may have had another reason
      database = next
      database.onversionchange = () => {
        over = true
        database.close()
      }
    }

    /**
     * Once more over a new connection: browsers close one under a page that is open for long, WebKit above all.
     * @param {IDBTransactionMode} mode @param {(tables: Record<string, IDBObjectStore>) => IDBRequest[] | void} work
     */
    async function within(mode, work) {
      const used = database
      try {
        return await transact(used, TABLES, mode, work)
      } catch (error) {
        if (over || isFull(error)) throw error
        if (used === database) await (connecting ??= connect().then(adopt).finally(() => { connecting = null }))
        return transact(database, TABLES, mode, work)
      }
    }

    /** @param {(tables: Record<string, IDBObjectStore>) => void} work */
    async function write(work) {
      try {
        if (room) await room
        await within('readwrite', work).catch(async (error) => {
          if (!isFull(error)) throw error
          await (room ??= makeRoom().catch(() => {}).then(() => { room = null }))
          await within('readwrite', work)
        })
        return true
      } catch (error) {
        report(error, 'failed')
        return false
      }
    }

    /** @param {any} error @param {StoreError['code']} code where it is of no kind of its own */
    const report = (error, code) => onError({ code: isFull(error) ? 'quota' : over || isNewer(error) ? 'newer' : code, message: messageOf(error) })

    /** It rejects where the list cannot be read: that is not the same as that there is nothing. */
    async function list() {
      const [heads] = await within('readonly', ({ heads }) => [heads.getAll()]).catch((error) => {
        report(error, 'unread')
        throw error
      })
      return heads.map(memory.readHead).sort(memory.later)
    }

    /**
     * @param {string} id
     * @returns {Promise<Session | null>} as it is known to be: what may have run counts as started
     */
    async function get(id) {
      await flush()
      return read(id).catch((error) => {
        report(error, 'unread')
        return null
      })
    }

    /** @param {string} id @returns {Promise<Session | null>} */
    async function read(id) {
      const [body, batches] = await within('readonly', ({ bodies, events }) => [bodies.get(id), events.index('id').getAll(id)])
      if (!body) return null
      const records = batches.flatMap((/** @type {any} */ batch) => batch?.events)
      const damaged = records.findIndex((/** @type {any} */ event) => typeof event?.type !== 'string')
      /** @type {YaaEvent[]} */
      const events = damaged < 0 ? records : records.slice(0, damaged)
      for (const event of events) fold(body.session, event)
      if (damaged >= 0) onError({ code: 'damaged', message: body.session.title || id })
      return events.some((event) => ENDS.has(event.type)) ? body.session : applyMarks(body.session, body.marks)
    }

    /** @type {Store['put']} */
    async function put(session, marks = {}, { stamp = '', taken = [], said } = {}) {
      const { id } = session
      pending.delete(id)
      return write(({ heads, bodies, events }) => {
        heads.put({ ...memory.headOf(session, Date.now(), said), stamp })
        bodies.put({ id, session, marks })
        for (const key of taken) events.delete(key)
        dropEvents(events, id)
      })
    }

    /** @type {Store['look']} */
    async function look(id) {
      await flush()
      const [head, keys, batches] = await within('readonly', ({ heads, events }) => [heads.get(id), events.index('id').getAllKeys(LATER + id), events.index('id').getAll(LATER + id)])
      return { stamp: String(head?.stamp || head?.updated || ''), keys, changes: batches.flatMap((/** @type {any} */ batch) => batch.events) }
    }

    /** @param {string} id @param {any} event */
    function append(id, event) {
      const batch = pending.get(id)
      if (batch) batch.push(event)
      else pending.set(id, [event])
      if (due || writing >= AT_ONCE) return
      due = true
      queueMicrotask(() => { // the events that one piece of the stream brought go together
        due = false
        flush()
      })
    }

    /** @type {Store['post']} */
    function post(id, changes) {
      for (const one of changes) append(LATER + id, one)
      return flush()
    }

    /** @returns {Promise<boolean>} false: something was not written */
    async function flush() {
      if (!pending.size) return true
      const batches = pending
      pending = new Map()
      writing += 1
      const done = await write(({ events }) => {
        batches.forEach((batch, id) => events.add({ id, events: batch }))
        events.transaction.commit?.() // handed over now, not when the browser has answered: the page may be killed before
      })
      writing -= 1
      return await flush() && done
    }

    /** @param {string} id */
    async function remove(id) {
      const session = await get(id)
      pending.delete(id)
      await write(({ heads, bodies, events }) => {
        heads.delete(id)
        bodies.delete(id)
        dropEvents(events, id, LATER + id)
      })
      return session
    }

    function close() {
      flush()
      globalThis.removeEventListener?.('pagehide', flush, true)
      globalThis.document?.removeEventListener('visibilitychange', flush)
      database.close()
    }

    // the last moments in which a page that is left may still write: before io/idb-transaction hears of it
    globalThis.addEventListener?.('pagehide', flush, true)
    globalThis.document?.addEventListener('visibilitychange', flush)
    return { kind: 'idb', list, look, post, get, put, append, flush, delete: remove, close }
  }

  /** @param {IDBObjectStore} events @param {string[]} ids */
  function dropEvents(events, ...ids) {
    for (const id of ids) {
      const keys = events.index('id').getAllKeys(id)
      keys.onsuccess = () => {
        keys.result.forEach((key) => events.delete(key))
        if (id === ids.at(-1)) events.transaction.commit?.()
      }
    }
  }

  /** The storage was written by a newer page. @param {any} error */
  const isNewer = (error) => error?.name === 'VersionError'

  /** @param {any} error */
  const isFull = (error) => error?.name === 'QuotaExceededError'

  /** @param {any} error */
  const messageOf = (error) => (isFull(error) ? 'The browser has no room left for this page.' : error?.message || 'The browser does not keep data for this page.')

  return { open }
})
