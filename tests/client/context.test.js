// What the model sees of a session, how much room it takes, where it was made smaller.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { use } = require('./load-modules.js')

const { messageViews, contextUsage, roomFrom, limitOf, markers, estimate, pin, restore } = use('core/context')

const messages = () => [
  { id: 'u1', role: 'user', content: 'x'.repeat(400) },
  { id: 'a1', role: 'assistant', content: '', tool_calls: [{ id: 'c1', function: { name: 'read', arguments: '{}' } }] },
  { id: 't1', role: 'tool', tool_call_id: 'c1', content: 'y'.repeat(4000) },
  { id: 'a2', role: 'assistant', content: 'ok', meta: { usage: { prompt_tokens: 1500, completion_tokens: 100, total_tokens: 1600 } } },
  { id: 'e1', role: 'error', content: 'z' },
  { id: 'u2', role: 'user', content: '你好' },
]
const states = (ops, all = messages()) => messageViews({ id: 's', messages: all, context: { ops } }).map((row) => row.state + (row.pinned ? '!' : ''))

test('how each message is sent', () => {
  const whole = ['whole', 'whole', 'whole', 'whole', 'never', 'whole']
  const rows = [
    [undefined, whole], [[], whole], [[null, 3, { op: 'rewind', ids: ['t1'] }], whole],
    [[{ op: 'stub', ids: ['t1'] }], whole.with(2, 'stub')], [[{ op: 'stub', ids: ['u1', 'a1'] }], whole],
    [[{ op: 'expire', ids: ['t1'], after: 1 }], whole], [[{ op: 'preview', id: 't1', head: 40, tail: 40 }], whole.with(2, 'preview')],
    [[{ op: 'stub', ids: ['t1'] }, { op: 'preview', id: 't1', head: 4, tail: 4 }], whole.with(2, 'stub')],
    [[{ op: 'preview', id: 't1', head: 4, tail: 4 }, { op: 'stub', ids: ['t1'] }], whole.with(2, 'stub')],
    [[{ op: 'fold', from: 'u1', to: 't1', text: 'a' }, { op: 'fold', from: 'u1', to: 'a2', text: 'b' }], ['fold', 'fold', 'fold', 'fold', 'never', 'whole']],
    [[{ op: 'fold', from: 't1', to: 'a2', text: 'a' }, { op: 'fold', from: 'u1', to: 't1', text: 'b' }], ['fold', 'fold', 'fold', 'whole', 'never', 'whole']],
    [[{ op: 'fold', from: 'u1', to: 'a2', text: 'sum' }], ['fold', 'fold', 'fold', 'fold', 'never', 'whole']],
    [[{ op: 'fold', from: 'a2', to: 'u1', text: 'sum' }], whole], [[{ op: 'pin', ids: ['t1', 'u1'] }, { op: 'unpin', ids: ['u1'] }], whole.with(2, 'whole!')],
    [[{ op: 'args', id: 'a1', fields: ['x'] }], whole.with(1, 'args')], [[{ op: 'stub', ids: ['none', 'm99', null, {}] }], whole], [[{ op: 'stub', ids: ['e1'] }], whole],
  ]
  for (const [ops, expected] of rows) assert.deepStrictEqual(states(ops), expected, JSON.stringify(ops))
  const [row] = messageViews({ id: 's', messages: messages(), context: { ops: [{ op: 'stub', ids: ['t1'] }] } }).filter((one) => one.state === 'stub')
  assert.deepStrictEqual([row.full, row.sent], [1004, 20])
  assert.deepStrictEqual(messageViews({ id: 's', messages: null }), [])
  const open = (...more) => states([], [{ id: 'u', role: 'user', content: 'a' }, { id: 'a', role: 'assistant', content: 'b', open: true }, ...more]).slice(1)
  assert.deepStrictEqual(open(), ['never'], 'the model begins again')
  assert.deepStrictEqual(open({ role: 'error', content: 'c' }, { role: 'user', content: 'd' }), ['whole', 'never', 'whole'], 'stopped')
  assert.deepStrictEqual(open({ role: 'assistant', content: 'c' }, { role: 'user', content: 'd' }), ['never', 'whole', 'whole'], 'begun again')
  const runs = (n) => messageViews({ id: 's', messages: messages(), config: { context: { window_runs: n } } }).map(({ state }) => state)
  assert.deepStrictEqual([runs(1), runs(2)], [['never', 'never', 'never', 'never', 'never', 'whole'], whole])
  assert.deepStrictEqual([runs(0), runs('1')], [whole, whole])
})

test('a picture counts as one, however many bytes it has', () => {
  const url = `data:image/png;base64,${'A'.repeat(400_000)}`
  const content = [{ type: 'text', text: 'look' }, { type: 'image_url', image_url: { url } }, { type: 'file', file: { data: url } }, null]
  const [row] = messageViews({ id: 's', messages: [{ id: 'u1', role: 'user', content }] })
  assert.strictEqual(row.full, estimate('look') + 2000 + 4)
  assert.ok(contextUsage({ id: 's', messages: [{ id: 'u1', role: 'user', content }] }).used < 2100)
})

test('the room taken: what the provider counted, and what came since', () => {
  const all = messages()
  const found = contextUsage({ id: 's', character: 'c'.repeat(80), messages: all, config: { yaa: { max_context: 4000 } } }, { models: [{ name: 'm', default: true, max_context: 8000 }] })
  assert.strictEqual(found.used, 1600 + estimate('你好') + 4)
  assert.deepStrictEqual([found.measured, found.window, found.free], [true, 4000, 4000 - found.used])
  assert.strictEqual(Object.values(found.parts).reduce((sum, one) => sum + one, 0), found.used)
  assert.ok(found.parts.results >= 1000 && found.parts.history >= 100)
  const guess = contextUsage({ id: 's', messages: all.slice(0, 1) })
  assert.deepStrictEqual([guess.measured, guess.window, guess.free, guess.share, guess.used], [false, null, null, null, guess.parts.history + guess.parts.tools])
  const less = contextUsage({ id: 's', messages: [{ id: 'u', role: 'user', content: 'x'.repeat(9000) }, { id: 'a', role: 'assistant', content: '', meta: { usage: { prompt_tokens: 900, completion_tokens: 100 } } }] })
  assert.ok(Math.abs(Object.values(less.parts).reduce((sum, one) => sum + one, 0) - 1000) <= 5)
  const sums = contextUsage({ id: 's', messages: all.slice(0, 3), context: { ops: [{ op: 'fold', from: 'u1', to: 't1', text: 'k'.repeat(400) }] } })
  assert.deepStrictEqual([sums.parts.summaries, sums.parts.results], [100, 0])
})

test('a compaction that came later is what the count goes on from', () => {
  const all = messages()
  const at = (record) => contextUsage({ id: 's', messages: all, context: { events: [record] } })
  assert.deepStrictEqual([at({ at: 5, after: 700 }).used, at({ at: 5, after: 700 }).measured], [700 + 6, true])
  assert.strictEqual(at({ at: 3, after: 700 }).used, 1600 + 6, 'the provider counted after it')
  assert.strictEqual(at({ at: 99, after: 700 }).used, 1600 + 6, 'a compaction of messages that are not here')
  const thought = { id: 'a', role: 'assistant', content: 'x', meta: { usage: { prompt_tokens: 100, completion_tokens: 90, reasoning_tokens: 80 } } }
  assert.strictEqual(contextUsage({ id: 's', messages: [thought] }).used, 110, 'thoughts are not sent again')
  const guess = { ...thought, meta: { usage: { ...thought.meta.usage, estimated: true } } }
  assert.strictEqual(contextUsage({ id: 's', messages: [guess] }).measured, false)
})

test('the window of a model', () => {
  const info = { models: [{ name: 'a', max_context: 1000 }, { name: 'b', default: true, max_context: 2000 }, { name: 'c' }] }
  const named = (name) => ({ id: 's', messages: [], config: { llm_api: { provider: { name } } } })
  assert.deepStrictEqual(['a', 'b', 'auto', 'zz', 'c'].map((name) => roomFrom(info, named(name))), [1000, 2000, 2000, 2000, null])
  assert.strictEqual(roomFrom(null, { id: 's', messages: [] }), null)
  const taught = (name, windows) => roomFrom(info, { ...named(name), context: { windows } })
  assert.deepStrictEqual([taught('a', { a: 400 }), taught('c', { c: 500 }), taught('auto', { b: 3000 }), taught('a', { b: 1 })], [400, 500, 2000, 1000])
})

test('what is sent of tools, and the budget where it is less than the window', () => {
  const tool = { name: 'a', description: 'd', parameters: {} }
  const info = { models: [{ name: 'm', default: true, max_context: 200_000 }], defaults: { config: { context: { enabled: true, budget: 100_000 } } } }
  const figures = (tools, config) => {
    const { parts, window } = contextUsage({ id: 's', messages: [], config }, { ...info, tools })
    return [parts.tools, window]
  }
  const sent = estimate([tool])
  const rows = [
    [[{ ...tool, result_schema: { x: 'y'.repeat(4000) }, hints: { read_only: true }, policy: 'run', origin: 'builtin' }], undefined, [sent, 100_000]],
    [[{ ...tool, policy: 'deny' }, { ...tool, unavailable: 'no sandbox' }], undefined, [estimate([]), 100_000]],
    [[], { context: { budget: 5000 } }, [estimate([]), 5000]],
    [[], { context: { enabled: false } }, [estimate([]), 200_000]],
  ]
  for (const [tools, config, wanted] of rows) assert.deepStrictEqual(figures(tools, config), wanted)
})

test('how far a run may go: what the session says, or is filled in, and no further than its agent and the server let it', () => {
  const info = { defaults: { config: { limits: { max_steps: 20 } } }, limits: { session: { max_steps: 100, max_tokens: null } } }
  for (const [limits, agent, server, found] of [
    [{}, {}, info, 20], [{ max_steps: 50 }, {}, info, 50], [{ max_steps: 300 }, {}, info, 100], [{ max_steps: null }, {}, info, 100],
    [{ max_steps: 50 }, { limits: { max_steps: 7 } }, info, 7], [{ max_steps: 50 }, {}, null, 50], [{}, {}, null, null], [{ max_steps: null }, {}, null, null],
  ]) assert.strictEqual(limitOf({ id: 's', messages: [], config: { limits, agent } }, server, 'max_steps'), found)
  assert.strictEqual(limitOf({ id: 's', messages: [] }, info, 'max_tokens'), null)
})

test('marks in the thread', () => {
  const [one, two] = [{ id: 'c1', trigger: 'size', before: 9000, after: 4000, at: 3, ops: 3 }, { id: 'c2', trigger: 'ingest', before: 5000, after: 4900, at: 6, ops: 1 }]
  const own = [{ op: 'stub', ids: ['t1'] }, { op: 'fold', from: 'u1', to: 'a1', text: 'S' }, { op: 'rewind', ids: ['u1'] }]
  const pin = { op: 'pin', ids: ['u1'], by: 'person' }
  const ops = [own[0], pin, ...own.slice(1), { op: 'preview', id: 't1', head: 1, tail: 1 }, { op: 'expire', ids: ['a2'], after: 2 }]
  const [first, second, rest] = markers({ id: 's', messages: messages(), context: { ops, events: [one, two] } })
  assert.deepStrictEqual([first.id, first.after, first.trigger, first.before, first.to], ['context-c1', 't1', 'size', 9000, 4000])
  assert.deepStrictEqual(first.ops.map(({ kind, known, text, count }) => [kind, known, text, count]), [['stub', true, '', 1], ['fold', true, 'S', 2], ['rewind', false, '', 1]])
  assert.deepStrictEqual([second.id, second.after, second.ops.map(({ kind }) => kind)], ['context-c2', 'u2', ['preview']])
  assert.deepStrictEqual([rest.id, rest.after, rest.ops.map(({ kind }) => kind)], ['context-rest', 'a2', ['expire']], 'a pin makes nothing smaller')
  assert.deepStrictEqual(markers({ id: 's', messages: [], context: { events: [null, { at: 7, ops: 'x' }] } }).map((each) => [each.after, each.ops.length]), [['', 0]])
  for (const context of [undefined, null, 3, { ops: 'x', events: {} }]) assert.deepStrictEqual(markers({ id: 's', messages: [], context }), [])
})

test('a person pins a message, and has one sent whole again; the records go on telling of what is left', () => {
  const ops = () => [{ op: 'stub', ids: ['t1', 'x'] }, { op: 'args', id: 'a1', keep: 3 }, { op: 'fold', from: 'a2', to: 'u2', text: 'S' }]
  const make = () => ({ id: 's', messages: messages(), context: { ops: ops(), events: [{ id: 'c1', at: 4, ops: 2 }, { id: 'c2', at: 6, ops: 1 }], windows: { m: 1 } } })
  const rows = [
    ['t1', [{ op: 'stub', ids: ['x'] }, ...ops().slice(1)], [2, 1]],
    ['a1', [ops()[0], ops()[2]], [1, 1]],
    ['u2', ops().slice(0, 2), [2, 0]],
    ['e1', ops().slice(0, 2), [2, 0]],
    ['u1', ops(), [2, 1]],
    ['nowhere', ops(), [2, 1]],
  ]
  for (const [id, left, counts] of rows) {
    const session = make()
    restore(session, id)
    assert.deepStrictEqual([session.context.ops, session.context.events.map((one) => one.ops), session.context.windows], [left, counts, { m: 1 }], id)
  }
  const session = { id: 's', messages: messages() }
  pin(session, 't1', true)
  assert.strictEqual(messageViews(session)[2].pinned, true)
  pin(session, 't1', false)
  assert.strictEqual(messageViews(session)[2].pinned, false)
})

test('a summary of one message stands for it, and goes when the message is to be whole', () => {
  const ops = [{ op: 'summary', id: 't1', text: 'k'.repeat(40), source: 'llm' }]
  const session = { id: 's', messages: messages(), context: { ops, events: [{ id: 'c1', at: 4, ops: 1 }] } }
  const row = messageViews(session).find(({ message }) => message.id === 't1')
  assert.deepStrictEqual([row.state, row.sent <= 30, markers(session)[0].ops[0].known], ['summary', true, true])
  restore(session, 't1')
  assert.deepStrictEqual(session.context.ops, [])
})
