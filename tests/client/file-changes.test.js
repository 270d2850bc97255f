// What the calls of a session changed in its files, and the points between which they can be compared.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { use } = require('./load-modules.js')

const { changesOf, linesOf, pointsOf, turnStart, treeBefore } = use('ext/files/file-changes')

const user = (id, content = id) => ({ id, role: 'user', content })
const call = (id, name) => ({ id: `a${id}`, role: 'assistant', content: '', tool_calls: [{ id, type: 'function', function: { name, arguments: '{}' } }] })
const result = (id, before, after, changed, more = {}) => (
  { id: `r${id}`, role: 'tool', tool_call_id: id, content: '', result: { ...(after ? { tree: { before, after } } : {}), ...(changed ? { changed } : {}), ...more } })
const at = (path, change, bytes) => ({ path, change, ...(bytes === undefined ? {} : { bytes }) })

const [T0, T1, T2] = ['0', '1', '2'].map((sign) => sign.repeat(64))

const MESSAGES = [
  user('u1', 'Write\ntwo files'), call('1', 'write_file'), result('1', T0, T1, [at('a', 'added', 3)]),
  user('u2', [{ type: 'text', text: 'now change them' }]), call('2', 'shell'), result('2', T1, T2, [at('a', 'modified', 5), at('b', 'deleted')]),
  call('3', 'read_file'), result('3'),
]

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
    const messages = changes.map((change, i) => result(String(i), T0, T1, [at('f', change)]))
    assert.deepStrictEqual(changesOf({ messages }).files.map((one) => one.change), expected, changes.join())
  }
})

test('what a result does not name is counted, what was left out is kept, what is no change is passed over', () => {
  const messages = [result('1', T0, T1, [at('a', 'added'), null, { path: 7 }, at('', 'added')], { changed_count: 130, left_out: { ignored: 3 } })]
  assert.deepStrictEqual(changesOf({ messages }), { files: [{ path: 'a', change: 'added', message: 'r1' }], count: 130, leftOut: { ignored: 3 } })
})

test('points are the start, the turns and the calls', () => {
  const points = pointsOf({ messages: MESSAGES })
  assert.deepStrictEqual(points.map(({ kind, tree, words }) => [kind, tree, words]), [
    ['start', T0, ''], ['call', T1, 'write_file'], ['turn', T1, 'now change them'], ['call', T2, 'shell'],
  ])
  assert.deepStrictEqual(pointsOf({ messages: [user('a'), user('b')] }), [])
  assert.strictEqual(treeBefore({ messages: MESSAGES }, 3), T1)
  const byHand = { tree: 'f'.repeat(64), message: MESSAGES[2].id, start: T0 }
  assert.strictEqual(treeBefore({ messages: MESSAGES, workspace: byHand }, 3), T1, 'an upload after the last answer belongs to the message that it goes with')
  assert.strictEqual(treeBefore({ messages: MESSAGES }, 0), T0, 'what the first call found, where no start was kept')
})

test('the lines of a diff, without its head', () => {
  const head = '--- a/x\n+++ b/x\n'
  const cases = [['', 0, 0], [`${head}@@ -1,2 +1,2 @@\n a\n-b\n+c\n+d\n`, 2, 1], [`${head}@@ -1 +0,0 @@\n--- x\n-+++ y\n`, 0, 2], [`${head}@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n`, 1, 0]]
  for (const [diff, added, removed] of cases) assert.deepStrictEqual(linesOf(diff), { added, removed }, diff)
})
