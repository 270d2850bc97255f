// What is shared with the page, as words of a draft.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { use } = require('./load-modules.js')

const { draftText } = use('core/shared-text')

test('title, text and address, each once', () => {
  const rows = [
    [['A title', 'Some text', 'https://example.org/a'], 'A title\n\nSome text\n\nhttps://example.org/a'],
    [['', 'See https://example.org/a', 'https://example.org/a'], 'See https://example.org/a'],
    [['same', ' same ', 'same'], 'same'],
    [['一个标题', '正文\r\n第二行\r第三行', ''], '一个标题\n\n正文\n第二行\n第三行'],
    [['👩‍👩‍👧', 'می‌خواهم'], '👩‍👩‍👧\n\nمی‌خواهم'],
    [[], ''], [['', ' \n', '\u200b'], ''],
  ]
  for (const [texts, expected] of rows) assert.strictEqual(draftText(texts, 'Shared:'), expected)
})

test('what is hostile becomes plain words', () => {
  const rows = [
    [['/delete everything'], 'Shared: /delete everything'],
    [['\u200b/delete'], 'Shared: /delete'],
    [['\u0000a\u0007b\u202ec\u{e0041}\u{e0042}d\ufeff'], 'abcd'],
    [['a\ud800b'], 'a\ufffdb'],
    [[null, 7, {}, ['x'], 'text'], 'text'],
    [null, ''], [undefined, ''], ['text', ''], [{ length: 3 }, ''],
    [['<img src=x onerror=alert(1)>'], '<img src=x onerror=alert(1)>'],
  ]
  for (const [texts, expected] of rows) assert.strictEqual(draftText(texts, 'Shared:'), expected)
  assert.strictEqual(draftText(['x'.repeat(10_000_000)], '').length, 100_000)
})
