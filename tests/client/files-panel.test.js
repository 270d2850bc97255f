// The list of files while another tab runs the session: whatever comes first, it shows what the server has.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const vm = require('node:vm')
const { JS, random } = require('./load-modules.js')
const { fakeDocument } = require('./fake-document.js')
const { FakeIDB } = require('./fake-idb.js')

globalThis.matchMedia ??= () => ({ matches: false, addEventListener() {} })
Object.assign(globalThis, { document: fakeDocument(), indexedDB: new FakeIDB() })
globalThis.addEventListener ??= () => {}
globalThis.dispatchEvent ??= () => {}
/** What stands beside the list is no part of this. */
const beside = () => ({ el: document.createElement('div'), refresh() {}, show() {} })
const OTHERS = { toast() {}, say() {}, offerUndo() {}, openFolders() {}, nameOf: () => '', fileView: beside, changesView: beside, layerView: beside }
const STUBS = ['ui/popup', 'ext/files/file-actions', 'ext/files/folder-picker', 'ext/files/file-view', 'ext/files/changes-view', 'ext/files/layer-view', 'ext/files/panel-style', 'css/tools']

const run = (/** @type {string} */ name) => vm.runInThisContext(fs.readFileSync(path.join(JS, `${name}.js`), 'utf8'))
run('kernel') // a registry of its own
const { yaa } = globalThis
yaa.load = async () => {}
for (const name of STUBS) yaa.define(name, [], () => OTHERS)
for (const folder of ['core', 'io', 'ext/files']) for (const file of fs.readdirSync(path.join(JS, folder))) if (file.endsWith('.js') && !STUBS.includes(`${folder}/${file.slice(0, -3)}`)) run(`${folder}/${file.slice(0, -3)}`)
for (const name of ['ui/dom', 'ui/i18n', 'i18n/en']) run(name)
const { use } = yaa
const panels = use('ext/files/panel')
const { create } = use('io/api')

const [OLD, NEW] = ['a'.repeat(64), 'b'.repeat(64)]
const SESSION = { id: 's', workspace: { start: OLD }, messages: [{ id: 'u1', role: 'user', content: 'x' }] }
const turn = () => new Promise(setImmediate)

/** A server whose requests arrive, and are answered, when the story says so. */
class Server {
  /** @type {(() => void)[]} what comes next of each request */ next = []
  uploaded = false

  fetch = (/** @type {string} */ url, { method = 'GET' } = {}) => new Promise((resolve) => {
    this.next.push(() => {
      const found = this.answer(method, new URL(url))
      this.next.push(() => resolve(Response.json(found)))
    })
  })

  /** As it is in the moment in which a request arrives. @param {string} method @param {URL} url */
  answer(method, { pathname, searchParams }) {
    this.uploaded ||= method === 'PUT'
    if (method === 'PUT') return { path: 'late.txt', tree: NEW, before: OLD }
    if (pathname.endsWith('/state')) return { mode: 'own', tree: this.uploaded ? NEW : OLD }
    const late = this.uploaded && searchParams.get('tree') !== OLD
    return { entries: (late ? ['one.txt', 'late.txt'] : ['one.txt']).map((name) => ({ path: name, kind: 'f', bytes: 1 })), complete: true }
  }
}

/** A tab that shows the files while another runs the session: it still knows of a run before. */
function tabOf() {
  const server = new Server()
  /** @type {any} */ const entry = { session: structuredClone(SESSION), going: null, elsewhere: true, mirrored: true }
  let isSet = false
  const app = {
    current: entry, past: null, settings: { get: () => false },
    server: { info: () => ({ workspace: { recorded: true } }), api: () => create({ base: 'http://yaa.test', fetch: server.fetch }) },
    /** Under a run only the page's own mark is made (core/session-changes). */
    sessionStore: { async amend(_, work) {
      isSet ||= entry.elsewhere
      work(entry.session)
    } },
  }
  const state = () => ({ session: entry.session, live: entry.mirrored })
  const panel = panels.start({ app, actions: {}, state }, { forget() {} })
  const file = Object.assign(new Blob(['late']), { name: 'late.txt' })
  const read = (/** @type {number} */ more) => {
    entry.session = structuredClone(SESSION)
    for (let n = 0; n < more; n++) entry.session.messages.push({ id: `r${n}`, role: 'user', content: 'x' })
    if (isSet) entry.session.ext = { uploaded: true } // what waits in the store is made again
  }
  return {
    server, panel, frame: () => panel.update(state()),
    list: () => document.body.querySelectorAll('.name').map((one) => one.textContent),
    acts: {
      upload: () => document.body.querySelector('.files').dispatchEvent(Object.assign(new Event('paste'), { clipboardData: { files: [file] } })),
      /** The run before has ended. */
      ended() {
        Object.assign(entry, { elsewhere: false, mirrored: false })
        read(0)
      },
      begins() { entry.elsewhere = true },
      /** The document of who runs it, in which the mark is not yet. */
      document() {
        isSet = false
        read(1)
        entry.mirrored = true
      },
    },
  }
}

/** All orders of acts of which each list keeps its own. @param {string[][]} lists @returns {string[][]} */
function ordersOf(lists) {
  const left = lists.filter((one) => one.length)
  if (!left.length) return [[]]
  return left.flatMap((one) => ordersOf(left.map((other) => (other === one ? one.slice(1) : other))).map((rest) => [one[0], ...rest]))
}

test('what is uploaded under another tab\'s run is in the list, whatever comes first', async () => {
  const wrong = []
  const stories = ordersOf([['upload'], ['ended', 'begins'], ['document']]).flatMap((order) => Array.from({ length: 2 ** order.length }, (_, waits) => ({ order, waits })))
  for (const [n, { order, waits }] of stories.entries()) {
    const chance = random(n + 1)
    document.body.replaceChildren()
    const { server, panel, acts, frame, list } = tabOf()
    const step = async (/** @type {number} */ which) => {
      server.next.splice(which, 1)[0]?.()
      await turn()
      frame()
    }
    const settle = async () => { for (let quiet = 0; quiet < 4; quiet = server.next.length ? 0 : quiet + 1) await step(0) }
    panel.open()
    for (const [k, act] of order.entries()) {
      acts[act]()
      if (waits & 2 ** k) await settle()
      else for (let few = Math.floor(chance() * 4); few; few--) await step(Math.floor(chance() * server.next.length))
    }
    await settle()
    if (!list().includes('late.txt')) wrong.push(`${order.map((act, k) => act + (waits & 2 ** k ? ',' : '')).join(' ')}: ${list()}`)
    panel.close()
  }
  assert.deepStrictEqual(wrong, [])
})
