'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { use } = require('./load-modules.js')
const { pictures, leaveOut } = use('core/large-session')

const picture = (bytes) => ({ type: 'image_url', image_url: { url: `data:${'x'.repeat(bytes - 5)}` } })
const linked = { type: 'image_url', image_url: { url: 'https://example.org/a.png' } }
const user = (id, ...content) => ({ id, role: 'user', content })
const words = (text) => ({ type: 'text', text })
const answer = { id: 'a', role: 'assistant', content: 'A cat.' }
const tool = { id: 't', role: 'tool', tool_call_id: 'c', content: [picture(30)] }

const ROWS = [
  ['none', [user('u', words('hi'), linked), answer], [], { n: 0, bytes: 0 }],
  ['of the last message, where no other has one', [user('u', words('hi'), picture(10), picture(20))], [], { n: 2, bytes: 30 }],
  ['of earlier messages, the last keeps its own', [user('u', picture(10)), answer, user('v', picture(50))], [], { n: 1, bytes: 10 }],
  ['of tools, too', [user('u', words('look')), tool], [], { n: 1, bytes: 30 }],
  ['of other branches, once where both have the message', [user('u', picture(10)), answer], [user('u2', picture(40), linked)], { n: 1, bytes: 40 }],
]

for (const [name, messages, aside, expected] of ROWS) {
  test(`pictures that can be left out: ${name}`, () => {
    const session = structuredClone({ id: 's', messages, ext: { tree: { branches: [{ id: 'b', messages: aside }] } } })
    const ids = JSON.stringify(session.messages.map(({ id, role }) => [id, role]))
    assert.deepStrictEqual(pictures(session), expected)
    leaveOut(session)
    const texts = JSON.stringify(session)
    assert.strictEqual(texts.includes('was left out'), expected.n > 0)
    assert.strictEqual(JSON.stringify(session.messages.map(({ id, role }) => [id, role])), ids)
    assert.strictEqual(texts.includes(linked.image_url.url), JSON.stringify([messages, aside]).includes(linked.image_url.url))
    assert.ok(pictures(session).n === 0 || pictures(session).n < JSON.stringify([messages, aside]).split('data:').length - 1)
  })
}
