// POSTs that leave out what the server has: the digests are the server's, whatever was changed is sent again, and a
// refusal costs one more POST that nobody sees.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const crypto = require('node:crypto')
const { use, ROOT } = require('./load-modules.js')
const { FakeServer, quickTimers } = require('./fake-server.js')

const bases = use('io/session-base')
const apis = use('io/api')
const sessions = use('core/session')
const memory = use('io/store-memory')
const { start } = use('io/run-stream')
const { canonical } = use('core/canonical-json')
const VECTORS = JSON.parse(fs.readFileSync(path.join(ROOT, 'tests', 'vectors', 'base.json'), 'utf8'))
const LONG = VECTORS.find((each) => each.name === 'a long one')

/** As docs/reference/http.md defines it. */
function digestOf({ messages, calls = {} }, count) {
  let digest = ''
  for (const message of messages.slice(0, count)) {
    const entries = {}
    for (const { id } of message.tool_calls ?? []) if (Object.hasOwn(calls, id)) Object.defineProperty(entries, id, { value: calls[id], enumerable: true })
    digest = crypto.createHash('sha256').update(digest + canonical([message, entries])).digest('hex').slice(0, 32)
  }
  return digest
}

/** Puts a server that keeps what its runs ended with, as server/session/kept_sessions.py does, in front of a fake one. */
function keeping(server) {
  const front = { bodies: [], kept: null, refused: 0 }
  front.fetch = async (url, options = {}) => {
    if (new URL(url).pathname !== '/session' || server.instead.length) return server.fetch(url, options)
    const { base, ...body } = JSON.parse(options.body)
    front.bodies.push(JSON.parse(options.body))
    const { kept } = front
    if (base) {
      if (!kept || base.messages > kept.messages.length || digestOf(kept, base.messages) !== base.digest) {
        front.refused++
        return Response.json({ code: 'base_unknown', detail: 'Send all.' }, { status: 409 })
      }
      const first = kept.messages.slice(0, base.messages)
      const ids = first.flatMap((message) => message.tool_calls ?? []).map((call) => call.id).filter((id) => Object.hasOwn(kept.calls, id))
      body.calls = { ...body.calls, ...Object.fromEntries(ids.map((id) => [id, kept.calls[id]])) }
      body.messages = [...first, ...body.messages]
    }
    const response = await server.fetch(url, { ...options, body: JSON.stringify(body) })
    front.kept = server.session // which the run goes on to change
    return response
  }
  return front
}

function setting(changes = {}) {
  const server = Object.assign(new FakeServer(), changes)
  const front = keeping(server)
  const api = apis.create({ base: 'http://yaa.test', fetch: front.fetch })
  const store = memory.open()
  const session = sessions.create({ id: 's1', now: 0 })
  for (let n = 0; n < 30; n++) sessions.append(session, `before ${n}`, { id: `p${n}`, now: n })
  sessions.append(session, 'list the files', { id: 'u1', now: 0 })
  const states = []
  const { hold } = api
  let held
  api.hold = (one) => (held = hold(one))
  const run = async () => {
    const state = await start(session, { api, store, timers: quickTimers(), onState: (state) => states.push(state) }).done
    await held // it is worked out in pieces, beside what a person does
    return state
  }
  return { server, front, store, session, states, run }
}

const approve = (session) => sessions.answer(session, sessions.openInterrupts(session)[0].id, { status: 'resolved', payload: { approved: true } })

test('the digests are the shared ones', async () => {
  const held = bases.create(null)
  const session = { id: 's', ...structuredClone(LONG) }
  await held.hold(session)
  for (let count = 20; count <= LONG.messages.length; count++) {
    const { base, messages } = held.shortened({ ...session, messages: session.messages.slice(0, count) })
    assert.deepStrictEqual([base, messages], [{ messages: count, digest: LONG.digests[count - 1] }, []])
    assert.strictEqual(digestOf(LONG, count), base.digest)
  }
})

test('what comes in while it is worked out is not held: the server has not seen it', async () => {
  const held = bases.create(null)
  const session = { id: 's', ...structuredClone(LONG) }
  const { length } = session.messages
  const { content } = session.messages[0]
  let late = { id: 'late', role: 'user', content: 'more' }
  Object.defineProperty(session.messages[0], 'content', { enumerable: true, get() {
    if (late) session.messages.push(late)
    late = null
    return content
  } })
  await held.hold(session)
  assert.strictEqual(session.messages.length, length + 1)
  assert.strictEqual(held.shortened(session).base.messages, length)
})

test('what was changed, wherever, is sent again', async () => {
  const call = LONG.messages.findIndex((each) => each.tool_calls?.length)
  const { length } = LONG.messages
  const cases = [
    ['nothing', () => {}, length],
    ['a text in place', (s) => { s.messages[21].content += '!' }, 21],
    ['a key', (s) => { s.messages[22].note = 1 }, 22],
    ['a log entry', (s) => { s.calls.z.state = 'failed' }, call],
    ['an entry that was not there', (s) => { s.calls.c = { state: 'done' } }, call],
    ['an entry of no message', (s) => { s.calls.other.state = 'failed' }, length],
    ['a message less', (s) => { s.messages.pop() }, length - 1],
    ['a message in between', (s) => { s.messages.splice(20, 0, { id: 'n', role: 'user' }) }, 20],
    ['an early one', (s) => { s.messages[19].content = '' }, null],
    ['another session', (s) => { s.id = 't' }, null],
  ]
  for (const [name, change, count] of cases) {
    const held = bases.create(null)
    const session = { id: 's', ...structuredClone(LONG) }
    await held.hold(session)
    change(session)
    const found = held.shortened(session)
    assert.strictEqual(found?.base.messages ?? null, count, name)
    if (count === null) continue
    assert.strictEqual(found.base.digest, LONG.digests[count - 1], name)
    assert.deepStrictEqual(found.messages, session.messages.slice(count), name)
    const sent = Object.keys(found.calls).sort()
    assert.deepStrictEqual(sent, count > call ? ['other'] : Object.keys(session.calls).sort(), name)
    await held.hold(session) // it costs what changed, and forgets what is no more
    assert.strictEqual(held.shortened(session).base.digest, digestOf(session, session.messages.length), name)
  }
})

test('sessions that were not used for longest are forgotten', async () => {
  const held = bases.create(null)
  const all = ['a', 'b', 'c', 'd', 'e'].map((id) => ({ id, ...structuredClone(LONG) }))
  for (const session of all) await held.hold(session)
  assert.deepStrictEqual(all.map((each) => Boolean(held.shortened(each))), [false, true, true, true, true])
})

test('short sessions load nothing', async () => {
  const server = new FakeServer()
  const api = apis.create({ base: 'http://yaa.test', fetch: server.fetch })
  await api.hold({ id: 's', messages: LONG.messages.slice(0, 5), calls: {} })
  await api.run({ id: 's', messages: LONG.messages.slice(0, 5), calls: {} })
  assert.strictEqual(server.posted[0].base, undefined)
})

test('a run, an approval and a question: only what is new is sent', async () => {
  const { server, front, session, run } = setting()
  await run()
  approve(session)
  assert.strictEqual((await run()).reason, 'completed')
  sessions.append(session, 'thanks', { id: 'u2', now: 9 })
  assert.strictEqual((await run()).phase, 'done')
  assert.deepStrictEqual(front.bodies.map((body) => [body.base?.messages, body.messages.length]), [[undefined, 31], [32, 0], [34, 1]])
  assert.deepStrictEqual(Object.keys(front.bodies[2].calls), [])
  assert.deepStrictEqual([front.refused, server.executions], [0, 1])
  assert.strictEqual(canonical(session), canonical(server.session))
})

test('a server that does not have it: one more POST, with all of it, and nobody sees it', async () => {
  for (const kept of [null, { messages: [], calls: {} }, { messages: LONG.messages, calls: {} }]) {
    const { server, front, session, store, states, run } = setting()
    await run()
    approve(session)
    front.kept = kept
    states.length = 0
    const before = front.bodies.length
    const put = []
    const { put: plain } = store
    store.put = (one, marks) => (put.push(structuredClone(marks)), plain(one, marks))
    const state = await run()
    assert.deepStrictEqual([state.phase, state.reason, state.diverged], ['done', 'completed', undefined])
    assert.deepStrictEqual(states.map((each) => each.phase), ['posting', 'streaming', 'done'])
    assert.deepStrictEqual(front.bodies.slice(before).map((body) => [body.base?.messages, body.messages.length]), [[32, 0], [undefined, 32]])
    assert.strictEqual(put[0]['call-run1'].state, 'started', 'the mark of the approval is stored before the first of them')
    assert.deepStrictEqual([front.refused, server.executions], [1, 1])
    assert.strictEqual(canonical(session), canonical(server.session))
  }
})

test('cut after every event: it goes on, with a base or whole, and nothing runs twice', async () => {
  for (const breaks of [true, false]) {
    for (let cut = 0; cut < 24; cut++) {
      const { server, front, session, run } = setting({ breaks })
      await run()
      server.limits = [cut, Infinity]
      approve(session)
      const state = await run()
      assert.ok(server.executions <= 1, `cut ${cut}`)
      if (state.reason === 'completed') assert.strictEqual(canonical(session), canonical(server.session), `cut ${cut}`)
      assert.ok(front.bodies.length > 1 && front.bodies[1].base, `cut ${cut}`)
    }
  }
})

test('another refusal is told as it is', async () => {
  const { server, front, session, run } = setting()
  await run()
  approve(session)
  server.instead = [() => Response.json({ code: 'session_invalid', detail: 'No.' }, { status: 422 })]
  const state = await run()
  assert.deepStrictEqual([state.reason, state.error.code, front.bodies.length], ['refused', 'session_invalid', 1])
})
