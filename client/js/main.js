// Where the client starts: storage, settings, then the page. Failures of storage are shown, never fatal.

yaa.define('main', [
  'ui/app', 'ui/popup', 'ui/text', 'io/settings', 'io/store-idb', 'css/base', 'css/layout', 'css/thread', 'css/cards', 'css/dialogs',
], ({ startApp }, { toast }, { t }, settings, stores) => {
  async function main() {
    const root = document.getElementById('app')
    if (!root) return
    const store = await stores.open({ onError: (/** @type {StoreError} */ error) => toast(t('toast.saveFailed', { detail: error.message }), { bad: true }) })
    await startApp({ root, settings: settings.open(), store }).start()
  }

  return { main }
})

yaa.use('main').main()
