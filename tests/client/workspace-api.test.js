// Files of a session on a server: addresses, pieces of an upload that is cut, and the objects a page keeps beside a session.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const vm = require('node:vm')
const { createHash } = require('node:crypto')
const { use, JS } = require('./load-modules.js')
const { FakeIDB } = require('./fake-idb.js')

const workspaces = use('ext/files/workspace-api')
const { gather, sound } = use('ext/files/object-fetch')
const apis = use('io/api')

const answer = (body, status = 200) => new Response(JSON.stringify(body), { status, headers: { 'Content-Type': 'application/json' } })

/** A workspace over a server that answers with what `serve` returns. */
function over(serve, folder) {
  const asked = []
  const api = apis.create({ base: 'http://server', key: 'k', fetch: async (url, options) => (asked.push({ url: String(url).slice('http://server'.length), ...options }), serve(asked.at(-1), asked.length)) })
  return { files: workspaces.open(api, 's/1 ü', folder), asked }
}

test('addresses hold any session, folder and path', async () => {
  const { files, asked } = over(() => answer({ entries: [], complete: true }), 'my notes')
  await files.list('a b/ü#?.txt', { tree: 'T', depth: 1 })
  await files.list('')
  await files.diff('base', 'now')
  await files.archive({ paths: ['a', 'b&c'] })
  assert.deepStrictEqual(asked.map((one) => one.url), [
    '/workspaces/s%2F1%20%C3%BC/files?path=a+b%2F%C3%BC%23%3F.txt&tree=T&depth=1&folder=my+notes',
    '/workspaces/s%2F1%20%C3%BC/files?folder=my+notes',
    '/workspaces/s%2F1%20%C3%BC/diff?from=base&to=now&folder=my+notes',
    '/workspaces/s%2F1%20%C3%BC/archive?path=a&path=b%26c&folder=my+notes',
  ])
  assert.ok(asked.every(({ headers }) => headers.Authorization === 'Bearer k'))
})

test('the beginning of a file is asked for; an empty one has none', async () => {
  const { files, asked } = over((_, n) => (n === 1 ? new Response('abc', { status: 206 }) : answer({ code: 'range' }, 416)))
  assert.strictEqual(await (await files.read('a', { most: 3 })).text(), 'abc')
  assert.strictEqual((await files.read('b', { most: 3 })).size, 0)
  assert.strictEqual(asked[0].headers.Range, 'bytes=0-2')
})

test('what is at a path is asked of the folders on the way', async () => {
  const folders = {
    '': { entries: [{ path: 'a', kind: 'folder' }, { path: 'b', kind: 'file', bytes: 0 }], complete: true },
    a: { entries: [{ path: 'a/c d', kind: 'file', bytes: 3 }], complete: false },
  }
  const { files, asked } = over(({ url }) => answer(folders[new URL(url, 'http://x').searchParams.get('path') ?? '']))
  assert.deepStrictEqual(await files.find('b'), folders[''].entries[1])
  assert.deepStrictEqual(await files.find('a/c d'), folders.a.entries[0])
  assert.strictEqual(await files.find('gone/below'), null)
  assert.strictEqual((await files.find('a/far')).kind, 'unknown')
  assert.strictEqual(asked.length, 6)
})

const MB = 2 ** 20
/** A server that puts pieces together; `cut` says what happens to the n-th request. */
function receiver(cut = () => null) {
  const state = { bytes: new Uint8Array(), ranges: [] }
  const serve = async ({ headers, body }, n) => {
    const bytes = new Uint8Array(await body.arrayBuffer())
    const range = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(headers['Content-Range'] ?? '')
    const trouble = cut(n, state)
    if (trouble) return trouble
    if (!range) return (state.bytes = bytes, answer({ path: 'p', bytes: bytes.length, tree: 'T' }))
    const [from, to, total] = range.slice(1).map(Number)
    state.ranges.push([from, to])
    assert.strictEqual(from, state.bytes.length, 'no gap, nothing twice')
    assert.strictEqual(bytes.length, to - from + 1)
    state.bytes = Buffer.concat([state.bytes, bytes])
    return state.bytes.length === total ? answer({ path: 'p', bytes: total, tree: 'T' }) : answer({ received: state.bytes.length }, 202)
  }
  return { state, serve }
}
const pause = async () => {}

test('a file goes up in pieces, and says how far it is', async () => {
  for (const size of [0, 5, MB, MB + 1, 3 * MB + 7]) {
    const { state, serve } = receiver()
    const seen = []
    const bytes = Uint8Array.from({ length: size }, (_, i) => i % 251)
    const done = await over(serve).files.upload('p', new Blob([bytes]), { onProgress: (sent) => seen.push(sent), pause })
    assert.deepStrictEqual([done.tree, state.bytes.length, Buffer.compare(Buffer.from(state.bytes), Buffer.from(bytes)), seen.at(-1)], ['T', size, 0, size], String(size))
    assert.strictEqual(state.ranges.length, size > MB ? Math.ceil(size / MB) : 0)
  }
})

test('a piece that is lost is sent again, from where the server is', async () => {
  const blob = new Blob([new Uint8Array(3 * MB)])
  const { state, serve } = receiver((n) => {
    if (n === 2) throw new TypeError('network')
    if (n === 4) return answer({ code: 'workspace_busy' }, 409)
    return null
  })
  await over(serve).files.upload('p', blob, { pause })
  assert.strictEqual(state.bytes.length, 3 * MB)
})

test('a server that has lost pieces gets them again', async () => {
  const { state, serve } = receiver((n, { bytes }) => {
    if (n !== 3) return null
    state.bytes = bytes.slice(0, MB / 2)
    return answer({ code: 'workspace_conflict', received: MB / 2 }, 409)
  })
  const bytes = Uint8Array.from({ length: 3 * MB }, (_, i) => i % 241)
  await over(serve).files.upload('p', new Blob([bytes]), { pause })
  assert.strictEqual(Buffer.compare(Buffer.from(state.bytes), Buffer.from(bytes)), 0)
})

test('what does not get better ends the upload', async () => {
  const blob = new Blob([new Uint8Array(2 * MB)])
  const cases = [
    [() => answer({ code: 'disk_full', detail: 'The disk is full.' }, 507), /disk is full/],
    [() => { throw new TypeError('network') }, /network/],
    [() => answer({ received: 0 }, 202), /takes nothing/],
    [() => answer({ code: 'path_outside', detail: 'outside' }, 422), /outside/],
  ]
  for (const [cut, why] of cases) await assert.rejects(over(receiver(cut).serve).files.upload('p', blob, { pause }), why)
  const stop = new AbortController()
  const { serve } = receiver()
  await assert.rejects(over(serve).files.upload('p', blob, { signal: stop.signal, pause, onProgress: () => stop.abort() }), { name: 'AbortError' })
})

// -- objects --

const bytesOf = (text) => new TextEncoder().encode(text).buffer
const hashOf = (buffer) => createHash('sha256').update(Buffer.from(buffer)).digest('hex')

/** A store of objects: files and folders put in give their names. */
function objects() {
  const all = new Map()
  const put = (buffer) => (all.set(hashOf(buffer), buffer), hashOf(buffer))
  const file = (text) => ['f', 420, Buffer.byteLength(text), put(bytesOf(text))]
  const folder = (entries) => ['d', 493, put(bytesOf(JSON.stringify({ entries })))]
  return { all, file, folder, tree: (entries) => folder(entries)[2] }
}

const recorded = (n, before, after, paths) => ({ id: `r${n}`, role: 'tool', tool_call_id: `c${n}`, result: { tree: { before, after }, changed: paths.map((one) => ({ path: one, change: 'modified' })) } })

test('the stand is gathered whole, and of earlier trees what was changed', async () => {
  const store = objects()
  const before = store.tree({ a: store.file('old a'), b: store.file('same'), sub: store.folder({ c: store.file('old c') }), other: store.folder({ d: store.file('never changed') }) })
  const after = store.tree({ a: store.file('new a'), b: store.file('same'), sub: store.folder({ c: store.file('new c') }), other: store.folder({ d: store.file('never changed') }) })
  const session = { id: 's', messages: [recorded(1, before, after, ['a', 'sub/c'])] }
  const asked = []
  const get = async (hash) => (asked.push(hash), store.all.get(hash))
  const whole = await gather(session, { get })
  assert.deepStrictEqual([new Set(whole.objects), whole.left], [new Set(store.all.keys()), { count: 0, bytes: 0 }])
  assert.strictEqual(asked.length, new Set(asked).size, 'nothing is fetched twice')
  // what is here is not fetched again, folders are read from here
  const again = await gather(session, { get, known: new Map([...store.all].map(([hash, content]) => [hash, content.byteLength])) })
  assert.deepStrictEqual([again.fetched.size, again.objects.length], [0, store.all.size])
})

test('of the tree that the session began with all folders are gathered, not the files', async () => {
  const store = objects()
  const begun = store.tree({ sub: store.folder({ c: store.file('c of the start') }), a: store.file('a of the start') })
  const after = store.tree({ a: store.file('new a') })
  const session = { id: 's', workspace: { start: begun }, messages: [recorded(1, after, after, ['b'])] }
  const found = await gather(session, { get: async (hash) => store.all.get(hash) })
  const folders = [begun, after, hashOf(store.folder({ c: store.file('c of the start') }))]
  assert.ok(found.objects.includes(begun))
  assert.strictEqual(found.objects.length, folders.length + 1)
})

test('what does not fit is said: files that changed come first', async () => {
  const store = objects()
  const tree = store.tree({ big: store.file('x'.repeat(5000)), changed: store.file('y'.repeat(1000)), also: store.file('z'.repeat(900)) })
  const session = { id: 's', messages: [recorded(1, tree, tree, ['changed'])] }
  const found = await gather(session, { get: async (hash) => store.all.get(hash), mostBytes: 3000 })
  assert.deepStrictEqual(found.left, { count: 1, bytes: 5000 })
  const few = await gather(session, { get: async (hash) => store.all.get(hash), mostObjects: 2 })
  assert.ok(few.objects.includes(hashOf(bytesOf('y'.repeat(1000)))) && few.left.count === 2)
})

test('objects that are gone are counted, a server that fails ends it, hostile trees do no harm', async () => {
  const store = objects()
  const tree = store.tree({ a: store.file('a'), gone: ['f', 420, 9, 'b'.repeat(64)], evil: ['d', 493, '../../x'] })
  const session = { id: 's', messages: [recorded(1, tree, tree, ['a'])] }
  const get = async (hash) => { if (!store.all.has(hash)) throw Object.assign(new Error('no'), { status: 404 }); return store.all.get(hash) }
  assert.deepStrictEqual((await gather(session, { get })).left, { count: 1, bytes: 9 })
  await assert.rejects(gather(session, { get: async () => { throw new Error('down') } }), /down/)
  assert.deepStrictEqual((await gather({ id: 's', messages: [] }, { get })).objects, [])
  const [wrong, mixed] = [bytesOf('wrong'), hashOf(bytesOf('a'))]
  const found = await gather(session, { get: async (hash) => (hash === mixed ? wrong : get(hash)) })
  assert.deepStrictEqual([found.objects, [...found.fetched.keys()], found.left], [[tree], [tree], { count: 2, bytes: 10 }], 'bytes are not what their name says')
})

test('of objects out of a file those stay whose bytes are what their name says', () => {
  const good = bytesOf('good')
  assert.deepStrictEqual([...sound(new Map([[hashOf(good), good], ['c'.repeat(64), good], ['name', good]])).keys()], [hashOf(good)])
})

/** What a page has of the store, after it was loaded. @param {any} [indexedDB] */
function keeper(indexedDB) {
  const context = vm.createContext({ indexedDB })
  for (const file of ['kernel', 'io/idb-transaction', 'ext/files/kept-objects']) vm.runInContext(fs.readFileSync(path.join(JS, `${file}.js`), 'utf8'), context)
  return context.yaa.use('ext/files/kept-objects')
}
const NONE = { count: 0, bytes: 0 }

test('objects outlive a reload, are kept once, and go with the last session that names them', async () => {
  const idb = new FakeIDB()
  const [one, two] = ['1', '2'].map((sign) => sign.repeat(64))
  const page = keeper(idb)
  await page.save('s', { objects: [one, two], bytes: 8, left: NONE }, new Map([[one, bytesOf('one')], [two, bytesOf('two')]]))
  await page.save('t', { objects: [two], bytes: 4, left: { count: 3, bytes: 9 } }, new Map())
  const next = keeper(idb)
  assert.deepStrictEqual([(await next.of('t')).left, Buffer.from(await next.get(two)).toString()], [{ count: 3, bytes: 9 }, 'two'])
  await next.remove('s')
  assert.deepStrictEqual([await next.of('s'), await next.get(one), Boolean(await next.get(two))], [null, null, true])
  await next.removeUnused(new Set(['other']))
  assert.deepStrictEqual([await next.of('t'), await next.get(two)], [null, null])
})

test('without storage objects last as long as the page; a temporary session leaves none', async () => {
  const page = keeper()
  await page.save('s', { objects: ['x'], bytes: 1, left: NONE }, new Map([['x', bytesOf('x')]]))
  assert.deepStrictEqual([await page.of('s'), await page.get('x')], [null, null])
  page.hold('s', new Map([['x', bytesOf('x')]]))
  assert.deepStrictEqual([(await page.of('s')).objects.join(), Buffer.from(await page.get('x')).toString()], ['x', 'x'])
})
