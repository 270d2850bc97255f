// Bars of a run on a time axis: model, tools, people, further attempts.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { use, cpu } = require('./load-modules.js')

const { timeline, axis } = use('ext/inspector/timeline')

const call = (id, name = 'shell') => ({ id, type: 'function', function: { name, arguments: '{}' } })
const user = (id, at) => ({ id, role: 'user', content: 'x', at })
const answer = (id, at, ms, first, calls) => ({ id, role: 'assistant', content: '', at, meta: { model: 'm', ms, first_ms: first, usage: { total_tokens: 7, cost_micro: 3, cost_unit: 'USD' } }, ...(calls ? { tool_calls: calls } : {}) })
const result = (id, at, took, bad) => ({ id: `t-${id}`, role: 'tool', tool_call_id: id, content: '', at, result: { duration_ms: took }, ...(bad ? { is_error: true } : {}) })
const shown = (session) => timeline(session).bars.map(({ kind, name, from, to }) => `${kind} ${name} ${from}-${to}`)

test('each kind of bar, and whom it belongs to', () => {
  const rows = [
    ['nothing', [], []],
    ['times are missing', [{ id: 'u', role: 'user' }, { id: 'a', role: 'assistant' }, null], []],
    ['an answer begins before its first word', [user('u', 0), answer('a', 300, 1000, 200)], ['model m 100-1100']],
    ['a tool, in its message', [user('u', 0), answer('a', 100, 400, 100, [call('c')]), result('c', 900, 350)], ['model m 0-400', 'tool shell 550-900']],
    ['a pause before a tool is a question', [user('u', 0), answer('a', 100, 400, 100, [call('c')]), result('c', 9000, 500)], ['model m 0-400', 'human approval 400-8500', 'tool shell 8500-9000']],
    ['a question of the model', [user('u', 0), answer('a', 100, 400, 100, [call('c', 'ask_user')]), result('c', 9000, 0)], ['model m 0-400', 'human answer 400-9000', 'tool ask_user 9000-9000']],
    ['a person between turns', [user('u', 0), answer('a', 0, 400, 0), user('v', 5000), answer('b', 5100, 10, 0)], ['model m 0-400', 'human you 400-5000', 'model m 5100-5110']],
    ['another try after an error', [user('u', 0), { id: 'e', role: 'error', content: 'x', at: 50 }, answer('a', 100, 10, 0)], ['error  50-50', 'retry m 100-110']],
  ]
  for (const [name, messages, expected] of rows) assert.deepStrictEqual(shown({ id: 's', messages }), expected, name)
})

test('side by side, repeated, failed, stalled', () => {
  const messages = [user('u', 0), answer('a', 9000, 9500, 9000, [call('c'), call('d', 'read')]), result('c', 10_500, 1000, true), result('d', 10_400, 800)]
  const { bars, totals, from, to } = timeline({ id: 's', messages, calls: { c: { attempt: 2 }, d: { attempt: 1 } } })
  assert.deepStrictEqual(bars.map((one) => [one.kind, one.name, Boolean(one.failed), Boolean(one.stalled), one.call ?? one.message]), [
    ['model', 'm', false, true, 'a'], ['retry', 'shell', true, false, 'c'], ['tool', 'read', false, false, 'd'],
  ])
  assert.deepStrictEqual([from, to], [0, 10_500])
  assert.deepStrictEqual(totals, { model: 9500, tool: 800, human: 0, retry: 1000 })
  assert.deepStrictEqual([bars[0].tokens, bars[0].cost_micro, bars[0].first_ms], [7, 3, 9000])
})

test('an open answer was cut off, or is being written', () => {
  const session = { id: 's', messages: [user('u', 0), { ...answer('a', 5, 0, 0), open: true, meta: undefined }] }
  assert.deepStrictEqual([false, true].map((live) => Boolean(timeline(session, { live }).bars[0].failed)), [true, false])
})

test('tools at the same time count once', () => {
  const messages = [user('u', 0), answer('a', 0, 100, 0, [call('c'), call('d')]), result('c', 1000, 900), result('d', 1100, 900)]
  assert.strictEqual(timeline({ id: 's', messages }).totals.tool, 1000)
})

test('a night away does not flatten the axis', () => {
  const night = 8 * 3600_000
  const messages = [user('u', 0), answer('a', 0, 1000, 0), user('v', night), answer('b', night, 2000, 0)]
  const { bars } = timeline({ id: 's', messages })
  const { place, length } = axis(bars, 5000)
  assert.deepStrictEqual([place(0), place(1000), place(night), place(night + 2000), length], [0, 1000, 6000, 8000, 8000])
  assert.strictEqual(Math.round(place(1000 + (night - 1000) / 2)), 3500)
  assert.strictEqual(axis([], 5).length, 1)
  // the server's clock is behind: what was asked for has begun before it was
  const behind = axis(timeline({ id: 's', messages: [user('u', 0), answer('a', 0, 1000, 0), user('v', night), answer('b', night - 2000, 3000, 0)] }).bars, 5000)
  assert.deepStrictEqual([behind.place(1000), behind.place(night - 2000), behind.length], [1000, 6000, 9000])
})

test('the axis of a session with thousands of pauses', () => {
  const bars = Array.from({ length: 40_000 }, (_, i) => ({ kind: i % 2 ? 'human' : 'tool', from: i * 1000, to: i * 1000 + 1000, ms: 1000 }))
  const started = cpu()
  const { place, length } = axis(bars, 100)
  assert.deepStrictEqual(bars.slice(0, 4).map((one) => place(one.from)), [0, 1000, 1100, 2100])
  assert.deepStrictEqual([place(1500), length, place(bars.at(-1).to)], [1050, 22_000_000, 22_000_000])
  for (const one of bars) place(one.to)
  assert.ok(cpu() - started < 1000)
})
