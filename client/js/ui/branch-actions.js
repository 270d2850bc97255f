// The actions behind the buttons of ui/message-actions. Each is one change of core/branch-tree or core/message-edits, saved
// at once, with an undo toast where something is removed.

yaa.define('ui/branch-actions', [
  'ui/i18n', 'ui/popup', 'ui/interrupt-cards', 'ui/editors', 'ui/branch-list', 'ui/limits', 'core/attachments', 'core/message-edits', 'core/branch-tree', 'core/session', 'core/workspace-stand',
  'ui/commands', 'ui/one-answer-model', 'i18n/branches',
], ({ t }, { openMenu, toast, say }, { parseArgs }, editors, { openTree }, limits, attachments, edits, tree, sessions, { standOf }, commands, { lend }) => {
  /** @param {import('./types').App} app @param {import('./types').Actions} actions @returns {Record<string, (...rest: any[]) => any>} */
  function branchActions(app, actions) {
    const { sessionStore } = app
    const session = () => app.current.session
    const article = (/** @type {string} */ id) => document.getElementById(`message-${id}`)

    /**
     * One change of the open session; nothing is changed under a run. It says so where the files will be put back with it.
     * @template T @param {(session: Session) => T} work @returns {Promise<T | null>}
     */
    async function change(work) {
      const before = standOf(session())
      const done = await sessionStore.edit(app.current, work)
      if (done === null) toast(t('branch.busy'))
      else if (standOf(session()) !== before) toast(t('branch.files'))
      return done
    }

    /** What an editor says of the files before its change is made. @param {string} hint @param {(session: Session) => any} work */
    const hintOf = (hint, work) => (edits.takesFilesBack(session(), work) ? `${t(hint)} ${t('branch.files')}` : t(hint))

    const run = () => sessionStore.retry(app.current)

    /** The message as it is now: of a result, its tool message. @param {string} id */
    const messageOf = (id) => session().messages.find((message) => message.id === id)

    /** @param {string} callId */
    const callOf = (callId) => session().messages.flatMap((message) => message.tool_calls ?? []).find((call) => call.id === callId)

    /** @param {string} id */
    function editWords(id) {
      const message = messageOf(id)
      const place = article(id)
      if (!message || !place) return
      const sends = message.role === 'user'
      /** @param {string} words */
      const save = async (words) => {
        const content = attachments.withWords(message.content, words)
        if (!await change((one) => edits.editMessage(one, id, content))) return false
        if (sends) run()
        else focusGhost()
        return true
      }
      const hint = hintOf(sends ? 'branch.sendHint' : 'branch.saveHint', (one) => edits.editMessage(one, id, ''))
      editors.editInline(place, { value: attachments.split(message.content).words, hint, sends, save })
    }

    /** @param {string} callId */
    function editArguments(callId) {
      const call = callOf(callId)
      if (!call) return
      const args = session().calls?.[callId]?.args ?? parseArgs(call.function.arguments)
      editors.editValue({ title: t('branch.argsOf', { tool: call.function.name }), hint: hintOf('branch.argsHint', (one) => edits.editArguments(one, callId, args)), value: args, object: true,
        save: async ({ value }) => await change((one) => edits.editArguments(one, callId, value)) === true && focusGhost() })
    }

    /** The same call once more, in a branch: as it was written, for what is read here may lose digits. @param {string} callId */
    async function rerun(callId) {
      const call = callOf(callId)
      if (!call) return
      const args = session().calls?.[callId]?.args ?? call.function.arguments
      if (await change((one) => edits.editArguments(one, callId, args))) run()
    }

    /** @param {string} callId */
    function editResult(callId) {
      const result = session().messages.find((message) => message.role === 'tool' && message.tool_call_id === callId)
      if (!result) return
      const isError = result.is_error === true
      const value = (isError ? undefined : result.result?.result) ?? result.content
      editors.editValue({ title: t('branch.resultOf', { tool: result.name ?? '' }), value, isError,
        hint: hintOf('branch.resultHint', (one) => edits.editResult(one, callId, { value: '' })),
        save: async (made) => await change((one) => edits.editResult(one, callId, made)) === true && focusGhost() })
    }

    /** Who the assistant is in this session. It holds for every branch, from the next run on. */
    function character() {
      editors.editValue({ title: t('character.title'), hint: t('character.hint'), value: session().character ?? '',
        save: async ({ value }) => await change((one) => { one.character = value.trim() }) !== null })
    }

    /** Focus what to do next after an edit, as soon as its editor is closed. */
    function focusGhost() {
      app.drawNow()
      setTimeout(() => /** @type {any} */ (document.querySelector('.aside .button:not([hidden])'))?.focus())
      return true
    }

    /** @param {string} id */
    async function retry(id) {
      if (await change((one) => edits.retry(one, id))) run()
    }

    /** Another answer, by a model that is chosen for it alone. @param {string} id */
    function retryWith(id) {
      const entry = app.current
      return commands.run('model', async (/** @type {string} */ provider, /** @type {string} */ model) => {
        if (app.current !== entry || !await change((one) => edits.retry(one, id))) return
        await lend(sessionStore, entry, provider, model)
        run()
      })
    }

    /** @param {string} id of a message behind which to say something else */
    async function fork(id) {
      if (await change((one) => edits.fork(one, id))) app.views.composer.focus()
    }

    /** The last message of the user is in the field again; the first, which a session has to begin with, is edited. */
    async function undo() {
      const taken = await change((one) => edits.takeBack(one))
      const first = session().messages.find((message) => message.role === 'user')
      if (taken) app.views.composer.insert(attachments.split(taken.content).words)
      else if (taken === false && first) editWords(first.id)
    }

    /** @param {string} id */
    async function forkOut(id) {
      const title = t('branch.copyTitle', { title: sessions.titleOf(session()) || t('session.untitled') })
      const made = edits.forkSession(session(), id, { title })
      await sessionStore.restore(made)
      actions.open(made.id)
      toast(t('branch.forkedOut'))
    }

    /** @param {string} id of a branch @param {number} [step] of the switcher that was pressed */
    async function switchTo(id, step = 0) {
      const before = session().messages
      if (!await change((one) => tree.switchTo(one, id))) return
      const { messages } = session()
      const at = messages.findIndex((message, i) => message.id !== before[i]?.id)
      const all = sessions.siblings(session()).get(messages[at]?.id ?? '')
      if (all) say(t('branch.which', { n: all.indexOf(null) + 1, total: all.length }))
      if (step && at >= 0) focusSwitch(messages[at], step)
    }

    /** The pressed button is gone with its message: the focus goes on to the one in its place. @param {Message} message @param {number} step */
    function focusSwitch(message, step) {
      const owner = message.role !== 'tool' ? message.id
        : session().messages.find((one) => one.tool_calls?.some((call) => call.id === message.tool_call_id))?.id
      app.drawNow()
      const place = app.views.thread.reveal(owner)
      const wanted = /** @type {HTMLElement | null} */ (place?.querySelector(`.switch [data-step="${step}"]`) ?? null)
      wanted?.focus()
    }

    /** The branch that a message begins goes away; the one beside it takes its place. @param {string} id */
    async function remove(id) {
      const all = sessions.siblings(session()).get(id)
      if (!all) return
      const at = all.indexOf(null)
      const next = /** @type {string} */ (all[at + 1] ?? all[at - 1])
      const taken = await change((one) => {
        tree.switchTo(one, next)
        const gone = sessions.treeOf(one).branches.find((branch) => branch.messages[0]?.id === id)
        return gone ? { id: gone.id, branches: tree.remove(one, gone.id) } : null
      })
      if (taken) offerUndo(taken.branches, taken.id)
    }

    /** @param {string} id of a branch that is set aside */
    async function removeBranch(id) {
      const branches = await change((one) => tree.remove(one, id))
      if (branches?.length) offerUndo(branches, '')
    }

    /** @param {Branch[]} branches @param {string} active which of them to go back to */
    function offerUndo(branches, active) {
      const entry = app.current
      const action = () => sessionStore.edit(entry, (one) => {
        tree.restore(one, branches)
        if (active) tree.switchTo(one, active)
      })
      toast(t('branch.removed', { n: branches.reduce((sum, branch) => sum + branch.messages.length, 0) }), { label: t('side.undo'), action })
    }

    async function back() {
      const { fresh } = sessions.treeOf(session()).active ?? {}
      if (fresh?.from && await change((one) => tree.switchTo(one, /** @type {string} */ (fresh.from)))) return
      openTree(app, actions)
    }

    /** Go on with an answer that was cut, or ask for more. @param {string} id */
    function goOn(id) {
      if (messageOf(id)?.open) run()
      else actions.send(t('branch.goOnWords'))
    }

    /** What other parts offer. @param {{message: Message}} shown */
    const others = ({ message }) => (app.past ? [] : commands.list().flatMap((one) => one.entry?.(message) ?? []))

    return {
      edit: editWords, editArguments, editResult, rerun, retry, retryWith, fork, undo, forkOut, character, switchTo, remove, removeBranch, back, goOn, continueHere: run,
      label: (/** @type {string | null} */ id, /** @type {any} */ changes) => change((one) => { tree.labelBranch(one, id, changes) }),
      tree: () => openTree(app, actions),
      menu: (/** @type {HTMLElement} */ anchor, /** @type {any} */ shown, /** @type {any} */ item, /** @type {any[]} */ looks = []) => openMenu(anchor, [...looks, ...ofCall(actions, item), ...others(shown), ...entriesOf(actions, shown, Boolean(app.server.info()?.models?.length))]),
      ...limits.limitActions(app, actions),
    }
  }

  /**
   * What else can be done at a message, in a menu. @param {import('./types').Actions} actions
   * @param {{message: Message, calls: CallItem[], siblings: Map<string, any>, last?: boolean}} shown
   * @param {boolean} hasModels there are models to choose from
   */
  function entriesOf(actions, { message, calls, siblings, last }, hasModels) {
    const one = (/** @type {string} */ key, /** @type {string} */ sign, /** @type {string} */ name, danger = false) => (
      { label: t(key), icon: sign, danger, action: () => { actions.branch(name, message.id) } }
    )
    return [
      ...(calls.length ? [one('branch.edit', 'pencil', 'edit'), one('branch.retry', 'retry', 'retry')] : []),
      ...(last && message.role === 'assistant' ? [one('branch.goOn', 'down', 'goOn')] : []),
      ...(hasModels && message.role === 'assistant' ? [one('branch.retryWith', 'spark', 'retryWith')] : []),
      ...(last ? [] : [one('branch.fork', 'branch', 'fork')]),
      one('branch.forkOut', 'plus', 'forkOut'),
      one('branch.tree', 'tree', 'tree'),
      ...(siblings.has(message.id) ? [one('branch.remove', 'trash', 'remove', true)] : []),
    ]
  }

  /** What can be done with a call, in the same menu. @param {import('./types').Actions} actions @param {any} [item] a call as its card shows it */
  function ofCall(actions, item) {
    if (!item) return []
    const one = (/** @type {string} */ key, /** @type {string} */ sign, /** @type {string} */ name) => ({ label: t(key), icon: sign, action: () => { actions.branch(name, item.call.id) } })
    const after = item.result ? [one('branch.editResult', 'pencil', 'editResult'), one('branch.rerun', 'retry', 'rerun')] : []
    return item.of.message.open ? after : [one('ask.edit', 'pencil', 'editArguments'), ...after]
  }

  return { branchActions }
})
