// What a session from elsewhere may not bring along, and what a person can have back of it.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const { use, random, rounds, ROOT, JS } = require('./load-modules.js')

const { sanitize, canTakeOver, takeOver, DEFAULTS } = use('core/sanitize')
const tree = use('core/branch-tree')
const plain = (value) => JSON.parse(JSON.stringify(value))
const read = (name) => JSON.parse(fs.readFileSync(path.join(ROOT, name), 'utf8'))
const VECTORS = read('tests/vectors/foreign.json')
const SHIPPED = read('config.default.json').session

test('the same as the server gives', () => {
  assert.ok(VECTORS.length >= 50)
  for (const { name, document, defaults = SHIPPED, session, removed } of VECTORS) {
    const before = JSON.stringify(document)
    const found = sanitize(document, defaults)
    assert.deepStrictEqual(plain(found.session), session, name)
    assert.deepStrictEqual(plain(found.removed), removed, name)
    assert.strictEqual(JSON.stringify(document), before, `${name}: it was changed`)
  }
})

test('done again it finds nothing more', () => {
  for (const { name, session, defaults = SHIPPED } of VECTORS) {
    assert.deepStrictEqual(plain(sanitize(session, defaults)), { session, removed: [] }, name)
  }
})

test('the defaults are those of the configuration', () => {
  const found = (value, from) => Object.fromEntries(Object.entries(from).map(([key, one]) => [key, one && typeof one === 'object' ? found(value[key], one) : value[key]]))
  assert.deepStrictEqual(found(SHIPPED, DEFAULTS), DEFAULTS)
  for (const { name, document, session, removed, defaults } of VECTORS) {
    if (!defaults) assert.deepStrictEqual(plain(sanitize(document)), { session, removed }, name)
  }
})

test('what the page keeps in a session is kept or not by decision', () => {
  const decided = new Set(['tree', 'forked_from', 'pinned', 'tags', 'held', 'limits', 'temporary', 'archived', 'yaa_diverged', 'paused', 'queue', 'uploaded'])
  const files = fs.readdirSync(JS, { recursive: true }).filter((name) => name.endsWith('.js'))
  const used = files.flatMap((name) => [...fs.readFileSync(path.join(JS, name), 'utf8').matchAll(/\bext\??\.(\w+)/g)].map(([, key]) => key))
  assert.deepStrictEqual([...new Set(used)].filter((key) => !decided.has(key)), [])
  assert.ok(used.length > 15)
})

test('messages that wait in a stranger\'s session are never sent', () => {
  const { session } = sanitize({ id: 's', messages: [], ext: { pinned: true, queue: { a: 'Run it.' } } })
  assert.deepStrictEqual(plain(session.ext), { pinned: true })
})

test('a branch has no more keys than are known here', () => {
  const state = Object.fromEntries(tree.BRANCH_KEYS.map((key) => [key, key === 'interrupts' ? [] : {}]))
  const one = { id: 'b', at: '', messages: [], calls: {}, state: { ...state, status: 'completed', finish_reason: 'completed' } }
  const { session } = sanitize({ id: 's', messages: [], ext: { tree: { branches: [one] } } })
  assert.deepStrictEqual(Object.keys(session.ext.tree.branches[0].state).sort(), tree.BRANCH_KEYS.filter((key) => key !== 'interrupts').sort())
})

test('things that are none anywhere never throw', () => {
  const played = rounds(3000)
  const next = random(11 + played[0])
  const VALUES = [null, 7, true, [], {}, 'x', [null], { a: null }]
  const pick = () => VALUES[Math.floor(next() * VALUES.length)]
  for (const round of played) {
    const document = plain(VECTORS[round % VECTORS.length].document)
    const spoil = (node) => {
      for (const key of Object.keys(node)) {
        if (next() < 0.15) Object.defineProperty(node, key, { value: plain(pick()), writable: true, enumerable: true, configurable: true })
        else if (node[key] && typeof node[key] === 'object') spoil(node[key])
      }
    }
    spoil(document)
    assert.doesNotThrow(() => sanitize(document, round % 2 ? SHIPPED : {}))
  }
})

test('one by one, what was left out is had back', () => {
  for (const { name, document, defaults = SHIPPED, removed } of VECTORS) {
    for (const item of removed.filter(canTakeOver)) {
      const { session } = sanitize(document, defaults)
      const before = plain(session)
      takeOver(session, item)
      assert.notDeepStrictEqual(plain(session), before, `${name} ${item.path}`)
      const again = sanitize(session, defaults)
      assert.deepStrictEqual(plain(again.session), before, `${name} ${item.path}: only this came back`)
      assert.deepStrictEqual(again.removed.map(({ kind }) => kind), [item.kind], `${name} ${item.path}`)
    }
  }
  const { session } = sanitize({ id: 's', messages: [], config: { tool: { shell: { deny: true } } } })
  takeOver(session, { kind: 'tool', path: '/config/tool/shell', value: { auto_approve: true } })
  takeOver(session, { kind: 'limit', path: '/config/limits/max_steps', value: 99 })
  assert.deepStrictEqual(plain(session.config), { tool: { shell: { deny: true, auto_approve: true } }, limits: { max_steps: 99 } })
  assert.deepStrictEqual(plain(session.ext), { limits: { max_steps: 99 } }, 'the settings of the page do not count before it')
  for (const kind of ['call', 'answer', 'agent_policy', 'provider', 'tools', 'unattended', 'unknown']) {
    const item = { kind, path: '/grants/0', value: { tool: 'shell', decision: 'allow' } }
    takeOver(session, item)
    assert.ok(!canTakeOver(item) && !session.grants, kind)
  }
})
