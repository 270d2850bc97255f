// What waits to be said: it leaves the queue only when it is sent.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const vm = require('node:vm')
const { use, JS } = require('./load-modules.js')

/** The queue of a page in which a run of the open session goes on or does not. */
function page() {
  const { apply } = use('core/session-changes')
  const app = {}
  const modules = { 'ui/commands': { context: () => ({ app }) }, 'core/session': use('core/session'), 'core/ids': use('core/ids'), 'core/attachments': use('core/attachments'), 'ui/i18n': { t: (key) => key }, 'ui/session-store': { isBusy: (entry) => entry.active } }
  const sent = []
  const toasts = []
  const press = {}
  let field = null
  modules['ui/dom'] = {
    h(what, props) {
      if (what === 'button.queue-words') press.edit = props.onclick
      const el = { ...props, focus() {}, replaceWith() {} }
      if (what === 'textarea.input') field = el
      return el
    },
    iconButton: (_, label, { onclick }) => { press.out = onclick }, text: (el, words) => { if (el.title === 'queue.edit') press.shown = words }, attr() {}, icon() {},
  }
  modules['ui/popup'] = { toast: (_, button) => toasts.push(button) }
  const queue = (entry, id, value) => apply(entry.session, { kind: 'set', path: ['ext', 'queue', id], value })
  const send = (entry, words, queued) => {
    sent.push(words)
    queue(entry, queued)
  }
  const define = (name, deps, factory) => { modules[name] = factory(...deps.map((one) => modules[one] ?? {})) }
  for (const name of ['composer-notices', 'queue-chip']) vm.runInContext(fs.readFileSync(path.join(JS, 'ui', `${name}.js`), 'utf8'), vm.createContext({ yaa: { define } }))
  const entry = { session: { id: 's', messages: [] }, active: true, state: null, run: { stop: () => {} } }
  Object.assign(app, { current: entry, sessionStore: { queue, send } })
  const own = modules['ui/composer-notices'].queueOf(app)
  const waiting = () => Array.from(own.of(), ({ content }) => content)
  /** The person writes other words over the first that waits, or none: presses its cross. */
  function change(words) {
    const chip = modules['ui/queue-chip'].chipView({ queue: own })
    chip.update(own.of()[0])
    if (!words) return press.out()
    press.edit()
    field.value = words
    field.onblur()
  }
  /** What the chip of the first that waits shows. */
  function shown() {
    modules['ui/queue-chip'].chipView({ queue: own }).update(own.of()[0])
    return press.shown
  }
  return { entry, queue: own, sent, waiting, toasts, change, shown }
}

const file = { type: 'text', text: '<file name="notes.md">\n# Zebra\n</file>' }
const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
const plain = (value) => JSON.parse(JSON.stringify(value))

test('a message that waits is in its session, goes with it, and is taken out and put back', () => {
  const { entry, queue, waiting, toasts, sent, change } = page()
  for (const one of ['one', 'two']) queue.add(one)
  assert.deepStrictEqual(Object.values(entry.session.ext.queue), ['one', 'two'])
  change('')
  assert.deepStrictEqual(waiting(), ['two'])
  toasts[0].action()
  assert.deepStrictEqual([waiting(), sent], [['two', 'one'], []])
})

test('a message that waits is shown by its words, or else by what goes along', () => {
  for (const [content, words] of [['one', 'one'], [[{ type: 'text', text: 'What is this?' }, file], 'What is this?'], [[file, picture], 'notes.md, image.alt']]) {
    const { queue, shown } = page()
    queue.add(content)
    assert.strictEqual(shown(), words)
  }
})

test('other words for a message that waits leave its files as they are', () => {
  const { queue, waiting, change } = page()
  queue.add([{ type: 'text', text: 'What is this?' }, file, picture])
  assert.strictEqual(use('core/attachments').split(waiting()[0]).words, 'What is this?')
  change('And this?')
  assert.deepStrictEqual(plain(queue.of()[0].content), [{ type: 'text', text: 'And this?' }, file, picture])
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
