// What waits to be said: it leaves the queue only when it is sent.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const vm = require('node:vm')
const { use, JS } = require('./load.js')

/** The queue of a page in which a run of the open session goes on or does not. `room`: characters that a tab may store. */
function page({ room = Infinity } = {}) {
  const kept = new Map()
  const setItem = (name, value) => {
    if (value.length > room) throw new DOMException('full', 'QuotaExceededError')
    kept.set(name, value)
  }
  const sessionStorage = { getItem: (name) => kept.get(name) ?? null, setItem, removeItem: (name) => kept.delete(name) }
  const modules = { 'core/session': use('core/session'), 'ui/book': { isActive: (entry) => entry.active } }
  let made
  const define = (_, deps, factory) => { made = factory(...deps.map((name) => modules[name] ?? {})) }
  vm.runInContext(fs.readFileSync(path.join(JS, 'ui', 'notes.js'), 'utf8'), vm.createContext({ sessionStorage, yaa: { define } }))
  const sent = []
  const entry = { session: { id: 's', messages: [] }, active: true, state: null, run: { stop: () => {} } }
  const queue = made.queueOf({ current: entry, draw: () => {} }, (_, words) => sent.push(words))
  const waiting = () => Array.from(queue.of(entry.session), ({ text }) => text)
  return { entry, queue, sent, waiting, kept, forbid: () => { for (const name of Object.keys(sessionStorage)) sessionStorage[name] = () => { throw new DOMException('denied', 'SecurityError') } } }
}

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

test('a picture that is larger than what a tab may store waits all the same, and nothing old is left in its place', () => {
  const { entry, queue, sent, waiting, kept } = page({ room: 1000 })
  queue.add('one')
  queue.add([{ type: 'text', text: 'two' }, { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(2000)}` } }])
  assert.deepStrictEqual([waiting(), kept.size], [['one', 'two [image_url]'], 0])
  Object.assign(entry, { active: false, state: { phase: 'done', reason: 'completed' } })
  queue.onEnd(entry)
  queue.onEnd(entry)
  assert.deepStrictEqual([sent[0], sent[1].length, waiting(), kept.size], ['one', 2, [], 0])
})

test('where a tab may store nothing, what is written waits in memory', () => {
  const { queue, waiting, forbid } = page()
  forbid()
  assert.deepStrictEqual(waiting(), [])
  queue.add('one')
  assert.deepStrictEqual(waiting(), ['one'])
})

test('what waits in a temporary session still does when the session is to be kept', () => {
  const { entry, queue, waiting } = page()
  entry.session.ext = { temporary: true }
  queue.add('one')
  delete entry.session.ext
  assert.deepStrictEqual(waiting(), ['one'])
})
