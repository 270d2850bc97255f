// Grant patterns: which calls a grant of the session covers, as server/tools/policy.py decides it, and which pattern to
// offer for a call. An offered pattern always matches its call.

yaa.define('core/grant-patterns', [], () => {
  const SPECIAL = /[*?[]/g
  /** The part of a value that is likely to stay, by the name of its argument. */
  const KINDS = { command: ofCommand, cmd: ofCommand, path: ofPath, file: ofPath, folder: ofPath, url: ofUrl }

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

  /** @param {{tool: string, match?: Record<string, string>}} grant @param {string} name @param {any} args */
  function covers(grant, name, args) {
    if (grant.tool !== name) return false
    return Object.entries(grant.match ?? {}).every(([key, pattern]) => typeof args?.[key] === 'string' && matches(args[key], pattern))
  }

  /**
   * What a rule made from this call may look at: its text arguments, each with a pattern that matches it. The ones
   * that say where and what are on to begin with.
   * @param {any} args @returns {{key: string, value: string, pattern: string, exact: string, on: boolean}[]} `exact` matches this value alone
   */
  function suggest(args) {
    const texts = Object.entries(args ?? {}).filter(([, value]) => typeof value === 'string')
    const rows = texts.map(([key, value]) => {
      const kind = Object.hasOwn(KINDS, key) ? KINDS[/** @type {keyof typeof KINDS} */ (key)] : null
      const wide = kind?.(value)
      const pattern = wide && matches(value, wide) ? wide : literal(value)
      return { key, value, pattern, exact: literal(value), on: Boolean(kind) }
    })
    if (rows.length && !rows.some((row) => row.on)) rows[0].on = true
    return rows
  }

  /** `git log --oneline` → `git log *`; a chain of commands is only ever itself. @param {string} value */
  function ofCommand(value) {
    if (/[;&|`$<>\n()]/.test(value)) return ''
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
   */
  function earlierCalls({ messages, calls = {} }, grant, except = '') {
    const all = messages.flatMap((message) => (message.open ? [] : message.tool_calls ?? []))
    return all.filter((call) => call.id !== except && covers(grant, call.function.name, calls[call.id]?.args ?? read(call.function.arguments)))
  }

  /** @param {string} source */
  function read(source) {
    try {
      return JSON.parse(source || '{}')
    } catch {
      return {}
    }
  }

  return { matches, covers, suggest, earlierCalls }
})
