// One table of what nobody sees, for the page and the terminal: tests/vectors/invisible.json.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const { use, rounds, JS } = require('./load-modules.js')

const vectors = JSON.parse(fs.readFileSync(path.join(__dirname, '..', 'vectors', 'invisible.json'), 'utf8'))
const table = new Set(vectors.ranges.flatMap((range) => {
  const [first, last = first] = range.split('-').map((end) => parseInt(end, 16))
  return Array.from({ length: last - first + 1 }, (_, i) => first + i)
}))
const kept = new Set(vectors.usual.map((one) => parseInt(one, 16)))
const all = rounds(0x110000)
const differing = (changes, expected) => all.filter((code) => changes(String.fromCodePoint(code)) !== expected(code)).map((code) => code.toString(16))

test('names of files: the whole table, tabs and line ends, and spaces that look like others', () => {
  const { visible } = use('core/file-names')
  const spaces = /[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/
  assert.deepStrictEqual(differing((sign) => visible(`a${sign}b`) !== `a${sign}b`, (code) => table.has(code) || [9, 10, 13].includes(code) || spaces.test(String.fromCodePoint(code))), [])
})

test('arguments and questions: the whole table, but for what emoji are made of', () => {
  const { marksOf } = use('core/call-marks')
  assert.deepStrictEqual(differing((sign) => marksOf({ text: `a${sign}b` }).length > 0, (code) => table.has(code) && !kept.has(code)), [])
  for (const [text, shown] of vectors.texts) assert.strictEqual(marksOf({ text }).length > 0, text !== shown, shown)
})

test('the card and the widget write out what the mark counts', () => {
  const pattern = (file) => fs.readFileSync(path.join(JS, file), 'utf8').match(/\/\(\?!\[\\t\\n\\r\]\)\\p\{Cc\}.*?\/gu/)[0]
  const [mark, ...others] = ['core/call-marks.js', 'ui/interrupt-cards.js', 'widget/interrupt-cards.js'].map(pattern)
  assert.deepStrictEqual(others, [mark, mark])
})
