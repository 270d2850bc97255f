// The server's routes, explanations of failure, settings and keys, names of files, messages between tabs.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const zlib = require('node:zlib')
const { use } = require('./load-modules.js')

const apis = use('io/api')
const { once } = use('io/changes')
const { explain } = use('ext/connection/diagnosis')
const settings = use('io/settings')
const { nameFor } = use('io/download')
const channels = use('io/tab-channel')
const clipboard = use('io/clipboard')
const { quickTimers, manualTimers } = require('./fake-server.js')
const { storageOf } = require('./storage.js')

const caught = (promise) => promise.then(() => assert.fail('it should have failed'), (error) => error)
const down = async () => { throw new TypeError('Failed to fetch') }

test('requests carry the key in a header, and nothing else of this page', async () => {
  const calls = []
  const fetch = async (url, options) => {
    calls.push([url, options])
    return Response.json({ status: 'ok' })
  }
  const api = apis.create({ base: 'http://h:1/yaa//', key: 'k', fetch })
  assert.deepStrictEqual(await api.health(), { status: 'ok' })
  await api.info()
  await api.run({ id: 's', messages: [] })
  await apis.create({ base: api.base, fetch }).info()
  assert.deepStrictEqual(calls.map(([url]) => url), ['http://h:1/yaa/health', 'http://h:1/yaa/info', 'http://h:1/yaa/session', 'http://h:1/yaa/info'])
  for (const [, options] of calls) assert.deepStrictEqual([options.credentials, options.redirect, options.referrerPolicy, options.cache], ['omit', 'manual', 'no-referrer', 'no-store'])
  assert.deepStrictEqual(calls.map(([, { headers }]) => headers.Authorization), ['Bearer k', 'Bearer k', 'Bearer k', undefined])
  assert.deepStrictEqual(calls.map(([, { headers }]) => headers.Accept), ['application/json', 'application/json', 'text/event-stream', 'application/json'])
  assert.strictEqual(calls[2][1].body, '{"id":"s","messages":[]}')
})

test('a file that a tool made is in the own folder of the session, or in the folder that it works on', async () => {
  const calls = []
  const api = apis.create({ base: 'http://h', fetch: async (...asked) => (calls.push(asked), new Response('bytes')) })
  assert.strictEqual(await (await api.file('s/1', 'a b.txt')).text(), 'bytes')
  assert.strictEqual(await (await api.file('s/1', 'ü & b.txt', 'my site')).text(), 'bytes')
  assert.deepStrictEqual(calls.map(([url, { method = 'GET', body }]) => [method, url, body]), [
    ['POST', 'http://h/files', '{"id":"s/1","path":"a b.txt"}'],
    ['GET', 'http://h/workspaces/s%2F1/file?path=%C3%BC+%26+b.txt&folder=my+site', undefined],
  ])
})

test('a large session is packed on its way to another machine', async () => {
  const session = { id: 's', messages: [{ id: 'u', role: 'user', content: 'x'.repeat(100_000) }] }
  for (const [base, packed] of [['http://10.0.0.2:1', true], ['http://127.0.0.1:1', false], ['http://localhost:1', false], ['http://[::1]:1', false]]) {
    let sent
    const api = apis.create({ base, fetch: async (url, options) => (sent = options, Response.json({})) })
    await api.run(session)
    assert.strictEqual(sent.headers['Content-Encoding'], packed ? 'gzip' : undefined)
    const text = packed ? zlib.gunzipSync(Buffer.from(sent.body)).toString() : sent.body
    assert.deepStrictEqual(JSON.parse(text), session)
  }
})

const WORDS = { unauthorized: 'Not signed in.', busy: 'The server is busy. {detail}', foreign: 'Something else answered in place of the server.', refused: 'The server refused this.' }
apis.speak((name, { detail }) => (WORDS[name] ?? name).replace('{detail}', detail))

test('refusals', async () => {
  const rows = [
    [401, { code: 'unauthorized', detail: 'A key.' }, {}, { code: 'unauthorized', message: 'Not signed in.', status: 401, kind: 'refused' }],
    [422, { code: 'session_invalid', detail: 'Bad.', errors: [{ pointer: '/a', detail: 'x' }] }, {}, { pointer: '/a', errors: [{ pointer: '/a', detail: 'x' }] }],
    [429, { error: { message: 'Slow.', code: 'rate' } }, { 'Retry-After': '7' }, { code: 'rate', message: 'The server is busy. Slow.', retryAfter: 7, kind: 'busy' }],
    [503, { code: 'overloaded', detail: 'Full.' }, {}, { code: 'overloaded', message: 'The server is busy. Full.', kind: 'busy', status: 503 }],
    [429, '<html>', { 'Retry-After': '3600' }, { code: 'http_429', message: 'The server is busy.', retryAfter: 3600, kind: 'busy' }],
    [500, { code: 'internal', detail: 'Mine.' }, {}, { code: 'internal', message: 'Mine.', kind: 'refused', status: 500 }],
    [404, '', { 'Content-Type': 'application/json' }, { kind: 'refused', status: 404, message: 'The server refused this.' }],
    // what another one says has no status, so that nobody takes its 404 or 401 for the server's
    ...[401, 403, 404, 429, 500, 502, 503, 504].map((status) => [status, '<html>', {}, { code: `http_${status}`, kind: 'foreign', status: 0, retryAfter: null, message: 'Something else answered in place of the server.' }]),
    [500, 'null', { 'Retry-After': 'Wed, 21 Oct 2026 07:28:00 GMT' }, { code: 'http_500', retryAfter: null, kind: 'foreign' }],
  ]
  for (const [status, body, headers, expected] of rows) {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const api = apis.create({ base: 'http://h', fetch: async () => new Response(text, { status, headers }) })
    const error = await caught(api.info())
    assert.ok(error instanceof Error)
    assert.strictEqual(error.name, 'ApiError')
    for (const [key, value] of Object.entries(expected)) assert.deepStrictEqual(error[key], value, `${status} ${key}`)
  }
})

test('no answer, no JSON, stopped, too late', async () => {
  const rows = [[down, 'network', 'network'], [async () => new Response('<html>'), 'foreign', 'not_json'], [async () => { throw new DOMException('x', 'AbortError') }, 'aborted', 'aborted'], [async () => { throw new DOMException('x', 'TimeoutError') }, 'network', 'timeout']]
  for (const [fetch, kind, code] of rows) {
    const error = await caught(apis.create({ base: 'http://h', fetch }).info())
    assert.deepStrictEqual([error.kind, error.code], [kind, code])
  }
})

/** An answer whose body comes in these pieces; after the last one it ends, breaks or hangs. */
const pieces = (parts, end, headers = { 'Content-Type': 'application/json' }) => ({ signal }) => new Response(new ReadableStream({
  start: (controller) => signal.addEventListener('abort', () => controller.error(signal.reason)),
  pull: (controller) => {
    if (parts.length) return controller.enqueue(new TextEncoder().encode(parts.shift()))
    if (end === 'ends') return controller.close()
    if (end === 'breaks') return controller.error(new TypeError('network error'))
    return new Promise(() => {})
  },
}, { highWaterMark: 0 }), { headers })
const hang = ({ signal }) => new Promise((_, reject) => { signal.addEventListener('abort', () => reject(signal.reason)) })

test('an answer that hangs, breaks off or is not the server’s: which kind of failure, whatever the route', async () => {
  const html = { 'Content-Type': 'text/html; charset=utf-8' }
  const rows = [
    ['no headers', hang, 'network', 'timeout'], ['half a body, then nothing', pieces(['{"a":'], 'hangs'), 'network', 'timeout'],
    ['cut in the body', pieces(['{"a":'], 'breaks'), 'cut', 'cut'], ['cut before the body', pieces([], 'breaks'), 'cut', 'cut'],
    ['shorter than it is', pieces(['{"a":'], 'ends'), 'cut', 'cut'], ['a portal', pieces(['<html>'], 'ends', html), 'foreign', 'not_json'],
    ['a portal that leads on', () => Object.defineProperties(new Response(null), { status: { value: 0 }, ok: { value: false }, type: { value: 'opaqueredirect' } }), 'foreign', 'http_0'],
  ]
  for (const [name, answer, kind, code] of rows) {
    for (const asks of [(api) => api.ask('/x'), (api) => api.ask('/x', { body: { a: 1 } }), (api) => api.request('/x')]) {
      if (name === 'shorter than it is' && /request/.test(asks)) continue // only its length says so, which the browser looks at
      const timers = quickTimers()
      const { set } = timers
      timers.set = (callback, ms) => (ms >= 30_000 ? setTimeout(callback, 20) : set(callback, ms))
      timers.clear = clearTimeout
      const api = apis.create({ base: 'http://h', timers, fetch: async (url, options) => answer(options) })
      const error = await caught(asks(api))
      assert.deepStrictEqual([error.kind, error.code, error.status], [kind, code, 0], name)
    }
  }
})

test('what may be repeated is, after a pause, as long as it may go better; the rest is asked once', async () => {
  const gateway = async () => new Response('<html>', { status: 502 })
  const portal = async () => new Response('<html>', { headers: { 'Content-Type': 'text/html' } })
  const refusal = async () => Response.json({ code: 'internal', detail: 'x' }, { status: 500 })
  const rows = [
    [{}, down, 3], [{}, gateway, 3], [{ method: 'HEAD' }, down, 3], [{ method: 'POST' }, down, 1], [{ method: 'PUT', retry: true }, gateway, 3],
    [{ retry: false }, down, 1], [{}, portal, 1], [{}, refusal, 1], [{ stream: true }, down, 1],
  ]
  for (const [options, answer, times] of rows) {
    let asked = 0
    const timers = quickTimers()
    const api = apis.create({ base: 'http://h', timers, fetch: async (...all) => (asked += 1, answer(...all)) })
    await caught(api.request('/x', options))
    assert.strictEqual(asked, times, JSON.stringify(options))
    assert.deepStrictEqual(timers.asked.filter((ms) => ms < 30_000), [500, 1500].slice(0, times - 1))
  }
  let left = 2
  const api = apis.create({ base: 'http://h', timers: quickTimers(), fetch: async () => (left-- ? gateway() : Response.json({ a: 1 })) })
  assert.deepStrictEqual(await api.ask('/x'), { a: 1 })
})

test('a change has the same key until the server itself has answered, however often it is sent', async () => {
  const gateway = () => new Response('<h1>Bad gateway</h1>', { status: 502, headers: { 'Content-Type': 'text/html' } })
  const said = (status) => () => Response.json({ detail: 'x', code: 'x' }, { status })
  const rows = [
    ['answered', [said(200), said(200)], [1, 2]],
    ['lost, and sent again by itself', [gateway, down, said(200), said(200)], [1, 1, 1, 2]],
    ['lost three times, and sent again by a person', [gateway, gateway, gateway, said(200), said(200)], [1, 1, 1, 1, 2]],
    ['refused', [said(422), said(200)], [1, 2]],
    ['busy', [said(429), said(200)], [1, 2]],
  ]
  for (const [name, answers, wanted] of rows) {
    const [keys, names] = [[], []]
    const api = apis.create({ base: 'http://h', timers: quickTimers(), fetch: async (_, { headers }) => {
      const key = headers['Idempotency-Key']
      if (!names.includes(key)) names.push(key)
      keys.push(names.indexOf(key) + 1)
      return answers[keys.length - 1]()
    } })
    while (keys.length < answers.length) await once(name, (headers) => api.ask('/x', { body: {}, retry: true, headers })).catch(() => {})
    assert.deepStrictEqual(keys, wanted, name)
    assert.ok(names.every((key) => /^change_[0-9a-f]{24}$/.test(key)), name)
  }
})

test('a request that is cancelled ends at once, also between two attempts', async () => {
  for (const answer of [hang, down]) {
    const control = new AbortController()
    const api = apis.create({ base: 'http://h', timers: manualTimers(), fetch: async (url, options) => answer(options) })
    const asked = caught(api.ask('/x', { signal: control.signal }))
    await new Promise(setImmediate)
    control.abort()
    assert.deepStrictEqual((await asked).kind, 'aborted')
  }
})

test('a large body has longer to go up, and whoever knows better says how long', async () => {
  const rows = [[{}, 30_000], [{ silence: 120_000 }, 120_000], [{ method: 'PUT', body: new Blob(['x'.repeat(80_000)]) }, 40_000], [{ method: 'PUT', body: new ArrayBuffer(8000) }, 31_000], [{ method: 'POST', body: 'x'.repeat(8000) }, 31_000]]
  for (const [options, ms] of rows) {
    const timers = quickTimers()
    await apis.create({ base: 'http://h', timers, fetch: async () => new Response(null) }).request('/x', options)
    assert.strictEqual(timers.asked[0], ms)
  }
})

test('the sentence of a failure is said in the language of the page', async (context) => {
  const said = (name, { detail }) => `${name}: ${detail}`
  context.after(() => apis.speak((name, { detail }) => detail || name))
  apis.speak(said)
  const busy = apis.create({ base: 'http://h', fetch: async () => Response.json({ detail: 'Full.' }, { status: 503 }) })
  assert.strictEqual((await caught(busy.ask('/x', { retry: false }))).message, 'busy: Full.')
  assert.strictEqual((await caught(apis.create({ base: 'http://h', fetch: down }).ask('/x', { retry: false }))).message, 'network:')
})

test('why it failed', async () => {
  const there = async (url, { mode }) => {
    assert.strictEqual(mode, 'no-cors')
    return {}
  }
  const denied = { query: async ({ name }) => (name === 'local-network-access' ? { state: 'denied' } : Promise.reject(new TypeError('unknown'))) }
  const granted = { query: async () => ({ state: 'granted' }) }
  const rows = [
    [down, 'file:///c/index.html', 'http://127.0.0.1:12345', null, 'server', { server: 'bad' }],
    [there, 'file:///c/index.html', 'http://127.0.0.1:12345', null, 'cors', { server: 'ok', cors: 'bad' }],
    [there, 'http://127.0.0.1:12345/#s=1', 'http://127.0.0.1:12345', null, 'cut', {}],
    [down, 'https://example.com/', 'http://192.168.0.4:12345', null, 'mixed', {}],
    [down, 'https://example.com/', 'http://127.0.0.1:12345', denied, 'permission', { permission: 'bad' }],
    [down, 'https://example.com/', 'http://127.0.0.1:12345', granted, 'server', { server: 'bad' }],
    [down, 'http://example.com/', 'http://192.168.0.4:12345', denied, 'permission', { permission: 'bad' }],
    [down, 'http://box.example/', 'http://box.example:12345', denied, 'server', { server: 'bad' }],
    [down, 'http://box.lan/', 'http://192.168.0.4:12345', denied, 'server', { server: 'bad' }],
    [down, 'file:///c/index.html', 'http://192.168.0.4:12345', denied, 'server', { server: 'bad' }],
    [down, 'https://example.com/', 'https://example.org', denied, 'server', { server: 'bad' }],
  ]
  for (const [fetch, page, base, permissions, cause, checks] of rows) {
    const api = apis.create({ base, fetch: down })
    const found = await explain(await caught(api.info()), { api, page, fetch, permissions })
    assert.strictEqual(found.cause, cause, `${page} → ${base}`)
    assert.strictEqual(found.error.kind, cause === 'cut' ? 'cut' : 'network')
    assert.deepStrictEqual(found.checks, { server: 'unknown', key: 'unknown', cors: 'unknown', permission: 'unknown', ...checks })
  }
  for (const [answer, cause] of [
    [async () => { throw new DOMException('x', 'TimeoutError') }, 'slow'], [async () => new Response('<html>', { status: 502 }), 'foreign'],
    [async () => new Response('<html>', { headers: { 'Content-Type': 'text/html' } }), 'foreign'], [async () => Response.json({}, { status: 503 }), 'busy'],
  ]) {
    const api = apis.create({ base: 'http://h', fetch: answer })
    const found = await explain(await caught(api.info()), { api, page: 'http://h/', fetch: there })
    assert.deepStrictEqual([found.cause, new Set(Object.values(found.checks))], [cause, new Set(['unknown'])], 'it is no matter of origins')
  }
  const asks = apis.create({ base: 'http://127.0.0.1:12345', fetch: async () => { throw new DOMException('x', 'TimeoutError') } })
  const held = await explain(await caught(asks.info()), { api: asks, page: 'https://example.com/', permissions: denied })
  assert.strictEqual(held.cause, 'permission', 'a browser that asks lets the request wait')
  for (const [status, cause, key] of [[401, 'key', 'bad'], [403, 'other', 'unknown'], [500, 'other', 'unknown']]) {
    const api = apis.create({ base: 'http://h', fetch: async () => new Response('{}', { status }) })
    const found = await explain(await caught(api.info()), { api })
    assert.deepStrictEqual([found.cause, found.checks], [cause, { server: 'ok', cors: 'ok', permission: 'ok', key }])
  }
})

function place(href) {
  const { protocol, origin, pathname, search, hash } = new URL(href)
  return { protocol, origin, pathname, search, hash, href }
}

function storage(refuses = false) {
  const made = storageOf()
  if (refuses) made.setItem = () => { throw new Error('QuotaExceededError') }
  return made
}

test('the server is the one the page came from, or the usual one on this machine', () => {
  for (const [href, base] of [['http://h:1/', 'http://h:1'], ['https://h/yaa/index.html?x#y', 'https://h/yaa'], ['file:///home/me/client/index.html', 'http://127.0.0.1:12345']]) {
    const own = storage()
    const set = settings.open({ storage: own, location: place(href) })
    assert.strictEqual(set.base(), base)
    set.setBase(' http://other:2/ ')
    assert.strictEqual(settings.open({ storage: own, location: place(href) }).base(), 'http://other:2')
    set.setBase('')
    assert.strictEqual(settings.open({ storage: own, location: place(href) }).base(), base)
  }
})

test('an address as a person gives it: bare, with slashes, or the whole link that a server prints', () => {
  const link = (address, key = '', code = '') => ({ address, key, code })
  const rows = [
    ['', link('')], ['  ', link('')], [' http://h:1// ', link('http://h:1')], ['http://h:1/#key=a%2Bb%3D', link('http://h:1', 'a+b=')],
    ['https://h/yaa/#key=k&x=1', link('https://h/yaa', 'k')], ['http://h/#s=1', link('http://h')], ['http://h/#', link('http://h')],
    ['localhost:12345', link('http://localhost:12345')], ['127.0.0.1:1/', link('http://127.0.0.1:1')], ['yaa.lan', link('http://yaa.lan')],
    ['ftp://h', link('ftp://h')], ['http://h:1/#code=aB-_9', link('http://h:1', '', 'aB-_9')], ['#code=z', link('', '', 'z')],
  ]
  for (const [words, expected] of rows) assert.deepStrictEqual(settings.linkOf(words), expected, words)
})

test('a key is taken from a pasted link', () => {
  const set = settings.open({ storage: storage(), location: place('http://h/') })
  for (const [words, key] of [['k', 'k'], [' k ', 'k'], ['http://other:1/#key=a%2Bb', 'a+b'], ['#key=z', 'z'], ['sk-#key', 'sk-#key'], ['', '']]) {
    set.setKey(words)
    assert.strictEqual(set.key(), key, words)
    assert.strictEqual(set.base(), 'http://h', 'the address stays')
  }
})

test('the key of a link is its address’s own, kept no longer than one that is typed, and never part of the address', () => {
  for (const [href, remembered] of [['http://h/', true], ['file:///c/index.html', false]]) {
    const own = storage()
    const set = settings.open({ storage: own, location: place(href) })
    set.setBase('http://other:2/#key=secret')
    assert.deepStrictEqual([set.base(), set.key()], ['http://other:2', 'secret'])
    set.setBase('http://third:3')
    assert.strictEqual(set.key(), '')
    assert.strictEqual([...own.kept.values()].join().includes('secret'), remembered, href)
  }
})

test('a page that saw none of the settings writes over none but its own', () => {
  const own = storage()
  own.kept.set('yaa.settings', '{"theme":"dark","prompts":[{"name":"p"}],"keys":"on"}')
  const open = (kept) => settings.open({ storage: kept, location: place('file:///c/index.html') })
  const blind = { length: 0, key: () => null, getItem: () => null, setItem: own.setItem, removeItem() {} } // as Chromium shows it at times
  const set = open(blind)
  assert.deepStrictEqual(set.all(), {})
  set.set('theme', 'light')
  const wanted = { theme: 'light', prompts: [{ name: 'p' }], keys: 'on' }
  for (const times of [1, 2]) assert.deepStrictEqual(open(own).all(), wanted, String(times))
  assert.deepStrictEqual([...own.kept.keys()].sort(), ['yaa.setting keys', 'yaa.setting prompts', 'yaa.setting theme'])
  open(blind).set('keys', 'off')
  assert.deepStrictEqual(open(own).all(), { ...wanted, keys: 'off' })
})

test('settings last; storage that is odd, full or missing does no harm', () => {
  const own = storage()
  settings.open({ storage: own, location: place('http://h/') }).set('theme', 'dark')
  const again = settings.open({ storage: own, location: place('http://h/') })
  assert.deepStrictEqual([again.get('theme'), again.all(), again.get('none')], ['dark', { theme: 'dark' }, undefined])
  again.set('theme', undefined)
  assert.deepStrictEqual(own.kept.size, 0)
  const odd = storage()
  for (const text of ['{', 'null', '3', '"x"']) {
    odd.kept.set('yaa.settings', text)
    odd.kept.set('yaa.setting b', '{')
    odd.kept.set('yaa.keys', text)
    const set = settings.open({ storage: odd, location: place('http://h/') })
    assert.deepStrictEqual([set.all(), set.key()], [{ b: undefined }, ''])
  }
  const full = storage(true)
  full.kept.set('yaa.settings', '{"theme":"dark"}')
  assert.strictEqual(settings.open({ storage: full, location: place('http://h/') }).get('theme'), 'dark')
  assert.strictEqual(full.kept.size, 1, 'it stays where it cannot be written anew')
  for (const each of [storage(true), null]) {
    const set = settings.open({ storage: each, location: place('http://h/') })
    set.set('a', 1)
    set.setKey('k')
    assert.deepStrictEqual([set.get('a'), set.key()], [1, 'k'])
  }
})

test('the key: kept where the page is served, in memory where it is opened from disk', () => {
  const [web, disk] = [storage(), storage()]
  const served = settings.open({ storage: web, location: place('http://h/') })
  assert.strictEqual(served.canRememberSafely, true)
  served.setKey(' k ')
  assert.strictEqual(settings.open({ storage: web, location: place('http://h/') }).key(), 'k')
  const opened = settings.open({ storage: disk, location: place('file:///c/index.html') })
  assert.deepStrictEqual([opened.canRememberSafely, opened.remembers()], [false, false])
  opened.setKey('k')
  assert.strictEqual(opened.key(), 'k')
  assert.strictEqual(disk.kept.size, 0)
  opened.setKey('k', { remember: true })
  assert.strictEqual(settings.open({ storage: disk, location: place('file:///c/index.html') }).remembers(), true)
  opened.setKey('k', { remember: false })
  assert.deepStrictEqual([opened.key(), disk.kept.size], ['k', 0])
  served.setKey('', { remember: served.remembers() })
  assert.deepStrictEqual([served.key(), web.kept.size], ['', 0])
})

test('a key is never shown to another server', () => {
  const set = settings.open({ storage: storage(), location: place('http://h/') })
  set.setKey('secret')
  set.setBase('http://evil.test')
  assert.strictEqual(set.key(), '')
  set.setKey('other')
  set.setBase('')
  assert.strictEqual(set.key(), 'secret')
})

test('a link that signs in is taken out of the address, and changes nothing by itself', (context) => {
  const replaced = []
  globalThis.history = { replaceState: (_, __, to) => replaced.push(to) }
  context.after(() => { delete globalThis.history })
  const at = (href) => {
    const own = storage()
    own.kept.set('yaa.base', 'http://elsewhere')
    const set = settings.open({ storage: own, location: place(href) })
    const link = set.takeLink()
    assert.deepStrictEqual([set.base(), set.key()], ['http://elsewhere', ''])
    return link
  }
  const rows = [
    ['http://h/#key=a%2Bb%3D', { address: 'http://h', key: 'a+b=', code: '', elsewhere: false }, '/'],
    ['http://h/yaa/?x=1#code=k', { address: 'http://h/yaa', key: '', code: 'k', elsewhere: false }, '/yaa/?x=1'],
    ['http://h/?from=elsewhere#code=k', { address: 'http://h', key: '', code: 'k', elsewhere: true }, '/'],
    ['file:///c/index.html#code=k', { address: 'http://127.0.0.1:12345', key: '', code: 'k', elsewhere: false }, '/c/index.html'],
    ['http://h/?from=elsewhere#s=1', null, '/#s=1'], ['http://h/#s=1', null], ['http://h/', null], ['http://h/#key=', null],
  ]
  for (const [href, link, to] of rows) {
    assert.deepStrictEqual(at(href), link, href)
    assert.deepStrictEqual(replaced.splice(0), to === undefined ? [] : [to], href)
  }
})

test('names of files', () => {
  const rows = [['Plan: a/b\\c?', 'Plan-a-b-c.json'], ['', 'session.json'], ['...', 'session.json'], ['../../etc/passwd', 'etc-passwd.json'], ['你好 😀', '你好-😀.json'], ['a\0\n\u202eb', 'a-b.json'], ['a 👩‍👩‍👧 b', 'a-👩‍👩‍👧-b.json'], ['x'.repeat(300), `${'x'.repeat(60)}.json`]]
  for (const [title, name] of rows) assert.strictEqual(nameFor({ title }, 'json'), name)
})

test('tabs hear each other, not themselves', async () => {
  const [one, other] = [channels.open('t'), channels.open('t')]
  const heard = []
  one.listen((message) => heard.push(['one', message]))
  const got = new Promise((resolve) => other.listen((message) => resolve(message)))
  one.send({ changed: ['s'] })
  assert.deepStrictEqual(await got, { changed: ['s'] })
  assert.deepStrictEqual(heard, [])
  one.close()
  other.close()
})

test('copying: the clipboard, else the command, within the open dialog', async (context) => {
  const navigator = Object.getOwnPropertyDescriptor(globalThis, 'navigator')
  context.after(() => {
    if (navigator) Object.defineProperty(globalThis, 'navigator', navigator)
    else delete globalThis.navigator
    delete globalThis.document
  })
  const given = []
  const set = (value) => Object.defineProperty(globalThis, 'navigator', { value, configurable: true })
  set({ clipboard: { writeText: async (text) => given.push(text) } })
  assert.strictEqual(await clipboard.copy('a'), true)
  const dialog = { append: (area) => given.push(['in dialog', area.value]) }
  const area = { style: { setProperty: () => {} }, select: () => {}, remove: () => given.push('removed') }
  globalThis.document = { activeElement: { closest: () => dialog, focus: () => given.push('focus') }, createElement: () => area, execCommand: () => true }
  for (const odd of [{}, { clipboard: { writeText: async () => { throw new Error('NotAllowedError') } } }]) {
    set(odd)
    assert.strictEqual(await clipboard.copy('b'), true)
  }
  assert.deepStrictEqual(given, ['a', ['in dialog', 'b'], 'removed', 'focus', ['in dialog', 'b'], 'removed', 'focus'])
})
