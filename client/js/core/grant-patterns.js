// Grant patterns: which calls a grant of the session covers that allows, as server/tools/policy.py decides it, and which
// pattern to offer for a call. An offered pattern always matches its call. A denial covers more: every command of a line.

yaa.define('core/grant-patterns', ['core/shell-commands', 'core/patch'], (commands, { parseJson }) => {
  const SPECIAL = /[*?[]/g
  /** What an argument is, by its name, where the tool does not say it. @type {Record<string, string>} */
  const NAMES = { command: 'shell-command', cmd: 'shell-command', path: 'workspace-path', file: 'workspace-path', folder: 'workspace-path', url: 'url' }
  /** @type {Record<string, (value: string) => string>} the part of a value that is likely to stay */
  const WIDE = { 'shell-command': ofCommand, 'workspace-path': ofPath, url: ofUrl }
  /** @type {Record<string, (text: string, pattern: string) => boolean>} as server/tools/argument_forms.py has it */
  const FITS = {
    'shell-command': (text, pattern) => matches(text, pattern) && commands.covers(text, pattern),
    'workspace-path': (text, pattern) => matches(text || '.', pathPattern(pattern)),
    url: fitsAddress,
  }

  /**
   * Python's fnmatchcase: `*`, `?`, `[abc]`, `[!abc]`; everything else is itself, line breaks included.
   * @param {string} text @param {string} pattern
   */
  function matches(text, pattern) {
    try {
      return new RegExp(`^(?:${translate(pattern)})$`, 'su').test(text)
    } catch {
      return false // a range that is none, such as [z-a]
    }
  }

  /**
   * What is between two stars is taken where it comes first, and that is not tried again: it would take a lifetime.
   * @param {string} pattern
   */
  function translate(pattern) {
    const pieces = ['']
    for (let i = 0; i < pattern.length; i++) {
      const char = pattern[i]
      let made = escaped(char)
      if (char === '*') pieces.push(made = '')
      else if (char === '?') made = '.'
      else if (char === '[') {
        const end = endOfSet(pattern, i)
        made = end < 0 ? '\\[' : setOf(pattern.slice(i + 1, end))
        if (end > 0) i = end
      }
      pieces[pieces.length - 1] += made
    }
    const [first, ...rest] = pieces
    const last = rest.pop()
    const middle = rest.filter(Boolean).map((piece, i) => `(?=(.*?${piece}))\\${i + 1}`)
    return last === undefined ? first : `${first}${middle.join('')}.*${last}`
  }

  /** A `]` right at the beginning is one of the set. @param {string} pattern @param {number} from */
  function endOfSet(pattern, from) {
    let at = from + 1
    if (pattern[at] === '!') at++
    return pattern.indexOf(']', at + 1)
  }

  /** @param {string} inside */
  function setOf(inside) {
    const not = inside.startsWith('!')
    const chars = (not ? inside.slice(1) : inside).replace(/[\\\]^[&|~]/g, '\\$&')
    return `[${not ? '^' : ''}${chars}]`
  }

  /** @param {string} char */
  const escaped = (char) => char.replace(/[\\^$.*+?()[\]{}|/]/, '\\$&')

  /** A pattern for paths in the form that paths have. @param {string} pattern */
  function pathPattern(pattern) {
    if (/\[[^\]]*\//.test(pattern)) return pattern
    /** @type {string[]} */ const found = []
    for (const part of pattern.split('/')) {
      if (part === '..' && found.length && !/[*?[]/.test(found[found.length - 1])) found.pop()
      else if (part && part !== '.') found.push(part)
    }
    if (pattern.startsWith('/') && found.shift() !== 'workspace') return pattern
    return found.join('/') || (pattern ? '.' : '')
  }

  /** Scheme and host are compared apart from the rest, so that `*` in a host ends with it. @param {string} text @param {string} pattern */
  function fitsAddress(text, pattern) {
    const parts = /^([^/:]*):\/\/([^/?]*)(.*)$/su
    const [address, wanted] = [parts.exec(text), parts.exec(pattern)]
    if (!address || !wanted) return matches(text, pattern) && (!address || /^\**$/.test(pattern))
    if (address[2].includes('@') && !wanted[2].includes('@')) return false
    const scheme = wanted[1].toLowerCase()
    const host = wanted[2].replace({ http: /:80$/, https: /:443$/ }[scheme] ?? /^(?!)/, '')
    const at = host.lastIndexOf('@') + 1
    const place = host.slice(0, at) + host.slice(at).toLowerCase().replace(/\.$/, '')
    return matches(address[1], scheme) && matches(address[2], place) && matches(address[3], wanted[3] || '/')
  }

  /** Which arguments of a tool are paths, addresses and command lines. @param {any} parameters its JSON Schema @returns {Record<string, string>} */
  function formatsOf(parameters) {
    const members = Object.entries(parameters?.properties ?? {}).map(([key, one]) => [key, one?.format])
    return Object.fromEntries(members.filter(([, format]) => Object.hasOwn(FITS, String(format))))
  }

  /**
   * Whether a pattern that allows covers an argument in its one form.
   * @param {string} text @param {string} pattern @param {string} [format]
   */
  const allows = (text, pattern, format = '') => (Object.hasOwn(FITS, format) ? FITS[format] : matches)(text, pattern)

  /**
   * @param {{tool: string, match?: Record<string, string>}} grant @param {string} name @param {any} args
   * @param {Record<string, string>} [formats]
   */
  function covers(grant, name, args, formats = {}) {
    if (grant.tool !== name) return false
    return Object.entries(grant.match ?? {}).every(([key, pattern]) => typeof args?.[key] === 'string' && allows(args[key], pattern, formats[key]))
  }

  /**
   * What a rule made from this call may look at: its text arguments, each with a pattern that matches it. The ones
   * that say where and what are on to begin with.
   * @param {any} args @param {Record<string, string>} [formats]
   * @returns {{key: string, value: string, pattern: string, exact: string, on: boolean}[]} `exact` matches this value alone
   */
  function suggest(args, formats = {}) {
    const texts = Object.entries(args ?? {}).filter(([, value]) => typeof value === 'string')
    const rows = texts.map(([key, value]) => {
      const format = formats[key] ?? (Object.hasOwn(NAMES, key) ? NAMES[key] : '')
      const wide = Object.hasOwn(WIDE, format) ? WIDE[format](value) : ''
      const pattern = wide && allows(value, wide, format) ? wide : literal(value)
      return { key, value, pattern, exact: literal(value), on: Boolean(format) }
    })
    if (rows.length && !rows.some((row) => row.on)) rows[0].on = true
    return rows
  }

  /** `git log --oneline` → `git log *`; a chain, and what runs another program, is only ever itself. @param {string} value */
  function ofCommand(value) {
    if (!commands.isPlain(value)) return ''
    const words = value.trim().split(/\s+/)
    const fixed = /^[a-z][\w-]*$/i.test(words[1] ?? '') ? 2 : 1
    const head = literal(words.slice(0, fixed).join(' '))
    return words.length > fixed ? `${head} *` : head
  }

  /** `src/app/main.py` → `src/app/*` @param {string} value */
  function ofPath(value) {
    const at = value.lastIndexOf('/')
    return at > 0 && !value.includes('..') ? `${literal(value.slice(0, at))}/*` : ''
  }

  /** `https://a.b/c?d` → `https://a.b/*` @param {string} value */
  function ofUrl(value) {
    const origin = /^https?:\/\/[^/?#@]+(?=\/)/.exec(value)?.[0]
    return origin ? `${literal(origin)}/*` : ''
  }

  /** A pattern that matches this text alone. @param {string} value */
  const literal = (value) => value.replace(SPECIAL, '[$&]')

  /**
   * Earlier calls of the session that a rule would have been about.
   * @param {Session} session @param {{tool: string, match?: Record<string, string>}} grant @param {string} [except] a call's id
   * @param {Record<string, string>} [formats]
   */
  function earlierCalls({ messages, calls = {} }, grant, except = '', formats = {}) {
    const all = messages.flatMap((message) => (message.open ? [] : message.tool_calls ?? []))
    return all.filter((call) => call.id !== except && covers(grant, call.function.name, calls[call.id]?.args ?? parseJson(call.function.arguments || '{}', {}), formats))
  }

  return { matches, allows, covers, suggest, formatsOf, earlierCalls, usual: NAMES }
})
