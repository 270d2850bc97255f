// Runs over a network that breaks: cut after every event, refused, busy, silent, gone. Whatever happens, the session
// ends as it would have, and no tool runs twice.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { use } = require('./load-modules.js')
const { FakeServer, quickTimers, manualTimers } = require('./fake-server.js')

const { start } = use('io/run-stream')
const apis = use('io/api')
const sessions = use('core/session')
const memory = use('io/store-memory')
const { canonical } = use('core/canonical-json')

function setting(changes = {}) {
  const server = Object.assign(new FakeServer(), changes)
  const api = apis.create({ base: 'http://yaa.test', key: 'k', fetch: server.fetch })
  const store = memory.open()
  const session = sessions.create({ id: 's1', now: 0 })
  sessions.append(session, 'list the files', { id: 'u1', now: 0 })
  const states = []
  const begin = (options = {}) => start(options.session ?? session, { api, store, timers: quickTimers(), onState: (state) => states.push(state), ...options })
  return { server, api, store, session, states, begin }
}

const approve = (session, payload = { approved: true }) => sessions.answer(session, sessions.openInterrupts(session)[0].id, { status: 'resolved', payload })
const spoken = (session) => session.messages.filter((message) => !message.open).map((message) => `${message.role}: ${message.content}`)
const phases = (states) => states.map((state) => state.phase + (state.reason ? `/${state.reason}` : ''))
const reply = (status, body, headers = {}) => () => new Response(JSON.stringify(body), { status, headers: { 'Content-Type': 'application/json', ...headers } })
/** Between attempts; not for an answer to begin. */
const waited = ({ asked }) => asked.filter((ms) => ms !== 45_000 && ms !== 10_000)
const WHOLE = ['user: list the files', 'assistant: Let me look.', 'tool: a.txt\nb.txt', 'assistant: There are two files. 你好']

test('two runs without trouble', async () => {
  const { server, session, states, begin, store } = setting()
  const first = await begin().done
  assert.deepStrictEqual([first.phase, first.reason], ['interrupted', 'awaiting'])
  approve(session)
  const run = begin()
  const second = await run.done
  assert.deepStrictEqual([second.phase, second.reason, second.diverged], ['done', 'completed', undefined])
  assert.deepStrictEqual(phases(states), ['posting', 'streaming', 'interrupted/awaiting', 'posting', 'streaming', 'done/completed'])
  assert.deepStrictEqual(spoken(session), WHOLE)
  assert.strictEqual(canonical(session), canonical(server.session))
  assert.strictEqual(canonical(await store.get('s1')), canonical(session))
  assert.strictEqual(run.output.get('call-run1'), 'a.txt\nb.txt\n')
  assert.strictEqual(run.session, session)
  assert.strictEqual(server.executions, 1)
})

test('cut after every event, broken or closed, in pieces: the same end, one execution', async () => {
  for (const breaks of [true, false]) {
    for (const piece of [0, 7]) {
      for (let cut = 0; cut < 30; cut++) {
        const { server, session, begin } = setting({ breaks, piece, limits: [cut, Infinity] })
        const name = `cut ${cut}, breaks ${breaks}, piece ${piece}`
        await begin().done
        assert.deepStrictEqual(spoken(session), WHOLE.slice(0, 2), name)
        server.limits = [cut, Infinity]
        approve(session)
        let state = await begin().done
        const unsure = state.reason === 'awaiting'
        if (unsure) { // started, and nobody knows how it went: a person decides
          assert.strictEqual(sessions.openInterrupts(session)[0].reason, 'indeterminate', name)
          approve(session, { action: 'skip' })
          state = await begin().done
          assert.deepStrictEqual(spoken(session), WHOLE.with(2, 'tool: Skipped.'), name)
        } else assert.deepStrictEqual(spoken(session), WHOLE, name)
        assert.strictEqual(state.reason, 'completed', name)
        assert.strictEqual(state.diverged, undefined, name)
        assert.strictEqual(canonical(session), canonical(server.session), name)
        if (unsure) assert.ok(server.executions <= 1, name)
        else assert.strictEqual(server.executions, 1, name)
      }
    }
  }
})

test('several cuts in one run', async () => {
  const { server, session, states, begin } = setting({ limits: [3, 1, 4, 6, Infinity] })
  const state = await begin().done
  assert.strictEqual(state.reason, 'awaiting')
  assert.strictEqual(state.resumed, 4)
  assert.strictEqual(states.filter((each) => each.phase === 'lost').length, 4)
  assert.deepStrictEqual(spoken(session), WHOLE.slice(0, 2))
  assert.strictEqual(canonical(session), canonical(server.session))
})

test('write-ahead: what is kept says started before it is sent, what is sent does not', async () => {
  const { server, session, begin, store } = setting()
  await begin().done
  approve(session, { approved: true, edited_args: { command: 'ls -l' } })
  let keptAtPost = null
  server.instead = [async () => {
    keptAtPost = (await keptCopies).at(-1)
    throw new TypeError('the page crashed here')
  }]
  const copies = []
  const keptCopies = Promise.resolve(copies)
  const watching = { append: store.append, put: async (document, marks = {}) => { copies.push(structuredClone(sessions.applyMarks(document, marks))) } }
  const run = begin({ store: watching })
  await new Promise((resolve) => setImmediate(resolve))
  run.stop()
  await run.done
  assert.deepStrictEqual(keptAtPost.calls['call-run1'], { name: 'shell', state: 'started', attempt: 1, args: { command: 'ls -l' } })
  // another page starts from what was kept: nothing runs by itself
  const state = await begin({ session: keptAtPost }).done
  assert.strictEqual(state.reason, 'awaiting')
  assert.strictEqual(sessions.openInterrupts(keptAtPost)[0].reason, 'indeterminate')
  assert.strictEqual(server.executions, 0)
})

test('what is sent has the approval and no mark', async () => {
  const { server, session, begin } = setting()
  await begin().done
  approve(session)
  await begin().done
  assert.strictEqual(server.posted[1].calls['call-run1'].state, 'asking')
  assert.deepStrictEqual(server.posted[1].interrupts[0].answer, { status: 'resolved', payload: { approved: true } })
})

test('a retry of a call that may have run is marked too', async () => {
  const { server, session, begin, store } = setting({ limits: [Infinity] })
  await begin().done
  Object.assign(session.calls['call-run1'], { state: 'started', attempt: 1 })
  await begin().done
  approve(session, { action: 'retry' })
  const copies = []
  await begin({ store: { append: store.append, put: async (document, marks = {}) => { copies.push(sessions.applyMarks(document, marks).calls['call-run1']) } } }).done
  assert.deepStrictEqual([copies[0].state, copies[0].attempt], ['started', 2])
  assert.deepStrictEqual(spoken(session), WHOLE)
  assert.strictEqual(server.executions, 1)
})

test('an approval is not sent to a server that is away, and stays an approval', async () => {
  const { server, session, begin } = setting()
  await begin().done
  approve(session)
  server.up = false
  const state = await begin().done
  assert.deepStrictEqual([state.phase, state.reason, state.error.code], ['interrupted', 'gave_up', 'network'])
  assert.strictEqual(server.posted.length, 1)
  assert.strictEqual(session.calls['call-run1'].state, 'asking')
  server.up = true
  await begin().done
  assert.deepStrictEqual(spoken(session), WHOLE)
})

test('nobody there: it gives up soon, and keeps the message', async () => {
  const { server, session, states, begin, store } = setting({ up: false })
  const timers = quickTimers()
  const state = await begin({ timers }).done
  assert.deepStrictEqual([state.phase, state.reason], ['interrupted', 'gave_up'])
  assert.deepStrictEqual(waited(timers), [1000, 2000])
  assert.deepStrictEqual(phases(states), ['posting', 'lost', 'posting', 'lost', 'posting', 'interrupted/gave_up'])
  assert.strictEqual(canonical(await store.get('s1')), canonical(session))
  assert.strictEqual(sessions.stopReason(session).kind, 'ready')
  assert.strictEqual(server.posted.length, 0)
})

test('always cut at the same place: it gives up, later', async () => {
  for (const limit of [1, 3]) {
    const { server, session, begin } = setting({ limits: [limit] })
    const state = await begin().done
    assert.strictEqual(state.reason, 'gave_up')
    assert.strictEqual(server.posted.length, 9)
    assert.ok(sessions.canResume(session))
  }
})

test('refused before the run: nothing is retried, nothing is marked', async () => {
  for (const [status, code] of [[401, 'unauthorized'], [422, 'answer_invalid'], [413, 'body_too_large'], [404, 'not_found']]) {
    const { server, session, begin } = setting()
    await begin().done
    approve(session)
    const before = canonical(session)
    server.instead = [reply(status, { code, detail: 'No.', errors: [{ pointer: '/x', detail: 'y' }] })]
    const state = await begin().done
    assert.deepStrictEqual([state.phase, state.reason, state.error.code, state.error.message, state.error.pointer, state.error.status], ['interrupted', 'refused', code, 'No.', '/x', status])
    assert.strictEqual(canonical(session), before)
  }
})

test('busy, or still running there: it waits as long as it is told', async () => {
  for (const [status, code, headers, wait] of [[409, 'run_active', { 'Retry-After': '1' }, 1000], [429, 'busy', { 'Retry-After': '3' }, 3000], [503, 'overloaded', {}, 1000], [503, 'overloaded', { 'Retry-After': '9999999' }, 2 ** 31 - 1]]) {
    const { server, session, states, begin } = setting()
    server.instead = [reply(status, { code, detail: 'Wait.' }, headers), reply(status, { code, detail: 'Wait.' }, headers)]
    const timers = quickTimers()
    const state = await begin({ timers }).done
    assert.strictEqual(state.reason, 'awaiting')
    assert.deepStrictEqual(waited(timers), [wait, Math.max(wait, 2000)])
    assert.strictEqual(states[1].error.code, code)
    assert.deepStrictEqual(spoken(session), WHOLE.slice(0, 2))
  }
})

test('busy for ever: it gives up', async () => {
  const { server, begin } = setting()
  server.instead = Array.from({ length: 200 }, () => reply(429, { code: 'busy', detail: 'Wait.' }, { 'Retry-After': '1' }))
  const state = await begin().done
  assert.deepStrictEqual([state.phase, state.reason, state.error.code], ['interrupted', 'refused', 'busy'])
})

test('an error of the server itself is a loss', async () => {
  const { server, session, begin } = setting()
  await begin().done
  approve(session)
  server.instead = [reply(500, { code: 'internal', detail: 'inc-1' })]
  await begin().done
  assert.strictEqual(sessions.openInterrupts(session)[0].reason, 'indeterminate')
  assert.strictEqual(server.executions, 0)
})

test('stopped while streaming: what was received stays', async () => {
  const { session, begin, store } = setting()
  const run = begin({ onEvent: (event) => { if (event.type === 'TEXT_MESSAGE_CONTENT') run.stop() } })
  const state = await run.done
  assert.deepStrictEqual([state.phase, state.reason], ['interrupted', 'stopped'])
  assert.match(session.messages[1].content, /^Let /)
  assert.strictEqual(session.messages[1].open, true)
  assert.strictEqual(sessions.stopReason(session).kind, 'cut')
  assert.strictEqual(canonical(await store.get('s1')), canonical(session))
  assert.strictEqual((await begin().done).reason, 'awaiting')
})

test('stopped while streaming: the server is asked to end its calls, and what came of them is kept', async () => {
  const { server, session, begin } = setting()
  await begin().done
  approve(session)
  const id = 'call-run1'
  server.last = [{ type: 'TOOL_CALL_RESULT', messageId: 'r', toolCallId: id, content: 'Stopped by the user.', role: 'tool', timestamp: 9, metadata: { yaa: { name: 'shell', state: 'failed', is_error: true } } }]
  const run = begin({ onEvent: (event) => { if (event.type === 'ACTIVITY_SNAPSHOT') run.stop() } })
  const state = await run.done
  assert.deepStrictEqual(server.stops, ['s1'])
  assert.deepStrictEqual([state.phase, state.reason], ['interrupted', 'stopped'])
  assert.strictEqual(session.messages.at(-1).content, 'Stopped by the user.')
  assert.strictEqual(session.calls[id].state, 'failed')
})

test('stopped from elsewhere: it is not gone on with, and whoever stopped it here has it as it was', async () => {
  for (const code of ['stopped', 'stopped_by_owner']) {
    const { server, session, begin } = setting()
    const over = { type: 'RUN_ERROR', message: 'Stopped.', code, timestamp: 9, metadata: { yaa: { message_id: 'e', rev: 9 } } }
    server.last = [over]
    const elsewhere = begin({ onEvent: (event) => { if (event.type === 'TEXT_MESSAGE_CONTENT') server.stops.push('s1') } })
    const state = await elsewhere.done
    assert.deepStrictEqual([state.phase, state.reason, server.posted.length], ['interrupted', 'stopped', 1], code)
    assert.strictEqual(session.messages.at(-1).code, code)
    assert.strictEqual(sessions.canResume(session), true)
    const here = setting()
    here.server.last = [over]
    const run = here.begin({ onEvent: (event) => { if (event.type === 'TEXT_MESSAGE_CONTENT') run.stop() } })
    assert.strictEqual((await run.done).reason, 'stopped')
    assert.strictEqual(sessions.stopReason(here.session).kind, 'cut', 'nobody is told what they did themselves')
  }
})

test('stopped at a server that cannot be asked: it hangs up', async () => {
  for (const refuse of [() => new Response('', { status: 404 }), () => { throw new TypeError('fetch failed') }]) {
    const { server, session, begin } = setting()
    server.stop = refuse
    server.limits = [4]
    const run = begin({ onEvent: (event) => { if (event.type === 'TEXT_MESSAGE_CONTENT') run.stop() } })
    assert.strictEqual((await run.done).reason, 'stopped')
    assert.strictEqual(session.messages[1].open, true)
  }
})

test('a stop is sent whatever has been heard, shows nothing more, and is done when the server says so', async () => {
  const refuse = () => { throw new TypeError('fetch failed') }
  const rows = [ // how the server takes it, whether an answer has begun, what is said then
    ['confirms', undefined, true, undefined], ['confirms', undefined, false, undefined], ['cannot be asked', refuse, true, ''], ['cannot be asked', refuse, false, ''],
    ['runs it for another', () => Response.json({ stopped: false, running: true, detail: 'Another key’s.' }), true, 'Another key’s.'],
    ['has not ended it', () => Response.json({ stopped: false, running: true }), true, ''], ['runs nothing', () => Response.json({ stopped: false, running: false }), true, undefined],
    ['is silent', () => { throw new DOMException('', 'TimeoutError') }, true, ''],
    ['comes back', (n) => (n < 3 ? refuse() : Response.json({ stopped: true })), false, undefined],
  ]
  for (const [name, take, begun, unconfirmed] of rows) {
    const { server, session, states, begin } = setting()
    if (take) server.limits = [5] // and its line breaks
    let asked = 0
    const real = server.stop
    server.stop = (options) => (asked += 1, take ? take(asked) : real(options))
    if (!begun) server.instead = [({ options: { signal } }) => new Promise((_, reject) => { signal.addEventListener('abort', () => reject(signal.reason)) })]
    let shown = ''
    const run = begin({
      onEvent: (event) => {
        if (!begun || event.type !== 'TEXT_MESSAGE_CONTENT') return
        run.stop()
        shown = session.messages.at(-1).content
      },
    })
    if (!begun) setTimeout(() => run.stop(), 5)
    const state = await run.done
    assert.deepStrictEqual([state.phase, state.reason, state.unconfirmed], ['interrupted', 'stopped', unconfirmed], name)
    assert.strictEqual(asked, name === 'comes back' ? 3 : take === refuse ? 4 : 1, name)
    assert.ok(states.some(({ phase, since }) => phase === 'stopping' && since !== undefined), name)
    assert.deepStrictEqual(phases(states).slice(phases(states).indexOf('stopping') + 1), ['interrupted/stopped'], `${name}: nothing else is said meanwhile`)
    if (begun) assert.strictEqual(session.messages.at(-1).content, shown, `${name}: words that came later`)
  }
})

test('silence is said before the line is given up, and taken back at the next sign', async () => {
  for (const [headers, ms] of [[{ 'X-Heartbeat': '15' }, 18_000], [{}, 10_000]]) {
    const { server, states, begin } = setting({ headers })
    const timers = manualTimers()
    const run = server.stream.bind(server)
    server.stream = (document, signal) => {
      const reader = run(document, signal).getReader()
      let n = 0
      return new ReadableStream({
        async pull(controller) {
          if (n++ === 3) {
            await new Promise(setImmediate)
            timers.pass(ms)
          }
          const { value, done } = await reader.read()
          return done ? controller.close() : controller.enqueue(value)
        },
      }, { highWaterMark: 0 })
    }
    await begin({ timers }).done
    assert.deepStrictEqual(states.map(({ phase, since }) => (since === undefined ? phase : `${phase} since`)), ['posting since', 'streaming', 'streaming since', 'streaming', 'interrupted'])
  }
})

test('an answer that does not begin can be asked for anew by hand', async () => {
  const { server, session, begin } = setting()
  server.instead = [({ options: { signal } }) => new Promise((_, reject) => { signal.addEventListener('abort', () => reject(signal.reason)) })]
  const run = begin()
  setTimeout(() => run.retryNow(), 5)
  assert.deepStrictEqual([(await run.done).reason, spoken(session)], ['awaiting', WHOLE.slice(0, 2)])
})

test('stopped while it waits, and before anything was sent', async () => {
  const { server, session, begin } = setting({ up: false })
  const timers = manualTimers()
  const run = begin({ timers, onState: (state) => { if (state.phase === 'lost') setImmediate(() => (run.stop(), run.stop())) } })
  const gone = await run.done
  assert.deepStrictEqual([gone.reason, gone.unconfirmed], ['stopped', ''], 'a request may have arrived')
  server.up = true
  const early = begin()
  early.stop()
  assert.strictEqual((await early.done).reason, 'stopped')
  assert.strictEqual(server.posted.length, 0)
  await begin().done
  approve(session)
  const approved = begin()
  approved.stop()
  await approved.done
  assert.strictEqual(session.calls['call-run1'].state, 'asking', 'an approval that was never sent has started nothing')
})

test('a wait ends early when told to, or when something changes outside', async () => {
  const atOnce = (press) => press()
  for (const [how, when] of [['retryNow', setImmediate], ['wake', setImmediate], ['retryNow', atOnce], ['wake', atOnce]]) {
    const { server, begin } = setting({ up: false })
    let woken = () => {}
    let listening = true
    const wake = (callback) => {
      woken = callback
      return () => { listening = false }
    }
    const run = begin({
      timers: manualTimers(), wake,
      onState: (state) => {
        if (state.phase !== 'lost') return
        assert.strictEqual(state.retry_at, 1000)
        server.up = true
        when(() => (how === 'wake' ? woken() : run.retryNow()))
      },
    })
    assert.strictEqual((await run.done).reason, 'awaiting')
    assert.strictEqual(listening, false)
  }
})

test('a connection that falls silent is lost, unless its server never pings, or only the page slept', async () => {
  const rows = [
    ['pings, and has said how often', { 'X-Heartbeat': '15' }, '', 60_000, 5000, 1],
    ['pings less often', { 'X-Heartbeat': '60' }, '', 60_000, 5000, 0],
    ['was heard to ping', {}, ': ping\n\n', 60_000, 5000, 1],
    ['never pings', {}, '', 60_000, 5000, 0],
    ['there is more after a sleep', { 'X-Heartbeat': '15' }, '', 3_600_000, 0, 0],
  ]
  for (const [name, headers, preamble, silent, late, resumed] of rows) {
    const { server, session, begin } = setting({ preamble, headers })
    const timers = manualTimers()
    const run = server.stream.bind(server)
    server.stream = (document, signal) => {
      server.stream = run
      const stalled = run(document, signal).getReader()
      let n = 0
      let fail = () => {}
      signal.addEventListener('abort', () => fail(signal.reason))
      return new ReadableStream({
        async pull(controller) {
          if (n++ < 5) return controller.enqueue((await stalled.read()).value)
          await new Promise((resolve, reject) => {
            fail = reject
            setImmediate(() => {
              timers.pass(silent)
              timers.pass(late)
              setImmediate(resolve)
            })
          })
          const { value, done } = await stalled.read()
          return done ? controller.close() : controller.enqueue(value)
        },
      })
    }
    const waker = setInterval(() => timers.pass(500), 5)
    const state = await begin({ timers }).done
    clearInterval(waker)
    assert.deepStrictEqual([state.reason, state.resumed], ['awaiting', resumed], name)
    assert.deepStrictEqual(spoken(session), WHOLE.slice(0, 2))
  }
})

test('an answer that does not begin is waited for while the server is there', async () => {
  for (const there of [true, false]) {
    const { server, session, states, begin } = setting()
    const timers = manualTimers()
    let asked = 0
    let answer = () => {}
    server.health = () => (++asked < 3 || there ? Response.json({ status: 'ok' }) : reply(502, {})())
    server.instead = [({ options: { signal, body } }) => new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
      answer = () => resolve(new Response(server.stream(JSON.parse(body), signal), { headers: { 'Content-Type': 'text/event-stream' } }))
    })]
    const waker = setInterval(() => {
      timers.pass(45_000)
      if (there && asked === 5) answer()
    }, 2)
    const state = await begin({ timers }).done
    clearInterval(waker)
    assert.deepStrictEqual([state.reason, spoken(session)], ['awaiting', WHOLE.slice(0, 2)])
    assert.deepStrictEqual(states.map((one) => one.error?.code).filter(Boolean), there ? [] : ['timeout'])
    assert.strictEqual(asked, there ? 5 : 3)
  }
})

test('copies that differ are noticed, said and marked', async () => {
  const { session, begin } = setting()
  const onEvent = (event) => { if (event.type === 'TEXT_MESSAGE_END') session.messages[0].content = 'changed behind its back' }
  const state = await begin({ onEvent }).done
  assert.notStrictEqual(state.diverged.server, state.diverged.client)
  assert.deepStrictEqual(session.ext.yaa_diverged, { run: 'run1', ...state.diverged })
})

test('an answer without a stream takes the place of the document', async () => {
  const { server, session, begin } = setting()
  server.instead = [({ options }) => {
    const document = { ...JSON.parse(options.body), status: 'completed', finish_reason: 'completed', rev: 1 }
    document.messages.push({ id: 'm', role: 'assistant', content: 'hi' })
    return Response.json(document)
  }]
  const seen = []
  const state = await begin({ onEvent: (event) => seen.push(event.type) }).done
  assert.strictEqual(state.reason, 'completed')
  assert.deepStrictEqual(seen, ['yaa.reset'])
  assert.deepStrictEqual([session.rev, session.messages.length], [1, 2])
})

test('answers that are not from such a server', async () => {
  for (const body of ['<html>', 'data: {"type":\n\n', 'data: nonsense\n\n']) {
    const { server, session, begin } = setting()
    const before = canonical(session)
    server.instead = Array.from({ length: 20 }, () => () => new Response(body, { headers: { 'Content-Type': body.startsWith('<') ? 'text/html' : 'text/event-stream' } }))
    const state = await begin().done
    assert.deepStrictEqual([state.phase, state.reason, state.error.kind], ['interrupted', 'gave_up', 'foreign'], body)
    assert.strictEqual(canonical(session), before)
  }
})

test('a run that failed, and one that asks whether to try again', async () => {
  const rows = [[[], 'done', 'failed'], [[{ id: 'int-model', reason: 'model_error' }], 'interrupted', 'model_error'], [[{ id: 'int-limit', reason: 'limit' }], 'done', 'failed']]
  for (const [interrupts, phase, reason] of rows) {
    const { server, session, begin } = setting()
    const events = [{ type: 'RUN_STARTED', runId: 'r' }, { type: 'STATE_DELTA', delta: [{ op: 'add', path: '/yaa/interrupts', value: interrupts }] }, { type: 'RUN_ERROR', message: 'no model', code: 'upstream_error', metadata: { yaa: { message_id: 'e1', rev: 1 } } }]
    server.instead = [() => new Response(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''), { headers: { 'Content-Type': 'text/event-stream' } })]
    const state = await begin().done
    assert.deepStrictEqual([state.phase, state.reason], [phase, reason])
    assert.strictEqual(session.messages.at(-1).content, 'no model')
  }
})

test('a mistake in a view is not a lost connection', async (context) => {
  context.mock.method(console, 'error', () => {})
  const { server, begin } = setting()
  const state = await begin({ onEvent: () => { throw new Error('a view') }, onState: () => { throw new Error('another') } }).done
  assert.strictEqual(state.reason, 'awaiting')
  assert.strictEqual(server.posted.length, 1)
  assert.ok(console.error.mock.callCount() > 0)
})

test('events after the end change nothing', async () => {
  const { server, session, begin } = setting()
  const frames = ['{"type":"RUN_STARTED","runId":"r"}', '{"type":"RUN_FINISHED","result":{"status":"completed","finish_reason":"completed","rev":1}}', '{"type":"RUN_ERROR","message":"x"}']
  server.instead = [() => new Response(frames.map((frame) => `data: ${frame}\n\n`).join(''), { headers: { 'Content-Type': 'text/event-stream' } })]
  const state = await begin().done
  assert.deepStrictEqual([state.reason, session.status], ['completed', 'completed'])
})

test('what the server waits for holds until the next event, and is kept nowhere', async () => {
  const { server, session, states, begin } = setting()
  const wait = { awaits: 'retry', left_s: 20, cause: 'busy' }
  const frames = [{ type: 'RUN_STARTED', runId: 'r' }, { type: 'CUSTOM', name: 'yaa.wait', value: wait }, { type: 'STEP_STARTED', stepName: 'step 1' }, { type: 'RUN_FINISHED', result: { status: 'completed', finish_reason: 'completed', rev: 1 } }]
  server.instead = [() => new Response(frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join(''), { headers: { 'Content-Type': 'text/event-stream' } })]
  const run = begin()
  const state = await run.done
  assert.deepStrictEqual(states.map(({ phase, wait: said }) => [phase, said?.cause]), [['posting', undefined], ['streaming', undefined], ['streaming', 'busy'], ['streaming', undefined], ['done', undefined]])
  assert.deepStrictEqual(run.events.map(({ event }) => event.type), ['RUN_STARTED', 'STEP_STARTED', 'RUN_FINISHED'])
  assert.ok(!JSON.stringify([state, session]).includes('busy'))
})
