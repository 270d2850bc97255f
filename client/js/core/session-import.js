// Sessions out of files: our own documents, messages in the form of Chat Completions, and what other programs
// export, where the page has a part that reads it. What a file brings is never trusted with permissions (core/sanitize).

yaa.define('core/session-import', [
  'core/ids', 'core/session', 'core/message-forms', 'core/sanitize', 'core/patch',
], ({ id: newId }, sessions, { STATUSES, isMessage, messagesIn }, { sanitize }, { isObject }) => {
  /** Of documents and of copies of all. */
  const VERSION = 1
  const MAX_ID = 256
  /** What is nested deeper no server takes (server/lib/strict_json.py), and no browser writes down again. */
  const MAX_DEPTH = 100
  /** Half of a pair, in JSON: no server takes that either, and ChatGPT cuts titles and texts without looking. */
  const HALF = /\\u[dD][89abAB][\da-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][\da-fA-F]{2})\\u[dD][c-fC-F]/
  const OBJECTS = ['calls', 'config', 'context', 'ext', 'plan', 'run', 'usage']
  const LISTS = ['grants', 'interrupts', 'tools']
  /**
   * @param {string} text of a file
   * @param {string} [name] of the file; the title of a session that has none
   * @param {any} [defaults] the session half of the server's configuration @param {any} [formats] of other programs
   * @returns {{kind: string, sessions: Session[], removed: Removed[][], prompts?: any[], program?: string, left?: Left}} kind '' where nothing was
   *   recognised, or `program` is not read yet; `removed`: of each session what was taken out; `left`: what did not come in, none if all did
   */
  function readSessions(text, name = '', defaults, formats = null) {
    const { kind, all, prompts, program } = recognised(text, formats)
    const known = all.filter(isReadable)
    const found = known.map((one) => importSession(one, name, defaults)).filter((one) => one !== null)
    const versions = all.filter((one) => !isReadable(one)).map(({ version }) => String(version))
    const sum = (/** @type {'left' | 'parts'} */ key) => found.reduce((total, one) => total + one[key], 0)
    const left = { versions, sessions: known.length - found.length, messages: sum('left'), parts: sum('parts') }
    const both = { sessions: found.map(({ session }) => session), removed: found.map(({ removed }) => removed) }
    const complete = !versions.length && !left.sessions && !left.messages && !left.parts
    return { kind, ...both, ...(prompts ? { prompts } : {}), ...(program ? { program } : {}), ...(complete ? {} : { left }) }
  }

  /** @typedef {{versions: string[], sessions: number, messages: number, parts: number}} Left documents of other versions, conversations that are none, messages without a place, parts of which there is the name */

  /** A document of another version may mean something else by its keys. @param {any} one */
  const isReadable = (one) => !isObject(one) || !('version' in one) || one.version === VERSION || !isOurs(one)

  /** @param {string} text @param {any} formats @returns {{kind: string, all: any[], prompts?: any[], program?: string}} documents as they are */
  function recognised(text, formats) {
    const values = parse(text.replace(/^\ufeff/, ''))
    return values ? recognise(values, formats) : { kind: '', all: [] }
  }

  /** JSON, or a line of JSON each. @param {string} text @returns {{value: any, lines?: any[]} | null} */
  function parse(text) {
    const whole = HALF.test(text) ? (/** @type {string} */ _, /** @type {any} */ value) => (typeof value === 'string' ? value.toWellFormed() : value) : undefined
    try {
      return { value: JSON.parse(text, whole) }
    } catch {
      // not one document
    }
    try {
      const lines = text.split('\n').filter((line) => line.trim()).map((line) => JSON.parse(line, whole))
      return lines.length ? { value: lines, lines } : null
    } catch {
      return null
    }
  }

  /** @param {{value: any, lines?: any[]}} given @param {any} formats @returns {{kind: string, all: any[], prompts?: any[], program?: string}} */
  function recognise({ value, lines }, formats) {
    if (value?.format === 'yaa.sessions' || value?.yaa_backup) {
      const version = value.yaa_backup ?? value.version
      const all = version === VERSION ? arrayOf(value.sessions) : [{ id: 'all', version }]
      return { kind: 'all', all, prompts: version === VERSION ? arrayOf(value.prompts) : [] }
    }
    const read = lines && formats?.ofLines(lines)
    if (read) return { kind: read.kind, all: read.all.map(safe(read.make)) }
    const all = (Array.isArray(value) ? value : [value]).filter(isObject)
    const [first] = all
    if (!first) return { kind: '', all: [] }
    const forms = all.map((one) => (isOurs(one) ? undefined : formats?.formOf(one)))
    const form = forms.find(Boolean)
    if (form) return { kind: form.kind, all: all.map((one, i) => (forms[i] ? safe(forms[i].make)(one) : one)) }
    const program = all.some(isOurs) ? undefined : formats?.programOf(all)
    if (program) return { kind: '', all: [], program }
    if (Array.isArray(first.messages)) return { kind: isOurs(first) ? 'session' : 'messages', all }
    if (arrayOf(first.input).some(isMessage)) return { kind: 'messages', all: all.map(({ input, ...one }) => ({ ...one, messages: input })) }
    if (Array.isArray(value) && all.some(isMessage)) return { kind: 'messages', all: [{ messages: value }] }
    return { kind: '', all: [] }
  }

  /**
   * Of a thousand conversations one may be broken in a way nobody thought of: it is left out, the others are not.
   * @param {(raw: any) => any} make
   */
  const safe = (make) => (/** @type {any} */ raw) => {
    try {
      return make(raw)
    } catch {
      return null
    }
  }

  /** @param {any} value @param {number} left @returns {boolean} */
  const isDeep = (value, left) => typeof value === 'object' && value !== null && (!left || Object.values(value).some((one) => isDeep(one, left - 1)))

  /** @param {any} one */
  const isOurs = (one) => typeof one.id === 'string' && ('start_time' in one || 'version' in one)

  /** @param {any} value @returns {any[]} */
  const arrayOf = (value) => (Array.isArray(value) ? value : [])

  /**
   * One document from elsewhere as a session of this page, what was taken out of it, how many messages were left out,
   * and of how many parts there is only the name; null if it is none.
   * @param {any} raw @param {string} [name] @param {any} [defaults]
   * @returns {{session: Session, removed: Removed[], left: number, parts: number} | null}
   */
  function importSession(raw, name = '', defaults) {
    if (!Array.isArray(raw?.messages)) return null
    const count = { left: 0, parts: 0 }
    const session = safe((one) => whole(one, name, count))(raw)
    if (!session?.messages.length || isDeep(session, MAX_DEPTH)) return null
    return { ...sanitize(session, defaults), ...count }
  }

  /**
   * The messages of a path as a session has them.
   * @param {any[]} list @param {{left: number, parts: number}} count what does not come in is added @param {string[]} [before]
   */
  function path(list, count, before) {
    const { messages, left, parts } = messagesIn(list)
    const found = paired(messages.map(messageOf), before)
    count.left += left + messages.length - found.length
    count.parts += parts
    return found
  }

  /** A document with everything a session has. @param {any} raw @param {string} name @param {{left: number, parts: number}} count @returns {Session} */
  function whole(raw, name, count) {
    const id = typeof raw.id === 'string' && raw.id.length > 0 && raw.id.length <= 128 ? raw.id : undefined
    const base = sessions.create({ ...(id ? { id } : {}), now: timeOf(raw) })
    const messages = path(raw.messages, count)
    const title = typeof raw.title === 'string' && raw.title ? raw.title : titleOf(messages, name)
    const start_time = raw.start_time ?? raw.startTime ?? base.start_time
    // what another program writes beside its messages means something else here: its tools, its status
    return { ...base, ...(isOurs(raw) ? fitting(raw, count) : {}), id: base.id, title, start_time, messages }
  }

  /** What is no such thing as a session has there is left out; what was set aside is read like the rest. @param {any} raw @param {{left: number, parts: number}} count */
  function fitting(raw, count) {
    const own = { ...raw, ...(STATUSES.has(raw.status) ? { status: STATUSES.get(raw.status) } : {}) }
    for (const key of OBJECTS) if (!isObject(own[key])) delete own[key]
    for (const key of LISTS) {
      if (Array.isArray(own[key])) own[key] = own[key].filter(isObject)
      else delete own[key]
    }
    if (own.calls) own.calls = Object.fromEntries(Object.entries(own.calls).filter(([, entry]) => isObject(entry)))
    const { branches } = sessions.treeOf(own)
    const before = callsBefore([{ at: '', messages: arrayOf(raw.messages) }, ...branches])
    for (const branch of branches) branch.messages = path(branch.messages, count, before(branch.at))
    return own
  }

  /**
   * The calls whose results may stand right behind a message: its own, or those of the answer before it.
   * @param {{at: string, messages: any[]}[]} paths
   */
  function callsBefore(paths) {
    /** @type {Map<string, {path: {at: string, messages: any[]}, i: number}>} */ const places = new Map()
    for (const path of paths) path.messages.forEach((message, i) => places.set(message?.id, { path, i }))
    return (/** @type {string} */ at) => {
      const seen = new Set()
      for (let id = at; !seen.has(id); ) {
        seen.add(id)
        const { path, i } = places.get(id) ?? {}
        const message = path?.messages[i ?? 0]
        if (message?.role !== 'tool') return arrayOf(message?.tool_calls).map((call) => call?.id)
        id = i ? path?.messages[i - 1]?.id : path?.at
      }
      return []
    }
  }

  /** @param {any} raw @returns {Message} */
  function messageOf({ open, meta, reasoning, ...raw }) {
    const id = typeof raw.id === 'string' && raw.id && raw.id.length <= MAX_ID ? raw.id : newId('msg')
    const fields = { ...(open === true ? { open } : {}), ...(isObject(meta) ? { meta } : {}), ...thoughts(reasoning, raw.reasoning_content) }
    return { ...raw, ...fields, id, content: contentOf(raw.content) }
  }

  /** As a session has them, or as servers and gateways give them, a text. @param {any} ours @param {any} [theirs] */
  function thoughts(ours, theirs) {
    if (typeof ours?.text === 'string') return { reasoning: ours }
    const text = ours ?? theirs
    return typeof text === 'string' && text ? { reasoning: { field: text === ours ? 'reasoning' : 'reasoning_content', text } } : {}
  }

  /** A text, or parts. @param {any} content */
  function contentOf(content) {
    if (typeof content === 'string') return content
    if (!Array.isArray(content)) return content === null || content === undefined ? '' : JSON.stringify(content)
    const parts = content.map((part) => (typeof part === 'string' ? { type: 'text', text: part } : part)).filter((part) => typeof part?.type === 'string')
    // Jan and the Assistants API put a text into an object
    return parts.map((part) => (isObject(part.text) ? { type: part.type, text: String(part.text.value ?? '') } : part))
  }

  /**
   * Every call has an id of its own and every result its call: what a provider asks for.
   * @param {Message[]} messages @param {string[]} [before] calls of the path that a branch hangs on
   */
  function paired(messages, before = []) {
    const calls = new Set(before)
    const ids = new Set()
    for (const message of messages) {
      if (!isNew(message.id, ids)) message.id = newId('msg')
      if (message.role === 'assistant' && Array.isArray(message.tool_calls)) {
        message.tool_calls = message.tool_calls.filter((call) => isCall(call) && isNew(call.id, calls))
        for (const { function: asked } of message.tool_calls) {
          if (typeof asked.arguments !== 'string') asked.arguments = JSON.stringify(asked.arguments ?? {})
        }
        if (!message.tool_calls.length) delete message.tool_calls
      } else delete message.tool_calls
    }
    const results = new Set()
    return messages.filter(({ role, tool_call_id: call = '' }) => role !== 'tool' || (calls.has(call) && isNew(call, results)))
  }

  /** @param {any} call */
  const isCall = (call) => typeof call?.id === 'string' && typeof call.function?.name === 'string'

  /** @param {string} id @param {Set<string>} seen */
  const isNew = (id, seen) => !seen.has(id) && Boolean(seen.add(id))

  /** @param {Message[]} messages @param {string} name */
  function titleOf(messages, name) {
    const first = messages.find((message) => message?.role === 'user')?.content ?? ''
    const words = typeof first === 'string' ? first : arrayOf(first).find((part) => typeof part?.text === 'string')?.text ?? ''
    return [...words.replace(/\s+/g, ' ').trim()].slice(0, 60).join('') || name.replace(/(?:\.yaa)?\.\w+$/, '')
  }

  /** @param {any} raw @returns {number} ms since 1970 */
  function timeOf(raw) {
    const time = Date.parse(raw.start_time ?? raw.startTime ?? '')
    return Number.isFinite(time) ? time : Date.now()
  }

  /** All sessions in one document. @param {Session[]} all @param {any[]} prompts @param {string} exported when */
  const exportDocument = (all, prompts, exported) => ({ format: 'yaa.sessions', version: 1, exported, sessions: all, prompts })

  return { readSessions, importSession, exportDocument }
})
