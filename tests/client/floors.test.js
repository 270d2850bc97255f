// What may use what: core nothing above it, the page no extension, an extension no other one.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const { has, JS } = require('./load-modules.js')

/** The rooms that a room uses when its scripts are loaded. An extension is a room of its own. */
const FLOORS = {
  core: ['core'],
  io: ['core', 'io'],
  css: ['ui'],
  i18n: ['ui'],
  ui: ['core', 'io', 'ui', 'i18n', 'css'],
  main: ['core', 'io', 'ui', 'css', 'main'],
  widget: ['core', 'io', 'widget'],
}
/** What the page, or an extension, asks for by its purpose, and whose it is. Any of them may be gone. */
const DOES = {
  files: ['approval-diff', 'attached-files', 'copies'], citations: ['cite'], mcp: ['composer'], 'device-link': ['device-link'], diagram: ['drawing'], time: ['event-log'],
  connection: ['failure-panel'], imports: ['formats'], math: ['formulas'], inspector: ['largest-messages'], prompts: ['library'], export: ['export'], saved: ['embedded', 'page-file'], server: ['owner-settings'], artifact: ['preview'],
  search: ['results'], keeper: ['runs'], servers: ['server-list'], config: ['config-form'],
}
const ABOVE = ['core', 'io', 'ui', 'i18n', 'css']
const roomOf = (/** @type {string} */ name) => /^ext\/[^/]+|^[^/]+/.exec(name)[0]

/** Every module below client/: its room, what it needs to be made, what its text names besides. */
function modules() {
  const files = fs.readdirSync(path.dirname(JS), { recursive: true, encoding: 'utf8' }).filter((file) => /^(?:js|css)\/.*\.js$/.test(file))
  return files.flatMap((file) => {
    const text = fs.readFileSync(path.join(path.dirname(JS), file), 'utf8')
    const all = [...text.matchAll(/^yaa\.define\(\s*'([^']+)',\s*\[([^\]]*)\]/gm)]
    const named = [...text.matchAll(/yaa\.use\('([^']+)'\)/g)].map(([, name]) => name)
    const loaded = [...text.matchAll(/yaa\.load\('([^']+)'\)/g)].map(([, group]) => group)
    return all.map(([, name, needs]) => ({ file, text, name, needs: [...needs.matchAll(/'([^']+)'/g)].map(([, one]) => one), named, loaded }))
  })
}

test('each module is in the folder of its name, and needs what is on its floor or below', () => {
  const all = modules()
  assert.ok(all.length > 150)
  for (const { file, name, needs } of all) {
    const room = roomOf(name)
    assert.strictEqual(file.replace(/^js\//, ''), `${name}.js`)
    const allowed = room.startsWith('ext/') ? [...ABOVE, room] : FLOORS[room]
    for (const one of needs) assert.ok(allowed.includes(roomOf(one)), `${name} needs ${one}: ${room} uses ${allowed.join(', ')}`)
  }
})

test('an extension, and its groups, are named by nobody else', () => {
  const html = fs.readFileSync(path.join(JS, '../index.html'), 'utf8')
  const groups = new Map([...html.matchAll(/<template data-group="([^"]+)".*?<\/template>/gs)].map(([body, group]) => [group, /src="js\/(ext\/[^/]+)/.exec(body)?.[1]]))
  for (const [, group, also] of html.matchAll(/<template data-group="([^"]+)" data-with="([^"]+)"/g)) {
    assert.deepStrictEqual(also.split(' ').filter((other) => groups.get(other) && groups.get(other) !== groups.get(group)), [], group)
  }
  for (const { name, named, loaded } of modules()) {
    assert.deepStrictEqual(named.filter((other) => other.startsWith('ext/') && roomOf(other) !== roomOf(name)), [], name)
    assert.deepStrictEqual(loaded.filter((group) => groups.get(group) && groups.get(group) !== roomOf(name)), [], name)
  }
})

test('what the page asks for is done by one extension, if any', () => {
  const all = modules()
  const asked = new Set(all.flatMap(({ text }) => [...text.matchAll(/yaa\.parts?\('([^']+)'\)/g)].map(([, purpose]) => purpose)))
  assert.ok(asked.delete('launcher'), 'of which there may be many')
  for (const purpose of asked) {
    const [does] = Object.entries(DOES).find(([, purposes]) => purposes.includes(purpose)) ?? []
    assert.ok(does, purpose)
    const found = all.map(({ name }) => name).filter((name) => name.startsWith('ext/') && name.endsWith(`/${purpose}`))
    assert.deepStrictEqual(found, has(`ext/${does}`) ? [`ext/${does}/${purpose}`] : [])
  }
})

test('the scripts of an extension stand in groups of its own', () => {
  const html = fs.readFileSync(path.join(JS, '../index.html'), 'utf8')
  const found = new Set()
  for (const [body, group] of html.matchAll(/<template data-group="([^"]+)".*?<\/template>/gs)) {
    const rooms = new Set([...body.matchAll(/src="js\/(ext\/[^/]+)/g)].map(([, room]) => room))
    assert.ok(rooms.size < 2, group)
    for (const room of rooms) found.add(room)
  }
  assert.deepStrictEqual([...found].sort(), (has('ext') ? fs.readdirSync(path.join(JS, 'ext')) : []).map((name) => `ext/${name}`).sort())
  assert.ok(!/src="js\/ext/.test(html.replace(/<template.*?<\/template>/gs, '')), 'none is loaded with the page')
})
