// What the page makes of what a server tells about itself.
'use strict'

const test = require('node:test')
const assert = require('node:assert/strict')
const path = require('node:path')
const { use, JS } = require('./load-modules.js')

require(path.join(JS, 'ui', 'server-state.js'))
const { agentsOf, toolsOf } = use('ui/server-state')

const INFO = { agents: [{ name: 'default', description: 'all', default: true }, { name: 'coder', description: 'code' }] }
const names = (found) => found.agents.map((one) => one.name)

test('the agent of a session is its own, else the usual one, else the server’s', () => {
  const cases = [
    [INFO, 'coder', 'default', 'coder'],
    [INFO, undefined, 'coder', 'coder'],
    [INFO, 'auto', 'coder', 'coder'],
    [INFO, '', undefined, 'default'],
    [INFO, undefined, 'gone', 'default'],
    [null, undefined, 'coder', ''],
    [null, 'coder', undefined, 'coder'],
  ]
  for (const [info, own, usual, agent] of cases) assert.equal(agentsOf(info, own, usual).agent, agent, `${own} ${usual}`)
})

test('an agent that the server has not is still offered to the session that has it', () => {
  const found = agentsOf(INFO, 'from afar', undefined)
  assert.deepEqual(names(found), ['default', 'coder', 'from afar'])
  assert.equal(found.agent, 'from afar')
  assert.deepEqual(names(agentsOf(INFO, 'coder', 'gone')), ['default', 'coder'])
  assert.deepEqual(names(agentsOf(null, 'coder', undefined)), [])
})

test('a tool that cannot be called says why, without the code of the reason', () => {
  const tools = [{ name: 'a', policy: 'run', hints: { read_only: true } }, { name: 'b', policy: 'ask', unavailable: 'sandbox_unavailable: b needs numpy: run it' }]
  assert.deepEqual(toolsOf({ tools }), [
    { name: 'a', description: '', policy: 'run', readOnly: true, unavailable: '' },
    { name: 'b', description: '', policy: 'ask', readOnly: false, unavailable: 'b needs numpy: run it' },
  ])
  assert.deepEqual(toolsOf(null), [])
})
