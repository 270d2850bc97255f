// Branches: setting aside, switching, naming, letting go; and editing anything. Rows of cases first, then random
// sequences of all of it, after each of which nothing may be lost.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { spawnSync } = require('node:child_process')
const { use, rounds, ROOT } = require('./load-modules.js')
const { World, user, says, calls, result, ids, copy } = require('./random-session.js')

const tree = use('core/branch-tree')
const edit = use('core/message-edits')
const { fold } = use('core/fold')
const sessions = use('core/session')

const { siblings, treeOf, markContinued } = sessions

/** Two turns, the first with two calls. */
function talk() {
  return {
    id: 's', title: 'T', status: 'completed', finish_reason: 'completed', run: { id: 'r1', message: 'u6' }, grants: [], usage: { total_tokens: 9 },
    messages: [user('u1'), calls('a2', 'c1', 'c2'), result('t3', 'c1'), result('t4', 'c2'), says('a5'), user('u6'), says('a7')],
    calls: { c1: { name: 'shell', state: 'done', attempt: 1 }, c2: { name: 'shell', state: 'done', attempt: 1 } }, interrupts: [],
  }
}

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

test('the last message is taken back with what followed; the first is not', () => {
  const session = talk()
  assert.strictEqual(edit.takeBack(session).id, 'u6')
  assert.strictEqual(ids(session.messages), 'u1 a2 t3 t4 a5')
  assert.strictEqual(edit.takeBack(session), false)
  assert.strictEqual(ids(session.messages), 'u1 a2 t3 t4 a5')
  assert.strictEqual(edit.takeBack({ messages: [] }), false)
})

test('a path that begins before a compaction is seen as it was then; the other one keeps what it had', () => {
  const pin = { op: 'pin', ids: ['u1'], by: 'person' }
  const [early, late] = [{ op: 'stub', ids: ['t3'] }, { op: 'stub', ids: ['t4'] }]
  const context = () => ({ ops: [early, pin, late], events: [{ id: 'c1', at: 4, after: 50, ops: 1 }, { id: 'c2', at: 6, after: 40, ops: 1 }], windows: { m: 9 } })
  const rows = [
    ['a7', context()], // nothing was made smaller behind it
    ['a5', { ...context(), ops: [early, pin], events: [{ id: 'c1', at: 4, after: 50, ops: 1 }] }],
    ['u1', { ...context(), ops: [pin], events: [] }],
  ]
  for (const [id, wanted] of rows) {
    const session = { ...talk(), context: context() }
    edit.editMessage(session, id, 'else')
    assert.deepStrictEqual(session.context, wanted, id)
    tree.switchTo(session, treeOf(session).branches[0].id)
    assert.deepStrictEqual(session.context, context(), `${id}, and back`)
  }
  const odd = { ...talk(), context: { ops: 'x', events: [{ at: 9 }] } }
  edit.editMessage(odd, 'u1', 'else')
  assert.deepStrictEqual(odd.context, { ops: 'x', events: [{ at: 9 }] })
})

test('another answer; the switcher shows them in the order of their age', () => {
  const session = talk()
  edit.retry(session, 'a7')
  assert.strictEqual(session.messages.at(-1).id, 'u6')
  session.messages.push(says('a8'))
  markContinued(session)
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

test('edited words of a message with calls: they have run, and keep their ids and results', () => {
  const session = talk()
  edit.editMessage(session, 'a2', 'different')
  const [, message, one, two] = session.messages
  assert.strictEqual(session.messages.length, 4)
  assert.deepStrictEqual([message.tool_calls.map((call) => call.id), one.tool_call_id, two.tool_call_id], [['c1', 'c2'], 'c1', 'c2'])
  assert.deepStrictEqual([one.content, two.content], ['out of c1', 'out of c2'])
  assert.ok(![message, one, two].some(({ id }) => ['a2', 't3', 't4'].includes(id)))
})

test('edited arguments: that call has not run, the one beside it has', () => {
  const session = talk()
  edit.editArguments(session, 'c1', { command: 'pwd' })
  const [, message, kept] = session.messages
  const [first, second] = message.tool_calls
  assert.deepStrictEqual([session.messages.length, second.id, kept.tool_call_id, kept.content], [3, 'c2', 'c2', 'out of c2'])
  assert.deepStrictEqual([first.function.arguments, second.function.arguments], ['{"command":"pwd"}', '{"command":"ls"}'])
  assert.deepStrictEqual(message.meta, { edited_from: 'a2', edited_call: first.id })
  assert.strictEqual(session.calls[first.id], undefined, 'the ledger knows nothing of it')
  assert.strictEqual(session.calls.c1.state, 'done', 'and keeps what ran, so that its id is not given again')
  const exact = '{ "id": 1152921504606846976 }' // which no browser can count
  edit.editArguments(session, first.id, exact)
  assert.strictEqual(session.messages[1].tool_calls[0].function.arguments, exact)
})

const EDITS = {
  words: (session) => edit.editMessage(session, 'a2', 'other words'),
  'arguments of the call beside': (session) => edit.editArguments(session, 'c2', { command: 'pwd' }),
  'result of the call beside': (session) => edit.editResult(session, 'c2', { value: 'other' }),
}
for (const state of ['proposed', 'asking', 'waiting', 'denied', 'skipped', 'started', 'indeterminate', 'done', 'failed']) {
  const ended = ['denied', 'skipped', 'done', 'failed'].includes(state)
  for (const [name, work] of Object.entries(EDITS)) {
    test(`a call that is ${state} stays what it is when the ${name} change`, () => {
      const session = talk()
      session.calls.c1 = { name: 'shell', state, attempt: 1, fingerprint: 'f' }
      session.messages = session.messages.filter(({ tool_call_id: call }) => ended || call !== 'c1').slice(0, ended ? 4 : 3)
      const own = session.messages.find(({ tool_call_id: call }) => call === 'c1')
      assert.strictEqual(work(session), true)
      const [call] = session.messages.find((message) => message.tool_calls).tool_calls
      assert.strictEqual(call.id, 'c1')
      assert.deepStrictEqual(session.calls.c1, { name: 'shell', state, attempt: 1, fingerprint: 'f' })
      const kept = session.messages.find(({ tool_call_id: id }) => id === 'c1')
      assert.deepStrictEqual(kept && { ...kept, id: 't3' }, own)
    })
  }
}

test('an edit leaves the files as they are, or it is known before that it does not', () => {
  const { standOf } = use('core/workspace-stand')
  const trees = ['1', '2', '3'].map((digit) => digit.repeat(64))
  const facts = { changed: [{ path: 'a.txt', change: 'added' }], changed_count: 1, left_out: { large: 1 }, sources: { 's1.1': '/results/0' }, duration_ms: 5 }
  const files = () => {
    const session = talk()
    Object.assign(session.messages[2], { result: { status: 'ok', result: 'out of c1', tree: { after: trees[0] } } })
    Object.assign(session.messages[3], { result: { status: 'ok', result: 'out of c2', tree: { after: trees[1] }, ...facts } })
    session.workspace = { tree: trees[1], message: 't4' }
    return session
  }
  const rows = [ // edit, tree afterwards
    [(session) => edit.editResult(session, 'c1', { value: 'x' }), trees[1]],
    [(session) => edit.editResult(session, 'c2', { value: 'x' }), trees[1]],
    [(session) => edit.editResult(session, 'c2', { value: 'x', isError: true }), trees[1]],
    [(session) => edit.editMessage(session, 'a2', 'x'), trees[1]],
    [(session) => edit.editMessage(session, 'a5', 'x'), trees[1]],
    [(session) => edit.editArguments(session, 'c2', {}), trees[0]],
    [(session) => edit.editMessage(session, 'u1', 'x'), null],
  ]
  for (const [work, wanted] of rows) {
    const session = files()
    assert.strictEqual(edit.takesFilesBack(session, work), wanted !== trees[1], String(work))
    assert.deepStrictEqual(session, files(), 'it only looked')
    work(session)
    assert.strictEqual(standOf(session), wanted, String(work))
  }
  const session = files()
  edit.editResult(session, 'c2', { value: 'x' })
  assert.deepStrictEqual(session.messages.at(-1).result, { status: 'ok', result: 'x', tree: { after: trees[1] }, ...facts })
  const uploaded = { ...files(), workspace: { tree: trees[2], message: 'a5' } } // a person put a file there after the answer
  edit.editMessage(uploaded, 'a5', 'x')
  assert.strictEqual(standOf(uploaded), trees[2])
})

test('an edited result is what the model will read; the ledger says what happened', () => {
  for (const [value, isError, content, envelope] of [
    ['new', false, 'new', { status: 'ok', result: 'new' }],
    [{ n: 1 }, false, '{"n":1}', { status: 'ok', result: { n: 1 } }],
    ['no', true, 'no', { status: 'error', error: { message: 'no' } }],
  ]) {
    const session = talk()
    const before = copy(session)
    edit.editResult(session, 'c1', { value, isError })
    const [, , edited, other] = session.messages
    assert.deepStrictEqual([session.messages.length, edited.tool_call_id, edited.content, edited.result, edited.is_error ?? false], [4, 'c1', content, envelope, isError])
    assert.deepStrictEqual([edited.meta.edited_from, other.tool_call_id, other.content], ['t3', 'c2', 'out of c2'])
    assert.deepStrictEqual(session.calls, before.calls)
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
  tree.beginBranch(session, 9)
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
  const rows = tree.listBranches(session)
  assert.deepStrictEqual(rows.map((row) => [row.depth, ids(row.messages).replace(/msg_\w+/, 'new')]), [[0, 'new'], [1, 'u1 a2 t3 t4 a5 u8 a9'], [2, 'u6 a7']])
  assert.strictEqual(ids(tree.pathOf(session, rows[2].id)), 'u1 a2 t3 t4 a5 u6 a7')
  tree.switchTo(session, rows[2].id)
  assert.strictEqual(ids(session.messages), 'u1 a2 t3 t4 a5 u6 a7')
  assert.deepStrictEqual(tree.listBranches(session).map((row) => [row.depth, ids(row.messages).replace(/msg_\w+/, 'new')]), [[0, 'u1 a2 t3 t4 a5 u6 a7'], [1, 'new'], [1, 'u8 a9']])
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

test('what began on one path has begun on all', () => {
  for (const state of ['started', 'done', 'failed']) {
    for (const at of [1, 2]) { // with the words of the call's message, or behind it
      const session = { id: 's', messages: [user('u1'), calls('a2', 'c1')], calls: { c1: { state: 'asking' } }, interrupts: [{ id: 'i1', call_id: 'c1', reason: 'tool_call' }] }
      if (at === 1) edit.editMessage(session, 'a2', 'other words')
      else tree.beginBranch(session, at, [user('u3')])
      const [aside] = treeOf(session).branches
      session.calls.c1.state = state
      tree.switchTo(session, aside.id)
      assert.strictEqual(session.calls.c1.state, state)
    }
  }
})

test('a call without a result stands on each path as it stood there', () => {
  const session = { id: 's', messages: [user('u1'), calls('a2', 'c1'), user('u3'), says('a4')], calls: { c1: { state: 'asking' } }, interrupts: [] }
  tree.beginBranch(session, 2, [user('u5')])
  session.calls.c1.state = 'waiting'
  const ending = (id) => treeOf(session).branches.find((branch) => branch.messages.at(-1).id === id).id
  tree.switchTo(session, ending('a4'))
  tree.beginBranch(session, 3, [says('a6')])
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
  const before = copy(tree.listBranches(session))
  const [, whole] = before
  const taken = tree.remove(session, whole.id)
  assert.deepStrictEqual([taken.length, treeOf(session).branches], [2, []])
  for (const _ of ['back', 'once']) {
    tree.restore(session, taken)
    assert.deepStrictEqual(tree.listBranches(session).slice(1), before.slice(1))
  }
  assert.deepStrictEqual(tree.remove(session, 'nothing'), [])
})

test('the branches of a copy come in; what is here stays, and twice is once', () => {
  const elsewhere = (session) => {
    edit.fork(session, 'a5')
    session.messages.push(user('u8'), calls('a9', 'c9'), result('t9', 'c9'))
    session.calls.c9 = { name: 'shell', state: 'done', attempt: 1 }
    edit.editMessage(session, 'u8', 'otherwise')
    session.messages.push(says('a11'))
    return session
  }
  for (const back of [false, true]) {
    const other = elsewhere(talk())
    if (back) tree.switchTo(other, treeOf(other).branches.find((branch) => branch.messages[0].id === 'u6').id)
    const wanted = tree.listBranches(other).map((row) => ids(row.messages)).sort()
    const session = talk()
    assert.strictEqual(tree.merge(session, copy(other)), 2)
    assert.deepStrictEqual(session.messages, talk().messages)
    assert.strictEqual(session.calls.c9.state, 'done')
    const paths = tree.listBranches(session).filter(({ id }) => id).map(({ id }) => ids(tree.pathOf(session, id))).sort()
    const theirs = tree.listBranches(other).map(({ id, messages }) => ids(id ? tree.pathOf(other, id) : messages)).filter((path) => !path.endsWith('a7')).sort()
    assert.deepStrictEqual(paths, theirs, wanted.join('; '))
    assert.strictEqual(tree.merge(session, copy(other)), 0)
    tree.switchTo(session, treeOf(session).branches[0].id)
    assert.strictEqual(tree.merge(session, copy(other)), 0)
  }
  const longer = talk()
  longer.messages.push(user('u12'))
  const session = talk()
  assert.strictEqual(tree.merge(session, longer), 1, 'what goes on from here is a branch behind the end')
  assert.strictEqual(treeOf(session).branches[0].at, 'a7')
})

test('no copy of a session, or one that says something else under an id, is not taken in', () => {
  const rows = [
    (other) => { other.messages[0].content = 'not what was said' },
    (other) => { other.messages = [user('x1'), says('x2')] },
    (other) => { other.messages.splice(1, 0, user('x1')) },
    (other) => { other.messages = [] },
  ]
  for (const row of rows) {
    const session = talk()
    const other = talk()
    row(other)
    assert.strictEqual(tree.merge(session, other), null, String(row))
    assert.deepStrictEqual(session, talk())
  }
})

test('names and favourites stay with their path', () => {
  const session = talk()
  tree.labelBranch(session, null, { name: 'first try', favourite: true })
  edit.retry(session, 'a7')
  session.messages.push(says('a8'))
  const [branch] = treeOf(session).branches
  assert.deepStrictEqual([branch.name, branch.favourite], ['first try', true])
  tree.labelBranch(session, branch.id, { name: '' })
  tree.switchTo(session, branch.id)
  const { id, ...rest } = treeOf(session).active
  assert.deepStrictEqual([id, rest], [branch.id, { favourite: true }])
  const plain = talk()
  tree.labelBranch(plain, null, { name: 'x' })
  tree.labelBranch(plain, null, { name: '' })
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
  assert.strictEqual(sessions.stopReason(edit.forkSession(session, 'u1')).kind, 'ready')
})

test('a branch that hangs on itself is walked once', () => {
  const session = { ...talk(), ext: { tree: { branches: [{ id: 'b', at: 'u1', state: {}, calls: {}, messages: [user('u1')] }] } } }
  assert.deepStrictEqual(tree.listBranches(session).map(({ id }) => id), [null, 'b'])
})

test('a tree that is none, and a branch that hangs on nothing, do no harm', () => {
  for (const odd of [null, 3, {}, { branches: 'x' }]) {
    const session = { ...talk(), ext: { tree: odd } }
    assert.deepStrictEqual(siblings(session), new Map())
    assert.strictEqual(tree.switchTo(session, 'b'), false)
    assert.strictEqual(tree.listBranches(session).length, 1)
  }
  const lost = { id: 'b', at: 'gone', messages: [user('u9')], state: {}, calls: {} }
  const looped = [{ id: 'x', at: 'u8', messages: [user('u9')], state: {}, calls: {} }, { id: 'y', at: 'u9', messages: [user('u8')], state: {}, calls: {} }]
  const session = { ...talk(), ext: { tree: { branches: [lost, ...looped] } } }
  for (const id of ['b', 'x', 'y']) assert.strictEqual(tree.switchTo(session, id), false)
  assert.strictEqual(treeOf(session).branches.length, 3)
})

test('a tree that anybody has written: never an error, and no approval comes with it', () => {
  const played = rounds(3000)
  const world = new World(3)
  for (let step = 0; step < 30; step++) world.act()
  for (let n = played[0]; n; n--) world.next()
  const VALUES = [null, 7, [], {}, 'x', { branches: [null] }, [[]]]
  for (let { length } = played; length; length--) {
    const session = copy(world.session)
    let left = Math.floor(world.next() * 120)
    const spoil = (node) => {
      for (const key of Object.keys(node)) {
        if (left-- === 0) node[key] = world.pick(VALUES)
        else if (node[key] && typeof node[key] === 'object') spoil(node[key])
      }
    }
    spoil(session.ext)
    siblings(session)
    const rows = tree.listBranches(session)
    for (const { id } of rows) if (id) tree.switchTo(session, id)
    edit.fork(session, session.messages[0].id)
    tree.labelBranch(session, null, { name: 'x' })
    for (const { id } of rows) if (id) tree.restore(session, tree.remove(session, id))
  }
  const answer = { status: 'resolved', payload: { approved: true } }
  const branch = { id: 'b', at: '', messages: [], state: { interrupts: [{ id: 'i', reason: 'tool_call', answer }] }, calls: { c: { state: 'asking' } } }
  const held = { grants: [{ tool: 'shell', decision: 'allow' }], tool: { shell: { auto_approve: true } } }
  const { session } = use('core/sanitize').sanitize({ id: 's', messages: [], ext: { held, limits: { max_steps: 9 }, temporary: true, tags: ['a'], tree: { branches: [branch] } } })
  assert.deepStrictEqual(session.ext, { tags: ['a'], tree: { branches: [{ ...branch, state: {}, calls: { c: { state: 'proposed' } } }] } })
})

// -- random sequences -----------------------------------------------------------------------------

test('random sequences: nothing is lost, the path stays valid, a switch restores what was left', () => {
  const seen = {}
  const played = rounds(300)
  for (const seed of played) {
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
  assert.ok(Object.values(seen).every((n) => n > played.length / 3), JSON.stringify(seen))
})

test('a run writes the active path as if there were no branches, and never what is set aside', () => {
  for (const seed of rounds(100)) {
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

/** What the server says of each session: its misfits, and the calls it would still have to settle. */
const SERVER = `
import json, sys
from server.agent.call_decisions import unanswered_calls
from server.lib.json_schema.validate import Schemas
from server.session.accept import _bad_answers
from server.session.schema import check
for line in sys.stdin:
    session = json.loads(line)
    found = check(session) + list(_bad_answers(session, Schemas()))
    print(json.dumps([found, [call["id"] for call, _, _ in unanswered_calls(session)]]))
`

test('the server takes every session that comes of it, and has no call to settle that has its result', (context) => {
  const worlds = rounds(150).map((seed) => new World(seed + 1000))
  for (const world of worlds) for (let step = 0; step < 25; step++) world.act()
  const input = worlds.map((world) => JSON.stringify(world.session)).join('\n')
  const child = spawnSync('python3', ['-c', SERVER], { cwd: ROOT, input, encoding: 'utf8', maxBuffer: 1 << 28 })
  if (child.error?.code === 'ENOENT') return context.skip('there is no python3')
  assert.strictEqual(child.status, 0, child.stderr)
  const answers = child.stdout.trim().split('\n').map((line) => JSON.parse(line))
  answers.forEach(([misfits, open], i) => {
    const { messages } = worlds[i].session
    const made = messages.flatMap((message) => (message.open ? [] : message.tool_calls ?? [])).map((call) => call.id)
    const answered = new Set(messages.map((message) => message.tool_call_id))
    assert.deepStrictEqual([misfits, open], [[], made.filter((id) => !answered.has(id))])
  })
})

test('a result that a person changes can still be cited', () => {
  const found = { results: [{ url: 'https://a.example', title: 'A', text: 'as it was' }] }
  const session = { id: 's', calls: {}, messages: [
    { id: 'a', role: 'assistant', content: '', tool_calls: [{ id: 'c1', type: 'function', function: { name: 'web_search', arguments: '{}' } }] },
    { id: 't', role: 'tool', tool_call_id: 'c1', content: '', result: { status: 'ok', result: found, sources: { 's1.1': '/results/0' } } },
  ] }
  const { find } = use('core/sources')
  edit.editResult(session, 'c1', { value: { results: [{ ...found.results[0], text: 'as I say' }] } })
  assert.strictEqual(find(session, 's1.1').text, 'as I say')
  edit.editResult(session, 'c1', { value: 'no more' })
  assert.strictEqual(find(session, 's1.1'), null)
})
