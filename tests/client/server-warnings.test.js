// What the server remarks on a session, in the reader's language.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const vm = require('node:vm')
const { JS } = require('./load-modules.js')

async function open(language) {
  const context = vm.createContext({ Intl, navigator: { languages: [] }, document: { documentElement: {}, querySelectorAll: () => [] } })
  const read = (...parts) => vm.runInContext(fs.readFileSync(path.join(JS, ...parts), 'utf8'), context)
  read('kernel.js')
  for (const name of ['ui/dom', 'css/modes']) context.yaa.define(name, [], () => ({}))
  for (const file of ['core/message-format', 'i18n/en', 'i18n/zh', 'i18n/modes', 'ui/i18n', 'ui/server-warnings']) read(...`${file}.js`.split('/'))
  await context.yaa.use('ui/i18n').use(language)
  const { warningText, remarks, versionRemark, VERSION } = context.yaa.use('ui/server-warnings')
  const said = (warnings) => [...remarks({ run: { warnings } })].map(warningText)
  return Object.assign(said, { VERSION, version: (version) => [...versionRemark({ version })].map(warningText) })
}

const PLACEHOLDER = { code: 'prompt_placeholder_unknown', message: 'Said.', section: 'persona', placeholders: ['{x}', '{y}'], known: ['date', 'mode'] }
const SECTION = { code: 'prompt_section_unknown', message: 'Said.', section: 'weather', known: ['persona'] }

test('a code is worded in the language of the page, with the facts that came', async () => {
  assert.deepStrictEqual((await open('en'))([PLACEHOLDER, SECTION]), [
    'The template “persona” names {x}, {y}, which means nothing and stays as it is. Known: date, mode.',
    '“weather” is no section of the prompt and is left out. There are: persona.',
  ])
  assert.deepStrictEqual((await open('zh'))([PLACEHOLDER, SECTION]), [
    '模板“persona”中的 {x}, {y} 没有含义，会原样保留。可用的有：date, mode。',
    '“weather”不是提示词的组成部分，会被忽略。可用的有：persona。',
  ])
})

test('why a permission mode has no effect', async () => {
  const one = { code: 'permission_mode', reason: 'final', message: 'Said.' }
  assert.match((await open('en'))([one])[0], /has no effect here: calls ask. What is changed in this folder stays changed/)
  assert.match((await open('zh'))([one])[0], /在这里不生效.*改动会直接生效/)
  assert.deepStrictEqual((await open('en'))([{ ...one, reason: 'newer' }]), ['Said.'])
})

test('a home with other records is said without facts', async () => {
  const home = { code: 'other_home', message: 'Said.' }
  assert.match((await open('en'))([home])[0], /^The last run was cut on a server that shares no records .* may run again, or you are asked about it\.$/)
  assert.match((await open('zh'))([home])[0], /不共享记录.*再次运行/)
})

test('numbers are facts, too', async () => {
  const cut = { code: 'prompt_cut', message: 'Said.', counted: 2051, sent: 15000 }
  for (const language of ['en', 'zh']) {
    const [words] = (await open(language))([cut])
    assert.ok(words.includes('2051') && words.includes('15000') && words.includes('OLLAMA_CONTEXT_LENGTH'), words)
  }
})

test('what the page has no words for is said in those of the server', async () => {
  const rows = [
    { code: 'of_tomorrow', message: 'Said.' }, { code: 'constructor', message: 'Said.' }, { code: {}, message: 'Said.' }, { message: 'Said.' },
    { ...SECTION, section: '' }, { ...SECTION, section: true }, { ...SECTION, known: {} }, { ...PLACEHOLDER, placeholders: [null] },
    'Said.', // an earlier server
  ]
  for (const one of rows) assert.deepStrictEqual((await open('zh'))([one]), ['Said.'], JSON.stringify(one))
})

test('a document may hold anything', async () => {
  for (const warnings of [undefined, null, 'Said.', { length: 1 }, [null], [7], [''], [[]], [{}], [{ code: 'prompt_section_unknown' }], [{ message: '' }], [{ message: ['Said.'] }]]) {
    assert.deepStrictEqual((await open('en'))(warnings), [], JSON.stringify(warnings))
  }
})

test('a server of another version than the page', async () => {
  const page = await open('en')
  const server = /^VERSION = "(.+)"$/m.exec(fs.readFileSync(path.join(JS, '..', '..', 'server', '__init__.py'), 'utf8'))[1]
  assert.strictEqual(page.VERSION, server, 'the page is of the version that it comes with')
  assert.deepStrictEqual([page.version(server), page.version(undefined)], [[], []])
  for (const [language, words] of [['en', 'of version'], ['zh', '版本']]) {
    const [said] = (await open(language)).version('9.9.0')
    assert.ok(said.includes(words) && said.includes('9.9.0') && said.includes(server), said)
  }
})
