// Which parts of the settings a person is shown: the owner's only to the owner, an extension's only where it is.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const path = require('node:path')
const { use, yaa, JS } = require('./load-modules.js')

yaa.parts = () => [{ name: 'owner-settings', group: 'server' }]
require(path.join(JS, 'ui', 'settings-parts.js'))
const { TABS, offers } = use('ui/settings-parts')

const OWNERS = ['providers', 'folders', 'keys', 'runs', 'sandbox']
const EXTENSIONS = ['agents', 'mcp', 'skills']
/** @type {[string, any, string[], string[]]} */
const ROWS = [
  ['no server', null, [], [...OWNERS, ...EXTENSIONS]],
  ['another person', { owner: false, extensions: EXTENSIONS }, [], [...OWNERS, ...EXTENSIONS]],
  ['its owner', { owner: true, settings: true, extensions: EXTENSIONS }, [...OWNERS, ...EXTENSIONS], []],
  ['one extension', { owner: true, settings: true, extensions: ['agents'] }, [...OWNERS, 'agents'], ['mcp', 'skills']],
  ['only the settings', { owner: true, settings: true, extensions: [] }, OWNERS, EXTENSIONS],
  ['all but the settings', { owner: true, extensions: EXTENSIONS }, [], [...OWNERS, ...EXTENSIONS]],
  ['a server that names no extensions', { owner: true, settings: true }, [...OWNERS, ...EXTENSIONS], []],
]

for (const [name, info, shown, hidden] of ROWS) {
  test(name, () => {
    const always = ['model', 'limits', 'config', 'tools', 'look', 'server', 'storage']
    const wanted = [...always, ...shown].filter((part) => !hidden.includes(part)).sort()
    assert.deepStrictEqual(Object.values(TABS).flat().filter((part) => offers(part, info)).sort(), wanted)
  })
}
