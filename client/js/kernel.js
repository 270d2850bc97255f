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

  /** All of this as one script: the kernel and every module, for a page in one file. */
  function source() {
    const texts = [...defined].map(([name, { deps, factory }]) => {
      return `yaa.define(${JSON.stringify(name)}, ${JSON.stringify(deps)}, ${factory})`
    })
    return [`globalThis.yaa = (${kernel})()`, ...texts].join('\n')
  }

  return { define, use, source }
})()
