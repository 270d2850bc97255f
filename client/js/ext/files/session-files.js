// The files of the open session: which folder they are in, how it may be used, the routes to them. What the page changes is
// written into the document, so that the next run finds the files as they are (core/workspace-stand).

yaa.define('ext/files/session-files', ['ext/files/texts', 'ui/popup', 'core/workspace-stand', 'ext/files/workspace-api'], ({ t }, { toast }, { standOf }, workspaces) => {
  /** @typedef {import('../../ui/types').App} App */
  /** @typedef {import('../../ui/types').Entry} Entry */
  const LETTERS = { added: 'A', modified: 'M', deleted: 'D', mode: 'X' }

  /** Can this server give files at all? @param {App} app */
  const isOffered = (app) => Boolean(app.server.info()?.workspace)

  /** @param {App} app @returns {{name: string, mode: string, available?: boolean, reason?: string}[]} */
  const foldersOf = (app) => app.server.info()?.folders ?? []

  /** @param {App} app @param {Session} [session] @returns {string} '' where it has files of its own */
  const folderOf = (app, session = app.current.session) => String(session.workspace?.folder ?? '')

  /** @param {App} app @param {Session} [session] @returns {string} own, read, write or overlay */
  function modeOf(app, session = app.current.session) {
    const name = folderOf(app, session)
    return name ? foldersOf(app).find((one) => one.name === name)?.mode ?? session.workspace?.mode ?? 'write' : 'own'
  }

  /** @param {App} app @param {Session} [session] @param {(work: Promise<any>) => Promise<any>} [watch] @returns {Workspace} */
  const routesOf = (app, session = app.current.session, watch = undefined) => workspaces.open(app.server.api(), session.id, folderOf(app, session) || undefined, watch)

  /**
   * Write into the document that the page has changed its files: they stand so after its last message. Under a run, whose
   * calls record more trees, it is marked there, and the tree is asked for at its end.
   * @param {App} app @param {Entry} entry @param {any} tree what the server answered; without a tree nothing is written
   */
  function adopt(app, entry, tree) {
    if (entry.going || entry.elsewhere) return app.sessionStore.amend(entry, (session) => { session.ext = { ...session.ext, uploaded: true } })
    if (tree !== standOf(entry.session)) return app.sessionStore.amend(entry, (session) => stand(session, tree))
  }

  /** @param {Session} session @param {any} tree */
  function stand(session, tree) {
    if (session.ext?.uploaded) delete session.ext.uploaded
    if (typeof tree === 'string' && tree) session.workspace = { start: tree, ...session.workspace, tree, message: session.messages.at(-1)?.id ?? '' }
  }

  /** What was changed under a run of any tab: after it, or at the latest before the next, which would go back to the tree before. @param {App} app @param {Entry} entry @param {(tree: any) => any} take */
  async function takeUploads(app, { session }, take) {
    if (session.ext?.uploaded && isOffered(app)) take((await routesOf(app, session).state()).tree)
  }

  /** What a person changed goes with the message that is sent next: who goes back to it finds it. @param {Session} session */
  function pin(session) {
    const last = session.messages.at(-1)
    const tree = standOf(session)
    if (last?.role === 'user' && tree && tree !== standOf({ ...session, workspace: { start: session.workspace?.start } })) last.tree = tree
  }

  /** Copies of the session's files, for another server. @param {App} app @param {Entry} entry */
  function keep(app, { session }) {
    if (!standOf(session) || app.settings.get('keepFiles') === false) return
    yaa.load('kept-files').then(() => yaa.use('ext/files/copies').keep(app, session)).catch(console.warn)
  }

  /** @param {any} error @returns {string} for the person */
  const wordsOf = (error) => (error?.code === 'objects_missing' ? t('files.missing') : t('files.failed', { detail: error?.message ?? String(error) }))

  /** @param {any} error without the server's own answer nobody knows whether it was done */
  function failed(error) {
    if (error?.name === 'AbortError' || error?.code === 'aborted') return
    if (error?.code === 'workspace_moved') return toast(t('undo.over'), { bad: true })
    toast(['network', 'cut', 'foreign'].includes(error?.kind) ? t('files.unanswered', { detail: error.message }) : wordsOf(error), { bad: true })
  }

  return { isOffered, foldersOf, folderOf, modeOf, routesOf, adopt, stand, takeUploads, pin, keep, wordsOf, failed, LETTERS }
})
