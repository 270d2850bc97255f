// The registry of modules. Every other script is one `yaa.define(name, deps, factory)`, so the order of the script
// tags does not matter, nothing but `yaa` is global, and the whole client can be written into one file again.
// Modules of the language itself (`import`) do not load from file://, in any browser.

globalThis.yaa = (function kernel() {
  /** @type {Map<string, {deps: readonly string[], factory: (...deps: any[]) => any}>} */
  const defined = new Map()
  /** @type {Map<string, any>} */
  const made = new Map()
  /** @type {string[]} */
  const making = []

  /**
   * @param {string} name
   * @param {readonly string[]} deps
   * @param {(...deps: any[]) => any} factory called once, when first used
   */
  function define(name, deps, factory) {
    if (defined.has(name)) throw new Error(`${name} is defined twice`)
    defined.set(name, { deps, factory })
  }

  /** @param {string} name @returns {any} the module, made now if this is its first use */
  function use(name) {
    if (made.has(name)) return made.get(name)
    const path = [...making, name].join(' > ')
    const module = defined.get(name)
    if (!module) throw new Error(`${path}: ${name} is not defined. Is its script on the page?`)
    if (making.includes(name)) throw new Error(`${path}: these modules need each other`)
    making.push(name)
    try {
      made.set(name, module.factory(...module.deps.map(use)))
    } finally {
      making.pop()
    }
    return made.get(name)
  }

  /** @type {Map<string, Promise<void>>} what has been added to the page, by its address */
  const added = new Map()

  /**
   * Load the scripts and styles of a `<template data-group="group">`, or of all of them. Each file is added once; one
   * that failed is tried again at the next call. A page in one file has no templates: everything is there already.
   * @param {string} [group] @returns {Promise<void>}
   */
  async function load(group) {
    const all = templates()
    const wanted = all.filter((template) => group === undefined || template.dataset.group === group)
    if (!wanted.length && all.length) throw new Error(`${group}: the page has no template for this group`)
    const tags = wanted.flatMap((template) => [...template.content.querySelectorAll('script, link')])
    await Promise.all(tags.map(add))
  }

  /** @param {Element} tag @returns {Promise<void>} */
  function add(tag) {
    const address = tag.getAttribute('src') ?? tag.getAttribute('href') ?? ''
    const known = added.get(address)
    if (known) return known
    /** @type {Promise<void>} */
    const coming = new Promise((resolve, reject) => {
      // A copy of the page's own tag: the policy forbids an address set from a script.
      const copy = document.importNode(tag, true)
      copy.addEventListener('load', () => resolve())
      copy.addEventListener('error', () => {
        added.delete(address)
        copy.remove()
        reject(Object.assign(new Error(`${address} could not be loaded`), { name: 'NotLoaded', address }))
      })
      document.head.append(copy)
    })
    added.set(address, coming)
    return coming
  }

  /** @type {HTMLTemplateElement[] | undefined} */
  let found

  /** Find them once: in a long session that takes milliseconds. @returns {HTMLTemplateElement[]} none outside of a page */
  function templates() {
    return (found ??= globalThis.document ? /** @type {any} */ ([...document.querySelectorAll('template[data-group]')]) : [])
  }

  /** Write the kernel and every loaded module as one script, for a page in one file. */
  function source() {
    const texts = [...defined].map(([name, { deps, factory }]) => {
      return `yaa.define(${JSON.stringify(name)}, ${JSON.stringify(deps)}, ${factory})`
    })
    return [`globalThis.yaa = (${kernel})()`, ...texts].join('\n')
  }

  return { define, use, load, source }
})()
