// Where sessions are kept: a snapshot and the events since; write-ahead marks; full and forbidden storage; one writer.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
// As much of a page as is left and comes back.
const page = new EventTarget()
globalThis.addEventListener = page.addEventListener.bind(page)
globalThis.removeEventListener = page.removeEventListener.bind(page)
const { use } = require('./load-modules.js')
const { FakeIDB } = require('./fake-idb.js')

const idb = use('io/store-idb')
const memory = use('io/store-memory')
const locks = use('io/lock')
const sessions = use('core/session')
const { fold } = use('core/fold')
const { canonical } = use('core/canonical-json')

function example(id = 's') {
  const session = sessions.create({ id, now: 0 })
  sessions.append(session, 'hi', { id: 'u1', now: 0 })
  return session
}

const EVENTS = [
  { type: 'RUN_STARTED', metadata: { yaa: { run: { id: 'r' } } } },
  { type: 'STATE_DELTA', delta: [{ op: 'add', path: '/yaa/title', value: 'hi' }, { op: 'add', path: '/yaa/calls', value: {} }] },
  { type: 'TEXT_MESSAGE_START', messageId: 'm1' },
  { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm1', delta: 'a' },
  { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm1', delta: 'b' },
  { type: 'TEXT_MESSAGE_END', messageId: 'm1' },
]
const END = { type: 'RUN_FINISHED', result: { status: 'completed', finish_reason: 'completed', rev: 1 } }

async function stores() {
  const indexedDB = new FakeIDB()
  return [['idb', await idb.open({ indexedDB, onError: (error) => assert.fail(error.message) }), indexedDB], ['memory', memory.open(), null]]
}

test('what is put can be read, listed and deleted', async () => {
  for (const [kind, store] of await stores()) {
    assert.strictEqual(store.kind, kind)
    assert.deepStrictEqual(await store.list(), [])
    assert.strictEqual(await store.get('s'), null)
    const session = { ...example(), title: 'T', status: 'interrupted', calls: JSON.parse('{"__proto__": {"state": "asking"}}'), interrupts: [{ id: 'i', reason: 'limit' }] }
    await store.put(session)
    session.messages[0].content = 'changed later'
    const found = await store.get('s')
    assert.strictEqual(canonical(found), canonical({ ...session, messages: [{ ...session.messages[0], content: 'hi' }] }), kind)
    const [{ stamp, ...head }] = await store.list()
    assert.deepStrictEqual({ ...head, updated: 0 }, { id: 's', title: 'T', status: 'interrupted', updated: 0, messages: 1, waiting: 1, pinned: false, archived: 0, tags: [] })
    assert.strictEqual(canonical(await store.delete('s')), canonical(found))
    assert.deepStrictEqual([await store.list(), await store.get('s'), await store.delete('s')], [[], null, null])
    store.close()
  }
})

test('events are folded onto the snapshot, in order, and the next snapshot takes their place', async () => {
  for (const [kind, store, indexedDB] of await stores()) {
    const session = example()
    await store.put(session)
    await store.put(example('other'))
    for (const [n, event] of EVENTS.entries()) {
      store.append('s', event)
      fold(session, event)
      if (n % 2) await store.flush()
      assert.strictEqual(canonical(await store.get('s')), canonical(session), `${kind} after event ${n}`)
    }
    assert.strictEqual(canonical(await store.get('other')), canonical(example('other')))
    store.append('s', END)
    fold(session, END)
    await store.put(session)
    assert.strictEqual(canonical(await store.get('s')), canonical(session))
    if (indexedDB) assert.strictEqual(indexedDB.databases.get('yaa').stores.get('events').records.size, 0)
    store.close()
  }
})

test('events are written as they come, those of one piece together, and none waits for a timer', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] }) // it never ticks
  const indexedDB = new FakeIDB()
  const store = await idb.open({ indexedDB })
  await store.put(example())
  const before = indexedDB.writes
  const turn = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
  for (const event of EVENTS.slice(0, 3)) store.append('s', event)
  assert.strictEqual(indexedDB.writes, before)
  await turn()
  assert.strictEqual(indexedDB.writes, before + 1)
  store.append('s', EVENTS[3])
  await Promise.resolve() // this one is being written now; the others wait for it
  for (const event of EVENTS.slice(4)) store.append('s', event)
  for (let i = 0; i < 5; i++) await turn()
  assert.strictEqual(indexedDB.writes, before + 3)
  store.append('s', END)
  await store.flush()
  assert.strictEqual(indexedDB.writes, before + 4)
})

test('an event that a later one changes is kept as it was', async () => {
  const store = await idb.open({ indexedDB: new FakeIDB() })
  const session = example()
  await store.put(session)
  const events = [
    { type: 'STATE_DELTA', delta: [{ op: 'add', path: '/yaa/grants', value: [] }] },
    { type: 'STATE_DELTA', delta: [{ op: 'add', path: '/yaa/grants/-', value: { tool: 'x' } }] },
  ]
  for (const event of events) {
    fold(session, event)
    store.append('s', event)
  }
  assert.strictEqual((await store.get('s')).grants.length, 1)
})

test('a page that crashed with an approval on its way finds its call started; with the end heard, as it ended', async () => {
  const indexedDB = new FakeIDB()
  const store = await idb.open({ indexedDB })
  const session = {
    ...example(), messages: [{ id: 'm', role: 'assistant', content: '', tool_calls: [{ id: 'c', type: 'function', function: { name: 'x', arguments: '{}' } }] }],
    calls: { c: { state: 'asking', attempt: 0 } },
    interrupts: [{ id: 'i', reason: 'tool_call', call_id: 'c', answer: { status: 'resolved', payload: { approved: true } } }],
  }
  await store.put(session, sessions.writeAhead(session))
  const state = async () => (await (await idb.open({ indexedDB })).get('s')).calls.c
  assert.deepStrictEqual(await state(), { state: 'started', attempt: 1 })
  store.append('s', { type: 'RUN_STARTED' })
  await store.flush()
  assert.deepStrictEqual(await state(), { state: 'started', attempt: 1 })
  store.append('s', END)
  await store.flush()
  assert.deepStrictEqual(await state(), { state: 'asking', attempt: 0 })
})

test('what is under way when the page is left is undone, and done when it is back', async () => {
  const idb = new FakeIDB()
  const errors = []
  const store = await use('io/store-idb').open({ indexedDB: idb, onError: (error) => errors.push(error) })
  const other = await use('io/store-idb').open({ indexedDB: idb })
  const heads = () => [...idb.databases.get('yaa').stores.get('heads').records.keys()]
  const under = store.put({ id: 'under', messages: [] })
  page.dispatchEvent(new Event('pagehide'))
  const later = other.put({ id: 'later', messages: [] })
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
  assert.deepEqual(heads(), [], 'nothing is stuck there, and nothing is begun')
  page.dispatchEvent(new Event('pageshow'))
  await Promise.all([under, later])
  assert.deepEqual(heads().sort(), ['later', 'under'])
  assert.deepEqual((await store.list()).length, 2, 'and all goes on')
  assert.deepEqual(errors, [])
  store.close()
  other.close()
})

test('a full storage is reported, keeps what it had, and throws at nobody', async () => {
  const indexedDB = new FakeIDB()
  const errors = []
  const store = await idb.open({ indexedDB, onError: (error) => errors.push(error) })
  await store.put(example())
  indexedDB.refuse = 'QuotaExceededError'
  await store.put({ ...example(), title: 'new' })
  store.append('s', EVENTS[0])
  await store.flush()
  indexedDB.refuse = 'UnknownError'
  await store.put(example())
  assert.deepStrictEqual(errors.map((error) => error.code), ['quota', 'quota', 'failed'])
  indexedDB.refuse = null
  assert.strictEqual(canonical(await store.get('s')), canonical(example()))
})

test('before a full storage is reported, what can be lost makes room', async () => {
  const indexedDB = new FakeIDB()
  const errors = []
  let asked = 0
  const makeRoom = async () => {
    if (asked++) throw new Error('nothing left to lose')
    indexedDB.refuse = null
  }
  const store = await idb.open({ indexedDB, onError: (error) => errors.push(error.code), makeRoom })
  indexedDB.refuse = 'QuotaExceededError'
  await store.put(example())
  assert.deepStrictEqual([canonical(await store.get('s')), asked, errors], [canonical(example()), 1, []])
  indexedDB.refuse = 'QuotaExceededError'
  await store.put(example())
  assert.deepStrictEqual([asked, errors], [2, ['quota']])
})

test('while room is made nothing overtakes: not an event the one before it, nor a session its end', async () => {
  const indexedDB = new FakeIDB()
  let made = () => {}
  const makeRoom = () => new Promise((resolve) => { made = () => resolve(undefined) })
  const store = await idb.open({ indexedDB, onError: (error) => assert.fail(error.message), makeRoom })
  const settle = async () => { for (let n = 0; n < 10; n++) await new Promise((resolve) => setImmediate(resolve)) }
  await store.put(example())
  const events = EVENTS.slice(2, 5)
  for (const [n, event] of events.entries()) {
    indexedDB.refuse = n ? null : 'QuotaExceededError'
    store.append('s', event)
    await settle()
  }
  made()
  await settle()
  const kept = [...indexedDB.databases.get('yaa').stores.get('events').records.values()]
  assert.deepStrictEqual(kept.flatMap((batch) => batch.events), events)
  indexedDB.refuse = 'QuotaExceededError'
  const put = store.put(example('gone'))
  await settle()
  indexedDB.refuse = null
  const gone = store.delete('gone')
  await settle()
  made()
  await Promise.all([put, gone])
  assert.deepStrictEqual((await store.list()).map(({ id }) => id), ['s'])
})

test('a session that cannot be read is no session, is said, can be deleted, and hides no other', async () => {
  const indexedDB = new FakeIDB()
  const errors = []
  const store = await idb.open({ indexedDB, onError: (error) => errors.push(error.code) })
  await store.put(example('a'))
  await store.put(example('b'))
  indexedDB.unread.add('a')
  assert.deepStrictEqual([await store.get('a'), (await store.get('b')).id, errors], [null, 'b', ['unread']])
  assert.strictEqual((await store.list()).length, 2)
  await store.get('a')
  assert.strictEqual(indexedDB.connections.filter(({ gone }) => !gone).length, 1, 'connections that stay open')
  await store.delete('a')
  assert.deepStrictEqual((await store.list()).map(({ id }) => id), ['b'])
})

test('a damaged record in the list is listed once, as far as it is sound, and in its place', async () => {
  const indexedDB = new FakeIDB()
  const store = await idb.open({ indexedDB })
  await store.put(example('a'))
  const { stores: tables } = indexedDB.databases.get('yaa')
  const damaged = [
    { id: 'b', title: { toString: 1 }, updated: 'yesterday', tags: 'work' }, { id: 'c', title: 7, updated: NaN, tags: [1, {}, null, 'work'] },
    { id: 'd' }, { id: 'e', title: 'E', updated: { valueOf: 1 }, said: 'long ago', tags: null }, { id: 5, title: 'F', updated: 2, tags: ['work'] },
  ]
  for (const head of damaged) tables.get('heads').records.set(head.id, head)
  const found = (await store.list()).map(({ id, title, updated, said, tags }) => [id, title, id === 'a' ? '' : said ?? updated, ...tags])
  assert.deepStrictEqual(found, [['a', 'hi', ''], [5, 'F', 2, 'work'], ['b', '', 0], ['c', '', 0, 'work'], ['d', '', 0], ['e', 'E', 0]])
})

test('a damaged event costs what follows it, not the session', async () => {
  const rows = [[null, 0], [{ type: 7 }, 1], [5, 1], [undefined, 2]]
  for (const [bad, place] of rows) {
    const indexedDB = new FakeIDB()
    const errors = []
    const store = await idb.open({ indexedDB, onError: ({ code }) => errors.push(code) })
    await store.put(example('a'))
    for (const event of EVENTS.slice(0, place)) store.append('a', event)
    await store.flush()
    const sound = await store.get('a')
    store.append('a', bad)
    for (const event of EVENTS.slice(place)) store.append('a', event)
    await store.flush()
    assert.deepStrictEqual([await store.get('a'), errors], [sound, ['damaged']], JSON.stringify(bad))
  }
})

test('a storage of a newer page is named as that, when it is opened and when it is written', async () => {
  const errors = []
  const indexedDB = Object.assign(new FakeIDB(), { closed: 'VersionError' })
  const store = await idb.open({ indexedDB, onError: ({ code }) => errors.push(code) })
  assert.deepStrictEqual([store.kind, store.trouble.code, errors], ['memory', 'newer', ['newer']])
})

test('a list that cannot be read is said, and is not taken for an empty one', async () => {
  const indexedDB = new FakeIDB()
  const errors = []
  const store = await idb.open({ indexedDB, onError: (error) => errors.push(error.code) })
  await store.put(example('a'))
  indexedDB.unread.add('heads')
  await assert.rejects(store.list(), { name: 'DataError' })
  assert.deepStrictEqual(errors, ['unread'])
  indexedDB.unread.clear()
  assert.strictEqual((await store.list()).length, 1)
})

test('a connection that the browser has closed is made anew, once for all; not when a newer page wants it closed', async () => {
  const indexedDB = new FakeIDB()
  const errors = []
  const store = await idb.open({ indexedDB, onError: (error) => errors.push(error.code) })
  await store.put(example('a'))
  indexedDB.lose()
  store.append('a', EVENTS[0])
  await Promise.all([store.put(example('b')), store.get('a'), store.list()])
  assert.deepStrictEqual([(await store.get('a')).status, (await store.list()).length, indexedDB.opened, errors], ['in_progress', 2, 2, []])
  indexedDB.lose()
  indexedDB.closed = 'UnknownError'
  await store.put(example('c'))
  assert.deepStrictEqual(errors, ['failed'])
  indexedDB.closed = null
  await store.put(example('c'))
  indexedDB.change()
  await store.put(example('d'))
  assert.deepStrictEqual([errors, indexedDB.opened], [['failed', 'newer'], 3])
})

test('a browser in which even looking for storage throws', async () => {
  const errors = []
  Object.defineProperty(globalThis, 'indexedDB', { configurable: true, get() { throw new Error('not here') } })
  try {
    const store = await idb.open({ onError: ({ code, message }) => errors.push([code, message]) })
    assert.deepStrictEqual([store.kind, errors], ['memory', [['blocked', 'not here']]])
    assert.strictEqual(use('io/idb-transaction').factory(), null)
    const release = await locks.create({ locks: null, tab: 't' }).acquire('s')
    assert.strictEqual(typeof release, 'function', 'without it nobody is kept out')
  } finally {
    delete globalThis.indexedDB
  }
})

test('no storage at all: memory, and a word about it', async () => {
  for (const indexedDB of [Object.assign(new FakeIDB(), { closed: 'InvalidStateError' }), null, { open: () => { throw new Error('SecurityError') } }]) {
    const errors = []
    const store = await idb.open({ indexedDB, onError: (error) => errors.push(error.code) })
    assert.deepStrictEqual([store.kind, errors], ['memory', ['blocked']])
    await store.put(example())
    assert.strictEqual((await store.list()).length, 1)
  }
})

test('newest first', async (context) => {
  for (const [, store] of await stores()) {
    context.mock.timers.enable({ apis: ['Date'], now: 1000 })
    for (const id of ['a', 'b', 'c']) {
      await store.put(example(id))
      context.mock.timers.tick(1000)
    }
    await store.put(example('a'))
    assert.deepStrictEqual((await store.list()).map(({ id }) => id), ['a', 'c', 'b'])
    context.mock.timers.reset()
  }
})

// -- one writer -------------------------------------------------------------------------------------

test('Web Locks: one holder, let go, taken by the next', async () => {
  const held = new Set()
  const manager = {
    async request(name, { ifAvailable }, callback) {
      assert.ok(ifAvailable)
      if (held.has(name)) return callback(null)
      held.add(name)
      await callback({ name })
      held.delete(name)
    },
  }
  await oneHolder(() => locks.create({ locks: manager }))
})

test('leases where there are no locks', async () => {
  const indexedDB = new FakeIDB()
  await oneHolder(() => locks.create({ locks: null, indexedDB }))
})

async function oneHolder(tab) {
  const [one, other] = [tab(), tab()]
  ;(await one.acquire('session a'))()
  const release = await one.acquire('session a')
  assert.ok(release, 'what a page lets go it may take again at once')
  assert.strictEqual(await other.acquire('session a'), null)
  assert.strictEqual(await one.acquire('session a'), null)
  const another = await other.acquire('session b')
  release()
  let next = null // what is let go reaches others a moment later
  while (!next) {
    await new Promise((resolve) => setTimeout(resolve))
    next = await other.acquire('session a')
  }
  next()
  another()
}

test('a lease is renewed while it is held, and runs out when its tab died', async (context) => {
  context.mock.timers.enable({ apis: ['setInterval', 'Date'], now: 0 })
  const settle = async () => { for (let n = 0; n < 10; n++) await new Promise((resolve) => setImmediate(resolve)) }
  const indexedDB = new FakeIDB()
  const [one, other] = [locks.create({ locks: null, indexedDB }), locks.create({ locks: null, indexedDB })]
  await one.acquire('a')
  for (let n = 0; n < 10; n++) {
    context.mock.timers.tick(2000)
    await settle()
  }
  assert.strictEqual(await other.acquire('a'), null, 'twenty seconds later it is still held')
  context.mock.timers.reset()
  context.mock.timers.enable({ apis: ['setInterval', 'Date'], now: 20_000 + 8001 })
  const release = await other.acquire('a')
  assert.ok(release, 'without renewing it has run out')
  context.mock.timers.reset()
  context.mock.timers.enable({ apis: ['setInterval', 'Date'], now: 5000 })
  assert.ok(await one.acquire('a'), 'a clock that was set back makes no lease longer')
  release()
})

test('a lease that is over is kept by whoever says so: timers of a page that nobody sees come once a minute', async (context) => {
  context.mock.timers.enable({ apis: ['setInterval', 'Date'], now: 0 })
  const indexedDB = new FakeIDB()
  const heard = new Set()
  const channel = {
    send: (message) => heard.forEach((callback) => callback(message)),
    listen: (callback) => (heard.add(callback), () => heard.delete(callback)),
  }
  const [one, other] = ['one', 'other'].map((tab) => locks.create({ locks: null, indexedDB, tab, channel }))
  await one.acquire('a')
  context.mock.timers.reset()
  context.mock.timers.enable({ apis: ['setInterval', 'Date'], now: 60_000 })
  assert.strictEqual(await other.acquire('a'), null, 'it was asked, and renewed it')
  heard.clear() // the tab died
  assert.strictEqual(await other.acquire('a'), null)
  context.mock.timers.reset()
  context.mock.timers.enable({ apis: ['setInterval', 'Date'], now: 60_000 + 8001 })
  const release = await other.acquire('a')
  assert.ok(release)
  release()
  assert.strictEqual(heard.size, 0, 'who holds nothing is not asked')
})

test('after a reload a tab takes over what its last page held, and no other tab does', async () => {
  const indexedDB = new FakeIDB()
  const page = (tab) => locks.create({ locks: null, indexedDB, tab })
  const before = await page('one').acquire('a')
  assert.strictEqual(await page('two').acquire('a'), null)
  const now = page('one')
  const after = await now.acquire('a')
  assert.ok(after)
  assert.deepStrictEqual([await now.acquire('a'), await page('two').acquire('a')], [null, null])
  before() // it may still come to let go: what is held now stays held
  assert.strictEqual(await page('two').acquire('a'), null)
  after()
})

test('no way to lock, none that is allowed, no channel: a tab is on its own, and may', async (context) => {
  const denied = () => { throw new DOMException('denied', 'SecurityError') }
  assert.ok(await locks.create({ locks: { request: async () => denied() } }).acquire('a'))
  const { BroadcastChannel } = globalThis
  context.after(() => { globalThis.BroadcastChannel = BroadcastChannel })
  for (const none of [undefined, class { constructor() { denied() } }]) {
    globalThis.BroadcastChannel = none
    const channel = use('io/tab-channel').open()
    channel.send({})
    channel.listen(() => {})()
    channel.close()
  }
  for (const indexedDB of [null, Object.assign(new FakeIDB(), { closed: 'InvalidStateError' })]) {
    assert.ok(await locks.create({ locks: null, indexedDB }).acquire('a'))
  }
})

test('one from elsewhere is listed when it was, until it is written here; what expires counts from now', async () => {
  for (const [kind, store] of await stores()) {
    const began = Date.now()
    await store.put(example('new'))
    await store.put(example('of 2023'), undefined, { said: 5 })
    await store.put(example('of 2024'), undefined, { said: 9 })
    const listed = async () => (await store.list()).map(({ id }) => id)
    assert.deepStrictEqual(await listed(), ['new', 'of 2024', 'of 2023'], kind)
    assert.ok((await store.list()).every(({ updated }) => updated >= began), kind)
    await store.put(example('of 2023'))
    assert.strictEqual((await store.list()).find(({ id }) => id === 'of 2023').said, undefined, kind)
  }
})
