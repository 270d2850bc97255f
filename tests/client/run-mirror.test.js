// A run in two tabs: whoever joins, in whatever moment, has the same document; a lost message is noticed; a tab that is
// gone is noticed; and only what is shown elsewhere is sent.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const { use, ROOT } = require('./load-modules.js')

const { fold } = use('core/fold')
const { create } = use('io/run-mirror')
const VECTORS = JSON.parse(fs.readFileSync(path.join(ROOT, 'tests', 'vectors', 'fold.json'), 'utf8'))
const STATE = { phase: 'done', reason: 'completed', attempt: 2, resumed: 1 }

/** Two tabs that hear each other at once; what `lose` says is lost on the way. */
function tabs({ lose = () => false } = {}) {
  const sent = []
  const tabs = []
  let now = 0
  function open(entry) {
    const heard = []
    const due = []
    const drawn = []
    const channel = {
      send(message) {
        sent.push(message)
        const copy = structuredClone(message)
        if (!lose(copy)) for (const other of tabs) if (other !== tab) for (const callback of other.heard) callback(copy)
      },
      listen: (callback) => heard.push(callback),
    }
    const tab = { entry, heard, drawn, silent: 0, gone: false, tick: () => Promise.all(due.splice(0).map((callback) => callback())) }
    tabs.push(tab)
    tab.mirror = create({
      channel, entry: (id) => (id === entry.session.id ? entry : undefined), onChange: (id, whole) => drawn.push(whole),
      takeFromSilent: async () => {
        tab.silent += 1
        if (tab.gone) entry.elsewhere = entry.mirrored = false
        return tab.gone
      },
      timers: { now: () => now, set: (callback) => due.push(callback), clear() {} },
    })
    return tab
  }
  return { open, sent, pass: (ms) => { now += ms } }
}

/** The tab that runs it, and one that shows it. */
function pair(session, options) {
  const world = tabs(options)
  const stops = []
  const owner = world.open({ session: structuredClone(session), going: Promise.resolve(), run: { output: new Map([['c', 'out']]), stop: () => stops.push(1) }, state: null })
  const other = world.open({ session: structuredClone(session), going: null, run: null, state: null, elsewhere: true })
  const say = (event) => {
    fold(owner.entry.session, structuredClone(event))
    owner.mirror.hooks.onEvent(owner.entry, event)
  }
  return { ...world, owner, other, say, stops }
}

test('whoever joins at any event has the document of the tab that runs it', () => {
  for (const { name, session: given, events } of VECTORS) {
    const session = { id: 's1', ...given }
    for (let at = 0; at <= events.length; at++) {
      const { owner, other, say, sent } = pair(session)
      events.forEach((event, i) => {
        if (i === at) other.mirror.look(other.entry)
        say(event)
      })
      if (at === events.length) other.mirror.look(other.entry)
      assert.deepStrictEqual(other.entry.session, owner.entry.session, `${name}, joined at ${at}`)
      assert.ok(other.entry.mirrored && !other.entry.going)
      assert.strictEqual(other.entry.run.output.get('c'), 'out')
      assert.strictEqual(sent.filter(({ event }) => event).length, events.length - at, 'before that nothing is sent')
    }
  }
})

test('each message that is lost is noticed with the next one', () => {
  const { session, events } = VECTORS[0]
  for (let lost = 0; lost < events.length - 1; lost++) {
    let n = 0
    const { owner, other, say } = pair(session, { lose: ({ event }) => event && n++ === lost })
    other.mirror.look(other.entry)
    events.forEach(say)
    assert.deepStrictEqual(other.entry.session, owner.entry.session, `without ${lost}`)
  }
})

test('live output arrives', () => {
  const { other, say } = pair({ id: 's', messages: [] })
  other.mirror.look(other.entry)
  say({ type: 'ACTIVITY_DELTA', messageId: 'out-c', activityType: 'x', patch: [{ op: 'add', path: '/chunks/-', value: 'put' }] })
  assert.strictEqual(other.entry.run.output.get('c'), 'output')
})

test('it is stopped from the other tab, and its end is told there', () => {
  const { owner, other, stops } = pair({ id: 's', messages: [] })
  other.mirror.look(other.entry)
  other.entry.run.stop()
  assert.strictEqual(stops.length, 1)
  owner.entry.going = null
  owner.entry.state = STATE
  owner.mirror.hooks.onRest(owner.entry)
  assert.strictEqual(other.entry.mirrored, false)
  assert.strictEqual(other.entry.run, null)
  other.entry.elsewhere = false
  other.mirror.look(other.entry)
  assert.deepStrictEqual(other.entry.state, { phase: 'done', reason: 'completed', attempt: 0, resumed: 0 })
})

test('it goes on there when the other tab goes on by itself', () => {
  const { owner, other, say } = pair(VECTORS[0].session)
  other.mirror.look(other.entry)
  owner.mirror.hooks.onRest(owner.entry)
  owner.mirror.hooks.onStart(owner.entry)
  VECTORS[0].events.forEach(say)
  assert.ok(other.entry.mirrored)
  assert.deepStrictEqual(other.entry.session, owner.entry.session)
})

test('a tab that says nothing any more is asked, and what it left is taken', async () => {
  const { owner, other, pass } = pair({ id: 's', messages: [] })
  other.mirror.look(other.entry)
  for (let i = 0; i < 10; i++) {
    pass(3000)
    await other.tick()
  }
  assert.strictEqual(other.silent, 0, 'it answers')
  owner.entry.going = null // as if it were gone
  for (let i = 0; i < 4; i++) {
    pass(3000)
    await other.tick()
  }
  assert.ok(other.silent > 0)
  assert.ok(other.entry.mirrored, 'its lock is held: it is only busy')
  other.gone = true
  pass(11_000)
  await other.tick()
  assert.strictEqual(other.entry.mirrored, false)
  assert.strictEqual(other.entry.run, null)
})

test('words of strangers, and what is nobody else’s', () => {
  const { owner, other, sent } = pair({ id: 's', messages: [], ext: { temporary: true } })
  for (const message of [null, 1, 'x', {}, { run: 's' }, { run: 's', n: 1, event: { type: 'X' } }, { follow: '__proto__' }, { stop: 'other' }]) {
    for (const callback of [...owner.heard, ...other.heard]) callback(message)
  }
  other.mirror.look(other.entry)
  assert.deepStrictEqual(sent, [{ follow: 's' }], 'a temporary session is of its page alone')
})
