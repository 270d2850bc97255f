// Kept sessions, without a page: what a frame means to a run that is followed, which copy is changed, what the list shows, and
// how a run goes by the server that keeps it.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { use, yaa } = require('./load-modules.js')

yaa.define('ui/i18n', [], () => ({ t: (key) => key, extend() {} }))
const toasts = []
yaa.define('ui/popup', [], () => ({ toast: (words) => toasts.push(words) }))
const rules = use('ext/keeper/rules')
const runs = use('ext/keeper/runs')
const { syncOf } = use('ext/keeper/sync')
const { Decoder } = use('core/sse')
const apis = use('io/api')
const { start } = use('io/run-stream')

const BASE = 'http://yaa.test'
const EMPTY = { last: '', following: true, held: null, revision: '', sign: {} }
const sign = (value) => ({ type: 'CUSTOM', name: 'yaa.kept', value })
const END = { type: 'RUN_FINISHED' }
const TEXT = { type: 'TEXT_MESSAGE_CONTENT', delta: 'a' }
const SNAPSHOT = { type: 'STATE_SNAPSHOT', snapshot: { yaa: { id: 's' } } }
const user = (id, content = id) => ({ id, role: 'user', content })
const sessionOf = (more = {}) => ({ id: 's', messages: [user('m1')], ...more })
const recordOf = (more = {}) => ({ base: BASE, revision: 'r1', stamp: 'w1', said: ['m1'], ...more })

/** What a run hears of frames: the types that come through, and whether it is over or the document comes anew. @param {any[]} frames */
function heard(frames) {
  let link = EMPTY
  return frames.map(([id, event]) => {
    const found = rules.step(link, { id, event })
    link = found.link
    return [...found.emit.map(({ type }) => type), found.end && 'end', found.anew && 'anew'].filter(Boolean).join()
  })
}

test('an id belongs to the events behind it, however the stream is cut', () => {
  const text = 'id: a/1\ndata: 1\n\n: beat\n\ndata: 2\n\nid: a/3\ndata: 3\n\n'
  for (let cut = 0; cut <= text.length; cut++) {
    const decoder = new Decoder()
    const found = [text.slice(0, cut), text.slice(cut)].flatMap((piece) => decoder.feed(new TextEncoder().encode(piece)).map((data, n) => `${decoder.ids[n]} ${data}`))
    assert.deepStrictEqual(found, ['a/1 1', 'a/1 2', 'a/3 3'], String(cut))
  }
})

test('a run is over when the server says that nothing follows', () => {
  const cases = [
    ['a run', [['a/1', sign({ running: true })], ['a/2', TEXT], ['a/3', END], ['kept/r2', sign({ running: false })]], ['', 'TEXT_MESSAGE_CONTENT', '', 'RUN_FINISHED,end']],
    ['a document at rest', [['document/1', SNAPSHOT], ['document/2', END], ['kept/r2', sign({ running: false })]], ['STATE_SNAPSHOT', '', 'RUN_FINISHED,end']],
    ['a document of a run that is on', [['document/1', SNAPSHOT], ['a/4', sign({ running: true })], ['a/5', TEXT]], ['STATE_SNAPSHOT', '', 'TEXT_MESSAGE_CONTENT']],
    ['it fails and is tried again', [['a/1', { type: 'RUN_ERROR' }], ['a/2', sign({ running: true, attempts: 1 })], ['a/3', { type: 'RUN_STARTED' }]], ['', '', 'anew']],
    ['the document is another one after the end', [['a/1', END], ['document/1', SNAPSHOT], ['document/2', END], ['kept/r', sign({ running: false })]], ['', 'STATE_SNAPSHOT', '', 'RUN_FINISHED,end']],
    ['it ended while nobody listened', [['a/9', sign({ running: false })]], ['anew']],
  ]
  for (const [name, frames, wanted] of cases) assert.deepStrictEqual(heard(frames), wanted, name)
  assert.strictEqual(rules.step(EMPTY, { id: 'kept/r7', event: sign({ running: false }) }).link.revision, 'r7')
  assert.deepStrictEqual(rules.step(EMPTY, { id: 'document/1', event: SNAPSHOT }).emit[0].snapshot.yaa.ext, { keeper: {} }, 'it says that it is kept')
})

test('a copy is changed if it was stored since, or, where a run wrote it, if a person has said something', () => {
  const answered = { interrupts: [{ id: 'q', reason: 'question', answer: { status: 'resolved' } }] }
  const cases = [
    ['the same', recordOf(), {}, 'w1', [], false],
    ['stored since', recordOf(), {}, 'w2', [], true],
    ['a change waits', recordOf(), {}, 'w1', [{}], true],
    ['a run wrote it', recordOf({ stale: true }), {}, 'w2', [], false],
    ['a run wrote it, and somebody said something', recordOf({ stale: true }), { messages: [user('m1'), user('m2')] }, 'w2', [], true],
    ['a run wrote it, and a question has an answer', recordOf({ stale: true }), answered, 'w2', [], true],
    ['the run goes on by this answer', recordOf({ stale: true, said: ['m1', 'q'] }), answered, 'w2', [], false],
  ]
  for (const [name, record, more, stamp, changes, wanted] of cases) assert.strictEqual(rules.isChanged(record, sessionOf(more), { stamp, changes }), wanted, name)
})

test('labels of an older copy go onto what the server has; more is a branch', () => {
  const other = sessionOf({ title: 'Old', ext: { tree: 1, pinned: true }, messages: [user('m1'), { id: 'm2', role: 'assistant', content: 'x' }] })
  const found = rules.rebased(sessionOf({ title: 'New', ext: { tags: ['a'], queue: { q: 'later' } } }), other)
  assert.deepStrictEqual(found, { ...other, title: 'New', ext: { tree: 1, tags: ['a'], queue: { q: 'later' } } })
  assert.strictEqual(rules.rebased(sessionOf({ messages: [user('m1', 'other words')] }), other), null)
  assert.strictEqual(rules.rebased(sessionOf({ messages: [user('m1'), user('mine')] }), other), null)
  const [question, answer] = [{ id: 'q', reason: 'question', created_at: 2 }, { status: 'resolved' }]
  const answered = sessionOf({ interrupts: [{ ...question, answer }] })
  assert.strictEqual(rules.rebased(answered, other), null)
  const asks = { ...other, interrupts: [{ id: 'p', reason: 'question' }, question] }
  assert.deepStrictEqual(rules.rebased(answered, asks).interrupts, [{ id: 'p', reason: 'question' }, { ...question, answer }])
  assert.strictEqual(rules.rebased(answered, { ...asks, interrupts: [{ ...question, answer }] }), null)
  assert.strictEqual(rules.rebased(answered, { ...asks, interrupts: [{ ...question, args: { command: 'other' } }] }), null, 'it asks something else')
})

test('one list: kept sessions among those of this browser, the last changed first', () => {
  const words = { sign: ['kept', 'Kept'], unusable: ({ problem }) => `Cannot be used: ${problem}` }
  const heads = [{ id: 'own', title: 'Own', updated: 50 }, { id: 'both', title: 'Old', updated: 40, waiting: 0 }, { id: 'open', title: 'Open', updated: 30 }]
  const rows = [
    { id: 'both', title: 'New', changed: 90, revision: 'r2', waiting: 1 }, { id: 'there', title: 'There', changed: 70, revision: 'x', running: true, messages: 2 },
    { id: 'bad', changed: 10, problem: 'too large' }, { id: 'open', title: 'Elsewhere', changed: 60, revision: 'r3' },
  ]
  const records = { both: recordOf(), open: recordOf() }
  const found = rules.merged(heads, { rows, records, isOpen: (id) => id === 'open', words })
  assert.deepStrictEqual(found.map(({ id, title, mark, badge, note }) => [id, title, mark, badge?.[0], note]), [
    ['both', 'New', 'asking', 'kept', undefined], ['there', 'There', 'busy', 'kept', undefined], ['own', 'Own', undefined, undefined, undefined],
    ['open', 'Open', undefined, 'kept', undefined], ['bad', 'bad', 'failed', 'kept', 'Cannot be used: too large'],
  ])
  assert.deepStrictEqual(rules.merged(heads, { rows: [], records: {}, isOpen: () => false, words }), heads)
})

test('who begins to ask is told once', () => {
  const row = (more) => ({ id: 'a', waiting: 1, running: false, revision: 'r', ...more })
  const cases = [
    ['it was not known', [], row(), 0], ['it did not ask', [row({ waiting: 0 })], row(), 1], ['it asks still', [row()], row(), 0],
    ['it asks something else', [row({ revision: 'q' })], row(), 1], ['it runs', [row({ waiting: 0 })], row({ running: true }), 0],
  ]
  for (const [name, before, now, wanted] of cases) assert.strictEqual(rules.newlyAsking(before, [now]).length, wanted, name)
})

test('new sessions are kept for the owner at the machine itself, unless a person says otherwise', () => {
  const keeper = { sessions: 1 }
  const cases = [
    [{ keeper, owner: true }, 'http://127.0.0.1:8000', true], [{ keeper, owner: true }, 'http://localhost', true], [{ keeper, owner: true }, 'http://[::1]:8', true],
    [{ keeper, owner: true }, 'https://yaa.example', false], [{ keeper, owner: false }, 'http://127.0.0.1:8000', false], [{ owner: true }, 'http://127.0.0.1', false],
    [{ keeper, owner: true }, 'http://127.0.0.1.example', false], [null, 'http://127.0.0.1', false], [{ keeper, owner: true }, '', false],
  ]
  for (const [info, base, wanted] of cases) assert.strictEqual(rules.isUsual(info, base), wanted, base)
})

test('that a run goes on without the page is said once the server has it', () => {
  const cases = [
    ['it is on its way', { following: false, sign: {} }, true, true, ''], ['the server has it', { following: true, sign: { running: true } }, true, true, 'keep.goesOn'],
    ['it is short', { following: true, sign: {} }, true, false, ''], ['it is tried again', { following: true, sign: { attempts: 1 } }, true, false, 'keep.again'],
    ['it has ended', { following: false, sign: { attempts: 1 } }, false, false, ''],
  ]
  for (const [name, link, live, isLong, wanted] of cases) assert.strictEqual(rules.runWord({ ...EMPTY, ...link }, live, isLong), wanted, name)
})

test('the key stands in a kept session, and goes with it where it says nothing', () => {
  assert.deepStrictEqual(rules.keyed({ ext: { keeper: { schedule: 1 }, a: 1 } }).ext, { keeper: { schedule: 1 }, a: 1 })
  const plain = sessionOf({ ext: { keeper: {}, a: 1 } })
  rules.unkeyed(plain)
  assert.deepStrictEqual(plain.ext, { a: 1 })
  const planned = sessionOf({ ext: { keeper: { schedule: 1 } } })
  rules.unkeyed(planned)
  assert.deepStrictEqual(planned.ext, { keeper: { schedule: 1 } })
})

/** A server that keeps sessions: it answers in the order of `answers`, by method and path. @param {Record<string, any>} answers */
function serverOf(answers) {
  /** @type {[string, any][]} */ const asked = []
  const fetch = async (url, { method = 'GET', headers, body }) => {
    const at = `${method} ${url.replace(BASE, '')}`
    asked.push([at, headers['If-Match'] ?? headers['Last-Event-ID'] ?? ''])
    const answer = answers[at]
    return typeof answer === 'function' ? answer(body) : answer.clone()
  }
  return { asked, api: apis.create({ base: BASE, key: 'k', fetch }) }
}
const streamed = (...frames) => new Response(frames.map(([id, event]) => `id: ${id}\ndata: ${JSON.stringify(event)}\n\n`).join(''), { headers: { 'Content-Type': 'text/event-stream', 'X-Heartbeat': '15' } })

test('a run of a kept session is stored, begun and followed; after a lost line it is only followed', async () => {
  const frames = [['document/1', SNAPSHOT], ['a/1', sign({ running: true })], ['a/2', TEXT]]
  const { asked, api } = serverOf({
    'PUT /keeper/sessions/one': Response.json({ id: 'one', revision: 'r2' }), 'POST /keeper/sessions/one/run': Response.json({ running: true }),
    'GET /keeper/sessions/one/events': () => streamed(...frames), 'POST /keeper/sessions/one/stop': Response.json({ stopped: true }),
  })
  const session = sessionOf({ id: 'one', ext: { keeper: {} } })
  runs.note('one', { base: BASE, revision: 'r1', stamp: '', said: [] })
  const way = runs.way({ session }, api)
  const response = await way.run(session)
  assert.strictEqual(response.headers.get('X-Heartbeat'), '15')
  assert.match(await response.text(), /^data: .*STATE_SNAPSHOT.*\n\n.*TEXT_MESSAGE_CONTENT/s)
  assert.deepStrictEqual(asked, [['PUT /keeper/sessions/one', '"r1"'], ['POST /keeper/sessions/one/run', ''], ['GET /keeper/sessions/one/events', '']])
  assert.strictEqual(way.lasting, true)
  asked.length = 0
  frames.splice(0, 3, ['a/3', END], ['kept/r3', sign({ running: false })])
  assert.match(await (await way.run(session)).text(), /^data: .*RUN_FINISHED/)
  assert.deepStrictEqual(asked, [['GET /keeper/sessions/one/events', 'a/2']])
  assert.strictEqual(runs.linkOf('one').revision, 'r3')
  asked.length = 0
  await way.stop('one')
  assert.deepStrictEqual(asked, [['POST /keeper/sessions/one/stop', '']], 'also between two runs')
})

test('what was stored to run is begun later, where the page or the line was gone between the two', async () => {
  const lost = () => Promise.reject(new TypeError('gone'))
  const refused = () => Response.json({ code: 'provider_unknown' }, { status: 422 })
  const [put, run, events] = ['PUT /keeper/sessions/nine', 'POST /keeper/sessions/nine/run', 'GET /keeper/sessions/nine/events']
  const rest = (reason) => (sync, session) => sync.rest({ session, state: { reason } })
  const reload = () => runs.relink('nine', { last: '', following: false, held: null, revision: '' })
  const words = (sync, session) => (reload(), session.messages.push(user('m3')))
  const cases = [
    ['the page is loaded again', lost, reload, [run, events]],
    ['the line was gone too long', lost, rest('gave_up'), [run, events]],
    ['it was stopped, and is to go on', lost, rest('stopped'), [run, events]],
    ['it was refused, and what it lacked is here', refused, rest('refused'), [put, run, events]],
    ['more was said', lost, words, [put, run, events]],
    ['it was begun', () => Response.json({ running: true }), reload, [events]],
  ]
  for (const [name, first, between, wanted] of cases) {
    let answer = first
    const { asked, api } = serverOf({
      [put]: () => Response.json({ revision: 'r2' }), [run]: () => answer(), [events]: () => streamed(['a/1', sign({ running: true })]),
      'POST /keeper/sessions/nine/stop': () => Response.json({ stopped: true }),
    })
    const session = sessionOf({ id: 'nine', messages: [user('m1'), user('m2')] })
    runs.note('nine', null)
    runs.note('nine', { base: BASE, revision: 'r1', said: ['m1'] })
    reload()
    await runs.way({ session }, api).run(session).catch(() => {})
    assert.deepStrictEqual(asked[0], [put, '"r1"'], name)
    between(syncOf({ app: { sessionStore: {}, store: {}, server: { api: () => api } }, actions: {} }), session)
    await new Promise(setImmediate)
    asked.length = 0
    answer = () => Response.json({ running: true })
    await runs.way({ session }, api).run(session)
    assert.deepStrictEqual(asked.map(([at]) => at), wanted, name)
    assert.ok(asked[0][0] !== put || asked[0][1] === '"r2"', name)
  }
})

test('answers alone are put to what is stored; with other words they are part of the document', async () => {
  const question = { id: 'q', reason: 'tool_call', tool: 'shell', answer: { status: 'resolved' } }
  for (const [said, wanted] of [[['m1'], 'POST /keeper/sessions/three/answers'], [['m0'], 'PUT /keeper/sessions/three']]) {
    const { asked, api } = serverOf({
      'POST /keeper/sessions/three/answers': (body) => (assert.deepStrictEqual(JSON.parse(body), { resume: [question] }), Response.json({ running: true })),
      'PUT /keeper/sessions/three': Response.json({ revision: 'r2' }), 'POST /keeper/sessions/three/run': Response.json({ running: true }),
      'GET /keeper/sessions/three/events': streamed(['a/1', sign({ running: true })]),
    })
    const session = sessionOf({ id: 'three', ext: { keeper: {} }, interrupts: [question] })
    runs.note('three', { base: BASE, revision: 'r1', stale: false, said })
    runs.relink('three', { following: false })
    await runs.way({ session }, api).run(session)
    assert.deepStrictEqual([asked[0][0], asked.at(-1)[0]], [wanted, 'GET /keeper/sessions/three/events'])
    assert.deepStrictEqual([runs.recordOf('three').stale, runs.recordOf('three').said], [true, ['m1', 'q']])
  }
})

test('a run is begun from the revision that a change on its way makes', async () => {
  const { asked, api } = serverOf({
    'PUT /keeper/sessions/four': Response.json({ revision: 'r3' }), 'POST /keeper/sessions/four/run': Response.json({ running: true }),
    'GET /keeper/sessions/four/events': streamed(['a/1', sign({ running: true })]),
  })
  const session = sessionOf({ id: 'four', ext: { keeper: {} } })
  runs.note('four', { base: BASE, revision: 'r1', said: [] })
  let arrive = () => {}
  runs.inTurn('four', () => new Promise((resolve) => { arrive = () => resolve(runs.note('four', { revision: 'r2' })) }))
  const running = runs.way({ session }, api).run(session)
  await new Promise(setImmediate)
  assert.deepStrictEqual(asked, [])
  arrive()
  await running
  assert.deepStrictEqual(asked[0], ['PUT /keeper/sessions/four', '"r2"'])
})

test('an answer that is given while a change is brought comes with its run', async () => {
  for (const [isAnswered, wanted] of [[true, ['GET']], [false, ['GET', 'PUT']]]) {
    const question = { id: 'q', reason: 'question' }
    const session = sessionOf({ id: 'six', title: 'New', interrupts: [question] })
    const entry = { session, going: null }
    const { asked, api } = serverOf({
      'GET /keeper/sessions/six': () => {
        if (isAnswered) Object.assign(entry, { going: Promise.resolve() })
        return Response.json(sessionOf({ id: 'six' }), { headers: { ETag: '"r1"' } })
      },
      'PUT /keeper/sessions/six': Response.json({ revision: 'r2' }),
    })
    runs.note('six', { base: BASE, revision: 'r1', stamp: 'w0', stale: false, said: ['m1'] })
    const sessionStore = { entry: () => entry, restore: async () => true }
    const app = { sessionStore, store: { look: async () => ({ stamp: 'w1', changes: [] }) }, server: { api: () => api } }
    await syncOf({ app, actions: {} }).push('six')
    assert.deepStrictEqual(asked.map(([at]) => at.split(' ')[0]), wanted)
  }
})

test('what does not come over the line is said once, by who asked for it', async () => {
  const { api } = serverOf({ 'GET /keeper/sessions/far': Response.json({ detail: 'Away.' }, { status: 404 }) })
  const opened = []
  const entry = { session: sessionOf({ id: 'near' }) }
  const app = { current: entry, sessionStore: { entry: () => entry }, store: {}, server: { api: () => api } }
  const sync = syncOf({ app, actions: { open: (id) => opened.push(id) } })
  toasts.length = 0
  await assert.rejects(sync.fetch('far'), ({ said }) => said === 'keep.failed')
  assert.deepStrictEqual(toasts, [])
  runs.note('near', { base: BASE, revision: 'r1', said: ['m1'] })
  sync.rest({ session: entry.session, state: { error: { code: 'kept_conflict', facts: { branch: 'far', revision: 'r2' } } } })
  await runs.inTurn('near', async () => {})
  assert.deepStrictEqual([toasts, opened], [['keep.branched', 'keep.failed'], []])
})

test('whenever a run is stopped, the server is told once', async () => {
  /** @type {any} */ let run
  const stop = async () => (await null, run.stop())
  const never = async () => {}
  const cases = [['before there is a stream', null], ['while it is stored', { put: stop, append: never }], ['while an answer is waited for', { put: never, append: never }]]
  for (const [when, store] of cases) {
    const session = sessionOf({ id: 'seven' })
    const { asked, api } = serverOf({
      'POST /keeper/sessions/seven/stop': Response.json({ stopped: true }),
      'GET /keeper/sessions/seven/events': async () => (await stop(), streamed()),
    })
    runs.note('seven', { base: BASE, revision: 'r1', said: ['m1'] })
    runs.relink('seven', { following: true })
    run = store ? start(session, { api: runs.way({ session }, api), store }) : {}
    const state = await run.done ?? { reason: 'stopped' }
    assert.strictEqual(state.reason, 'stopped', when)
    const app = { sessionStore: {}, store: {}, server: { api: () => api } }
    syncOf({ app, actions: {} }).rest({ session, state, run })
    await new Promise(setImmediate)
    assert.deepStrictEqual(asked.map(([at]) => at).filter((at) => at.startsWith('POST')), ['POST /keeper/sessions/seven/stop'], when)
  }
})

test('a conflict is a refusal that does not pass, with the branch', async () => {
  const { api } = serverOf({ 'PUT /keeper/sessions/two': Response.json({ code: 'kept_conflict', branch: 'two-2', revision: 'r9' }, { status: 409 }) })
  const session = sessionOf({ id: 'two', ext: { keeper: {} } })
  runs.note('two', { base: BASE, revision: 'r1', stamp: '', said: [] })
  await assert.rejects(runs.way({ session }, api).run(session), (error) => error.code === 'kept_conflict' && error.facts.branch === 'two-2' && error.status === 412)
})

test('what cannot be kept runs as it did before', async () => {
  const { asked, api } = serverOf({ 'PUT /keeper/sessions/full': Response.json({ code: 'keeper_full', detail: 'Full.' }, { status: 507 }), 'POST /session': streamed(['', END]) })
  const session = sessionOf({ id: 'full', rev: 0, ext: { keeper: {} } })
  const way = runs.way({ session }, api)
  await way.run(session)
  assert.deepStrictEqual(asked.map(([at]) => at), ['PUT /keeper/sessions/full', 'POST /session'])
  assert.deepStrictEqual([runs.recordOf('full'), way.lasting], [null, false])
})

test('what is kept at another server, or is there no more, runs as any session does', async () => {
  for (const [id, record] of [['elsewhere', { base: 'http://other.test' }], ['gone', { base: BASE, gone: true }]]) {
    const { asked, api } = serverOf({ 'POST /session': streamed(['', END]) })
    const session = sessionOf({ id, rev: 3, ext: { keeper: {} } })
    runs.note(id, { revision: 'r1', ...record })
    await runs.way({ session }, api).run(session)
    assert.deepStrictEqual(asked.map(([at]) => at), ['POST /session'], id)
  }
})
