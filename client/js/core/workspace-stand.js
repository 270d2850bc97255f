// The stand of a session: the tree that its files were in at the end of its messages. It follows from the messages, so that
// cutting them (a branch, the time slider) moves it (server/session has the same function). Pure.

yaa.define('core/workspace-stand', [], () => {
  /** @param {any} id @returns {string | null} */
  const treeId = (id) => (typeof id === 'string' && id ? id : null)

  /** The tree after a tool result. @param {any} message @returns {string | null} null: it recorded none */
  const treeAfter = (message) => treeId(message?.result?.tree?.after)

  /**
   * @param {Session} session
   * @returns {string | null} the id of a tree; null: nothing was recorded
   */
  function standOf({ messages, workspace }) {
    const all = Array.isArray(messages) ? messages : []
    const last = all.findLastIndex((message) => treeAfter(message))
    if (typeof workspace?.message === 'string') {
      const at = workspace.message ? all.findIndex((message) => message?.id === workspace.message) : -1
      if ((at >= 0 || !workspace.message) && last <= at) return treeId(workspace.tree)
    }
    return last < 0 ? treeId(workspace?.start) : treeAfter(all[last])
  }

  return { standOf, treeAfter }
})
