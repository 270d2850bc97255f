// Tools of the page: what may be registered, what a session is told, and that each call is carried out once.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { use } = require('./load-modules.js')

const tools = use('core/client-tools')
const never = new AbortController().signal
const plain = (changes = {}) => ({ name: 'weather', description: 'The weather.', run: () => 'sun', ...changes })

/** Registered for one test. */
function given(t, ...made) {
  for (const tool of made) t.after(tools.register(tool))
}

test('what may be registered', (t) => {
  given(t, plain())
  const wrong = [
    [undefined, /a name has/], [null, /a name has/], [{}, /a name has/], [plain({ name: 'two words' }), /a name has/], [plain({ name: 'x'.repeat(65) }), /a name has/],
    [plain(), /there is a tool named weather already/],
    [plain({ name: 'a', run: 'sun' }), /no function run/],
    [plain({ name: 'a', description: '' }), /no description/],
    [plain({ name: 'a', parameters: { type: 'array' } }), /no JSON Schema of an object/],
    [plain({ name: 'a', parameters: null }), /no JSON Schema of an object/],
    [plain({ name: 'a', prameters: {} }), /prameters, which means nothing/],
  ]
  for (const [tool, message] of wrong) assert.throws(() => tools.register(tool), { name: 'TypeError', message }, JSON.stringify(tool))
  assert.deepStrictEqual(tools.all().map(({ name }) => name), ['weather'])
  const back = tools.register(plain({ name: 'other' }))
  back()
  back()
  assert.strictEqual(tools.get('other'), undefined)
})

test('a session is told of what is switched on and not the server’s', (t) => {
  given(t, plain(), plain({ name: 'notify', wait: false }), plain({ name: 'asked', wait: false, confirm: true, hints: { idempotent: true } }), plain({ name: 'shell' }))
  const on = { weather: true, notify: true, asked: true, shell: true, gone: true }
  const parameters = { type: 'object', properties: {} }
  assert.deepStrictEqual(tools.declare({}, []), [])
  assert.deepStrictEqual(tools.declare({ weather: 'yes', notify: 1 }, []), [], 'only true is on')
  assert.deepStrictEqual(tools.declare(on, ['shell']), [
    { name: 'weather', description: 'The weather.', parameters },
    { name: 'notify', description: 'The weather.', parameters, wait: false },
    { name: 'asked', description: 'The weather.', parameters, hints: { idempotent: true } },
  ])
})

test('every way in which a tool can end is an answer', async () => {
  const loop = {}
  loop.loop = loop
  const rows = [
    [() => 'sun', { content: 'sun' }],
    [async () => [{ type: 'text', text: 'x' }], { content: [{ type: 'text', text: 'x' }] }],
    [() => undefined, { content: 'done' }], [() => null, { content: 'done' }], [() => 0, { content: 0 }], [() => false, { content: false }],
    [() => ({ a: undefined, b: new Date(0) }), { content: { b: '1970-01-01T00:00:00.000Z' } }],
    [() => () => 1, { content: '() => 1' }], [() => 10n, { content: '10' }], [() => loop, { content: '[object Object]' }],
    [() => '\ud83d', { content: '\ufffd' }],
    [() => { throw new Error('no') }, { content: 'no', is_error: true }],
    [async () => { throw 'text' }, { content: 'text', is_error: true }],
    [async () => { throw undefined }, { content: 'undefined', is_error: true }],
    [() => Promise.reject(Object.assign(new Error('x'), { content: { why: 1 } })), { content: { why: 1 }, is_error: true }],
    [() => { throw tools.gestureNeeded() }, { gesture: true }],
  ]
  for (const [run, outcome] of rows) assert.deepStrictEqual(await tools.perform(plain({ run }), {}, never), outcome, String(run))
  const long = await tools.perform(plain({ run: () => ({ text: 'x'.repeat(300_000) }) }), {}, never)
  assert.ok(long.content.length < 200_100 && long.content.endsWith('more characters'))
})

test('a tool that never ends is given up, and told so', async () => {
  let aborted = 0
  const run = (_args, { signal }) => new Promise(() => signal.addEventListener('abort', () => { aborted += 1 }))
  const late = await tools.perform(plain({ run, timeout_s: 0.01 }), {}, never)
  assert.deepStrictEqual(late, { content: 'It took longer than 0.01 s and was given up.', is_error: true })
  const controller = new AbortController()
  const stopped = tools.perform(plain({ run, timeout_s: 0 }), {}, controller.signal)
  controller.abort()
  assert.deepStrictEqual(await stopped, { content: 'The user stopped it.', is_error: true })
  assert.deepStrictEqual((await tools.perform(plain({ run }), {}, AbortSignal.abort())).is_error, true)
  assert.strictEqual(aborted, 2, 'the last one was never heard of by its tool')
})

// -- the runner -------------------------------------------------------------------------------------

const call = (id, name) => ({ id, type: 'function', function: { name, arguments: '{}' } })

/** A session whose run has ended with these calls waiting for the page: [id, tool, state?, more?]. */
function waiting(...calls) {
  return {
    id: 's',
    messages: [{ id: 'u', role: 'user', content: 'go' }, { id: 'm', role: 'assistant', content: '', tool_calls: calls.map(([id, name]) => call(id, name)) }],
    calls: Object.fromEntries(calls.map(([id, name, state = 'waiting']) => [id, { name, state, attempt: state === 'started' ? 1 : 0 }])),
    interrupts: calls.map(([id, tool, , more]) => ({ id: `int-${id}`, reason: 'client_tool', call_id: id, tool, args: { id }, ...more })),
    tools: [{ name: 'notify', wait: false }],
  }
}

/** A runner with everything around it written down in `log`, in order. */
function runner(options = {}) {
  const log = []
  const found = {
    log,
    stored: null,
    answers: [],
    active: null,
    on: { weather: true, notify: true, asked: true, slow: true, click: true },
  }
  found.runner = tools.openCallRunner({
    enabled: () => found.on,
    going: () => found.active,
    save: async (entry, work) => {
      log.push('save')
      work?.(entry.session)
      if (entry) found.stored = structuredClone(entry.session)
      await options.saving
    },
    answer: (entry, answers) => {
      for (const [id, answer] of answers) {
        entry.session.interrupts.find((each) => each.id === id).answer = answer
        found.answers.push([id, answer.payload])
      }
    },
    changed: () => log.push('changed'),
    failed: (tool, why) => log.push(`${tool.name} failed: ${why}`),
  })
  return found
}

const settle = async () => { for (let n = 0; n < 20; n++) await null }
const rest = (session) => ({ session, state: { phase: 'interrupted', reason: 'awaiting' } })

test('three calls at once, each kept as started before it runs, each answered once', async (t) => {
  const found = runner()
  const seen = []
  const run = ({ id }) => {
    seen.push([id, found.stored.calls[id].state, found.stored.calls[id].attempt])
    return `did ${id}`
  }
  given(t, plain({ run }))
  const entry = rest(waiting(['c1', 'weather'], ['c2', 'weather'], ['c3', 'weather'], ['c4', 'shell']))
  found.runner.onRest(entry)
  found.runner.onRest(entry)
  await settle()
  assert.deepStrictEqual(seen, [['c1', 'started', 1], ['c2', 'started', 1], ['c3', 'started', 1]])
  assert.deepStrictEqual(found.answers, ['c1', 'c2', 'c3'].map((id) => [`int-${id}`, { content: `did ${id}` }]))
  found.runner.onRest(entry)
  await settle()
  assert.strictEqual(seen.length, 3)
  assert.strictEqual(found.runner.status(entry, entry.session.interrupts[3]), 'waiting', 'nobody here has that tool')
})

test('what is not begun by itself', async (t) => {
  const ran = []
  const run = ({ id }) => { ran.push(id) }
  given(t, plain({ run }), plain({ name: 'asked', confirm: ({ id }) => id === 'c2', run }), plain({ name: 'click', gesture: true, run }))
  const rows = [
    ['begun before', ['c1', 'weather', 'started'], {}, 'begun'],
    ['the tool asks first', ['c2', 'asked'], {}, 'waiting'],
    ['the server asks first', ['c1', 'weather', 'waiting', { confirm: 'this server asks about it always' }], {}, 'waiting'],
    ['a click is needed', ['c1', 'click'], {}, 'waiting'],
    ['switched off', ['c1', 'weather'], { on: {} }, 'waiting'],
    ['answered already', ['c1', 'weather', 'waiting', { answer: { status: 'cancelled' } }], {}, 'waiting'],
    ['the run did not end with a question', ['c1', 'weather'], { state: { phase: 'interrupted', reason: 'gave_up' } }, 'waiting'],
    ['opened, not run', ['c1', 'weather'], { state: null }, 'waiting'],
  ]
  for (const [name, made, { on, state }, status] of rows) {
    const found = runner()
    if (on) found.on = on
    const entry = { ...rest(waiting(made)), ...(state === undefined ? {} : { state }) }
    found.runner.onRest(entry)
    await settle()
    assert.deepStrictEqual([ran, found.answers, found.log], [[], [], []], name)
    assert.strictEqual(found.runner.status(entry, entry.session.interrupts[0]), status, name)
  }
})

test('what is not yet kept as started does not run', async (t) => {
  const ran = []
  let kept = () => {}
  given(t, plain({ run: ({ id }) => { ran.push(id) } }))
  const found = runner({ saving: new Promise((resolve) => { kept = () => resolve(null) }) })
  found.runner.onRest(rest(waiting(['c1', 'weather'])))
  await settle()
  assert.deepStrictEqual(ran, [])
  kept()
  await settle()
  assert.deepStrictEqual(ran, ['c1'])
})

test('by a click it runs, also again', async (t) => {
  const ran = []
  given(t, plain({ run: ({ id }) => { ran.push(id) } }))
  const found = runner()
  const entry = rest(waiting(['c1', 'weather', 'started']))
  const [interrupt] = entry.session.interrupts
  found.runner.run(entry, interrupt)
  found.runner.run(entry, interrupt)
  await settle()
  assert.deepStrictEqual([ran, found.answers], [['c1'], [['int-c1', { content: 'done' }]]])
  assert.strictEqual(found.stored.calls.c1.attempt, 2)
  found.runner.run(entry, interrupt)
  await settle()
  assert.strictEqual(ran.length, 1, 'an answered call is over')
})

test('a tool that needs a click is called within it; one that finds out asks for it', async (t) => {
  const ran = []
  let clicked = false
  given(t,
    plain({ name: 'click', gesture: true, run: () => { ran.push(clicked) } }),
    plain({ run: () => { ran.push(clicked); if (!clicked) throw tools.gestureNeeded() } }))
  const found = runner({ saving: new Promise((resolve) => setTimeout(resolve, 5)) })
  const entry = rest(waiting(['c1', 'click']))
  clicked = true
  found.runner.run(entry, entry.session.interrupts[0])
  clicked = false
  assert.deepStrictEqual(ran, [true], 'before anything is waited for')
  await new Promise((resolve) => setTimeout(resolve, 20))

  const other = rest({ ...waiting(['c1', 'weather']), id: 'other' })
  found.runner.onRest(other)
  await new Promise((resolve) => setTimeout(resolve, 20))
  assert.strictEqual(found.runner.status(other, other.session.interrupts[0]), 'click')
  assert.deepStrictEqual(found.stored.calls.c1, { name: 'weather', state: 'waiting', attempt: 0 }, 'nothing has happened')
  clicked = true
  found.runner.run(other, other.session.interrupts[0])
  clicked = false
  await settle()
  assert.deepStrictEqual(ran, [true, false, true])
  assert.strictEqual(found.answers.length, 2)
})

test('that a call waits for a click is told once it is kept', async (t) => {
  given(t, plain({ run: () => { throw tools.gestureNeeded() } }))
  const turn = () => new Promise((resolve) => setTimeout(resolve))
  const found = runner({ get saving() { return turn().then(() => found.log.push('kept')) } })
  found.runner.onRest(rest(waiting(['c1', 'weather'])))
  for (let n = 0; n < 100 && found.log.length < 6; n++) await turn()
  assert.deepStrictEqual(found.log, ['save', 'kept', 'changed', 'save', 'kept', 'changed'])
})

test('what ends during a run is answered after it; what the person left behind is stopped', async (t) => {
  let finish
  let aborted = false
  const run = (_args, { signal }) => new Promise((resolve) => { finish = resolve; signal.addEventListener('abort', () => { aborted = true }) })
  given(t, plain({ name: 'slow', run }))
  const found = runner()
  const entry = rest(waiting(['c1', 'slow']))
  found.runner.onRest(entry)
  await settle()
  assert.strictEqual(found.runner.status(entry, entry.session.interrupts[0]), 'running')
  found.active = new Promise(() => {})
  finish('late')
  await settle()
  assert.deepStrictEqual(found.answers, [])
  found.active = null
  found.runner.onRest(entry)
  assert.deepStrictEqual(found.answers, [['int-c1', { content: 'late' }]])

  const left = rest({ ...waiting(['c1', 'slow']), id: 'left' })
  found.runner.onRest(left)
  await settle()
  left.session.messages.push({ id: 'r', role: 'tool', tool_call_id: 'c1', content: 'superseded' })
  left.session.interrupts = []
  found.runner.onRest(left)
  await settle()
  assert.deepStrictEqual([aborted, found.answers.length], [true, 1])

  const stopped = rest({ ...waiting(['c1', 'slow']), id: 'stopped' })
  found.runner.onRest(stopped)
  await settle()
  found.runner.stop(stopped, stopped.session.interrupts[0])
  await settle()
  assert.deepStrictEqual(found.answers[1], ['int-c1', { content: 'The user stopped it.', is_error: true }])
})

test('a button that is pressed under a run waits for its rest, and marks nothing before', async (t) => {
  const ran = []
  given(t, plain({ run: ({ id }) => { ran.push(id) } }))
  const found = runner()
  const entry = rest(waiting(['c1', 'weather', 'started']))
  const before = structuredClone(entry.session)
  const ends = []
  const running = () => new Promise((resolve) => { ends.push(resolve) })
  found.active = running()
  found.runner.run(entry, entry.session.interrupts[0])
  await settle()
  assert.deepStrictEqual([entry.session, ran, found.log], [before, [], []])
  found.active = running() // it has gone on by itself
  ends[0]()
  await settle()
  assert.deepStrictEqual([entry.session, ran, found.log], [before, [], []])
  found.active = null
  ends[1]()
  await settle()
  assert.deepStrictEqual([ran, found.answers], [['c1'], [['int-c1', { content: 'done' }]]])
})

test('an action is done once, after what was heard is kept, and only where it was declared', async (t) => {
  const done = []
  given(t, plain({ name: 'notify', wait: false, run: (args) => { done.push(args.text); if (args.text === 'bad') throw new Error('no') } }), plain())
  const event = (id, name, result) => ({ type: 'TOOL_CALL_RESULT', toolCallId: id, metadata: { yaa: { name, result } } })
  const message = (id, name, result) => ({ id: `r${id}`, role: 'tool', tool_call_id: id, name, content: '', result })
  const sent = (text) => ({ status: 'sent', args: { text } })
  const hear = (found, entry, id, name, result) => {
    entry.session.messages.push(message(id, name, result))
    found.runner.onEvent(entry, event(id, name, result))
  }
  const found = runner()
  const entry = rest(waiting())
  entry.session.messages.push(message('old', 'notify', sent('old')))
  found.runner.onEvent(entry, event('old', 'notify', sent('old')))
  found.runner.onStart(entry)
  found.runner.onEvent(entry, event('old', 'notify', sent('old')))
  hear(found, entry, 'c1', 'notify', sent('one'))
  found.runner.onEvent(entry, event('c1', 'notify', sent('again')))
  assert.deepStrictEqual([done, found.log], [[], ['save']], 'not before it is kept')
  await settle()
  assert.deepStrictEqual(done, ['one'])
  hear(found, entry, 'c2', 'weather', sent('a tool that waits'))
  hear(found, entry, 'c3', 'notify', { status: 'denied' })
  found.runner.onEvent(entry, event('c9', 'notify', sent('a result that was not folded')))
  found.on = {}
  hear(found, entry, 'c4', 'notify', sent('switched off'))
  found.on = { notify: true }
  entry.session.tools = []
  hear(found, entry, 'c5', 'notify', sent('never declared'))
  await settle()
  assert.deepStrictEqual(done, ['one'])
  entry.session.tools = [{ name: 'notify', wait: false }]
  entry.session.messages.push(message('c6', 'notify', sent('two')), message('c7', 'notify', sent('bad')))
  found.runner.onEvent(entry, { type: 'yaa.reset' })
  found.runner.onEvent(entry, { type: 'yaa.reset' })
  await settle()
  assert.deepStrictEqual(done, ['one', 'two', 'bad'])
  assert.strictEqual(found.log.at(-1), 'notify failed: no')
})
