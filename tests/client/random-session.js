// A session that random people and random runs work on, with a record of every path that was ever left.
'use strict'

const assert = require('node:assert')
const { use, random } = require('./load-modules.js')

const tree = use('core/branch-tree')
const edit = use('core/message-edits')
const { treeOf, markContinued } = use('core/session')

const user = (id, content = id) => ({ id, role: 'user', content, at: Number(id.slice(1)) })
const says = (id, content = id) => ({ id, role: 'assistant', content, at: Number(id.slice(1)), meta: { model: 'm' } })
const calls = (id, ...names) => ({ ...says(id), tool_calls: names.map((name) => ({ id: name, type: 'function', function: { name: 'shell', arguments: '{"command":"ls"}' } })) })
const result = (id, call, content = `out of ${call}`) => ({ id, role: 'tool', tool_call_id: call, name: 'shell', content, at: Number(id.slice(1)), result: { status: 'ok', result: content } })

const ids = (messages) => messages.map((message) => message.id).join(' ')
const copy = (value) => structuredClone(value)

/** A world: the session, and what each path that was ever set aside looked like then. */
class World {
  constructor(seed) {
    this.next = random(seed)
    this.n = 0
    this.session = { id: 's', messages: [], calls: {}, interrupts: [] }
    this.left = new Map()
    this.turn()
  }

  pick(list) { return list[Math.floor(this.next() * list.length)] }

  now() { return ++this.n }

  /** What a run might leave: a user's message, steps with calls, an end of some kind. */
  turn() {
    const { session } = this
    markContinued(session)
    session.messages.push(user(`u${this.now()}`))
    for (let steps = Math.floor(this.next() * 3); steps; steps--) {
      const names = this.next() < 0.5 ? [`c${this.now()}`] : [`c${this.now()}`, `c${this.now()}`]
      session.messages.push(calls(`a${this.now()}`, ...names))
      for (const name of names) {
        session.calls[name] = { name: 'shell', state: 'done', attempt: 1 }
        session.messages.push(result(`t${this.now()}`, name))
      }
    }
    this.end()
    session.run = { id: `r${this.n}` }
  }

  end() {
    const { session } = this
    const how = this.pick(['said', 'asked', 'limit', 'cut'])
    session.interrupts = []
    session.status = how === 'said' ? 'completed' : 'interrupted'
    if (how === 'said') session.messages.push(says(`a${this.now()}`))
    if (how === 'cut') session.messages.push({ ...says(`a${this.now()}`), open: true })
    if (how === 'limit') session.interrupts = [{ id: `int-${this.n}`, reason: 'limit' }]
    if (how === 'asked') {
      const name = `c${this.now()}`
      session.messages.push(calls(`a${this.now()}`, name))
      session.calls[name] = { name: 'shell', state: 'asking', attempt: 0 }
      session.interrupts = [{ id: `int-${name}`, reason: 'tool_call', call_id: name }]
    }
  }

  /** How the active path stands: what must come back. */
  stand() {
    const { session } = this
    const made = new Set(session.messages.flatMap((message) => message.tool_calls ?? []).map((call) => call.id))
    const state = Object.fromEntries(tree.BRANCH_KEYS.filter((key) => key in session).map((key) => [key, session[key]]))
    return copy({ messages: session.messages, state, entries: Object.fromEntries(Object.entries(session.calls).filter(([id]) => made.has(id))) })
  }

  act() {
    const { session } = this
    const { messages } = session
    const before = this.stand()
    const known = new Set(treeOf(session).branches.map((branch) => branch.id))
    const own = treeOf(session).active?.id
    const words = messages.filter((message) => message.role !== 'tool')
    const all = messages.flatMap((message) => (message.open ? [] : message.tool_calls ?? []))
    const done = all.filter((call) => messages.some((message) => message.tool_call_id === call.id))
    const anything = {
      turn: () => this.turn(),
      fork: () => edit.fork(session, this.pick(messages).id),
      retry: () => edit.retry(session, this.pick(words).id),
      words: () => edit.editMessage(session, this.pick(words).id, 'other', { now: this.now() }),
      args: () => all.length && edit.editArguments(session, this.pick(all).id, { x: 1 }, { now: this.now() }),
      result: () => done.length && edit.editResult(session, this.pick(done).id, { value: 'x', isError: this.next() < 0.3 }, { now: this.now() }),
      switch: () => known.size && this.switch(this.pick([...known])),
      again: () => known.size && this.switch(this.pick([...known])),
      name: () => tree.labelBranch(session, this.pick([null, ...known]), { name: this.pick(['', 'n']), favourite: this.next() < 0.3 }),
      undo: () => known.size && tree.restore(session, tree.remove(session, this.pick([...known]))),
      travel: () => { this.session = JSON.parse(JSON.stringify(session)) },
      settle: () => this.decide(),
    }
    const name = this.pick(Object.keys(anything))
    anything[name]()
    const added = treeOf(this.session).branches.filter((branch) => !known.has(branch.id)).map((branch) => branch.id)
    assert.ok(added.length <= 1, `${name}: one path is set aside at a time`)
    if (added.length) this.left.set(added[0], before)
    if (added.length && own) assert.strictEqual(added[0], own, `${name}: a path keeps its id`)
    return name
  }

  switch(id) {
    assert.strictEqual(tree.switchTo(this.session, id), true)
    assert.deepStrictEqual(this.stand(), this.left.get(id), 'it is as it was left')
  }

  /** The pending call is decided: its entry changes, on this path alone. */
  decide() {
    const { session } = this
    const [one] = session.interrupts ?? []
    if (!one?.call_id) return
    session.calls[one.call_id].state = 'denied'
    session.interrupts = []
    session.messages.push(result(`t${this.now()}`, one.call_id))
  }

  check() {
    const { session } = this
    const { branches } = treeOf(session)
    const stored = [session.messages, ...branches.map((branch) => branch.messages)].flat().map((message) => message.id)
    assert.strictEqual(new Set(stored).size, stored.length, 'each message is kept once')
    const seen = new Set()
    for (const message of session.messages) {
      for (const call of message.tool_calls ?? []) {
        assert.ok(!seen.has(call.id), 'no id of a call twice')
        seen.add(call.id)
      }
      if (message.role === 'tool') assert.ok(seen.has(message.tool_call_id), 'no result without its call')
    }
    const alive = new Set(branches.map((branch) => branch.id))
    const paths = [session.messages, ...branches.map((branch) => tree.pathOf(session, branch.id))].map((path) => ` ${ids(path)} `)
    for (const [id, left] of this.left) {
      if (alive.has(id)) assert.deepStrictEqual(tree.pathOf(session, id), left.messages)
      else assert.ok(paths.some((path) => path.startsWith(` ${ids(left.messages)} `)), 'a path that is gone is the beginning of another')
    }
    assert.strictEqual(tree.listBranches(session).length, branches.length + 1, 'every branch is in the walk')
  }
}

module.exports = { World, user, says, calls, result, ids, copy }
