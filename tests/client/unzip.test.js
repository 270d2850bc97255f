// ZIP files as programs write them, damaged ones, and those that were made to do harm.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const zlib = require('node:zlib')
const { use, random } = require('./load-modules.js')

const { isZip, texts } = use('io/unzip')
const { crc32 } = use('core/crc32')

const u16 = (...all) => Buffer.concat(all.map((n) => Buffer.from([n & 255, n >> 8])))
const u32 = (...all) => Buffer.concat(all.map((n) => Buffer.from([n & 255, (n >> 8) & 255, (n >> 16) & 255, n >>> 24])))

/** A ZIP file; `lie` changes what is said of a file in its list. */
function zip(files, { comment = '', extra = 0, end = {} } = {}) {
  const [parts, entries] = [[], []]
  let at = 0
  for (const { name, text = '', method = 8, flags = 0, lie = {} } of files) {
    const bytes = Buffer.from(text)
    const data = method === 8 ? zlib.deflateRawSync(bytes) : bytes
    const told = { crc: parseInt(crc32(bytes), 16), packed: data.length, size: bytes.length, at, ...lie }
    const [label, more] = [Buffer.from(name), Buffer.alloc(extra)]
    // with a stream the sizes come behind the data: here they are 0, as programs write them
    parts.push(u32(0x04034b50), u16(20, flags | 8, method, 0, 0), u32(0, 0, 0), u16(label.length, extra), label, more, data, u32(0x08074b50, told.crc, told.packed, told.size))
    entries.push(u32(0x02014b50), u16(20, 20, flags, method, 0, 0), u32(told.crc, told.packed, told.size), u16(label.length, extra, 0, 0, 0), u32(0, told.at), label, more)
    at = Buffer.concat(parts).length
  }
  const list = Buffer.concat(entries)
  const { many = files.length, length = list.length, from = at } = end
  return new Blob([...parts, list, u32(0x06054b50), u16(0, 0, many, many), u32(length, from), u16(comment.length), comment])
}

async function read(file, wanted = () => true) {
  const found = []
  for await (const { name, text } of texts(file, wanted)) found.push([name, text])
  return found
}

test('what is wanted comes out, packed or not, with any name', async () => {
  const file = zip([
    { name: 'chat/对话.json', text: '{"a":"ü"}' }, { name: 'chat/', method: 0 }, { name: 'plain.json', text: '[]', method: 0 }, { name: 'x.png', text: 'no' }, { name: 'empty.json' },
  ], { comment: 'made by PK\x05\x06 somebody', extra: 9 })
  assert.strictEqual(await isZip(file), true)
  assert.deepStrictEqual(await read(file, (name) => name.endsWith('.json')), [['chat/对话.json', '{"a":"ü"}'], ['plain.json', '[]'], ['empty.json', '']])
})

test('an empty one has nothing in it; other files are none', async () => {
  assert.deepStrictEqual([await isZip(zip([])), await read(zip([]))], [true, []])
  for (const text of ['', 'PK', '{"a":1}', 'PK\x03\x05'.padEnd(40)]) assert.strictEqual(await isZip(new Blob([text])), false, text)
})

const LARGE = 'x'.repeat(10_000)
for (const [what, file, words] of [
  ['a bomb that says so', zip([{ name: 'a', lie: { size: 2 ** 30 } }, { name: 'b', text: 'b' }]), /too large/],
  ['a bomb that does not', zip([{ name: 'a', text: LARGE, lie: { size: 10 } }]), /larger than it says/],
  ['less than it says', zip([{ name: 'a', text: 'a', lie: { size: 10 } }]), /smaller than it says/],
  ['another text', zip([{ name: 'a', text: 'a', lie: { crc: 1 } }]), /a is damaged/],
  ['a place that is none', zip([{ name: 'a', text: 'a', lie: { at: 7 } }]), /not where it should be/],
  ['a place behind the end', zip([{ name: 'a', text: 'a', lie: { at: 1e6 } }]), /cut off/],
  ['a passphrase', zip([{ name: 'a', text: 'a', flags: 1 }]), /a is encrypted/],
  ['another way of packing', zip([{ name: 'a', text: 'a', method: 12 }]), /packed in another way/],
  ['a list with less in it', zip([{ name: 'a' }], { end: { many: 2 } }), /list is damaged/],
  ['a list that ends in an entry', zip([{ name: 'a' }], { end: { length: 46, from: 50 } }), /list is damaged/],
  ['more than 4 GB', zip([{ name: 'a' }], { end: { from: 0xffffffff } }), /4 GB/],
  ['only its beginning', zip([{ name: 'a', text: LARGE }]).slice(0, 60), /no end/],
]) test(`refused: ${what}`, async () => assert.rejects(read(file), words))

test('whatever is wrong with one, it is an error and nothing else', async () => {
  const sound = Buffer.from(await zip([{ name: 'a.json', text: LARGE }, { name: 'b.json', text: '{"b":2}' }]).arrayBuffer())
  const next = random(7)
  for (let n = 0; n < 400; n++) {
    const bytes = Buffer.from(sound)
    for (let i = 0; i < 3; i++) bytes[Math.floor(next() * bytes.length)] = Math.floor(next() * 256)
    const found = await read(new Blob([bytes])).catch((error) => assert.ok(error instanceof Error))
    for (const [, text] of found ?? []) assert.ok([LARGE, '{"b":2}'].includes(text), 'what comes out is what went in')
  }
})
