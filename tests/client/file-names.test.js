// Names of files: hostile ones are shown as what they are, some letters find them, an @ names them.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { use } = require('./load-modules.js')

const names = use('core/file-names')

test('what programs make for themselves is no file that a person means', () => {
  const junk = ['.git/HEAD', '.git', 'a/.git/hooks/x', 'src/__pycache__/app.cpython-311.pyc', 'app.pyc', 'node_modules/x/i.js', '.venv/bin/python', 'venv/lib', '.mypy_cache/3.11/x', '.pytest_cache/v', 'a/.DS_Store']
  const meant = ['.gitignore', '.github/workflows/ci.yml', 'src/app.py', 'git/x', 'my.git/x', 'node_modules.md', 'pycache', 'docs/venv.md', '.env', 'cache/x', 'environment.py', 'a.pycx']
  assert.deepStrictEqual([...junk, ...meant].filter(names.isJunk), junk)
})

test('nothing in a name is invisible or turns what stands beside it', () => {
  const cases = [
    ['plain/näme 文件.txt', 'plain/näme 文件.txt'], ['a\u202egnp.exe', 'a\\u{202e}gnp.exe'], ['a\nb', 'a\\u{a}b'], ['zero\u200bwidth', 'zero\\u{200b}width'],
    ['a\u00a0b', 'a\\u{a0}b'], [' edge ', '\\u{20}edge\\u{20}'], ['raw\udcff', 'raw\\u{dcff}'], ['tag\u{e0041}', 'tag\\u{e0041}'], ['\u2066x\u2069', '\\u{2066}x\\u{2069}'],
    ['한글 العربية 😀', '한글 العربية 😀'],
  ]
  for (const [name, shown] of cases) assert.strictEqual(names.visible(name), shown)
})

test('what is being named is found at the caret', () => {
  const cases = [
    ['@', 1, { from: 0, typed: '' }], ['look at @src/ma', 15, { from: 8, typed: 'src/ma' }], ['look at @src/ma in', 15, { from: 8, typed: 'src/ma' }],
    ['me@example.org', 14, null], ['(@a', 3, { from: 1, typed: 'a' }], ['看，@文', 4, { from: 2, typed: '文' }], ['@a b', 4, null], ['', 0, null], ['a\n@b', 4, { from: 2, typed: 'b' }],
  ]
  for (const [text, caret, found] of cases) assert.deepStrictEqual(names.mentionAt(text, caret), found, text)
})

test('a path that would not be read as one is put in signs', () => {
  for (const [path, written] of [['src/a.js', 'src/a.js'], ['my file.txt', '`my file.txt`'], ['a`b c', '`ab c`'], ['文件.md', '文件.md']]) {
    assert.strictEqual(names.mentionOf(path), written)
  }
})

test('a link of an answer is a file of the session, or none', () => {
  const known = ['plot.png', 'out/plot.png', 'my file.txt']
  const cases = [
    ['plot.png', 'plot.png'], ['./plot.png', 'plot.png'], ['out/plot.png', 'out/plot.png'], ['/work/out/plot.png', 'out/plot.png'], ['sandbox:/mnt/data/plot.png', 'plot.png'],
    ['sandbox:/mnt/data/new.csv', 'new.csv'], ['file:///home/me/plot.png', 'plot.png'], ['my%20file.txt', 'my file.txt'], ['100%.txt', '100%.txt'], ['notes.md#part', 'notes.md'],
    ['文件.md', '文件.md'], ['a:b', ''], ['javascript:alert(1)', ''], ['data:text/html,x', ''], ['http://a.example/plot.png', ''], ['//a.example/plot.png', ''], ['www.example.org', ''], ['#part', ''], ['', ''],
  ]
  for (const [address, path] of cases) assert.strictEqual(names.linkedPath(address, known), path, address)
})

test('some letters find a file, the last part of its path before all', () => {
  const paths = ['docs/main/index.md', 'src/main.js', 'src/domain/list.js', 'README.md', '文档/说明.txt']
  const cases = [['main', 'src/main.js'], ['read', 'README.md'], ['说明', '文档/说明.txt'], ['SRC/m', 'src/main.js'], ['dml', 'src/domain/list.js']]
  for (const [typed, first] of cases.slice(0, 4)) assert.strictEqual(names.bestMatches(paths, typed, 3)[0], first, typed)
  assert.deepStrictEqual(names.bestMatches(paths, 'zzz', 3), [])
  assert.strictEqual(names.bestMatches(paths, '', 3).length, 3)
})

test('ten thousand files are looked through in a few milliseconds', () => {
  const paths = Array.from({ length: 10_000 }, (_, i) => `folder${i % 97}/part${i % 31}/file${i}.js`)
  assert.strictEqual(names.bestMatches(paths, 'file9999', 8)[0], `folder${9999 % 97}/part${9999 % 31}/file9999.js`)
})

test('how a file is looked at goes by its name', () => {
  const cases = [['a.PNG', 'image'], ['b.svg', 'image'], ['c.pdf', 'pdf'], ['d.tsv', 'csv'], ['README.md', 'markdown'], ['e.zip', 'other'], ['said.opus', 'other'], ['Makefile', 'text'], ['f.js', 'text']]
  for (const [path, kind] of cases) assert.strictEqual(names.kindOf(path), kind, path)
  assert.deepStrictEqual(['a.jpg', 'x/b.SVG', 'c.html', 'png'].map(names.pictureType), ['image/jpeg', 'image/svg+xml', '', 'image/png'])
})

test('bytes are a text, or not', () => {
  const cases = [['', true], ['plain', true], ['ü文', true], [new Uint8Array([0x61, 0]), false], [new Uint8Array([0xff, 0xfe, 0x41]), false], ['a'.repeat(8191) + 'ü', true]]
  for (const [bytes, expected] of cases) assert.strictEqual(names.isText(typeof bytes === 'string' ? new TextEncoder().encode(bytes) : bytes), expected)
})

test('a text in parts: what cannot be seen is written out, what is usual stays', () => {
  const cases = [
    ['', []],
    ['one\n\ttwo\r\n', [['one\n\ttwo\r\n', false]]],
    ['👨‍👩‍👧 ❤️', [['👨‍👩‍👧 ❤️', false]]],
    ['a\u202eb\u200b', [['a', false], ['\\u{202e}', true], ['b', false], ['\\u{200b}', true]]],
    ['\u{e0041}x', [['\\u{e0041}', true], ['x', false]]],
    ['\0', [['\\u{0}', true]]],
  ]
  for (const [text, expected] of cases) {
    assert.deepEqual(Array.from(names.hiddenParts(text), ({ text: words, hidden }) => [words, hidden]), expected, JSON.stringify(text))
  }
})
