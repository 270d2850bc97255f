// The arithmetic under the fold: canonical JSON against Python, digests against Node's own, patches, identifiers.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const crypto = require('node:crypto')
const zlib = require('node:zlib')
const { spawnSync } = require('node:child_process')
const { use, random, ROOT } = require('./load-modules.js')

const { canonical, equal } = use('core/canonical-json')
const { crc32 } = use('core/crc32')
const { sha256 } = use('core/sha256')
const { patch, parsePointer, pointer } = use('core/patch')
const ids = use('core/ids')

/** Random JSON: odd keys, odd numbers, odd characters. */
function document(next, depth = 0) {
  const pick = (list) => list[Math.floor(next() * list.length)]
  const keys = ['a', 'b', 'A', 'é', '中', '😀', '\uffee', '\ue000', '𝒳', '', '__proto__', 'constructor', '10', '9', '"', '\\', '\n', '\u2028', '\x7f', 'aa', 'a b']
  const kind = next()
  if (depth < 5 && kind < 0.35) return Object.fromEntries(Array.from({ length: Math.floor(next() * 7) }, () => [pick(keys), document(next, depth + 1)]))
  if (depth < 5 && kind < 0.5) return Array.from({ length: Math.floor(next() * 5) }, () => document(next, depth + 1))
  if (kind < 0.65) return pick(keys) + pick(keys)
  if (kind < 0.75) return pick([null, true, false, '', '\x00\x1f\b\f\r\t'])
  return pick([0, -0, 1, -1, 1.0, 0.1, 1e16, 1e21, 1.5e22, 1e-6, 1e-7, 123456789012345680000, 5e-324, 1.7976931348623157e308, 0.30000000000000004, 2 ** 53, -(2 ** 53), next() * 1e6, next() * 10 ** Math.floor(next() * 40 - 20)])
}

test('canonical JSON has the bytes that Python writes', () => {
  const next = random(21)
  const documents = Array.from({ length: 2000 }, () => [document(next)])
  const input = documents.map((each) => JSON.stringify(each)).join('\n')
  const script = 'import sys\nfrom server.lib.strict_json import canonical, loads\nfor line in sys.stdin.buffer:\n    sys.stdout.buffer.write(canonical(loads(line)).encode() + b"\\n")'
  const child = spawnSync('python3', ['-c', script], { cwd: ROOT, input, encoding: 'utf8', maxBuffer: 1 << 28 })
  assert.strictEqual(child.status, 0, child.stderr)
  const lines = child.stdout.split('\n')
  documents.forEach((each, i) => assert.strictEqual(canonical(each), lines[i]))
})

test('canonical JSON: members that are undefined are left out', () => {
  assert.strictEqual(canonical({ b: undefined, a: [undefined, null] }), '{"a":[null,null]}')
  assert.ok(equal({ a: 1, b: [2] }, { b: [2], a: 1 }))
  assert.ok(!equal({ a: 1 }, { a: 1, b: null }))
})

test('CRC-32 and SHA-256', () => {
  const next = random(4)
  assert.strictEqual(crc32('123456789'), 'cbf43926')
  assert.strictEqual(sha256(''), 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
  const lengths = [...Array.from({ length: 200 }, (_, n) => n), 1000, 4096, 100_000]
  for (const length of lengths) {
    const bytes = Uint8Array.from({ length }, () => Math.floor(next() * 256))
    assert.strictEqual(sha256(bytes), crypto.createHash('sha256').update(bytes).digest('hex'), `${length} bytes`)
    if (zlib.crc32) assert.strictEqual(crc32(bytes), zlib.crc32(bytes).toString(16).padStart(8, '0'), `${length} bytes`)
  }
  assert.strictEqual(sha256('你好'), crypto.createHash('sha256').update('你好').digest('hex'))
})

test('patches', () => {
  const add = (path, value) => ({ op: 'add', path, value })
  const rows = [
    [{}, add('/a', 1), { a: 1 }],
    [{ a: 1 }, { op: 'replace', path: '/a', value: null }, { a: null }],
    [{}, { op: 'replace', path: '/a', value: 1 }, {}],
    [{ a: 1 }, { op: 'remove', path: '/a' }, {}],
    [{}, { op: 'remove', path: '/toString' }, {}],
    [{}, { op: 'replace', path: '/constructor', value: 1 }, {}],
    [{ a: [1, 3] }, add('/a/1', 2), { a: [1, 2, 3] }],
    [{ a: [1] }, add('/a/-', 2), { a: [1, 2] }],
    [{ a: [1] }, add('/a/1', 2), { a: [1, 2] }],
    [{ a: [1] }, add('/a/2', 2), { a: [1] }],
    [{ a: [1] }, add('/a/01', 2), { a: [1] }],
    [{ a: [1] }, add('/a/length', 9), { a: [1] }],
    [{ a: [1] }, { op: 'remove', path: '/a/0' }, { a: [] }],
    [{ a: [1] }, { op: 'remove', path: '/a/-' }, { a: [1] }],
    [{ a: [1] }, { op: 'replace', path: '/a/0', value: 2 }, { a: [2] }],
    [{ a: 'xyz' }, add('/a/0', 'b'), { a: 'xyz' }],
    [{ a: {} }, add('/a/~1~0', 1), { a: { '/~': 1 } }],
    [{}, add('/a/b', 1), {}],
    [{}, add('/a', undefined), { a: undefined }],
    [{}, { op: 'add', path: '/a' }, {}],
    [{}, { op: 'test', path: '/a', value: 1 }, {}],
    [{}, add('/__proto__/polluted', 1), {}],
    [{}, add('/constructor/prototype/polluted', 1), {}],
  ]
  for (const [root, operation, expected] of rows) {
    patch(root, operation, parsePointer(operation.path))
    assert.deepStrictEqual(root, expected, operation.path)
  }
  const root = {}
  patch(root, add('/__proto__', { polluted: 1 }), ['__proto__'])
  assert.deepStrictEqual(Object.keys(root), ['__proto__'])
  assert.strictEqual(root.polluted, undefined)
  assert.strictEqual({}.polluted, undefined)
})

test('pointers', () => {
  for (const path of [undefined, null, 1, '', 'a', {}]) assert.strictEqual(parsePointer(path), null)
  assert.deepStrictEqual(parsePointer('/'), [''])
  assert.deepStrictEqual(parsePointer('/a~01/~1'), ['a~1', '/'])
  assert.strictEqual(pointer('a/b', '~', 3), '/a~1b/~0/3')
})

test('a copied value does not change with its patch', () => {
  const value = { b: [1] }
  const root = {}
  patch(root, { op: 'add', value }, ['a'])
  patch(root, { op: 'add', value: 2 }, ['a', 'b', '-'])
  assert.deepStrictEqual([value, root], [{ b: [1] }, { a: { b: [1, 2] } }])
})

test('identifiers', () => {
  const made = new Set()
  for (let n = 0; n < 1000; n++) {
    const uuid = ids.uuid()
    assert.match(uuid, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    made.add(uuid)
    made.add(ids.id('msg'))
  }
  assert.strictEqual(made.size, 2000)
  assert.match(ids.id('msg'), /^msg_[0-9a-f]{24}$/)
})
