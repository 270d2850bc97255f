// Tables of files, as they are shown.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { use } = require('./load-modules.js')

const { parseTable } = use('ext/files/csv')

test('a table is read with quotes, line breaks and any separator', () => {
  const cases = [
    ['a,b\n1,2\n', [['a', 'b'], ['1', '2']]], ['a;b\r\n1;2', [['a', 'b'], ['1', '2']]], ['a\tb\n"x\ny"\t"q""q"', [['a', 'b'], ['x\ny', 'q"q']]],
    ['\ufeffa,b', [['a', 'b']]], ['', []], ['"half', [['half']]], ['"a,b";c\n1;2', [['a,b', 'c'], ['1', '2']]], ['a\n\nb', [['a'], ['b']]], [',\n', [['', '']]],
  ]
  for (const [text, rows] of cases) assert.deepStrictEqual(parseTable(text).rows, rows, JSON.stringify(text))
  const { rows, more, columns } = parseTable('1,2\n'.repeat(1000), 10)
  assert.deepStrictEqual([rows.length, more, columns], [10, true, 2])
  assert.strictEqual(parseTable('a\nb\n', 2).more, false)
})
