// A pause of all automatic approval, and the texts that come with scripts of their own.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const vm = require('node:vm')
const { use, textFiles, JS } = require('./load-modules.js')

const { asksAlways } = use('core/session')
const { prepare, pause, endPause, release } = use('core/session-defaults')

const ALLOW = { tool: 'shell', match: { command: 'git *' }, decision: 'allow' }
const DENY = { tool: 'rm', decision: 'deny' }
/** What a server may have told when a message is sent: late or lost, of before, of another one, as it is. */
const INFOS = [null, {}, { tools: [] }, { tools: [{ name: 'old', policy: 'run' }], agents: [{ name: 'default', default: true }], models: [{ name: 'demo', demo: true }] }, { tools: 'x', agents: 7 }]
const settingsOf = (values) => ({ get: (name) => values[name], keys: () => ({}) })
const sessionOf = (more = {}) => structuredClone({ id: 's', messages: [], ...more })

test('a pause is one word of the session, whatever the server told; then all is as it was', () => {
  const rules = { grants: [ALLOW, DENY], config: { tool: { calc: { auto_approve: true } }, yaa: { language: 'Deutsch' } }, ext: { tags: ['a'] } }
  for (const info of INFOS) for (const own of [{}, rules, { config: { yaa: { ask: 'by_rules' } } }, { config: null, ext: null }]) {
    const session = sessionOf(own)
    prepare(session, settingsOf({ paused: true }), info)
    assert.ok(asksAlways(session))
    assert.deepStrictEqual([session.grants, session.config.tool], [own.grants, own.config?.tool], 'rules wait where they are')
    const sent = structuredClone(session)
    prepare(session, settingsOf({ paused: true }), info)
    assert.deepStrictEqual(session, sent, 'again')
    const travelled = JSON.parse(JSON.stringify(session))
    travelled.grants = [...travelled.grants ?? [], { tool: 'x', decision: 'allow' }]
    prepare(travelled, settingsOf({ paused: false }), info)
    assert.ok(!asksAlways(travelled))
    assert.deepStrictEqual(travelled.ext, own.ext ?? undefined)
    assert.deepStrictEqual(travelled.grants, [...own.grants ?? [], { tool: 'x', decision: 'allow' }])
    assert.strictEqual(travelled.config.yaa.language, own.config?.yaa?.language)
  }
})

test('what a session says itself outlasts the pause of a browser, and a person can end it there', () => {
  const session = sessionOf({ config: { yaa: { ask: 'every_call' } } })
  for (const paused of [true, false]) {
    prepare(session, settingsOf({ paused }), null)
    assert.ok(asksAlways(session))
    assert.strictEqual(session.ext, undefined)
  }
  endPause(session)
  assert.strictEqual(session.config.yaa.ask, 'by_rules', 'said, for an owner may say otherwise')
  pause(session, true)
  assert.deepStrictEqual([session.config.yaa.ask, session.ext], ['every_call', { paused: true }])
  endPause(session)
  assert.deepStrictEqual([session.config.yaa, session.ext], [{}, undefined])
})

test('a copy of a session is in the pause of this browser as the session is', () => {
  const session = sessionOf({ messages: [{ id: 'u', role: 'user', content: 'x' }] })
  pause(session, true)
  const copy = use('core/message-edits').forkSession(session, 'u')
  assert.ok(asksAlways(copy))
  pause(copy, false)
  assert.ok(!asksAlways(copy))
})

test('a pause that a page of before wrote is given back, whatever stands there', () => {
  const before = { grants: [ALLOW, DENY], config: { tool: { calc: { auto_approve: true, wall_s: 3 } }, limits: {} } }
  const held = { grants: [DENY], config: { tool: { calc: { auto_approve: false, wall_s: 3 }, shell: { auto_approve: false } }, limits: {} }, ext: { held: { grants: [ALLOW], tool: before.config.tool } } }
  for (const paused of [true, false]) {
    const session = sessionOf(held)
    prepare(session, settingsOf({ paused }), null)
    assert.deepStrictEqual([session.grants, session.config.tool], [before.grants, before.config.tool])
    assert.strictEqual(asksAlways(session), paused)
    assert.deepStrictEqual(session.ext, paused ? { paused: true } : undefined)
  }
  for (const odd of [null, 7, [], {}, { grants: 'x', tool: 7 }]) {
    const session = sessionOf({ grants: [DENY], config: { tool: {} }, ext: { held: odd, tags: [] } })
    release(session)
    assert.deepStrictEqual(session, sessionOf({ grants: [DENY], config: { tool: {} }, ext: { tags: [] } }))
  }
})

/** The texts of a script that brings its own, as it gives them to ui/i18n. */
function textsOf(file) {
  const given = []
  const context = vm.createContext({ yaa: { define: (name, deps, factory) => factory({ extend: (more) => given.push(more) }) } })
  vm.runInContext(fs.readFileSync(path.join(JS, file), 'utf8'), context)
  return given[0]
}

/** The base texts of a language. @param {string} name */
function base(name) {
  let found
  const context = vm.createContext({ yaa: { define: (_, deps, factory) => { found = factory() } } })
  vm.runInContext(fs.readFileSync(path.join(JS, 'i18n', `${name}.js`), 'utf8'), context)
  return found
}

/** The names in a text; what stands behind a case of a plural or a choice is not one. */
function holes(text) {
  if (text.includes(', select,')) return []
  const hole = text.includes(', plural,') ? /(?<!(?:=\d+|zero|one|two|few|many|other) )\{(\w+)(?=[,}])/g : /\{(\w+)\}/g
  const found = [...text.matchAll(hole)].map(([, name]) => name)
  return [...new Set(found)].sort()
}

test('texts are complete in both languages, with the same holes, and no key is given twice', () => {
  const [en, zh] = [base('en'), base('zh')]
  assert.deepStrictEqual(Object.keys(zh).sort(), Object.keys(en).sort())
  for (const key of Object.keys(en)) assert.deepStrictEqual(holes(zh[key]), holes(en[key]), key)
  const taken = new Map(Object.keys(en).map((key) => [key, 'en.js']))
  for (const file of textFiles.filter((name) => !['i18n/en.js', 'i18n/zh.js'].includes(name))) {
    const given = textsOf(file)
    if (!given) continue
    assert.deepStrictEqual(Object.keys(given.zh).sort(), Object.keys(given.en).sort(), file)
    for (const key of Object.keys(given.en)) {
      assert.deepStrictEqual(holes(given.zh[key]), holes(given.en[key]), `${file} ${key}`)
      assert.ok(!taken.has(key), `${key} is in ${taken.get(key)} and ${file}`)
      taken.set(key, file)
    }
  }
})
