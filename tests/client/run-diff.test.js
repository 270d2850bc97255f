// Two runs side by side.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { use } = require('./load-modules.js')

const { steps, compare } = use('ext/inspector/run-diff')

let serial = 0
const user = (content) => ({ id: `m${++serial}`, role: 'user', content })
const says = (content) => ({ id: `m${++serial}`, role: 'assistant', content, meta: { ms: 100, usage: { total_tokens: 10, cost_micro: 5, cost_unit: 'USD' } } })
const calls = (...all) => {
  const made = all.map(([name, args, result, bad]) => ({ call: { id: `c${++serial}`, type: 'function', function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args) } }, result, bad }))
  return [
    { id: `m${++serial}`, role: 'assistant', content: '', tool_calls: made.map((one) => one.call), meta: { ms: 50, usage: { total_tokens: 4 } } },
    ...made.map(({ call, result, bad }) => ({ id: `m${++serial}`, role: 'tool', tool_call_id: call.id, content: result, result: { duration_ms: 20 }, ...(bad ? { is_error: true } : {}) })),
  ]
}
const of = (...messages) => ({ id: 's', messages: messages.flat() })
const shown = (a, b) => compare(a, b).rows.map(({ op, before, after }) => `${op} ${(after ?? before).kind}${(after ?? before).name && ` ${(after ?? before).name}`}`)

test('steps: what was said and done, in order', () => {
  const session = of(user('hi'), calls(['ls', '{"b":1,"a":2}', 'x']), { id: 'e', role: 'error', content: 'oh' }, { id: 'o', role: 'assistant', open: true, content: 'cut' }, says([{ type: 'text', text: 'done' }, { type: 'image' }]), null)
  assert.deepStrictEqual(steps(session).map((one) => [one.kind, one.name, one.args, one.text]), [
    ['user', '', '', 'hi'], ['call', 'ls', '{"a":2,"b":1}', 'x'], ['error', '', '', 'oh'], ['answer', '', '', 'done\n[image]'],
  ])
})

test('one step more does not shift what follows', () => {
  const rows = [
    ['equal', of(user('hi'), calls(['ls', { a: 1 }, 'x']), says('ok')), of(user('hi'), calls(['ls', { a: 1 }, 'x']), says('ok')), ['same user', 'same call ls', 'same answer']],
    ['order of keys', of(calls(['ls', '{"a":1,"b":2}', 'x'])), of(calls(['ls', '{ "b": 2, "a": 1 }', 'x'])), ['same call ls']],
    ['inserted', of(user('hi'), calls(['ls', {}, 'x']), says('ok')), of(user('hi'), calls(['pwd', {}, 'y']), calls(['ls', {}, 'x']), says('ok')), ['same user', 'added call pwd', 'same call ls', 'same answer']],
    ['other result', of(calls(['ls', {}, 'x'])), of(calls(['ls', {}, 'y'])), ['changed call ls']],
    ['failed now', of(calls(['ls', {}, 'x'])), of(calls(['ls', {}, 'x', true])), ['changed call ls']],
    ['other arguments', of(user('q'), calls(['cat', { p: 'a' }, 'x'])), of(user('q'), calls(['cat', { p: 'b' }, 'x'])), ['same user', 'changed call cat']],
    ['another tool', of(calls(['cat', {}, 'x'])), of(calls(['head', {}, 'x'])), ['removed call cat', 'added call head']],
    ['other words', of(user('a'), says('x')), of(user('a'), says('y')), ['same user', 'changed answer']],
    ['broken arguments', of(calls(['ls', '{"a', 'x'])), of(calls(['ls', '{"a', 'x'])), ['same call ls']],
    ['nothing', of(), of(), []],
  ]
  for (const [name, a, b, expected] of rows) assert.deepStrictEqual(shown(a, b), expected, name)
})

test('sums, the first difference, settings', () => {
  const a = { ...of(user('hi'), calls(['ls', {}, 'x']), says('ok')), character: 'A', config: { limits: { max_steps: 5 }, yaa: {} } }
  const b = { ...of(user('hi'), calls(['ls', {}, 'x']), calls(['pwd', {}, 'x']), says('fine')), character: 'A', config: { limits: { max_steps: 9 }, yaa: {}, prompt: { lead: 'x' } } }
  const { first, totals, settings } = compare(a, b)
  assert.strictEqual(first, 2)
  assert.deepStrictEqual(totals.map(({ turns, calls: n, tokens, cost_micro, ms }) => [turns, n, tokens, cost_micro, ms]), [[1, 1, 14, 5, 170], [1, 2, 18, 5, 240]])
  assert.deepStrictEqual(settings, [{ path: 'config.limits.max_steps', before: 5, after: 9 }, { path: 'config.prompt', before: undefined, after: { lead: 'x' } }])
  assert.strictEqual(compare(a, a).first, -1)
})
