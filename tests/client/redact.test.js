// Secrets: found, shown masked, and gone from a copy.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { use, cpu } = require('./load-modules.js')

const { scan, redact } = use('core/redact')
const of = (text) => scan({ messages: [{ content: text }] })
// put together here, so that no scanner of repositories takes the test for a leak
const J = (...parts) => parts.join('')

test('what looks like a secret', () => {
  const cases = [
    [J('sk-', 'proj-abcdefghijklmnop1234'), 'key'], [J('sk-ant-', 'api03-abcdefghijklmnop'), 'key'], [J('ghp_', 'a1b2c3d4e5f6g7h8i9j0k1l2'), 'token'],
    [J('github_pat_', '11ABCDEFG0abcdefghijkl_xyz'), 'token'], [J('glpat-', 'abcdefghijklmnopqrst'), 'token'], [J('xoxb-', '123456789012-abcdef'), 'token'],
    [J('AKIA', 'IOSFODNN7EXAMPLE'), 'key'], [J('AIza', 'SyA1234567890abcdefghijklmnopqrstuv'), 'key'], [J('hf_', 'abcdefghijklmnopqrstuv'), 'token'],
    [J('eyJhbGciOiJI', '.eyJzdWIiOiIx.SflKxwRJSMeKKF2QT4'), 'token'],
  ]
  for (const [secret, kind] of cases) {
    const found = of(`before ${secret} after`)
    assert.deepStrictEqual(found.map((one) => [one.kind, one.text]), [[kind, secret]], secret)
    assert.ok(!found[0].shown.includes(secret.slice(6, -4)), 'shown masked')
    assert.ok(!found[0].context.includes(secret), 'and masked in its surroundings')
  }
})

test('what is called a secret', () => {
  const cases = [
    ['password: hunter22', 'hunter22'], ['DB_PASSWORD=x', undefined], ['"api_key": "abcd1234efgh"', 'abcd1234efgh'], ['API_KEY=abcd1234efgh', 'abcd1234efgh'],
    ['{\\"client_secret\\": \\"s3cr3tvalue\\"}', 's3cr3tvalue'], ['Authorization: Bearer abcdef123456', 'abcdef123456'], ['postgres://me:pa55word@db:5432/x', 'pa55word'],
    ['the password is secret', undefined], ['password: <your password>', undefined], ['password: ********', undefined], ['api_key: your-api-key', undefined], ['token: ${TOKEN}', undefined],
    ['a bearer of good news', undefined], ['https://example.org/a:b@c', undefined],
  ]
  for (const [text, secret] of cases) assert.strictEqual(of(text)[0]?.text, secret, text)
})

test('what stands under the name of a secret is one, whatever it looks like', () => {
  const provider = { api_url: 'https://example.org/v1', api_key: 'quince medlar', model_name: 'm', max_tokens: 5 }
  const cases = [
    [{ config: { llm_api: { provider } } }, 'quince medlar'], [{ apiKey: 'sloe' }, 'sloe'], [{ DB_PASSWORD: 'x!y z&' }, 'x!y z&'],
    [{ ext: { headers: { Authorization: 'Bearer quince' } } }, 'Bearer quince'], [{ access_keys: ['damson'] }, 'damson'],
    [{ token: 'abc' }, undefined], [{ api_key: '' }, undefined], [{ password: '********' }, undefined], [{ token_count: 'many words' }, undefined],
  ]
  for (const [session, secret] of cases) {
    const found = scan(session)
    assert.strictEqual(found[0]?.text, secret, JSON.stringify(session))
    if (!secret) continue
    assert.ok(!found[0].shown.includes(secret) && !found[0].context.includes(secret), 'shown masked')
    assert.ok(!JSON.stringify(redact(session, found)).includes(secret))
  }
  const inside = J('sk-', 'abcdefghijklmnop1234')
  assert.deepStrictEqual(scan({ api_key: inside, messages: [{ content: `see ${inside}` }] }).map(({ text, count }) => [text, count]), [[inside, 2]])
})

test('a private key goes as a whole', () => {
  const pem = J('-----BEGIN RSA ', 'PRIVATE KEY-----\nMIIEabc\ndef==\n-----END RSA ', 'PRIVATE KEY-----')
  const [found] = of(`x ${pem} y`)
  assert.strictEqual(found.text, pem)
  assert.strictEqual(redact({ a: `x ${pem} y` }, [found]).a, 'x [redacted private] y')
})

test('each secret once, with how often; pictures are not looked into', () => {
  const key = J('sk-', 'abcdefghijklmnop1234')
  const session = { messages: [{ content: `${key} and ${key}` }, { content: [{ type: 'text', text: key }] }, { image: `data:image/png;base64,${key}` }] }
  assert.deepStrictEqual(scan(session).map((one) => one.count), [3])
})

test('redacted: everywhere, in names and in JSON within a text; the original stays', () => {
  const secret = 'a"b\\c1234'
  const session = { id: 's', n: 1, none: null, messages: [{ content: `x ${secret} y` }, { tool_calls: [{ function: { arguments: JSON.stringify({ key: secret }) } }] }], map: { [secret]: true } }
  const before = JSON.stringify(session)
  const copy = redact(session, [{ kind: 'key', text: secret }])
  assert.strictEqual(JSON.stringify(session), before)
  assert.ok(!JSON.stringify(copy).includes('b\\\\c1234'))
  assert.strictEqual(copy.messages[0].content, 'x [redacted key] y')
  assert.deepStrictEqual(JSON.parse(copy.messages[1].tool_calls[0].function.arguments), { key: '[redacted key]' })
  assert.deepStrictEqual(Object.keys(copy.map), ['[redacted key]'])
  assert.deepStrictEqual([copy.n, copy.none, copy.id], [1, null, 's'])
})

test('a title that was cut off within a secret does not show its beginning', () => {
  const secrets = [{ kind: 'key', text: 'abcdefghijklmnop' }]
  const cases = [['my abcdefghijkl', 'my [redacted key]'], ['my abcdefghijkl…', 'my [redacted key]…'], ['my abcdefgh ...', 'my [redacted key] ...'], ['my abcdefg', 'my abcdefg'], ['my abcdefghijkl x', 'my abcdefghijkl x']]
  for (const [title, expected] of cases) assert.strictEqual(redact({ title }, secrets).title, expected, title)
})

test('the longer secret goes first, and nothing is searched as a pattern', () => {
  const copy = redact({ a: 'abcd1234 abcd $& (x' }, [{ kind: 'key', text: 'abcd' }, { kind: 'token', text: 'abcd1234' }, { kind: 'key', text: '(x' }])
  assert.strictEqual(copy.a, '[redacted token] [redacted key] $& [redacted key]')
})

test('a long text of any kind is looked through in no time', () => {
  for (const piece of ['a.', 'a-', 'sk-a-', 'eyJaaaaaaaa.', 'password: ', 'bearer ', '://', '-----BEGIN ']) {
    const started = cpu()
    scan({ text: piece.repeat(200_000 / piece.length) })
    assert.ok(cpu() - started < 2000, `${piece} ${cpu() - started} ms`)
  }
})

test('a long secret is taken out of long texts in no time', () => {
  const secret = { kind: 'token', text: 'a'.repeat(60_000) }
  for (const text of [`${'.'.repeat(60_000)}x`, `${' '.repeat(60_000)}x`, `x${'a'.repeat(50_000)}`, `x${'ab'.repeat(30_000)}`]) {
    const started = cpu()
    redact({ text }, [secret])
    assert.ok(cpu() - started < 500, text.slice(0, 3))
  }
})
