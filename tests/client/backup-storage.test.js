// Keeping sessions and keys: reminders, copies of everything, another layout of the storage, a vault, a folder, streams.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { use } = require('./load-modules.js')
const { FakeIDB } = require('./fake-idb.js')

const keeping = use('core/backup')
const idb = use('io/store-idb')
const vaults = use('io/key-storage')
const folders = use('io/session-folder')
const { slots } = use('io/lock')
const sessions = use('core/session')

const DAY = 86_400_000
const NOW = 1000 * DAY
const heads = (...updated) => updated.map((days, i) => ({ id: `s${i}`, title: '', status: '', updated: NOW - days * DAY, messages: 4, waiting: 0 }))
const example = (id, title = 'T') => { const session = sessions.create({ id, title, now: 0 }); sessions.append(session, 'hi', { id: 'u', now: 0 }); return session }

test('a reminder comes when there is something to lose, and not every day', () => {
  const rows = [
    ['nothing yet', { heads: [] }, false, null],
    ['a few tries', { heads: heads(3, 3) }, false, null],
    ['some, since today', { heads: heads(0.1, 0.2, 0.3) }, false, null],
    ['some, since days', { heads: heads(1.5, 2, 3) }, true, null],
    ['copied a week ago', { heads: heads(1, 1, 1), copied: NOW - 7 * DAY }, false, 7],
    ['copied three weeks ago', { heads: heads(1, 1, 1), copied: NOW - 21 * DAY }, true, 21],
    ['nothing new since', { heads: heads(30, 30, 30), copied: NOW - 21 * DAY }, false, 21],
    ['the browser promised', { heads: heads(1, 1, 1), copied: NOW - 21 * DAY, persisted: true }, false, 21],
    ['the browser promised, long ago', { heads: heads(1, 1, 1), copied: NOW - 61 * DAY, persisted: true }, true, 61],
    ['put off', { heads: heads(1, 1, 1), copied: NOW - 21 * DAY, snoozed: NOW - 6 * DAY }, false, 21],
    ['put off, a week ago', { heads: heads(1, 1, 1), copied: NOW - 21 * DAY, snoozed: NOW - 8 * DAY }, true, 21],
    ['a folder has it all', { heads: heads(1, 2, 3), folder: true }, false, null],
  ]
  for (const [name, known, due, days] of rows) {
    const found = keeping.reminder({ now: NOW, persisted: false, folder: false, ...known })
    assert.deepStrictEqual([found.due, found.days], [due, days], name)
  }
})

test('a copy of everything is read again; what is no session is counted, not taken', () => {
  const all = [example('a'), example('b')]
  const copy = JSON.parse(JSON.stringify(keeping.backup(all, 0)))
  assert.deepStrictEqual(keeping.readBackup(copy), { sessions: all, broken: 0 })
  assert.deepStrictEqual(keeping.readBackup({ sessions: [all[0], null, {}, { id: 1, messages: [] }, { id: '', messages: [] }] }), { sessions: [all[0]], broken: 4 })
  for (const none of [null, 1, [], {}, { sessions: {} }, all[0]]) assert.strictEqual(keeping.readBackup(none), null)
})

test('the later of two versions', () => {
  const version = (rev, count) => ({ id: 's', rev, messages: Array(count).fill({ id: 'm', role: 'user', content: '' }) })
  const rows = [[version(2, 1), version(1, 9), true], [version(1, 2), version(1, 1), true], [version(1, 1), version(1, 1), false], [version(1, 9), version(2, 1), false], [version(undefined, 1), null, true]]
  for (const [incoming, here, later] of rows) assert.strictEqual(keeping.isLater(incoming, here), later)
})

test('names of files are names everywhere', () => {
  const rows = [['Hello / world?', 'Hello-world.s1.yaa.json'], ['', 'session.s1.yaa.json'], ['../../etc', 'etc.s1.yaa.json'], ['计划：周一', '计划：周一.s1.yaa.json'], ['a'.repeat(99), `${'a'.repeat(50)}.s1.yaa.json`]]
  for (const [title, expected] of rows) assert.strictEqual(keeping.fileName({ id: 's1', title, messages: [] }), expected)
  for (const id of ['../x', 'lm-studio-1784679064871', 'lm-studio-1784679064872', '']) {
    assert.match(keeping.fileName({ id, title: 't', messages: [] }), /^t\.[0-9a-f]{8}\.yaa\.json$/)
  }
  const [one, other] = ['1', '2'].map((end) => keeping.fileName({ id: `lm-studio-178467906487${end}`, title: 't', messages: [] }))
  assert.notStrictEqual(one, other, 'two of one title whose ids begin alike are two files')
})

test('another layout copies, and the old one stays until the next start', async () => {
  const indexedDB = new FakeIDB()
  const dropped = []
  indexedDB.deleteDatabase = (name) => { dropped.push(name); indexedDB.databases.delete(name) }
  const names = async () => [...indexedDB.databases.keys()]
  const old = await idb.open({ indexedDB })
  await old.put(example('a', 'A'))
  await old.put(example('b', 'B'))
  old.append('b', { type: 'TEXT_MESSAGE_START', messageId: 'm' })
  old.append('b', { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'kept' })
  await old.flush()
  const convert = (table, record) => (table === 'bodies' ? { ...record, session: { ...record.session, title: `${record.session.title}!` } } : record)
  const options = { indexedDB, layout: 2, convert, names, onError: (error) => assert.fail(error.message) }
  const first = await idb.open(options)
  assert.deepStrictEqual((await first.list()).map(({ id }) => id).sort(), ['a', 'b'])
  assert.strictEqual((await first.get('a')).title, 'A!')
  assert.strictEqual((await first.get('b')).messages.at(-1).content, 'kept')
  assert.deepStrictEqual([dropped, await names()], [[], ['yaa', 'yaa.2']])
  await first.put({ ...await first.get('a'), title: 'changed' })
  const second = await idb.open(options)
  assert.strictEqual((await second.get('a')).title, 'changed', 'it is not copied again')
  assert.deepStrictEqual([dropped, await names()], [['yaa'], ['yaa.2']])
  const untouched = await idb.open({ indexedDB: new FakeIDB(), layout: 2, convert, names: async () => [] })
  assert.deepStrictEqual(await untouched.list(), [])
})

test('a layout that cannot be copied leaves the old one as it is', async () => {
  const indexedDB = new FakeIDB()
  const errors = []
  const old = await idb.open({ indexedDB })
  await old.put(example('a'))
  const store = await idb.open({ indexedDB, layout: 2, names: async () => ['yaa'], convert: () => { throw new Error('broken') }, onError: (error) => errors.push(error) })
  assert.deepStrictEqual([store.kind, errors.map(({ message }) => message)], ['memory', ['broken']])
  assert.strictEqual((await old.list()).length, 1)
})

function storage() {
  const kept = new Map()
  return { getItem: (name) => kept.get(name) ?? null, setItem: (name, value) => kept.set(name, value), removeItem: (name) => kept.delete(name), kept }
}

test('a vault opens with its passphrase and with no other, and notices a change', async () => {
  const kept = storage()
  const vault = vaults.open({ storage: kept, rounds: 1000 })
  assert.deepStrictEqual([vault.possible, vault.exists(), await vault.unseal('x')], [true, false, null])
  await vault.seal('pässword', { 'http://a': 'secret-key' })
  assert.strictEqual(JSON.stringify([...kept.kept]).includes('secret'), false)
  assert.deepStrictEqual(await vault.unseal('pa\u0308ssword'), { 'http://a': 'secret-key' }, 'the same letters, written in another way')
  for (const wrong of ['', 'password', 'pässword ']) assert.strictEqual(await vault.unseal(wrong), null)
  const [[name, text]] = kept.kept
  const box = JSON.parse(text)
  await vault.seal('pässword', { 'http://a': 'secret-key' })
  assert.notStrictEqual(JSON.parse(kept.kept.get(name)).iv, box.iv, 'never the same twice')
  kept.setItem(name, JSON.stringify({ ...box, data: box.data.replace(/^./, (first) => (first === 'A' ? 'B' : 'A')) }))
  assert.strictEqual(await vault.unseal('pässword'), null)
  for (const junk of ['{', '{}', '{"salt":"*"}']) { kept.setItem(name, junk); assert.strictEqual(await vault.unseal('x'), null) }
  vault.forget()
  assert.strictEqual(vault.exists(), false)
})

test('without subtle there is no vault', () => assert.strictEqual(vaults.open({ storage: storage(), subtle: null }).possible, false))

/** As much of a directory handle as is used. */
function directory(granted = 'granted') {
  const files = new Map()
  return {
    name: 'Chats', files, queryPermission: async () => granted, requestPermission: async () => (granted = 'granted'),
    removeEntry: async (name) => files.delete(name),
    keys: async function* () { yield* [...files.keys()] },
    getFileHandle: async (name) => ({
      createWritable: async () => { let text = ''; return { write: async (more) => { text += more }, close: async () => files.set(name, text) } },
      getFile: async () => new Blob([files.get(name)]),
    }),
  }
}

test('sessions are files in a folder, one each, by their newest name', async () => {
  const folder = folders.open({ indexedDB: new FakeIDB() })
  assert.deepStrictEqual(await folder.state(), { state: 'none', name: '' })
  await folder.write(example('a')) // nowhere to
  const chats = directory()
  await folder.use(chats).catch(() => {})
  const a = example('a', 'First')
  folder.write(a)
  folder.write({ ...a, title: 'Second' })
  await folder.write(example('b', 'Second'))
  assert.deepStrictEqual([...chats.files.keys()].sort(), ['Second.a.yaa.json', 'Second.b.yaa.json'])
  assert.strictEqual(JSON.parse(chats.files.get('Second.a.yaa.json')).id, 'a')
  // the page is closed; a file that is somebody's own stays, whatever it is called
  chats.files.set('Mine.a.yaa.json', '{"id":"b"}')
  chats.files.set('Notes.a.yaa.json', 'no JSON')
  const later = folders.open({ indexedDB: new FakeIDB() })
  await later.use(chats).catch(() => {})
  await later.write({ ...a, title: 'Third' })
  assert.deepStrictEqual([...chats.files.keys()].sort(), ['Mine.a.yaa.json', 'Notes.a.yaa.json', 'Second.b.yaa.json', 'Third.a.yaa.json'])
})

test('a folder that has to be asked for again is not written to', async () => {
  const folder = folders.open({ indexedDB: new FakeIDB() })
  const chats = directory('prompt')
  await folder.use(chats).catch(() => {})
  assert.deepStrictEqual(await folder.state(), { state: 'ask', name: 'Chats' })
  await folder.write(example('a'))
  assert.strictEqual(chats.files.size, 0)
  assert.strictEqual(await folder.ask(), true)
  await folder.write(example('a'))
  assert.strictEqual(chats.files.size, 1)
})

/** Locks as several tabs see them. */
function shared() {
  const held = new Set()
  const listeners = new Set()
  const acquire = async (name) => {
    if (held.has(name)) return null
    held.add(name)
    return () => { held.delete(name); for (const one of listeners) one() }
  }
  return { acquire, wake: (callback) => { listeners.add(callback); return () => listeners.delete(callback) } }
}

test('four streams run, an answer has a fifth, and whoever waits goes on when one ends', async () => {
  const all = shared()
  const [one, other] = [slots(all), slots(all)]
  const running = [await one.take().ready, await one.take().ready, await other.take().ready, await other.take().ready]
  const waits = []
  const fifth = one.take({ onWait: () => waits.push('fifth') })
  const answer = await other.take({ urgent: true, onWait: () => waits.push('answer') }).ready
  assert.strictEqual(typeof answer, 'function')
  const sixth = other.take({ urgent: true, onWait: () => waits.push('sixth') })
  await new Promise(setImmediate)
  assert.deepStrictEqual(waits, ['fifth', 'sixth'])
  running[2]()
  const released = await Promise.race([fifth.ready, sixth.ready])
  assert.strictEqual(typeof released, 'function')
  answer()
  running[0]()
  for (const waiting of [fifth, sixth]) (await waiting.ready)?.()
})

test('waiting for a stream can be given up', async () => {
  const all = shared()
  const some = slots(all)
  const running = []
  for (let i = 0; i < 4; i++) running.push(await some.take().ready)
  const waiting = some.take()
  await new Promise(setImmediate)
  waiting.cancel()
  assert.strictEqual(await waiting.ready, null)
  running[0]()
  assert.strictEqual(typeof await some.take().ready, 'function', 'it took nothing along')
})

test('nobody tells: it looks again by itself', async () => {
  const all = shared()
  const some = slots({ acquire: all.acquire, again_ms: 5 })
  const running = []
  for (let i = 0; i < 4; i++) running.push(await some.take().ready)
  const waiting = some.take()
  running[3]()
  assert.strictEqual(typeof await waiting.ready, 'function')
})

test('what is old is archived, then deleted; what is pinned or in use stays, and the archive keeps no clock of its own', () => {
  const all = [...heads(1, 31, 99, 99, 99), { id: 'kept', title: '', status: '', updated: NOW, messages: 2, waiting: 0, archived: NOW - 95 * DAY }]
  all[3].pinned = true
  const keep = new Set(['s4'])
  const ids = (given) => { const { archive, remove } = keeping.expiredSessions({ now: NOW, heads: all, keep, ...given }); return [archive.map((head) => head.id), remove.map((head) => head.id)] }
  assert.deepStrictEqual(ids({}), [[], []], 'nothing, where nothing is set')
  assert.deepStrictEqual(ids({ archive: 30 }), [['s1', 's2'], []])
  assert.deepStrictEqual(ids({ archive: 30, remove: 90 }), [['s1'], ['s2', 'kept']])
  for (const days of [0, -1, NaN, null, '', 'x']) assert.deepStrictEqual(ids({ archive: days, remove: days }), [[], []], `${days} days`)
})
