// Another model for one answer, and the session's own after it.
'use strict'

const test = require('node:test')
const assert = require('node:assert/strict')
const path = require('node:path')
const { use, JS } = require('./load-modules.js')

require(path.join(JS, 'ui', 'one-answer-model.js'))
const { lend } = use('ui/one-answer-model')

function open(config) {
  const sessionStore = { hooks: [], amend: ({ session }, work) => work(session) }
  const entry = { session: { ...use('core/session').create({ now: 0 }), config } }
  const rest = () => { for (const hook of sessionStore.hooks) hook.onRest(entry) }
  return { entry, sessionStore, rest, lend: (...rest) => lend(sessionStore, entry, ...rest), provider: () => entry.session.config?.llm_api?.provider }
}

test('the run has the other model, and what the session said is there again after it', () => {
  const own = { api_url: 'https://own.test', api_key: 'k', model_name: 'x' }
  for (const provider of [undefined, { name: 'main', model_name: 'large' }, own]) {
    const one = open({ yaa: { language: 'fr' }, ...(provider ? { llm_api: { provider, max_tokens: 7 } } : {}) })
    one.lend('other', 'tiny')
    assert.deepEqual(one.provider(), { name: 'other', model_name: 'tiny' }, 'whole: no key of another goes along')
    one.rest()
    assert.deepEqual(one.provider(), provider)
    assert.equal(one.entry.session.config.yaa.language, 'fr')
    if (provider) assert.equal(one.entry.session.config.llm_api.max_tokens, 7)
    one.lend('other', '')
    assert.deepEqual(one.provider(), { name: 'other' })
    one.rest()
    assert.deepEqual(one.provider(), provider)
    assert.equal(one.sessionStore.hooks.length, 1)
  }
})

test('it stays while the answer waits for a person, and twice in a row the first is kept', () => {
  const one = open({ llm_api: { provider: { name: 'main' } } })
  one.lend('other', 'tiny')
  one.lend('third', '')
  one.entry.session.interrupts = [{ id: 'i', kind: 'approval' }]
  one.rest()
  assert.deepEqual(one.provider(), { name: 'third' })
  one.entry.session.interrupts = []
  one.rest()
  assert.deepEqual(one.provider(), { name: 'main' })
})

test('what the person chooses meanwhile stays, and other sessions are left alone', () => {
  const one = open({ llm_api: { provider: { name: 'main' } } })
  one.lend('other', 'tiny')
  one.entry.session.config.llm_api.provider = { name: 'chosen' }
  one.rest()
  assert.deepEqual(one.provider(), { name: 'chosen' })
  const other = { session: { ...use('core/session').create({ now: 0 }), config: { llm_api: { provider: { name: 'b' } } } } }
  for (const hook of one.sessionStore.hooks) hook.onRest(other)
  assert.deepEqual(other.session.config.llm_api.provider, { name: 'b' })
})
