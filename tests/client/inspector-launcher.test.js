// When the inspector is made, and when it is made anew.
'use strict'

const test = require('node:test')
const assert = require('node:assert/strict')
const fs = require('node:fs')
const path = require('node:path')
const vm = require('node:vm')
const { JS } = require('./load-modules.js')

test('in another language the panel that is open ends, and a new one is made', async () => {
  let language = 'en'
  const [said, opens, watchers] = [[], new Map(), new Set()]
  const panels = []
  const start = () => panels[panels.push({ open: (tab) => said.push(`${panels.length} ${tab}`), end: () => said.push(`${panels.length} ends`), update() {} }) - 1]
  const el = { isConnected: true, remove() {} }
  const context = vm.createContext({ console })
  const read = (...parts) => vm.runInContext(fs.readFileSync(path.join(JS, ...parts), 'utf8'), context)
  read('kernel.js')
  const view = () => ({ el, update() {}, look() {}, register() {} })
  const names = { h: () => el, icon: () => el, text() {}, attr() {}, t: String, language: () => language, toast() {}, gaugeView: view, placeMarkers() {}, pendingCalls: view, notifyOffer: view, register: ({ id = '', run = null } = {}) => { opens.set(id, run) } }
  for (const name of ['ui/dom', 'ext/inspector/texts', 'ui/commands', 'ui/popup', 'ext/inspector/context-gauge', 'ext/inspector/compaction-markers', 'ext/inspector/pending-calls', 'ext/inspector/notify-offer', 'ext/inspector/compact-command', 'ext/inspector/gauge-style']) context.yaa.define(name, [], () => names)
  context.yaa.define('ext/inspector/panel', [], () => ({ start }))
  context.yaa.load = async () => {}
  read('ext', 'inspector', 'launcher.js')
  context.yaa.use('ext/inspector/launcher').start({ app: { watchers, draw() {} } })
  const draw = () => { for (const one of watchers) one({}) }
  const open = () => opens.get('inspect.json')({ app: {} }, [])

  await open()
  draw()
  assert.deepEqual(said, ['1 json'])
  language = 'zh'
  draw()
  await open()
  assert.deepEqual(said, ['1 json', '1 ends', '2 json'])
})
