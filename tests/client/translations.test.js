// The texts of tool pictures and the inspector: in both languages, with the same holes, all used, none missing.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const vm = require('node:vm')
const { has, textFiles, JS } = require('./load-modules.js')

const read = (...parts) => fs.readFileSync(path.join(JS, ...parts), 'utf8')
/** What a module with texts returns, or adds to those of the page. @param {string} name */
function texts(name) {
  let found
  let added
  const extend = (both) => { added = both }
  vm.runInContext(read(`${name}.js`), vm.createContext({ yaa: { define: (_, deps, factory) => { found = factory({ extend }) } } }))
  return added ?? found
}
/** Names in a text, without the words of its cases. */
const holes = (text) => [...new Set([...text.matchAll(/\{(\w+)(?=,|\})/g)].map(([, name]) => name))].filter((name) => !/^(bytes|characters|other)$/.test(name)).sort()
const sources = (folder) => fs.readdirSync(path.join(JS, folder)).filter((name) => name.endsWith('.js') && name !== 'texts.js').map((name) => read(folder, name)).join('\n')
const BASE = texts('i18n/en')
/** Parts with texts of their own: where these are, and what uses them. */
const PARTS = { tools: ['i18n/tools', 'ui/tools'], inspector: ['ext/inspector/texts', 'ext/inspector'], time: ['ext/time/texts', 'ext/time'], files: ['ext/files/texts', 'ext/files'], server: ['ext/server/texts', 'ext/server'] }

for (const [name, [home, folder]] of Object.entries(PARTS).filter(([, [home]]) => has(home))) {
  const { en, zh } = texts(home)
  const source = sources(folder)

  test(`${name}: the same keys and holes in both languages, none of them given elsewhere`, () => {
    assert.deepStrictEqual(Object.keys(zh), Object.keys(en))
    for (const key of Object.keys(en)) {
      assert.deepStrictEqual(holes(zh[key]), holes(en[key]), key)
      assert.ok(!(key in BASE), `${key} is in en.js too`)
    }
  })

  test(`${name}: every text that is asked for is there`, () => {
    const known = { ...BASE, ...texts('i18n/commands').en, ...texts('i18n/tools').en, ...en }
    const asked = [...source.matchAll(/\bt\('([^']+)'/g)].map(([, key]) => key)
    assert.ok(asked.length > 15)
    for (const key of asked) assert.ok(key in known, key)
  })

  test(`${name}: every text is asked for, by name or by the beginning of its name`, () => {
    // exports speak of files, too
    const all = source + (name === 'files' ? (has('ext/export') ? read('ext', 'export', 'export.js') : '`export.${') : '')
    const begins = [...all.matchAll(/`([\w.]+)\$\{/g)].map(([, start]) => start)
    for (const key of Object.keys(en)) {
      const named = all.includes(`'${key}'`) || begins.some((start) => key.startsWith(start))
      assert.ok(named, key)
    }
  })
}

test('every rule of the checks has its words', { skip: !has('ext/inspector') }, () => {
  const rules = [...read('ext', 'inspector', 'session-checks.js').matchAll(/(?:rule: |add\()'(\w+)'/g)].map(([, rule]) => rule)
  assert.ok(rules.length > 8)
  for (const rule of rules) assert.ok(`checks.${rule}` in texts(PARTS.inspector[0]).en, rule)
})

test('no text has two homes: of two that extend the same table the one that is loaded last would win', () => {
  const homes = new Map()
  for (const file of textFiles) {
    const home = file.replace(/-?(?:en|zh)?\.js$/, '')
    for (const [, key] of read(file).matchAll(/^\s+'([\w.]+)': /gm)) homes.set(key, (homes.get(key) ?? new Set()).add(home))
  }
  assert.ok(homes.size > 500)
  assert.deepStrictEqual([...homes].filter(([, all]) => all.size > 1).map(([key]) => key), [])
})

test('in Chinese the reader is addressed in one way everywhere', () => {
  const files = textFiles.map((file) => read(file))
  assert.ok(files.join('').includes('你'))
  for (const text of [...files, read('widget', 'texts.js')]) assert.ok(!text.includes('您'), text.match(/.*您.*/)?.[0])
})

test('what a folder’s badge says is short; the whole sentence is where it is chosen', { skip: !has('ext/server') }, () => {
  const { en, zh } = texts(PARTS.server[0])
  const words = [...sources(PARTS.server[1]).matchAll(/badge\(t\(`(host\.folder\.[\w.]*)\$\{/g)].flatMap(([, start]) => ['read', 'write', 'overlay'].map((mode) => start + mode))
  assert.strictEqual(words.length, 3)
  for (const key of words) for (const one of [en[key], zh[key]]) assert.ok(one.length <= 12, one)
})
