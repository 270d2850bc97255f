// The widget's session: the page is asked for its headers before every request, also when a run is resumed.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const path = require('node:path')
const { use, JS } = require('./load-modules.js')

require(path.join(JS, 'widget/session.js'))

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
  const talk = use('widget/session').open({ server: 'http://yaa.test', ...options }, () => {})
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
  const talk = use('widget/session').open(Object.assign(options, { server: 'http://yaa.test' }), () => {})
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
  const talk = use('widget/session').open({ server: 'http://yaa.test', headers: () => { asked(); return new Promise(() => {}) } }, () => {})
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
  const talk = use('widget/session').open({ server: 'http://yaa.test', environment }, () => {})
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

const CALLS = [
  { type: 'RUN_STARTED', threadId: 's', runId: 'r', timestamp: 1, metadata: { yaa: { run: { id: 'r' } } } },
  { type: 'TEXT_MESSAGE_START', messageId: 'a1', role: 'assistant', timestamp: 2 },
  { type: 'TOOL_CALL_START', toolCallId: 'c1', toolCallName: 'show', parentMessageId: 'a1' },
  { type: 'TOOL_CALL_ARGS', toolCallId: 'c1', delta: '{}' },
  { type: 'TOOL_CALL_END', toolCallId: 'c1' },
  { type: 'TEXT_MESSAGE_END', messageId: 'a1', timestamp: 3, metadata: { yaa: { meta: {} } } },
  { type: 'STATE_DELTA', delta: [{ op: 'add', path: '/yaa/interrupts', value: [{ id: 'i1', reason: 'client_tool', call_id: 'c1', tool: 'show', args: {} }] }] },
  { type: 'RUN_FINISHED', threadId: 's', runId: 'r', outcome: { type: 'interrupt', interrupts: [] }, result: { finish_reason: 'awaiting', status: 'interrupted', rev: 1 } },
].map(frame).join('')

/** A talk whose model has called a tool of the page that has not answered. */
async function called(options = {}) {
  let begun = () => {}
  const began = new Promise((resolve) => { begun = resolve })
  const tools = [{ name: 'show', run: () => new Promise((resolve) => begun(resolve)) }]
  const talk = use('widget/session').open({ server: 'http://tools.test', tools, ...options }, () => {})
  const sent = talk.send('Hi')
  return { talk, sent, answer: await began }
}

const payload = (talk) => talk.session().interrupts[0].answer?.payload

test('while a tool of the page has not answered, something goes on, and can be stopped', async (t) => {
  const heard = page(t, CALLS, END, CALLS)
  const slow = await called()
  assert.strictEqual(slow.talk.live(), true)
  slow.answer('shown')
  await slow.sent
  assert.deepStrictEqual([slow.talk.live(), heard.length, payload(slow.talk)], [false, 2, { content: 'shown' }])
  const never = await called()
  never.talk.stop()
  await never.sent
  assert.deepStrictEqual([never.talk.live(), never.talk.state().reason, heard.length, payload(never.talk).is_error], [false, 'stopped', 3, true])
})

test('what went on when the page was left goes on in the next, and no tool runs twice', async (t) => {
  const heard = page(t, CALLS)
  const { talk, sent } = await called({ server: 'http://left.test' })
  talk.leave()
  const kept = ['yaa.widget http://left.test', 'yaa.widget http://left.test left'].map((name) => [name, sessionStorage.getItem(name)])
  talk.close()
  await sent
  for (const [name, value] of kept) sessionStorage.setItem(name, value)
  let rests = () => {}
  const rested = new Promise((resolve) => { rests = resolve })
  let ran = 0
  const next = use('widget/session').open({ server: 'http://left.test', tools: [{ name: 'show', run: () => { ran += 1 } }] }, () => heard.length > 1 && !next.live() && rests())
  next.goOn()
  await rested
  assert.deepStrictEqual([ran, heard.length, payload(next).is_error], [0, 2, true])
  assert.match(payload(next).content, /page was left/)
  next.goOn()
  await new Promise((resolve) => setImmediate(resolve))
  assert.strictEqual(heard.length, 2, 'once')
})

test('what ended in a page that was left and came back is not begun again in the next', async (t) => {
  const heard = page(t, CALLS)
  const { talk, sent, answer } = await called({ server: 'http://back.test' })
  talk.leave()
  answer('shown')
  await sent
  talk.leave()
  talk.close()
  use('widget/session').open({ server: 'http://back.test' }, () => {}).goOn()
  await new Promise((resolve) => setImmediate(resolve))
  assert.strictEqual(heard.length, 2)
})

test('from an older copy, which is all that a full storage has, nothing goes on by itself', async (t) => {
  const heard = page(t, CALLS)
  const { talk, sent } = await called({ server: 'http://full.test' })
  const { setItem } = sessionStorage
  sessionStorage.setItem = (name, value) => {
    if (value.length > 10) throw new Error('QuotaExceededError')
    setItem(name, value)
  }
  talk.leave()
  talk.close()
  await sent
  const next = use('widget/session').open({ server: 'http://full.test' }, () => {})
  next.goOn()
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepStrictEqual([next.session().messages[0].content, next.live(), heard.length], ['Hi', false, 1])
})

test('a call that was approved counts as started in the copy that is kept, and not in the one that is sent', async (t) => {
  page(t)
  const name = 'yaa.widget http://approve.test'
  const call = { id: 'c1', type: 'function', function: { name: 'shell', arguments: '{}' } }
  sessionStorage.setItem(name, JSON.stringify({
    id: 's', messages: [{ id: 'u', role: 'user', content: 'Hi' }, { id: 'a', role: 'assistant', content: '', tool_calls: [call] }],
    calls: { c1: { name: 'shell', state: 'asking' } }, interrupts: [{ id: 'i', reason: 'tool_call', call_id: 'c1', tool: 'shell' }],
  }))
  const states = []
  globalThis.fetch = async (url, { body }) => {
    if (String(url).endsWith('/health')) return Response.json({ status: 'ok' })
    talk.leave()
    states.push(JSON.parse(body).calls.c1.state, JSON.parse(sessionStorage.getItem(name)).calls.c1.state)
    return new Response(END, { headers: { 'Content-Type': 'text/event-stream' } })
  }
  const talk = use('widget/session').open({ server: 'http://approve.test' }, () => {})
  await talk.answer('i', { status: 'resolved', payload: { approved: true } })
  assert.deepStrictEqual(states, ['asking', 'started'])
})

test('what was said while the page was asked for its facts goes on in the next page, too', async (t) => {
  const heard = page(t)
  const talk = use('widget/session').open({ server: 'http://facts.test', environment: () => new Promise(() => {}) }, () => {})
  talk.send('Hi')
  talk.leave()
  talk.close()
  let rests = () => {}
  const rested = new Promise((resolve) => { rests = resolve })
  const next = use('widget/session').open({ server: 'http://facts.test' }, () => next.state().phase === 'done' && rests())
  next.goOn()
  await rested
  assert.deepStrictEqual([heard.length, next.session().messages[0].content], [1, 'Hi'])
})

test('widgets that ask the same server have a session each', async (t) => {
  page(t)
  const [one, two] = ['one', 'two'].map(() => use('widget/session').open({ server: 'http://both.test' }, () => {}))
  await one.send('Hi')
  await two.send('Hello')
  const said = ['', ' 2'].map((more) => JSON.parse(sessionStorage.getItem(`yaa.widget http://both.test${more}`)).messages[0].content)
  assert.deepStrictEqual(said, ['Hi', 'Hello'])
})

test('a reset in the middle of a run leaves nothing of it to be said', async (t) => {
  page(t)
  globalThis.fetch = (_, { signal }) => new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason))
    if (signal.aborted) reject(signal.reason)
  })
  const talk = use('widget/session').open({ server: 'http://reset.test' }, () => {})
  const sent = talk.send('Hi')
  await new Promise((resolve) => setImmediate(resolve))
  assert.strictEqual(talk.live(), true)
  talk.reset()
  await sent
  assert.deepStrictEqual([talk.state().phase, talk.state().reason, talk.live()], ['idle', undefined, false])
})

test('what nobody has heard of is stopped at once, and nobody is told', async (t) => {
  page(t)
  let asked = 0
  globalThis.fetch = async () => { asked += 1 }
  const talk = use('widget/session').open({ server: 'http://unsent.test', headers: () => new Promise(() => {}) }, () => {})
  talk.send('Hi')
  await new Promise((resolve) => setImmediate(resolve))
  talk.stop()
  for (let n = 0; n < 20; n++) await new Promise((resolve) => setImmediate(resolve))
  assert.deepStrictEqual([talk.state().phase, talk.state().reason, talk.live(), asked], ['interrupted', 'stopped', false, 0])
})

test('what is closed hangs up, whatever the server says of it', async (t) => {
  page(t)
  const signals = []
  globalThis.fetch = (_, { signal }) => new Promise((_, reject) => {
    signals.push(signal)
    signal.addEventListener('abort', () => reject(signal.reason))
  })
  const talk = use('widget/session').open({ server: 'http://closed.test' }, () => {})
  talk.send('Hi')
  await new Promise((resolve) => setImmediate(resolve))
  talk.close()
  for (let n = 0; n < 20; n++) await new Promise((resolve) => setImmediate(resolve))
  assert.deepStrictEqual([signals.length > 0, signals[0].aborted], [true, true])
})
