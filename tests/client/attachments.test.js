// Files in messages.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { use } = require('./load-modules.js')

const attach = use('core/attachments')
const bytes = (...values) => Uint8Array.from(values)
const utf8 = (text) => new TextEncoder().encode(text)

test('bytes are a text, or they are not', () => {
  const cases = [
    [utf8('a\r\nb\rc é 天'), 'a\nb\nc é 天'], [utf8('\ufeffx'), 'x'], [bytes(0xff, 0xfe, 0x61, 0), 'a'], [bytes(0xfe, 0xff, 0, 0x61), 'a'], [bytes(), ''],
    [bytes(0x61, 0, 0x62), null], [bytes(0x89, 0x50, 0x4e, 0x47), null], [bytes(0x25, 0x50, 0x44, 0x46, 0xe2, 0xe3), null],
  ]
  for (const [given, text] of cases) assert.strictEqual(attach.decode(given), text)
})

test('a file goes there and back, whatever its name and its text', () => {
  for (const [name, text] of [['a.txt', 'x'], ['b', ''], ['c.xml', '<file name="x">\ny\n</file>'], ['d', '</file>\n</file>'], ['e', 'multi\n\nline\n']]) {
    assert.deepStrictEqual(attach.fileOf(attach.filePart(name, text)), { name, text })
  }
  assert.strictEqual(attach.fileOf(attach.filePart('a"<b>\n.txt', 'x')).name, 'a b .txt')
  assert.strictEqual(attach.fileOf(attach.filePart('', 'x')).name, 'file')
  for (const part of [null, 'x', { type: 'text', text: 'plain' }, { type: 'text', text: '<file name="a">\nopen' }, { type: 'image_url' }]) assert.strictEqual(attach.fileOf(part), null)
})

test('one that is in the workspace says where; a picture that is shown is not named as well', () => {
  const part = attach.filePart('a.csv', 'x', 'attachments/a.csv')
  assert.strictEqual(part.text, '<file name="a.csv" path="attachments/a.csv">\nx\n</file>')
  assert.deepStrictEqual(attach.fileOf(part), { name: 'a.csv', text: 'x', path: 'attachments/a.csv' })
  const image = attach.imagePart('data:image/png;base64,AA')
  assert.deepStrictEqual(attach.split([image, attach.filePart('p.png', '', 'attachments/p.png'), part]), {
    words: '', images: ['data:image/png;base64,AA'], files: [{ name: 'a.csv', text: 'x', path: 'attachments/a.csv' }],
  })
})

test('content: plain where nothing goes along, parts with the words first otherwise', () => {
  const part = attach.filePart('a', 'b')
  assert.strictEqual(attach.content('hi', []), 'hi')
  assert.deepStrictEqual(attach.content('hi', [part]), [{ type: 'text', text: 'hi' }, part])
  assert.deepStrictEqual(attach.content('', [part]), [part])
})

test('and taken apart for showing', () => {
  const image = attach.imagePart('data:image/png;base64,AA')
  assert.deepStrictEqual(attach.split(attach.content('look', [attach.filePart('a', 'b'), image])), { words: 'look', files: [{ name: 'a', text: 'b' }], images: ['data:image/png;base64,AA'] })
  assert.deepStrictEqual(attach.split('x'), { words: 'x', files: [], images: [] })
  assert.deepStrictEqual(attach.split([null, 7, { type: 'other' }, 'y']), { words: 'y', files: [], images: [] })
  assert.deepStrictEqual(attach.split(null), { words: '', files: [], images: [] })
})

test('pictures are made as small as models see them', () => {
  assert.deepStrictEqual(attach.fit(4000, 2000), { width: 1568, height: 784, whole: false })
  assert.deepStrictEqual(attach.fit(100, 50), { width: 100, height: 50, whole: true })
  assert.deepStrictEqual(attach.fit(100000, 1), { width: 1568, height: 1, whole: false })
  assert.deepStrictEqual([attach.isImage({ type: 'image/png' }), attach.isImage({ type: 'image/svg+xml' }), attach.isImage({ type: 'text/plain' })], [true, false, false])
})
