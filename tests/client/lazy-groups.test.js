// What the page loads only when it is used: groups of scripts and styles in templates.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const path = require('node:path')
const vm = require('node:vm')
const fs = require('node:fs')
const { JS } = require('./load-modules.js')

/** A page with templates, as far as the registry looks at one. `missing`: addresses at which there is nothing. */
function page(groups, missing = new Set()) {
  const asked = []
  class Tag {
    constructor(address) { this.address = address; this.heard = {} }
    getAttribute(name) { return name === 'src' && this.address.endsWith('.js') ? this.address : name === 'href' && this.address.endsWith('.css') ? this.address : null }
    addEventListener(name, callback) { this.heard[name] = callback }
    remove() { this.removed = true }
  }
  const templates = Object.entries(groups).map(([group, all]) => ({ dataset: { group }, content: { querySelectorAll: () => all.map((one) => new Tag(one)) } }))
  const looked = []
  const document = {
    querySelectorAll: (css) => (looked.push(css), templates),
    importNode: (tag) => new Tag(tag.address),
    head: {
      append(tag) {
        asked.push(tag.address)
        queueMicrotask(() => tag.heard[missing.has(tag.address) ? 'error' : 'load']())
      },
    },
  }
  const context = vm.createContext({ document, queueMicrotask })
  vm.runInContext(fs.readFileSync(path.join(JS, 'kernel.js'), 'utf8'), context)
  return { yaa: context.yaa, asked, looked }
}

test('a group is added to the page once, whoever asks', async () => {
  const { yaa, asked } = page({ one: ['a.js', 'a.css'], two: ['b.js', 'a.css'] })
  await Promise.all([yaa.load('one'), yaa.load('one')])
  await yaa.load('one')
  assert.deepStrictEqual(asked, ['a.js', 'a.css'])
  await yaa.load('two')
  assert.deepStrictEqual(asked, ['a.js', 'a.css', 'b.js'])
})

test('the whole page is searched for groups once, however often they are asked for', async () => {
  const { yaa, looked } = page({ one: ['a.js'] })
  await Promise.all([yaa.load('one'), yaa.load('one')])
  await yaa.load()
  assert.strictEqual(looked.length, 1)
})

test('without a name everything is added', async () => {
  const { yaa, asked } = page({ one: ['a.js'], two: ['b.js'] })
  await yaa.load()
  assert.deepStrictEqual(asked, ['a.js', 'b.js'])
})

test('what did not come is named, and is asked for again', async () => {
  const missing = new Set(['b.js'])
  const { yaa, asked } = page({ one: ['a.js', 'b.js'] }, missing)
  await assert.rejects(yaa.load('one'), /^NotLoaded: b.js could not be loaded/)
  missing.clear()
  await yaa.load('one')
  assert.deepStrictEqual(asked, ['a.js', 'b.js', 'b.js'], 'and what came is not asked for twice')
})

test('a group nobody made is a mistake; a page in one file has no groups', async () => {
  await assert.rejects(page({ one: ['a.js'] }).yaa.load('oen'), /oen: the page has no template/)
  await page({}).yaa.load('one')
  const { yaa } = vm.runInContext(fs.readFileSync(path.join(JS, 'kernel.js'), 'utf8') + '; globalThis', vm.createContext({}))
  await yaa.load('one')
})
