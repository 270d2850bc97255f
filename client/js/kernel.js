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
    const known = defined.get(name)
    if (known && String(known.factory) !== String(factory)) throw new Error(`${name} is defined twice`) // one that came late comes again
    heard.add(globalThis.document?.currentScript)
    if (!known) defined.set(name, { deps, factory })
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

  /** Of a script that has said nothing by then it is said that it did not come. */
  const LIMIT_MS = 20_000
  const PAUSES_MS = [1000, 3000]
  /** @type {Set<any>} scripts that have defined a module: others came from somebody else */
  const heard = new Set()
  /** @type {Map<string, Promise<void>>} what has been added to the page, by its address */
  const added = new Map()

  /**
   * Load the scripts and styles of a `<template data-group="group">` and of the groups that its `data-with` names, or
   * of all. Each file is added once; one that failed is tried again at the next call. A page in one file has no templates: everything is there already.
   * @param {string} [group] @returns {Promise<void>}
   */
  async function load(group) {
    const all = templates()
    const wanted = all.filter((template) => group === undefined || template.dataset.group === group)
    if (!wanted.length && all.length) throw new Error(`${group}: the page has no template for this group`)
    const tags = wanted.flatMap((template) => [...template.content.querySelectorAll('script, link')])
    const others = wanted.flatMap((template) => template.dataset.with?.split(' ') ?? [])
    await Promise.all([...others.map(load), ...tags.map(add)])
  }

  /** @param {Element} tag @returns {Promise<void>} */
  function add(tag) {
    const address = tag.getAttribute('src') ?? tag.getAttribute('href') ?? ''
    const known = added.get(address)
    if (known) return known
    const coming = bring(tag, address, 0)
    added.set(address, coming)
    coming.catch(() => added.delete(address))
    return coming
  }

  /** @param {Element} tag @param {string} address @param {number} tries @returns {Promise<void>} */
  async function bring(tag, address, tries) {
    // A copy of the page's own tag: the policy forbids an address set from a script.
    const copy = document.importNode(tag, true)
    let timer
    const came = await new Promise((resolve) => {
      copy.addEventListener('load', () => resolve(heard.has(copy) || !tag.getAttribute('src')))
      copy.addEventListener('error', () => resolve(false))
      timer = setTimeout(resolve, LIMIT_MS, null)
      document.head.append(copy)
    })
    clearTimeout(timer)
    if (came) return
    copy.remove()
    if (came === null || tries >= PAUSES_MS.length) throw Object.assign(new Error(yaa.lacking?.() ?? `${address} could not be loaded`), { name: 'NotLoaded', address })
    await new Promise((resolve) => { setTimeout(resolve, PAUSES_MS[tries]) })
    return bring(tag, address, tries + 1)
  }

  /** @type {HTMLTemplateElement[] | undefined} */
  let found

  /** Find them once: in a long session that takes milliseconds. @returns {HTMLTemplateElement[]} none outside of a page */
  function templates() {
    return (found ??= globalThis.document ? /** @type {any} */ ([...document.querySelectorAll('template[data-group]')]) : [])
  }

  /** Of late scripts. @type {{name: string, group?: string}[] | undefined} */
  let late

  /**
   * The modules `ext/NAME/purpose` that are there: who asks says what is to be done, not who does it.
   * @param {string} purpose @returns {{name: string, group?: string}[]} without groups in a page in one file
   */
  function parts(purpose) {
    const nameOf = (/** @type {Element} */ tag) => /(?:^|\/)js\/(.+)\.js$/.exec(tag.getAttribute('src') ?? '')?.[1] ?? '' // behind a version
    late ??= templates().flatMap(({ content, dataset: { group } }) => [...content.querySelectorAll('script')].map((tag) => ({ name: nameOf(tag), group })))
    const all = late.length ? late : [...defined.keys()].map((name) => ({ name }))
    return all.filter(({ name }) => name.startsWith('ext/') && name.split('/')[2] === purpose)
  }

  /** @param {string} purpose @returns {Promise<any>} the module for it, loaded now; null where the page has none */
  async function part(purpose) {
    const [first] = parts(purpose)
    if (!first) return null
    await load(first.group)
    return use(first.name)
  }

  /** Write the kernel and every loaded module as one script, for a page in one file. */
  function source() {
    const texts = [...defined].map(([name, { deps, factory }]) => {
      return `yaa.define(${JSON.stringify(name)}, ${JSON.stringify(deps)}, ${factory})`
    })
    return [`globalThis.yaa = (${kernel})()`, ...texts].join('\n')
  }

  return { define, use, load, part, parts, source }
})()
