// What a tab follows of others, and what would be lost with it.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const vm = require('node:vm')
const { JS } = require('./load-modules.js')

function page({ sessions, current, queued = {}, kind = 'idb' }) {
  const looked = []
  const heard = {}
  const drawn = { editors: 0, languages: [], toasts: [] }
  const ended = []
  const modules = {
    'ui/popup': { toast: (words, button) => drawn.toasts.push([words, button]) },
    'ui/i18n': { use: async (language) => { drawn.languages.push(language) }, t: (key, values) => `${key} ${values?.n ?? ''}`.trim() },
    'io/tab-channel': { open: () => ({}) },
    'io/run-mirror': { create: () => ({ hooks: {}, look: ({ session }) => looked.push(session.id) }) },
  }
  let made
  const define = (_, deps, factory) => { made = factory(...deps.map((name) => modules[name] ?? {})) }
  vm.runInContext(fs.readFileSync(path.join(JS, 'ui', 'other-tabs.js'), 'utf8'), vm.createContext({ addEventListener: (name, callback) => { heard[name] = callback }, document: { querySelector: () => drawn.editors || null }, yaa: { define } }))
  const entries = new Map(sessions.map((entry) => [entry.session.id, entry]))
  const sessionStore = { heads: () => [...entries.keys(), 'not open'].map((id) => ({ id })), entry: (id) => entries.get(id), hooks: [] }
  const app = { sessionStore, store: { kind }, current: entries.get(current), queue: { of: ({ id }) => queued[id] ?? [], onEnd: ({ session }) => ended.push(session.id) }, watchers: new Set() }
  app.mount = () => drawn.languages.push('made anew')
  return { app, made, looked, ended, heard, drawn }
}

const entry = (id, more = {}) => ({ session: { id, messages: [{}], ...more.session }, ...more.entry })

test('a run is followed where it is looked at, or where a message waits for its end', () => {
  const { app, made, looked } = page({ sessions: [entry('a'), entry('b'), entry('c')], current: 'a', queued: { a: [1], c: [1] } })
  made.start({ app })
  assert.deepStrictEqual(looked.splice(0), ['a', 'c'])
  for (const watcher of app.watchers) watcher()
  assert.deepStrictEqual(looked, ['a', 'c'])
})

test('a message that comes after the end of a run is sent where nothing runs', () => {
  const rows = [[{}, ['a']], [{ elsewhere: true }, []], [{ going: Promise.resolve() }, []]]
  for (const [more, wanted] of rows) {
    const { app, made, ended } = page({ sessions: [entry('a', { entry: more })], current: 'a', queued: { a: [1] } })
    made.start({ app })
    assert.deepStrictEqual(ended, wanted)
  }
})

test('a language that another tab has chosen is this one\'s too, but not under words that are being written', async () => {
  const { app, made, heard, drawn } = page({ sessions: [entry('a')], current: 'a' })
  made.start({ app })
  const hear = (key, newValue) => heard.storage({ key, newValue })
  hear('yaa.setting theme', '"dark"')
  hear('yaa.draft language', 'zh')
  assert.deepStrictEqual(drawn.languages, [])
  await hear('yaa.setting language', '"zh"')
  await new Promise(setImmediate)
  assert.deepStrictEqual(drawn.languages.splice(0), ['zh', 'made anew'])
  drawn.editors = 1
  hear('yaa.setting language', null)
  assert.deepStrictEqual([drawn.languages, drawn.toasts.map(([words]) => words)], [[], ['language.elsewhere']])
  await drawn.toasts[0][1].action()
  assert.deepStrictEqual(drawn.languages, ['', 'made anew'])
})

test('who closes a page is told what goes with it', () => {
  const rows = [
    [{ sessions: [entry('a')] }, []],
    [{ sessions: [entry('a', { entry: { going: Promise.resolve() } })] }, ['leave.run 1']],
    [{ sessions: [entry('a', { session: { ext: { temporary: true } } })] }, ['leave.temporary 1']],
    [{ sessions: [entry('a'), entry('b')], queued: { a: [1], b: [1, 2] } }, ['leave.queued 3']],
    [{ sessions: [entry('a')], kind: 'memory' }, ['leave.memory']],
  ]
  for (const [given, wanted] of rows) {
    const { app, made } = page({ current: 'a', ...given })
    assert.deepStrictEqual(Array.from(made.losses(app)), wanted)
  }
})
