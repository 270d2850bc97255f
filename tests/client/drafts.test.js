// What is being written in each session, over a reload.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { use } = require('./load.js')

const settings = use('io/settings')
const location = { protocol: 'http:', origin: 'http://a', pathname: '/', hash: '', search: '' }
function storage() {
  const kept = new Map()
  return { kept, getItem: (name) => kept.get(name) ?? null, setItem: (name, value) => kept.set(name, value), removeItem: (name) => kept.delete(name) }
}

test('a draft is kept per session, and gone when it is empty', () => {
  const place = storage()
  const one = settings.open({ storage: place, location })
  one.setDraft('a', 'hello')
  one.setDraft('b', 'there')
  assert.deepStrictEqual([settings.open({ storage: place, location }).draft('a'), one.draft('b'), one.draft('c')], ['hello', 'there', ''])
  one.setDraft('a', '')
  one.setDraft('b', '')
  assert.strictEqual(place.kept.has('yaa.drafts'), false)
})

test('two tabs do not write over one another', () => {
  const place = storage()
  const [one, two] = [settings.open({ storage: place, location }), settings.open({ storage: place, location })]
  one.setDraft('a', '1')
  two.setDraft('b', '2')
  assert.deepStrictEqual([one.draft('a'), one.draft('b')], ['1', '2'])
})

test('what is set in another tab is not written over', (context) => {
  const [place, heard] = [storage(), []]
  context.after(() => { delete globalThis.addEventListener })
  globalThis.addEventListener = (type, hear) => heard.push([type, hear])
  const [one, two] = [settings.open({ storage: place, location }), settings.open({ storage: place, location })]
  one.set('prompts', ['a'])
  // as a browser tells every other tab
  const [type, hear] = heard[1]
  hear({ key: 'yaa.settings' })
  assert.deepStrictEqual([type, two.get('prompts')], ['storage', ['a']])
  two.set('theme', 'dark')
  assert.deepStrictEqual(settings.open({ storage: place, location }).all(), { prompts: ['a'], theme: 'dark' })
})

test('the oldest go first; a broken store and no store are no failure', () => {
  const place = storage()
  const one = settings.open({ storage: place, location })
  for (let i = 0; i < 50; i++) one.setDraft(`s${i}`, 'x')
  assert.deepStrictEqual([one.draft('s0'), one.draft('s49')], ['', 'x'])
  place.kept.set('yaa.drafts', '{')
  assert.strictEqual(one.draft('s49'), '')
  const none = settings.open({ storage: null, location })
  none.setDraft('a', 'x')
  assert.strictEqual(none.draft('a'), 'x')
})
