// Runs as the page has them: whatever a person does in any moment in which a run comes to rest is done, and done once.
// The moments are all calls that the session store makes, both ends of what is stored, and the turns of the event loop between.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const path = require('node:path')
const { use, has, JS } = require('./load-modules.js')
const { FakeServer } = require('./fake-server.js')
const { FakeIDB } = require('./fake-idb.js')

globalThis.matchMedia ??= () => ({ matches: false, addEventListener() {} })
for (const name of ['ui/session-store', 'ui/session-edits', 'ui/dom', 'ui/i18n', 'ui/popup', 'i18n/en']) require(path.join(JS, `${name}.js`))
const { openSessionStore, isActive } = use('ui/session-store')
const apis = use('io/api')
const locks = use('io/lock')
const sessions = use('core/session')
const { open: openStore } = use('io/store-idb')

/** Turns of the event loop after which what has not happened never will. */
const TURNS = 300
const turn = () => new Promise(setImmediate)
const yes = { status: 'resolved', payload: { approved: true } }
const no = { status: 'resolved', payload: { approved: false } }
const spoken = ({ messages }) => messages.filter((message) => !message.open).map((message) => `${message.role}: ${message.content}`)
const WHOLE = ['user: list the files', 'assistant: Let me look.', 'tool: a.txt\nb.txt', 'assistant: There are two files. 你好']

/** A page with a session store and one session in it; `moment()` is called in every moment. */
async function page({ moment = () => {}, prepare = () => {} } = {}) {
  const kept = new Map()
  const heard = []
  const said = []
  const unsaid = []
  const gone = []
  const drawn = []
  Object.assign(globalThis, {
    indexedDB: new FakeIDB(), document: Object.assign(new EventTarget(), { querySelectorAll: () => [] }), addEventListener() {}, removeEventListener() {},
    sessionStorage: { getItem: (name) => kept.get(name) ?? null, setItem: (name, value) => kept.set(name, value), removeItem: (name) => kept.delete(name) },
    BroadcastChannel: class {
      addEventListener(_, callback) { heard.push(callback) }
      removeEventListener(_, callback) { heard.splice(heard.indexOf(callback), 1) }
      postMessage(message) { said.push(message) }
    },
  })
  const server = new FakeServer()
  const stored = await openStore()
  const put = async (...rest) => {
    moment()
    const done = await stored.put(...rest)
    moment()
    return done
  }
  const store = { ...stored, put }
  const calls = { begins: 0, rests: 0, ends: 0 }
  const count = (name) => { calls[name] += 1; moment() }
  const api = apis.create({ base: 'http://yaa.test', key: 'k', fetch: server.fetch })
  const sessionStore = openSessionStore({
    store, api: () => api, prepare, onChange: (id) => { drawn.push(id); moment() }, onEnd: () => count('ends'), 
    onUnsaid: (entry, words) => unsaid.push(words),
  })
  sessionStore.hooks.push({ onStart: () => count('begins'), onEvent: () => moment(), onRest: () => count('rests'), onGone: (entry) => gone.push(entry.session.id) > 0 })
  const tell = (message) => Promise.all(heard.map((callback) => callback({ data: message })))
  return { sessionStore, store, server, calls, kept, said, unsaid, gone, drawn, tell, entry: sessionStore.fresh() }
}

/** @param {() => any} wanted */
async function until(wanted) {
  for (let n = 0; n < TURNS && !wanted(); n++) await turn()
  for (let n = 0; n < 50 && !wanted(); n++) await new Promise((resolve) => { setTimeout(resolve, 10) }) // a lock is asked for more than once
}

/**
 * Does `act` once in each moment in which it `can` be done, each in a page of its own, and checks what came of it.
 * @param {{begin: (page: any) => any, can: (page: any) => any, act: (page: any) => any, over: (page: any) => boolean, check: (page: any, at: string) => any}} scene
 * @returns {Promise<number>} how many moments there are
 */
async function everywhere({ begin, can, act, over, check }) {
  for (let at = 0; ; at++) {
    let n = 0
    let acted = false
    let here = null
    const moment = () => {
      if (acted || !here || !can(here) || n++ !== at) return
      acted = true
      act(here)
    }
    here = await page({ moment })
    begin(here)
    for (let quiet = 0; !acted && quiet < 20; quiet = isActive(here.entry) ? 0 : quiet + 1) {
      await turn()
      moment()
    }
    if (!acted) return at
    await until(() => over(here))
    for (let more = 0; more < 20; more++) await turn()
    check(here, `moment ${at}`)
  }
}

/** Every run has come to rest, and nothing of it is left. */
function atRest({ calls, kept, entry, server }, runs, name) {
  assert.deepStrictEqual(calls, { begins: runs, rests: runs, ends: runs }, name)
  assert.strictEqual(server.posted.length, runs, name)
  assert.deepStrictEqual([isActive(entry), entry.elsewhere, kept.get('yaa.running')], [false, false, '[]'], name)
}

const open = ({ entry }) => sessions.openInterrupts(entry.session)
const asks = (page) => !isActive(page.entry) && open(page).length > 0
const isDone = ({ entry }) => !isActive(entry) && entry.state?.phase === 'done'
const begin = ({ sessionStore, entry }) => sessionStore.send(entry, 'list the files')

test('an answer given in any moment since it is asked for is taken, once; the first of several counts', async () => {
  for (const given of [[yes], [yes, yes], [yes, no]]) {
    const moments = await everywhere({
      begin, can: (page) => open(page).length,
      act: (page) => {
        const { id } = open(page)[0]
        for (const one of given) page.sessionStore.answer(page.entry, [[id, one]])
      },
      over: isDone,
      check: (page, name) => {
        atRest(page, 2, name)
        assert.deepStrictEqual([spoken(page.entry.session), page.server.executions], [WHOLE, 1], name)
        assert.strictEqual(page.entry.state.diverged, undefined, name)
      },
    })
    assert.ok(moments > 20, `${moments} moments`)
  }
})

test('an answer that comes when it has been given by another hand begins nothing', async () => {
  const here = await page()
  begin(here)
  await until(() => asks(here))
  const [{ id }] = open(here)
  here.sessionStore.answer(here.entry, [[id, yes]])
  await until(() => here.entry.state.phase === 'streaming')
  await here.sessionStore.answer(here.entry, [[id, yes]])
  await until(() => isDone(here))
  atRest(here, 2, 'the second')
  await here.sessionStore.answer(here.entry, [[id, yes]])
  atRest(here, 2, 'the third')
})

test('an answer to a run that is still on is shown as given at once, and no longer when it has been taken', async () => {
  const given = ({ entry }) => sessions.items(entry.session, { live: true, given: entry.given }).flatMap(({ calls }) => calls).map((one) => one.interrupt?.answer)
  const seen = []
  const moments = await everywhere({
    begin, can: (page) => isActive(page.entry) && open(page).length,
    act: (page) => {
      const [{ id }] = open(page)
      for (const one of [yes, no]) page.sessionStore.answer(page.entry, [[id, one]])
      seen.push([given(page), open(page).length])
    },
    over: isDone,
    check: (page, name) => assert.deepStrictEqual([page.entry.given.size, spoken(page.entry.session)], [0, WHOLE], name),
  })
  assert.ok(moments, 'there are such moments')
  for (const one of seen) assert.deepStrictEqual(one, [[yes], 1], 'given, and not yet in the session')
})

test('what is stopped in any moment since it was begun stops', async () => {
  const moments = await everywhere({
    begin, can: ({ entry }) => isActive(entry) && entry.run && !open({ entry }).length, act: ({ entry }) => entry.run.stop(),
    over: ({ entry }) => !isActive(entry),
    check: ({ entry, kept }, name) => {
      assert.deepStrictEqual([entry.state.phase, entry.state.reason, kept.get('yaa.running')], ['interrupted', 'stopped', '[]'], name)
    },
  })
  assert.ok(moments > 10, `${moments} moments`)
})

test('a run that is stopped before it has its session is not sent', async () => {
  const here = await page()
  const drawn = here.drawn.length
  begin(here)
  assert.strictEqual(here.drawn.length, drawn + 1, 'there is something to stop on the page, too')
  here.entry.run.stop()
  await until(() => !isActive(here.entry))
  assert.deepStrictEqual([here.entry.state.reason, here.server.posted.length], ['stopped', 0])
  here.sessionStore.retry(here.entry)
  await until(() => asks(here))
  assert.deepStrictEqual(spoken(here.entry.session), WHOLE.slice(0, 2))
})

test('a stopped run goes on in any moment in which that is offered', async () => {
  await everywhere({
    begin: async (page) => {
      begin(page)
      await until(() => page.entry.state.phase === 'streaming')
      page.entry.run.stop()
    },
    can: ({ entry }) => entry.state?.phase === 'interrupted', act: ({ sessionStore, entry }) => sessionStore.retry(entry), over: asks,
    check: (page, name) => {
      atRest(page, 2, name)
      assert.deepStrictEqual(spoken(page.entry.session), WHOLE.slice(0, 2), name)
    },
  })
})

test('what is said, and what is changed, in any moment in which nothing runs is kept and sent', async () => {
  await everywhere({
    begin, can: asks,
    act: ({ sessionStore, entry }) => {
      sessionStore.edit(entry, (session) => { session.agent = 'other'; return true }).then((done) => assert.strictEqual(done, true))
      sessionStore.amend(entry, (session) => { session.character = 'kind' })
      setImmediate(() => sessionStore.send(entry, 'more'))
    },
    over: (page) => page.server.posted.length === 2 && asks(page),
    check: (page, name) => {
      atRest(page, 2, name)
      const [, { agent, character, messages }] = page.server.posted
      assert.deepStrictEqual([agent, character, messages.at(-1).content], ['other', 'kind', 'more'], name)
    },
  })
})

test('a run that is stopped while it waits for a connection rests like any other', async (context) => {
  const here = await page()
  const other = locks.create()
  const taken = await Promise.all([0, 1, 2, 3].map((n) => other.acquire(`stream ${n}`)))
  const free = () => Promise.all(taken.splice(0).map((release) => release()))
  context.after(free)
  begin(here)
  await until(() => here.entry.state.reason === 'queued')
  assert.deepStrictEqual([isActive(here.entry), here.kept.get('yaa.running')], [true, JSON.stringify([here.entry.session.id])])
  here.entry.run.stop()
  await until(() => here.said.at(-1)?.running === false)
  assert.deepStrictEqual([here.entry.state.phase, here.entry.state.reason], ['interrupted', 'stopped'])
  assert.deepStrictEqual([here.calls, here.kept.get('yaa.running'), here.server.posted.length], [{ begins: 1, rests: 1, ends: 1 }, '[]', 0])
  await free()
  here.sessionStore.retry(here.entry)
  await until(() => asks(here))
  assert.deepStrictEqual(spoken(here.entry.session), WHOLE.slice(0, 2))
})

test('a run that is stopped while a server that hangs is asked whether it is there rests at once, and nothing of it was sent', async () => {
  const here = await page()
  begin(here)
  await until(() => asks(here))
  let asked = false
  here.server.health = ({ signal }) => new Promise((_, gone) => {
    asked = true
    signal.onabort = () => gone(signal.reason)
  })
  const [{ id, call_id: call }] = open(here)
  here.sessionStore.answer(here.entry, [[id, yes]])
  await until(() => asked)
  here.entry.run.stop()
  await until(() => !isActive(here.entry))
  assert.deepStrictEqual([isActive(here.entry), here.entry.state?.reason, here.server.posted.length], [false, 'stopped', 1])
  assert.strictEqual(here.entry.session.calls[call].state, 'asking')
  here.server.health = () => Response.json({})
  here.sessionStore.retry(here.entry)
  await until(() => isDone(here))
  assert.deepStrictEqual([spoken(here.entry.session), here.server.executions], [WHOLE, 1])
})

test('what another tab has stored does not come under a run that begins meanwhile', async () => {
  const here = await page()
  const { entry, store } = here
  const { get } = store
  begin(here)
  await until(() => asks(here))
  store.get = (id) => {
    here.sessionStore.answer(entry, [[open(here)[0].id, yes]])
    return get(id)
  }
  await here.tell({ changed: [entry.session.id], running: false })
  await until(() => isDone(here))
  atRest(here, 2)
  assert.deepStrictEqual(spoken(entry.session), WHOLE)
})

test('what another tab has stored does not take the place of what is written here while it is read', async () => {
  for (const held of ['get', 'put']) {
    const here = await page()
    const { entry, store, sessionStore } = here
    const { id } = entry.session
    begin(here)
    await until(() => asks(here))
    const { get, put } = store
    let heard = null
    const hear = () => { heard = here.tell({ changed: [id], running: false }) }
    Object.assign(store, held === 'get' ? {
      async get() { // as it was before
        store.get = get
        const before = await get(id)
        await sessionStore.rename(id, 'Mine')
        return before
      },
    } : {
      async put(...rest) { // it is read before it is stored
        store.put = put
        hear()
        for (let n = 0; n < 20; n++) await turn()
        return put(...rest)
      },
    })
    await (held === 'get' ? hear() : sessionStore.rename(id, 'Mine'))
    await heard
    assert.deepStrictEqual([entry.session.title, (await get(id)).title], ['Mine', 'Mine'], held)
  }
})

test('a session that another tab runs is said to be there, and can be tried again', async (context) => {
  const here = await page()
  const release = await locks.create().acquire(`session ${here.entry.session.id}`)
  context.after(release)
  begin(here)
  await until(() => here.said.some(({ who }) => who))
  await here.tell({ changed: [here.entry.session.id], running: true })
  await until(() => here.entry.elsewhere && !isActive(here.entry))
  assert.deepStrictEqual([here.entry.elsewhere, here.entry.state, here.server.posted.length], [true, null, 0])
  await turn()
  assert.deepStrictEqual([here.unsaid, here.entry.session.messages], [['list the files'], []], 'what was said is given back')
  await release()
  begin(here)
  await until(() => asks(here))
  assert.deepStrictEqual([here.entry.elsewhere, here.server.posted.length, here.unsaid.length], [false, 1, 1])
})

test('a session that is opened twice at once is one', async () => {
  const { sessionStore, store } = await page()
  await store.put(sessions.create({ id: 'stored' }))
  const [one, two] = await Promise.all([sessionStore.open('stored'), sessionStore.open('stored')])
  assert.strictEqual(one, two)
  assert.strictEqual(sessionStore.entry('stored'), one)
})

test('a session that is named under its run is still known to have begun what was allowed', async () => {
  const here = await page()
  const { sessionStore, store, server, entry } = here
  begin(here)
  await until(() => asks(here))
  const [{ id, call_id: call }] = open(here)
  server.instead.push(({ options: { signal } }) => new Promise((_, gone) => { signal.onabort = () => gone(signal.reason) })) // sent, and nothing heard
  sessionStore.answer(entry, [[id, yes]])
  await until(() => !server.instead.length)
  await sessionStore.rename(entry.session.id, 'A name')
  const { title, calls } = await store.get(entry.session.id)
  entry.run.stop()
  await until(() => !isActive(entry))
  assert.deepStrictEqual([title, calls[call].state], ['A name', 'started'])
})

test('what is changed in a session that another tab runs waits beside it, over a reload too, and is made by who has its lock next', async (context) => {
  const here = await page()
  const { sessionStore, store, server, entry, said, tell } = here
  begin(here)
  await until(() => asks(here) && !isActive(entry))
  const { id } = entry.session
  const waiting = async () => (await store.look(id)).changes.map(({ path }) => path.join('.'))
  const before = (await store.get(id)).title
  const release = await locks.create().acquire(`session ${id}`)
  context.after(release)
  await sessionStore.rename(id, 'From here')
  await sessionStore.amend(entry, (one) => { one.config = { limits: { max_steps: 2 } } })
  assert.deepStrictEqual([entry.session.title, (await store.get(id)).title, await waiting()], ['From here', before, ['title', 'config.limits.max_steps']])
  assert.deepStrictEqual(said.filter((message) => message.later), [{ later: id }, { later: id }])
  entry.later = [] // as after a reload
  await tell({ changed: [id], running: true })
  await release()
  await tell({ changed: [id], running: false })
  await until(() => !entry.stored.length)
  const stored = await store.get(id)
  assert.deepStrictEqual([stored.title, stored.config.limits, await waiting()], ['From here', { max_steps: 2 }, []])
})

test('what another tab changes under a run of this one: a name at once, settings when it rests', async () => {
  const here = await page()
  const { sessionStore, store, server, entry, tell } = here
  begin(here)
  await until(() => asks(here) && !isActive(entry))
  const { id } = entry.session
  const [{ id: question, call_id: call }] = open(here)
  server.instead.push(({ options: { signal } }) => new Promise((_, gone) => { signal.onabort = () => gone(signal.reason) }))
  sessionStore.answer(entry, [[question, yes]])
  await until(() => !server.instead.length)
  const set = (path, value) => ({ id: path.join(), kind: 'set', path, value })
  await store.post(id, [set(['title'], 'From there'), set(['ext', 'tags'], ['x']), set(['config', 'limits', 'max_steps'], 2)])
  await tell({ later: id })
  const { title, ext, calls, config } = await store.get(id)
  assert.deepStrictEqual([title, ext, calls[call].state, config], ['From there', { tags: ['x'] }, 'started', undefined])
  entry.run.stop()
  await until(() => !isActive(entry))
  const stored = await store.get(id)
  assert.deepStrictEqual([stored.title, stored.config.limits, (await store.look(id)).changes], ['From there', { max_steps: 2 }, []])
})

test('what is deleted under its run stays deleted, also when another tab deletes it', async () => {
  for (const other of [false, true]) {
    const here = await page()
    const { sessionStore, store, server, entry, said, tell } = here
    begin(here)
    await until(() => asks(here) && !isActive(entry))
    const { id } = entry.session
    const [{ id: question }] = open(here)
    server.instead.push(({ options: { signal } }) => new Promise((_, gone) => { signal.onabort = () => gone(signal.reason) }))
    sessionStore.answer(entry, [[question, yes]])
    await until(() => !server.instead.length)
    if (other) await tell({ removed: id })
    else assert.strictEqual((await sessionStore.remove(id)).id, id)
    await until(() => !isActive(entry))
    for (let n = 0; n < TURNS; n++) await turn()
    assert.deepStrictEqual([await store.get(id), sessionStore.heads(), server.posted.length], [null, [], 1], String(other))
    assert.strictEqual(said.filter((message) => message.removed).length, 1)
  }
})

test('what is set in one tab is told to the others, and holds in them', async () => {
  const here = await page()
  const { sessionStore, store, entry, said, tell } = here
  begin(here)
  await until(() => asks(here) && !isActive(entry))
  const { id } = entry.session
  await turn()
  said.length = 0
  await sessionStore.amend(entry, (one) => { one.config = { ...one.config, limits: { max_steps: 3 } } })
  assert.deepStrictEqual([said, (await store.get(id)).config.limits], [[{ changed: [id], running: false }], { max_steps: 3 }])
  const elsewhere = await store.get(id)
  await tell({ changed: [id], running: true }) // another tab runs it: what is set meanwhile waits, and is kept when that ends
  const release = await locks.create().acquire(`session ${id}`)
  await sessionStore.amend(entry, (one) => { one.agent = 'coder' })
  await release()
  said.length = 0
  await store.put({ ...elsewhere, title: 'from there' })
  await tell({ changed: [id], running: false })
  await until(() => said.length)
  const { title, agent, config } = await store.get(id)
  assert.deepStrictEqual([title, agent, config.limits], ['from there', 'coder', { max_steps: 3 }])
})

test('a file that one tab uploads is in what another sends, though that one has not heard of it', async () => {
  const here = await page()
  const { sessionStore, store, entry, server, tell } = here
  const trees = ['a', 'b'].map((sign) => sign.repeat(64))
  begin(here)
  await until(() => asks(here) && !isActive(entry))
  await sessionStore.answer(entry, [[open(here)[0].id, yes]])
  await sessionStore.amend(entry, (one) => { one.workspace = { tree: trees[0], message: one.messages.at(-1).id } })
  const { id } = entry.session
  const theirs = await store.get(id)
  await store.put({ ...theirs, workspace: { ...theirs.workspace, tree: trees[1] } })
  await sessionStore.send(entry, 'what is there?')
  const sent = () => server.posted.at(-1)
  assert.deepStrictEqual([sent().workspace.tree, sent().messages.at(-1).content], [trees[1], 'what is there?'])
})

test('a file that is uploaded under a run of another tab is in the next', { skip: !has('ext/files') }, async () => {
  const files = use('ext/files/session-files')
  const here = await page()
  const { sessionStore, store, entry, server, tell } = here
  const tree = 'c'.repeat(64)
  const app = { sessionStore, current: entry, server: { info: () => ({ workspace: {} }), api: () => ({ base: '', ask: async () => ({ tree }) }) } }
  begin(here)
  await until(() => asks(here) && !isActive(entry))
  await sessionStore.answer(entry, [[open(here)[0].id, yes]])
  const { id } = entry.session
  const sent = () => server.posted.at(-1)
  sessionStore.hooks.push({ onStart: (one) => files.takeUploads(app, one, (tree) => files.stand(one.session, tree)), onEvent() {}, onRest() {} })
  const release = await locks.create().acquire(`session ${id}`) // another tab runs it
  await tell({ changed: [id], running: true })
  await files.adopt(app, entry, tree)
  await release()
  await tell({ changed: [id], running: false })
  await until(async () => (await store.get(id)).ext?.uploaded)
  await sessionStore.send(entry, 'and now?')
  assert.deepStrictEqual([sent().workspace.tree, sent().ext?.uploaded, sent().messages.at(-1).content], [tree, undefined, 'and now?'])
  assert.deepStrictEqual((await store.get(id)).workspace.tree, tree)
})

test('an answer that another tab has stored is not written over', async () => {
  for (const hears of [true, false]) {
    const here = await page()
    const { sessionStore, store, entry, tell } = here
    begin(here)
    await until(() => asks(here) && !isActive(entry))
    const { id } = entry.session
    const [{ id: first, ...question }] = open(here)
    entry.session.interrupts.push({ ...question, id: 'second', call_id: 'c2' }, { ...question, id: 'third', call_id: 'c3' })
    const theirs = structuredClone(entry.session)
    sessions.answer(theirs, first, no)
    await store.put(theirs)
    if (hears) await tell({ changed: [id], running: false })
    await sessionStore.answer(entry, [['second', yes], ...(hears ? [] : [[first, yes]])])
    const stored = await store.get(id)
    assert.deepStrictEqual(stored.interrupts.map(({ answer }) => answer ?? null), [no, yes, null], String(hears))
    assert.deepStrictEqual(entry.session.interrupts, stored.interrupts)
  }
})

test('what is stored for a moment does not keep a run of the same tab from its lock', async () => {
  const here = await page()
  const { sessionStore, store, entry } = here
  begin(here)
  await until(() => asks(here) && !isActive(entry))
  const [{ id: question }] = open(here)
  const renamed = sessionStore.rename(entry.session.id, 'named')
  const again = sessionStore.answer(entry, []) // nothing to answer: it is stored
  await Promise.all([renamed, again, sessionStore.answer(entry, [[question, yes]])])
  await until(() => !isActive(entry) && !asks(here))
  assert.deepStrictEqual([here.unsaid.length, entry.elsewhere, (await store.get(entry.session.id)).title], [0, false, 'named'])
})

test('what another tab deletes is said where it is shown, and stays until a person wants it back', async () => {
  const here = await page()
  const { sessionStore, entry, gone, tell } = here
  begin(here)
  await until(() => asks(here) && !isActive(entry))
  const { id } = entry.session
  await tell({ removed: id })
  assert.deepStrictEqual([gone, sessionStore.entry(id)], [[id], entry])
  await tell({ removed: 'unknown' })
  assert.deepStrictEqual(gone, [id])
})

test('a mistake of ours as a run begins leaves nothing running, and it can be tried again', async (context) => {
  const { error } = console
  context.after(() => { console.error = error })
  const said = []
  console.error = (one) => said.push(one.message)
  const here = await page({ prepare: () => { if (!said.length) throw new Error('a mistake') } })
  begin(here)
  await until(() => said.length && !isActive(here.entry))
  assert.deepStrictEqual([said, here.entry.state.reason, here.entry.state.error.message, here.kept.get('yaa.running')], [['a mistake'], 'gave_up', 'a mistake', '[]'])
  assert.deepStrictEqual(spoken(await here.store.get(here.entry.session.id)), WHOLE.slice(0, 1), 'what was said is stored')
  here.sessionStore.retry(here.entry)
  await until(() => asks(here))
  assert.deepStrictEqual(spoken(here.entry.session), WHOLE.slice(0, 2))
})

test('a script that never comes: what was said is stored and listed before it is asked for, and can be stopped', async () => {
  const seen = []
  const here = await page({ prepare: async (session) => {
    seen.push(spoken(await here.store.get(session.id)), here.kept.get('yaa.running'))
    await new Promise(() => {})
  } })
  begin(here)
  await until(() => seen.length === 2)
  assert.deepStrictEqual(seen, [WHOLE.slice(0, 1), JSON.stringify([here.entry.session.id])])
  await until(() => here.sessionStore.heads().length)
  assert.deepStrictEqual(here.sessionStore.heads().map(({ id }) => id), [here.entry.session.id])
  assert.ok(here.entry.state.since > 0, 'since when it waits')
  here.entry.run.stop()
  await until(() => !isActive(here.entry))
  assert.deepStrictEqual([here.entry.state.reason, here.server.posted.length], ['stopped', 0])
})

test('where the data of the site has been cleared that is said, and what is open stays in the list; what is deleted is not lost', async (context) => {
  const said = []
  const { dispatchEvent: before } = globalThis
  globalThis.dispatchEvent = ({ type, detail }) => type === 'yaa-storage' && said.push(detail)
  context.after(() => { globalThis.dispatchEvent = before })
  const { sessionStore, store, entry, tell } = await page()
  const ids = () => sessionStore.heads().map(({ id }) => id).sort()
  for (const id of ['a', 'b', 'c', 'd']) await store.put({ ...entry.session, id, messages: [{ id: 'u', role: 'user', content: id, at: 1 }] })
  await sessionStore.refresh()
  const open = await sessionStore.open('a')
  await sessionStore.remove('b')
  await store.delete('c')
  await tell({ removed: 'c' })
  await sessionStore.refresh()
  assert.deepStrictEqual([said, ids()], [[], ['a', 'd']])
  for (const id of ['a', 'd']) await store.delete(id)
  await sessionStore.refresh()
  assert.deepStrictEqual([said, ids()], [[{ code: 'cleared', message: '2' }], ['a']])
  await sessionStore.amend(open, (one) => { one.title = 'T' })
  assert.deepStrictEqual([said.length, ids(), (await store.get('a')).title], [1, ['a'], 'T'])
})

test('what is brought back takes the place of what is open, but not under a run', async () => {
  const here = await page()
  const { sessionStore, entry, store } = here
  begin(here)
  const { id } = entry.session
  const later = () => ({ ...structuredClone(entry.session), rev: 9, title: 'from the copy' })
  assert.strictEqual(await sessionStore.restore(later()), false)
  await until(() => asks(here))
  assert.deepStrictEqual([entry.session.title, (await store.get(id)).title], [undefined, undefined])
  assert.strictEqual(await sessionStore.restore(later()), true)
  assert.deepStrictEqual([entry.session.title, entry.state, (await store.get(id)).title], ['from the copy', null, 'from the copy'])
  await sessionStore.rename(id, 'mine')
  assert.deepStrictEqual([entry.session.rev, (await store.get(id)).rev], [9, 9], 'what is changed next is what came back')
})

test('what a person says while a copy waits to take the place of what is open is not lost', async () => {
  for (let turns = 0; turns < 12; turns++) {
    const here = await page()
    const { sessionStore, entry, server } = here
    await sessionStore.restore({ ...entry.session, messages: [{ id: 'u1', role: 'user', content: 'one' }] })
    const others = sessionStore.edit(entry, () => {}) // has the lock
    const taken = sessionStore.restore({ ...structuredClone(entry.session), title: 'from the copy' })
    for (let n = 0; n < turns; n++) await Promise.resolve()
    sessionStore.send(entry, 'two')
    await Promise.all([others, taken])
    await until(() => server.posted.length)
    const said = server.posted[0].messages.filter(({ role }) => role === 'user').map(({ content }) => content)
    assert.deepStrictEqual(said, ['one', 'two'], `after ${turns} turns`)
    await until(() => !isActive(entry))
  }
})

test('all that is stored is told of, as a folder is written by it, and a temporary session is not', async (context) => {
  const here = await page()
  /** @type {string[]} */ const saved = []
  globalThis.dispatchEvent = ({ type, detail }) => saved.push(`${type} ${detail.title}`)
  context.after(() => { delete globalThis.dispatchEvent })
  const { sessionStore, entry } = here
  await sessionStore.restore({ ...entry.session, title: 'one' })
  await sessionStore.rename(entry.session.id, 'two')
  sessionStore.edit(entry, (session) => { session.title = 'three' })
  await until(() => saved.length > 2)
  entry.session.ext = { temporary: true }
  await sessionStore.rename(entry.session.id, 'four')
  assert.deepStrictEqual(saved, ['yaa-saved one', 'yaa-saved two', 'yaa-saved three'])
})

test('of a temporary session nothing is stored, also of what is set or waits while it runs', async () => {
  const here = await page()
  const { sessionStore, store, entry } = here
  const { id } = entry.session
  entry.session.ext = { temporary: true }
  begin(here)
  await until(() => isActive(entry))
  sessionStore.amend(entry, (session) => { session.title = 'secret' })
  sessionStore.queue(entry, 'q1', 'secret words')
  await until(() => asks(here))
  assert.deepStrictEqual([await store.get(id), (await store.look(id)).changes, await store.list()], [null, [], []])
  assert.deepStrictEqual([entry.session.title, entry.session.ext.queue], ['secret', { q1: 'secret words' }])
})

test('of many that come, change and go at once the list is made once, and other tabs hear of them together', async () => {
  const here = await page()
  const { sessionStore, said, store, drawn } = here
  let lists = 0
  const { list } = store
  store.list = () => { lists += 1; return list() }
  const many = Array.from({ length: 20 }, (_, i) => ({ ...sessions.create({ id: `s${i}` }), messages: [{ id: `m${i}`, role: 'user', content: 'x' }] }))
  const ids = many.map(({ id }) => id)
  for (const one of many) await sessionStore.restore(one, true)
  for (const id of ids) await sessionStore.change(id, (one) => { one.title = 'T' }, true)
  for (const id of ids.slice(5)) await sessionStore.remove(id, true)
  assert.deepStrictEqual([lists, sessionStore.heads().length, said.filter((one) => one.changed)], [0, 0, []])
  sessionStore.entry('s0').session.ext = { temporary: true }
  await sessionStore.changed(...ids)
  assert.deepStrictEqual([lists, said.filter((one) => one.changed)], [1, [{ changed: ids.slice(1), running: false }]])
  assert.deepStrictEqual([sessionStore.heads().filter((head) => head.title === 'T').length, drawn.slice(-20)], [5, ids], 'five, and none of them twice')
  await store.put({ ...many[1], title: 'from there' })
  await here.tell({ changed: ids.slice(0, 3), running: false })
  assert.deepStrictEqual([lists, sessionStore.entry('s1').session.title, sessionStore.entry('s2').session.title], [2, 'from there', 'T'])
})

test('what another tab ran until it was closed goes on from where that tab came to, with what is said or named here', async () => {
  for (const act of ['retry', 'send', 'rename']) {
    const here = await page()
    const { sessionStore, store, server, entry: { session: { id } } } = here
    const asked = { ...here.entry.session, messages: [{ id: 'u1', role: 'user', content: 'list the files', at: 1 }] }
    await store.put(asked)
    await here.tell({ changed: [id], running: true })
    assert.strictEqual(here.entry.elsewhere, true)
    const there = [
      { type: 'RUN_STARTED', metadata: { yaa: { run: { id: 'r' } } } }, { type: 'TEXT_MESSAGE_START', messageId: 'm1' },
      { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm1', delta: 'I did it.' }, { type: 'TEXT_MESSAGE_END', messageId: 'm1' },
    ]
    for (const event of there) store.append(id, event)
    await store.flush()
    if (act === 'retry') sessionStore.retry(here.entry)
    if (act === 'send') sessionStore.send(here.entry, 'and then?')
    if (act === 'rename') await sessionStore.rename(id, 'T')
    else await until(() => server.posted.length)
    const expected = ['user: list the files', 'assistant: I did it.', ...(act === 'send' ? ['user: and then?'] : [])]
    assert.deepStrictEqual(spoken(act === 'rename' ? await store.get(id) : server.posted[0]), expected, act)
    assert.strictEqual(here.entry.elsewhere, false)
    here.entry.run?.stop()
    await until(() => !isActive(here.entry))
  }
})

test('where a tab may store nothing, sessions run and open all the same', async () => {
  const here = await page()
  Object.defineProperty(globalThis, 'sessionStorage', { configurable: true, get() { throw new DOMException('denied', 'SecurityError') } })
  begin(here)
  await until(() => asks(here))
  assert.deepStrictEqual(spoken(here.entry.session), WHOLE.slice(0, 2))
  await here.store.put({ ...here.entry.session, id: 'other' })
  assert.strictEqual((await here.sessionStore.open('other')).session.id, 'other')
  delete globalThis.sessionStorage
})
