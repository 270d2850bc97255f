// The tools of a server as the settings list them.
'use strict'

const test = require('node:test')
const assert = require('node:assert/strict')
const path = require('node:path')
const { use, JS } = require('./load-modules.js')

require(path.join(JS, 'ui', 'tool-rules.js'))
const { toolsOf } = use('ui/tool-rules')

test('a tool that cannot be called says why, without the code of the reason', () => {
  const tools = [{ name: 'a', policy: 'run', hints: { read_only: true } }, { name: 'b', policy: 'ask', unavailable: 'sandbox_unavailable: b needs numpy: run it' }]
  assert.deepEqual(toolsOf({ tools }), [
    { name: 'a', description: '', policy: 'run', readOnly: true, unavailable: '' },
    { name: 'b', description: '', policy: 'ask', readOnly: false, unavailable: 'b needs numpy: run it' },
  ])
  assert.deepEqual(toolsOf(null), [])
})
