// The events of runs: kept beside their sessions, in their order, and not for ever.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { use } = require('./load-modules.js')
const { FakeIDB } = require('./fake-idb.js')

const journal = use('ext/time/event-log')
const { unpack } = use('ext/time/event-recording')

globalThis.indexedDB = new FakeIDB()
globalThis.IDBKeyRange = { bound: (lower, upper) => ({ lower, upper }) }

const seen = (at) => [{ at, event: { type: 'RUN_STARTED' } }]
const kept = async (session) => (await journal.load(session)).map((one) => unpack(one).map(({ timestamp }) => timestamp))

test('runs are given oldest first, each once, and go with their session', async () => {
  assert.deepStrictEqual(await kept('a'), [])
  await journal.save('a', 'second', seen(20))
  await journal.save('b', 'other', seen(5))
  await journal.save('a', 'first', seen(10))
  await journal.save('a', 'second', seen(30))
  await journal.save('a', '', seen(40))
  await journal.save('a', '', seen(50))
  assert.deepStrictEqual(await kept('a'), [[10], [30], [40], [50]], 'runs without a name are told apart by their time')
  await journal.save('c', 'r', [])
  await journal.removeUnused(new Set(['a']))
  assert.deepStrictEqual([await kept('b'), await kept('c'), (await kept('a')).length], [[], [], 4])
  await journal.remove('a')
  assert.deepStrictEqual(await kept('a'), [])
})

test('of too many the oldest go, and no more than have to', async () => {
  for (let n = 0; n < 400; n++) await journal.save('s', `r${n}`, seen(1000 - n))
  assert.strictEqual((await kept('s')).length, 400)
  await journal.save('t', 'new', seen(2000))
  await journal.save('t', 'newer', seen(2001))
  const left = await kept('s')
  assert.deepStrictEqual([left.length, left[0]], [398, [603]])
  assert.deepStrictEqual(await kept('t'), [[2000], [2001]])
})

test('a connection that the browser has closed is made anew; where nothing can be read there are none', async () => {
  const close = () => { for (const one of indexedDB.connections) one.close() }
  close()
  assert.strictEqual((await kept('s')).length, 398)
  close()
  globalThis.indexedDB = { open() { throw new Error('no') } }
  assert.deepStrictEqual(await journal.load('s'), [])
  await journal.remove('s')
})
