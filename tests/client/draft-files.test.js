// Files that were not sent yet, over a reload.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const vm = require('node:vm')
const { FakeIDB } = require('./fake-idb.js')

const JS = path.join(__dirname, '../../client/js')
const FILES = [{ name: 'a.txt', part: { type: 'text', text: 'a' }, size: 1 }]

/** @returns {any} the storage of a tab */
function strings() {
  const kept = new Map()
  return { getItem: (name) => kept.get(name) ?? null, setItem: (name, value) => kept.set(name, value) }
}

/** What a page has of it, after it was loaded. @param {any} [indexedDB] */
function load(indexedDB, sessionStorage = strings()) {
  const context = vm.createContext({ indexedDB, sessionStorage, crypto })
  for (const file of ['kernel', 'core/ids', 'core/patch', 'io/idb-transaction', 'io/draft-files', 'io/settings']) vm.runInContext(fs.readFileSync(path.join(JS, `${file}.js`), 'utf8'), context)
  const settings = () => context.yaa.use('io/settings').open({ storage: null, location: new URL('http://h/') })
  return { ...context.yaa.use('io/draft-files'), keepFiles: (draft, files) => settings().keepFiles(draft, files) }
}

test('the files of a draft are kept until they are sent', async () => {
  const idb = new FakeIDB()
  const one = load(idb)
  await one.save('new', FILES)
  assert.deepStrictEqual([[...await load(idb).load('new')], [...await load(idb).load('other')]], [FILES, []])
  await one.save('new', [])
  assert.deepStrictEqual([[...await load(idb).load('new')], [...await one.load('new')]], [[], []])
})

test('each tab has its own files of a draft, over a reload; a new one finds what a tab has left that is gone', async () => {
  const idb = new FakeIDB()
  const files = (name) => [{ ...FILES[0], name }]
  const names = async (page) => (await page.load('s')).map(({ name }) => name).join()
  const [first, second] = [strings(), strings()]
  await load(idb, first).save('s', files('a'))
  const other = load(idb, second)
  assert.strictEqual(await names(other), 'a', 'left by the first, as far as it knows')
  await load(idb, first).save('s', files('a2'))
  await other.save('s', files('b'))
  assert.deepStrictEqual([await names(load(idb, first)), await names(load(idb, second))], ['a2', 'b'], 'what the first has attached since stays')
  const [fourth, third] = [load(idb), load(idb, first)]
  await third.save('t', files('a'))
  await fourth.load('t')
  await fourth.save('t', files('b'))
  assert.deepStrictEqual([...await load(idb, first).load('t')].map(({ name }) => name), ['b'], 'what was taken over is of one')
  await load(idb, first).save('s', files('c'))
  assert.deepStrictEqual([await names(load(idb, first)), await names(load(idb, second))], ['c', 'b'])
  await load(idb, first).save('s', []) // sent
  assert.strictEqual(await names(load(idb, second)), 'b')
  const heir = load(idb)
  assert.strictEqual(await names(heir), 'b')
  await heir.save('s', []) // sent there
  assert.strictEqual(await names(load(idb)), '')
})

test('files that come before this script are found beside the others, and are theirs when these are saved', async () => {
  const idb = new FakeIDB()
  const tab = strings()
  const bare = [{ name: 'bare.txt' }]
  await load(idb, tab).save('s', FILES)
  assert.strictEqual(await load(idb, tab).keepFiles('s', bare), true)
  for (const own of [tab, strings()]) assert.deepStrictEqual([...await load(idb, own).load('s')], [...FILES, ...bare])
  const one = load(idb, tab)
  const all = await one.load('s')
  await one.save('s', all)
  assert.deepStrictEqual([...await load(idb, tab).load('s')], [...FILES, ...bare], 'each once')
  await one.keepFiles('s', [{ name: 'later.txt' }])
  assert.deepStrictEqual([...await one.load('s')].map(({ name }) => name), ['a.txt', 'bare.txt', 'later.txt'])
  await one.save('s', [])
  assert.deepStrictEqual([...await load(idb, tab).load('s')], [])
  assert.deepStrictEqual([await one.keepFiles('~s', bare), await load().keepFiles('s', bare)], [false, false])
  assert.deepStrictEqual([...await load(idb).load('~s')], [])
})

test('of a temporary session nothing is kept, and where nothing can be kept they are here', async () => {
  const idb = new FakeIDB()
  for (const [own, after, draft] of [[load(idb), load(idb), '~s'], [load(), load(), 's']]) {
    await own.save(draft, FILES)
    assert.deepStrictEqual([[...await own.load(draft)], [...await after.load(draft)]], [FILES, []], draft)
  }
  assert.strictEqual(idb.writes, 0)
})

test('a connection that the browser has closed is opened again', async () => {
  const idb = new FakeIDB()
  const one = load(idb)
  await one.save('a', FILES)
  idb.lose()
  await one.save('b', FILES)
  assert.deepStrictEqual([...await load(idb).load('b')], FILES)
})

test('those of sessions that are gone are forgotten', async () => {
  const idb = new FakeIDB()
  for (const draft of ['here', 'gone']) await load(idb).save(draft, FILES)
  await load(idb).removeUnused((draft) => draft === 'here')
  assert.deepStrictEqual([[...await load(idb).load('here')], [...await load(idb).load('gone')]], [FILES, []])
})
