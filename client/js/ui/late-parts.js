// Starts what is not needed to read and write: each part when the browser has time, in the order in which it is missed.

yaa.define('ui/late-parts', [], () => {
  /**
   * @param {import('./types').CommandContext} context @param {string | null} shared what the address says was shared
   * @param {(run: () => void) => void} idle runs it when the browser has time
   */
  function start(context, shared, idle) {
    const { app, more = async () => {} } = context
    const { standalone, sessionStore, store } = app
    idle(() => Promise.all([more(), yaa.load('session-defaults')]).then(() => { for (const name of ['ui/focus-recovery', 'ui/permission-picker', 'ui/mode-picker', 'ui/pair-picker', 'ui/file-drop', 'ui/more-icons', 'ui/composer-history', 'ui/server-warnings', 'ui/wait-line', 'ui/large-session', 'ui/server-launcher', 'ui/voice/launcher']) yaa.use(name).start(context) }, console.warn))
    if (!standalone) idle(() => Promise.all([yaa.load('storage'), yaa.load('dialogs')]).then(() => yaa.use('ui/storage-notices').start(), console.warn))
    idle(() => yaa.load('work').then(() => yaa.use('ui/work/launcher').start(context), console.warn))
    idle(() => yaa.load('workspace').then(() => { for (const name of ['files', 'skills']) yaa.use(`ui/${name}/launcher`).start(context) }, console.warn))
    idle(() => yaa.load('gauge').then(() => yaa.use('ui/inspector/launcher').start(context), console.warn))
    if (!standalone) idle(() => yaa.load('other-tabs').then(() => yaa.use('ui/other-tabs').start(context), console.warn))
    // what a key opens should be open before the keys that are meant for it
    idle(() => Promise.all(['calls', 'questions', 'search', 'branches', 'attachments', 'settings'].map((group) => yaa.load(group))).then(() => {
      app.views.composer.bringBack()
      if (!standalone) yaa.load('installed-page').then(() => yaa.use('ui/installed-page').start(context, shared), console.warn)
      if (store.kind === 'idb' && sessionStore.heads().length) yaa.use('io/draft-files').removeUnused((/** @type {string} */ draft) => draft === 'new' || sessionStore.heads().some(({ id }) => id === draft))
    }, console.warn))
  }

  return { start }
})
