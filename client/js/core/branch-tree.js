// The branches of a session. `messages` is the active path; what was set aside is kept in `ext.tree`, each message
// once, so a session with branches is still one document that any server runs and any copy of this page opens.
//
//   ext.tree = {branches: [{id, at, messages, state, calls, name?, favourite?, fresh?}], active?: {id?, name?, favourite?, fresh?}}
//
// A branch hangs behind the message `at` ('' is the beginning), which is on the active path or in another branch.
// `state` is how its session stood (BRANCH_KEYS). The ledger `calls` stays whole in the session, set aside or not, so
// that no server gives the id of a call twice. A branch keeps its own entries of calls that have not begun: one path may
// wait for what another has denied, but what began on one has begun on all. The rule of the file: only what says nothing
// is ever let go.

yaa.define('core/branch-tree', ['core/ids', 'core/patch', 'core/canonical-json', 'core/session'], ({ id: newId }, { put, own }, { equal }, { treeOf, orderOf, callsOf, hasBegun }) => {
  /** What belongs to a path; everything else belongs to the session. */
  const BRANCH_KEYS = ['status', 'finish_reason', 'run', 'context', 'plan', 'output', 'interrupts']
  const { hasOwn } = Object

  // -- setting aside --

  /**
   * Begin a branch: what follows `index` is set aside, `messages` take its place.
   * @param {Session} session @param {number} index @param {Message[]} [messages]
   * @param {{edits?: number}} [how] `edits`: how many of the messages a person changed
   * @returns {{aside: number}} how many messages nothing has taken the place of
   */
  function beginBranch(session, index, messages = [], { edits = 0 } = {}) {
    identify(session)
    const told = treeOf(session).active?.fresh
    const gone = session.messages.slice(index)
    const from = setAside(session, index)
    session.messages = [...session.messages.slice(0, index), ...messages]
    for (const key of ['run', 'output', 'finish_reason']) delete session[key]
    rewindContext(session, index)
    session.status = 'interrupted'
    session.interrupts = []
    const aside = Math.max(0, said(gone) - said(messages))
    const fresh = { edits: (told?.edits ?? 0) + edits, aside: (told?.aside ?? 0) + aside, from: told?.from ?? from }
    settle(session, { id: newId('branch'), fresh })
    return { aside }
  }

  /**
   * What the model saw of a path at a message, it sees again where another path begins there: compactions that came
   * later are set aside with the messages they were made for. Each record says how many operations it has; what a
   * person added (`by`) is in none.
   * @param {Session} session @param {number} index
   */
  function rewindContext(session, index) {
    const { events, ops } = session.context ?? {}
    if (!Array.isArray(events) || !Array.isArray(ops) || !events.some((record) => record?.at > index)) return
    const kept = events.slice(0, events.findIndex((record) => record?.at > index))
    let room = kept.reduce((sum, record) => sum + (Number(record?.ops) || 0), 0)
    session.context = { ...session.context, events: kept, ops: ops.filter((op) => op?.by || room-- > 0) }
  }

  /** @param {Message[]} messages how many a reader would count */
  const said = (messages) => messages.filter((message) => message.role !== 'tool').length

  /**
   * The active path behind `index` becomes a branch, unless there is nothing in it.
   * @param {Session} session @param {number} index @returns {string} its id
   */
  function setAside(session, index) {
    const tree = openTree(session)
    const calls = entriesAt(session, session.messages, index)
    const at = session.messages[index - 1]?.id ?? ''
    const record = { id: newId('branch'), ...tree.active, at, messages: session.messages.slice(index), state: stateOf(session), calls }
    if (!isBlank(record)) tree.branches.push(record)
    delete tree.active
    return record.id
  }

  /** Nothing that a person would miss. @param {Branch} branch */
  const isBlank = ({ messages, state, name, favourite }) => !messages.length && !state.interrupts?.length && !name && !favourite

  /** Messages that came without an id get one: branches hang on ids. @param {Session} session */
  function identify(session) {
    for (const message of session.messages) message.id ||= newId('msg')
  }

  /** @param {Session} session @returns {Record<string, any>} */
  function stateOf(session) {
    const keys = BRANCH_KEYS.filter((key) => hasOwn(session, key))
    return Object.fromEntries(keys.map((key) => [key, own(session[key])]))
  }

  /**
   * Ledger entries of a path's calls that have not begun, as they are now, but for those that were settled before `index`;
   * null where there is none.
   * @param {Session} session @param {Message[]} messages @param {number} index @returns {Record<string, Entry | null>}
   */
  function entriesAt(session, messages, index) {
    const settled = new Set(messages.slice(0, index).map((message) => message.tool_call_id))
    /** @type {Record<string, Entry | null>} */ const entries = {}
    for (const { id: callId } of messages.flatMap(callsOf)) {
      const entry = entryOf(session, callId)
      if (!settled.has(callId) && !hasBegun(entry)) put(entries, callId, entry)
    }
    return entries
  }

  /** @param {Session} session @param {string} callId */
  const entryOf = ({ calls }, callId) => (calls && hasOwn(calls, callId) ? own(calls[callId]) : null)

  // -- switching --

  /** Make a branch the active path. @param {Session} session @param {string} id @returns {boolean} false: it can't be reached */
  function switchTo(session, id) {
    identify(session)
    const chain = chainOf(session, id)
    if (!chain) return false
    const from = indexBehind(session.messages, chain[0].at)
    const rests = restsOf(session, chain)
    setAside(session, from)
    const tree = openTree(session)
    const target = chain[chain.length - 1]
    tree.branches = tree.branches.filter((branch) => !chain.includes(branch)).concat(rests)
    session.messages = chain.reduce((path, branch) => [...path.slice(0, indexBehind(path, branch.at)), ...branch.messages], session.messages)
    for (const { calls } of chain) restoreEntries(session, calls)
    for (const key of BRANCH_KEYS) {
      if (hasOwn(target.state, key)) session[key] = own(target.state[key])
      else delete session[key]
    }
    settle(session, labelOf(target))
    return true
  }

  /**
   * The branch and those that it hangs on, the one on the active path first; null if it hangs on nothing.
   * @param {Session} session @param {string} id @returns {Branch[] | null}
   */
  function chainOf(session, id) {
    const { branches } = treeOf(session)
    /** @type {Branch[]} */ const chain = []
    let next = branches.find((branch) => branch.id === id)
    while (next && !chain.includes(next)) {
      chain.unshift(next)
      const { at } = next
      if (indexBehind(session.messages, at) >= 0) return chain
      next = branches.find((branch) => branch.messages.some((message) => message.id === at))
    }
    return null
  }

  /** @param {Message[]} messages @param {string} at @returns {number} the index behind that message; -1: it isn't there */
  const indexBehind = (messages, at) => (at === '' ? 0 : messages.findIndex((message) => message.id === at) + 1 || -1)

  /**
   * What stays of the branches that the last one of the chain hangs on: each loses what becomes active.
   * @param {Session} session @param {Branch[]} chain @returns {Branch[]}
   */
  function restsOf(session, chain) {
    const rests = chain.slice(0, -1).map((branch, i) => {
      const { at } = chain[i + 1]
      const index = indexBehind(branch.messages, at)
      const before = pathTo(session, chain.slice(0, i))
      const calls = { ...entriesAt(session, [...before, ...branch.messages], before.length + index), ...branch.calls }
      return { ...branch, at, messages: branch.messages.slice(index), calls }
    })
    return rests.filter((branch) => !isBlank(branch))
  }

  /** @param {Session} session @param {Branch[]} chain @returns {Message[]} */
  function pathTo({ messages }, chain) {
    return chain.reduce((path, branch) => [...path.slice(0, indexBehind(path, branch.at)), ...branch.messages], messages)
  }

  /** @param {Session} session @param {Record<string, Entry | null>} entries */
  function restoreEntries(session, entries) {
    for (const [callId, entry] of Object.entries(entries)) {
      if (hasBegun(entryOf(session, callId))) continue
      if (entry) put((session.calls ??= {}), callId, own(entry))
      else if (session.calls) delete session.calls[callId]
    }
  }

  // -- letting go and naming --

  /**
   * Take a branch away, with those that hang on it.
   * @param {Session} session @param {string} id @returns {Branch[]} what was taken, for `restore`
   */
  function remove(session, id) {
    const { branches } = treeOf(session)
    const found = branches.filter((branch) => branch.id === id)
    for (let i = 0; i < found.length; i++) {
      const ids = new Set(found[i].messages.map((message) => message.id))
      found.push(...branches.filter((branch) => ids.has(branch.at) && !found.includes(branch)))
    }
    if (found.length) openTree(session).branches = branches.filter((branch) => !found.includes(branch))
    settle(session)
    return found
  }

  /** @param {Session} session @param {Branch[]} branches what `remove` took */
  function restore(session, branches) {
    const tree = openTree(session)
    const known = new Set(tree.branches.map((branch) => branch.id))
    tree.branches.push(...branches.filter((branch) => !known.has(branch.id)))
  }

  /**
   * Name a branch, or mark it; '' and false take that back. Without an id: the active path.
   * @param {Session} session @param {string | null} id @param {{name?: string, favourite?: boolean}} changes
   */
  function labelBranch(session, id, changes) {
    const tree = openTree(session)
    const target = id === null ? (tree.active ??= {}) : tree.branches.find((branch) => branch.id === id)
    if (target) Object.assign(target, changes)
    for (const key of /** @type {const} */ (['name', 'favourite'])) if (target && !target[key]) delete target[key]
    settle(session)
  }

  /**
   * Take in the paths of another copy of a session; those that are here already stay as they are.
   * @param {Session} session @param {Session} other
   * @returns {number | null} how many branches came; null, and nothing changed: it is no copy of it, or says something else under an id
   */
  function merge(session, other) {
    const paths = [{ at: '', messages: other.messages, state: stateOf(other), calls: entriesAt(other, other.messages, 0) }, ...treeOf(other).branches]
    const known = new Map([session, ...treeOf(session).branches].flatMap(({ messages }) => messages).map((message) => [message.id, message]))
    /** @type {Branch[]} */ const branches = []
    for (const path of paths) {
      const { messages, at } = path
      const from = messages.findIndex(({ id }) => !known.has(id))
      const rest = from < 0 ? [] : messages.slice(from)
      if (rest.some(({ id }) => known.has(id)) || messages.some((one) => known.has(one.id) && !equal(known.get(one.id), one))) return null
      if (rest.length) branches.push({ ...path, id: newId('branch'), at: messages[from - 1]?.id ?? at, messages: rest })
    }
    if (!known.has(other.messages[0]?.id)) return null
    for (const [callId, entry] of Object.entries(other.calls ?? {})) if (!entryOf(session, callId)) put((session.calls ??= {}), callId, entry)
    if (branches.length) openTree(session).branches.push(...branches)
    return branches.length
  }

  /** @param {Branch} branch */
  function labelOf({ id, name, favourite, fresh }) {
    return { id, ...(name ? { name } : {}), ...(favourite ? { favourite } : {}), ...(fresh ? { fresh } : {}) }
  }

  /** @param {Session} session @returns {Tree} to be written to */
  function openTree(session) {
    session.ext ??= {}
    return (session.ext.tree = treeOf(session))
  }

  /** Leave no empty tree behind. @param {Session} session @param {Tree['active']} [active] */
  function settle(session, active) {
    const tree = openTree(session)
    if (active) tree.active = active
    if (tree.active && !Object.keys(tree.active).length) delete tree.active
    if (tree.branches.length || tree.active?.name || tree.active?.favourite || tree.active?.fresh) return
    delete session.ext.tree
    if (!Object.keys(session.ext).length) delete session.ext
  }

  // -- reading --

  /** @param {Session} session @param {string} id @returns {Message[] | null} the whole path that the branch is the end of */
  function pathOf(session, id) {
    const chain = chainOf(session, id)
    return chain && pathTo(session, chain)
  }

  /**
   * Every path in the order of a tree: the active one first, then what hangs on it, each before what hangs on itself.
   * @param {Session} session
   * @returns {{id: string | null, depth: number, at: string, messages: Message[], name: string, favourite: boolean, state: any}[]}
   */
  function listBranches(session) {
    const { branches, active } = treeOf(session)
    /** @type {Map<string, Branch[]>} */ const hanging = new Map()
    for (const branch of branches) {
      const there = hanging.get(branch.at)
      if (there) there.push(branch)
      else hanging.set(branch.at, [branch])
    }
    /** @type {any[]} */ const rows = []
    /** A document from elsewhere may let a branch hang on itself. @type {Set<Branch>} */ const seen = new Set()
    /** What hangs on these, the last first. @param {string[]} ids @param {number} depth */
    const behind = (ids, depth) => ids.flatMap((at) => orderOf(hanging.get(at) ?? [])).map((branch) => ({ branch, depth })).reverse()
    rows.push({ depth: 0, at: '', messages: session.messages, state: session, ...named({ ...active, id: null }) })
    const stack = behind(['', ...session.messages.map((message) => message.id)], 1)
    for (let next = stack.pop(); next; next = stack.pop()) {
      const { branch, depth } = next
      if (seen.has(branch)) continue
      seen.add(branch)
      rows.push({ depth, at: branch.at, messages: branch.messages, state: branch.state, ...named(branch) })
      for (const one of behind(branch.messages.map((message) => message.id), depth + 1)) stack.push(one)
    }
    return rows
  }

  /** @param {{id: string | null, name?: string, favourite?: boolean}} branch */
  const named = ({ id, name = '', favourite = false }) => ({ id, name, favourite })

  return { beginBranch, switchTo, remove, restore, merge, labelBranch, pathOf, listBranches, BRANCH_KEYS }
})
