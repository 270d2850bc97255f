// Loads the client's classic scripts into node, unchanged: every file under client/js/core, io and ext.
'use strict'

const fs = require('node:fs')
const path = require('node:path')
const { random, rounds } = require('./random.js')

const ROOT = path.resolve(__dirname, '../..')
const JS = path.join(ROOT, 'client', 'js')

/** Is it there: a module, or a folder? What can be deleted may be gone. @param {string} name */
function has(name) {
  return fs.existsSync(path.join(JS, name)) || fs.existsSync(path.join(JS, `${name}.js`))
}

require(path.join(JS, 'kernel.js'))
for (const folder of ['core', 'io', 'ext'].filter(has)) {
  for (const file of fs.readdirSync(path.join(JS, folder), { recursive: true }).sort()) {
    if (file.endsWith('.js')) require(path.join(JS, folder, file))
  }
}

/** Files with texts, below client/js. */
const textFiles = fs.readdirSync(JS, { recursive: true }).filter((file) => /^i18n\/|^ext\/[\w-]+\/texts\.js$/.test(file) && file.endsWith('.js')).sort()

/** Milliseconds of processor time so far: what else the machine does is no fault of the code. */
function cpu() {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

module.exports = { use: globalThis.yaa.use, yaa: globalThis.yaa, random, rounds, cpu, has, textFiles, ROOT, JS }
