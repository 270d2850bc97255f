// Secrets in a session: what looks like a key, a token or a password, so that it can be taken out before a session is
// given away. Nothing is taken out unseen: `scan` says what was found, `redact` removes what the person agreed to.

yaa.define('core/redact', [], () => {
  /** Kinds in the order they are tried; the first group, or the whole match, is the secret. @type {[string, RegExp][]} */
  const PATTERNS = [
    ['private', /-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----[^-]+(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----)?/g],
    ['token', /\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}/g],
    ['key', /\b(?:sk|pk|rk)-(?:[a-z]+-)*[A-Za-z0-9_-]{16,}/g],
    ['key', /\b(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{10,}/g],
    ['token', /\b(?:gh[opusr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abeprs]-[\w-]{10,})/g],
    ['token', /\b(?:hf_[A-Za-z0-9]{20,}|npm_[A-Za-z0-9]{30,})/g],
    ['key', /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g],
    ['key', /\bAIza[\w-]{30,}/g],
    ['password', /\b[a-z][a-z0-9+.-]{0,30}:\/\/[^\s/:@"'`]+:([^\s/@"'`]{3,})@/gi],
    ['token', /\b(?:authorization|proxy-authorization)["']?\s*[:=]\s*["']?(?:bearer|basic|token)\s+([\w.~+/=-]{8,})/gi],
    ['token', /\bbearer\s+([\w.~+/=-]{20,})/gi],
    ['password', /\b(?:password|passwd|passphrase|pwd)\b\\?["']?\s*[:=]\s*\\?["']?([^\s"'`,;\\&]{4,})/gi],
    ['key', /\b\w*(?:api[_-]?key|secret|access[_-]?key|token|credential)s?\b\\?["']?\s*[:=]\s*\\?["']?([\w.~+/=-]{8,})/gi],
  ]
  /** Members that hold a secret whatever it looks like, as `api_key` of a provider does. @type {[string, RegExp][]} */
  const NAMED = [
    ['password', /(?:password|passwd|passphrase|pwd)$/i],
    ['token', /(?:token|authorization|cookie|jwt)$/i],
    ['key', /(?:(?:api|access|private|secret|signing|auth|account)[ _-]?keys?|secret|credentials?)$/i],
  ]
  /** So much of a secret's beginning is a secret too. A title, which is cut off, is never longer than MOST. */
  const [LEAST, MOST] = [8, 1000]
  const SHORTEST = 4 // characters: less would take letters out of every other text
  /** What stands where a secret would, and tells nothing. */
  const EMPTY = /^(?:[*x.•_-]+|[<${].*|null|none|true|false|undefined|your[\w-]*|example[\w-]*|changeme|placeholder|redacted.*|string)$/i

  /** @param {any} value @param {(text: string, name: string) => void} see @param {string} [name] the member it is */
  function walk(value, see, name = '') {
    if (typeof value === 'string') see(value, name)
    else if (Array.isArray(value)) value.forEach((one) => walk(one, see, name))
    else if (value && typeof value === 'object') Object.entries(value).forEach(([key, one]) => walk(one, see, key))
  }

  /**
   * What looks like a secret anywhere in the document, each once.
   * @param {any} session @returns {Secret[]}
   */
  function scan(session) {
    /** @type {Map<string, Secret>} */ const found = new Map()
    walk(session, (text, name) => {
      if (text.startsWith('data:')) return
      const named = text.length >= SHORTEST && NAMED.find(([, pattern]) => pattern.test(name))
      if (named) return see(named[0], text, around(`${name}: ${text}`, 0, 400))
      for (const [kind, pattern] of PATTERNS) {
        for (const match of text.matchAll(pattern)) see(kind, match[1] ?? match[0], around(text, match.index, match[0].length))
      }
    })
    /** @param {string} kind @param {string} text @param {string} context */
    function see(kind, text, context) {
      if (EMPTY.test(text)) return
      for (const known of found.values()) if (known.text !== text && known.text.includes(text)) return
      const known = found.get(text)
      if (known) known.count += 1
      else found.set(text, { kind, text, shown: mask(text), context: context.replaceAll(text, mask(text)), count: 1 })
    }
    return [...found.values()]
  }

  /** @param {string} text @param {number} at @param {number} length */
  function around(text, at, length) {
    return text.slice(Math.max(0, at - 30), at + Math.min(length, 400) + 20).replace(/\s+/g, ' ').trim()
  }

  /** Enough to recognise it, too little to use it. @param {string} text */
  function mask(text) {
    const few = text.length < 12 ? 1 : 4
    return `${text.slice(0, few)}…${text.length < 20 ? '' : text.slice(-2)}`.replace(/\s+/g, ' ')
  }

  /**
   * A copy without these texts, wherever they are: as values, in longer texts, in names, and as JSON within a text.
   * @template T @param {T} session @param {Pick<Secret, 'kind' | 'text'>[]} secrets @returns {T}
   */
  function redact(session, secrets) {
    const all = secrets.flatMap(({ kind, text }) => {
      const quoted = JSON.stringify(text).slice(1, -1)
      return [...new Set([text, quoted])].map((one) => ({ kind, text: one }))
    }).sort((a, b) => b.text.length - a.text.length)
    /** @param {string} text */
    const clean = (text) => all.reduce((now, secret) => unended(now.replaceAll(secret.text, `[redacted ${secret.kind}]`), secret), text)
    /** @param {any} value @returns {any} */
    function copy(value) {
      if (typeof value === 'string') return clean(value)
      if (Array.isArray(value)) return value.map(copy)
      if (!value || typeof value !== 'object') return value
      return Object.fromEntries(Object.entries(value).map(([name, one]) => [clean(name), copy(one)]))
    }
    return copy(session)
  }

  /**
   * A text that was cut off within a secret, as titles are, ends in most of it.
   * @param {string} text @param {Pick<Secret, 'kind' | 'text'>} secret
   */
  function unended(text, secret) {
    const body = text.replace(/(?<![\s.…])[\s.…]+$/, '')
    for (let n = Math.min(secret.text.length - 1, body.length, MOST); n >= LEAST; n--) {
      if (body.endsWith(secret.text.slice(0, n))) return `${body.slice(0, -n)}[redacted ${secret.kind}]${text.slice(body.length)}`
    }
    return text
  }

  return { scan, redact, mask }
})
