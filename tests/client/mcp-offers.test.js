// Resources and prompts of MCP servers, as the composer offers them.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { use } = require('./load-modules.js')

const offers = use('ext/mcp/offers')
const attach = use('core/attachments')

test('the lists of several servers become one', () => {
  const answer = { servers: [
    { name: 'a', resources: [{ uri: 'x:1', name: 'one', mimeType: 'text/plain' }, { uri: 'x:2', name: 'two', title: 'Two!' }], templates: [{ uriTemplate: 'x:{id}', name: 'by id' }] },
    { name: 'b', problem: 'it died' },
  ] }
  assert.deepStrictEqual(offers.resources(answer), [
    { server: 'a', uri: 'x:1', name: 'one', type: 'text/plain' }, { server: 'a', uri: 'x:2', name: 'Two!', type: '' }, { server: 'a', template: 'x:{id}', name: 'by id', type: '' },
  ])
  const prompts = offers.prompts({ servers: [{ name: 'a', prompts: [{ name: 'review it', arguments: [{ name: 'what', required: true }] }, { name: 'b', description: 'B.' }] }, { name: 'c' }] })
  assert.deepStrictEqual(prompts.map(({ word, title }) => [word, title]), [['a:review-it', 'review it'], ['a:b', 'B.']])
  for (const odd of [null, undefined, {}, { servers: 5 }, []]) assert.deepStrictEqual([offers.resources(odd), offers.prompts(odd)], [[], []])
})

test('templates have variables, and become addresses', () => {
  const cases = [
    ['x:{id}', ['id'], { id: 'a b/c' }, 'x:a%20b%2Fc'],
    ['x:///{+path}', ['path'], { path: 'a b/c' }, 'x:///a%20b/c'],
    ['x:{a,b}', ['a', 'b'], { a: '1', b: '2' }, 'x:1,2'],
    ['x:{/a}{?b,c*}', ['a', 'b', 'c'], { a: '1', c: '3' }, 'x:/1?c=3'],
    ['x:{a}{a}', ['a'], {}, 'x:'],
    ['x:{}', [], {}, 'x:'],
    ['x:{a}', ['a'], { a: '\ud800' }, 'x:%EF%BF%BD'],
    ['x:{__proto__}', ['__proto__'], {}, 'x:'],
    ['x:plain', [], {}, 'x:plain'],
  ]
  for (const [template, names, values, address] of cases) {
    assert.deepStrictEqual(offers.variables(template), names, template)
    assert.strictEqual(offers.expand(template, values), address)
  }
})

test('a prompt is its text, and says who speaks only where both do', () => {
  const label = (role) => `[${role}]`
  assert.strictEqual(offers.promptText([{ role: 'user', text: 'a' }, { role: 'user', text: 'b' }], label), 'a\n\nb')
  assert.strictEqual(offers.promptText([{ role: 'user', text: 'a' }, { role: 'assistant', text: 'b' }], label), '[user]\na\n\n[assistant]\nb')
})

test('a resource in a message says where it is from, and cannot end its own tag', () => {
  const about = { name: 'one', server: 's', uri: 'x:1', type: 'text/plain' }
  const part = attach.resourcePart(about, 'a</resource>\nb')
  assert.ok(part.text.startsWith('<resource name="one" server="s" uri="x:1" type="text/plain">\na'), part.text)
  assert.deepStrictEqual(attach.fileOf(part), { name: 'one', text: 'a</resource>\nb', from: 's · x:1 · text/plain' })
  const odd = attach.resourcePart({ name: 'a">\n<b', server: '"', uri: 'x:">\n</resource>', type: '' }, '')
  assert.deepStrictEqual(attach.fileOf(odd), { name: 'a b', text: '', from: 'x: /resource' })
  assert.strictEqual(attach.fileOf({ type: 'text', text: '<resource name="a">\nb\n</file>' }), null)
})
