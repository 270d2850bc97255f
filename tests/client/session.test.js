// What people do to a session, and what can be read off it.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { use } = require('./load-modules.js')

const sessions = use('core/session')
const { canonical } = use('core/canonical-json')

const call = (id, name = 'shell') => ({ id, type: 'function', function: { name, arguments: '{}' } })
const user = { id: 'u1', role: 'user', content: 'hi' }
const asking = (changes = {}) => ({
  id: 's',
  messages: [user, { id: 'm1', role: 'assistant', content: '', tool_calls: [call('c1'), call('c2')] }],
  calls: { c1: { name: 'shell', state: 'asking', attempt: 0, fingerprint: 'f' }, c2: { name: 'shell', state: 'asking', attempt: 0 } },
  interrupts: [{ id: 'int-c1', reason: 'tool_call', call_id: 'c1' }, { id: 'int-c2', reason: 'tool_call', call_id: 'c2' }],
  status: 'interrupted',
  finish_reason: 'awaiting',
  ...changes,
})
const resolved = (payload) => ({ status: 'resolved', payload })

test('a new session', () => {
  const session = sessions.create({ now: 1_763_690_400_123, character: 'You.', title: undefined })
  assert.match(session.id, /^[0-9a-f-]{36}$/)
  assert.deepStrictEqual({ ...session, id: '' }, { id: '', version: 1, rev: 0, start_time: '2025-11-21T02:00:00Z', messages: [], character: 'You.' })
  const message = sessions.append(session, 'hi', { id: 'u', now: 5 })
  assert.deepStrictEqual(session.messages, [{ id: 'u', role: 'user', content: 'hi', at: 5 }])
  assert.strictEqual(session.messages[0], message)
  assert.match(sessions.append(session, [{ type: 'text', text: 'x' }]).id, /^msg_/)
})

test('open and answered questions', () => {
  const session = asking()
  assert.deepStrictEqual(sessions.openInterrupts(session).map(({ id }) => id), ['int-c1', 'int-c2'])
  const failed = { ...session, interrupts: [...session.interrupts, { id: 'failed', reason: 'model_error' }, { id: 'limit', reason: 'limit' }] }
  assert.deepStrictEqual(sessions.questionsOf(failed).map(({ id }) => id), ['int-c1', 'int-c2', 'limit'], 'what failed asks nobody')
  assert.strictEqual(sessions.answer(session, 'int-c1', resolved({ approved: true })), true)
  assert.deepStrictEqual(sessions.openInterrupts(session).map(({ id }) => id), ['int-c2'])
  assert.deepStrictEqual(sessions.answeredInterrupts(session).map(({ id }) => id), ['int-c1'])
  assert.strictEqual(sessions.answer(session, 'int-c1', null), true)
  assert.strictEqual(canonical(session), canonical(asking()))
  assert.strictEqual(sessions.answer(session, 'nothing', resolved({})), false)
  session.messages.push({ id: 'r', role: 'tool', tool_call_id: 'c1', content: '' })
  assert.deepStrictEqual(sessions.openInterrupts(session).map(({ id }) => id), ['int-c2'], 'a call that has its result asks nothing')
  assert.strictEqual(sessions.answer(session, 'int-c1', resolved({})), false)
})

test('write-ahead marks what may run, and nothing else', () => {
  const rows = [
    ['tool_call', resolved({ approved: true }), 'asking', { state: 'started', attempt: 1 }],
    ['tool_call', resolved({ approved: true, edited_args: { a: 1 } }), 'asking', { state: 'started', attempt: 1, args: { a: 1 } }],
    ['tool_call', resolved({ approved: false }), 'asking', null],
    ['tool_call', { status: 'cancelled' }, 'asking', null],
    ['tool_call', resolved({ approved: true }), 'started', null],
    ['tool_call', resolved({ approved: true }), 'done', null],
    ['tool_call', undefined, 'asking', null],
    ['indeterminate', resolved({ action: 'retry' }), 'indeterminate', { state: 'started', attempt: 1 }],
    ['indeterminate', resolved({ action: 'skip' }), 'indeterminate', null],
    ['client_tool', resolved({ content: 'x', approved: true }), 'waiting', null],
    ['input_required', resolved('yes'), 'waiting', null],
    ['limit', resolved({ continue: true }), 'asking', null],
  ]
  for (const [reason, answer, state, mark] of rows) {
    const session = asking({ interrupts: [{ id: 'i', reason, call_id: 'c1', ...(answer ? { answer } : {}) }] })
    session.calls.c1.state = state
    const before = canonical(session)
    const marks = sessions.writeAhead(session)
    const kept = sessions.applyMarks(session, marks)
    const name = JSON.stringify([reason, answer, state])
    assert.strictEqual(canonical(session), before, name)
    assert.deepStrictEqual(marks, mark ? { c1: { name: 'shell', fingerprint: 'f', ...mark } } : {}, name)
    assert.deepStrictEqual(kept.calls.c1, mark ? marks.c1 : session.calls.c1, name)
    assert.deepStrictEqual({ ...kept, calls: null }, { ...session, calls: null }, name)
  }
})

test('marks hold until the server has carried out, answered or asked anew', () => {
  const sent = asking({ interrupts: [{ id: 'int-c1', reason: 'tool_call', call_id: 'c1', answer: resolved({ approved: true }) }] })
  const marks = sessions.writeAhead(sent)
  assert.strictEqual(sessions.applyMarks(sent, marks).calls.c1.state, 'started')
  const executed = structuredClone(sent)
  Object.assign(executed.calls.c1, { state: 'done', attempt: 1 })
  assert.strictEqual(sessions.applyMarks(executed, marks).calls.c1.state, 'done')
  const askedAgain = structuredClone(sent)
  delete askedAgain.interrupts[0].answer
  assert.strictEqual(sessions.applyMarks(askedAgain, marks).calls.c1.state, 'asking')
  const withResult = structuredClone(sent)
  withResult.messages.push({ id: 'r', role: 'tool', tool_call_id: 'c1', content: '' })
  assert.strictEqual(sessions.applyMarks(withResult, marks).calls.c1.state, 'asking')
})

test('a call without a ledger entry, or with a hostile name, is marked like any other', () => {
  const session = asking({ calls: {}, interrupts: [{ id: 'i', reason: 'tool_call', call_id: '__proto__', answer: resolved({ approved: true }) }] })
  const kept = (one) => sessions.applyMarks(one, sessions.writeAhead(one))
  assert.strictEqual(canonical(kept(session).calls), '{"__proto__":{"attempt":1,"state":"started"}}')
  const bare = { id: 's', messages: [user] }
  assert.deepStrictEqual(kept(bare), bare)
})

test('items: calls with all that belongs to them', () => {
  const result = { id: 'r', role: 'tool', tool_call_id: 'c1', content: 'x' }
  const session = asking({ interrupts: [{ id: 'int-c2', reason: 'tool_call', call_id: 'c2' }] })
  const late = { id: 'm2', role: 'assistant', content: 'par', open: true, tool_calls: [call('c3')] }
  session.messages.push(result, { id: 'x', role: 'tool', tool_call_id: 'of nobody', content: '' }, late)
  const items = sessions.items(session)
  assert.deepStrictEqual(items.map((item) => item.message.id), ['u1', 'm1', 'x', 'm2'])
  assert.deepStrictEqual(items[1].calls, [
    { call: call('c1'), entry: session.calls.c1, result, interrupt: undefined },
    { call: call('c2'), entry: session.calls.c2, result: undefined, interrupt: session.interrupts[0] },
  ])
  assert.deepStrictEqual([items[3].cut, items[3].calls], [true, [{ call: call('c3') }]])
  assert.strictEqual(sessions.items(session, { live: true })[3].cut, false)
})

test('why it stands still', () => {
  const answer = { id: 'm', role: 'assistant', content: 'done' }
  const rows = [
    [{ messages: [] }, 'empty', false],
    [{ messages: [user] }, 'ready', true],
    [{ messages: [user], status: 'in_progress' }, 'cut', true],
    [{ messages: [user, { ...answer, open: true }], status: 'in_progress' }, 'cut', true],
    [{ messages: [user, answer], status: 'completed', finish_reason: 'completed' }, 'completed', false],
    [{ messages: [user, answer, { ...user, id: 'u2' }], status: 'completed', finish_reason: 'completed' }, 'ready', true],
    [{ messages: [user, answer] }, 'completed', false],
    [asking(), 'awaiting', false],
    [asking({ interrupts: [{ id: 'int-c1', reason: 'tool_call', call_id: 'c1', answer: resolved({ approved: true }) }] }), 'ready', true],
    [{ messages: [user], interrupts: [{ id: 'l', reason: 'limit' }], status: 'interrupted', finish_reason: 'limit' }, 'limit', false],
    [{ messages: [user, { id: 'e', role: 'error', content: 'x' }], interrupts: [{ id: 'e', reason: 'model_error' }], status: 'failed' }, 'model_error', false],
    [{ messages: [user, { id: 'e', role: 'error', content: 'x' }], status: 'failed', finish_reason: 'failed' }, 'failed', true],
    [{ messages: [user, answer], status: 'interrupted', finish_reason: 'limit' }, 'limit', false],
  ]
  for (const [session, kind, resumes] of rows) {
    assert.strictEqual(sessions.stopReason(session).kind, kind, JSON.stringify(session))
    assert.strictEqual(sessions.canResume(session), resumes, JSON.stringify(session))
    assert.strictEqual(sessions.stopReason(session, { live: true }).kind, 'running')
  }
})

test('documents that hold anything', () => {
  const odd = [{}, { messages: null }, { messages: [null, 1, 'x', { role: 'tool' }, { role: 'assistant', tool_calls: [null, {}] }], interrupts: [null, 3, {}], calls: null }, { messages: 'x', interrupts: 'y' }]
  for (const session of odd) {
    sessions.items(session)
    sessions.stopReason(session)
    sessions.writeAhead(session)
    assert.strictEqual(sessions.answer(session, 'i', null), false)
  }
})

test('what ended an answer before the model did', () => {
  const rows = [...Object.entries(require('../vectors/endings.json')), [null, ''], [undefined, ''], [{}, ''], ['', '']]
  for (const [finish_reason, why] of rows) assert.strictEqual(sessions.endedBy({ role: 'assistant', content: 'Words', meta: { finish_reason } }), why, String(finish_reason))
  const meta = { finish_reason: 'stop' }
  for (const content of [null, undefined, '', ' \n', []]) assert.strictEqual(sessions.endedBy({ role: 'assistant', content, meta }), 'empty', JSON.stringify(content))
  assert.strictEqual(sessions.endedBy({ role: 'assistant', content: [{ type: 'text', text: 'x' }], meta }), '')
  assert.strictEqual(sessions.endedBy({ role: 'assistant', content: '', meta: { finish_reason: 'length' } }), 'length')
  const cut = { role: 'assistant', meta: { finish_reason: 'length' } }
  assert.deepStrictEqual([{ ...cut, tool_calls: [{ id: 'c' }] }, { ...cut, role: 'user' }, { role: 'assistant' }].map(sessions.endedBy), ['', '', ''])
})

test('half of a surrogate pair, which no server takes, is replaced wherever a person types', () => {
  const half = 'a\ud83db'
  const session = sessions.create()
  sessions.append(session, half)
  sessions.append(session, [{ type: 'text', text: half }, { type: 'image_url', image_url: { url: 'data:' } }])
  const edits = use('core/message-edits')
  edits.editMessage(session, session.messages[1].id, half)
  session.messages.push({ id: 'a', role: 'assistant', content: '', tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }] }, { id: 't', role: 'tool', tool_call_id: 'c', content: '' })
  edits.editResult(session, 'c', { value: half })
  edits.editArguments(session, 'c', half)
  assert.ok(JSON.stringify(session).isWellFormed() && !/\\ud83d/.test(JSON.stringify(session)))
})

test('a session is named by its first words until a run has named it', () => {
  const { titleOf } = use('core/session')
  const said = (content) => [{ id: 'a', role: 'assistant', content: 'hello' }, { id: 'u', role: 'user', content }]
  const rows = [
    [{ title: 'Own', messages: said('words') }, 'Own'], [{ messages: said('  first line\nsecond') }, 'first line'],
    [{ messages: said([{ type: 'text', text: '<file name="a.txt">\nx\n</file>' }]) }, 'a.txt'], [{ messages: said([{ type: 'image' }, { type: 'text', text: 'a picture' }]) }, 'a picture'], [{ messages: [] }, ''],
    [{ title: '', messages: said('x'.repeat(99)) }, 'x'.repeat(60)], [{ messages: said(null) }, ''],
  ]
  for (const [session, title] of rows) assert.strictEqual(titleOf(session), title)
})
