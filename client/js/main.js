// Starts the client: storage, settings, page. Failures of storage are shown, never fatal.

yaa.define('main', [
  'ui/app', 'ui/popup', 'ui/i18n', 'io/settings', 'io/store-idb', 'css/base', 'css/layout', 'css/thread', 'css/composer',
], ({ startApp }, { toast }, { t }, settings, stores) => {
  async function main() {
    const root = document.getElementById('app')
    if (!root) return
    if (seesNothing()) return location.reload()
    const saved = document.getElementById('yaa-session') && await yaa.part('embedded') // a page in one file has a session of its own
    const data = saved?.embeddedSession()
    if (data) return saved.start(root, data)
    const store = await stores.open({ onError: troubled, makeRoom })
    await startApp({ root, settings: settings.open(), store }).start()
  }

  /**
   * At times Chromium (seen in 156) shows a page from disk that is loaded again an empty storage, and what is set there is
   * written over what was kept. It is loaded once more and sees everything.
   */
  function seesNothing() {
    const isSecond = window.name === 'yaa-again'
    window.name = ''
    try {
      if (isSecond || location.protocol !== 'file:' || localStorage.length) return false
      const [load] = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType('navigation'))
      if (load.type === 'reload') window.name = 'yaa-again'
    } catch { /* nothing may be stored */ }
    return window.name !== ''
  }

  /** Report a storage failure: ui/storage-notices does, a toast until it is loaded. @param {StoreError} error */
  function troubled(error) {
    const heard = !dispatchEvent(new CustomEvent('yaa-storage', { detail: error, cancelable: true }))
    if (!heard) toast(t('toast.storage', { detail: error.message }), { bad: true })
  }

  /** Recorded runs are expendable. */
  const makeRoom = () => yaa.part('event-log').then((events) => events?.clear())

  return { main }
})

yaa.use('main').main()
