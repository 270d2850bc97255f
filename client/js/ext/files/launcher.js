// Starts what has to do with files once the page can be used: the button over the thread, the choice of a folder, `@`, the
// cards that ask about files, and the copies that the page keeps. The panel itself comes when it is opened.

yaa.define('ext/files/launcher', [
  'ui/dom', 'ext/files/texts', 'ui/commands', 'ext/files/session-files', 'ext/files/folder-picker', 'ext/files/folder-offer', 'ext/files/mention-menu', 'ext/files/restore-cards', 'ext/files/review-bar', 'ext/files/file-changes', 'core/file-names', 'ext/files/style',
], ({ h, icon, text, attr }, { t, language }, commands, files, { picker, choose }, offers, mentions, cards, { reviewBar }, { changesOf }, { isJunk, linkedPath }) => {
  /** @param {import('../../ui/types').CommandContext} context */
  function start(context) {
    const { app } = context
    /** @type {any} */ let panel = null
    let views = makeViews()
    const mention = mentions.start(context)
    cards.start(context)
    offers.start(context, (/** @type {string} */ name) => choose(context, name))

    function makeViews() {
      return { language: language(), button: filesButton(() => toggle()), folder: picker(context), review: reviewBar(app, act) }
    }

    /** @param {string} [path] a file to be shown @param {string} [view] @param {boolean} [whole] every diff is open */
    async function open(path, view, whole) {
      await bring()
      panel.open(path, view, whole)
    }

    async function bring() {
      await Promise.all([yaa.load('files'), yaa.load('tools')])
      const forget = () => { mention.forget(), views.review.refresh() }
      panel ??= yaa.use('ext/files/panel').start(context, { forget })
    }

    /** @param {'review' | 'apply' | 'discard' | 'undo'} what @param {any} seen what the bar shows */
    async function act(what, seen) {
      if (what === 'review') return open('', seen.before ? 'changes' : 'layer', true)
      await bring()
      await (what === 'undo' ? panel.undo(seen) : panel.act(what, seen?.tree))
      views.review.refresh()
    }

    const toggle = () => (panel?.isOpen() ? panel.close() : open('', views.review.waits() ? 'layer' : ''))

    /** @param {import('../../ui/types').State} state */
    function update(state) {
      if (language() !== views.language) {
        for (const one of [views.button, views.folder, views.review]) one.el.remove()
        panel?.close()
        panel = null
        views = makeViews()
      }
      if (!state.whole) return
      if (!views.button.el.isConnected) document.querySelector('.files-place')?.append(views.button.el)
      if (!views.folder.el.isConnected) document.querySelector('.composer-bar .gap')?.before(views.folder.el)
      if (!views.review.el.isConnected) app.views.notes.el.prepend(views.review.el)
      views.review.update(state)
      views.button.update(files.isOffered(app), state.session)
      views.folder.update()
      panel?.update(state)
    }

    commands.register({ id: 'files', title: 'files.open', icon: 'folder', keys: 'g o', slash: 'files', menu: 'session', when: () => files.isOffered(app), run: (_, path) => open(path && linkedPath(path, changesOf(app.current.session).files.map((file) => file.path))) })
    app.sessionStore.hooks.push({
      async onStart(entry) {
        const { session } = entry
        runs.set(session.id, session.messages.length)
        await files.takeUploads(app, entry, (tree) => files.stand(session, tree))
        files.pin(session)
      },
      onEvent() {},
      onRest: (entry) => {
        mention.forget()
        files.takeUploads(app, entry, (tree) => entry.going || app.sessionStore.amend(entry, (session) => files.stand(session, tree))).catch(console.warn)
        files.keep(app, entry)
      },
    })
    app.watchers.add(update)
    if (app.store.kind === 'idb') forgetUnused(app).catch(console.warn)
    context.actions.draw()
  }

  /** How many messages each session had when its run began. @type {Map<string, number>} */
  const runs = new Map()

  /** How many files the session has changed. @param {() => void} onclick */
  function filesButton(onclick) {
    const shown = h('span.desk-count')
    const el = h('button.button.ghost.small.files-button', { type: 'button', hidden: true, onclick }, icon('folder'), shown)
    let counted = ''

    /** @param {boolean} offered @param {Session} session */
    function update(offered, session) {
      el.hidden = !offered
      const key = `${session.id} ${session.messages.length} ${session.messages.at(-1)?.id} ${language()}`
      if (!offered || key === counted) return
      counted = key
      const { files: named, count: all } = changesOf(session)
      const count = all - named.filter(({ path }) => isJunk(path)).length
      text(shown, count ? String(count) : '')
      shown.hidden = !count
      const words = count ? t('files.changed', { n: count }) : t('files.open')
      attr(el, 'aria-label', words)
      attr(el, 'title', words)
    }

    return { el, update }
  }

  /** What deleted sessions left behind. @param {import('../../ui/types').App} app */
  async function forgetUnused(app) {
    await yaa.load('kept-files')
    const heads = await app.store.list()
    await yaa.use('ext/files/kept-objects').removeUnused(new Set(heads.map(({ id }) => id)))
  }

  return { start, runs }
})
