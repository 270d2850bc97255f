// What another server would change for a session: each kind of difference, and none where there is none.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { use } = require('./load-modules.js')

const { compare } = use('ext/servers/compare')

const tool = (name, policy = 'ask') => ({ name, description: '', policy, parameters: {} })
const INFO = {
  version: '1.0', limits: {}, records: { home: 'a', kept_s: 86400 }, sandbox: { tier: 'full' }, agents: [{ name: 'plan' }], tools: [tool('shell'), tool('read', 'run')],
  models: [{ name: 'openai', models: ['gpt-x', 'gpt-y'] }, { name: 'demo', demo: true }], defaults: { config: { limits: { max_steps: 50, max_tokens: 1000 } } },
}
const SESSION = { id: 's', messages: [], config: {} }
const call = (name) => ({ id: 'm', role: 'assistant', content: '', tool_calls: [{ id: 'c', type: 'function', function: { name, arguments: '{}' } }] })
const asks = (name) => ({ interrupts: [{ id: 'i', reason: 'tool_call', call_id: 'c', tool: name }], calls: { c: { name, state: 'asking' } }, messages: [call(name)] })

const ROWS = [
  ['the same', {}, {}, []],
  ['a tool that was used', { messages: [call('shell')] }, { tools: [tool('read', 'run')] }, ['warn tool shell']],
  ['a tool that was not', {}, { tools: [tool('read', 'run')] }, ['note tool shell']],
  ['a tool of the browser', { messages: [call('mine')], tools: [{ name: 'mine' }] }, {}, []],
  ['a stricter rule', {}, { tools: [tool('shell'), tool('read', 'ask')] }, ['note stricter read run ask']],
  ['a freer rule', {}, { tools: [tool('shell', 'run'), tool('read', 'run')] }, []],
  ['a call that waits for its tool', asks('shell'), { tools: [tool('read', 'run')] }, ['bad pending shell', 'warn tool shell']],
  ['a call that waits and can be carried out', asks('shell'), {}, ['note asking shell']],
  ['no such provider', { config: { llm_api: { provider: { name: 'mine' } } } }, {}, ['bad provider mine openai, demo']],
  ['no such model', { config: { llm_api: { provider: { name: 'openai', model_name: 'gpt-z' } } } }, {}, ['warn model gpt-z']],
  ['the model is there', { config: { llm_api: { provider: { name: 'openai', model_name: 'gpt-y' } } } }, {}, []],
  ['its models are not known', { config: { llm_api: { provider: { name: 'openai', model_name: 'gpt-z' } } } }, { models: [{ name: 'openai' }] }, []],
  ['only the demo', {}, { models: [{ name: 'demo', demo: true }] }, ['warn demo ']],
  ['no models', {}, { models: [] }, ['bad noModel ']],
  ['no such agent', { agent: 'mine' }, {}, ['warn agent mine']],
  ['tighter limits', {}, { defaults: { config: { limits: { max_steps: 5, max_tokens: 2000 } } } }, ['note limit max_steps 50 5']],
  ['what nobody may exceed there', { config: { limits: { max_steps: 40, max_tokens: null } } }, { limits: { session: { max_steps: 20, max_tokens: 9 } } },
    ['note limit max_steps 40 20', 'note limit max_tokens ∞ 9']],
  ['what is filled in there, where the session says something', { config: { limits: { max_steps: 40 } } }, { defaults: { config: { limits: { max_steps: 5, max_tokens: 1000 } } } }, []],
  ['the session’s own limit', { config: { limits: { max_steps: 3 } } }, { defaults: { config: { limits: { max_steps: 5, max_tokens: 1000 } } } }, []],
  ['cut, and it has other records', { status: 'in_progress' }, { records: { home: 'b' } }, ['warn records ']],
  ['a call began, and it has other records', { calls: { c: { name: 'shell', state: 'started' } } }, { records: { home: 'b' } }, ['warn records ']],
  ['cut elsewhere, and it has those records', { status: 'in_progress', run: { home: 'b' } }, { records: { home: 'b' } }, []],
  ['whole, and it has other records', { status: 'completed' }, { records: { home: 'b' } }, []],
  ['cut, and it is older', { status: 'in_progress' }, { records: undefined }, []],
  ['a weaker sandbox', {}, { sandbox: { tier: 'none' } }, ['note sandbox  full none']],
  ['another version', {}, { version: '2.0' }, ['note version  1.0 2.0']],
]

test('differences', () => {
  for (const [name, session, there, expected] of ROWS) {
    const found = compare({ ...SESSION, ...session }, INFO, { ...INFO, ...there })
    assert.deepStrictEqual(found.map(({ level, kind, name, here, there }) => [level, kind, name, here, there].filter((one) => one !== undefined).join(' ')), expected, name)
  }
})

test('where nothing is known of the server in use, what the session needs is still compared', () => {
  const found = compare({ ...SESSION, messages: [call('shell')] }, null, { ...INFO, tools: [] })
  assert.deepStrictEqual(found.map(({ kind, name }) => `${kind} ${name}`), ['tool shell'])
  assert.ok(compare(SESSION, null, {}).length)
})
