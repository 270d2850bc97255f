// Which picture suits a tool call, and what it is drawn from. The results are those of server/tools/builtin.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { use } = require('./load-modules.js')

const shape = use('core/tool-call-kind')

test('the picture follows from name, arguments and result', () => {
  const rows = [
    ['shell', { command: 'ls' }, { exit_code: 0, output: 'a' }, 'shell'], ['shell', { command: 'ls' }, undefined, 'shell'],
    ['python', { code: '1' }, { exit_code: 1, output: '' }, 'shell'], ['theirs', {}, { exit_code: 0, stdout: '', stderr: 'x' }, 'shell'],
    ['edit_file', { path: 'a', old: 'x', new: 'y' }, { path: 'a', replaced: 1, diff: '@@ -1 +1 @@\n-x\n+y' }, 'diff'],
    ['edit_file', { path: 'a', edits: [{ old: 'x', new: 'y' }] }, undefined, 'diff'], ['edit_file', { path: 'a', patch: '@@' }, undefined, 'diff'], ['edit_file', { path: 'a', edits: [{}] }, undefined, 'generic'],
    ['edit_file', { path: 'a', old: 'x', new: 'y' }, undefined, 'diff'], ['write_file', { path: 'a', content: 'x' }, { path: 'a', bytes: 1, replaced: false }, 'diff'],
    ['search_files', { query: 'x' }, { matches: 1, lines: 'a:1: x', files_searched: 1, complete: true }, 'search'],
    ['list_files', {}, { files: [{ path: 'a/', type: 'folder' }], complete: true }, 'tree'], ['list_files', {}, { files: [], complete: true }, 'tree'],
    ['read_file', { path: 'a' }, { content: '     1\tx\n     2\ty', lines: 2 }, 'file'], ['read_file', { path: 'a' }, { content: 'no numbers', lines: 1 }, 'generic'],
    ['fetch_url', { url: 'https://a.b' }, { text: 'x', chars: 1, title: 't' }, 'page'],
    ['web_search', { query: 'x' }, { query: 'x', results: [{ id: 's1.1', url: 'https://a.b', title: 't', text: 'x' }] }, 'results'],
    ['web_search', { query: 'x' }, { results: [] }, 'results'], ['theirs', {}, { results: [{ url: 'https://a.b' }] }, 'table'],
    ['forecast', {}, [{ day: 'Mon', t: 3 }, { day: 'Tue', t: 4 }], 'table'], ['forecast', {}, { city: 'X', days: [{ t: 3 }] }, 'table'],
    ['calculator', { expression: '1+1' }, 2, 'generic'], ['x', null, null, 'generic'], ['x', 'broken{', 'text', 'generic'], [undefined, undefined, [], 'generic'],
    ['x', {}, { a: [{ b: 1 }], c: [{ d: 1 }] }, 'generic'], ['x', {}, { a: [{ b: 1 }], c: { d: 1 } }, 'generic'], ['x', {}, [{}], 'generic'],
  ]
  for (const [name, args, result, kind] of rows) assert.strictEqual(shape.kindOf({ name, args, result }), kind, `${name} ${JSON.stringify(result)}`)
})

test('numbered lines', () => {
  assert.deepStrictEqual(shape.parseNumberedLines('     9\ta\n    10\t\tb\n    11\t'), { start: 9, lines: ['a', '\tb', ''] })
  for (const text of ['', 'x', '     1\ta\n     3\tb', '     1\ta\nb']) assert.strictEqual(shape.parseNumberedLines(text), null, text)
})

test('found lines by file, with those around them', () => {
  const text = 'src/a.py-1- import os\nsrc/a.py:2: x = "b:3: c"\n--\nsrc/a.py:9: x\nb-1.txt:4: x\nshort'
  assert.deepStrictEqual(shape.parseGrep(text), [
    { file: 'src/a.py', lines: [
      { number: 1, text: 'import os', hit: false, gap: false }, { number: 2, text: 'x = "b:3: c"', hit: true, gap: false },
      { number: 9, text: 'x', hit: true, gap: true },
    ] },
    { file: 'b-1.txt', lines: [{ number: 4, text: 'x', hit: true, gap: false }] },
  ])
  assert.deepStrictEqual(shape.parseGrep(''), [])
})

test('a tree of paths', () => {
  const files = [{ path: 'a/', type: 'folder' }, { path: 'a/b.py', type: 'file', size: 3 }, { path: 'c/d/e', type: 'link' }, { path: '__proto__', type: 'file' }]
  assert.deepStrictEqual(shape.treeOf(files), [
    { name: 'a', type: 'folder', children: [{ name: 'b.py', type: 'file', size: 3, children: [] }] },
    { name: 'c', type: 'folder', children: [{ name: 'd', type: 'folder', children: [{ name: 'e', type: 'link', children: [] }] }] },
    { name: '__proto__', type: 'file', children: [] },
  ])
})

test('tables', () => {
  assert.deepStrictEqual(shape.tableOf([{ a: 1 }, { b: null, a: 2 }]), { columns: ['a', 'b'], rows: [[1, undefined], [2, null]], rest: {}, name: '' })
  assert.deepStrictEqual(shape.tableOf({ city: 'X', days: [{ t: 3 }] }), { columns: ['t'], rows: [[3]], rest: { city: 'X' }, name: 'days' })
  assert.strictEqual(shape.tableOf([Object.fromEntries(Array.from({ length: 13 }, (_, i) => [`k${i}`, i]))]), null)
})

test('changes: from the result, from the arguments, of a new file', () => {
  const kinds = (rows) => rows.map((row) => `${row.kind[0]}${row.text}`).join(' ')
  assert.strictEqual(kinds(shape.changeOf({ old: 'no', new: 'no' }, { diff: '--- a\n+++ a\n@@ -3 +3 @@\n-x\n+y' })), 'rx ay')
  assert.strictEqual(kinds(shape.changeOf({ old: 'k\nx', new: 'k\ny' }, undefined)), 'sk rx ay')
  assert.strictEqual(kinds(shape.changeOf({ content: 'a\nb\n' }, { bytes: 4 })), 'aa ab')
  assert.strictEqual(kinds(shape.changeOf({ edits: [{ old: 'x', new: 'y' }, { old: 'a', new: '' }] }, undefined)), 'rx ay g ra')
  const patch = '--- a/f\n+++ b/f\n@@ -9 +9 @@ def f():\n k\n-x\n--- y\n+z\n+++ y\n\n@@\n-a\n\\ No newline at end of file\n'
  assert.strictEqual(kinds(shape.changeOf({ patch }, undefined)), 'sk rx r-- y az a++ y s g ra')
  assert.strictEqual(kinds(shape.changeOf({ patch: '*** Begin Patch\n*** Update File: f\n@@ def f():\n-x\n+y\n*** End Patch' }, undefined)), 'rx ay')
  assert.deepStrictEqual(shape.changeOf(null, null), [])
})

test('what was left out, and the limit that was met', () => {
  assert.deepStrictEqual(shape.splitTruncated('a\n… 512 bytes left out …\nb'), { head: 'a', left: 512, unit: 'bytes', tail: 'b' })
  assert.deepStrictEqual(shape.splitTruncated('a…'), { head: 'a…', left: 0, unit: '', tail: '' })
  const error = { type: 'limit', message: 'm', details: { limit: 'memory_mb', allowed: 64, observed: 71 } }
  assert.deepStrictEqual(shape.breachOf({ status: 'limit', error }), { limit: 'memory_mb', allowed: 64, observed: 71 })
  for (const other of [undefined, {}, { error: { details: null } }, { error: { details: { limit: 3 } } }]) assert.strictEqual(shape.breachOf(other), null)
})

test('what is shown of a result: the words that the model read, where the result says less', () => {
  const rows = [
    [{ content: 'Instructions.', result: { result: { skill: 'pdf', hash: 'a' } } }, 'Instructions.'],
    [{ content: 'content of one', result: { result: { content: [{ type: 'resource', resource: { text: 'x' } }] } } }, 'content of one'],
    [{ content: '', result: { result: { content: [{ type: 'text', text: '' }] } } }, { content: [{ type: 'text', text: '' }] }],
    [{ content: 'a', result: { result: { content: [] } } }, { content: [] }],
    [{ content: 'a', result: { result: { content: [{ kind: 'b' }] } } }, { content: [{ kind: 'b' }] }],
    [{ content: 'a', result: { result: { skill: 'pdf' } } }, { skill: 'pdf' }],
    [{ content: [{ type: 'text', text: 'a' }], result: { result: { skill: 'pdf', hash: 'a' } } }, { skill: 'pdf', hash: 'a' }],
    [{ content: 'only words' }, 'only words'], [undefined, undefined],
  ]
  for (const [message, shown] of rows) assert.deepStrictEqual(shape.shownResult(message), shown)
})
