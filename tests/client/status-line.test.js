// The line over the composer: what is said of each state of a run, and that nothing is said that is not known.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const vm = require('node:vm')
const { JS } = require('./load-modules.js')

const NOW = 1_000_000
const session = { id: 's', messages: [{ id: 'u', role: 'user', content: 'hi' }] }

async function open(language) {
  class Clock extends Date { static now() { return NOW } }
  const context = vm.createContext({ Intl, Date: Clock, navigator: { languages: [] }, document: { documentElement: {}, querySelectorAll: () => [] } })
  const read = (name) => vm.runInContext(fs.readFileSync(path.join(JS, `${name}.js`), 'utf8'), context)
  read('kernel')
  context.yaa.define('ui/popup', [], () => ({ say() {} }))
  context.yaa.define('ui/message', [], () => ({ plainText: String }))
  const core = fs.readdirSync(path.join(JS, 'core')).filter((file) => file.endsWith('.js')).map((file) => `core/${file.slice(0, -3)}`)
  for (const name of [...core, 'i18n/en', 'i18n/zh', 'ui/i18n', 'ui/status-line']) read(name)
  await context.yaa.use('ui/i18n').use(language)
  const { statusLine } = context.yaa.use('ui/status-line')
  return (state) => statusLine({ session, state: { attempt: 0, resumed: 0, ...state } })
}

const lost = (error, ms) => ({ phase: 'lost', error, retry_at: NOW + ms })
const busy = { kind: 'busy', message: 'The server is busy. Full.' }

test('each state has its words: what is awaited, since when, what can be done', async () => {
  const rows = [
    [{ phase: 'posting', since: NOW - 1000 }, null],
    [{ phase: 'posting', since: NOW - 3000 }, /^Waiting for the server for 3 s\. What you wrote is kept\.$/, undefined],
    [{ phase: 'posting', since: NOW - 62_000 }, /for 1 min 2 s/, 'Try now'],
    [{ phase: 'streaming' }, null],
    [{ phase: 'streaming', since: NOW - 18_000 }, /^Nothing has come from the server for 18 s/, undefined],
    [{ phase: 'stopping', since: NOW }, /^Stopping … The server has not confirmed/, undefined],
    [{ phase: 'interrupted', reason: 'stopped' }, /^Stopped\.$/, 'Resume'],
    [{ phase: 'interrupted', reason: 'stopped', unconfirmed: '' }, /^The server has not confirmed the stop: it may still be at work\.$/, 'Resume'],
    [{ phase: 'interrupted', reason: 'stopped', unconfirmed: 'Another key’s.' }, /at work\. Another key’s\.$/, 'Resume'],
    [lost({ kind: 'network', message: 'x' }, 4000), /^Connection lost – next try in 4 s$/, 'Try now'],
    [lost({ kind: 'cut', message: 'x' }, 0), /^Connection lost – resuming …$/, undefined],
    [lost(busy, 3_599_000), /^The server is busy\. Full\. Next try in 59 min 59 s\.$/, 'Try now'],
    [lost({ kind: 'foreign', message: 'Something else answered.' }, 2000), /^Something else answered\. Next try in 2 s\.$/, 'Try now'],
  ]
  const line = await open('en')
  for (const [state, words, action] of rows) {
    const said = line(state)
    if (!words) assert.strictEqual(said, null, JSON.stringify(state))
    else assert.match(said.text, words), assert.strictEqual(said.action, action, said.text)
  }
  const chinese = await open('zh')
  for (const [state, words] of rows) if (words) assert.match(chinese(state).text, /\p{Script=Han}/u)
})
