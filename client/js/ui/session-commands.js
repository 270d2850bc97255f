// The commands of the open session: branches, limits, continuing. They work on the focused message, else on the last one
// they fit.

yaa.define('ui/session-commands', ['core/session'], ({ siblings }) => {
  /** @typedef {import('./types').Command} Command */
  /** @typedef {import('./types').CommandContext} CommandContext */

  /** @param {CommandContext} context */
  const messagesOf = ({ app }) => app.current.session.messages

  /** @param {CommandContext} context */
  const idle = (context) => messagesOf(context).length > 0 && !context.state().live

  /** @param {CommandContext} context @param {(message: Message) => boolean} fits @returns {Message | undefined} */
  function target(context, fits) {
    const focused = document.activeElement?.closest('article.message')?.id.replace(/^message-/, '')
    const all = messagesOf(context)
    return all.find((message) => message.id === focused && fits(message)) ?? all.findLast(fits)
  }

  /** @param {string} name of a branch action @param {(message: Message) => boolean} fits @returns {Command['run']} */
  const at = (name, fits) => (context) => {
    const message = target(context, fits)
    if (message) context.actions.branch(name, message.id)
  }

  /** @param {Message} message */
  const said = (message) => message.role === 'user' || (message.role === 'assistant' && !message.tool_calls?.length)

  /** @param {number} step @returns {Command['run']} */
  const turn = (step) => (context) => {
    const beside = siblings(context.app.current.session)
    const all = beside.get(target(context, (message) => beside.has(message.id))?.id ?? '-') ?? []
    const next = all[all.indexOf(null) + step]
    if (next) context.actions.branch('switchTo', next, step)
  }

  /** @param {CommandContext} context */
  const branched = (context) => idle(context) && siblings(context.app.current.session).size > 0

  /** @type {Command[]} */
  const COMMANDS = [
    { id: 'message.edit', title: 'command.edit', icon: 'pencil', keys: 'm', when: idle, run: at('edit', said) },
    { id: 'message.retry', title: 'branch.retry', icon: 'retry', slash: 'retry', when: idle, run: at('retry', (message) => message.role === 'assistant') },
    { id: 'message.undo', title: 'branch.undo', icon: 'left', slash: 'undo', when: idle, run: ({ actions }) => actions.branch('undo') },
    { id: 'message.fork', title: 'branch.fork', icon: 'branch', when: idle, run: at('fork', said) },
    { id: 'message.forkOut', title: 'branch.forkOut', icon: 'plus', when: idle, run: at('forkOut', said) },
    { id: 'branch.previous', title: 'branch.previous', icon: 'left', keys: ',', when: branched, run: turn(-1) },
    { id: 'branch.next', title: 'branch.next', icon: 'chevron', keys: '.', when: branched, run: turn(1) },
    { id: 'session.tree', title: 'branch.tree', icon: 'tree', keys: 'g b', slash: 'branches', when: idle, run: ({ actions }) => actions.branch('tree') },
    { id: 'session.limits', title: 'command.limits', icon: 'limit', keys: 'g l', slash: 'limits', run: ({ actions }) => actions.branch('limits') },
    { id: 'session.character', title: 'command.character', icon: 'spark', slash: 'instructions', when: idle, run: ({ actions }) => actions.branch('character') },
    { id: 'session.pause', title: 'command.pause', icon: 'hand', slash: 'pause', run: ({ actions }) => actions.branch('pause') },
    {
      id: 'session.temporary', title: 'command.temporary', icon: 'clock', slash: 'temporary', menu: 'empty',
      run: ({ actions }) => {
        actions.newSession()
        actions.setTemporary(true)
      },
    },
  ]

  return { COMMANDS, target }
})
