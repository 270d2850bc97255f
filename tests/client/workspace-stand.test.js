// Which state of its files a document stands at, and what its calls changed in them.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { use } = require('./load-modules.js')

const { standOf } = use('core/workspace-stand')
const { changesOf, pointsOf, turnStart, treeBefore } = use('core/file-changes')

const user = (id, content = id) => ({ id, role: 'user', content })
const call = (id, name) => ({ id: `a${id}`, role: 'assistant', content: '', tool_calls: [{ id, type: 'function', function: { name, arguments: '{}' } }] })
const result = (id, before, after, changed, more = {}) => (
  { id: `r${id}`, role: 'tool', tool_call_id: id, content: '', result: { ...(after ? { tree: { before, after } } : {}), ...(changed ? { changed } : {}), ...more } })
const at = (path, change, bytes) => ({ path, change, ...(bytes === undefined ? {} : { bytes }) })

const MESSAGES = [
  user('u1', 'Write\ntwo files'), call('1', 'write_file'), result('1', 'T0', 'T1', [at('a', 'added', 3)]),
  user('u2', [{ type: 'text', text: 'now change them' }]), call('2', 'shell'), result('2', 'T1', 'T2', [at('a', 'modified', 5), at('b', 'deleted')]),
  call('3', 'read_file'), result('3'),
]

test('the stand follows from the messages', () => {
  const cases = [
    ['nothing recorded', { messages: [user('u')] }, null],
    ['only a start', { messages: [user('u')], workspace: { start: 'T0' } }, 'T0'],
    ['the last recorded call', { messages: MESSAGES }, 'T2'],
    ['cut after the first turn', { messages: MESSAGES.slice(0, 3), workspace: { tree: 'T2', message: 'r2', start: 'T0' } }, 'T1'],
    ['cut before everything', { messages: [], workspace: { tree: 'T2', message: 'r2', start: 'T0' } }, 'T0'],
    ['changed by the page after the last message', { messages: MESSAGES, workspace: { tree: 'T9', message: 'r3' } }, 'T9'],
    ['changed by the page, then by a call', { messages: MESSAGES, workspace: { tree: 'T9', message: 'u2' } }, 'T2'],
    ['changed before the first message', { messages: [user('u')], workspace: { tree: 'T9', message: '', start: 'T0' } }, 'T9'],
    ['another folder, of which nothing is recorded', { messages: MESSAGES, workspace: { folder: 'notes', message: 'r3' } }, null],
    ['a document that is broken', { messages: 'x', workspace: [] }, null],
    ['trees that are none', { messages: [{ id: 'x', role: 'tool', result: { tree: { after: 7 } } }, null], workspace: { start: {} } }, null],
  ]
  for (const [name, session, expected] of cases) assert.strictEqual(standOf(session), expected, name)
})

test('what changed, since any message', () => {
  const cases = [
    ['all of it', 0, [['a', 'added', 'r2'], ['b', 'deleted', 'r2']]],
    ['the last turn', turnStart({ messages: MESSAGES }), [['a', 'modified', 'r2'], ['b', 'deleted', 'r2']]],
    ['after it', 6, []],
  ]
  for (const [name, from, expected] of cases) {
    assert.deepStrictEqual(changesOf({ messages: MESSAGES }, from).files.map((one) => [one.path, one.change, one.message]), expected, name)
  }
})

test('two changes of a file come to one, or to none', () => {
  const cases = [
    [['added', 'deleted'], []], [['added', 'modified'], ['added']], [['deleted', 'added'], ['modified']], [['mode', 'modified'], ['modified']],
    [['modified', 'deleted'], ['deleted']], [['mode'], ['mode']], [['renamed'], []],
  ]
  for (const [changes, expected] of cases) {
    const messages = changes.map((change, i) => result(String(i), 'x', 'y', [at('f', change)]))
    assert.deepStrictEqual(changesOf({ messages }).files.map((one) => one.change), expected, changes.join())
  }
})

test('what a result does not name is counted, what was left out is kept, what is no change is passed over', () => {
  const messages = [result('1', 'x', 'y', [at('a', 'added'), null, { path: 7 }, at('', 'added')], { changed_count: 130, left_out: { ignored: 3 } })]
  assert.deepStrictEqual(changesOf({ messages }), { files: [{ path: 'a', change: 'added', message: 'r1' }], count: 130, leftOut: { ignored: 3 } })
})

test('points are the start, the turns and the calls', () => {
  const points = pointsOf({ messages: MESSAGES })
  assert.deepStrictEqual(points.map(({ kind, tree, words }) => [kind, tree, words]), [
    ['start', 'T0', ''], ['call', 'T1', 'write_file'], ['turn', 'T1', 'now change them'], ['call', 'T2', 'shell'],
  ])
  assert.deepStrictEqual(pointsOf({ messages: [user('a'), user('b')] }), [])
  assert.strictEqual(treeBefore({ messages: MESSAGES }, 3), 'T1')
  assert.strictEqual(treeBefore({ messages: MESSAGES }, 0), 'T0', 'what the first call found, where no start was kept')
})
