// Reads documents from standard input, a JSON array, and writes what the page's import makes of each: the session, what was
// taken out, and the session once more with each of its branches as the open path. For tests/session/test_sanitize.py.
'use strict'

const fs = require('node:fs')
const { use } = require('./load-modules.js')

const { readSessions: read } = use('core/session-import')
const readSessions = (text, name, defaults) => read(text, name, defaults, use('ext/imports/formats'))
const { sanitize } = use('core/sanitize')
const { treeOf } = use('core/session')
const tree = use('core/branch-tree')

/** @param {any} document */
function imported(document) {
  const { sessions: [session], removed: [removed] } = readSessions(JSON.stringify(document))
  const switched = treeOf(session).branches.map(({ id }) => {
    const copy = structuredClone(session)
    tree.switchTo(copy, id)
    return copy
  })
  return { session, removed, switched, alone: sanitize(document).session }
}

const documents = JSON.parse(fs.readFileSync(0, 'utf8'))
fs.writeFileSync(1, JSON.stringify(documents.map(imported)))
