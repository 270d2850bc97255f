// Tests of several files in one process, which loads Node and the client once: `node tests/client/together.js FILES`.
'use strict'

const path = require('node:path')

for (const file of process.argv.slice(2)) require(path.resolve(file))
