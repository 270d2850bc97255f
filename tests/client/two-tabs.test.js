// Random stories of three tabs over one storage (tab-stories.js): what was done in them has to be there at the end, once.
// STORIES=20000 SEED=1 plays the long run.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const path = require('node:path')
const { use, JS, random } = require('./load-modules.js')
const { FakeIDB } = require('./fake-idb.js')
const { storyOf, begun, Record, SESSIONS, ACTS } = require('./tab-stories.js')

globalThis.matchMedia ??= () => ({ matches: false, addEventListener() {} })
for (const name of ['dom', 'popup', 'session-store', 'session-edits', 'composer-notices']) require(path.join(JS, 'ui', `${name}.js`))
require(path.join(JS, 'i18n', 'en.js'))
require(path.join(JS, 'ui', 'i18n.js'))
const { openSessionStore, isActive, isBusy } = use('ui/session-store')
const { queueOf } = use('ui/composer-notices')
const { open: openStore } = use('io/store-idb')
const { canResume } = use('core/session')
const apis = use('io/api')
const settingsOf = use('io/settings')

const STORIES = Number(process.env.STORIES ?? 100)
const SEED = Number(process.env.SEED ?? 1)
const LENGTH = 10
const encoder = new TextEncoder()
const turn = () => new Promise(setImmediate)
async function turns(n) { for (; n > 0; n--) await turn() }

/** Locks of the browser, which go with the tab that has them. */
class Locks {
  /** @type {Map<string, any>} */ taken = new Map()

  /** @param {any} owner */
  of = (owner) => ({
    request: (name, _, work) => {
      if (owner.dead) return new Promise(() => {})
      if (this.taken.has(name)) return Promise.resolve(work(null))
      const mine = { owner }
      this.taken.set(name, mine)
      return Promise.resolve(work({})).finally(() => this.taken.get(name) === mine && this.taken.delete(name))
    },
  })

  /** @param {any} owner */
  drop(owner) { for (const [name, one] of this.taken) if (one.owner === owner) this.taken.delete(name) }
}

/** A server whose runs say a word, and end when the story says so. */
class Server {
  /** @type {Set<any>} */ open = new Set()
  serial = 0

  /** @param {any} owner */
  fetch = (owner) => async (url, options = {}) => {
    if (owner.dead) return new Promise(() => {})
    const { pathname } = new URL(url)
    if (pathname === '/session/stop') {
      const { id } = JSON.parse(options.body)
      for (const one of this.open) if (one.id === id) this.end(one, 'interrupted', 'stopped')
      return Response.json({ stopped: true })
    }
    if (options.method !== 'POST') return Response.json({ status: 'ok' })
    const { id } = JSON.parse(options.body)
    const n = ++this.serial
    const one = { id, n, owner }
    const stream = new ReadableStream({
      start: (controller) => {
        one.controller = controller
        options.signal?.addEventListener('abort', () => { this.open.delete(one); try { controller.error(options.signal.reason) } catch { /* it has ended */ } })
      },
    })
    this.open.add(one)
    this.emit(one, { type: 'RUN_STARTED', threadId: id, runId: `run${n}`, metadata: { yaa: { run: { id: `run${n}` } } } })
    this.emit(one, { type: 'TEXT_MESSAGE_START', messageId: `m${n}`, role: 'assistant' })
    this.emit(one, { type: 'TEXT_MESSAGE_CONTENT', messageId: `m${n}`, delta: 'well' })
    return new Response(stream, { headers: { 'Content-Type': 'text/event-stream' } })
  }

  emit({ controller, owner }, event) { if (!owner.dead) controller.enqueue(encoder.encode(`data: ${JSON.stringify(event)}\n\n`)) }

  end(one, status, reason) {
    this.open.delete(one)
    if (one.owner.dead) return
    this.emit(one, { type: 'TEXT_MESSAGE_END', messageId: `m${one.n}` })
    this.emit(one, { type: 'RUN_FINISHED', threadId: one.id, runId: `run${one.n}`, outcome: { type: 'success' }, result: { status, finish_reason: reason, rev: 1 } })
    one.controller.close()
  }

  endAll() { for (const one of [...this.open]) this.end(one, 'completed', 'completed') }
}

/** A storage of strings. */
function strings() {
  const kept = new Map()
  return { getItem: (name) => kept.get(name) ?? null, setItem: (name, value) => kept.set(name, value), removeItem: (name) => kept.delete(name) }
}

/** The browser: what its tabs share. */
class Browser {
  locks = new Locks()
  server = new Server()
  /** @type {any[]} */ channels = []
  storage = strings()
  serial = 0

  constructor() {
    Object.assign(globalThis, {
      indexedDB: new FakeIDB(), document: Object.assign(new EventTarget(), { querySelectorAll: () => [] }), addEventListener() {}, removeEventListener() {}, sessionStorage: strings(),
    })
  }

  /** @returns {Promise<any>} */
  async tab() {
    const owner = { n: ++this.serial, dead: false, frozen: false }
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
    const stored = await openStore()
    const mortal = (work) => (...rest) => (owner.dead ? new Promise(() => {}) : work(...rest))
    const store = { ...stored, ...Object.fromEntries(['put', 'post', 'look', 'get', 'list', 'append', 'delete', 'flush'].map((name) => [name, mortal(stored[name])])) }
    const api = apis.create({ base: 'http://yaa.test', key: 'k', fetch: this.server.fetch(owner) })
    const app = { current: null, queue: null, sessionStore: null }
    let own = null
    const sessionStore = openSessionStore({
      store, api: () => api, prepare() {}, onEnd: (entry) => app.queue.onEnd(entry), onUnsaid: (entry, words) => app.queue.add(words, entry),
      onChange: () => { // as ui/other-tabs looks with each drawing
        if (!owner.dead && own) for (const one of own.entries) if (one && !one.elsewhere && !one.going) app.queue.onEnd(one)
      },
    })
    app.sessionStore = sessionStore
    app.queue = queueOf(app)
    own = { owner, store: stored, sessionStore, queue: app.queue, settings: settingsOf.open({ storage: this.storage, tab: strings(), location: { protocol: 'http:', origin: 'http://a', pathname: '/', hash: '', search: '' } }), entries: [], app, deleted: null, draft: '' }
    for (const id of SESSIONS) own.entries.push(await sessionStore.open(id))
    own.draft = own.settings.draft('talk')
    return own
  }
}

/** Does what a story says in one tab. */
class Player {
  record = new Record()
  /** @type {Map<any, Promise<any>>} what was begun, and what comes of it */ pending = new Map()
  /** @type {any[]} */ tabs = []
  browser = new Browser()

  async begin() {
    const first = await openStore()
    for (const one of begun()) await first.put(one)
    for (let n = 0; n < 3; n++) this.tabs.push(await this.browser.tab())
  }

  /** @param {any} act */
  async play(act) {
    const tab = this.tabs[act.tab]
    const alone = !this.pending.size && this.tabs.every(({ owner }) => !owner.frozen)
    if (act.what === 'crash') return this.crash(tab)
    const going = this[act.what](tab, act, alone)
    if (going) this.keep(going, act)
    if (act.waits) await this.settled()
    else if (act.turns) await turn()
  }

  /** @param {Promise<any>} going @param {any} act */
  keep(going, act) {
    this.pending.set(act, going)
    going.finally(() => this.pending.delete(act))
  }

  async settled() {
    for (let n = 0; this.pending.size; n++) {
      await turn()
      assert.ok(n < 2000, `${[...this.pending.keys()].map((act) => JSON.stringify(act))} comes to an end`)
    }
    await turns(10)
  }

  entry = (tab, id) => tab.entries[SESSIONS.indexOf(id)] ?? tab.sessionStore.entry(id)

  set(tab, { words, where }) {
    this.record.sets.add(`${where} ${words}`)
    return tab.sessionStore.amend(this.entry(tab, where), (one) => { one.config = { ...one.config, limits: { ...one.config?.limits, [words]: 1 } } })
  }

  rename(tab, { words, where }, alone) {
    this.record.write(`${where} title`, words, alone)
    return tab.sessionStore.rename(where, words)
  }

  upload(tab, { words, where }, alone) {
    this.record.write(`${where} tree`, words, alone)
    return tab.sessionStore.amend(this.entry(tab, where), (one) => { one.workspace = { ...one.workspace, tree: words } })
  }

  answer(tab, { question, yes }, alone) {
    this.record.answer(question, yes, alone)
    return tab.sessionStore.answer(this.entry(tab, 'asks'), [[question, { status: 'resolved', payload: { approved: yes } }]])
  }

  /** It may be refused, as something runs: then it is not made. */
  async edit(tab, { words, where }, alone) {
    const place = `${where} words`
    const before = this.record.values.get(place) ?? new Set(['before'])
    this.record.values.set(place, new Set([...before, words]))
    const done = await tab.sessionStore.edit(this.entry(tab, where), (one) => {
      one.messages = one.messages.map((message, i) => (i ? message : { ...message, content: words }))
      return true
    })
    for (const one of done ? (alone ? before : []) : [words]) this.record.values.get(place).delete(one)
  }

  /** As ui/app does with what is sent. */
  say(tab, { words }) {
    const entry = this.entry(tab, 'talk')
    this.record.words.set(words, { sure: true, tab })
    if (isBusy(entry)) return tab.queue.add(words, entry)
    tab.sessionStore.send(entry, words)
  }

  /** Other words for one that waits: the last it had, or none if it is said meanwhile. */
  change(tab, { words }) {
    tab.app.current = this.entry(tab, 'talk')
    const [first] = tab.queue.of()
    if (!first) return
    this.record.words.set(words, { sure: false, tab })
    this.record.words.set(first.content, { sure: false, tab })
    tab.sessionStore.queue(tab.app.current, first.id, words)
  }

  end() { this.browser.server.endAll() }

  stop(tab) { this.entry(tab, 'talk').run?.stop() }

  async remove(tab, _, alone) {
    this.record.write('gone', false, alone)
    tab.deleted = await tab.sessionStore.remove('gone') ?? tab.deleted
  }

  async restore(tab, _, alone) {
    if (!tab.deleted) return
    this.record.write('gone', true, alone)
    await tab.sessionStore.restore(tab.deleted)
  }

  async import(tab, { words }) {
    const done = await tab.sessionStore.restore({ id: words, version: 1, rev: 0, messages: [{ id: 'u', role: 'user', content: words, at: 1 }] })
    if (done) this.record.imports.add(words)
  }

  draft(tab, { words }) {
    tab.settings.setDraft('talk', words)
    this.record.drafts.delete(tab.draft)
    this.record.drafts.add(words)
    tab.draft = words
  }

  undraft(tab) {
    tab.settings.setDraft('talk', '')
    this.record.drafts.delete(tab.draft)
    tab.draft = ''
  }

  freeze({ owner }) { owner.frozen = true }

  thaw({ owner }) { owner.frozen = false }

  /** What it had not stored yet may go with it. */
  async crash(tab) {
    await turns(40)
    this.pending.clear()
    const known = await this.stored('talk', tab.store)
    for (const [words, one] of this.record.words) if (one.tab === tab && !JSON.stringify(known).includes(`"${words}"`)) one.sure = false
    tab.owner.dead = true
    this.browser.locks.drop(tab.owner)
    this.tabs[this.tabs.indexOf(tab)] = await this.browser.tab()
  }

  async stored(id, store) { return [await store.get(id), (await store.look(id)).changes] }

  /** @returns {Promise<string[]>} what is wrong */
  async over() {
    await this.rest()
    const last = await this.browser.tab()
    this.tabs.push(last)
    await turns(20)
    const talk = this.entry(last, 'talk')
    if (canResume(talk.session)) last.sessionStore.retry(talk)
    await this.rest()
    const all = new Map()
    const { store } = last
    for (const { id } of await store.list()) all.set(id, await store.get(id))
    const drafts = JSON.parse(this.browser.storage.getItem('yaa.drafts') ?? '{"all": []}').all.map(([, words]) => words)
    const waits = (await Promise.all(['asks', 'talk'].map(async (id) => (await store.look(id)).changes))).flat().map((one) => `${JSON.stringify(one)} still waits`)
    const runs = this.tabs.flatMap((tab) => tab.entries).filter((one) => one && isActive(one)).map(({ session }) => `${session.id} runs`)
    return [...this.record.wrong(all, drafts), ...waits, ...runs]
  }

  /** Until nothing runs any more: what waits is sent when a run ends. */
  async rest() {
    for (const { owner } of this.tabs) owner.frozen = false
    for (let quiet = 0, n = 0; quiet < 30 && n < 3000; n++) {
      this.browser.server.endAll()
      await turn()
      const busy = this.pending.size || this.tabs.some((tab) => tab.entries.some((one) => one && isActive(one)))
      quiet = busy ? 0 : quiet + 1
    }
  }
}

/** @param {number} seed */
async function story(seed) {
  const player = new Player()
  await player.begin()
  for (const act of storyOf(random(seed), seed, LENGTH)) await player.play(act)
  const wrong = await player.over()
  for (const { owner } of player.tabs) owner.dead = true
  if (wrong.length) throw new Error(wrong.join('; '))
}

test('what three tabs do over one storage is there at the end', async (context) => {
  // a lock that is held for a moment is asked for again in the next turn
  const { setTimeout: real } = globalThis
  globalThis.setTimeout = Object.assign((callback, ms, ...rest) => (ms <= 100 ? setImmediate(callback, ...rest) : real(callback, ms, ...rest)), real)
  context.after(() => { globalThis.setTimeout = real })
  const failed = []
  for (let n = 0; n < STORIES; n++) await story(SEED + n).catch((error) => failed.push(`story ${SEED + n}: ${error.message}`))
  assert.deepStrictEqual(failed, [], `${failed.length} of ${STORIES} stories`)
  assert.deepStrictEqual(ACTS.filter(([what]) => !Player.prototype[what]), [], 'every act is played')
})
