// The widget's session: the page is asked for its headers before every request, also when a run is resumed.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const path = require('node:path')
const { use, JS } = require('./load.js')

require(path.join(JS, 'widget/talk.js'))

const frame = (event) => `data: ${JSON.stringify(event)}\n\n`
const BEGIN = [
  { type: 'RUN_STARTED', threadId: 's', runId: 'r', timestamp: 1, metadata: { yaa: { run: { id: 'r' } } } },
  { type: 'TEXT_MESSAGE_START', messageId: 'a1', role: 'assistant', timestamp: 2 },
  { type: 'TEXT_MESSAGE_CONTENT', messageId: 'a1', delta: 'Hello' },
].map(frame).join('')
const END = [
  { type: 'TEXT_MESSAGE_END', messageId: 'a1', timestamp: 3, metadata: { yaa: { meta: {} } } },
  { type: 'RUN_FINISHED', threadId: 's', runId: 'r', outcome: { type: 'success' }, result: { finish_reason: 'completed', status: 'completed', rev: 1 } },
].map(frame).join('')

/** A page with a server that answers each request with the next of these bodies; what it was asked is in `heard`. */
function page(t, ...bodies) {
  const heard = []
  const kept = new Map()
  const before = { fetch: globalThis.fetch, location: globalThis.location, sessionStorage: globalThis.sessionStorage }
  t.after(() => Object.assign(globalThis, before))
  Object.defineProperty(globalThis, 'sessionStorage', { configurable: true, writable: true, value: {
    getItem: (name) => kept.get(name) ?? null, setItem: (name, value) => kept.set(name, value), removeItem: (name) => kept.delete(name),
  } })
  globalThis.location = { href: 'http://shop.test/' }
  globalThis.fetch = async (url, init) => {
    init.signal?.throwIfAborted()
    heard.push({ url: String(url), headers: Object.fromEntries(new Headers(init.headers)) })
    return new Response(bodies.shift() ?? END, { headers: { 'Content-Type': 'text/event-stream' } })
  }
  return heard
}

/** Said in a talk with these options, and waited for until it rests. */
async function said(options) {
  const talk = use('widget/talk').open({ server: 'http://yaa.test', ...options }, () => {})
  await talk.send('Hi')
  return talk
}

test('a function is asked before each request, and again when a run is resumed', async (t) => {
  const heard = page(t, BEGIN, BEGIN + END)
  let turn = 0
  const talk = await said({ headers: async () => ({ Authorization: `Bearer ${++turn}`, 'X-Shop': 'shoes' }) })
  assert.deepStrictEqual(heard.map(({ headers }) => headers.authorization), ['Bearer 1', 'Bearer 2'])
  assert.ok(heard.every(({ headers }) => headers['x-shop'] === 'shoes' && headers['content-type'] === 'application/json'))
  assert.strictEqual(talk.state().phase, 'done')
  await talk.send('And now?')
  assert.strictEqual(heard.at(-1).headers.authorization, 'Bearer 3')
})

test('what setHeaders gave holds from the next request on', async (t) => {
  const heard = page(t)
  const options = { headers: { Authorization: 'Bearer old' } }
  const talk = use('widget/talk').open(Object.assign(options, { server: 'http://yaa.test' }), () => {})
  await talk.send('Hi')
  options.headers = async () => new Headers({ authorization: 'Bearer new' })
  await talk.send('Hi')
  options.headers = undefined
  await talk.send('Hi')
  assert.deepStrictEqual(heard.map(({ headers }) => headers.authorization), ['Bearer old', 'Bearer new', undefined])
})

test('a function that fails is told in the console, and the run is tried again', async (t) => {
  const heard = page(t, BEGIN + END)
  const errors = t.mock.method(console, 'error', () => {})
  let turn = 0
  const talk = await said({ headers: () => { if (!turn++) throw new Error('no session here'); return { Authorization: 'Bearer 2' } } })
  assert.strictEqual(talk.state().phase, 'done')
  assert.deepStrictEqual(heard.map(({ headers }) => headers.authorization), ['Bearer 2'])
  assert.match(String(errors.mock.calls[0].arguments[0]), /no session here/)
})

test('a function that never answers can be stopped', async (t) => {
  const heard = page(t)
  let asked = () => {}
  const began = new Promise((resolve) => { asked = resolve })
  const talk = use('widget/talk').open({ server: 'http://yaa.test', headers: () => { asked(); return new Promise(() => {}) } }, () => {})
  const sent = talk.send('Hi')
  await began
  talk.stop()
  await sent
  assert.deepStrictEqual([talk.state().reason, heard.length], ['stopped', 0])
})

test('facts that come late belong to the session they were asked for', async (t) => {
  const heard = page(t)
  const gates = []
  const environment = () => new Promise((resolve) => gates.push(resolve))
  const talk = use('widget/talk').open({ server: 'http://yaa.test', environment }, () => {})
  const first = talk.send('Hi')
  talk.reset()
  const second = talk.send('Hello')
  await Promise.resolve()
  gates[1](['It rains.'])
  gates[0](['It is dry.'])
  await Promise.all([first, second])
  assert.deepStrictEqual([talk.session().environment, heard.length], [['It rains.'], 1])
  assert.strictEqual(talk.session().messages[0].content, 'Hello')
})
