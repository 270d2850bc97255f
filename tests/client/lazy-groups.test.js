// What the page loads only when it is used: groups of scripts and styles in templates.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const path = require('node:path')
const vm = require('node:vm')
const fs = require('node:fs')
const { JS } = require('./load-modules.js')

/** A page with templates, as far as the registry looks at one. `missing`: addresses at which there is nothing. */
function page(groups, missing = new Set(), others = new Set(), withs = {}) {
  const asked = []
  const waits = []
  class Tag {
    constructor(address) { this.address = address; this.heard = {} }
    getAttribute(name) { return name === 'src' && this.address.endsWith('.js') ? this.address : name === 'href' && this.address.endsWith('.css') ? this.address : null }
    addEventListener(name, callback) { this.heard[name] = callback }
    remove() { this.removed = true }
  }
  const templates = Object.entries(groups).map(([group, all]) => ({ dataset: { group, with: withs[group] }, content: { querySelectorAll: () => all.map((one) => new Tag(one)) } }))
  const looked = []
  const document = {
    querySelectorAll: (css) => (looked.push(css), templates),
    importNode: (tag) => new Tag(tag.address),
    head: {
      append(tag) {
        asked.push(tag.address)
        queueMicrotask(() => {
          if (others.has(tag.address)) return tag.heard.load()
          document.currentScript = tag
          if (!missing.has(tag.address) && tag.address.endsWith('.js')) context.yaa.define(tag.address, [], String)
          document.currentScript = null
          if (!hanging.has(tag.address)) tag.heard[missing.has(tag.address) ? 'error' : 'load']()
        })
      },
    },
  }
  const hanging = new Set()
  const setTimeout = (callback, ms, ...rest) => {
    waits.push(ms)
    // the limit comes last: only where nothing else happens
    return ms >= 20_000 ? (hanging.size ? setImmediate(callback, ...rest) : null) : setImmediate(callback, ...rest)
  }
  const context = vm.createContext({ document, queueMicrotask, setTimeout, clearTimeout() {} })
  vm.runInContext(fs.readFileSync(path.join(JS, 'kernel.js'), 'utf8'), context)
  return { yaa: context.yaa, asked, looked, waits, hanging }
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

test('a group brings those that it names, and they bring theirs', async () => {
  const { yaa, asked } = page({ one: ['a.js'], two: ['b.js'], three: ['c.js', 'a.js'] }, new Set(), new Set(), { two: 'one', three: 'two one' })
  await yaa.load('three')
  assert.deepStrictEqual(asked.toSorted(), ['a.js', 'b.js', 'c.js'])
  await assert.rejects(page({ one: ['a.js'] }, new Set(), new Set(), { one: 'other' }).yaa.load('one'), /other: the page has no template/)
  await assert.rejects(page({ one: ['a.js'], two: ['b.js'] }, new Set(['a.js']), new Set(), { two: 'one' }).yaa.load('two'), /NotLoaded: a.js/)
})

test('the page has every group that another one names, and each script of a group once', () => {
  const text = fs.readFileSync(path.join(JS, '../index.html'), 'utf8')
  const all = new Map([...text.matchAll(/<template data-group="([^"]+)"(?: data-with="([^"]+)")?>(.*?)<\/template>/gs)].map(([, name, also, body]) => [name, { also: also?.split(' ') ?? [], files: body.match(/src="[^"]+/g) }]))
  assert.strictEqual(all.size, text.match(/<template/g).length)
  const filesOf = (name) => [...all.get(name).files, ...all.get(name).also.flatMap(filesOf)]
  for (const name of all.keys()) assert.deepStrictEqual(filesOf(name).filter((one, i, whole) => whole.indexOf(one) !== i), [], name)
})

test('what can be deleted is asked for by what it does; what is not there is null, once and quietly', async () => {
  const { yaa, asked } = page({ one: ['js/core/a.js'], two: ['v/88c8/js/ext/two/draw.js', 'v/88c8/js/ext/two/launcher.js'], three: ['js/ext/three/launcher.js'] })
  assert.strictEqual(JSON.stringify(yaa.parts('launcher')), '[{"name":"ext/two/launcher","group":"two"},{"name":"ext/three/launcher","group":"three"}]')
  assert.strictEqual(await yaa.part('a'), null)
  assert.strictEqual(await yaa.part('hum'), null)
  assert.deepStrictEqual(asked, [], 'nothing was loaded')
  await assert.rejects(yaa.part('draw'), /ext\/two\/draw is not defined/) // this page defines them by their addresses
  assert.deepStrictEqual(asked, ['v/88c8/js/ext/two/draw.js', 'v/88c8/js/ext/two/launcher.js'])
  const file = page({}).yaa
  file.define('ext/two/draw', [], () => 'drawn')
  assert.strictEqual(await file.part('draw'), 'drawn', 'a page in one file has no groups')
  assert.strictEqual(await file.part('launcher'), null)
})

test('without a name everything is added', async () => {
  const { yaa, asked } = page({ one: ['a.js'], two: ['b.js'] })
  await yaa.load()
  assert.deepStrictEqual(asked, ['a.js', 'b.js'])
})

test('what did not come is named, and is asked for again', async () => {
  const missing = new Set(['b.js'])
  const { yaa, asked, waits } = page({ one: ['a.js', 'b.js'] }, missing)
  await assert.rejects(yaa.load('one'), /^NotLoaded: b.js could not be loaded/)
  assert.deepStrictEqual(asked, ['a.js', 'b.js', 'b.js', 'b.js'], 'by itself twice, and what came is not asked for again')
  assert.deepStrictEqual(waits.filter((ms) => ms < 20_000), [1000, 3000])
  missing.clear()
  await yaa.load('one')
  assert.deepStrictEqual(asked.slice(4), ['b.js'])
  const other = page({ one: ['b.js'] }, new Set(['b.js']))
  other.yaa.lacking = () => 'A part did not come.'
  await assert.rejects(other.yaa.load('one'), ({ message, address }) => message === 'A part did not come.' && address === 'b.js', 'a person reads no address')
})

test('a script that is somebody else’s page, or that hangs, has not come; one that comes late is heard once', async () => {
  const others = new Set(['b.js'])
  const portal = page({ one: ['a.js', 'b.js'] }, new Set(), others)
  await assert.rejects(portal.yaa.load('one'), /^NotLoaded: b.js/)
  assert.strictEqual(portal.asked.filter((address) => address === 'b.js').length, 3)
  others.clear()
  await portal.yaa.load('one')
  const slow = page({ one: ['b.js'] })
  slow.hanging.add('b.js')
  await assert.rejects(slow.yaa.load('one'), /^NotLoaded: b.js/)
  slow.hanging.clear()
  await slow.yaa.load('one') // it had run all the same
  assert.deepStrictEqual(slow.asked, ['b.js', 'b.js'])
  assert.throws(() => slow.yaa.define('b.js', [], () => 1), /defined twice/)
})

test('a group nobody made is a mistake; a page in one file has no groups', async () => {
  await assert.rejects(page({ one: ['a.js'] }).yaa.load('oen'), /oen: the page has no template/)
  await page({}).yaa.load('one')
  const { yaa } = vm.runInContext(fs.readFileSync(path.join(JS, 'kernel.js'), 'utf8') + '; globalThis', vm.createContext({}))
  await yaa.load('one')
})
