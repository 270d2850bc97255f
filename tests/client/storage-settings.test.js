// The storage tab of the settings: what its buttons and fields begin.
'use strict'

const test = require('node:test')
const assert = require('node:assert/strict')
const fs = require('node:fs')
const path = require('node:path')
const vm = require('node:vm')
const { JS } = require('./load-modules.js')

/** The elements that it makes, as {tag, …properties}, over these notices. */
function panel(notices) {
  const made = []
  const context = vm.createContext({})
  const read = (...parts) => vm.runInContext(fs.readFileSync(path.join(JS, ...parts), 'utf8'), context)
  const h = (tag, properties, ...inside) => made[made.push({ tag, ...properties, inside }) - 1]
  read('kernel.js')
  context.yaa.define('ui/dom', [], () => ({ h, icon() {}, text() {}, fill() {} }))
  context.yaa.define('ui/i18n', [], () => ({ t: (key) => key }))
  context.yaa.define('ui/popup', [], () => ({ toast() {} }))
  context.yaa.define('ui/storage-notices', [], () => ({ folder: {}, keyStorage: {}, ...notices }))
  context.yaa.define('ui/session-expiry', [], () => ({ settingsPart: () => ({ el: null, update() {} }) }))
  read('ui', 'storage-settings.js')
  context.yaa.use('ui/storage-settings').panel({})
  return made
}

test('the copy that is chosen is restored, and can be chosen again', async () => {
  const restored = []
  const file = panel({ restore: async (one) => { restored.push(one) } }).find((one) => one.type === 'file')
  for (const [files, wanted] of [[['a'], ['a']], [['b'], ['a', 'b']], [[], ['a', 'b']], [null, ['a', 'b']]]) {
    Object.assign(file, { files, value: 'C:\\fakepath\\a' })
    await file.onchange()
    assert.deepStrictEqual([restored, file.value], [wanted, ''])
  }
})
