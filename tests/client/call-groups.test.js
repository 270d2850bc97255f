// Neighbouring tool calls as one group: what belongs together, and what is said of it.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { use } = require('./load-modules.js')

const { groupsOf, summaryOf } = use('core/call-groups')

/** A call with its result. */
function call(name, { args = {}, result = {}, error = false, state = 'done', open = false, interrupt, ms, envelope = {} } = {}) {
  const id = `${name} ${JSON.stringify(args)}`
  const done = { id: `r ${id}`, role: 'tool', ...(error ? { is_error: true } : {}), result: { result, duration_ms: ms, ...envelope } }
  return { call: { id, function: { name, arguments: JSON.stringify(args) } }, entry: { state }, ...(open ? {} : { result: done }), interrupt }
}

let serial = 0
const item = (calls, more = {}, message = {}) => ({ message: { id: `m${serial++}`, role: 'assistant', content: '', ...message }, calls, cut: false, siblings: new Map(), ...more })
const read = (path) => call('read_file', { args: { path } })
const sizes = (items) => groupsOf(items).map((group) => group.items.length)

test('what belongs together', () => {
  const one = () => item([read('a')])
  const cases = [
    ['nothing', [], []],
    ['two calls are shown one by one', [one(), one()], []],
    ['three', [one(), one(), one()], [3]],
    ['three calls of one message', [item([read('a'), read('b'), read('c')])], [1]],
    ['words begin another group', [one(), one(), one(), item([read('b')], {}, { content: 'Now the tests.' }), one(), one()], [3, 3]],
    ['words in parts', [one(), one(), one(), item([read('b')], {}, { content: [{ type: 'text', text: 'So' }] }), one(), one()], [3, 3]],
    ['blank words are none', [one(), item([read('b')], {}, { content: '\n' }), one()], [3]],
    ['an answer ends it', [one(), one(), item([], {}, { content: 'Done' }), one()], []],
    ['a person ends it', [one(), one(), item([], {}, { role: 'user' }), one()], []],
    ['a call without a result', [one(), one(), one(), item([call('shell', { open: true })])], [3]],
    ['what waits for a person', [one(), one(), one(), item([call('shell', { interrupt: { id: 'i' } })])], [3]],
    ['an answer to a question stays in sight', [one(), one(), one(), item([call('ask_user')]), one()], [3]],
    ['a picture stays in sight', [one(), one(), one(), item([call('python', { envelope: { attachments: [{ media_type: 'image/png' }] } })])], [3]],
    ['what the model saw', [one(), one(), one(), item([call('python', { envelope: { media: [{}] } })])], [3]],
    ['other files do not', [one(), one(), item([call('write_file', { envelope: { attachments: [{ media_type: 'text/plain' }, null] } })])], [3]],
    ['still written', [one(), one(), one(), item([read('b')], {}, { open: true })], [3]],
    ['cut off', [one(), one(), one(), item([read('b')], { cut: true })], [3]],
    ['a result with another branch beside it', [one(), one(), one(), item([read('b')], { siblings: new Map([[read('b').result.id, []]]) })], [3]],
  ]
  for (const [name, items, wanted] of cases) assert.deepStrictEqual(sizes(items), wanted, name)
})

test('what a group did', () => {
  const { counts, failed, denied, ms } = summaryOf([
    item([read('a'), read('a'), read('b')], {}, { meta: { ms: 1000 } }),
    item([call('shell', { result: { exit_code: 1 }, ms: 200 }), call('shell', { result: { exit_code: 0 }, ms: 300 })]),
    item([call('write_file', { args: { path: 'a' } }), call('edit_file', { args: { path: 'a' } })]),
    item([call('toString', { error: true, ms: NaN }), call('shell', { state: 'denied', error: true })]),
  ])
  assert.deepStrictEqual(counts, [['read', 2], ['changed', 1], ['ran', 2]])
  assert.deepStrictEqual(failed.map(({ call: { function: { name } } }) => name), ['shell', 'toString'])
  assert.deepStrictEqual([denied, ms], [1, 1300])
})

test('what failed or was denied is not counted as done', () => {
  const bad = { error: true }
  const all = [call('write_file', { args: { path: 'a' }, ...bad }), call('read_file', { args: { path: 'b' }, ...bad }), call('edit_file', { args: { path: 'c' }, state: 'denied', ...bad }), call('other', bad), call('shell', { state: 'skipped', ...bad })]
  const { counts, failed, denied } = summaryOf([item(all)])
  assert.deepStrictEqual([counts, failed.length, denied], [[], 3, 2])
  const once = summaryOf([item([call('write_file', { args: { path: 'a' }, ...bad }), call('write_file', { args: { path: 'a' } })])])
  assert.deepStrictEqual(once.counts, [['changed', 1]])
})

test('calls that make no sense are counted all the same', () => {
  const odd = (source, result) => ({ call: { id: 'x', function: { name: 'read_file', arguments: source } }, result: { id: 'r', ...result } })
  const calls = [odd('{"path":', {}), odd('null', {}), odd('{"path":7}', { result: 'text' }), odd('', { result: { result: null } })]
  assert.deepStrictEqual(summaryOf([item(calls)]).counts, [['read', 4]])
})
