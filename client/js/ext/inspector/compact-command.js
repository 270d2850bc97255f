// `/compact`: the view of the open session is made smaller now, without a message. `context.compact` asks the server for
// it, which takes that key back with what it did (docs/design/context.md).

yaa.define('ext/inspector/compact-command', ['ext/inspector/texts', 'ui/commands', 'ui/popup', 'core/session'], ({ t, count }, commands, { toast }, { stopReason }) => {
  /** @typedef {import('../../ui/types').CommandContext} CommandContext */

  /** @param {CommandContext} context */
  async function compact({ app }) {
    const { current: entry, sessionStore } = app
    if (app.past) return
    const unfinished = !entry.going && stopReason(entry.session).kind !== 'completed'
    if (unfinished) return toast(t('compact.unfinished'))
    const asked = await sessionStore.edit(entry, (one) => { one.context = { ...one.context, compact: true } })
    if (asked === null) return toast(t('compact.busy'))
    sessionStore.retry(entry)
    await entry.going
    if (entry.session.context?.compact) { // it was stopped, or it failed, or this server is older
      sessionStore.amend(entry, (one) => { delete one.context?.compact })
      return toast(t('compact.undone'))
    }
    const record = entry.session.context?.events?.findLast((/** @type {any} */ one) => one?.trigger === 'asked')
    if (!record) return
    const sizes = { before: count(record.before), after: count(record.after) }
    toast(t(record.ops ? 'compact.done' : 'compact.nothing', sizes))
  }

  function register() {
    commands.register({
      id: 'context.compact', title: 'compact.title', icon: 'limit', slash: 'compact', run: compact,
      when: ({ app }) => app.current.session.messages.length > 0,
    })
  }

  return { register }
})
