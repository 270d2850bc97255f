// Which folder the tools of a session work in: chosen before its first run, later only after a question. A session names a
// folder; where that is only the owner of the server knows.

yaa.define('ext/files/folder-picker', ['ui/dom', 'ext/files/texts', 'ui/popup', 'ui/dialog', 'ext/files/session-files', 'core/file-names', 'ui/settings-parts', 'css/modes', 'ext/files/style'], (
  { h, icon, text, attr }, { t, language }, { openMenu, toast }, { openDialog, button }, files, { visible }, { offers },
) => {
  /** @typedef {import('../../ui/types').CommandContext} CommandContext */

  /** @param {import('../../ui/types').App} app */
  const owns = (app) => files.isOffered(app) && offers('folders', app.server.info())

  /** The button beside the composer, while nothing has been said yet. @param {CommandContext} context */
  function picker(context) {
    const { app } = context
    const shown = h('span')
    const el = h('button.select.folder', { type: 'button', hidden: true, 'aria-haspopup': 'menu', onclick: () => openFolders(context, el) }, icon('folder'), shown)

    function update() {
      const some = files.foldersOf(app).length > 0
      el.hidden = app.current.session.messages.length > 0 || !(some || owns(app))
      if (el.hidden) return
      attr(el, 'data-none', some ? null : 'true')
      const said = t('folder.is', { name: nameOf(app), mode: t(`folder.mode.${files.modeOf(app)}`) })
      text(shown, nameOf(app))
      attr(el, 'aria-label', said)
      attr(el, 'title', `${said}\n${t(`folder.about.${files.modeOf(app)}`)}`)
    }

    return { el, update, language: language() }
  }

  /** @param {import('../../ui/types').App} app */
  const nameOf = (app) => visible(files.folderOf(app)) || t('folder.own')

  /** @param {CommandContext} context @param {any} anchor */
  function openFolders(context, anchor) {
    const { app } = context
    if (app.current.going || app.past) return toast(t('folder.busy'))
    const now = files.folderOf(app)
    const rows = [{ name: '', mode: 'own' }, ...files.foldersOf(app)]
    const others = owns(app) ? [{ label: t('folder.other'), icon: 'search', action: () => add(context) }] : []
    openMenu(anchor, [...rows.map((/** @type {any} */ { name, mode, available, reason }) => ({
      label: h('span.mode-row', null,
        h('span', null, name ? visible(name) : t('folder.own'), name ? h('span.badge', { 'data-mode': mode }, t(`folder.mode.${mode}`)) : null),
        h('span.hint', null, available === false ? t('folder.unavailable', { reason: reason ?? '' }) : t(`folder.about.${mode}`))),
      icon: name === now ? 'check' : 'none', checked: name === now,
      action: () => take(context, name),
    })), ...others], t('folder.choose'))
  }

  /** Ask the owner for a folder of the server's machine. @param {CommandContext} context */
  async function add(context) {
    const { app } = context
    try {
      const settings = await yaa.part('owner-settings')
      await settings.askForFolder(app, async (/** @type {string} */ name) => {
        await app.server.connect()
        take(context, name)
      })
    } catch (error) {
      files.failed(error)
    }
  }

  /** Choose a folder, or say why it cannot be used. @param {CommandContext} context @param {string} name */
  function take(context, name) {
    const { available, reason } = files.foldersOf(context.app).find((one) => one.name === name) ?? {}
    if (available === false) return toast(t('folder.unavailable', { reason: reason ?? '' }), { bad: true })
    choose(context, name)
  }

  /** @param {CommandContext} context @param {string} name '' for files of its own */
  function choose(context, name) {
    const { app } = context
    const entry = app.current
    if (name === files.folderOf(app)) return
    if (!entry.session.messages.length) return app.sessionStore.amend(entry, (session) => write(session, name))
    const go = async () => {
      dialog.close()
      const then = { ...entry.session, workspace: { ...markOf(entry.session), folder: name } }
      const [routes, mode] = [files.routesOf(app, /** @type {any} */ (then)), files.modeOf(app, /** @type {any} */ (then))]
      // without a tree the next run would take the files to that of the old folder
      const tree = mode === 'read' ? '' : await routes.record().then((found) => found.tree, files.failed)
      if (tree === undefined) return
      app.sessionStore.amend(entry, (session) => {
        write(session, name)
        session.workspace = { ...session.workspace, message: session.messages.at(-1)?.id ?? '', ...(tree ? { tree } : {}) }
      })
      context.actions.draw()
    }
    const dialog = openDialog({
      title: t('folder.change'), body: h('p', null, t('folder.changeText', { from: nameOf(app), to: visible(name) || t('folder.own') })),
      buttons: [button(t('folder.stay'), () => dialog.close()), button(t('folder.changeNow'), go, 'primary')],
    })
  }

  /** @param {Session} session @param {string} name */
  function write(session, name) {
    session.workspace = { ...markOf(session), ...(name ? { folder: name } : {}) }
    if (!Object.keys(session.workspace).length) delete session.workspace
  }

  /** That it came from elsewhere stays true in every folder. @param {Session} session */
  const markOf = ({ workspace }) => (workspace?.foreign ? { foreign: true } : {})

  return { picker, openFolders, nameOf, choose }
})
