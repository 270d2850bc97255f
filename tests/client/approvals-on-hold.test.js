// Approvals held back, limits of one session, and the texts that come with scripts of their own.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const vm = require('node:vm')
const { use, JS } = require('./load-modules.js')

const sessions = use('core/session')

test('while approvals are held back everything asks; then all is as it was, and what was granted meanwhile stays', () => {
  const allow = { tool: 'shell', match: { command: 'git *' }, decision: 'allow' }
  const deny = { tool: 'rm', decision: 'deny' }
  const session = { id: 's', messages: [], grants: [allow, deny], config: { tool: { calc: { auto_approve: true, wall_s: 3 } }, limits: {} } }
  const before = structuredClone(session)
  sessions.holdApprovals(session, ['calc', 'shell'])
  assert.deepStrictEqual([session.grants, session.config.tool], [[deny], { calc: { auto_approve: false, wall_s: 3 }, shell: { auto_approve: false } }])
  const later = { tool: 'shell', decision: 'allow' }
  session.grants.push(later)
  const travelled = JSON.parse(JSON.stringify(session))
  sessions.releaseApprovals(travelled)
  assert.deepStrictEqual(travelled, { ...before, grants: [allow, deny, later] })
  sessions.releaseApprovals(travelled)
  assert.deepStrictEqual(travelled.grants.length, 3, 'once')
  const bare = { id: 's', messages: [] }
  sessions.holdApprovals(bare, ['x'])
  sessions.releaseApprovals(bare)
  assert.deepStrictEqual(bare, { id: 's', messages: [], grants: [], config: { tool: {} } })
})

/** The texts of a script that brings its own, as it gives them to ui/i18n. */
function textsOf(file) {
  const given = []
  const context = vm.createContext({ yaa: { define: (name, deps, factory) => factory({ extend: (more) => given.push(more) }) } })
  vm.runInContext(fs.readFileSync(path.join(JS, 'i18n', file), 'utf8'), context)
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
  const found = [...text.matchAll(/(?<!(?:=\d+|zero|one|two|few|many|other) )\{(\w+)(?=[,}])/g)].map(([, name]) => name)
  return [...new Set(found)].sort()
}

test('texts are complete in both languages, with the same holes, and no key is given twice', () => {
  const [en, zh] = [base('en'), base('zh')]
  assert.deepStrictEqual(Object.keys(zh).sort(), Object.keys(en).sort())
  for (const key of Object.keys(en)) assert.deepStrictEqual(holes(zh[key]), holes(en[key]), key)
  const taken = new Map(Object.keys(en).map((key) => [key, 'en.js']))
  for (const file of fs.readdirSync(path.join(JS, 'i18n')).filter((name) => !['en.js', 'zh.js'].includes(name))) {
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
