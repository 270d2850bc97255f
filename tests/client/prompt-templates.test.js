// Prompts with blanks.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { use } = require('./load-modules.js')

const { blanks, fill, slug, read, merge } = use('ext/prompts/templates')

test('blanks: names, what is usual, choices; each once', () => {
  const cases = [
    ['no blanks {x} {{}}', []],
    ['{{a}} and {{ a }}', [['a', '', []]]],
    ['{{a}} {{a=late}}', [['a', 'late', []]]],
    ['{{target language=English}}', [['target language', 'English', []]]],
    ['{{tone=kind|short | formal}}', [['tone', 'kind', ['kind', 'short', 'formal']]]],
    ['{{语言=中文}}', [['语言', '中文', []]]],
    ['\\{{not}} {{yes=}}', [['yes', '', []]]],
    ['{{a=b=c}}', [['a', 'b=c', []]]],
  ]
  for (const [text, expected] of cases) assert.deepStrictEqual(blanks(text).map((one) => [one.name, one.value, one.options]), expected, text)
})

test('filled in: given, usual or empty; nothing given is a pattern', () => {
  const cases = [
    ['Say {{what}} to {{who=all}}', { what: 'hi' }, 'Say hi to all'],
    ['{{a=1}}{{a}}', {}, '11'],
    ['{{a}}', { a: '$& {{b}}' }, '$& {{b}}'],
    ['\\{{a}} {{a}}', { a: 'x' }, '{{a}} x'],
    ['{{tone=kind|short}}', {}, 'kind'],
    ['{{constructor}}', {}, ''],
    ['{{a}}', { a: '' }, ''],
  ]
  for (const [text, values, expected] of cases) assert.strictEqual(fill(text, values), expected, text)
})

test('the word after the slash', () => {
  for (const [name, word] of [['Code review!', 'code-review'], ['  Résumé  ', 'resume'], ['翻译成英文', '翻译成英文'], ['***', '']]) assert.strictEqual(slug(name), word)
})

test('prompts of other programs are read, what is none is not', () => {
  assert.deepStrictEqual(read([{ act: 'Poet', prompt: 'Write' }, { title: 't', content: 'c' }, { name: ' n ', text: 'x', more: 1 }, { name: 'x' }, null, 7, { text: 'y' }]), [
    { name: 'Poet', text: 'Write' }, { name: 't', text: 'c' }, { name: 'n', text: 'x' },
  ])
  assert.deepStrictEqual(read({ prompts: [{ name: 'a', text: 'b' }] }), [{ name: 'a', text: 'b' }])
  for (const value of [null, 7, 'x', {}, { prompts: 1 }]) assert.deepStrictEqual(read(value), [])
})

test('merging keeps one of each', () => {
  const a = { name: 'a', text: '1' }
  assert.deepStrictEqual(merge([a], [a, { name: 'a', text: '2' }, { name: 'a', text: '2', id: 9 }]), [a, { name: 'a', text: '2' }])
})
