// The settings of a session as fields, and as a file.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const { use, ROOT, JS } = require('./load-modules.js')

const form = use('ext/config/form')
const SHIPPED = JSON.parse(fs.readFileSync(path.join(ROOT, 'config.default.json'), 'utf8')).session.config
const text = { type: 'string' }
const number = { type: 'number', minimum: 0, maximum: 2 }
/** As the server's, in small. */
const SCHEMA = {
  'x-order': ['/llm_api/provider/name', '/yaa/language', '/gone'],
  properties: {
    llm_api: { properties: {
      provider: { properties: { name: text, api_url: text, api_key: { type: ['string', 'null'], format: 'password' } } },
      model_settings: { title: 'Model settings', properties: { use_custom_temp: { type: 'boolean' }, temperature: number, stop: { type: ['string', 'array', 'null'] } }, additionalProperties: true },
    } },
    yaa: { properties: { language: { type: ['string', 'null'] }, output_schema: { type: ['object', 'null'] }, reply: { enum: ['full', 'delta'] } } },
    context: { properties: { strategies: { type: 'array', items: { type: 'string', enum: ['a', 'b'] } }, keep: { type: 'integer' } } },
    prompt: { properties: { persona: { ...text, default: 'You are {character}.', 'x-placeholders': ['character'] } } },
    'new~/one': { type: 'object' },
    agent: { type: 'object', readOnly: true },
  },
}
const field = (pointer) => form.fields(SCHEMA).find((one) => one.pointer === pointer)

test('every key is a field, the most used first, and what is open or new is JSON', () => {
  const all = form.fields(SCHEMA)
  assert.deepStrictEqual(all.slice(0, 3).map((one) => one.pointer), ['/llm_api/provider/name', '/yaa/language', '/llm_api/provider/api_url'])
  const kinds = Object.fromEntries(all.map((one) => [one.pointer, one.kind]))
  assert.deepStrictEqual(kinds, {
    '/llm_api/provider/name': 'text', '/yaa/language': 'text', '/llm_api/provider/api_url': 'text', '/llm_api/provider/api_key': 'secret',
    '/llm_api/model_settings/use_custom_temp': 'flag', '/llm_api/model_settings/temperature': 'number', '/llm_api/model_settings/stop': 'json', '/llm_api/model_settings': 'json',
    '/yaa/output_schema': 'json', '/yaa/reply': 'choice', '/context/strategies': 'lines', '/context/keep': 'number', '/prompt/persona': 'template', '/new~0~1one': 'json',
  })
  const groups = form.groups(SCHEMA)
  assert.deepStrictEqual(groups.map((one) => one.name), ['model', 'context', 'answer', 'prompt', 'more', 'others'])
  assert.strictEqual(groups.flatMap((one) => one.fields).length, all.length, 'each in one group')
  for (const none of [null, undefined, {}, { properties: null }, { 'x-order': 7 }]) assert.deepStrictEqual(form.fields(none), [])
})

test('the server’s schema has every key of its defaults, each title in Chinese', () => {
  const titles = new Set([...fs.readFileSync(path.join(JS, 'ext/config/titles.js'), 'utf8').matchAll(/^ {6}'(\/[^']+)': \[/gm)].map(([, pointer]) => pointer))
  const walk = (value, at) => (value && typeof value === 'object' && !Array.isArray(value) && Object.keys(value).length ? Object.entries(value).flatMap(([name, one]) => walk(one, `${at}/${name}`)) : [at])
  const open = ['/prompt', '/llm_api/model_settings']
  for (const pointer of walk(SHIPPED, '')) if (!open.includes(pointer)) assert.ok(titles.has(pointer), pointer)
})

test('a change is made at its place, and the rest stays', () => {
  const before = { yaa: { language: 'x', more: 1 }, unknown: { a: 1 } }
  const copy = structuredClone(before)
  assert.deepStrictEqual(form.change(before, field('/yaa/language'), 'y'), { ...copy, yaa: { language: 'y', more: 1 } })
  assert.deepStrictEqual(form.change(before, field('/yaa/language'), undefined), { ...copy, yaa: { more: 1 } })
  assert.deepStrictEqual(before, copy, 'it is not changed itself')
  assert.deepStrictEqual(form.change(undefined, field('/context/keep'), 3), { context: { keep: 3 } })
  assert.deepStrictEqual(form.change({}, field('/context/keep'), undefined), {})
  assert.deepStrictEqual(form.change({ context: 'none' }, field('/context/keep'), 3), { context: { keep: 3 } })
  assert.strictEqual(form.read({ yaa: null }, field('/yaa/language')), undefined)
})

test('a provider of one’s own and one of the server’s are never mixed', () => {
  const named = { llm_api: { provider: { name: 'kimi', model_name: 'm' } } }
  assert.deepStrictEqual(form.change(named, field('/llm_api/provider/api_url'), 'https://x.example').llm_api.provider, { name: 'auto', model_name: 'm', api_url: 'https://x.example' })
  const own = { llm_api: { provider: { api_url: 'https://x.example', api_key: 'k', preset: 'p' } } }
  assert.deepStrictEqual(form.change(own, field('/llm_api/provider/name'), 'kimi').llm_api.provider, { name: 'kimi' })
  assert.deepStrictEqual(form.change(own, field('/llm_api/provider/name'), 'auto').llm_api.provider.api_key, 'k')
})

test('a temperature is sent where one is set, and what a schema leaves open stays', () => {
  const set = form.change({}, field('/llm_api/model_settings/temperature'), 0.5)
  assert.deepStrictEqual(set.llm_api.model_settings, { temperature: 0.5, use_custom_temp: true })
  assert.deepStrictEqual(form.change(set, field('/llm_api/model_settings/temperature'), undefined).llm_api.model_settings, {})
  const more = form.change(set, field('/llm_api/model_settings'), { vendor: { x: 1 } })
  assert.deepStrictEqual(more.llm_api.model_settings, { temperature: 0.5, use_custom_temp: true, vendor: { x: 1 } })
  assert.deepStrictEqual(form.read(more, field('/llm_api/model_settings')), { vendor: { x: 1 } })
  assert.deepStrictEqual(form.change(more, field('/llm_api/model_settings'), undefined).llm_api.model_settings, { temperature: 0.5, use_custom_temp: true })
})

test('what is typed, as values', () => {
  const rows = [
    ['/yaa/language', ' 中文 ', '中文'], ['/yaa/language', '  ', undefined], ['/llm_api/model_settings/temperature', '0,5', 0.5], ['/llm_api/model_settings/temperature', '3', 'form.max'],
    ['/llm_api/model_settings/temperature', '-1', 'form.min'], ['/llm_api/model_settings/temperature', 'x', 'form.number'], ['/context/keep', '1.5', 'form.integer'], ['/context/keep', '1e999', 'form.number'],
    ['/llm_api/model_settings/use_custom_temp', 'false', false], ['/yaa/reply', '1', 'delta'], ['/context/strategies', 'a\n\n b \na', ['a', 'b']], ['/context/strategies', 'a\nc', 'config.unknown'],
    ['/yaa/output_schema', '{"a":1}', { a: 1 }], ['/yaa/output_schema', '[1]', 'config.type'], ['/yaa/output_schema', '{', 'ask.notJson'], ['/yaa/output_schema', 'null', null],
    ['/prompt/persona', '  as it is\n', '  as it is\n'], ['/llm_api/model_settings/stop', '["a"]', ['a']],
  ]
  for (const [pointer, raw, expected] of rows) {
    const found = form.parse(raw, field(pointer))
    assert.deepStrictEqual(found.problem ?? found.value, expected, `${pointer} ${raw}`)
    if (!found.problem && found.value && !['flag', 'choice'].includes(field(pointer).kind)) assert.deepStrictEqual(form.parse(form.formatValue(found.value, field(pointer)), field(pointer)).value, expected)
  }
})

test('a preview fills in what is known, in one pass, and names what means nothing', () => {
  const facts = { character: 'I am {date}', date: 'today' }
  assert.deepStrictEqual(form.preview('{character} {date} {host} {x} {{y}} {Z}', ['character', 'date', 'host'], facts), { text: 'I am {date} today ⟨host⟩ {x} {{y}} {Z}', unknown: ['{x}'] })
})

test('a file of settings holds no key, and what it would allow is told apart', () => {
  const config = { llm_api: { provider: { api_url: 'https://x.example', api_key: 'sk-secret' } }, prompt: { append: 'p' }, tool: { shell: { auto_approve: true } }, yaa: {} }
  const made = form.settingsFile({ theme: 'dark', tools: { shell: 'allow', x: 'deny' }, copied: 5, servers: ['http://a'], provider: 'kimi' }, config, [{ id: 'p', name: 'n', text: 't' }])
  assert.ok(!JSON.stringify(made).includes('sk-secret'))
  assert.strictEqual(config.llm_api.provider.api_key, 'sk-secret', 'what is kept here stays')
  assert.deepStrictEqual([made.page, made.prompts, made.config.yaa], [{ theme: 'dark', tools: { shell: 'allow', x: 'deny' } }, [{ name: 'n', text: 't' }], undefined])
  const found = form.readSettingsFile(JSON.parse(JSON.stringify(made)))
  assert.deepStrictEqual(found, {
    config: { llm_api: {} }, page: { theme: 'dark', tools: { x: 'deny' } }, prompts: made.prompts,
    risks: { provider: { api_url: 'https://x.example' }, allowed: ['shell'], tool: config.tool, prompt: config.prompt },
  })
  const hostile = form.readSettingsFile({ format: 'yaa.settings', config: { llm_api: { provider: { preset: 'x', api_key: 'theirs' } }, yaa: { a: '[redacted key]', b: ['x'] }, agent: { name: 'evil' } }, page: { tools: [], theme: 7, expiry: { remove: 0 }, servers: ['http://evil'] }, prompts: 'x' })
  assert.deepStrictEqual(hostile, { config: { llm_api: {}, yaa: { b: ['x'] } }, page: {}, prompts: [], risks: { provider: { preset: 'x' }, allowed: [], tool: null, prompt: null } })
  for (const none of [null, [], 7, {}, { format: 'yaa.prompts' }]) assert.strictEqual(form.readSettingsFile(none), null)
})

test('a key that is typed is a secret wherever a session or a file goes', () => {
  const { scan, redact } = use('core/redact')
  const session = { id: 's', messages: [], config: { llm_api: { provider: { api_url: 'https://x.example', api_key: 'plainwords' } } } }
  assert.deepStrictEqual(scan(session).map((one) => one.text), ['plainwords'])
  assert.ok(!JSON.stringify(redact(session, scan(session))).includes('plainwords'))
})
