// Starts what is not needed to read and write: each part when the browser has time, in the order in which it is missed.

yaa.define('ui/late-parts', [], () => {
  /**
   * @param {import('./types').CommandContext} context @param {string | null} shared what the address says was shared
   * @param {(load: () => Promise<any>, begin: (came: any) => any) => void} bring when the browser has time
   */
  function start(context, shared, bring) {
    const { app, more = async () => {} } = context
    const { standalone, sessionStore, store } = app
    bring(() => Promise.all([more(), yaa.load('session-defaults')]), () => { for (const name of ['ui/focus-recovery', 'ui/permission-picker', 'ui/mode-picker', 'ui/pair-picker', 'ui/file-drop', 'ui/more-icons', 'ui/composer-history', 'ui/server-warnings', 'ui/wait-line', 'ui/large-session']) yaa.use(name).start(context) })
    if (!standalone) bring(() => Promise.all([yaa.load('storage'), yaa.load('dialogs')]), () => yaa.use('ui/storage-notices').start())
    bring(() => yaa.load('work'), () => yaa.use('ui/work/launcher').start(context))
    for (const { name, group } of yaa.parts('launcher')) bring(() => yaa.load(group), () => yaa.use(name).start(context))
    if (!standalone) bring(() => yaa.load('other-tabs'), () => yaa.use('ui/other-tabs').start(context))
    // what a key opens should be open before the keys that are meant for it
    bring(() => Promise.all(['calls', 'questions', 'branches', 'attachments', 'settings'].map((group) => yaa.load(group))), () => {
      app.views.composer.bringBack()
      if (!standalone) bring(() => yaa.load('installed-page'), () => yaa.use('ui/installed-page').start(context, shared))
      if (store.kind === 'idb' && sessionStore.heads().length) yaa.use('io/draft-files').removeUnused((/** @type {string} */ draft) => draft === 'new' || sessionStore.heads().some(({ id }) => id === draft))
    })
  }

  return { start }
})
