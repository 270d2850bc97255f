// Random stories of three tabs over one storage (tab-stories.js): what was done in them has to be there at the end, once.
// STORIES=20000 SEED=1 plays the long run.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const path = require('node:path')
const { use, JS, random, rounds } = require('./load-modules.js')
const { FakeIDB } = require('./fake-idb.js')
const { storageOf, SharedStorage } = require('./storage.js')
const { storyOf, SESSIONS, ACTS } = require('./tab-stories.js')
const { serverOf, actsOf } = require('./tab-acts.js')
const { Player } = require('./tab-player.js')

globalThis.matchMedia ??= () => ({ matches: false, addEventListener() {} })
for (const name of ['dom', 'popup', 'session-store', 'session-edits', 'composer-notices']) require(path.join(JS, 'ui', `${name}.js`))
require(path.join(JS, 'i18n', 'en.js'))
require(path.join(JS, 'ui', 'i18n.js'))
const { openSessionStore, isBusy } = use('ui/session-store')
const { queueOf } = use('ui/composer-notices')
const { open: openStore } = use('io/store-idb')
const { canResume } = use('core/session')
const apis = use('io/api')
const settingsOf = use('io/settings')

const STORIES = rounds(Number(process.env.STORIES ?? 100))
const SEED = Number(process.env.SEED ?? 1)
const LENGTH = 10
const turn = () => new Promise(setImmediate)

/** Locks of the browser, which go with the tab that has them. */
class Locks {
  /** @type {Map<string, any>} */ taken = new Map()
  /** since somebody looked */ asked = false

  /** @param {any} owner */
  of = (owner) => ({
    request: (name, _, work) => {
      if (owner.dead) return new Promise(() => {})
      this.asked = true
      if (this.taken.has(name)) return Promise.resolve(work(null))
      const mine = { owner }
      this.taken.set(name, mine)
      return Promise.resolve(work({})).finally(() => this.taken.get(name) === mine && this.taken.delete(name))
    },
  })

  /** @param {any} owner */
  drop(owner) { for (const [name, one] of this.taken) if (one.owner === owner) this.taken.delete(name) }
}

/** The browser: what its tabs share. */
class Browser {
  locks = new Locks()
  /** @type {any[]} */ channels = []
  storage = new SharedStorage()
  serial = 0
  /** @type {any[]} */ tabs = []
  /** as player wants it */ turn = turn
  quiet = 30
  tries = 1

  asks() {
    const { asked } = this.locks
    this.locks.asked = false
    return asked
  }

  constructor() {
    Object.assign(globalThis, {
      indexedDB: new FakeIDB(), document: Object.assign(new EventTarget(), { querySelectorAll: () => [] }), addEventListener() {}, removeEventListener() {}, sessionStorage: storageOf(),
    })
  }

  /** What the next tab finds. @param {any} owner */
  enter(owner) {
    const { channels } = this
    Object.defineProperty(globalThis, 'navigator', { configurable: true, value: { locks: this.locks.of(owner), languages: [] } })
    globalThis.BroadcastChannel = class {
      constructor() { channels.push(Object.assign(this, { owner, heard: [] })) }
      addEventListener(_, callback) { this.heard.push(callback) }
      removeEventListener() {}
      postMessage(data) {
        if (owner.dead) return
        for (const other of channels) if (other.owner !== owner && !other.owner.frozen) setImmediate(() => other.owner.dead || other.heard.forEach((callback) => callback({ data: structuredClone(data) })))
      }
    }
  }

  /** @returns {Promise<any>} */
  async tab() {
    const owner = { mark: String(++this.serial), dead: false, frozen: false }
    this.enter(owner)
    const stored = await openStore()
    const mortal = (work) => (...rest) => (owner.dead ? new Promise(() => {}) : work(...rest))
    const store = { ...stored, ...Object.fromEntries(['put', 'post', 'look', 'get', 'list', 'append', 'delete', 'flush'].map((name) => [name, mortal(stored[name])])) }
    const server = serverOf(owner)
    const fetch = (url, options = {}) => server.answer(new URL(url).pathname, options) ?? Promise.resolve(Response.json({ status: 'ok' }))
    const api = apis.create({ base: 'http://yaa.test', key: 'k', fetch })
    const app = { current: null, sessionStore: null }
    const sessionStore = app.sessionStore = openSessionStore({
      store, api: () => api, prepare() {}, onEnd: (entry) => queue.onEnd(entry), onUnsaid: (entry, words) => queue.add(words, entry),
      onChange() { // as ui/other-tabs looks with each drawing
        for (const id of SESSIONS) {
          const one = owner.dead ? null : sessionStore?.entry(id)
          if (one && !one.elsewhere && !one.going) queue.onEnd(one)
        }
      },
    })
    const queue = queueOf(app)
    const storage = this.storage.of()
    const settings = settingsOf.open({ storage, tab: storageOf(), location: { protocol: 'http:', origin: 'http://a', pathname: '/', hash: '', search: '' } })
    const acts = actsOf({ sessionStore, queue, settings, store, storage, server, owner, isBusy, canResume })
    const crash = () => {
      owner.dead = true
      this.locks.drop(owner)
    }
    return { act: (act) => acts[act.what](act), crash }
  }
}

/** @param {number} seed */
async function story(seed) {
  const browser = new Browser()
  const player = new Player(browser, '')
  await player.begin()
  for (const act of storyOf(random(seed), seed, LENGTH)) await player.play(act)
  const wrong = await player.over()
  for (const tab of browser.tabs) tab.crash()
  if (wrong.length) throw new Error(wrong.join('; '))
}

test('what three tabs do over one storage is there at the end', async (context) => {
  // a lock that is held for a moment is asked for again some turns later
  const { setTimeout: real } = globalThis
  const later = (callback, n) => setImmediate(() => (n ? later(callback, n - 1) : callback()))
  globalThis.setTimeout = Object.assign((callback, ms, ...rest) => (ms <= 100 ? later(() => callback(...rest), 5) : real(callback, ms, ...rest)), real)
  context.after(() => { globalThis.setTimeout = real })
  const failed = []
  for (const n of STORIES) await story(SEED + n).catch((error) => failed.push(`story ${SEED + n}: ${error.message}`))
  assert.deepStrictEqual(failed, [], `${failed.length} of ${STORIES.length} stories`)
  const acts = actsOf({})
  assert.deepStrictEqual(ACTS.filter(([what]) => what !== 'crash' && !acts[what]), [], 'every act is played')
})
