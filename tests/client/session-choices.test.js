// Whose a choice is: the open session's alone, or also that of new ones.
'use strict'

const test = require('node:test')
const assert = require('node:assert/strict')
const fs = require('node:fs')
const path = require('node:path')
const vm = require('node:vm')
const { use, JS } = require('./load-modules.js')

/** The module, with what it tells the person kept in `told`. */
function open() {
  const context = vm.createContext({})
  const told = []
  const given = []
  vm.runInContext(fs.readFileSync(path.join(JS, 'kernel.js'), 'utf8'), context)
  const parts = { 'ui/i18n': { t: (key) => key }, 'ui/popup': { toast: (words) => told.push(words) }, 'core/session-defaults': use('core/session-defaults'), 'core/session': use('core/session'), 'i18n/commands': {} }
  for (const [name, part] of Object.entries(parts)) context.yaa.define(name, [], () => part)
  vm.runInContext(fs.readFileSync(path.join(JS, 'ui', 'session-choices.js'), 'utf8'), context)
  const kept = { provider: 'main', model: 'large' }
  const settings = { get: (name) => kept[name], set: (name, value) => { kept[name] = value }, keys: () => ({}), keepKey() {} }
  const app = { settings, sessionStore: { amend: ({ session }, work) => work(session), answer: (_, all) => given.push(...all.map(([id, one]) => `${id} ${one.payload.approved}`)) } }
  const entry = { session: { ...use('core/session').create({ now: 0 }), config: { yaa: { language: 'fr' } } } }
  const choose = (...rest) => context.yaa.use('ui/session-choices').choose(app, entry, ...rest)
  return { choose, entry, kept, told, given, provider: () => JSON.parse(JSON.stringify(entry.session.config.llm_api.provider)) }
}

test('a model chosen for the session is not that of new ones; one chosen in the settings is', () => {
  const cases = [
    [['answers', 'other', 'tiny'], { name: 'other', model_name: 'tiny' }, ['main', 'large']],
    [['answers', 'other'], { name: 'other' }, ['main', 'large']],
    [['answers', 'auto'], { name: 'auto' }, ['main', 'large']],
    [['provider', 'other'], { name: 'other', model_name: 'large' }, ['other', 'large']],
  ]
  for (const [said, provider, usual] of cases) {
    const one = open()
    one.choose(...said)
    assert.deepEqual(one.provider(), provider, said.join())
    assert.deepEqual([one.kept.provider, one.kept.model], usual, said.join())
    assert.equal(one.entry.session.config.yaa.language, 'fr')
    assert.deepEqual(one.told, [])
  }
})

test('a provider of its own that the session loses is told of, whichever choice took it', () => {
  for (const what of ['answers', 'provider']) {
    const one = open()
    one.entry.session.config.llm_api = { provider: { api_url: 'https://own.test', model_name: 'x' } }
    one.choose(what, 'other')
    assert.deepEqual(one.told, ['model.dropped'], what)
  }
})

test('a permission mode is of the open session; on a card it answers what else it would not ask about', async () => {
  const waits = [['a', 'edits_run'], ['b', 'copy_runs'], ['c', undefined], ['d', 'edits_run']]
  for (const [mode, asked, given] of [['copy_runs', 'b', ['a true', 'd true']], ['edits_run', 'a', ['d true']], ['copy_runs', undefined, []]]) {
    const one = open()
    one.entry.session.interrupts = waits.map(([id, permission]) => ({ id, permission }))
    await one.choose('permission', mode, asked)
    assert.deepEqual(JSON.parse(JSON.stringify([one.entry.session.config.yaa, one.given])), [{ language: 'fr', ask: mode }, given])
    assert.equal(one.kept.config, undefined)
  }
})

test('the time of one call is a limit of tools, beside what else is set there', () => {
  const one = open()
  one.kept.config = { limits: { tool: { memory_mb: 9 } } }
  one.entry.session.config.limits = { max_steps: 3, tool: { wall_s: 30, cpu_s: 30 } }
  for (const [said, usual, own] of [['40', { memory_mb: 9, wall_s: 40 }, { wall_s: 40, cpu_s: 30 }], ['', { memory_mb: 9 }, { cpu_s: 30 }], ['x', { memory_mb: 9 }, { cpu_s: 30 }]]) {
    one.choose('call', 'wall_s', said)
    assert.deepEqual(JSON.parse(JSON.stringify([one.kept.config.limits.tool, one.entry.session.config.limits])), [usual, { max_steps: 3, tool: own }], said)
  }
})

test('the rule of a tool goes by its name, in the session and in new ones', () => {
  const one = open()
  for (const [rule, usual, own] of [['deny', { run: 'deny' }, { run: { deny: true } }], ['', {}, {}]]) {
    one.choose('tool', 'run', rule)
    assert.deepEqual(JSON.parse(JSON.stringify([one.kept.tools ?? {}, one.entry.session.config.tool])), [usual, own], rule)
  }
})
