// As much of IndexedDB as the client uses, in memory: stores with key paths (one may have parts) or counted keys, indexes, transactions
// that run one after another and undo themselves when a write fails. `refuse` makes writes fail, `unread` holds keys
// that no read gets, and names of stores that nobody can list; `lose` closes all connections as a browser does by
// itself, `change` as one asks for it.
'use strict'

class FakeIDB {
  databases = new Map()
  /** @type {string | null} name of the error that writes end with */ refuse = null
  /** @type {string | null} name of the error that opening ends with */ closed = null
  /** @type {Set<any>} */ unread = new Set()
  writes = 0
  opened = 0
  /** @type {Database[]} */ connections = []

  lose() {
    for (const one of this.connections) one.close()
  }

  change() {
    for (const one of this.connections) one.onversionchange?.()
  }

  open(name, version) {
    const request = {}
    setImmediate(() => {
      if (this.closed) return fail(request, this.closed)
      const known = this.databases.get(name)
      const data = known ?? { stores: new Map(), queue: Promise.resolve() }
      this.databases.set(name, data)
      request.result = new Database(this, data)
      this.opened++
      this.connections.push(request.result)
      if (!known) request.onupgradeneeded?.({ oldVersion: 0, newVersion: version })
      request.onsuccess?.()
    })
    return request
  }
}

class Database {
  constructor(factory, data) {
    Object.assign(this, { factory, data })
  }

  createObjectStore(name, { keyPath = null } = {}) {
    const store = { keyPath, records: new Map(), next: 1 }
    this.data.stores.set(name, store)
    return { createIndex: () => {} }
  }

  transaction(names) {
    if (this.gone) throw Object.assign(new Error('The database connection is closing.'), { name: 'InvalidStateError' })
    return new Transaction(this.factory, this.data, [names].flat())
  }

  close() {
    this.gone = true
  }
}

class Transaction {
  error = null
  work = []

  constructor(factory, data, names) {
    Object.assign(this, { factory, data, names })
    data.queue = data.queue.then(() => new Promise((resolve) => setImmediate(() => this.run(resolve))))
  }

  objectStore(name) {
    if (!this.names.includes(name)) throw new Error(`${name} is not in this transaction`)
    return new ObjectStore(this, name, this.data.stores.get(name))
  }

  abort() {
    this.aborted = true
  }

  request(work) {
    const request = {}
    this.work.push({ request, work })
    return request
  }

  run(resolve) {
    const before = new Map([...this.data.stores].map(([name, store]) => [name, new Map(store.records)]))
    try {
      if (this.aborted) throw null
      for (let step = this.work.shift(); step; step = this.work.shift()) {
        step.request.result = step.work()
        step.request.onsuccess?.()
      }
      this.oncomplete?.()
    } catch (error) {
      for (const [name, records] of before) this.data.stores.get(name).records = records
      this.error = error
      this.onabort?.()
    }
    resolve()
  }
}

class ObjectStore {
  constructor(transaction, name, store) {
    Object.assign(this, { transaction, name, store })
  }

  /** Values are copied when the request is made, as the structured clone algorithm does. */
  write(value, key) {
    const copy = structuredClone(value)
    return this.transaction.request(() => {
      const { factory } = this.transaction
      if (factory.refuse) throw Object.assign(new Error('refused'), { name: factory.refuse })
      factory.writes++
      this.store.records.set(key ?? this.store.next++, copy)
    })
  }

  put(value) {
    const { keyPath } = this.store
    return this.write(value, Array.isArray(keyPath) ? JSON.stringify(keyPath.map((part) => value[part])) : value[keyPath])
  }

  add(value) {
    return this.write(value)
  }

  get(key) {
    return this.read(key, () => structuredClone(this.store.records.get(key)))
  }

  /** Records of a key, of a range (`IDBKeyRange.bound([first], [first, []])`), or all. */
  within(range) {
    const wanted = (key) => range === undefined || key === range || (range.lower && JSON.parse(key)[0] === range.lower[0])
    return [...this.store.records].filter(([key]) => wanted(key))
  }

  getAll(range) {
    return this.read(this.name, () => structuredClone(this.within(range).map(([, value]) => value)))
  }

  read(what, work) {
    return this.transaction.request(() => {
      if (this.transaction.factory.unread.has(what)) throw Object.assign(new Error('Failed to read large IndexedDB value'), { name: 'DataError' })
      return work()
    })
  }

  getAllKeys() {
    const parts = Array.isArray(this.store.keyPath)
    return this.transaction.request(() => [...this.store.records.keys()].map((key) => (parts ? JSON.parse(key) : key)))
  }

  count() {
    return this.transaction.request(() => this.store.records.size)
  }

  delete(range) {
    return this.transaction.request(() => this.within(range).forEach(([key]) => this.store.records.delete(key)))
  }

  index(name) {
    const found = (key) => [...this.store.records].filter(([, value]) => value[name] === key)
    return {
      getAll: (key) => this.transaction.request(() => structuredClone(found(key).map(([, value]) => value))),
      getAllKeys: (key) => this.transaction.request(() => found(key).map(([own]) => own)),
      openCursor: () => {
        const ordered = [...this.store.records].sort(([, a], [, b]) => a[name] - b[name])
        const request = this.transaction.request(() => {
          const next = ordered.shift()
          return next && { delete: () => this.store.records.delete(next[0]), continue: () => this.transaction.work.push(step) }
        })
        const step = this.transaction.work.at(-1)
        return request
      },
    }
  }
}

function fail(request, name) {
  request.error = Object.assign(new Error(`it is ${name}`), { name })
  request.onerror?.()
}

module.exports = { FakeIDB }
