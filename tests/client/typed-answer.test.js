// What typed text does while something is asked: said before Enter is pressed, and it never withdraws a question.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { use } = require('./load-modules.js')

const { asked, decide, loneField } = use('core/typed-answer')
const plain = (value) => JSON.parse(JSON.stringify(value))
const tool = { id: 'i', reason: 'tool_call', call_id: 'c', tool: 'shell' }
const question = (schema) => ({ id: 'i', reason: 'input_required', call_id: 'c', response_schema: schema })
const of = (properties) => ({ type: 'object', properties })
const ALLOW = { kind: 'allow', payload: { approved: true, remember: 'once' } }
const deny = (reason) => ({ kind: 'deny', payload: { approved: false, reason } })
const answer = (payload) => ({ kind: 'answer', payload })
const later = (why, more = {}) => ({ kind: 'later', why, ...more })

test('words that are nothing but a yes allow, all others deny and are the reason', () => {
  for (const words of ['yes', 'Yes', 'YES!', 'y', 'ok', 'OK.', 'okay', 'go  ahead', 'do it', 'lgtm', '好', '好的', '好。', '可以', 'ｏｋ', '允许！', '👍']) {
    assert.deepStrictEqual(plain(decide(tool, words)), ALLOW, words)
  }
  for (const words of ['no', 'n', '不', 'yes, but not in src', 'yes?', 'ok, no', 'use git mv', 'yesterday', '好像不对', 'not ok', 'okey-dokey not', '-y', 'yes\nrm -rf /', '!']) {
    assert.deepStrictEqual(plain(decide(tool, words)), deny(words), words)
  }
})

test('a question takes what its one field takes', () => {
  const choice = { type: 'string', enum: ['Weekend', 'meal'] }
  const cases = [
    [undefined, 'a weekend in Lyon', answer('a weekend in Lyon')],
    [{ type: 'string' }, 'no', answer('no')],
    [of({ city: { type: 'string' } }), 'Lyon', answer({ city: 'Lyon' })],
    [choice, 'weekend', answer('Weekend')],
    [choice, 'Lyon', later('choice', { choices: ['Weekend', 'meal'] })],
    [of({ n: { enum: [1, 2] } }), '2', answer({ n: 2 })],
    [{ type: 'integer' }, '12', answer(12)],
    [{ type: 'integer' }, '1.5', later('number')],
    [{ type: 'number' }, '1,5', answer(1.5)],
    [{ type: 'number' }, '', later('number')],
    [{ type: 'number' }, 'Infinity', later('number')],
    [{ type: 'boolean' }, '好', answer(true)],
    [of({ sure: { type: 'boolean' } }), 'No.', answer({ sure: false })],
    [{ type: 'boolean' }, 'perhaps', later('yesno')],
    [of({ a: { type: 'string' }, b: { type: 'string' } }), 'x', later('card')],
    [of({}), 'x', later('card')],
    [{ type: 'object' }, 'x', later('card')],
    [{ type: 'array' }, 'x', later('card')],
    [{ type: ['string', 'null'] }, 'x', later('card')],
    [{}, 'x', later('card')],
    [of({ a: null }), 'x', later('card')],
  ]
  for (const [schema, words, wanted] of cases) assert.deepStrictEqual(plain(decide(question(schema), words)), wanted, `${JSON.stringify(schema)} ${words}`)
  assert.deepStrictEqual(loneField({ type: 'string', title: 'x' }), { key: '', field: { type: 'string', title: 'x' } })
})

test('what words cannot answer waits, and so does what was written before it was asked', () => {
  for (const reason of ['client_tool', 'indeterminate', 'mcp_sign_in', 'of a later server']) {
    assert.deepStrictEqual(decide({ ...tool, reason }, 'yes'), later('card'), reason)
  }
  for (const one of [tool, question()]) {
    assert.deepStrictEqual(decide(one, 'yes', { early: true }), later('early'))
    assert.deepStrictEqual(decide(one, 'yes', { files: true }), later('files'))
  }
  assert.deepStrictEqual(decide(tool, ''), later('tool_call'))
})

test('the key of the own server is no answer', () => {
  assert.deepStrictEqual(decide(question(), 'it is yk_123', { key: 'yk_123' }), { kind: 'stays', why: 'key' })
  assert.deepStrictEqual(plain(decide(question(), 'it is yk_123', { key: '' })), answer('it is yk_123'))
})

test('only what holds a call is asked: a limit and a model that failed go on with any message', () => {
  const messages = [{ id: 'a', role: 'assistant', tool_calls: [{ id: 'c' }, { id: 'd' }] }, { id: 't', role: 'tool', tool_call_id: 'd' }]
  const interrupts = [{ id: 'l', reason: 'limit' }, { id: 'e', reason: 'model_error' }, tool, { ...tool, id: 'over', call_id: 'd' }, { ...tool, id: 'given', answer: { status: 'resolved' } }]
  assert.deepStrictEqual(asked({ id: 's', messages, interrupts }).map(({ id }) => id), ['i'])
})
