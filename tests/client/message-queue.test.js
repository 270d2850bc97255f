// What waits to be said: it leaves the queue only when it is sent.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const vm = require('node:vm')
const { use, JS } = require('./load-modules.js')

/** The queue of a page in which a run of the open session goes on or does not; the tab stores so many characters. */
function page({ kept = new Map(), room = Infinity } = {}) {
  const setItem = (name, value) => {
    if (value.length > room) throw new DOMException('', 'QuotaExceededError')
    kept.set(name, value)
  }
  const sessionStorage = { getItem: (name) => kept.get(name) ?? null, setItem, removeItem: (name) => kept.delete(name) }
  const modules = { 'core/session': use('core/session'), 'ui/session-store': { isBusy: (entry) => entry.active } }
  let made
  const define = (_, deps, factory) => { made = factory(...deps.map((name) => modules[name] ?? {})) }
  vm.runInContext(fs.readFileSync(path.join(JS, 'ui', 'composer-notices.js'), 'utf8'), vm.createContext({ sessionStorage, yaa: { define } }))
  const sent = []
  const entry = { session: { id: 's', messages: [] }, active: true, state: null, run: { stop: () => {} } }
  const queue = made.queueOf({ current: entry, draw: () => {} }, (_, words) => sent.push(words))
  const waiting = () => Array.from(queue.of(entry.session), ({ text }) => text)
  return { entry, queue, sent, waiting, kept }
}

const file = { type: 'text', text: '<file name="notes.md">\n# Zebra\n</file>' }
const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
const plain = (value) => JSON.parse(JSON.stringify(value))

test('what is more than the tab can store waits all the same, and is sent', () => {
  const { entry, queue, sent, waiting, kept } = page({ room: 200 })
  queue.add('short')
  const large = [{ type: 'text', text: 'look' }, { ...picture, image_url: { url: 'x'.repeat(500) } }]
  queue.add(large)
  assert.deepStrictEqual([waiting(), kept.size], [['short', 'look'], 0], 'and nothing half stored comes back')
  entry.active = false
  queue.sendNow(queue.of(entry.session)[1].id)
  assert.deepStrictEqual(plain(sent), [large])
  assert.deepStrictEqual(Array.from(page({ kept }).queue.of(entry.session), ({ text }) => text), ['short'])
})

test('a storage that may not be looked at is no queue, and no failure', () => {
  const { queue, waiting } = page({ kept: { get() { throw new DOMException('', 'SecurityError') } }, room: 0 })
  queue.add('one')
  assert.deepStrictEqual(waiting(), ['one'])
})

test('a message that waits in a temporary session waits on when that is kept', () => {
  const { entry, queue, waiting, kept } = page()
  entry.session.ext = { temporary: true }
  queue.add('one')
  assert.strictEqual(kept.size, 0)
  delete entry.session.ext
  assert.deepStrictEqual(waiting(), ['one'])
})

test('other words for a message that waits leave its files as they are', () => {
  const { entry, queue, waiting } = page()
  queue.add([{ type: 'text', text: 'What is this?' }, file, picture])
  assert.deepStrictEqual(waiting(), ['What is this?'])
  queue.change(queue.of(entry.session)[0].id, 'And this?')
  assert.deepStrictEqual(plain(queue.of(entry.session)[0].content), [{ type: 'text', text: 'And this?' }, file, picture])
})

test('what was to follow a stopped run stays in the queue when the session has gone on by itself', () => {
  const { entry, queue, sent, waiting } = page()
  queue.add('one')
  queue.add('two')
  queue.sendNow(queue.of(entry.session)[1].id)
  queue.onEnd(entry)
  assert.deepStrictEqual([sent, waiting()], [[], ['one', 'two']])
  entry.active = false
  queue.sendNow(queue.of(entry.session)[1].id)
  assert.deepStrictEqual([sent, waiting()], [['two'], ['one']])
  entry.state = { phase: 'done', reason: 'completed' }
  queue.onEnd(entry)
  assert.deepStrictEqual([sent, waiting()], [['two', 'one'], []])
})
