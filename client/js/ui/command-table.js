// The table of the app's commands, for the palette, the slash menu, the keys and the cheat sheet. A row holds a name and
// how to start; the code that does the work is loaded on first use.

yaa.define('ui/command-table', ['ui/commands', 'i18n/commands', 'ui/session-commands', 'css/dialogs'], ({ register }, _, { COMMANDS: ofSession }) => {
  /** @typedef {import('./types').Command} Command */
  /** @typedef {import('./types').CommandContext} CommandContext */

  /** @param {CommandContext} context */
  const hasMessages = ({ app }) => app.current.session.messages.length > 0

  /** @param {CommandContext} context */
  const hasSessions = ({ app }) => app.sessionStore.heads().length > 0

  /** @param {number} step */
  const walk = (step) => {
    const articles = /** @type {HTMLElement[]} */ ([...document.querySelectorAll('.feed .message:not([data-fold=inside])')])
    const at = articles.findIndex((one) => one.contains(document.activeElement))
    const next = articles[at < 0 ? (step > 0 ? 0 : articles.length - 1) : at + step]
    next?.focus()
    next?.scrollIntoView({ block: 'nearest' })
  }

  /**
   * What is done by a module of another group of scripts.
   * @param {string} group @param {string} module @param {string} name
   * @returns {(context: CommandContext, ...rest: any[]) => Promise<any>}
   */
  const by = (group, module, name) => async (context, ...rest) => {
    await yaa.load(group)
    return yaa.use(/** @type {any} */ (module))[name](context, ...rest)
  }

  /**
   * What is done by a part that may be missing.
   * @param {string} purpose @param {string} name @param {(context: CommandContext) => boolean} [when]
   */
  const part = (purpose, name, when = () => true) => ({
    when: (/** @type {CommandContext} */ context) => yaa.parts(purpose).length > 0 && when(context),
    run: async (/** @type {CommandContext} */ context, /** @type {any[]} */ ...rest) => (await yaa.part(purpose))?.[name](context, ...rest),
  })

  /** Offered to other commands and to views, not to people. */
  const never = { title: () => '', hidden: true }

  /** @type {Command[]} */
  const COMMANDS = [
    { id: 'session.new', title: 'side.new', icon: 'plus', keys: ['n', 'Mod+Shift+O'], slash: 'new', run: ({ actions }) => actions.newSession() },
    { id: 'connect', title: 'connect.title', icon: 'spark', slash: 'connect', ...part('connect', 'open', ({ app }) => !app.standalone) },
    { id: 'session.pin', title: 'command.pin', icon: 'pin', when: hasMessages, run: by('dialogs', 'ui/manage-sessions', 'pin') },
    {
      id: 'session.tags', title: 'side.tags', icon: 'tag', keys: 't',
      when: hasMessages, run: by('dialogs', 'ui/manage-sessions', 'tags'),
    },
    { id: 'session.archive', title: 'command.archive', icon: 'folder', when: hasMessages, run: by('dialogs', 'ui/manage-sessions', 'archive') },
    { id: 'sessions.export', title: 'command.exportAll', icon: 'download', when: hasSessions, run: by('dialogs', 'ui/import-export', 'exportSessions') },
    { id: 'sessions.import', title: 'command.import', icon: 'upload', slash: 'import', run: by('dialogs', 'ui/import-export', 'importFiles') },
    { id: 'palette', title: 'palette.label', icon: 'search', keys: ['Mod+K', ':'], menu: 'session', run: by('dialogs', 'ui/command-palette', 'open') },
    { id: 'keys', title: 'keys.title', icon: 'keyboard', keys: ['?', 'Mod+/'], slash: 'keys', run: by('dialogs', 'ui/command-palette', 'keys') },
    { id: 'model', title: 'models.title', icon: 'spark', slash: 'model', when: ({ app }) => Boolean(app.server.info()?.models?.length), run: by('dialogs', 'ui/command-palette', 'models') },
    { id: 'session.answers', title: 'answers.title', icon: 'tune', slash: 'effort', run: by('dialogs', 'ui/answer-settings', 'open') },
    { id: 'typed', ...never, run: by('questions', 'ui/typed-answer', 'open') },
    { id: 'slash', ...never, run: by('dialogs', 'ui/slash-menu', 'open') },
    { id: 'attach.tray', ...never, run: ({ app }, ...rest) => by('attachments', 'ui/attachments', 'tray')(/** @type {any} */ (app), ...rest) },
    { id: 'attach', title: 'attach.title', icon: 'clip', keys: 'f', slash: 'attach', run: ({ app }) => app.views.composer.pick() },
    { id: 'sessions.select', ...never, run: by('dialogs', 'ui/manage-sessions', 'select') },
    {
      id: 'session.delete', title: 'command.delete', icon: 'trash', menu: 'session', danger: true,
      when: hasMessages, run: ({ app, actions }) => actions.remove(app.current.session.id),
    },
    { id: 'compose.focus', title: 'command.write', icon: 'pencil', keys: 'i', run: ({ app }) => app.views.composer.focus() },
    {
      id: 'run.stop', title: 'command.stop', icon: 'stop', keys: ['s', 'Mod+.'],
      when: ({ state }) => state().live, run: ({ actions }) => actions.stop(),
    },
    { id: 'thread.next', title: 'command.next', icon: 'down', keys: 'j', when: hasMessages, run: () => walk(1) },
    { id: 'thread.previous', title: 'command.previous', icon: 'down', keys: 'k', when: hasMessages, run: () => walk(-1) },
    {
      id: 'thread.ask', title: 'command.ask', icon: 'hand', keys: ['g a', 'Mod+J'],
      when: () => Boolean(document.querySelector('.ask')), run: ({ app }) => app.views.thread.showAsk(),
    },
    { id: 'thread.end', title: 'thread.toEnd', icon: 'down', keys: 'g e', when: hasMessages, run: ({ app }) => app.views.thread.follow() },
    { id: 'side.toggle', title: 'command.side', icon: 'panel', keys: 'b', run: ({ actions }) => actions.toggleSide() },
    { id: 'servers', title: 'command.servers', icon: 'key', ...part('server-list', 'chooseServer') },
    { id: 'settings', title: 'settings.title', icon: 'tune', keys: 'g s', run: ({ actions }) => actions.openSettings() },
  ]

  // the palette lists them so: what changes a message is not the first
  for (const command of [...COMMANDS, ...ofSession]) register(command)
  return {}
})
