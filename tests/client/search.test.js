// Finding words: what counts as the same, where it is, and what comes first.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { use, cpu } = require('./load-modules.js')

const search = use('core/search')
const sessions = use('core/session')

test('case, accents, width and final letters make no difference', () => {
  const cases = [
    ['Résumé', 'resume'], ['RE\u0301SUME\u0301', 'resume'], ['naïve café', 'NAIVE'], ['ＡＢＣ１２３', 'abc123'], ['ΟΔΟΣ', 'οδος'], ['οδός', 'ΟΔΟΣ'],
    ['İstanbul', 'istanbul'], ['上海的天气', '天气'], ['서울 날씨', '날씨'], ['ﬁle', 'file'], ['Ёлка', 'елка'],
  ]
  for (const [text, query] of cases) {
    assert.ok(search.foldCase(text).includes(search.foldCase(query)), `${text} ~ ${query}`)
    assert.strictEqual(search.ranges(text, search.terms(query)).length, 1, `${text} ~ ${query}`)
  }
})

test('places are those of the text itself, whatever folding did to its length', () => {
  const at = (text, query) => search.ranges(text, search.terms(query)).map(([from, to]) => text.slice(from, to))
  assert.deepStrictEqual(at('A Résumé, a resume.', 'resume'), ['Résumé', 'resume'])
  assert.deepStrictEqual(at('re\u0301sume\u0301!', 'resume'), ['re\u0301sume\u0301'])
  assert.deepStrictEqual(at('İİ abc', 'abc'), ['abc'])
  assert.deepStrictEqual(at('𝒳 then 天气好', '天气'), ['天气'])
  assert.deepStrictEqual(at('ﬁnd', 'fi'), ['ﬁ'])
  assert.deepStrictEqual(at('aaaa', 'aa'), ['aa', 'aa'])
  assert.deepStrictEqual(at('foobar', 'foob ooba'), ['fooba'], 'overlapping ones are one')
  assert.deepStrictEqual(at('nothing', ''), [])
})

test('words are all wanted; quotes keep them together', () => {
  assert.deepStrictEqual(search.terms('  Two  "In Quotes" two “x '), ['two', 'in quotes', '“x'])
  assert.deepStrictEqual(search.terms('"open'), ['open'])
  assert.deepStrictEqual(search.terms('" "'), [])
})

test('marked cuts a text without losing anything', () => {
  const text = 'One two, ONE Two.'
  const parts = search.splitMatches(text, search.terms('one'))
  assert.deepStrictEqual(parts, [['One', true], [' two, ', false], ['ONE', true], [' Two.', false]])
  assert.strictEqual(parts.map(([part]) => part).join(''), text)
})

test('a snippet is one short line around the first match', () => {
  const parts = search.snippet(`${'before '.repeat(30)}\n\n  needle\tin   hay ${'after '.repeat(60)}`, ['needle'])
  const line = parts.map(([part]) => part).join('')
  assert.ok(line.startsWith('… before'), line)
  assert.ok(line.endsWith('…'), line)
  assert.ok(line.includes(' needle in hay '), line)
  assert.ok(line.length < 130)
  assert.deepStrictEqual(parts.filter(([, hit]) => hit).map(([part]) => part), ['needle'])
  assert.deepStrictEqual(search.snippet('short', ['short']), [['short', true]])
  assert.ok(!/[\ud800-\udbff] …$/.test(search.snippet(`x ${'😀'.repeat(200)}`, ['x']).map(([part]) => part).join('')), 'no half of a letter')
})

function session() {
  const made = sessions.create({ title: 'Weather', now: 0 })
  sessions.append(made, 'How warm is it in Zürich?')
  made.messages.push(
    { id: 'a1', role: 'assistant', content: '', reasoning: { text: 'I should look outside' }, tool_calls: [{ id: 'c1', type: 'function', function: { name: 'shell', arguments: '{"command":"curl wttr.in"}' } }] },
    { id: 't1', role: 'tool', tool_call_id: 'c1', name: 'shell', content: 'sunny, 21 degrees' },
    { id: 's1', role: 'system', content: 'hidden words' },
    { id: 'u2', role: 'user', content: [{ type: 'text', text: 'And in this picture?' }, { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] },
  )
  return made
}

test('what a session holds: thoughts, calls and results under the article they are shown in', () => {
  const pages = search.pages(session())
  const of = (word) => pages.filter((page) => page.folded.includes(word)).map((page) => page.id)
  assert.deepStrictEqual(of('outside'), ['a1'])
  assert.deepStrictEqual(of('wttr'), ['a1'])
  assert.deepStrictEqual(of('sunny'), ['a1'], 'the result is on the card of its call')
  assert.deepStrictEqual(of('picture'), ['u2'])
  assert.deepStrictEqual(of('hidden'), [], 'what the thread does not show cannot be jumped to')
  assert.deepStrictEqual(of('base64'), [])
})

test('arguments and results in JSON are found and shown as the text that they mean', () => {
  const one = session()
  const found = (args, result, word) => {
    one.messages[1].tool_calls[0].function.arguments = args
    one.messages[2].content = result
    const hit = search.searchSession({ title: '', pages: search.pages(one) }, [word])?.hits[0]
    return hit?.parts.map(([part]) => part).join('') ?? null
  }
  const cases = [
    ['{"code":"one\\n\\tneedle\\n\\"x\\""}', 'ok', 'needle', 'one needle "x"'],
    ['{"a":"\\u4e0a\\u6d77 \\ud83d\\ude00"}', 'ok', '上海', '上海 😀'],
    ['{"path":"C:\\\\new"}', 'ok', 'c:\\new', 'C:\\new'],
    ['{}', '{"out":"first\\nneedle"}', 'needle', 'first needle'],
    ['{"half":"one\\nneedle', 'ok', 'needle', 'one\\nneedle'],
    ['{}', '[INFO] C:\\new needle', 'c:\\new', '[INFO] C:\\new needle'],
  ]
  for (const [args, result, word, shown] of cases) assert.ok(found(args, result, word)?.includes(shown), `${args} ${result}: ${found(args, result, word)}`)
})

test('what was set aside is found too, and says in which branch it is', () => {
  const one = session()
  use('core/branch-tree').beginBranch(one, 0, [{ id: 'n1', role: 'user', content: 'Another beginning' }])
  const of = (word) => search.allPages(one).filter((page) => page.folded.includes(word)).map((page) => [page.id, Boolean(page.branch)])
  assert.deepStrictEqual(of('another'), [['n1', false]])
  assert.deepStrictEqual(of('sunny'), [['a1', true]])
  assert.deepStrictEqual(search.pages(one).length, 1)
  assert.strictEqual(search.searchSession({ title: '', pages: search.allPages(one) }, ['sunny']).hits[0].branch, one.ext.tree.branches[0].id)
})

test('a session is found when title and messages together hold every word', () => {
  const one = { title: 'Weather', pages: search.pages(session()) }
  const look = (query) => search.searchSession(one, search.terms(query))
  assert.strictEqual(look('weather').inTitle, true)
  assert.deepStrictEqual(look('weather zurich').hits.length, 1)
  assert.strictEqual(look('weather nowhere'), null)
  assert.strictEqual(look(''), null)
  assert.strictEqual(look('sunny').hits[0].id, 'a1')
})

test('titles come before contents, whole words before parts of words', () => {
  const of = (title, text) => ({ title, pages: [{ id: 'm', role: 'user', text, folded: search.foldCase(text) }] })
  const score = (one, query) => search.searchSession(one, search.terms(query)).score
  assert.ok(score(of('Rust', 'x'), 'rust') > score(of('x', 'rust rust rust'), 'rust'))
  assert.ok(score(of('Rust', 'x'), 'rust') > score(of('Trusted', 'x'), 'rust'))
  assert.ok(score(of('x', 'a cat sat'), 'cat') > score(of('x', 'concatenate'), 'cat'))
})

test('rank: what was typed against a name', () => {
  const names = ['Export as page', 'New session', 'Next message', 'Delete this session', '导出为网页']
  const best = (typed) => names.map((name) => [search.rank(name, typed), name]).filter(([score]) => score > 0).sort((a, b) => b[0] - a[0]).map(([, name]) => name)[0]
  for (const [typed, name] of [['exp', 'Export as page'], ['ns', 'New session'], ['nm', 'Next message'], ['session', 'New session'], ['导出', '导出为网页'], ['dts', 'Delete this session']]) {
    assert.strictEqual(best(typed), name, typed)
  }
  assert.strictEqual(best('zzz'), undefined)
  assert.strictEqual(search.rank('anything', ' '), 1)
})

test('rank: the whole name comes before a longer one that begins with it', () => {
  for (const typed of ['new session', ' NEW SESSION ', 'Néw session']) {
    assert.ok(search.rank('New session', typed) > search.rank('New session from here', typed), typed)
  }
})

test('5,000 messages are looked through in the time of a frame or two', () => {
  const pages = Array.from({ length: 5000 }, (_, i) => {
    const text = `Message ${i} about ${'quite ordinary things, '.repeat(20)} é ${i === 4999 ? 'needle' : ''}`
    return { id: String(i), role: 'user', text, folded: search.foldCase(text) }
  })
  const began = cpu()
  const found = search.searchSession({ title: '', pages }, ['needle'])
  assert.strictEqual(found.count, 1)
  assert.ok(cpu() - began < 200, `${cpu() - began} ms`)
})
