// The table of commands: which key starts what, and when.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const vm = require('node:vm')
const { has, JS } = require('./load-modules.js')

function open({ platform = 'Linux', settings = { keys: 'on' } } = {}) {
  const context = vm.createContext({ navigator: { platform }, Date })
  vm.runInContext(fs.readFileSync(path.join(JS, 'kernel.js'), 'utf8'), context)
  context.yaa.define('ui/i18n', [], () => ({ t: (key) => `<${key}>` }))
  vm.runInContext(fs.readFileSync(path.join(JS, 'ui', 'commands.js'), 'utf8'), context)
  const commands = context.yaa.use('ui/commands')
  const ran = []
  const bind = () => commands.bind({ app: { settings: { get: (name) => settings[name] }, views: { composer: { focus: () => ran.push(['focus']) } } }, actions: {}, state: () => ({}) })
  return { commands, ran, bind, add: (id, more) => commands.register({ id, title: id, run: (_context, ...rest) => ran.push([id, ...rest]), ...more }) }
}

const press = (key, more = {}) => ({ key, ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, preventDefault() {}, ...more })
const inField = { target: { closest: () => ({}) } }

test('keys: single, pairs, and those with a modifier', () => {
  const { commands, bind, add } = open()
  bind()
  for (const [id, keys] of [['palette', ['Mod+K', ':']], ['all', 'Mod+Shift+F'], ['ask', 'g a'], ['end', 'g e'], ['next', 'j'], ['help', '?'], ['a', 'a']]) add(id, { keys })
  const cases = [
    ['j', {}, 'next'], ['?', { shiftKey: true }, 'help'], [':', {}, 'palette'],
    ['k', { ctrlKey: true }, 'palette'], ['K', { ctrlKey: true, shiftKey: true }, undefined], ['F', { ctrlKey: true, shiftKey: true }, 'all'],
    ['k', { metaKey: true }, undefined], ['k', { ctrlKey: true, altKey: true }, undefined],
    ['k', { ctrlKey: true, ...inField }, 'palette'], ['j', inField, undefined], ['?', inField, undefined],
    ['j', { isComposing: true }, undefined], ['j', { keyCode: 229 }, undefined], ['j', { defaultPrevented: true }, undefined], ['Enter', {}, undefined],
  ]
  for (const [key, more, expected] of cases) assert.strictEqual(commands.find(press(key, more))?.id, expected, `${key} ${JSON.stringify(more)}`)
})

test('a pair has to be pressed in time, and one after the other', () => {
  const { commands, bind, add } = open()
  bind()
  add('ask', { keys: 'g a' })
  add('a', { keys: 'a' })
  const walk = (...presses) => presses.map(([key, at]) => commands.find(press(key, { timeStamp: at }))?.id ?? '').join()
  assert.strictEqual(walk(['g', 0], ['a', 1000]), ',ask')
  assert.strictEqual(walk(['g', 10_000], ['a', 12_000]), ',a', 'too late')
  assert.strictEqual(walk(['g', 20_000], ['x', 20_100], ['a', 20_200]), ',,a', 'something between')
})

test('single keys do nothing until they are switched on; those with a modifier work', () => {
  const { commands, bind, add } = open({ settings: {} })
  bind()
  add('next', { keys: 'j' })
  add('palette', { keys: 'Mod+K' })
  assert.strictEqual(commands.find(press('j')), null)
  assert.strictEqual(commands.find(press('k', { ctrlKey: true }))?.id, 'palette')
})

test('what is typed outside of a field goes into the message field', () => {
  const settings = {}
  const { commands, bind, add, ran } = open({ settings })
  bind()
  add('new', { keys: 'n' })
  const held = { target: { closest: () => null } }
  const cases = [['n', held, 1], ['é', held, 1], ['你', held, 1], ['😀', held, 1], [' ', held, 0], ['Enter', held, 0], ['Tab', held, 0], ['n', inField, 0],
    ['c', { ctrlKey: true }, 0], ['n', { isComposing: true }, 0], ['y', { defaultPrevented: true }, 0]]
  for (const [key, more, times] of cases) {
    ran.length = 0
    commands.onkeydown(press(key, more))
    assert.deepStrictEqual(ran, times ? [['focus']] : [], `${key} ${JSON.stringify(more)}`)
  }
  settings.keys = 'on' // a letter may be the first of a pair
  commands.onkeydown(press('g', held))
  assert.deepStrictEqual(ran, [])
})

test('no single key calls a model', () => {
  const rows = ['session-commands.js', 'command-table.js'].map((name) => fs.readFileSync(path.join(JS, 'ui', name), 'utf8')).join('\n').split('\n')
  const retry = rows.filter((row) => row.includes("id: 'message.retry'"))
  assert.strictEqual(retry.length, 1)
  assert.doesNotMatch(retry[0], /keys:/)
})

test('only what can be done now is offered, found and run', async () => {
  const { commands, bind, add, ran } = open()
  add('stop', { keys: 's', when: () => false })
  add('go', { keys: 'o', slash: 'go' })
  assert.deepStrictEqual(commands.list().length, 0, 'nothing before there is an app')
  bind()
  assert.deepStrictEqual(Array.from(commands.list(), (one) => one.id), ['go'])
  assert.strictEqual(commands.find(press('s')), null)
  assert.deepStrictEqual([await commands.run('stop'), await commands.run('nothing'), await commands.run('go', 'rest')], [undefined, undefined, 1])
  assert.deepStrictEqual(ran, [['go', 'rest']])
})

test('a command that is not there yet is waited for', async () => {
  const { commands, add, ran } = open()
  commands.bind({ app: {}, actions: {}, state: () => ({}), more: async () => { add('late', {}) } })
  await commands.run('late', 1)
  assert.deepStrictEqual(ran, [['late', 1]])
})

test('a command can be taken out, and replaced by one of the same id', () => {
  const { commands, bind, add } = open()
  bind()
  const out = add('one', { title: () => 'made' })
  assert.strictEqual(commands.titleOf(commands.list()[0]), 'made')
  add('one', { title: 'again' })
  assert.strictEqual(commands.titleOf(commands.list()[0]), '<again>')
  out()
  assert.strictEqual(commands.list().length, 0)
})

test('keys are labelled as they are printed on the keyboard', () => {
  assert.deepStrictEqual(Array.from(open().commands.label('Mod+Shift+F')), ['Ctrl+Shift+F'])
  assert.deepStrictEqual(Array.from(open({ platform: 'MacIntel' }).commands.label('Mod+K')), ['⌘K'])
  assert.deepStrictEqual(Array.from(open().commands.label('g a')), ['g', 'a'])
})

test('no key starts two commands', () => {
  const all = (folder) => fs.readdirSync(folder, { withFileTypes: true }).flatMap((one) => (one.isDirectory() ? all(path.join(folder, one.name)) : path.join(folder, one.name)))
  const keys = [...all(path.join(JS, 'ui')), ...has('ext') ? all(path.join(JS, 'ext')) : []].filter((file) => file.endsWith('.js')).flatMap((file) => {
    const found = fs.readFileSync(file, 'utf8').matchAll(/\bid: '[\w.]+'[^]*?(?=\bid: |\n\n)/g)
    return [...found].flatMap(([row]) => [...(row.match(/\bkeys: (\[[^\]]*\]|'[^']*')/)?.[1] ?? '').matchAll(/'([^']*)'/g)].map(([, key]) => key))
  })
  assert.ok(keys.length > 15)
  assert.deepStrictEqual(keys.filter((key, i) => keys.indexOf(key) !== i), [])
})
