// Sizes of files in the words of the page.
'use strict'

const test = require('node:test')
const assert = require('node:assert/strict')
const fs = require('node:fs')
const path = require('node:path')
const vm = require('node:vm')
const { JS } = require('./load-modules.js')

test('each unit begins where a whole one of it is full', () => {
  const context = vm.createContext({})
  const read = (...parts) => vm.runInContext(fs.readFileSync(path.join(JS, ...parts), 'utf8'), context)
  read('kernel.js')
  context.yaa.define('ui/dom', [], () => ({}))
  context.yaa.define('ext/files/texts', [], () => ({ t: (key, { n }) => `${n} ${key}`, count: String }))
  context.yaa.define('ext/files/session-files', [], () => ({}))
  context.yaa.define('core/file-names', [], () => ({}))
  read('ext', 'files', 'file-list.js')
  const { size } = context.yaa.use('ext/files/file-list')
  for (const [bytes, words] of [[999, '999 size.bytes'], [1000, '1 size.kb'], [9940, '9.9 size.kb'], [999_400, '999 size.kb'], [1e6, '1 size.mb'], [25e6, '25 size.mb']]) {
    assert.equal(size(bytes), words)
  }
})
