// What is said of an answer when it is read aloud, and in which language.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { use, cpu } = require('./load-modules.js')

const { sentencesOf, languageOf } = use('ext/voice/spoken-text')

test('words without marks, code, formulas, notes and addresses', () => {
  for (const [markdown, said] of [
    ['# A **title**\n\nOne. Two!  Three?', ['A title', 'One.', 'Two!', 'Three?']],
    ['Run `npm i` now.\n\n```js\nlet a = 1. b\n```\n\nDone.', ['Run npm i now.', 'Done.']],
    ['    indented code\n\nafter', ['after']],
    ['See [the *guide*](https://e.example/x?y=1) at https://www.docs.example/a/b?c=d.', ['See the guide at docs.example.']],
    ['- first\n- [x] second\n  1. inner', ['first', 'second', 'inner']],
    ['> quoted\n> text', ['quoted text']],
    ['| a | b |\n|---|---|\n| 1 | 2 |', ['a, b', '1, 2']],
    ['![a cat](https://e.example/cat.png) sits', ['a cat sits']],
    ['Version 1.5 of a.b is out. It is 3.14 long.', ['Version 1.5 of a.b is out.', 'It is 3.14 long.']],
    ['说完了。真的吗？好！', ['说完了。', '真的吗？', '好！']],
    ['---\n\n***\n\n…\n\n🙂', []],
    ['', []],
    ['$$x^2$$\n\ntext', ['text']],
    ['a\\\nb\nc', ['a b c']],
    ['<b>bold</b> move', ['<b>bold</b> move']],
  ]) assert.deepStrictEqual(sentencesOf(markdown), said, markdown)
})

test('no utterance is long, nothing is lost, and no character is cut in two', () => {
  const long = `${'word '.repeat(200)}${'字'.repeat(500)}${'🙂'.repeat(300)}x, ${'y'.repeat(400)}`
  const said = sentencesOf(long)
  assert.ok(said.every((one) => one.length <= 180))
  assert.ok(said.every((one) => one.isWellFormed?.() ?? true))
  assert.strictEqual(said.join('').match(/字/g).length, 500)
  assert.strictEqual(said.join('').match(/word/g).length, 200)
  assert.deepStrictEqual(sentencesOf(`${'a'.repeat(100)}, ${'b'.repeat(100)}`).map((one) => one.length), [101, 100])
})

test('a large answer takes no time to speak of', () => {
  const before = cpu()
  assert.ok(sentencesOf('A sentence with [a link](http://a.example) and `code`. '.repeat(5000)).length === 5000)
  sentencesOf('.'.repeat(100_000))
  sentencesOf('a'.repeat(100_000))
  languageOf('the '.repeat(100_000), ['en'])
  assert.ok(cpu() - before < 10_000, `${cpu() - before} ms`)
})

test('languages', () => {
  for (const [text, known, wanted] of [
    ['The cat is on the table and that is for this', ['en-US'], 'en-US'],
    ['Die Katze ist nicht auf dem Tisch und das ist gut', ['en', 'de-DE'], 'de-DE'],
    ['Die Katze ist nicht auf dem Tisch und das ist gut', ['en'], 'de'],
    ['Le chat est dans les bras pour une nuit', ['zh-CN', 'en'], 'fr'],
    ['猫在桌子上', ['en', 'zh-TW'], 'zh-TW'],
    ['猫在桌子上', ['en'], 'zh-CN'],
    ['猫はテーブルの上にいます', ['zh-CN'], 'ja'],
    ['고양이', [], 'ko'],
    ['Кот на столе', ['en', 'uk-UA'], 'uk-UA'],
    ['القط على الطاولة', [], 'ar'],
    ['42', ['zh-CN', 'en-GB'], 'en-GB'],
    ['Xyzzy plugh', ['fr-FR', 'en'], 'fr-FR'],
    ['', [], 'en'],
  ]) assert.strictEqual(languageOf(text, known), wanted, text)
})
