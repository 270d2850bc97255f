// The fold equals the server's: shared vectors, random sequences folded by both, hostile events, prefixes.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const { spawnSync } = require('node:child_process')
const { use, random, rounds, ROOT, cpu } = require('./load-modules.js')

const { fold, digest } = use('core/fold')
const { canonical } = use('core/canonical-json')
const VECTORS = path.join(ROOT, 'tests', 'vectors', 'fold.json')

function folded(session, events) {
  const copy = structuredClone(session)
  for (const event of structuredClone(events)) fold(copy, event)
  return copy
}

/** Folds JSON lines {session, events} with the server's Folder; gives canonical text and digest of each. */
function foldInPython(cases) {
  const script = [
    'import json, sys',
    'from server.lib.strict_json import canonical, loads',
    'from server.session.fold import Folder, digest',
    'for line in sys.stdin:',
    '    case = loads(line)',
    '    folder = Folder(case["session"])',
    '    for event in case["events"]:',
    '        folder.apply(event)',
    '    folder.flush()',
    '    since = folder.since',
    '    print(json.dumps([canonical(case["session"]), since, digest(case["session"], since)]))',
  ].join('\n')
  const input = cases.map((each) => JSON.stringify(each)).join('\n')
  const child = spawnSync('python3', ['-c', script], { cwd: ROOT, input, encoding: 'utf8', maxBuffer: 1 << 28 })
  assert.strictEqual(child.status, 0, child.stderr)
  return child.stdout.trim().split('\n').map((line) => JSON.parse(line))
}

/** Sequences made by tests/session/sequences.py; both sides read the same JSON text. */
function sequences(count, seed) {
  const child = spawnSync('python3', ['-m', 'tests.session.sequences', String(count), String(seed)], {
    cwd: ROOT, encoding: 'utf8', maxBuffer: 1 << 28,
  })
  assert.strictEqual(child.status, 0, child.stderr)
  return child.stdout.trim().split('\n').map((line) => JSON.parse(line))
}

test('the shared vectors', () => {
  const vectors = JSON.parse(fs.readFileSync(VECTORS, 'utf8'))
  const cases = Array.isArray(vectors) ? vectors : vectors.cases
  assert.ok(cases.length > 0)
  for (const each of cases) {
    const result = folded(each.session, each.events)
    const expected = typeof each.expected === 'string' ? each.expected : canonical(each.expected)
    assert.strictEqual(canonical(result), expected, each.name)
    if (each.digest) assert.strictEqual(digest(result, each.since), each.digest, each.name)
  }
})

test('random sequences fold to the same bytes on both sides', () => {
  const cases = sequences(1500, 7)
  const expected = foldInPython(cases)
  cases.forEach(({ session, events }, number) => {
    const result = folded(session, events)
    const [, since] = expected[number]
    assert.deepStrictEqual([canonical(result), since, digest(result, since)], expected[number], `sequence ${number}: ${JSON.stringify({ session, events })}`)
  })
})

test('every prefix folds, to a document that JSON can carry', () => {
  for (const { session, events } of sequences(60, 11)) {
    const copy = structuredClone(session)
    for (const event of events) {
      fold(copy, event)
      assert.strictEqual(canonical(JSON.parse(JSON.stringify(copy))), canonical(copy))
    }
  }
})

test('nothing makes it throw, and no prototype changes', () => {
  const played = rounds(20_000)
  const next = random(3 + played[0])
  const pick = (list) => list[Math.floor(next() * list.length)]
  const junk = [null, undefined, true, 0, -1, 1.5, '', 'x', 'm1', 'c1', [], {}, [null], [[]], { yaa: null }, { yaa: [] },
    JSON.parse('{"__proto__": {"polluted": 1}}'), { yaa: JSON.parse('{"__proto__": {"polluted": 1}}') }]
  const kinds = ['RUN_STARTED', 'RUN_FINISHED', 'RUN_ERROR', 'STATE_SNAPSHOT', 'STATE_DELTA', 'CUSTOM', 'TEXT_MESSAGE_START',
    'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END', 'REASONING_MESSAGE_START', 'REASONING_MESSAGE_CONTENT', 'TOOL_CALL_START',
    'TOOL_CALL_ARGS', 'TOOL_CALL_END', 'TOOL_CALL_RESULT', '__proto__', 'constructor', 'NEW']
  const paths = ['/yaa/__proto__/polluted', '/yaa/constructor/prototype/polluted', '/yaa/calls/__proto__/polluted', '/yaa/__proto__',
    '/yaa/messages/0', '/yaa', '', '/', 'yaa/x', '/0/__proto__/polluted', '/0/tool_calls', '/0/tool_calls/0', '/1/reasoning', '/0/content', '/yaa/calls/c1']
  const keys = ['messageId', 'toolCallId', 'toolCallName', 'parentMessageId', 'delta', 'value', 'content', 'message', 'snapshot',
    'result', 'metadata', 'name', 'timestamp', 'code']
  const events = []
  for (let { length } = played; length; length--) {
    const event = { type: pick(kinds) }
    for (const key of keys) {
      if (next() < 0.5) continue
      event[key] = next() < 0.3 ? pick(junk) : { messageId: pick(['m1', 'm2']), toolCallId: 'c1', parentMessageId: 'm1', delta: 'd' }[key] ?? pick(junk)
    }
    const operations = [null, 7, { op: pick(['add', 'replace', 'remove', 'test', 5]), path: pick(paths), value: pick(junk) }]
    if (event.type === 'STATE_DELTA' && next() < 0.9) event.delta = operations
    if (event.type === 'CUSTOM' && next() < 0.9) Object.assign(event, { name: 'yaa.messages', value: operations })
    if (event.type === 'CUSTOM' && next() < 0.3) Object.assign(event, { name: 'yaa.ids', value: pick(junk) })
    events.push(event)
  }
  const starts = [{}, { messages: null }, { messages: 'x' }, { messages: [null, 1, 'x', [], { tool_calls: 5 }, { tool_calls: [null, 3, {}] }, { reasoning: 'x' }] },
    { id: 's', messages: [{ id: 'm1', role: 'assistant', content: null, tool_calls: [{ id: 'c1' }], reasoning: null }], calls: { c1: 3 }, interrupts: [null, 4] }]
  for (const start of starts) {
    let session = structuredClone(start)
    events.forEach((event, n) => {
      fold(session, event)
      if (n % 50 === 49) session = structuredClone(start)
    })
  }
  for (const event of [null, undefined, 5, 'x', [], { type: null }, { type: {} }]) fold({ messages: [] }, event)
  assert.strictEqual({}.polluted, undefined)
  assert.strictEqual(Object.prototype.hasOwnProperty('polluted'), false)
})

test('a key called __proto__ is a key', () => {
  const session = { messages: [], calls: {} }
  fold(session, { type: 'STATE_DELTA', delta: [{ op: 'add', path: '/yaa/calls/__proto__', value: { state: 'done' } }] })
  assert.strictEqual(canonical(session), '{"calls":{"__proto__":{"state":"done"}},"messages":[]}')
  assert.strictEqual(Object.getPrototypeOf(session.calls), Object.prototype)
})

test('an event never changes, whatever is folded after it', () => {
  for (const { session, events } of sequences(60, 13)) {
    const before = canonical(events)
    const copy = structuredClone(session)
    for (const event of events) fold(copy, event)
    assert.strictEqual(canonical(events), before)
  }
})

test('a long answer costs linear time, however long the session', () => {
  const session = { messages: [] }
  for (let n = 0; n < 5000; n++) session.messages.push({ id: `u${n}`, role: 'user', content: 'x' })
  fold(session, { type: 'TEXT_MESSAGE_START', messageId: 'm' })
  const started = cpu()
  for (let n = 0; n < 100_000; n++) fold(session, { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'word ' })
  assert.strictEqual(session.messages.at(-1).content.length, 500_000)
  assert.ok(cpu() - started < 2000, `${cpu() - started} ms`)
})
