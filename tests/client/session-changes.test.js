// What a person sets, answers and says, as plain values: made of one document and applied to another.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const { use, JS } = require('./load-modules.js')

const { apply, isBeside } = use('core/session-changes')
const { changesOf } = use('core/session-settings')
const make = (more) => ({ id: 's', version: 1, rev: 0, messages: [], ...more })

/** @param {(session: any) => any} work @param {any} stored */
function through(work, shown, stored) {
  const before = structuredClone(shown)
  const changes = structuredClone(changesOf(shown, work)) // as they are kept
  assert.deepStrictEqual(shown, before, 'what is shown is not touched')
  for (const one of changes) apply(stored, one)
  return stored
}

test('what is set in an older document holds in the stored one, and nothing else of it changes', () => {
  /** @type {[string, (one: any) => any, any, any, any][]} name, work, shown, stored, then */
  const rows = [
    ['a limit beside another tab\'s', (one) => { one.config = { ...one.config, limits: { ...one.config?.limits, max_steps: 3 } } }, {}, { config: { limits: { max_tokens: 9 }, yaa: { ask: 'edits' } } }, { config: { limits: { max_tokens: 9, max_steps: 3 }, yaa: { ask: 'edits' } } }],
    ['a provider is taken whole', (one) => { one.config = { llm_api: { provider: { name: 'b' } } } }, { config: { llm_api: { provider: { name: 'a', api_key: 'k' } } } }, { config: { llm_api: { provider: { name: 'a', api_key: 'other' }, model_settings: {} } } }, { config: { llm_api: { provider: { name: 'b' }, model_settings: {} } } }],
    ['what is taken out leaves no empty object', (one) => { delete one.ext.paused }, { ext: { paused: true } }, { ext: { paused: true } }, {}],
    ['branches stay, also where all else goes', (one) => { delete one.ext }, { ext: { pinned: true, tree: { branches: [1] } } }, { ext: { pinned: true, tree: { branches: [1, 2] } } }, { ext: { tree: { branches: [1, 2] } } }],
    ['a skill that is read anew', (one) => { one.skills = { ...one.skills, refresh: ['a'] } }, { skills: { off: ['b'] } }, { skills: { off: ['b', 'c'] } }, { skills: { off: ['b', 'c'], refresh: ['a'] } }],
    ['tags are one list', (one) => { one.ext = { ...one.ext, tags: ['b'] } }, { ext: { tags: ['a'] } }, { ext: { tags: ['a', 'c'], pinned: true } }, { ext: { tags: ['b'], pinned: true } }],
    ['a tree with its place', (one) => { one.workspace = { ...one.workspace, tree: 't', message: 'm' } }, { workspace: { folder: 'f' } }, { workspace: { folder: 'f', start: 's' } }, { workspace: { folder: 'f', tree: 't', message: 'm' } }],
    ['a name of a rule that is no name of ours', (one) => { one.config = { tool: JSON.parse('{"__proto__": {"policy": "ask"}}') } }, {}, {}, JSON.parse('{"config": {"tool": {"__proto__": {"policy": "ask"}}}}')],
    ['nothing', (one) => { one.config ??= {}; one.ext = { ...one.ext } }, { ext: { tree: {} } }, { title: 'T' }, { title: 'T' }],
    ['title, agent, character', (one) => { one.title = 'T', one.agent = 'coder', delete one.character }, { character: 'c' }, { character: 'c', title: 'U' }, { title: 'T', agent: 'coder' }],
  ]
  for (const [name, work, shown, stored, then] of rows) assert.deepStrictEqual(through(work, make(shown), make(stored)), make(then), name)
})

test('the first answer to a question counts, and a message is said once', () => {
  const [yes, no] = [{ status: 'resolved', payload: { approved: true } }, { status: 'resolved', payload: { approved: false } }]
  const session = make({ interrupts: [{ id: 'q', reason: 'tool_call', call_id: 'c' }] })
  const answer = (one, question = 'q') => apply(session, { kind: 'answer', question, answer: one })
  assert.deepStrictEqual([answer(yes), answer(no), session.interrupts[0].answer], [true, false, yes])
  assert.deepStrictEqual([answer(null), answer(no), answer(yes, 'unknown'), session.interrupts[0].answer], [true, true, false, no])
  const message = { id: 'm', role: 'user', content: 'x', at: 1 }
  for (let n = 0; n < 2; n++) assert.strictEqual(apply(session, { kind: 'say', message }), true)
  assert.deepStrictEqual(session.messages, [message])
  session.ext = { pinned: true, queue: { q: 'later' } }
  const queued = (id) => apply(session, { kind: 'say', queued: 'q', message: { id, role: 'user', content: 'later', at: 2 } })
  assert.deepStrictEqual([queued('a'), queued('a'), queued('b')], [true, true, false], 'one tab sends what waits')
  assert.deepStrictEqual([session.messages.map(({ id }) => id), session.ext], [['m', 'a'], { pinned: true }])
})

test('a name and tags may change under a run, what the run was sent with not', () => {
  for (const [first, may] of [['title', true], ['ext', true], ['config', false], ['workspace', false], ['agent', false]]) assert.strictEqual(isBeside({ kind: 'set', path: [first] }), may, first)
  assert.deepStrictEqual([isBeside({ kind: 'answer' }), isBeside({ kind: 'say' })], [false, false])
})

test('one place of the page writes a session that is stored', () => {
  const files = fs.readdirSync(JS, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.js') && !name.startsWith('widget'))
  const places = files.flatMap((name) => [...fs.readFileSync(path.join(JS, name), 'utf8').matchAll(/\b(?:[sS]tores?|stored|sessionStore)\??\.put\(([^)]*)/g)].map(([, about]) => `${name}: ${about}`))
  // a run is given what writes here
  const ofSessions = places.filter((one) => !one.endsWith("handle, 'folder'") && !one.startsWith(path.join('io', 'run-stream.js')))
  assert.deepStrictEqual(ofSessions, [`${path.join('ui', 'session-store.js')}: session, marks, { stamp, taken, said }`])
})
