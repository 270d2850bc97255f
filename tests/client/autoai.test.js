// The widget under AutoAi's name: what its options and methods mean to the widget itself.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const path = require('node:path')
const { yaa, use, JS } = require('./load-modules.js')

const opened = []
yaa.define('widget/view', [], () => ({ open(options) {
  const view = { options, did: [], show: (on) => view.did.push(on), destroy: () => view.did.push('gone') }
  opened.push(view)
  return view
} }))
require(path.join(JS, 'widget/autoai.js'))
const { AutoAiChatWidget, serverOf } = use('widget/autoai')

test('the server is where the folder /auto-ai is', (t) => {
  const before = globalThis.location
  t.after(() => { globalThis.location = before })
  globalThis.location = { href: 'https://shop.test/a/page.html' }
  for (const [base, server] of [
    ['', 'https://shop.test'],
    ['/auto-ai', 'https://shop.test'],
    ['https://y.test/auto-ai/', 'https://y.test'],
    ['https://y.test/agents/auto-ai', 'https://y.test/agents'],
    ['https://y.test/my-auto-ai', 'https://y.test/my-auto-ai'],
    ['http://localhost:8080', 'http://localhost:8080'],
    ['https://y.test/auto-ai?x#key=k', 'https://y.test'],
  ]) assert.strictEqual(serverOf(base), server, base)
})

test('tools, headers and facts, at first and later', async (t) => {
  const before = globalThis.location
  t.after(() => { globalThis.location = before })
  globalThis.location = { href: 'https://shop.test/' }
  const [one, two] = [() => 1, () => 2]
  const widget = new AutoAiChatWidget({
    baseUrl: '/auto-ai', headers: () => ({ a: '1', b: '1' }), environmentContext: ['x'], title: null, subtitle: 's', healthCheckInterval: 5,
    frontendTools: [{ name: 'keep', fn: one }, { name: 'again', description: 'd', fn: one }, { name: 'no function' }, null],
  })
  const { options, did } = opened.at(-1)
  assert.ok(!('title' in options))
  widget.registerFrontendTools([{ name: 'again', fn: two }])
  assert.deepStrictEqual(options.tools, [{ name: 'keep', run: one }, { name: 'again', run: two }])
  widget.setHeaders({ b: '2' })
  widget.setHeaders({ c: '3' })
  assert.deepStrictEqual(await options.headers(), { a: '1', b: '2', c: '3' })
  assert.deepStrictEqual(widget.getEnvironmentContext(), ['x'])
  widget.setEnvironmentContext(() => ['y'])
  assert.deepStrictEqual(widget.getEnvironmentContext(), ['y'])
  widget.openSidebar()
  widget.closeSidebar()
  widget.destroy()
  assert.deepStrictEqual(did, [true, false, 'gone'])
  assert.doesNotThrow(() => new AutoAiChatWidget())
})
