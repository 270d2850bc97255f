// What a session is sent with: what it says itself, then what the person has set, and nothing over either.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const { use, ROOT } = require('./load-modules.js')

const { prepare, defaultsOf, keepDefaults, withRule, secretOf } = use('core/session-defaults')
const SHIPPED = JSON.parse(fs.readFileSync(path.join(ROOT, 'config.default.json'), 'utf8')).session.config
const REAL = { models: [{ name: 'demo', demo: true }, { name: 'kimi', default: true }, { name: 'qwen' }], tools: [{ name: 'shell', policy: 'ask' }], agents: [{ name: 'default', default: true }, { name: 'coder' }] }
const DEMO = { models: [{ name: 'demo', demo: true, default: true }] }
/** Everything the settings of the page can say. */
const EVERYTHING = {
  provider: 'qwen', model: 'qwen-max', character: 'Somebody', agent: 'coder', limits: { max_steps: 3, max_tokens: 4, max_wall_s: 5, max_consecutive_errors: 6 },
  config: {
    yaa: { language: 'Deutsch', auto_title: true, mode: 'free', output_schema: { type: 'string' }, max_context: 1, stream: true },
    llm_api: { model_settings: { temperature: 2 }, retry: { times: 9, delay: 9 }, max_tokens: 1, request_timeout: 1, tool_choice: 'x' },
    prompt: { append: 'mine', persona: 'mine' }, limits: { on_limit: 'stop', tool: { wall_s: 1 } }, context: { budget: 1, enabled: false, exempt_tools: ['x'] },
  },
}

/** The settings of io/settings, as far as this asks for them. */
function settingsOf(values = {}, keys = {}) {
  const kept = structuredClone(values)
  return { get: (name) => kept[name], set: (name, value) => { kept[name] = value }, keys: () => ({ ...keys }), keepKey: (url, key) => { keys[url] = key }, all: () => structuredClone(kept) }
}

const sessionOf = (config, more = {}) => ({ id: 's', messages: [{ id: 'u', role: 'user', content: 'hi' }], ...(config ? { config: structuredClone(config) } : {}), ...more })

/** Another value of the same kind. */
function other(value, name) {
  if (typeof value === 'boolean') return !value
  if (typeof value === 'number') return value + 7
  if (Array.isArray(value)) return [...value, 'another']
  if (value && typeof value === 'object') return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, other(one, key)]))
  return `another ${name} 中文`
}

test('every key that a session says stays as it is, whatever is set', () => {
  for (const info of [null, REAL, DEMO]) for (const settings of [{}, EVERYTHING]) {
    for (const config of [SHIPPED, other(SHIPPED, '')]) {
      const session = sessionOf(config, { character: 'Its own', agent: 'its own' })
      prepare(session, settingsOf(settings), info)
      assert.deepStrictEqual(session.config, config)
      assert.deepStrictEqual([session.character, session.agent], ['Its own', 'its own'])
    }
  }
})

test('each key alone stays as it is, and the others come from the settings', () => {
  const expected = sessionOf()
  prepare(expected, settingsOf(EVERYTHING), REAL)
  for (const [section, members] of Object.entries(other(SHIPPED, ''))) for (const [name, value] of Object.entries(members)) {
    const session = sessionOf({ [section]: { [name]: value } })
    prepare(session, settingsOf(EVERYTHING), REAL)
    assert.deepStrictEqual(session.config[section][name], section === 'limits' && name === 'tool' ? value : value, `${section}.${name}`)
    const own = expected.config[section] ?? {}
    for (const key of Object.keys(own)) if (key !== name && section !== 'prompt') assert.deepStrictEqual(session.config[section][key], own[key], `${section}.${key} beside ${name}`)
  }
})

test('null, false, 0 and empty texts are said too', () => {
  const said = { yaa: { language: '', auto_title: false, output_schema: null, max_context: null }, llm_api: { max_tokens: null, interval: 0, provider: {} }, limits: { max_steps: null }, prompt: {}, context: { enabled: false, exempt_tools: [] } }
  const session = sessionOf(said)
  prepare(session, settingsOf(EVERYTHING), REAL)
  for (const [section, members] of Object.entries(said)) for (const [name, value] of Object.entries(members)) assert.deepStrictEqual(session.config[section][name], value, `${section}.${name}`)
  assert.deepStrictEqual(session.config.prompt, {})
})

test('a provider of its own is kept whole, and never mixed with one of the settings', () => {
  for (const provider of [{ api_url: 'https://own.example/v1', api_key: 'k-own' }, { name: 'mine', api_url: 'https://own.example', api_key: 'k', model_name: 'm', model_settings: { temperature: 0 } }, { preset: 'deepseek', api_key: 'k' }, { name: 'gone' }, { name: 'auto' }]) {
    const session = sessionOf({ llm_api: { provider } })
    prepare(session, settingsOf({ ...EVERYTHING, config: { llm_api: { provider: { api_url: 'https://other.example', model_name: 'o' } } } }, { 'provider https://other.example': 'k-other' }), REAL)
    assert.deepStrictEqual(session.config.llm_api.provider, provider)
    assert.ok(!JSON.stringify(session).includes('k-other'))
  }
})

test('nothing is said where nothing is set: the owner of the server says it', () => {
  const session = sessionOf()
  prepare(session, settingsOf(), null)
  assert.deepStrictEqual(session.config, {})
  const language = sessionOf()
  prepare(language, settingsOf({ language: 'zh' }), { ...REAL, defaults: { config: { yaa: { language: 'Français' } } } })
  assert.strictEqual(language.config.yaa.language, undefined, 'the language of the page is not that of the answers')
})

test('titles by the model are on where a real model answers', () => {
  const titled = (settings, info, config, more) => {
    const session = sessionOf(config, more)
    prepare(session, settingsOf(settings), info)
    return session.config.yaa?.auto_title
  }
  const off = { config: { yaa: { auto_title: false } } }
  const rows = [
    [{}, REAL, undefined, {}, true], [{}, DEMO, undefined, {}, undefined], [{}, null, undefined, {}, undefined], [{}, {}, undefined, {}, undefined],
    [{ provider: 'demo' }, REAL, undefined, {}, undefined], [{ provider: 'qwen' }, REAL, undefined, {}, true],
    [off, REAL, undefined, {}, false], [{ config: { yaa: { auto_title: true } } }, DEMO, undefined, {}, true],
    [{}, REAL, { yaa: { auto_title: false } }, {}, false], [{}, REAL, undefined, { title: 'Named' }, undefined],
    [{}, DEMO, { llm_api: { provider: { api_url: 'https://x.example', api_key: 'k' } } }, {}, true],
    [{}, { ...REAL, defaults: { config: { yaa: { auto_title: true } } } }, undefined, {}, undefined],
  ]
  rows.forEach(([settings, info, config, more, expected], i) => assert.strictEqual(titled(settings, info, config, more), expected, `row ${i}`))
})

test('what a person has set does not depend on what the server told, which refuses by name what it does not know', () => {
  const settings = { ...EVERYTHING, tools: { shell: 'deny', calculator: 'ask', gone: 'allow' }, paused: true, provider: 'elsewhere', agent: 'not_there' }
  const stale = { models: [{ name: 'demo', demo: true, default: true }], tools: [{ name: 'old', policy: 'deny' }], agents: [{ name: 'default', default: true }], defaults: { config: { yaa: {}, limits: { max_steps: 1 } } } }
  const all = [null, {}, REAL, DEMO, stale].map((info) => {
    const session = sessionOf()
    prepare(session, settingsOf(settings), info)
    return session
  })
  for (const one of all) assert.deepStrictEqual(one, all[0])
  assert.deepStrictEqual(all[0].config.llm_api.provider, { name: 'elsewhere', model_name: 'qwen-max' })
  assert.deepStrictEqual([all[0].agent, all[0].config.yaa.ask], ['not_there', 'every_call'])
  assert.deepStrictEqual(all[0].config.tool, { shell: { deny: true }, calculator: { auto_approve: false }, gone: { auto_approve: true } })
})

test('rules for tools: a stricter one holds, a milder one never overrides', () => {
  const RULES = { deny: { deny: true }, ask: { auto_approve: false }, allow: { auto_approve: true } }
  for (const [set, rule] of Object.entries(RULES)) for (const [said, own] of Object.entries(RULES)) {
    const session = sessionOf({ tool: { shell: { ...own, network: 'off' }, other: { auto_approve: true } } })
    prepare(session, settingsOf({ tools: { shell: set } }), REAL)
    const stricter = ['allow', 'ask', 'deny'].indexOf(set) > ['allow', 'ask', 'deny'].indexOf(said)
    assert.deepStrictEqual(session.config.tool, { shell: { network: 'off', ...(stricter ? rule : own) }, other: { auto_approve: true } }, `${set} over ${said}`)
  }
  const session = sessionOf()
  prepare(session, settingsOf({ tools: { shell: 'ask', __proto__: 'deny' } }), REAL)
  assert.deepStrictEqual(session.config.tool, { shell: { auto_approve: false } })
  assert.deepStrictEqual(withRule({ deny: true, network: 'off' }, ''), { network: 'off' })
})

test('the limits of this session alone come before all', () => {
  const session = sessionOf({ limits: { max_steps: 20 } }, { ext: { limits: { max_steps: 4 }, archived: 5 } })
  prepare(session, settingsOf(EVERYTHING), REAL)
  assert.strictEqual(session.config.limits.max_steps, 4)
  assert.strictEqual(session.ext.archived, undefined, 'it is in use again')
})

test('defaults are kept where each panel of the settings finds them, and a key where the keys are', () => {
  const keys = {}
  const settings = settingsOf({}, keys)
  const own = { api_url: 'https://own.example/v1', api_key: 'sk-very-secret', model_name: 'm' }
  const rows = [
    {}, { yaa: { language: 'Deutsch' } }, { llm_api: { provider: { name: 'qwen', model_name: 'q' }, retry: { times: 1 } }, limits: { max_steps: 2, on_limit: 'stop' } },
    { llm_api: { provider: own }, prompt: { append: 'x' } }, { llm_api: { provider: { name: 'auto', model_name: 'q' } } },
  ]
  for (const config of rows) {
    keepDefaults(settings, config)
    assert.deepStrictEqual(defaultsOf(settings), config)
    assert.ok(!JSON.stringify(settings.all()).includes('sk-very-secret'), 'no key among the settings')
  }
  assert.deepStrictEqual(keys, { [secretOf(own)]: 'sk-very-secret' })
  keepDefaults(settings, { llm_api: { provider: { ...own, api_key: undefined, api_url: 'https://evil.example' } } })
  assert.strictEqual(defaultsOf(settings).llm_api.provider.api_key, undefined, 'a key belongs to one address')
})

test('settings that are no settings', () => {
  for (const config of [null, undefined, 7, [], 'x']) {
    const session = sessionOf()
    assert.doesNotThrow(() => prepare(session, settingsOf({ config }), REAL))
  }
})
