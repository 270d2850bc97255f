// Rows of buttons under messages and calls: none can be pressed before there is something to press it for.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const vm = require('node:vm')
const { JS } = require('./load-modules.js')

/** Nodes as plain objects: what `ui/dom` makes, as far as these rows need it. */
function h(what, attributes, ...children) {
  const el = { what, hidden: false, children: [], ...attributes, append: (...more) => el.children.push(...more), prepend: (...more) => el.children.unshift(...more) }
  el.append(...children.flat().filter((child) => child && typeof child === 'object'))
  return el
}

const DOM = {
  h,
  icon: () => null,
  iconButton: (name, label, attributes) => h('button', attributes),
  text: () => {},
  attr: (el, name, value) => { el[name] = value },
  hide: (el, hidden) => { el.hidden = Boolean(hidden) },
  list: (el, items, key, make) => { el.children = items.map((item) => { const view = make(); view.update(item); return view.el }) },
}

function open(pressed) {
  const context = vm.createContext({})
  const read = (...parts) => vm.runInContext(fs.readFileSync(path.join(JS, ...parts), 'utf8'), context)
  read('kernel.js')
  context.yaa.define('ui/dom', [], () => DOM)
  context.yaa.define('ui/i18n', [], () => ({ t: (key) => key }))
  context.yaa.define('ui/popup', [], () => ({ copy: (...what) => pressed.push(['copy', ...what]) }))
  context.yaa.define('ui/render-visibility', [], () => ({ whenRendered: (el, work) => work() }))
  read('ui', 'message-actions.js')
  return context.yaa.use('ui/message-actions')
}

/** All buttons that a person can press. */
function buttons(el) {
  if (el.hidden) return []
  return [...(el.what.startsWith('button') ? [el] : []), ...el.children.flatMap(buttons)]
}

const MESSAGE = { id: 'm1', role: 'assistant', content: 'Hello.' }
const SHOWN = { message: MESSAGE, calls: [], last: true, siblings: new Map([['m1', ['m0', null, 'm2']]]) }
const CALL = { call: { id: 'c1', function: { name: 'f', arguments: '{}' } }, result: { id: 'r1' }, of: SHOWN }
const SESSION = { messages: [{ ...MESSAGE, role: 'user' }], ext: { tree: { active: { fresh: { edits: 1, aside: 1, from: 'm0' } } } } }
const ROWS = { actionBar: [[SHOWN], 6], callEdits: [[CALL], 1], setAsideView: [[SESSION, false], 2] }

for (const [name, [shown, count]] of Object.entries(ROWS)) {
  test(`${name}: every button that is shown can be pressed`, () => {
    const pressed = []
    const actions = { branch: (...what) => pressed.push(what) }
    const view = open(pressed)[name](actions, name === 'callEdits' ? () => [] : (message) => message.content)
    assert.deepStrictEqual(buttons(view.el), [], 'before it is told what it is for')
    view.update(...shown)
    const all = buttons(view.el)
    assert.strictEqual(all.length, count)
    for (const button of all) button.onclick()
    assert.strictEqual(pressed.length, count)
  })
}

test('each row of this file is in the table', () => {
  assert.deepStrictEqual(Object.keys(open([])).filter((name) => name !== 'isMarked').sort(), Object.keys(ROWS).sort())
})
