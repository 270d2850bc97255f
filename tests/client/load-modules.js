// Loads the client's classic scripts into node, unchanged: every file under client/js/core and client/js/io.
'use strict'

const fs = require('node:fs')
const path = require('node:path')

const ROOT = path.resolve(__dirname, '../..')
const JS = path.join(ROOT, 'client', 'js')

require(path.join(JS, 'kernel.js'))
for (const folder of ['core', 'io']) {
  for (const file of fs.readdirSync(path.join(JS, folder)).sort()) {
    if (file.endsWith('.js')) require(path.join(JS, folder, file))
  }
}

/** Numbers in [0, 1) that are the same on every run. */
function random(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

/** Milliseconds of processor time so far: what else the machine does is no fault of the code. */
function cpu() {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

module.exports = { use: globalThis.yaa.use, yaa: globalThis.yaa, random, cpu, ROOT, JS }
