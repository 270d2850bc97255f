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

async function open(language, ...more) {
  class Clock extends Date { static now() { return NOW } }
  const context = vm.createContext({ Intl, Date: Clock, navigator: { languages: [] }, document: { documentElement: {}, querySelectorAll: () => [] } })
  const read = (name) => vm.runInContext(fs.readFileSync(path.join(JS, `${name}.js`), 'utf8'), context)
  read('kernel')
  context.yaa.define('ui/popup', [], () => ({ say() {} }))
  context.yaa.define('ui/message', [], () => ({ plainText: String }))
  const core = fs.readdirSync(path.join(JS, 'core')).filter((file) => file.endsWith('.js')).map((file) => `core/${file.slice(0, -3)}`)
  for (const name of [...core, 'i18n/en', 'i18n/zh', 'ui/i18n', 'ui/status-line', 'i18n/late-parts', 'ui/wait-line']) read(name)
  context.yaa.define('ui/dom', [], () => ({}))
  await context.yaa.use('ui/i18n').use(language)
  if (more.length) return context.yaa.use('ui/wait-line').waitText
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

test('what the server waits for, and how long from now', async () => {
  const retry = { awaits: 'retry', waited_s: 0, left_s: 20, attempt: 2, of: 4, cause: 'custom answered 429' }
  const rows = [
    [retry, 0, 'custom answered 429 · Try 2 of 4 in 20 s.'],
    [retry, 18_200, 'custom answered 429 · Try 2 of 4 in 2 s.'],
    [retry, 21_000, 'custom answered 429 · Try 2 of 4 is on its way.'],
    [{ awaits: 'model', waited_s: 5, attempt: 1, of: 4 }, 7000, 'The model has said nothing for 12 s. Try 1 of 4.'],
    [{ awaits: 'interval', waited_s: 0, left_s: 9 }, 0, /^The next call of the model is in 9 s/],
    [{ awaits: 'place', waited_s: 1, left_s: 19 }, 1000, /^Waiting for its turn for 2 s/],
    [{ awaits: 'what a newer server says', waited_s: 1 }, 0, /^Waiting for its turn for 1 s/],
  ]
  const [english, chinese] = [await open('en', 'wait'), await open('zh', 'wait')]
  for (const [wait, passed, words] of rows) {
    const said = english(wait, passed / 1000)
    if (typeof words === 'string') assert.strictEqual(said, words)
    else assert.match(said, words)
    assert.match(chinese(wait, passed / 1000), /\p{Script=Han}/u)
  }
})
