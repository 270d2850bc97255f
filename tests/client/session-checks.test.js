// What is odd about a session.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { use } = require('./load-modules.js')

const { checkSession } = use('ext/inspector/session-checks')
// put together here, so that no scanner of repositories takes the test for a leak
const KEY = ['sk-', 'abcdefghijklmnopqrstuvwx'].join('')
const call = (id, args = '{}') => ({ id, type: 'function', function: { name: 'shell', arguments: args } })
const rules = (session, options) => checkSession({ id: 's', ...session }, options).map(({ rule, message, call: id }) => [rule, message ?? id ?? ''].filter(Boolean).join(' '))

test('findings', () => {
  const a = (calls, more) => ({ id: 'a', role: 'assistant', content: '', tool_calls: calls, ...more })
  const t = (id, more) => ({ id: `t${id}`, role: 'tool', tool_call_id: id, content: 'x', ...more })
  const rows = [
    ['in order', { messages: [{ id: 'u', role: 'user', content: 'x' }, a([call('c')]), t('c')] }, []],
    ['no result', { messages: [a([call('c')])] }, ['no_result a']],
    ['it waits for an answer', { messages: [a([call('c')])], interrupts: [{ id: 'i', reason: 'tool_call', call_id: 'c' }] }, []],
    ['cut off', { messages: [a([call('c')], { open: true })] }, ['cut a']],
    ['a result of nothing', { messages: [t('c')] }, ['no_call tc']],
    ['the same call twice', { messages: [a([call('c'), call('c')]), t('c')] }, ['call_twice a']],
    ['arguments', { messages: [a([call('c', '{"a')]), t('c')] }, ['bad_arguments a']],
    ['an id twice', { messages: [{ id: 'u', role: 'user', content: '' }, { id: 'u', role: 'user', content: '' }] }, ['id_twice u']],
    ['an error', { messages: [{ id: 'e', role: 'error', content: 'x' }] }, ['error e']],
    ['large', { messages: [a([call('c')]), t('c', { content: 'x'.repeat(50_000) })] }, ['large tc']],
    ['a question without its call', { messages: [], interrupts: [{ id: 'i', reason: 'tool_call', call_id: 'zz' }, null] }, ['no_call_for_question']],
    ['copies that differ', { messages: [], ext: { yaa_diverged: {} } }, ['diverged']],
    ['a key in a result', { messages: [a([call('c')]), t('c', { content: `OPENAI=${KEY}` })] }, ['secret tc']],
    ['a key in arguments', { messages: [a([call('c', `{"h":"${KEY}"}`)]), t('c')] }, ['secret a']],
    ['anything', { messages: [null, 3, 'x', { role: 'assistant', tool_calls: [null] }] }, ['no_result']],
  ]
  for (const [name, session, expected] of rows) assert.deepStrictEqual(rules(session), expected, name)
  assert.deepStrictEqual(rules({ messages: [a([call('c')])] }, { live: true }), [], 'while it runs, what is missing is on its way')
})
