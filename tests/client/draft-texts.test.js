// What is being written in each session, over a reload.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { use } = require('./load-modules.js')
const { storageOf: storage, SharedStorage } = require('./storage.js')

const settings = use('io/settings')
const location = { protocol: 'http:', origin: 'http://a', pathname: '/', hash: '', search: '' }
// As much of a page as hears that another tab has stored something.
const page = new EventTarget()
globalThis.addEventListener = page.addEventListener.bind(page)
const stored = (key) => page.dispatchEvent(Object.assign(new Event('storage'), { key }))

test('a draft is kept per session, and gone when it is empty', () => {
  const place = storage()
  const one = settings.open({ storage: place, location })
  one.setDraft('a', 'hello')
  one.setDraft('b', 'there')
  assert.deepStrictEqual([settings.open({ storage: place, location }).draft('a'), one.draft('b'), one.draft('c')], ['hello', 'there', ''])
  one.setDraft('a', '')
  one.setDraft('b', '')
  assert.strictEqual(place.kept.size, 0)
})

test('tabs that write before they have heard of one another write nothing over', async () => {
  const place = new SharedStorage()
  const later = () => new Promise(setImmediate)
  const open = (tab) => settings.open({ storage: place.of(), tab, location })
  for (const ids of [['s', 's'], ['s', 'new'], ['new', 'new']]) {
    const tabs = ids.map(() => storage())
    const pages = tabs.map(open)
    for (const words of ['a', 'a longer']) ids.forEach((id, n) => pages[n].setDraft(id, `${words} text ${n}`))
    await later()
    assert.deepStrictEqual(tabs.map((tab, n) => open(tab).draft(ids[n])), ['a longer text 0', 'a longer text 1'], 'over a reload')
    const found = []
    for (const id of ids) { // those tabs are gone
      const next = open(storage())
      found.push(next.draft(id))
      next.setDraft(id, '') // it is sent
      await later()
    }
    assert.deepStrictEqual(found.sort(), ['a longer text 0', 'a longer text 1'], `in ${ids}`)
    assert.strictEqual(place.kept.size, 0)
  }
})

test('two tabs do not write over one another', () => {
  const place = storage()
  const [one, two] = [settings.open({ storage: place, location }), settings.open({ storage: place, location })]
  one.setDraft('a', '1')
  two.setDraft('b', '2')
  assert.deepStrictEqual([one.draft('a'), one.draft('b')], ['1', '2'])
})

test('two tabs that each write in a new session each find their own words after a reload', () => {
  const place = storage()
  const tabs = [storage(), storage()]
  const page = (n) => settings.open({ storage: place, tab: tabs[n], location })
  const [one, two] = [page(0), page(1)]
  one.setDraft('new', 'long thoughts')
  two.setDraft('new', 'short')
  assert.deepStrictEqual([page(0).draft('new'), page(1).draft('new')], ['long thoughts', 'short'])
  two.setDraft('new', '') // it is sent
  assert.deepStrictEqual([page(0).draft('new'), page(1).draft('new')], ['long thoughts', ''])
  page(0).setDraft('new', 'for later')
  assert.strictEqual(settings.open({ storage: place, tab: storage(), location }).draft('new'), 'for later', 'in a tab that is opened later')
})

test('what one tab sends or empties is not taken from another that writes in the same session', () => {
  for (const id of ['s', 'new']) {
    const place = storage()
    const tabs = [storage(), storage()]
    const page = (tab) => settings.open({ storage: place, tab, location })
    const [one, two] = tabs.map(page)
    one.setDraft(id, 'a long te')
    one.setDraft(id, 'a long text')
    two.setDraft(id, 'short')
    two.setDraft(id, '') // it is sent
    assert.deepStrictEqual([page(tabs[0]).draft(id), two.draft(id)], ['a long text', ''], id)
    assert.strictEqual(page(storage()).draft(id), 'a long text', 'and where that tab has died')
    const next = page(storage())
    next.setDraft(id, next.draft(id).slice(0, -5))
    next.setDraft(id, '')
    assert.strictEqual(page(storage()).draft(id), '', 'it is said once')
  }
})

test('a page that stores nothing stores nothing for its tab either', (t) => {
  t.after(() => { delete globalThis.sessionStorage })
  Object.defineProperty(globalThis, 'sessionStorage', { configurable: true, value: storage() })
  const none = settings.open({ storage: null, location })
  none.setDraft('new', 'hush')
  assert.deepStrictEqual([none.draft('new'), sessionStorage.kept.size], ['hush', 0])
  settings.open({ storage: storage(), location }).setDraft('new', 'kept')
  assert.strictEqual(sessionStorage.kept.size, 1)
})

test('the oldest go first; a broken store and no store are no failure', () => {
  const place = storage()
  const one = settings.open({ storage: place, location })
  for (let i = 0; i < 50; i++) one.setDraft(`s${i}`, 'x')
  const again = () => settings.open({ storage: place, location })
  assert.deepStrictEqual([again().draft('s0'), again().draft('s49')], ['', 'x'])
  place.kept.set('yaa.drafts', '{')
  assert.strictEqual(again().draft('s49'), 'x')
  const none = settings.open({ storage: null, location })
  none.setDraft('a', 'x')
  assert.strictEqual(none.draft('a'), 'x')
  const full = settings.open({ storage: { ...place, setItem() { throw new Error('full') } }, location })
  full.setDraft('a', 'x')
  assert.strictEqual(full.draft('a'), 'x')
  full.setDraft('a', '')
  assert.strictEqual(full.draft('a'), '')
})

test('drafts of a page of before are carried over once', () => {
  for (const before of ['{"s": "first", "t": "other"}', '{"all": [["s", "older"], ["t", "other"], ["s", "first"]]}']) {
    const place = storage(new Map([['yaa.drafts', before]]))
    const again = () => settings.open({ storage: place, tab: storage(), location })
    const one = again()
    assert.deepStrictEqual([one.draft('s'), again().draft('t'), place.kept.has('yaa.drafts')], ['first', 'other', false])
    one.setDraft('s', '')
    assert.notStrictEqual(again().draft('s'), 'first', 'it is said once')
  }
})

test('what is said in a temporary session is not kept, nor lost', () => {
  const place = storage()
  const one = settings.open({ storage: place, location })
  one.setDraft('~a', 'hush')
  assert.deepStrictEqual([one.draft('~a'), place.kept.size], ['hush', 0])
})

test('a tab that writes a setting, or a key, keeps what another tab has written since', () => {
  const place = storage()
  const [one, two] = [settings.open({ storage: place, location }), settings.open({ storage: place, location })]
  one.setKey('k')
  stored('yaa.keys')
  one.set('prompts', [{ name: 'p' }])
  one.keepKey('http://b', 'other')
  stored('yaa.setting prompts')
  stored('yaa.keys')
  two.set('theme', 'dark')
  two.setKey('new')
  const after = settings.open({ storage: place, location })
  assert.deepStrictEqual([after.get('prompts'), after.get('theme'), after.keys()], [[{ name: 'p' }], 'dark', { 'http://a': 'new', 'http://b': 'other' }])
})

test('a key from disk that another tab keeps no more is used until the page is closed, and not written again', () => {
  const place = storage()
  const disk = { protocol: 'file:', hash: '' }
  const one = settings.open({ storage: place, location: disk })
  one.setKey('k', { remember: true })
  const two = settings.open({ storage: place, location: disk })
  one.setKey('k', { remember: false })
  stored('yaa.keys')
  assert.deepStrictEqual([two.key(), two.remembers()], ['k', false])
  two.keepKey('http://b', 'other')
  assert.strictEqual(place.getItem('yaa.keys'), null)
})

test('a page that stores nothing hears of nothing', () => {
  const none = settings.open({ storage: null, location })
  none.set('theme', 'dark')
  none.setKey('k')
  stored('yaa.setting theme')
  stored('yaa.keys')
  assert.deepStrictEqual([none.get('theme'), none.key()], ['dark', 'k'])
})
