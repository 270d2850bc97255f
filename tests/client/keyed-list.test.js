// A list of the page is what it is drawn from, whatever its keys are.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const path = require('node:path')
const { use, JS, random } = require('./load-modules.js')

globalThis.matchMedia ??= () => ({ matches: false, addEventListener() {} })
require(path.join(JS, 'ui', 'dom.js'))
const { list } = use('ui/dom')

/** Elements of a parent, as far as the list moves them. */
class Parent {
  /** @type {any[]} */ all = []
  isConnected = true
  get firstChild() { return this.all[0] ?? null }
  insertBefore(el, at) {
    el.remove()
    this.all.splice(at ? this.all.indexOf(at) : this.all.length, 0, el)
  }

  view = (item) => {
    const { all } = this
    const el = { shows: '', get nextSibling() { return all[all.indexOf(el) + 1] ?? null }, remove() { if (all.includes(el)) all.splice(all.indexOf(el), 1) } }
    return { el, update: (one) => { el.shows = one.name }, item }
  }
}

test('a list shows each of its items once, in order, also where keys come twice', () => {
  for (let seed = 1; seed <= 300; seed++) {
    const chance = random(seed)
    const parent = new Parent()
    for (let round = 0; round < 6; round++) {
      const items = Array.from({ length: Math.floor(chance() * 6) }, (_, i) => ({ key: 'abc'[Math.floor(chance() * 3)], name: `${round}.${i}` }))
      list(parent, items, (one) => one.key, parent.view)
      assert.deepStrictEqual(parent.all.map(({ shows }) => shows), items.map(({ name }) => name), `seed ${seed}, round ${round}`)
    }
  }
})

test('what cannot be drawn once leaves no item twice', () => {
  const parent = new Parent()
  let bad = ''
  const draw = (/** @type {string[]} */ names) => list(parent, names.map((name) => ({ key: name, name })), (one) => one.key, (item) => {
    const view = parent.view(item)
    return { ...view, update: (one) => { if (one.name === bad) throw new Error(bad); view.update(one) } }
  })
  draw(['a', 'b', 'c'])
  for (const names of [['a', 'b', 'x', 'c'], ['b', 'x', 'a']]) {
    bad = 'x'
    assert.throws(() => draw(names), /x/)
    bad = ''
    draw(names)
    assert.deepStrictEqual(parent.all.map(({ shows }) => shows), names)
  }
})
