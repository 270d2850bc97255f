// What is to be done with kept sessions, decided without doing it: of a frame of a stream, of a copy that is older or newer than
// the server's, of a row of the list.

yaa.define('ext/keeper/rules', ['core/session', 'io/store-memory'], (sessions, { later }) => {
  /** The extension's key in `ext`: a session that has it is not run before this folder was asked. */
  const KEY = 'keeper'
  /** The name of the event that is for display only; the id of a frame after which nothing has changed. */
  const [SIGN, AT_REST] = ['yaa.kept', 'kept/']
  const ENDS = new Set(['RUN_FINISHED', 'RUN_ERROR'])
  const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/
  /** What a list changes; it may be changed in an older copy. */
  const LABELS = ['pinned', 'tags', 'archived', 'queue']

  /** @param {{ext?: any}} session @returns {any} with the extension's key */
  const keyed = (session) => ({ ...session, ext: { [KEY]: {}, ...session.ext } })

  /** Without the key, unless it says something. @param {Session} session */
  function unkeyed(session) {
    const { [KEY]: own, ...ext } = session.ext ?? {}
    if (own && !Object.keys(own).length) session.ext = ext
  }

  /** Ids of what a person has said last: the last message and the answers that wait. @param {Session} session @returns {string[]} */
  function saidIn(session) {
    const message = session.messages.findLast(({ role }) => role === 'user')
    return [message?.id ?? '', ...sessions.answeredInterrupts(session).map(({ id }) => id)]
  }

  /**
   * Has this browser changed its copy since it was the server's? Of one that a run was writing, only what a person has said counts.
   * @param {KeptRecord} record @param {Session} session @param {{stamp: string, changes: any[]}} stored
   */
  const isChanged = (record, session, { stamp, changes }) => (record.stale ? saidIn(session).some((id) => !record.said.includes(id)) : record.stamp !== stamp || changes.length > 0)

  /**
   * What a frame is to a run that is followed: what is folded, whether the run is over, whether the document has to come anew.
   * @param {KeptLink} link @param {{id: string, event: YaaEvent}} frame @returns {{link: KeptLink, emit: YaaEvent[], end?: boolean, anew?: boolean}}
   */
  function step(link, { id, event }) {
    const now = { ...link, last: id }
    if (event.name === SIGN) {
      now.sign = event.value
      if (id.startsWith(AT_REST)) now.revision = id.slice(AT_REST.length)
      if (event.value.running) return { link: now, emit: [] }
      return link.held ? { link: { ...now, held: null }, emit: [link.held], end: true } : { link: now, emit: [], anew: true }
    }
    // an end that was not the last one: the run was tried again, and what is shown lacks it
    if (link.held && !id.startsWith('document/')) return { link: { ...now, held: null }, emit: [], anew: true }
    now.held = ENDS.has(event.type) ? event : null
    const own = event.type === 'STATE_SNAPSHOT' && event.snapshot?.yaa
    const shown = own ? { ...event, snapshot: { ...event.snapshot, yaa: keyed(own) } } : event
    return { link: now, emit: now.held ? [] : [shown] }
  }

  /**
   * A copy with nothing but labels and answers of its own, brought onto what the server has.
   * @param {Session} own @param {Session} other @returns {Session | null} null: more was changed, which makes a branch
   */
  function rebased(own, other) {
    const same = own.messages.every(({ id, content }, n) => id === other.messages[n]?.id && JSON.stringify(content) === JSON.stringify(other.messages[n].content))
    const [given, asked] = [sessions.answeredInterrupts(own), sessions.openInterrupts(other)]
    if (!same || !given.every(({ answer: _, ...question }) => asked.some((one) => JSON.stringify(one) === JSON.stringify(question)))) return null
    const interrupts = other.interrupts?.map((/** @type {any} */ one) => ({ ...one, ...given.find(({ id }) => id === one.id) }))
    const ext = { ...other.ext }
    for (const name of LABELS) {
      if (own.ext?.[name] === undefined) delete ext[name]
      else ext[name] = own.ext[name]
    }
    return { ...other, ...(given.length ? { interrupts } : {}), ext, ...(own.title ? { title: own.title } : {}) }
  }

  /** What waits here to be said is not in what the server has. @param {Session} own @param {Session} other @returns {Session} */
  const withQueue = (own, other) => (own.ext?.queue ? { ...other, ext: { ...other.ext, queue: own.ext.queue } } : other)

  /** Are new sessions kept, where a person has not said? For the owner at the machine itself. @param {any} info @param {string} base */
  const isUsual = (info, base) => Boolean(info?.keeper && info.owner && URL.canParse(base) && LOOPBACK.test(new URL(base).hostname))

  /** The name of what is said of a kept session's run: it goes on without the page once the server has it. @param {KeptLink} link @param {boolean} live @param {boolean} isLong */
  const runWord = ({ sign, following }, live, isLong) => (live && sign.attempts ? 'keep.again' : isLong && following ? 'keep.goesOn' : '')

  /** @param {any} row of the server's list @returns {'busy' | 'asking' | 'failed' | ''} */
  const markOf = ({ running, waiting, status }) => (running ? 'busy' : waiting ? 'asking' : status === 'failed' ? 'failed' : '')

  /**
   * One list of the sessions of this browser and of the server.
   * @param {Head[]} heads @param {{rows: any[], records: Record<string, KeptRecord>, isOpen: (id: string) => boolean, words: {sign: [string, string, string], unusable: (row: any) => string}}} given
   * @returns {Head[]}
   */
  function merged(heads, { rows, records, isOpen, words }) {
    const there = new Map(rows.map((row) => [row.id, row]))
    const here = new Set(heads.map(({ id }) => id))
    const own = heads.map((head) => {
      const row = there.get(head.id)
      if (!row && !records[head.id]) return head
      if (!row || isOpen(head.id) || row.problem) return { ...head, badge: words.sign }
      const isNew = row.revision !== records[head.id]?.revision
      return { ...head, badge: words.sign, mark: markOf(row), ...(isNew ? { title: row.title || head.title, said: undefined, updated: row.changed, waiting: row.waiting } : {}) }
    })
    const others = rows.filter(({ id }) => !here.has(id)).map((row) => ({
      id: row.id, title: row.problem ? row.id : row.title, status: row.status ?? '', updated: row.changed, messages: row.messages ?? 0, waiting: row.waiting ?? 0, tags: [],
      mark: row.problem ? 'failed' : markOf(row), badge: words.sign, ...(row.problem ? { note: words.unusable(row) } : {}),
    }))
    return [...own, ...others].sort(later)
  }

  /** Sessions that ask now and did not when the list was last read. @param {any[]} before @param {any[]} rows @returns {any[]} */
  function newlyAsking(before, rows) {
    const known = new Map(before.map((row) => [row.id, row]))
    return rows.filter(({ id, waiting, running, revision }) => waiting && !running && known.has(id) && (!known.get(id).waiting || known.get(id).revision !== revision))
  }

  return { KEY, SIGN, AT_REST, keyed, unkeyed, saidIn, isChanged, step, rebased, withQueue, isUsual, runWord, merged, newlyAsking }
})
