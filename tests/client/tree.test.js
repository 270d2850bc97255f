// Branches: setting aside, switching, naming, letting go; and editing anything. Rows of cases first, then random
// sequences of all of it, after each of which nothing may be lost.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { use, random } = require('./load.js')

const tree = use('core/tree')
const edit = use('core/edit')
const { fold } = use('core/fold')
const sessions = use('core/session')

const { siblings, treeOf, continued } = sessions

const user = (id, content = id) => ({ id, role: 'user', content, at: Number(id.slice(1)) })
const says = (id, content = id) => ({ id, role: 'assistant', content, at: Number(id.slice(1)), meta: { model: 'm' } })
const calls = (id, ...names) => ({ ...says(id), tool_calls: names.map((name) => ({ id: name, type: 'function', function: { name: 'shell', arguments: '{"command":"ls"}' } })) })
const result = (id, call, content = `out of ${call}`) => ({ id, role: 'tool', tool_call_id: call, name: 'shell', content, at: Number(id.slice(1)), result: { status: 'ok', result: content } })

/** Two turns, the first with two calls. */
function talk() {
  return {
    id: 's', title: 'T', status: 'completed', finish_reason: 'completed', run: { id: 'r1', message: 'u6' }, grants: [], usage: { total_tokens: 9 },
    messages: [user('u1'), calls('a2', 'c1', 'c2'), result('t3', 'c1'), result('t4', 'c2'), says('a5'), user('u6'), says('a7')],
    calls: { c1: { name: 'shell', state: 'done', attempt: 1 }, c2: { name: 'shell', state: 'done', attempt: 1 } }, interrupts: [],
  }
}

const ids = (messages) => messages.map((message) => message.id).join(' ')
const copy = (value) => structuredClone(value)

test('what was said after a message is set aside, and comes back as it was', () => {
  const session = talk()
  const before = copy(session)
  assert.strictEqual(edit.fork(session, 'a5'), true)
  assert.strictEqual(ids(session.messages), 'u1 a2 t3 t4 a5')
  assert.deepStrictEqual([session.run, session.status, session.interrupts], [undefined, 'interrupted', []])
  assert.deepStrictEqual(treeOf(session).active.fresh, { edits: 0, aside: 2, from: treeOf(session).branches[0].id })
  assert.deepStrictEqual(siblings(session), new Map([['', [treeOf(session).branches[0].id]]]))
  assert.strictEqual(tree.switchTo(session, treeOf(session).branches[0].id), true)
  assert.deepStrictEqual(session, before, 'and no empty tree is left behind')
})

test('a fork keeps the results of a call with it; behind the end there is nothing to set aside', () => {
  const session = talk()
  edit.fork(session, 'a2')
  assert.strictEqual(ids(session.messages), 'u1 a2 t3 t4')
  assert.strictEqual(edit.fork(session, 'a2'), false)
  assert.strictEqual(edit.fork(session, 'nothing'), false)
})

test('another answer; the switcher shows them in the order of their age', () => {
  const session = talk()
  edit.retry(session, 'a7')
  assert.strictEqual(session.messages.at(-1).id, 'u6')
  session.messages.push(says('a8'))
  continued(session)
  assert.strictEqual(treeOf(session).active.fresh, undefined)
  edit.retry(session, 'u6')
  session.messages.push(says('a9'))
  const shown = () => siblings(session).get(session.messages.at(-1).id)
  const [first, second, third] = shown()
  assert.ok(first && second && third === null)
  tree.switchTo(session, first)
  assert.strictEqual(session.messages.at(-1).id, 'a7')
  const now = shown()
  assert.deepStrictEqual([now[0], now[1]], [null, second])
  tree.switchTo(session, now[2])
  assert.deepStrictEqual(shown(), [first, second, null], 'a branch keeps its id')
})

test('an edited message says what it was made from; what followed is counted', () => {
  const session = talk()
  edit.editMessage(session, 'u1', 'other words', { now: 99 })
  const [{ id, ...made }] = session.messages
  assert.deepStrictEqual(made, { role: 'user', content: 'other words', at: 99, meta: { edited_from: 'u1' } })
  assert.deepStrictEqual(treeOf(session).active.fresh, { edits: 1, aside: 4, from: treeOf(session).branches[0].id })
  assert.deepStrictEqual(siblings(session), new Map([[id, [treeOf(session).branches[0].id, null]]]))
})

test('edited words of a message with calls: they have run, and keep their results under new ids', () => {
  const session = talk()
  edit.editMessage(session, 'a2', 'different')
  const [, message, one, two] = session.messages
  assert.strictEqual(session.messages.length, 4)
  assert.deepStrictEqual(message.tool_calls.map((call) => call.id), [one.tool_call_id, two.tool_call_id])
  assert.deepStrictEqual([one.content, two.content], ['out of c1', 'out of c2'])
  assert.ok(!['c1', 'c2'].includes(one.tool_call_id))
  for (const { tool_call_id: call } of [one, two]) assert.strictEqual(session.calls[call].state, 'done')
})

test('edited arguments: that call has not run, the one beside it has', () => {
  const session = talk()
  edit.editArguments(session, 'c1', { command: 'pwd' })
  const [, message, kept] = session.messages
  const [first, second] = message.tool_calls
  assert.deepStrictEqual([session.messages.length, kept.tool_call_id, kept.content], [3, second.id, 'out of c2'])
  assert.deepStrictEqual([first.function.arguments, second.function.arguments], ['{"command":"pwd"}', '{"command":"ls"}'])
  assert.deepStrictEqual(message.meta, { edited_from: 'a2', edited_call: first.id })
  assert.strictEqual(session.calls[first.id], undefined, 'the ledger knows nothing of it')
  assert.strictEqual(session.calls.c1.state, 'done', 'and keeps what ran, so that its id is not given again')
})

test('an edited result is what the model will read; as an error it counts as failed', () => {
  for (const [value, isError, content, envelope, state] of [
    ['new', false, 'new', { status: 'ok', result: 'new' }, 'done'],
    [{ n: 1 }, false, '{"n":1}', { status: 'ok', result: { n: 1 } }, 'done'],
    ['no', true, 'no', { status: 'error', error: { message: 'no' } }, 'failed'],
  ]) {
    const session = talk()
    const before = copy(session)
    edit.editResult(session, 'c1', { value, isError })
    const [, , edited, other] = session.messages
    assert.deepStrictEqual([session.messages.length, edited.tool_call_id, edited.content, edited.result, edited.is_error ?? false], [4, 'c1', content, envelope, isError])
    assert.deepStrictEqual([edited.meta.edited_from, other.tool_call_id, other.content], ['t3', 'c2', 'out of c2'])
    assert.strictEqual(session.calls.c1.state, state)
    assert.deepStrictEqual(treeOf(session).active.fresh, { edits: 1, aside: 3, from: treeOf(session).branches[0].id })
    tree.switchTo(session, treeOf(session).branches[0].id)
    const { ext, ...rest } = session
    assert.deepStrictEqual(rest, before)
    assert.strictEqual(ext.tree.branches.length, 1)
  }
})

test('a branch that waited for an approval waits again, though the call was decided otherwise since', () => {
  const session = talk()
  session.messages.push(user('u8'), calls('a9', 'c3'))
  session.calls.c3 = { name: 'shell', state: 'asking', attempt: 0 }
  session.interrupts = [{ id: 'int-c3', reason: 'tool_call', call_id: 'c3', args: {} }]
  session.status = 'interrupted'
  const waiting = copy(session)
  session.calls.c3.state = 'skipped'
  session.interrupts = []
  session.messages.push(result('t10', 'c3'), user('u11'))
  const skipped = copy(session)
  // someone cut the path between call and result: the ledger entry is the path's own
  tree.begin(session, 9)
  Object.assign(session.calls, copy(waiting.calls))
  session.interrupts = copy(waiting.interrupts)
  const [there] = treeOf(session).branches
  tree.switchTo(session, there.id)
  assert.deepStrictEqual([session.messages, session.calls, session.interrupts], [skipped.messages, skipped.calls, skipped.interrupts])
  const [asked] = treeOf(session).branches
  assert.deepStrictEqual([asked.messages, asked.state.interrupts], [[], waiting.interrupts], 'it has no message of its own, but a question')
  tree.switchTo(session, asked.id)
  assert.deepStrictEqual([session.messages, session.calls, session.interrupts], [waiting.messages, waiting.calls, waiting.interrupts])
})

test('a branch on a branch: the way to it becomes active, the rest stays aside', () => {
  const session = talk()
  edit.fork(session, 'a5')
  session.messages.push(user('u8'), says('a9'))
  edit.editMessage(session, 'u1', 'elsewhere')
  const rows = tree.walk(session)
  assert.deepStrictEqual(rows.map((row) => [row.depth, ids(row.messages).replace(/msg_\w+/, 'new')]), [[0, 'new'], [1, 'u1 a2 t3 t4 a5 u8 a9'], [2, 'u6 a7']])
  assert.strictEqual(ids(tree.pathOf(session, rows[2].id)), 'u1 a2 t3 t4 a5 u6 a7')
  tree.switchTo(session, rows[2].id)
  assert.strictEqual(ids(session.messages), 'u1 a2 t3 t4 a5 u6 a7')
  assert.deepStrictEqual(tree.walk(session).map((row) => [row.depth, ids(row.messages).replace(/msg_\w+/, 'new')]), [[0, 'u1 a2 t3 t4 a5 u6 a7'], [1, 'new'], [1, 'u8 a9']])
})

test('a path that nothing has gone on from says so when one comes back to it', () => {
  const session = talk()
  edit.editResult(session, 'c1', { value: 'new' })
  const { id, fresh } = treeOf(session).active
  tree.switchTo(session, fresh.from)
  assert.strictEqual(treeOf(session).active.fresh, undefined)
  tree.switchTo(session, id)
  assert.deepStrictEqual(treeOf(session).active.fresh, fresh)
})

test('a call without a result stands on each path as it stood there', () => {
  const session = { id: 's', messages: [user('u1'), calls('a2', 'c1'), user('u3'), says('a4')], calls: { c1: { state: 'asking' } }, interrupts: [] }
  tree.begin(session, 2, [user('u5')])
  session.calls.c1.state = 'waiting'
  const ending = (id) => treeOf(session).branches.find((branch) => branch.messages.at(-1).id === id).id
  tree.switchTo(session, ending('a4'))
  tree.begin(session, 3, [says('a6')])
  tree.switchTo(session, ending('u5'))
  assert.strictEqual(session.calls.c1.state, 'waiting')
  tree.switchTo(session, ending('a4'))
  assert.strictEqual(session.calls.c1.state, 'asking')
  tree.switchTo(session, ending('u5'))
  tree.switchTo(session, ending('a6'))
  assert.strictEqual(session.calls.c1.state, 'asking')
})

test('deleting takes what hangs on it along; undo brings all of it back', () => {
  const session = talk()
  edit.fork(session, 'a5')
  session.messages.push(user('u8'), says('a9'))
  edit.editMessage(session, 'u1', 'elsewhere')
  const before = copy(tree.walk(session))
  const [, whole] = before
  const taken = tree.remove(session, whole.id)
  assert.deepStrictEqual([taken.length, treeOf(session).branches], [2, []])
  for (const _ of ['back', 'once']) {
    tree.restore(session, taken)
    assert.deepStrictEqual(tree.walk(session).slice(1), before.slice(1))
  }
  assert.deepStrictEqual(tree.remove(session, 'nothing'), [])
})

test('names and favourites stay with their path', () => {
  const session = talk()
  tree.label(session, null, { name: 'first try', favourite: true })
  edit.retry(session, 'a7')
  session.messages.push(says('a8'))
  const [branch] = treeOf(session).branches
  assert.deepStrictEqual([branch.name, branch.favourite], ['first try', true])
  tree.label(session, branch.id, { name: '' })
  tree.switchTo(session, branch.id)
  const { id, ...rest } = treeOf(session).active
  assert.deepStrictEqual([id, rest], [branch.id, { favourite: true }])
  const plain = talk()
  tree.label(plain, null, { name: 'x' })
  tree.label(plain, null, { name: '' })
  assert.strictEqual(plain.ext, undefined)
})

test('a session of its own from any message', () => {
  const session = talk()
  session.config = { limits: { max_steps: 3 } }
  edit.retry(session, 'a7')
  const made = edit.forkSession(session, 'a2', { title: 'Fork', now: 0 })
  assert.strictEqual(ids(made.messages), 'u1 a2 t3 t4')
  assert.deepStrictEqual(Object.keys(made.calls), ['c1', 'c2'])
  assert.deepStrictEqual([made.title, made.config, made.usage, made.grants, made.rev], ['Fork', { limits: { max_steps: 3 } }, undefined, undefined, 0])
  assert.deepStrictEqual(made.ext.forked_from, { session: 's', message: 'a2' })
  assert.deepStrictEqual(treeOf(made).active.fresh, { edits: 0, aside: 0 })
  assert.notStrictEqual(made.id, session.id)
  made.messages[0].content = 'changed'
  assert.strictEqual(session.messages[0].content, 'u1')
  assert.strictEqual(sessions.why(edit.forkSession(session, 'u1')).kind, 'ready')
})

test('a tree that is none, and a branch that hangs on nothing, do no harm', () => {
  for (const odd of [null, 3, {}, { branches: 'x' }]) {
    const session = { ...talk(), ext: { tree: odd } }
    assert.deepStrictEqual(siblings(session), new Map())
    assert.strictEqual(tree.switchTo(session, 'b'), false)
    assert.strictEqual(tree.walk(session).length, 1)
  }
  const lost = { id: 'b', at: 'gone', messages: [user('u9')], state: {}, calls: {} }
  const looped = [{ id: 'x', at: 'u8', messages: [user('u9')], state: {}, calls: {} }, { id: 'y', at: 'u9', messages: [user('u8')], state: {}, calls: {} }]
  const session = { ...talk(), ext: { tree: { branches: [lost, ...looped] } } }
  for (const id of ['b', 'x', 'y']) assert.strictEqual(tree.switchTo(session, id), false)
  assert.strictEqual(treeOf(session).branches.length, 3)
})

// -- random sequences -----------------------------------------------------------------------------

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
    continued(session)
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
      name: () => tree.label(session, this.pick([null, ...known]), { name: this.pick(['', 'n']), favourite: this.next() < 0.3 }),
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
    assert.strictEqual(tree.walk(session).length, branches.length + 1, 'every branch is in the walk')
  }
}

test('random sequences: nothing is lost, the path stays valid, a switch restores what was left', () => {
  const seen = {}
  for (let seed = 1; seed <= 300; seed++) {
    const world = new World(seed)
    const done = []
    try {
      for (let step = 0; step < 40; step++) {
        done.push(world.act())
        world.check()
      }
    } catch (error) {
      error.message = `seed ${seed}, ${done.join(' ')}: ${error.message}`
      throw error
    }
    for (const name of done) seen[name] = (seen[name] ?? 0) + 1
  }
  assert.ok(Object.values(seen).every((n) => n > 100), JSON.stringify(seen))
})

test('a run writes the active path as if there were no branches, and never what is set aside', () => {
  for (let seed = 1; seed <= 100; seed++) {
    const world = new World(seed)
    for (let step = 0; step < 15; step++) world.act()
    const { session } = world
    const alone = copy(session)
    delete alone.ext
    const aside = copy(session.ext)
    const call = world.pick(Object.keys(session.calls)) ?? 'c'
    const events = [
      { type: 'RUN_STARTED', metadata: { yaa: { run: { id: 'r' } } } },
      { type: 'TEXT_MESSAGE_START', messageId: 'm1' }, { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm1', delta: 'hi' },
      { type: 'TOOL_CALL_RESULT', toolCallId: call, messageId: 'r1', content: 'x' },
      { type: 'STATE_DELTA', delta: [{ op: 'add', path: '/yaa/calls/c999', value: { state: 'started' } }] },
      { type: 'RUN_FINISHED', result: { status: 'completed' } },
    ]
    for (const event of events) for (const one of [session, alone]) fold(one, copy(event))
    const { ext, ...rest } = session
    assert.deepStrictEqual(rest, alone)
    assert.deepStrictEqual(ext, aside)
  }
})
