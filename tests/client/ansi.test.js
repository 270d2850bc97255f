// What a program wrote for a terminal, as text and colours.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { use, cpu } = require('./load-modules.js')

const { parseAnsi } = use('core/ansi')
const E = '\u001b'

test('texts and colours', () => {
  const cases = [
    ['plain', 'plain', []],
    ['', '', []],
    [`${E}[31mred${E}[0m end`, 'red end', [['ansi-red', 0, 3]]],
    [`a${E}[1;32mb${E}[mc`, 'abc', [['ansi-green', 1, 2]]],
    [`${E}[1mstrong${E}[22m no`, 'strong no', [['ansi-strong', 0, 6]]],
    [`${E}[91mbright${E}[39m`, 'bright', [['ansi-red', 0, 6]]],
    [`${E}[38;5;4mblue${E}[38;5;200mother${E}[38;2;1;2;3mtrue`, 'blueothertrue', [['ansi-blue', 0, 4]]],
    [`${E}[48;5;1mground`, 'ground', []],
    [`${E}[2K${E}[1Gline`, 'line', []],
    [`${E}]0;a title\u0007text`, 'text', []],
    [`${E}]8;;https://a.b${E}\\link${E}]8;;${E}\\`, 'link', []],
    [`cut ${E}[3`, 'cut ', []],
    [`cut ${E}`, 'cut ', []],
    [`${E}(Bset`, 'set', []],
    [`${E}[31m你好😀`, '你好😀', [['ansi-red', 0, 4]]],
  ]
  for (const [source, text, spans] of cases) assert.deepStrictEqual(parseAnsi(source), { text, spans }, JSON.stringify(source))
})

test('hostile output takes no time', () => {
  const began = cpu()
  for (const source of [E.repeat(200_000), `${E}[`.repeat(100_000), `${E}]`.repeat(100_000), `${E}[${'1;'.repeat(100_000)}m`, `${E}]${'x'.repeat(200_000)}`, `${E}[31mx`.repeat(50_000)]) parseAnsi(source)
  assert.ok(cpu() - began < 3000, `${cpu() - began} ms`)
})
