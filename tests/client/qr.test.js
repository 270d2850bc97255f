// QR codes against those of an independent encoder, bit by bit.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const { use, ROOT } = require('./load-modules.js')

const { encode } = use('ext/device-link/qr')
const lines = fs.readFileSync(path.join(ROOT, 'tests', 'vectors', 'qr.txt'), 'utf8').trim().split('\n').slice(1)
const words = (rows) => rows.map((row) => row.join(''))

test('every version and mask that has a vector', () => {
  let seen = 0
  while (lines.length) {
    const [, version, mask, json] = /^(\d+) (\d) (.*)$/.exec(lines.shift())
    const rows = lines.splice(0, version * 4 + 17)
    assert.deepStrictEqual(words(encode(JSON.parse(json), Number(mask))), rows, `version ${version}, mask ${mask}`)
    seen += 1
  }
  assert.strictEqual(seen, 19)
})

test('the smallest version that has room, up to the fifteenth', () => {
  const rows = [[0, 21], [14, 21], [15, 25], [26, 25], [27, 29], [180, 53], [181, 57], [412, 77]]
  for (const [length, size] of rows) assert.strictEqual(encode('x'.repeat(length)).length, size, `${length} bytes`)
  assert.strictEqual(encode('x'.repeat(413)), null)
  assert.strictEqual(encode('漢'.repeat(138)), null, 'bytes count, not letters')
})

test('of the eight masks one is taken, and it is not the worst', () => {
  // Of this text, mask by mask, runs of five or more in a row: the taken one has fewer than most.
  const text = 'http://192.168.1.20:12345/#key=abcdefghijklmnopqrstuvwx'
  const runs = (rows) => words(rows).join('|').match(/0{5,}|1{5,}/g)?.length ?? 0
  const all = Array.from({ length: 8 }, (_, mask) => encode(text, mask))
  const taken = encode(text)
  assert.ok(all.some((one) => words(one).join() === words(taken).join()))
  assert.ok(runs(taken) < Math.max(...all.map(runs)))
})
