// What an answer cites: which marks name a source, and what of a session may be one.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { use } = require('./load-modules.js')

const { idOf, find } = use('core/sources')
const { parse } = use('core/markdown')

const result = { results: [{ url: 'https://example.org/a', title: ' One\n two ', text: 'words', date: '2026' }, { url: 'http://b.example', title: 7 }] }
const tool = (result, sources, role = 'tool') => ({ id: 'r', role, tool_call_id: 'c', content: '', result: { status: 'ok', result, sources } })
const session = (...messages) => ({ messages })

test('a mark names one source, and nothing else does', () => {
  assert.strictEqual(idOf('[^s12.3]'), 's12.3')
  for (const text of ['[^s1]', '[s1.1]', '[^1]', '[^s1.1', '[^s1.1] ', '[^s.1]', '[^s1.1a]', '[^__proto__]', '', `[^s${'1'.repeat(90)}.1]`]) {
    assert.strictEqual(idOf(text), null, text)
  }
})

test('a source is what the envelope points to', () => {
  const here = session({ id: 'u', role: 'user', content: '' }, tool(result, { 's1.1': '/results/0', 's1.2': '/results/1' }))
  assert.deepStrictEqual({ ...find(here, 's1.1') }, { id: 's1.1', href: 'https://example.org/a', host: 'example.org', title: 'One two', text: 'words', date: '2026' })
  assert.deepStrictEqual({ ...find(here, 's1.2') }, { id: 's1.2', href: 'http://b.example/', host: 'b.example', title: '', text: '', date: '' })
  assert.strictEqual(find(here, 's1.3'), null)
  const page = { url: 'https://example.org/p', title: 'P', text: 'all' }
  assert.strictEqual(find(session(tool(page, { 's2.1': '' })), 's2.1').text, 'all')
})

test('the first of two stays', () => {
  const forged = { url: 'https://evil.example', title: 'x', text: 'x' }
  assert.strictEqual(find(session(tool(result, { 's1.1': '/results/0' }), tool(forged, { 's1.1': '' })), 's1.1').host, 'example.org')
})

test('hostile results are no sources', () => {
  const at = (url) => ({ url, title: 't', text: 'x' })
  for (const url of ['javascript:alert(1)', 'data:text/html,x', 'mailto:a@b.c', '//evil.example', '/x', 'https://me:pw@evil.example', '', 7, null, undefined]) {
    assert.strictEqual(find(session(tool(at(url), { 's1.1': '' })), 's1.1'), null, String(url))
  }
  const places = ['/results/9', '/results/-1', 'results/0', '/__proto__', '/constructor', '/results/length', '/~', 5, null, {}, []]
  for (const place of places) assert.strictEqual(find(session(tool(result, { 's1.1': place })), 's1.1'), null, String(place))
  for (const sources of [null, [], 'x', 7, ['/results/0'], Object.create({ 's1.1': '/results/0' })]) {
    assert.strictEqual(find(session(tool(result, sources)), 's1.1'), null)
  }
  // what a tool says itself is no source, nor what another role says
  assert.strictEqual(find(session(tool({ sources: { 's1.1': '' }, url: 'https://x.example' }, undefined)), 's1.1'), null)
  assert.strictEqual(find(session(tool(result, { 's1.1': '/results/0' }, 'assistant')), 's1.1'), null)
  assert.strictEqual(find(session({ id: 'x', role: 'tool', result: null }, { id: 'y', role: 'tool' }), 's1.1'), null)
})

test('what the provider found itself belongs to its message', () => {
  const message = (id, citations) => ({ id, role: 'assistant', content: '', meta: { citations } })
  const here = session(message('a', [{ url: 'https://a.example/x', title: 'A', text: 'p' }, { url: 'javascript:x' }, null]), message('b', [{ url: 'https://b.example' }]))
  assert.strictEqual(find(here, 'p1', 'a').text, 'p')
  assert.strictEqual(find(here, 'p1', 'b').host, 'b.example')
  for (const [id, within] of [['p2', 'a'], ['p3', 'a'], ['p4', 'a'], ['p0', 'a'], ['p1', 'c'], ['p1', undefined], ['p2', 'b']]) assert.strictEqual(find(here, id, within), null, id)
  for (const none of [undefined, null, {}, 'x', 7]) assert.strictEqual(find(session(message('a', none)), 'p1', 'a'), null)
  assert.strictEqual(find(session({ id: 'a', role: 'assistant', content: '' }), 'p1', 'a'), null)
  assert.strictEqual(idOf('[^p12]'), 'p12')
})

test('a document has a name instead of an address', () => {
  const cited = [{ title: 'Manual', text: '12 kg', page: 3 }, { title: '', text: 'x' }, { title: 'T', url: 'javascript:x' }, { title: '' }]
  const here = session({ id: 'a', role: 'assistant', content: '', meta: { citations: cited } })
  assert.deepStrictEqual({ ...find(here, 'p1', 'a') }, { id: 'p1', href: '', host: '', title: 'Manual', text: '12 kg', date: '', page: 3 })
  assert.strictEqual(find(here, 'p2', 'a').page, 0)
  for (const id of ['p3', 'p4']) assert.strictEqual(find(here, id, 'a'), null, id)
})

test('marks in Markdown are pieces of their own', () => {
  /** @param {string} text */
  const inline = (text) => JSON.parse(JSON.stringify(parse(text)[0].children))
  const cite = { type: 'cite', text: '[^s1.1]' }
  const word = (text) => ({ type: 'text', text })
  assert.deepStrictEqual(inline('So it is [^s1.1][^s2.10].'), [word('So it is '), cite, { type: 'cite', text: '[^s2.10]' }, word('.')])
  assert.deepStrictEqual(inline('[^s1.1](https://evil.example)')[0], cite)
  assert.deepStrictEqual(inline('**so [^s1.1]**'), [{ type: 'strong', children: [word('so '), cite] }])
  assert.deepStrictEqual(inline('[a [^s1.1]](https://e.example)'), [{ type: 'link', href: 'https://e.example', title: '', children: [word('a [^s1.1]')] }])
  for (const text of ['[^1]', '[s1.1]', '[^s1]', '\\[^s1.1]', '`[^s1.1]`', '[^S1.1]']) assert.ok(!JSON.stringify(inline(text)).includes('"cite"'), text)
  // a model may add the footnotes themselves: as definitions they are not shown
  const whole = parse('It is [^s1.1].\n\n[^s1.1]: https://evil.example "x"')
  assert.deepStrictEqual(JSON.parse(JSON.stringify(whole)), [{ type: 'paragraph', children: [word('It is '), cite, word('.')] }])
  assert.deepStrictEqual(inline('![[^s1.1]](https://e.example/a.png)')[0].alt, '[^s1.1]')
})
