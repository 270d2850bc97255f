// Random stories of three tabs over one storage: each sets, answers, says and renames, hears late, freezes or crashes. What was
// done has to be there at the end, once. STORIES=20000 SEED=1 plays the long run.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const path = require('node:path')
const { use, JS, random } = require('./load-modules.js')
const { FakeIDB } = require('./fake-idb.js')
const { FakeServer } = require('./fake-server.js')

for (const name of ['session-store.js', 'session-edits.js']) require(path.join(JS, 'ui', name))
const { openSessionStore, isActive } = use('ui/session-store')
const { open: openStore } = use('io/store-idb')
const apis = use('io/api')

const STORIES = Number(process.env.STORIES ?? 150)
const SEED = Number(process.env.SEED ?? 1)
const QUESTIONS = ['q1', 'q2', 'q3']
const turn = () => new Promise(setImmediate)
const answerOf = (approved) => ({ status: 'resolved', payload: { approved } })

/** Locks of the browser, which go with the tab that has them. */
function lockManager() {
  const taken = new Map()
  return {
    taken,
    request: (name, _, work) => {
      if (taken.has(name)) return Promise.resolve(work(null))
      taken.set(name, current)
      return Promise.resolve(work({})).finally(() => taken.get(name) && taken.delete(name))
    },
  }
}

/** Which tab acts now: who makes a store or a lock belongs to it. */
let current = 0

/** The session as it was before: three questions of calls, no run. */
const begun = () => ({
  id: 's', version: 1, rev: 1, config: { limits: { max_steps: 100 } }, messages: [{ id: 'u1', role: 'user', content: 'go', at: 1 }, { id: 'a1', role: 'assistant', content: '', tool_calls: QUESTIONS.map((id) => ({ id: `c-${id}`, type: 'function', function: { name: 'shell', arguments: '{}' } })) }],
  calls: Object.fromEntries(QUESTIONS.map((id) => [`c-${id}`, { name: 'shell', state: 'asking', attempt: 0 }])),
  interrupts: QUESTIONS.map((id) => ({ id, reason: 'tool_call', call_id: `c-${id}`, tool: 'shell', args: {} })),
})

/** @param {number} seed */
async function story(seed) {
  const chance = random(seed)
  const pick = (/** @type {any[]} */ all) => all[Math.floor(chance() * all.length)]
  const manager = lockManager()
  const channels = []
  Object.defineProperty(globalThis, 'navigator', { configurable: true, value: { locks: manager } })
  Object.assign(globalThis, {
    indexedDB: new FakeIDB(), document: Object.assign(new EventTarget(), { querySelectorAll: () => [] }), addEventListener() {}, removeEventListener() {},
    sessionStorage: { getItem: () => null, setItem() {}, removeItem() {} },
    BroadcastChannel: class {
      constructor() { channels.push(Object.assign(this, { tab: current, heard: [] })) }
      addEventListener(_, callback) { this.heard.push(callback) }
      removeEventListener() {}
      postMessage(data) {
        for (const other of channels) if (other.tab !== this.tab && !frozen.has(other.tab)) setImmediate(() => other.heard.forEach((callback) => callback({ data: structuredClone(data) })))
      }
    },
  })
  const frozen = new Set()
  const server = new FakeServer()
  const api = apis.create({ base: 'http://yaa.test', key: 'k', fetch: server.fetch })
  let serial = 0
  /** @returns {Promise<any>} */
  async function tab() {
    current = ++serial
    const store = await openStore()
    const unsaid = []
    const one = { n: serial, unsaid, store, sessions: openSessionStore({ store, api: () => api, prepare() {}, onChange() {}, onEnd() {}, onUnsaid: (_, words) => unsaid.push(words) }) }
    one.entry = await one.sessions.open('s')
    return one
  }
  current = ++serial
  await (await openStore()).put(begun())
  const tabs = [await tab(), await tab(), await tab()]
  const done = { set: [], titles: [], answers: new Map() }
  for (let step = 0; step < 8; step++) {
    const one = pick(tabs)
    const what = pick(['set', 'set', 'answer', 'answer', 'rename', 'freeze', 'thaw', 'crash'])
    const wait = chance() < 0.6
    let going = null
    if (what === 'set') {
      const name = `n${seed}_${step}`
      done.set.push(name)
      going = one.sessions.amend(one.entry, (session) => { session.config = { ...session.config, limits: { ...session.config?.limits, [name]: step } } })
    } else if (what === 'rename') {
      if (!pending.length) done.titles.length = 0
      done.titles.push(`t${step}`)
      going = one.sessions.rename('s', `t${step}`)
    } else if (what === 'answer') {
      const id = pick(QUESTIONS.slice(1)) // the first stays open: nothing runs
      const given = done.answers.get(id) ?? done.answers.set(id, []).get(id)
      const yes = chance() < 0.5
      if (!given.sure) given.push(yes)
      going = one.sessions.answer(one.entry, [[id, answerOf(yes)]])
      if (wait && !given.sure && given.length === 1) given.sure = true
    } else if (what === 'freeze') frozen.add(one.n)
    else if (what === 'thaw') frozen.delete(one.n)
    else if (what === 'crash') {
      await Promise.all(pending.splice(0)) // what was not stored yet may go with its tab
      tabs[tabs.indexOf(one)] = await tab()
      frozen.add(one.n)
    }
    if (going) pending.push(going)
    if (wait) await Promise.all(pending.splice(0))
    else if (chance() < 0.5) await turn()
  }
  await Promise.all(pending.splice(0))
  for (let n = 0; n < 20; n++) await turn()
  const last = await tab()
  for (let n = 0; n < 20; n++) await turn()
  const stored = await last.store.get('s')
  const where = `story ${seed}`
  for (const name of done.set) assert.ok(name in stored.config.limits, `${where}: ${name} was set`)
  assert.strictEqual(stored.config.limits.max_steps, 100, where)
  for (const [id, given] of done.answers) {
    const { answer } = stored.interrupts.find((each) => each.id === id)
    assert.ok(answer && given.slice(0, given.sure ? 1 : undefined).includes(answer.payload.approved), `${where}: ${id} is answered as it was first`)
  }
  if (done.titles.length) assert.ok(done.titles.includes(stored.title), `${where}: ${stored.title} of ${done.titles}`)
  assert.deepStrictEqual((await last.store.look('s')).changes, [], `${where}: nothing waits`)
  assert.deepStrictEqual([...tabs, last].filter((one) => isActive(one.entry)), [], where)
}

/** @type {Promise<any>[]} */ const pending = []

test('what three tabs set, answer and rename over one storage is there at the end', async () => {
  for (let n = 0; n < STORIES; n++) await story(SEED + n)
})
