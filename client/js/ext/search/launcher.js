// The commands that find: the field over the list of sessions, and the bar over the open one.

yaa.define('ext/search/launcher', ['ui/commands', 'ext/search/find-bar'], (commands, { open }) => {
  /** @param {import('../../ui/types').CommandContext} context */
  function start({ app, actions, state }) {
    function focus() {
      if (!state().sideOpen && !app.drawer) actions.toggleSide()
      app.drawNow()
      app.views.side.search()
    }
    commands.register({ id: 'search', title: 'search.label', icon: 'search', keys: ['g f', 'Mod+Shift+F'], run: focus })
    const when = () => app.current.session.messages.length > 0
    commands.register({ id: 'find', title: 'find.label', icon: 'search', keys: '/', slash: 'find', rest: true, menu: 'session', when, run: open })
    app.draw()
  }

  return { start }
})
