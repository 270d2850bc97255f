// What the calls of a session changed in its files, read off its messages: since the session began, in one turn, since a
// run began; and the points between which files can be compared. Pure; what a document holds is not trusted to be whole.

yaa.define('ext/files/file-changes', ['core/workspace-stand'], ({ standOf, treeOf }) => {
  const KINDS = new Set(['added', 'modified', 'deleted', 'mode'])

  /** What two changes of a file in a row come to; '' is none. @type {Record<string, string>} */
  const TOGETHER = {
    'added modified': 'added', 'added mode': 'added', 'added deleted': '', 'modified deleted': 'deleted', 'modified mode': 'modified',
    'mode modified': 'modified', 'mode deleted': 'deleted', 'deleted added': 'modified', 'deleted modified': 'modified',
  }

  /** @param {Session} session @returns {Message[]} */
  const messagesOf = ({ messages }) => (Array.isArray(messages) ? messages : []).filter((one) => one && typeof one === 'object')

  /** Where the last turn begins. @param {Session} session @returns {number} the index of its first message; 0 without one */
  const turnStart = (session) => Math.max(0, messagesOf(session).findLastIndex(({ role }) => role === 'user'))

  /** The tree before the message at `index`, without what was done by hand since: that is the message's. @param {Session} session @param {number} index @returns {string | null} */
  function treeBefore(session, index) {
    const messages = messagesOf(session).slice(0, index)
    return standOf({ ...session, workspace: { start: session.workspace?.start }, messages }) ?? treeIn(messagesOf(session).slice(index))
  }

  /** Where no `start` was kept, what the first recorded call found. @param {Message[]} messages @returns {string | null} */
  function treeIn(messages) {
    const before = messages.find((one) => treeOf(one))?.result.tree.before
    return typeof before === 'string' && before ? before : null
  }

  /**
   * The files that changed since a message, each once, by path.
   * @param {Session} session @param {number} [from] the index of the first message that counts
   * @returns {{files: FileChange[], count: number, leftOut: Record<string, any>}} `count`: with those that results name no more
   */
  function changesOf(session, from = 0) {
    /** @type {Map<string, FileChange>} */ const files = new Map()
    /** @type {Record<string, any>} */ let leftOut = {}
    let unnamed = 0
    for (const { id, result } of messagesOf(session).slice(from).filter((one) => one.role === 'tool')) {
      const changed = Array.isArray(result?.changed) ? result.changed.filter(isChange) : []
      for (const { path, change, bytes } of changed) {
        const before = files.get(path)
        const now = before ? TOGETHER[`${before.change} ${change}`] ?? change : change
        if (now) files.set(path, { path, change: now, ...(Number.isFinite(bytes) ? { bytes } : {}), message: id })
        else files.delete(path)
      }
      if (Number.isInteger(result?.changed_count)) unnamed += Math.max(0, result.changed_count - changed.length)
      if (result?.left_out && typeof result.left_out === 'object') leftOut = result.left_out
    }
    const sorted = [...files.values()].sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0))
    return { files: sorted, count: sorted.length + unnamed, leftOut }
  }

  /** The lines that came and went in a unified diff of one file. @param {string} diff */
  function linesOf(diff) {
    const [added, removed] = ['+', '-'].map((sign) => diff.split('\n').slice(2).filter((line) => line.startsWith(sign)).length)
    return { added, removed }
  }

  /** @param {any} one */
  const isChange = (one) => typeof one?.path === 'string' && one.path !== '' && KINDS.has(one.change)

  /**
   * The points of a session between which its files can be compared, in order.
   * @param {Session} session
   * @returns {FilePoint[]} `kind`: the session's start, a turn's beginning (with its words), after a call (with its tool)
   */
  function pointsOf(session) {
    const messages = messagesOf(session)
    const names = new Map(messages.flatMap((one) => one.tool_calls ?? []).map((call) => [call?.id, call?.function?.name ?? '']))
    /** @type {FilePoint[]} */ const points = []
    const first = treeBefore(session, 0)
    if (first) points.push({ kind: 'start', tree: first, id: '', words: '' })
    messages.forEach((message, index) => {
      if (message.role === 'user' && index) {
        const tree = treeBefore(session, index)
        if (tree) points.push({ kind: 'turn', tree, id: message.id, words: wordsOf(message.content) })
      }
      const tree = treeOf(message)
      if (tree) points.push({ kind: 'call', tree, id: message.id, words: String(names.get(message.tool_call_id ?? '') ?? '') })
    })
    return points
  }

  /** @param {any} content @returns {string} its first line */
  function wordsOf(content) {
    const text = typeof content === 'string' ? content : Array.isArray(content) ? content.find((part) => typeof part?.text === 'string')?.text ?? '' : ''
    return text.trim().split('\n')[0].slice(0, 80)
  }

  return { changesOf, linesOf, pointsOf, turnStart, treeBefore }
})
