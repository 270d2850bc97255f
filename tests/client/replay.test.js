// A document as the events that make it: to the end they give the document, on the way every state can be looked at.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const { spawnSync } = require('node:child_process')
const { use, ROOT, cpu } = require('./load-modules.js')

const { replay, sessionAfter } = use('ext/time/replay')
const { pack, unpack, idsOf } = use('ext/time/event-recording')
const { fold } = use('core/fold')
const { canonical } = use('core/canonical-json')
const { items } = use('core/session')

const vectors = JSON.parse(fs.readFileSync(path.join(ROOT, 'tests', 'vectors', 'fold.json'), 'utf8'))
const cases = Array.isArray(vectors) ? vectors : vectors.cases

function sequences(count, seed) {
  const child = spawnSync('python3', ['-m', 'tests.session.sequences', String(count), String(seed)], { cwd: ROOT, encoding: 'utf8', maxBuffer: 1 << 28 })
  assert.strictEqual(child.status, 0, child.stderr)
  return child.stdout.trim().split('\n').map((line) => JSON.parse(line))
}

const whole = (replayed) => sessionAfter(replayed, replayed.events.length)
const documentOf = ({ session, events }) => {
  const copy = structuredClone(session)
  for (const event of structuredClone(events)) fold(copy, event)
  return copy
}
const recordingOf = ({ events }) => pack('r', events.map((event, n) => ({ at: 1000 + n, event })))

test('the shared vectors: every document is what its events fold to', () => {
  for (const each of cases) {
    const wanted = documentOf(each)
    const before = canonical(wanted)
    assert.strictEqual(canonical(whole(replay(wanted))), before, each.name)
    assert.strictEqual(canonical(whole(replay(wanted, [recordingOf(each)]))), before, `${each.name}, recorded`)
    assert.strictEqual(canonical(wanted), before, 'and stays as it was')
  }
})

test('random documents, legal and not', () => {
  for (const each of sequences(400, 21)) {
    const wanted = documentOf(each)
    assert.strictEqual(canonical(whole(replay(wanted))), canonical(wanted), JSON.stringify(each))
    assert.strictEqual(canonical(whole(replay(wanted, [recordingOf(each)]))), canonical(wanted), `recorded ${JSON.stringify(each)}`)
  }
})

test('a well-made session needs no repair of its messages', () => {
  const session = sample()
  const { events } = replay(session)
  const repaired = events.at(-1).ops.map((one) => one.path.split('/')[1])
  assert.ok(!repaired.includes('messages') && !repaired.includes('calls'), repaired.join())
})

test('any point on the way can be shown, and grows', () => {
  const replayed = replay(sample())
  const counts = replayed.events.map((_, n) => {
    const session = sessionAfter(replayed, n)
    items(session, { live: false })
    return session.messages.length
  })
  assert.deepStrictEqual(counts, [...counts].sort((a, b) => a - b))
  assert.deepStrictEqual(replayed.turns.map((turn) => sessionAfter(replayed, turn + 1).messages.at(-1).content), ['hi', 'and now?'])
  const texts = new Set(replayed.events.map((_, n) => sessionAfter(replayed, n).messages.findLast((one) => one.role === 'assistant')?.content))
  assert.ok(texts.size > 5, 'the answer is written piece by piece')
})

test('turns that are put aside while it folds come back: every moment is the same as without', () => {
  const session = sample()
  session.messages.splice(5, 0, { id: 'x1', role: 'system', content: 'x' })
  const replayed = replay(session)
  assert.strictEqual(replayed.whole, false)
  for (let n = 0; n <= replayed.events.length; n++) {
    assert.strictEqual(canonical(sessionAfter(replayed, n)), canonical(sessionAfter({ ...replayed, whole: true }, n)), String(n))
  }
  session.messages.push(structuredClone(session.messages[1]))
  assert.strictEqual(replay(session).whole, true)
})

test('what was recorded takes the place of what is made up; a run of another path does not', () => {
  const each = cases.find((one) => one.events.some((event) => event.type === 'TEXT_MESSAGE_CONTENT'))
  const wanted = documentOf(each)
  const recorded = replay(wanted, [recordingOf(each)])
  assert.strictEqual(recorded.recorded, each.events.length)
  assert.deepStrictEqual(recorded.events.filter((event) => event.type === 'TEXT_MESSAGE_CONTENT').map((event) => event.delta),
    each.events.filter((event) => event.type === 'TEXT_MESSAGE_CONTENT').map((event) => event.delta))
  const other = structuredClone(each)
  other.events.forEach((event) => { if (event.messageId) event.messageId = `x-${event.messageId}` })
  assert.strictEqual(replay(wanted, [recordingOf(other)]).recorded, 0)
  assert.strictEqual(replay(wanted, [{ run: 'r', lines: null }, { run: 'r', lines: [null, 5, { type: 'X' }] }]).recorded, 0)
})

test('a recording is smaller than its events, and gives them back', () => {
  const seen = Array.from({ length: 500 }, (_, n) => ({ at: n, event: { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm1', delta: `w${n} ` } }))
  seen.unshift({ at: 0, event: { type: 'TEXT_MESSAGE_START', messageId: 'm1', timestamp: 5 } })
  seen.splice(3, 0, { at: 2, event: { type: 'ACTIVITY_DELTA', messageId: 'out-c1', patch: [] } })
  const recording = pack('r1', seen)
  assert.ok(JSON.stringify(recording).length < JSON.stringify(seen).length / 4)
  const back = unpack(JSON.parse(JSON.stringify(recording)))
  assert.deepStrictEqual(back.map((event) => event.delta).filter(Boolean), seen.map(({ event }) => event.delta).filter(Boolean))
  assert.deepStrictEqual(idsOf(back), ['m1'])
  assert.deepStrictEqual(back[4].timestamp, 3)
})

test('a long session is replayed soon', () => {
  const session = sample()
  const turn = session.messages
  session.messages = Array.from({ length: 300 }, (_, n) => turn.map((one) => structuredClone({ ...one, id: `${one.id}-${n}`, tool_calls: undefined, role: one.role === 'tool' ? 'user' : one.role }))).flat()
  const started = cpu()
  assert.strictEqual(canonical(whole(replay(session))), canonical(session))
  assert.ok(cpu() - started < 3000, `${cpu() - started} ms`)
})

function sample() {
  const long = Array.from({ length: 60 }, (_, n) => `word${n}`).join(' ')
  return {
    id: 's', rev: 2, title: 'T', status: 'completed', finish_reason: 'completed', config: { yaa: {} }, interrupts: [], grants: [],
    calls: { c1: { name: 'shell', state: 'done', attempt: 1 }, c2: { name: 'shell', state: 'denied' } },
    messages: [
      { id: 'u1', role: 'user', content: 'hi', at: 10 },
      { id: 'a1', role: 'assistant', content: '', at: 20, reasoning: { text: long, id: 't1', field: 'reasoning' }, meta: { ms: 5 }, tool_calls: [
        { id: 'c1', type: 'function', function: { name: 'shell', arguments: '{"command":"ls"}' } }, { id: 'c2', type: 'function', function: { name: 'shell', arguments: '{}' } },
      ] },
      { id: 't1', role: 'tool', tool_call_id: 'c1', name: 'shell', content: 'x', at: 30, result: { status: 'ok', result: 'x' } },
      { id: 't2', role: 'tool', tool_call_id: 'c2', name: 'shell', content: 'denied', at: 31, is_error: true },
      { id: 'a2', role: 'assistant', content: `${long} 😀 ${long}`, at: 40, meta: {} },
      { id: 'u2', role: 'user', content: 'and now?', at: 90 },
      { id: 'a3', role: 'assistant', content: 'done', at: 95, meta: {} },
    ],
  }
}
