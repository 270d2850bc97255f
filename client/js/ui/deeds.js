// The commands of the app: one row each. The palette, the slash menu, the keys and the cheat sheet are all drawn from
// here. A row is only a name and how to begin; what does the work is loaded when it is first wanted.

yaa.define('ui/deeds', ['ui/commands'], ({ register }) => {
  /** @typedef {import('./types').Command} Command */
  /** @typedef {import('./types').CommandContext} CommandContext */

  /** @param {CommandContext} context */
  const hasMessages = ({ app }) => app.current.session.messages.length > 0

  /** @param {number} step */
  const walk = (step) => {
    const articles = /** @type {HTMLElement[]} */ ([...document.querySelectorAll('.feed .message')])
    const at = articles.findIndex((one) => one.contains(document.activeElement))
    const next = articles[at < 0 ? (step > 0 ? 0 : articles.length - 1) : at + step]
    next?.focus()
    next?.scrollIntoView({ block: 'nearest' })
  }

  /** @type {Command[]} */
  const DEEDS = [
    { id: 'session.new', title: 'side.new', icon: 'plus', keys: 'n', slash: 'new', run: ({ actions }) => actions.newSession() },
    { id: 'session.delete', title: 'deed.delete', icon: 'trash', when: hasMessages, run: ({ app, actions }) => actions.remove(app.current.session.id) },
    { id: 'compose.focus', title: 'app.skip', icon: 'pencil', keys: 'i', run: ({ app }) => app.views.composer.focus() },
    { id: 'run.stop', title: 'deed.stop', icon: 'stop', keys: 's', when: ({ state }) => state().live, run: ({ actions }) => actions.stop() },
    { id: 'thread.next', title: 'deed.next', icon: 'down', keys: 'j', when: hasMessages, run: () => walk(1) },
    { id: 'thread.previous', title: 'deed.previous', icon: 'down', keys: 'k', when: hasMessages, run: () => walk(-1) },
    { id: 'thread.ask', title: 'deed.ask', icon: 'hand', keys: 'g a', when: () => Boolean(document.querySelector('.ask')), run: ({ app }) => app.views.thread.showAsk() },
    { id: 'thread.end', title: 'thread.toEnd', icon: 'down', keys: 'g e', when: hasMessages, run: ({ app }) => app.views.thread.follow() },
    { id: 'side.toggle', title: 'deed.side', icon: 'panel', keys: 'b', run: ({ actions }) => actions.toggleSide() },
    { id: 'settings', title: 'settings.title', icon: 'tune', keys: 'g s', run: ({ actions }) => actions.openSettings() },
  ]

  for (const deed of DEEDS) register(deed)
  return {}
})
