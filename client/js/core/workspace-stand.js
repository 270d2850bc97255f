// Which tree of files a session stands at, as server/session/workspace_stand.py says it too.

yaa.define('core/workspace-stand', [], () => {
  /** @param {any} value */
  const isTree = (value) => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)

  /** The tree of files that a result left. @param {any} message */
  const treeOf = ({ result }) => (isTree(result?.tree?.after) ? result.tree.after : '')

  /**
   * The tree that the files have to be at, null if nothing was recorded: `workspace.tree` if no message behind
   * `workspace.message` has one, else that of the last message that has one (a result, or what a
   * user's message was sent with), else `workspace.start`.
   * @param {Session} session @returns {string | null}
   */
  function standOf(session) {
    const { workspace } = session
    const { message, tree, start } = workspace && typeof workspace === 'object' ? workspace : {}
    const at = isTree(tree) && typeof message === 'string' ? message : null
    const messages = Array.isArray(session.messages) ? session.messages : []
    for (let index = messages.length - 1; index >= 0; index--) {
      const one = messages[index]
      if (!one || typeof one !== 'object') continue
      if (at && at === one.id) return tree
      const left = one.role === 'tool' ? treeOf(one) : one.role === 'user' && isTree(one.tree) ? one.tree : ''
      if (left) return left
    }
    if (at === '') return tree
    return isTree(start) ? start : null
  }

  return { standOf, treeOf }
})
