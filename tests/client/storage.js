// Storages of strings as browsers have them.
'use strict'

/** One that a page has alone. `kept` is what is in it. @returns {any} */
function storageOf(kept = new Map()) {
  return {
    kept,
    get length() { return kept.size },
    key: (/** @type {number} */ n) => [...kept.keys()][n] ?? null,
    getItem: (/** @type {string} */ name) => kept.get(name) ?? null,
    setItem: (/** @type {string} */ name, /** @type {any} */ value) => { kept.set(name, String(value)) },
    removeItem: (/** @type {string} */ name) => { kept.delete(name) },
  }
}

/** One of several tabs. As in Chromium each has a copy, which hears of what the others have written some time later. */
class SharedStorage {
  kept = new Map()
  /** @type {Map<string, string>[]} */ copies = []

  of() {
    const copy = new Map(this.kept)
    this.copies.push(copy)
    const tab = storageOf(copy)
    /** @param {(kept: Map<string, string>) => any} work */
    const write = (work) => {
      work(copy)
      setImmediate(() => [this.kept, ...this.copies].forEach((one) => one === copy || work(one)))
    }
    tab.setItem = (/** @type {string} */ name, /** @type {any} */ value) => write((kept) => kept.set(name, String(value)))
    tab.removeItem = (/** @type {string} */ name) => write((kept) => kept.delete(name))
    return tab
  }
}

module.exports = { storageOf, SharedStorage }
