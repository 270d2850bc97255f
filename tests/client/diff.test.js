// Differences of sequences, lines and words.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { use, random, cpu } = require('./load-modules.js')

const diff = use('core/diff')

const marks = (before, after) => diff.align([...before], [...after]).map(({ op, before: b, after: a }) => (
  op === 'same' ? before[b] : op === 'removed' ? `-${before[b]}` : `+${after[a]}`
)).join(' ')

test('the shortest edit', () => {
  const rows = [
    ['', '', ''], ['a', 'a', 'a'], ['', 'ab', '+a +b'], ['ab', '', '-a -b'], ['abc', 'axc', 'a -b +x c'], ['abc', 'abcd', 'a b c +d'],
    ['bcd', 'abcd', '+a b c d'], ['abab', 'ab', 'a b -a -b'], ['xay', 'a', '-x a -y'],
  ]
  for (const [before, after, expected] of rows) assert.strictEqual(marks(before, after), expected, `${before} → ${after}`)
})

/** Length of the longest common subsequence, the slow and simple way. */
function longest(a, b) {
  const table = Array.from({ length: a.length + 1 }, () => new Array(b.length + 1).fill(0))
  for (let i = 1; i <= a.length; i++) for (let j = 1; j <= b.length; j++) table[i][j] = a[i - 1] === b[j - 1] ? table[i - 1][j - 1] + 1 : Math.max(table[i - 1][j], table[i][j - 1])
  return table[a.length][b.length]
}

test('any two sequences: both can be read off, and no more is changed than has to be', () => {
  const next = random(5)
  for (let round = 0; round < 800; round++) {
    const make = () => Array.from({ length: Math.floor(next() * 14) }, () => 'abcd'[Math.floor(next() * 4)])
    const [before, after] = [make(), make()]
    const steps = diff.align(before, after)
    assert.deepStrictEqual(steps.filter((s) => s.op !== 'added').map((s) => s.before), before.map((_, i) => i))
    assert.deepStrictEqual(steps.filter((s) => s.op !== 'removed').map((s) => s.after), after.map((_, i) => i))
    const same = steps.filter((s) => s.op === 'same')
    for (const step of same) assert.strictEqual(before[step.before], after[step.after])
    assert.strictEqual(same.length, longest(before, after), `${before} ${after}`)
  }
})

test('lines: numbers, gaps, what changed in a line', () => {
  const before = Array.from({ length: 30 }, (_, i) => `line ${i + 1}`).join('\n')
  const after = before.replace('line 15\n', 'the line 15\nnew\n')
  const rows = diff.rows(before, after, 2)
  assert.deepStrictEqual(rows.map((row) => [row.kind, row.text, row.before, row.after, row.count]), [
    ['gap', '', undefined, undefined, 12], ['same', 'line 13', 13, 13, undefined], ['same', 'line 14', 14, 14, undefined],
    ['removed', 'line 15', 15, undefined, undefined], ['added', 'the line 15', undefined, 15, undefined], ['added', 'new', undefined, 16, undefined],
    ['same', 'line 16', 16, 17, undefined], ['same', 'line 17', 17, 18, undefined], ['gap', '', undefined, undefined, 13],
  ])
  assert.deepStrictEqual(rows[4].parts, [{ text: 'the ', changed: true }, { text: 'line 15', changed: false }])
  assert.deepStrictEqual(diff.count(rows), { added: 2, removed: 1 })
  assert.deepStrictEqual(diff.rows('', 'a\n').map((row) => row.kind), ['added'])
  assert.deepStrictEqual(diff.rows('a\r\nb\n', 'a\nb\n').map((row) => [row.kind, row.text]), [['removed', 'a\r'], ['added', 'a'], ['same', 'b']])
  assert.deepStrictEqual(diff.rows('a\nb', 'a\nb\n').map((row) => [row.kind, row.text, row.unended]), [['same', 'a', undefined], ['removed', 'b', true], ['added', 'b', undefined]])
  assert.deepStrictEqual(diff.rows('a', 'b').map((row) => row.unended), [undefined, undefined])
  assert.strictEqual(diff.rows('completely other', 'nothing in common here')[0].parts, undefined)
})

test('unified diffs, as the edit tool and git write them', () => {
  const text = ['--- a.py', '+++ a.py', '@@ -1,3 +1,3 @@', ' def f():', '-    return 1', '+    return 2', ' ', '@@ -40 +40,2 @@', ' x', '+y', '\\ No newline at end of file'].join('\n')
  assert.deepStrictEqual(diff.parse(text).map(({ kind, text: line, before, after }) => [kind, line, before, after]), [
    ['same', 'def f():', 1, 1], ['removed', '    return 1', 2, undefined], ['added', '    return 2', undefined, 2], ['same', '', 3, 3],
    ['gap', '', undefined, undefined], ['same', 'x', 40, 40], ['added', 'y', undefined, 41],
  ])
  const two = ['diff --git a/x b/x', '--- a/x', '+++ b/x', '@@ -1 +1 @@', '--- old', '+++ new', 'diff --git a/y b/y', 'index 1..2', '--- a/y', '+++ /dev/null', '@@ -1,2 +0,0 @@', '-1', '-2', '-- ', '2.30'].join('\n')
  assert.deepStrictEqual(diff.parse(two).map(({ kind, text: line }) => `${kind} ${line}`), ['removed -- old', 'added ++ new', 'gap ', 'removed 1', 'removed 2'])
  assert.deepStrictEqual(diff.parse(''), [])
  assert.deepStrictEqual(diff.parse('no diff at all\n-- x'), [])
})

test('words, Chinese too', () => {
  const text = (parts) => parts.map((part) => (part.changed ? `[${part.text}]` : part.text)).join('')
  for (const [before, after, left, right] of [
    ['the quick fox', 'the slow fox', 'the [quick] fox', 'the [slow] fox'], ['今天天气好', '今天天气不好', '今天天气好', '今天天气[不]好'],
    ['a=1', 'a=2', 'a=[1]', 'a=[2]'], ['', 'x', '', '[x]'],
  ]) {
    const found = diff.words(before, after)
    assert.deepStrictEqual([text(found.before), text(found.after)], [left, right])
    assert.ok(found.alike < 1)
  }
  assert.strictEqual(diff.words('same', 'same').alike, 1)
})

test('large and unlike texts cost little', () => {
  const next = random(9)
  const make = () => Array.from({ length: 20_000 }, () => String(Math.floor(next() * 1e9))).join('\n')
  const [before, after] = [make(), make()]
  const started = cpu()
  assert.strictEqual(diff.count(diff.rows(before, after)).removed, 20_000)
  diff.rows(before, before.replace(/5\n/, 'x\n'))
  assert.ok(cpu() - started < 2500, `${cpu() - started} ms`)
})
