// Copies of a session's files: into a ZIP file and a page, out of them, and to a server that lacks some.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { createHash } = require('node:crypto')
const path = require('node:path')
const { use, yaa, JS } = require('./load-modules.js')
const { fakeDocument } = require('./fake-document.js')

globalThis.matchMedia ??= () => ({ matches: false, addEventListener() {} })
globalThis.document = fakeDocument()
for (const name of ['ui/dom', 'ui/i18n', 'i18n/en']) require(path.join(JS, `${name}.js`))
yaa.define('ui/popup', [], () => ({}))

const copies = use('ext/files/copies')
const kept = use('ext/files/kept-objects')
const unzip = use('io/unzip')
const { zip } = use('ext/files/zip')
const { readDirectory } = use('ext/files/directory-object')

const objectOf = (content) => {
  const buffer = new TextEncoder().encode(content).buffer
  return [createHash('sha256').update(Buffer.from(buffer)).digest('hex'), buffer]
}
const FILES = ['one', 'zwei ü', '', 'x'.repeat(100_000)].map(objectOf)
const hashes = (map) => [...map.keys()].sort()

test('a ZIP file holds the session and its objects, and gives them back', async () => {
  kept.hold('s', new Map(FILES))
  const blob = await copies.zipped('s', '{"id":"s"}')
  const texts = []
  for await (const one of unzip.texts(blob, (name) => name.endsWith('.json'))) texts.push(one)
  assert.deepStrictEqual(texts, [{ name: 'session.yaa.json', text: '{"id":"s"}' }])
  assert.deepStrictEqual(hashes(await copies.unzipped(blob)), hashes(new Map(FILES)))
})

test('so does a page; what is not what its name says stays out', async () => {
  kept.hold('s', new Map(FILES))
  const encoded = await copies.encoded('s')
  assert.deepStrictEqual(hashes(copies.decoded(encoded)), hashes(new Map(FILES)))
  const [[hash]] = FILES
  const hostile = { ...encoded, [hash]: btoa('other'), __proto__: 'x', '../../evil': btoa('x'), [`${'a'.repeat(64)}`]: '%%%' }
  assert.deepStrictEqual(hashes(copies.decoded(hostile)), hashes(new Map(FILES.slice(1))))
  for (const none of [undefined, null, 'text', 7, []]) assert.strictEqual(copies.decoded(none).size, 0)
})

test('an export says what is here, and what is not', async () => {
  assert.strictEqual(await copies.keptWords('nobody'), '')
  kept.hold('words', new Map(FILES))
  assert.strictEqual(await copies.keptWords('words'), 'Kept in this browser: the contents of 4 files, 100 KB.')
})

test('what comes in is added to what is here', async () => {
  kept.hold('t', new Map(FILES.slice(0, 2)))
  await copies.takeBack({ id: 't' }, new Map(FILES.slice(2)), false)
  assert.deepStrictEqual(hashes(await copies.bytesOf('t')), hashes(new Map(FILES)))
})

test('a file is found as the calls left it last, also when it was deleted since', async () => {
  const [one, two] = [objectOf('one'), objectOf('two')]
  const folder = (entries) => objectOf(JSON.stringify({ entries }))
  const sub = folder({ 'über.txt': ['f', 420, 3, two[0]], link: ['l', 'a.txt'] })
  const trees = [folder({ 'a.txt': ['f', 420, 3, one[0]] }), folder({ 'a.txt': ['f', 420, 3, two[0]], out: ['d', 493, sub[0]] }), folder({ out: ['d', 493, sub[0]], lost: ['f', 420, 1, 'f'.repeat(64)] })]
  kept.hold('files', new Map([one, two, sub, ...trees]))
  const results = trees.map(([tree], n) => ({ id: `t${n}`, role: 'tool', tool_call_id: `c${n}`, content: '', result: { tree: { before: '', after: tree } } }))
  const session = { id: 'files', messages: [{ id: 'u', role: 'user', content: 'go' }, ...results] }
  const read = async (path) => (await copies.fileOf(session, path))?.text() ?? null
  const cases = [['a.txt', 'two'], ['./a.txt', 'two'], ['out/über.txt', 'two'], ['out', null], ['out/link', null], ['lost', null], ['none/a.txt', null], ['../a.txt', null], ['', null], ['a.txt/a.txt', null]]
  for (const [path, wanted] of cases) assert.strictEqual(await read(path), wanted, path)
  assert.strictEqual(await copies.fileOf({ id: 'files', messages: [] }, 'a.txt'), null)
})

test('a server gets what it lacks, and what is in the folders that it lacks, once', async () => {
  const [file] = FILES
  const there = FILES[1]
  const folder = objectOf(JSON.stringify({ entries: { a: ['f', 420, 3, file[0]], b: ['f', 420, 3, there[0]], gone: ['f', 420, 1, 'f'.repeat(64)] } }))
  const root = objectOf(JSON.stringify({ entries: { sub: ['d', 493, folder[0]], again: ['d', 493, folder[0]] } }))
  kept.hold('u', new Map([file, there, folder, root]))
  const asked = []
  const request = async (address, { method }) => {
    asked.push(`${method} ${address.slice(9, 13)}`)
    if (method === 'HEAD' && !address.includes(there[0])) throw Object.assign(new Error('no'), { status: 404 })
    return new Response()
  }
  const shares = []
  const giver = (request, workspace) => ({ server: { api: () => ({ request }) }, current: { session: { workspace } } })
  await copies.give(giver(request), [root[0]], (share) => shares.push(share))
  const put = asked.filter((one) => one.startsWith('PUT')).sort()
  assert.deepStrictEqual(put, [root, folder, file].map(([hash]) => `PUT ${hash.slice(0, 4)}`).sort())
  assert.ok(shares.every((share) => share >= 0 && share < 1))
  const broken = async () => { throw Object.assign(new Error('full'), { status: 507 }) }
  await assert.rejects(copies.give(giver(broken), [root[0]], () => {}), /full/)

  const old = objectOf('of the tree that the session began with')
  const begun = objectOf(JSON.stringify({ entries: { a: ['f', 420, 3, old[0]] } }))
  kept.hold('u2', new Map([begun, old]))
  asked.length = 0
  await copies.give(giver(request, { start: begun[0] }), [file[0]], () => {})
  assert.deepStrictEqual(asked.filter((one) => one.startsWith('PUT')).sort(), [file, begun, old].map(([hash]) => `PUT ${hash.slice(0, 4)}`).sort())
  for (const start of [7, '../x', null]) await copies.give(giver(request, { start }), [file[0]], () => {})
})

test('after a run the page keeps what the session changed; without recorded calls nothing', async () => {
  const file = objectOf('of this test alone')
  const tree = objectOf(JSON.stringify({ entries: { a: ['f', 420, 3, file[0]] } }))
  const all = new Map([file, tree])
  const asked = []
  const request = async (address) => (asked.push(address.slice(9)), new Response(all.get(address.slice(9))))
  const app = { server: { api: () => ({ request }) }, store: { kind: 'memory' } }
  const recorded = { id: 'v', messages: [{ id: 'r', role: 'tool', result: { tree: { before: tree[0], after: tree[0] }, changed: [{ path: 'a', change: 'added' }] } }] }
  await copies.keep(app, recorded)
  assert.deepStrictEqual(hashes(await copies.bytesOf('v')), hashes(all))
  await copies.keep(app, recorded)
  assert.strictEqual(asked.length, 2, 'what is here is not fetched again')
  await copies.keep(app, { id: 'w', messages: [] })
  assert.strictEqual(await kept.of('w'), null)
})

test('a ZIP file holds the files, byte for byte, and is read again', async () => {
  const files = [
    { name: 'session.yaa.json', bytes: new TextEncoder().encode('{"id":"文"}') }, { name: 'ordner/ü😀.bin', bytes: new Uint8Array([0, 255, 10]) }, { name: 'empty', bytes: new Uint8Array() },
  ]
  const blob = new Blob(zip(files))
  assert.ok(await unzip.isZip(blob))
  const found = []
  for await (const { name, bytes } of unzip.files(blob, () => true)) found.push({ name, bytes: [...bytes] })
  assert.deepStrictEqual(found, files.map(({ name, bytes }) => ({ name, bytes: [...bytes] })))
  assert.throws(() => zip(Array.from({ length: 65_536 }, () => ({ name: 'a', bytes: new Uint8Array() }))), /65536 files are too many/)
})

test('a directory object is read; what is none of its entries is passed over', () => {
  const hash = 'a'.repeat(64)
  const text = JSON.stringify({ entries: { a: ['f', 420, 3, hash], b: ['d', 493, hash], c: ['l', '../x'], d: ['f', 420, -1, hash], e: ['f', 420, 1, 'nope'], f: 7 } })
  assert.deepStrictEqual(readDirectory(text), { folders: [{ name: 'b', sha256: hash }], files: [{ name: 'a', sha256: hash, bytes: 3 }] })
  for (const bad of ['', '[]', '{}', '{"entries":[]}', 'x']) assert.strictEqual(readDirectory(bad), null, bad)
})
