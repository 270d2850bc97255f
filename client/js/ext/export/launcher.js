// The command that saves a session as a file.

yaa.define('ext/export/launcher', ['ui/commands', 'ext/export/export'], ({ register }, { exportSession }) => {
  /** @param {import('../../ui/types').CommandContext} context */
  function start({ app }) {
    const when = () => app.current.session.messages.length > 0
    register({ id: 'session.export', title: 'command.export', icon: 'download', keys: 'e', slash: 'export', menu: 'session', when, run: exportSession })
    app.draw()
  }

  return { start }
})
