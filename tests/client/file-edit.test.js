// What an edit makes of a text, as the tool on the server makes it.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { use } = require('./load-modules.js')

const { replaceText } = use('core/file-edit')

test('a text is replaced as edit_file replaces it', () => {
  const rows = [
    ['a place', 'a b c', 'b', '$&', { times: 1, after: 'a $& c' }],
    ['two places', 'aa', 'a', 'bb', { times: 2, after: 'bbbb' }],
    ['places do not overlap', 'aaa', 'aa', 'b', { times: 1, after: 'ba' }],
    ['none', 'a', 'b', 'c', { times: 0, after: 'a' }],
    ['nothing to look for', 'a', '', 'c', { times: 0, after: 'a' }],
    ['CRLF in the file alone', 'a\r\nb\r\nc\r\n', 'a\nb\n', 'x\ny\n', { times: 1, after: 'x\r\ny\r\nc\r\n' }],
    ['CRLF in all of them', 'a\r\nb\r\n', 'a\r\nb', 'x\r\ny', { times: 1, after: 'x\r\ny\r\n' }],
    ['line ends of both kinds', 'a\r\nb\nc', 'a\nb', 'x', { times: 0, after: 'a\r\nb\nc' }],
    ['line feeds alone', 'a\nb\n', 'a\nb', 'x\r\ny', { times: 1, after: 'x\r\ny\n' }],
    ['a mark at the start', '\ufeffa', '\ufeffa', 'b', { times: 1, after: 'b' }],
    ['as long as it may be', 'a'.repeat(1000), 'a', 'b'.repeat(1000), { times: 1000, after: 'b'.repeat(1_000_000) }],
    ['longer', 'a'.repeat(500_000), 'a', 'b'.repeat(100_000), { times: 500_000, after: null }],
  ]
  for (const [name, text, old, next, expected] of rows) assert.deepStrictEqual(replaceText(text, old, next), expected, name)
})
