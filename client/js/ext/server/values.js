// Settings of the server as the page edits them: which vendors a key looks like, which MCP servers a text describes, which
// field a refusal means. Pure.

yaa.define('ext/server/values', ['core/canonical-json', 'core/patch'], ({ equal }, { isObject }) => {
  /** Under these keys programs keep their MCP servers. */
  const LISTS = ['mcpServers', 'servers', 'mcp_servers']
  const NAME = /^[\w.-]{1,64}$/

  /** Does this stand for a secret that the server keeps? @param {any} value */
  const isSecret = (value) => isObject(value) && value.secret === true

  /**
   * Does a file say already what changes would make it say? Of a secret that the server does not show that is not known.
   * @param {any} file @param {{path: string[], value?: any, remove?: boolean}[]} changes
   */
  const holds = (file, changes) => changes.every(({ path, value, remove }) => {
    const there = path.reduce((inside, name) => inside?.[name], file)
    return remove ? there === undefined : there !== undefined && equal(there, value)
  })

  /**
   * The vendors whose keys look like this one: those of the longest beginning that fits.
   * @param {string} key @param {Vendor[]} vendors @returns {Vendor[]} none: it looks like no key that is known
   */
  function vendorsOf(key, vendors) {
    const text = key.trim()
    const fits = vendors.filter(({ key_shape: shape }) => shape && text.length > shape.length && text.startsWith(shape))
    const longest = Math.max(0, ...fits.map(({ key_shape: shape }) => String(shape).length))
    return fits.filter(({ key_shape: shape }) => shape?.length === longest)
  }

  /** A name that is not taken: `name`, `name-2` … @param {string} name @param {Record<string, any>} taken */
  function freeName(name, taken) {
    const plain = name.replace(/[^\w-]+/g, '-').replace(/^-+|-+$/g, '') || 'main'
    for (let n = 1; ; n += 1) {
      const tried = n === 1 ? plain : `${plain}-${n}`
      if (!Object.hasOwn(taken, tried)) return tried
    }
  }

  /**
   * What a text says of MCP servers: the JSON of another program, one entry of it, an address, or a command.
   * @param {string} source @returns {{entries: {name: string, entry: any}[], problem?: string}} `problem`: key of a text
   */
  function mcpEntries(source) {
    const text = source.trim()
    if (!text) return { entries: [], problem: 'host.mcp.empty' }
    if (/^https?:\/\//i.test(text)) return URL.canParse(text) ? { entries: [{ name: nameOfUrl(text), entry: { url: text } }] } : { entries: [], problem: 'host.mcp.badUrl' }
    if (/^\{|^"[^"]*"\s*:/.test(text)) return ofJson(text)
    const [command, ...args] = wordsOf(text)
    return command ? { entries: [{ name: nameOfCommand([command, ...args]), entry: { command, ...(args.length ? { args } : {}) } }] } : { entries: [], problem: 'host.mcp.empty' }
  }

  /** @param {string} text @returns {{entries: {name: string, entry: any}[], problem?: string}} */
  function ofJson(text) {
    /** @type {any} */ let value
    try {
      // the lines between two braces are pasted as often as the whole
      value = JSON.parse(text.startsWith('"') ? `{${text.replace(/,\s*$/, '')}}` : text)
    } catch {
      return { entries: [], problem: 'host.mcp.notJson' }
    }
    if (!isObject(value)) return { entries: [], problem: 'host.mcp.notEntry' }
    const list = LISTS.find((name) => isObject(value[name]))
    const inside = list ? value[list] : isObject(value.mcp) && isObject(value.mcp.servers) ? value.mcp.servers : value
    if (isEntry(inside)) return { entries: [{ name: typeof inside.name === 'string' && NAME.test(inside.name) ? inside.name : nameOf(inside), entry: withoutName(inside) }] }
    const entries = Object.entries(inside).map(([name, entry]) => ({ name, entry }))
    if (!entries.length || !entries.every(({ entry }) => isEntry(entry))) return { entries: [], problem: 'host.mcp.notEntry' }
    return { entries }
  }

  /** @param {any} value */
  const isEntry = (value) => isObject(value) && ['command', 'url', 'httpUrl', 'serverUrl'].some((key) => typeof value[key] === 'string')

  /** @param {any} entry */
  const withoutName = ({ name: _, ...entry }) => entry

  /** @param {any} entry */
  const nameOf = (entry) => (entry.command ? nameOfCommand([entry.command, ...(Array.isArray(entry.args) ? entry.args : []).map(String)]) : nameOfUrl(String(entry.url ?? entry.httpUrl ?? entry.serverUrl)))

  /** @param {string} url */
  function nameOfUrl(url) {
    if (!URL.canParse(url)) return 'server'
    const { hostname } = new URL(url)
    if (/^[\d.]+$|^\[/.test(hostname)) return 'server'
    const parts = hostname.split('.').filter((part) => !/^(?:www|mcp|api|com|org|net|io|dev|ai|app|example)$/.test(part))
    return parts.at(-1)?.replace(/[^\w-]/g, '') || 'server'
  }

  /** @param {string[]} words */
  function nameOfCommand(words) {
    const named = words.slice(1).find((word) => !word.startsWith('-') && /[a-z]/i.test(word)) ?? words[0]
    const last = /** @type {string} */ (named.split(/[/\\]/).at(-1)).replace(/@[\d.]+$|@latest$|\.\w+$/g, '')
    return last.replace(/^(?:mcp-)?server-|^mcp-|-mcp(?:-server)?$|-server$/g, '').replace(/[^\w-]/g, '') || 'server'
  }

  /** The words of a command line; quotes hold words together. @param {string} line @returns {string[]} */
  function wordsOf(line) {
    return [...line.matchAll(/"((?:[^"\\]|\\.)*)"|'([^']*)'|(\S+)/g)].map(([, double, single, plain]) => double?.replace(/\\(.)/g, '$1') ?? single ?? plain)
  }

  /**
   * The words of a refusal, by the field that they are about.
   * @param {{pointer?: string, detail?: string}[]} errors @param {Record<string, string[]>} fields the path of each field's setting
   * @returns {{fields: Record<string, string>, rest: string[]}} `rest`: about none of them
   */
  function problemsAt(errors, fields) {
    /** @type {Record<string, string>} */ const found = {}
    /** @type {string[]} */ const rest = []
    for (const { pointer = '', detail = '' } of errors) {
      const at = partsOf(pointer)
      const fits = Object.entries(fields).filter(([, path]) => path.every((part, i) => at[i] === part))
      const [name] = fits.sort(([, a], [, b]) => b.length - a.length)[0] ?? []
      if (name && !found[name]) found[name] = detail
      else rest.push(detail)
    }
    return { fields: found, rest }
  }

  /** @param {string} pointer as JSON Pointer, or with dots @returns {string[]} */
  const partsOf = (pointer) => (pointer.startsWith('/') ? pointer.slice(1).split('/').map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~')) : pointer.split('.'))

  /** A number as it was typed, with a comma or a point. @param {string} text @returns {number | undefined | null} null: it is none */
  function numberOf(text) {
    const plain = text.trim().replace(/^(\d+),(\d+)$/, '$1.$2')
    if (!plain) return undefined
    const value = Number(plain)
    return Number.isFinite(value) && value >= 0 ? value : null
  }

  return { isObject, isSecret, holds, vendorsOf, freeName, mcpEntries, problemsAt, numberOf, NAME }
})
