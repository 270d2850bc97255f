// SSE, addresses, usage, texts with holes, the registry.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const path = require('node:path')
const vm = require('node:vm')
const fs = require('node:fs')
const { use, yaa, JS, cpu } = require('./load-modules.js')

const { Decoder } = use('core/sse')
const { link, image, otherHost } = use('core/safe-urls')
const usage = use('core/usage')
const { format } = use('core/message-format')

const bytesOf = (text) => new TextEncoder().encode(text)
const STREAMS = [
  ['data: a\n\n', ['a']],
  ['id: r/1\nevent: run.start\ndata: {"x":1}\n\n: ping\n\ndata:b\n\n', ['{"x":1}', 'b']],
  ['data: a\r\ndata: b\r\n\r\ndata: c\r\rdata: d\n\n', ['a\nb', 'c', 'd']],
  ['data:  two spaces \n\n', [' two spaces ']],
  ['data\n\ndata\ndata\n\n', ['', '\n']],
  ['event: x\n\ndata: y\n\n', ['y']],
  ['data: half', []],
  ['data: half\n', []],
  [': only\n: comments\n\n', []],
  ['\ufeffdata: bom\n\n', ['bom']],
  ['unknown: x\nretry: 5\ndatas: z\ndata: é你😀\u2028:\n\n', ['é你😀\u2028:']],
]

test('SSE, whole and cut anywhere', () => {
  for (const [text, expected] of STREAMS) {
    const bytes = bytesOf(text)
    const read = (chunks) => {
      const decoder = new Decoder()
      return chunks.flatMap((chunk) => decoder.feed(chunk))
    }
    assert.deepStrictEqual(read([bytes]), expected, JSON.stringify(text))
    assert.deepStrictEqual(read(Array.from(bytes, (_, i) => bytes.subarray(i, i + 1))), expected, `bytes of ${JSON.stringify(text)}`)
    for (let cut = 0; cut <= bytes.length; cut++) assert.deepStrictEqual(read([bytes.subarray(0, cut), bytes.subarray(cut)]), expected, `${JSON.stringify(text)} cut at ${cut}`)
  }
  const decoder = new Decoder()
  decoder.feed(bytesOf(': ping\n\n: ping\n\n'))
  assert.strictEqual(decoder.comments, 2)
})

test('one long event in many pieces takes linear time', () => {
  const decoder = new Decoder()
  const started = cpu()
  decoder.feed(bytesOf('data: '))
  const piece = bytesOf('x'.repeat(50))
  for (let n = 0; n < 20_000; n++) decoder.feed(piece)
  assert.strictEqual(decoder.feed(bytesOf('\n\n'))[0].length, 1_000_000)
  assert.ok(cpu() - started < 1500)
})

test('a link whose words are an address names the host that it leads to, if that is another one', () => {
  const other = [
    ['https://google.com', 'https://evil.example/x', 'evil.example'], ['google.com', 'http://evil.example', 'evil.example'],
    ['www.bank.co.uk/login', 'https://evil.example', 'evil.example'], ['https://bank.example', 'https://bank.example.evil.example', 'bank.example.evil.example'],
    ['g\u200boogle.com', 'https://evil.example', 'evil.example'], ['\u202ehttps://a.example', 'https://evil.example', 'evil.example'],
    ['https://аpple.com', 'https://apple.com', 'apple.com'], ['https://accounts.example', 'https://x.accounts.example', 'x.accounts.example'],
    [' https : // a.example ', 'https://evil.example', 'evil.example'], ['https://[::1]/', 'https://evil.example', 'evil.example'],
  ]
  for (const [words, href, host] of other) assert.strictEqual(otherHost(words, href), host, words)
  const same = [
    ['https://a.example/x', 'https://a.example/y'], ['www.a.com', 'http://a.com'], ['a.com', 'https://docs.a.com/x'], ['README.md', 'https://a.example'],
    ['main.py', 'https://a.example'], ['see google.com for more', 'https://a.example'], ['here', 'https://a.example'], ['', 'https://a.example'],
    ['https://', 'https://a.example'], ['https://a.example', 'mailto:x@b.example'], ['https://a.example', 'no address'], ['https://例子.cn', 'https://xn--fsqu00a.cn/'],
  ]
  for (const [words, href] of same) assert.strictEqual(otherHost(words, href), '', words)
  const started = cpu()
  for (const long of ['a.'.repeat(1e5), 'www.'.repeat(1e5), '.com'.repeat(1e5), 'https://'.repeat(1e5)]) otherHost(long, 'https://a.example')
  assert.ok(cpu() - started < 1500)
})

test('addresses that may become links', () => {
  const safe = [['https://a.b/c?d#e', 'https://a.b/c?d#e'], ['HTTP://A.b', 'http://a.b/'], ['mailto:a@b.c', 'mailto:a@b.c'], [' https://a.b ', 'https://a.b/'], ['https://例子.cn', 'https://xn--fsqu00a.cn/'], ['ht\ntps://a.b', 'https://a.b/']]
  for (const [url, href] of safe) assert.strictEqual(link(url), href, url)
  const unsafe = ['javascript:alert(1)', 'JaVaScRiPt:alert(1)', 'java\nscript:alert(1)', '\x01javascript:alert(1)', 'data:text/html,x', 'vbscript:x', 'file:///etc/passwd', 'blob:https://a/b', 'about:blank', 'ftp://a.b',
    '', '#', '/a', 'a.html', '//a.b', 'https://', 'http:///', 'https://google.com@evil.com', 'https://u:p@a.b', 'chrome://settings', 'view-source:https://a.b', 'ws://a.b', 'intent://a']
  for (const url of unsafe) assert.strictEqual(link(url), null, url)
  assert.deepStrictEqual(image('https://a.b/c.png'), { src: 'https://a.b/c.png', remote: true, host: 'a.b' })
  assert.deepStrictEqual(image('data:image/png;base64,AA'), { src: 'data:image/png;base64,AA', remote: false, host: '' })
  for (const url of ['data:image/svg+xml,<svg/>', 'data:text/html,x', 'blob:null/x', 'javascript:x', 'c.png', 'https://u@a.b']) assert.strictEqual(image(url), null, url)
})

test('usage', () => {
  const message = { role: 'assistant', meta: { ms: 1200, first_ms: 80, usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, cost_micro: 30, cost_unit: 'USD' } } }
  const one = usage.ofMessage(message)
  assert.deepStrictEqual([one.prompt, one.completion, one.total, one.cost_micro, one.ms, one.first_ms, one.calls], [10, 5, 15, 30, 1200, 80, 1])
  const all = usage.ofSession({ usage: { total_tokens: 30, calls: 2, cost_micro: null }, messages: [message, { role: 'user' }, message, { role: 'assistant', meta: { ms: 'x' } }] })
  assert.deepStrictEqual([all.total, all.calls, all.ms, all.cost_micro], [30, 2, 2400, 0])
  assert.deepStrictEqual(usage.ofMessage({ role: 'user' }).total, 0)
  const money = [[1_234_560, 'USD', 'en', '$1.23'], [30, 'USD', 'en', '$0.00003'], [0, 'USD', 'en', '$0.00'], [123_456, '元', 'zh', '0.12 元'], [5000, '', 'en', '0.005'], [99_000, 'EUR', 'en', '€0.099'], [95_000, '$', 'en', '$0.095'], [95_000, '¥', 'zh', '¥0.095'], [-2_000_000, '$', 'en', '-$2.00']]
  for (const [micro, unit, language, text] of money) assert.strictEqual(usage.money(micro, unit, language), text)
  assert.deepStrictEqual([usage.short(950), usage.short(12_345), usage.short(4_100_000)], ['950', '12.3K', '4.1M'])
})

test('texts with holes', () => {
  const rows = [
    ['plain', {}, 'plain'], ['{a} and {b}', { a: 1, b: 'x' }, '1 and x'], ['{missing}', {}, '{missing}'],
    ['{n, plural, one {# token} other {# tokens}}', { n: 1 }, '1 token'], ['{n, plural, one {# token} other {# tokens}}', { n: 1234 }, '1,234 tokens'],
    ['{n, plural, =0 {none} one {one} other {# of {total}}}', { n: 0 }, 'none'], ['{n, plural, =0 {none} one {one} other {# of {total}}}', { n: 2, total: 5 }, '2 of 5'],
    ['{who, select, you {your} other {their}} file', { who: 'you' }, 'your file'], ['{who, select, you {your} other {their}} file', { who: 'x' }, 'their file'],
    ['{n, plural, one {{who, select, a {# A} other {# B}}} other {many}}', { n: 1, who: 'a' }, '1 A'],
    ["it''s '{literal}' don't", {}, "it's {literal} don't"], ['{broken', { broken: 1 }, '{broken'], ['a } b', {}, 'a } b'], ['{n, plural, one {x}}', { n: 1 }, '{n, plural, one {x}}'], ['', {}, ''], ['{toString}', {}, '{toString}'],
    ['# {n, plural, other {#}}', { n: 3 }, '# 3'], ['{a}', { a: '{b}', b: 'no' }, '{b}'],
  ]
  for (const [pattern, values, text] of rows) assert.strictEqual(format(pattern, values), text, pattern)
  assert.strictEqual(format('{n, plural, one {# 个} other {# 个}}', { n: 3 }, 'zh'), '3 个')
  assert.strictEqual(format('{n, plural, one {a} few {b} many {c} other {d}}', { n: 3 }, 'pl'), 'b')
})

/** A registry of its own, with any modules. */
function registry() {
  const context = vm.createContext({})
  vm.runInContext(fs.readFileSync(path.join(JS, 'kernel.js'), 'utf8'), context)
  return context.yaa
}

test('the registry: lazy, once, in any order', () => {
  const { define, use: get } = registry()
  const made = []
  define('b', ['a'], (a) => { made.push('b'); return { a } })
  define('a', [], () => { made.push('a'); return { name: 'a' } })
  define('never', [], () => made.push('never'))
  assert.strictEqual(get('b').a, get('a'))
  assert.deepStrictEqual(made, ['a', 'b'])
})

test('the registry: what is wrong is named', () => {
  const { define, use: get } = registry()
  define('a', ['b'], () => 1)
  define('b', ['c'], () => 1)
  define('c', ['a'], () => 1)
  define('d', ['nowhere'], () => 1)
  define('broken', [], () => { throw new Error('at first') })
  assert.throws(() => get('a'), /a > b > c > a: these modules need each other/)
  assert.throws(() => get('d'), /d > nowhere: nowhere is not defined/)
  assert.throws(() => define('a', [], () => 2), /a is defined twice/)
  assert.throws(() => get('broken'), /at first/)
  assert.throws(() => get('broken'), /at first/, 'and is tried again')
})

test('the registry: its source is a whole script, kernel and all', () => {
  const context = vm.createContext({ console, TextEncoder, TextDecoder, structuredClone, setTimeout, clearTimeout, URL })
  const source = yaa.source()
  vm.runInContext(source, context)
  assert.strictEqual(context.yaa.use('core/crc32').crc32('123456789'), 'cbf43926')
  assert.strictEqual(context.yaa.source(), source)
  assert.ok(!/<\/script/i.test(source), 'it can stand inside a page')
})

test('no script of the client holds a closing script tag', () => {
  const next = [JS]
  for (let folder = next.pop(); folder; folder = next.pop()) {
    for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
      const place = path.join(folder, entry.name)
      if (entry.isDirectory()) next.push(place)
      else assert.ok(!/<\/script/i.test(fs.readFileSync(place, 'utf8')), place)
    }
  }
})

test('a language other than English comes when it is used, and English stands in where it does not come', async () => {
  const page = () => {
    const context = vm.createContext({ Intl, navigator: { languages: ['zh-TW'] }, document: { documentElement: {}, querySelectorAll: () => [] } })
    const read = (...parts) => vm.runInContext(fs.readFileSync(path.join(JS, ...parts), 'utf8'), context)
    for (const file of ['kernel', 'core/message-format', 'i18n/en', 'ui/i18n']) read(...`${file}.js`.split('/'))
    return { read, root: context.document.documentElement, text: context.yaa.use('ui/i18n') }
  }
  const here = page()
  const seen = async (wanted) => [(await here.text.use(wanted))?.message ?? '', here.text.language(), here.root.lang, here.text.t('compose.send')]
  const [why, ...found] = await seen('')
  assert.match(why, /i18n\/zh is not defined/, 'which is told')
  assert.deepStrictEqual(found, ['en', 'en', 'Send'], 'nobody has brought it')
  here.read('i18n', 'zh.js')
  assert.deepStrictEqual(await seen(''), ['', 'zh', 'zh-CN', '发送'])
  assert.deepStrictEqual([125_000, 3_600_000].map(here.text.duration), ['2 分 5 秒', '60 分'])
  assert.deepStrictEqual(await seen('en'), ['', 'en', 'en', 'Send'])
  assert.deepStrictEqual([125_000, 3_600_000].map(here.text.duration), ['2 min 5 s', '60 min'])
  assert.deepStrictEqual(await seen('zh'), ['', 'zh', 'zh-CN', '发送'])
  await Promise.all([here.text.use('zh'), here.text.use('en')])
  assert.deepStrictEqual([here.text.language(), here.root.lang], ['en', 'en'], 'what was wished last, though it is there first')
})
