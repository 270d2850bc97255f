// The service worker: what it keeps, what it lets pass, and how it goes.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const vm = require('node:vm')
const { ROOT } = require('./load-modules.js')

const SCRIPT = fs.readFileSync(path.join(ROOT, 'client', 'service-worker.js'), 'utf8')
const SCOPE = 'https://h/yaa/'
const FILES = ['v/b/page.js', 'v/b/js/more.js']

/** Cache storage, as far as it is used. */
function cacheStorage(kept = {}) {
  const all = new Map(Object.entries(kept).map(([name, entries]) => [name, new Map(Object.entries(entries).map(([url, body]) => [url, new Response(body)]))]))
  const found = (entries, url) => entries?.get(String(url))?.clone()
  return {
    all,
    open: async (name) => {
      if (!all.has(name)) all.set(name, new Map())
      const entries = all.get(name)
      return {
        put: async (url, answer) => { entries.set(String(url), answer) },
        addAll: async (urls) => { for (const url of urls) entries.set(url, new Response(url)) },
        match: async (url) => found(entries, url),
      }
    },
    match: async (url, { cacheName } = {}) => (cacheName ? found(all.get(cacheName), url) : [...all.values()].map((one) => found(one, url)).find(Boolean)),
    keys: async () => [...all.keys()],
    delete: async (name) => all.delete(name),
  }
}

/** A worker with a network that answers as `answers` says, by address; one that is not there is away. */
function worker({ page = { version: 'b', files: FILES }, kept, answers = {} } = {}) {
  const heard = {}
  const did = []
  const caches = cacheStorage(kept)
  const self = {
    page, registration: { scope: SCOPE, unregister: async () => { did.push('unregister') } },
    skipWaiting: async () => { did.push('skipWaiting') }, addEventListener: (type, callback) => { heard[type] = callback },
  }
  const fetch = async (asked) => {
    const answer = answers[typeof asked === 'string' ? asked : asked.url]
    if (!answer) throw new TypeError('the network is away')
    return answer instanceof Response ? answer.clone() : answer
  }
  vm.runInNewContext(SCRIPT, { self, caches, fetch, Response, crypto, setTimeout, clearTimeout, JSON, Promise })
  const phase = async (type) => {
    let work
    heard[type]({ waitUntil: (promise) => { work = promise } })
    await work
  }
  const ask = async (url, more = {}) => {
    let answer = null
    const later = []
    const request = { url, method: 'GET', mode: 'navigate', destination: 'document', headers: new Headers(), ...more }
    heard.fetch({ request, respondWith: (promise) => { answer = promise }, waitUntil: (promise) => later.push(promise) })
    if (!answer) return null
    const found = await answer
    await Promise.all(later)
    return found
  }
  return { caches, did, phase, ask }
}

const pageOf = (version, status = 200) => new Response(`page ${version}`, { status, headers: version ? { 'yaa-page': version } : {} })

test('it keeps one version whole, or nothing', async () => {
  const one = worker({ answers: { [SCOPE]: pageOf('b') } })
  await one.phase('install')
  assert.deepStrictEqual([...one.caches.all.get('yaa-page-b').keys()], [SCOPE, ...FILES.map((file) => SCOPE + file)])
  assert.deepStrictEqual(one.did, ['skipWaiting'])
  for (const index of [pageOf('c'), pageOf(''), pageOf('b', 500), undefined]) {
    const other = worker({ answers: { [SCOPE]: index } })
    await assert.rejects(other.phase('install'))
    assert.deepStrictEqual([...other.caches.all.keys()], [])
  }
})

test('it deletes what is older than the version before', async () => {
  const kept = { other: {}, 'yaa-page-x': {}, 'yaa-page-y': {}, 'yaa-page-a': {}, 'yaa-page-b': {}, 'yaa-shared': {} }
  const one = worker({ kept })
  await one.phase('activate')
  assert.deepStrictEqual([...one.caches.all.keys()], ['other', 'yaa-page-a', 'yaa-page-b', 'yaa-shared'])
})

test('it opens the page as the server has it, and as it was kept where there is none', async () => {
  const kept = { 'yaa-page-a': { [SCOPE]: 'page a' }, 'yaa-page-b': { [SCOPE]: 'page b' } }
  const rows = [
    [pageOf('c'), 'page c'], [pageOf('b', 401), 'page b'], [undefined, 'page b'], [pageOf('', 502), 'page b'], [pageOf('', 503), 'page b'], [pageOf('', 504), 'page b'],
    [pageOf('', 500), 'page b'], [pageOf('', 429), 'page b'], [pageOf('', 404), 'page '],
    [pageOf(''), 'page '], // a portal's: it may be needed to get to the server, and nothing is deleted for it
  ]
  for (const [index, words] of rows) {
    for (const url of [SCOPE, `${SCOPE}index.html`, `${SCOPE}?x=1`, `${SCOPE}#s=1`]) {
      const one = worker({ kept, answers: index && { [url]: index } })
      assert.strictEqual(await (await one.ask(url)).text(), words, `${url} ${index?.status}`)
      assert.deepStrictEqual([one.did, [...one.caches.all.keys()]], [[], Object.keys(kept)])
    }
  }
  await assert.rejects(worker().ask(SCOPE), /network is away/)
})

test('it goes when the server wants none, with all it kept and nothing else', async () => {
  const kept = { other: {}, 'yaa-page-a': {}, 'yaa-page-b': {}, 'yaa-shared': {} }
  const without = worker({ kept, answers: { [SCOPE]: pageOf('none') } })
  assert.strictEqual(await (await without.ask(SCOPE)).text(), 'page none')
  assert.deepStrictEqual([without.did, [...without.caches.all.keys()]], [['unregister'], ['other']])
  // the bare file, as an older server or another program sends it
  const bare = worker({ page: null, kept })
  await bare.phase('install')
  assert.strictEqual(await bare.ask(SCOPE), null)
  await bare.phase('activate')
  assert.deepStrictEqual([bare.did, [...bare.caches.all.keys()]], [['skipWaiting', 'unregister'], ['other']])
})

test('files of a version come from where they are kept, of others from the network', async () => {
  const kept = { 'yaa-page-a': { [`${SCOPE}v/a/js/x.js`]: 'x of a' }, 'yaa-page-b': { [`${SCOPE}v/b/page.js`]: 'all of b' } }
  const one = worker({ kept, answers: { [`${SCOPE}v/c/page.js`]: new Response('all of c') } })
  const script = { mode: 'no-cors', destination: 'script' }
  for (const [name, words] of [['v/a/js/x.js', 'x of a'], ['v/b/page.js', 'all of b'], ['v/c/page.js', 'all of c']]) {
    assert.strictEqual(await (await one.ask(SCOPE + name, script)).text(), words)
  }
  await assert.rejects(one.ask(`${SCOPE}v/d/page.js`, script), /network is away/)
})

test('the API, keys, frames and other sites pass it by', async () => {
  const key = { headers: new Headers({ authorization: 'Bearer key' }) }
  const api = { mode: 'cors', destination: '' }
  const rows = [
    [`${SCOPE}info`, api], [`${SCOPE}session`, { ...api, method: 'POST' }], [`${SCOPE}session`, { method: 'POST' }], [SCOPE, { ...api, method: 'POST' }], [SCOPE, api], [SCOPE, key],
    [`${SCOPE}v/b/page.js`, { ...api, ...key }], [`${SCOPE}v/b/page.js`, { ...api, method: 'POST' }], [`${SCOPE}v/b/page.js`, { ...api, method: 'HEAD' }],
    [SCOPE, { destination: 'iframe' }], [`${SCOPE}artifact.html`, { destination: 'iframe' }], [`${SCOPE}files/v/x`, api], [`${SCOPE}health`, {}], [`${SCOPE}auto-ai/`, {}],
    ['https://h/v/b/page.js', api], ['https://h/', {}], ['https://evil.test/yaa/', {}], ['https://evil.test/yaa/v/b/page.js', api], [`https://h/?${SCOPE}v/`, {}],
    [`${SCOPE}share`, { method: 'POST', destination: 'iframe' }], [`${SCOPE}share`, { ...api, method: 'POST' }], [`${SCOPE}share`, {}], [`${SCOPE}share/x`, { method: 'POST' }],
  ]
  for (const [url, more] of rows) {
    const kept = { 'yaa-page-b': { [url]: 'kept' } }
    assert.strictEqual(await worker({ kept, answers: { [url]: pageOf('b') } }).ask(url, more), null, `${more.method} ${url}`)
  }
})

/** What a form leaves for the page: where it was sent, and what was stored. */
async function shared(form, kept) {
  const one = worker({ kept })
  const formData = async () => { if (form) return form; throw new TypeError('a broken form') }
  const answer = await one.ask(`${SCOPE}share`, { method: 'POST', formData })
  const entries = one.caches.all.get('yaa-shared') ?? new Map()
  const [place, found] = [...entries].find(([url]) => url.endsWith('/form')) ?? []
  return { status: answer.status, to: answer.headers.get('location'), place, form: found && await found.json(), entries }
}

test('what is shared waits for the page; of two the last counts', async () => {
  const form = new FormData()
  form.set('title', 'A title')
  form.set('text', '文字')
  form.append('files', new File(['one'], 'one.txt', { type: 'text/plain' }))
  form.append('files', new File([Uint8Array.of(0, 255)], '二.bin'))
  const found = await shared(form, { 'yaa-shared': { 'https://h/yaa/share/before/form': '{}' } })
  const id = found.to.split('#shared=')[1]
  assert.match(id, /^[0-9a-f-]{36}$/)
  assert.deepStrictEqual([found.status, found.to, found.place], [303, `${SCOPE}#shared=${id}`, `${SCOPE}share/${id}/form`])
  assert.deepStrictEqual(found.form, { texts: ['A title', '文字'], files: [{ name: 'one.txt', type: 'text/plain' }, { name: '二.bin', type: '' }], left: 0 })
  assert.deepStrictEqual([...found.entries.keys()].map((url) => url.split('/').at(-1)), ['0', '1', 'form'])
  assert.strictEqual(await found.entries.get(`${SCOPE}share/${id}/0`).text(), 'one')
})

test('hostile forms', async () => {
  const many = new FormData()
  for (let index = 0; index < 15; index += 1) many.append('files', new File(['x'], `${index}.txt`))
  many.append('files', 'no file')
  const large = new FormData()
  large.append('files', Object.assign(new File(['x'.repeat(40 << 20)], 'a.bin')))
  large.append('files', new File(['y'.repeat(40 << 20)], 'b.bin'))
  large.append('files', new File(['z'], '../../c.bin', { type: `text/${'x'.repeat(500)}` }))
  const odd = new FormData()
  odd.set('text', 'x'.repeat(1_000_000))
  odd.set('url', new File(['x'], 'url'))
  odd.append('files', new File([], 'empty'))
  odd.append('other', 'y')
  const rows = [
    [many, { texts: 0, files: 10, left: 5 }], [large, { texts: 0, files: 2, left: 1 }], [odd, { texts: 1, files: 0, left: 0 }], [new FormData(), { texts: 0, files: 0, left: 0 }],
  ]
  for (const [form, { texts, files, left }] of rows) {
    const found = await shared(form)
    assert.deepStrictEqual([found.form.texts.length, found.form.files.length, found.form.left], [texts, files, left])
    assert.ok(JSON.stringify(found.form).length < 110_000)
    for (const url of found.entries.keys()) assert.match(url, /^https:\/\/h\/yaa\/share\/[0-9a-f-]{36}\/(\d|form)$/)
  }
  const broken = await shared(null)
  assert.deepStrictEqual([broken.status, broken.to, broken.entries.size], [303, `${SCOPE}#shared=failed`, 0])
})

test('a server that accepts and does not answer', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] })
  const kept = { 'yaa-page-b': { [SCOPE]: 'page b' } }
  const one = worker({ kept, answers: { [SCOPE]: new Promise(() => {}) } })
  const answer = one.ask(SCOPE)
  await null
  context.mock.timers.tick(5000)
  assert.strictEqual(await (await answer).text(), 'page b')
})
