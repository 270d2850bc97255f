// Which tree of files a session stands at: the vectors that the server has too.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const { use, ROOT } = require('./load-modules.js')

const { standOf } = use('core/workspace-stand')
const VECTORS = JSON.parse(fs.readFileSync(path.join(ROOT, 'tests', 'vectors', 'workspace_stand.json'), 'utf8'))

test('the shared vectors', () => {
  assert.ok(VECTORS.length > 0)
  for (const { name, session, stand } of VECTORS) assert.strictEqual(standOf(session), stand, name)
})
