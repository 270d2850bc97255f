// The folder that yaa was started in: it is asked about once, and used after a yes alone.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const vm = require('node:vm')
const { JS } = require('./load-modules.js')

function open({ search = '?folder=proj', folders = [{ name: 'proj', mode: 'overlay', available: true }], messages = [] } = {}) {
  const place = { prepended: [], replaced: [], chosen: [], drawn: 0 }
  const h = (tag, props, ...inside) => ({ ...props, tag, inside, isConnected: false, remove() { this.isConnected = false } })
  const context = vm.createContext({
    URLSearchParams, location: { search, pathname: '/', hash: '#s=1' }, history: { state: 'x', replaceState: (...all) => place.replaced.push(all) },
    document: { querySelector: () => ({ prepend: (el) => { el.isConnected = true; place.prepended.push(el) } }) },
  })
  const read = (name) => vm.runInContext(fs.readFileSync(path.join(JS, `${name}.js`), 'utf8'), context)
  read('kernel')
  context.yaa.define('ui/dom', [], () => ({ h, icon: () => null, text: (el, words) => { el.said = words } }))
  context.yaa.define('ext/files/texts', [], () => ({ t: (key, { name } = {}) => `${key} ${name ?? ''}` }))
  context.yaa.define('core/file-names', [], () => ({ visible: String }))
  context.yaa.define('ext/files/session-files', [], () => ({ foldersOf: () => folders, folderOf: (app) => app.current.session.workspace?.folder ?? '' }))
  read('ext/files/folder-offer')
  const app = { watchers: new Set(), current: { session: { messages } } }
  context.yaa.use('ext/files/folder-offer').start({ app, actions: { draw: () => place.drawn++ } }, (name) => place.chosen.push(name))
  for (const watcher of app.watchers) watcher()
  return { app, place, shown: () => place.prepended.filter((el) => el.isConnected && !el.hidden) }
}

test('a folder is asked about where it is there and nothing was said', () => {
  const rows = [
    [{}, 1], [{ search: '' }, 0], [{ search: '?folder=other' }, 0], [{ folders: [] }, 0], [{ messages: [{ id: 'u' }] }, 0],
  ]
  for (const [given, count] of rows) assert.strictEqual(open(given).shown().length, count, JSON.stringify(given))
})

test('why a folder cannot be used is said in the place of the question', () => {
  const [said] = open({ folders: [{ name: 'proj', available: false, reason: 'It may not be written' }] }).shown()
  assert.deepStrictEqual([said.inside[1].said, said.inside[2].hidden], ['It may not be written', true])
  const [asks] = open().shown()
  assert.deepStrictEqual([asks.inside[1].said, asks.inside[2].hidden], ['folder.offer proj', false])
})

test('a yes takes it, a no takes nothing, and neither asks again', () => {
  for (const [button, chosen] of [[2, ['proj']], [3, []]]) {
    const { app, place, shown } = open()
    shown()[0].inside[button].onclick()
    assert.deepStrictEqual([place.chosen, shown().length, app.watchers.size, place.drawn], [chosen, 0, 0, 1])
    assert.deepStrictEqual(place.replaced, [['x', '', '/#s=1']])
  }
})
