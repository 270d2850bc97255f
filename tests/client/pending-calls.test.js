// Who waits for a person: counted over all sessions, told in the title, and told to whoever looks elsewhere.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const vm = require('node:vm')
const { use, JS } = require('./load-modules.js')

const asks = (n) => Array.from({ length: n }, (_, i) => ({ id: `i${i}`, reason: 'input_required' }))
const sessionOf = (id, n = 0) => ({ id, messages: [], interrupts: asks(n) })

/** The module in a page that is nothing but a title, with a clock that is wound by hand. */
function desk({ permission = 'default' } = {}) {
  const heard = {}
  const notes = []
  const timers = new Map()
  const document = { title: 'yaa', hidden: false, addEventListener: (name, callback) => { heard[name] = callback } }
  class Notification {
    constructor(title, options) { notes.push(options.body) }
    static permission = permission
  }
  const setInterval = (callback) => (timers.set(timers.size + 1, callback), timers.size)
  const window = { setInterval, focus: () => {} }
  const modules = { 'ext/inspector/texts': { t: (key, values = {}) => `${key} ${values.n ?? ''}`.trim() }, 'core/session': use('core/session') }
  let made
  const context = vm.createContext({
    document, Notification, window, clearInterval: (id) => timers.delete(id),
    yaa: { define: (_, deps, factory) => { made = factory(...deps.map((name) => modules[name])) } },
  })
  vm.runInContext(fs.readFileSync(path.join(JS, 'ext', 'inspector', 'pending-calls.js'), 'utf8'), context)
  const entries = new Map()
  const app = {
    current: { session: sessionOf('here') }, draw: () => {}, heads: [],
    sessionStore: { listed: () => app.heads, entry: (id) => entries.get(id), open: async (id) => entries.get(id) ?? { session: sessionOf(id, app.heads.find((one) => one.id === id).waiting) } },
  }
  const counts = []
  const calls = made.pendingCalls({ app }, (n) => counts.push(n))
  return { app, calls, counts, document, entries, heard, notes, timers, look: (state = {}) => calls.look({ live: false, ...state }) }
}

test('counted: this session, those in memory, those in storage; none of a run that goes on', () => {
  const page = desk()
  page.app.current = { session: sessionOf('here', 1) }
  page.app.heads = [{ id: 'here', waiting: 7 }, { id: 'open', waiting: 7 }, { id: 'stored', waiting: 2 }, { id: 'old' }]
  page.entries.set('open', { session: sessionOf('open', 1) })
  page.look()
  page.look({ live: true })
  assert.deepStrictEqual(page.counts, [4, 3])
})

test('the count is in the title, once, and goes', () => {
  const page = desk()
  page.app.heads = [{ id: 'a', waiting: 2 }]
  page.look()
  page.look()
  assert.strictEqual(page.document.title, '(2) yaa')
  page.app.heads = []
  page.look()
  assert.strictEqual(page.document.title, 'yaa')
})

test('whoever looks elsewhere is told, by a note where that is allowed and by the title, until they look', () => {
  for (const [permission, told] of [['granted', ['desk.waiting 1']], ['default', []], ['denied', []]]) {
    const page = desk({ permission })
    page.look()
    page.document.hidden = true
    page.app.heads = [{ id: 'a', waiting: 1 }]
    page.look()
    page.look()
    assert.deepStrictEqual(page.notes, told, 'once')
    assert.strictEqual(page.timers.size, 1)
    const [flash] = page.timers.values()
    flash()
    assert.strictEqual(page.document.title, 'desk.waiting 1')
    flash()
    assert.strictEqual(page.document.title, '(1) yaa')
    page.document.hidden = false
    page.heard.visibilitychange()
    assert.strictEqual(page.timers.size, 0)
  }
  const page = desk({ permission: 'granted' })
  page.app.heads = [{ id: 'a', waiting: 1 }]
  page.look()
  assert.deepStrictEqual([page.notes, page.timers.size], [[], 0], 'not to whoever looks')
})

test('every session with something open is on the desk, and hears of changes', async () => {
  const page = desk()
  page.app.current = { session: sessionOf('here', 1) }
  page.entries.set('here', page.app.current)
  page.app.heads = [{ id: 'here', waiting: 1 }, { id: 'stored', waiting: 2 }, { id: 'done', waiting: 0 }]
  let changes = 0
  page.calls.listen(() => { changes += 1 })
  page.look()
  page.look()
  assert.strictEqual(changes, 1)
  const all = await page.calls.all()
  assert.deepStrictEqual(Array.from(all, ({ entry, open }) => [entry.session.id, open.length]), [['here', 1], ['stored', 2]])
})

test('an answer that came while nobody looked is told, one that was looked at is not', () => {
  for (const hidden of [true, false]) {
    const page = desk({ permission: 'granted' })
    page.look({ live: true })
    page.document.hidden = hidden
    page.look()
    page.look()
    assert.deepStrictEqual(page.notes, hidden ? ['desk.done'] : [])
  }
  const page = desk({ permission: 'granted' })
  page.look({ live: true })
  page.document.hidden = true
  page.app.current = { session: sessionOf('another') }
  page.look()
  assert.deepStrictEqual(page.notes, [], 'another session was opened')
})
