// What waits to be said: it leaves the queue only when it is sent.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const vm = require('node:vm')
const { use, JS } = require('./load.js')

/** The queue of a page in which a run of the open session goes on or does not. */
function page() {
  const kept = new Map()
  const sessionStorage = { getItem: (name) => kept.get(name) ?? null, setItem: (name, value) => kept.set(name, value), removeItem: (name) => kept.delete(name) }
  const modules = { 'core/session': use('core/session'), 'ui/book': { isActive: (entry) => entry.active } }
  let made
  const define = (_, deps, factory) => { made = factory(...deps.map((name) => modules[name] ?? {})) }
  vm.runInContext(fs.readFileSync(path.join(JS, 'ui', 'notes.js'), 'utf8'), vm.createContext({ sessionStorage, yaa: { define } }))
  const sent = []
  const entry = { session: { id: 's', messages: [] }, active: true, state: null, run: { stop: () => {} } }
  const queue = made.queueOf({ current: entry, draw: () => {} }, (_, words) => sent.push(words))
  const waiting = () => Array.from(queue.of(entry.session), ({ text }) => text)
  return { entry, queue, sent, waiting }
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
