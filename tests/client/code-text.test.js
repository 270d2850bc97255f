// A block of code as a text: what it is saved as, how many lines it has.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { use, cpu } = require('./load-modules.js')

const { fileNameOf, lineCount, numbersOf } = use('core/code-text')

test('a file is named after the language, never after anything else the model wrote', () => {
  const cases = [
    ['python', 'py'], ['Python', 'py'], ['rs', 'rs'], ['c++', 'cpp'], ['html', 'html'], ['', 'txt'], ['../../etc', 'txt'], ['a.exe', 'txt'], ['x'.repeat(40), 'txt'],
    ['constructor', 'txt'], ['__proto__', 'txt'], ['语言', 'txt'], ['js\u202e', 'txt'], ['7z', 'txt'],
  ]
  for (const [lang, ending] of cases) assert.strictEqual(fileNameOf(lang), `code.${ending}`, lang)
})

test('lines are counted as they are shown', () => {
  for (const [text, count] of [['', 1], ['a', 1], ['a\n', 1], ['a\nb', 2], ['\n', 1], ['\n\n', 2], ['a\n\nb\n', 3], ['😀\n上', 2]]) {
    assert.strictEqual(lineCount(text), count, JSON.stringify(text))
    assert.strictEqual(numbersOf(text).split('\n').length, count, JSON.stringify(text))
  }
  assert.strictEqual(numbersOf('a\nb\nc'), '1\n2\n3')
  const started = cpu()
  assert.strictEqual(lineCount('x\n'.repeat(500_000)), 500_000)
  assert.ok(cpu() - started < 1500)
})
