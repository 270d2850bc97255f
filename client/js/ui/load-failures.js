// Parts of the page that could not be loaded. A server that was updated meanwhile has none of this page's version: then
// nothing but loading the page again helps, and that is said instead.

yaa.define('ui/load-failures', ['ui/popup', 'ui/i18n', 'i18n/late-parts'], ({ toast }, { t }) => {
  /** Part of every address whose file never changes (docs/reference/http.md). */
  const VERSION = /^v\/[^/]+\//
  const PAUSE_MS = 10_000
  let quiet = -PAUSE_MS

  /** Watch for scripts that do not come, also those that nobody has asked for yet. */
  function start() {
    addEventListener('error', ({ target }) => {
      if (target instanceof HTMLScriptElement) outdated(target.getAttribute('src') ?? '')
    }, true) // it does not bubble
  }

  /** @param {Error & {address?: string}} error of `yaa.load` */
  async function report(error) {
    if (!await outdated(error.address ?? '')) toast(t('later.failed'), { bad: true })
  }

  /** @param {string} address @returns {Promise<boolean>} the server has another version, and it was said lately */
  async function outdated(address) {
    if (!VERSION.test(address)) return false
    const gone = await fetch(address, { method: 'HEAD', cache: 'no-store' }).then(({ status }) => status === 404, () => false)
    if (gone && performance.now() - quiet > PAUSE_MS) {
      quiet = performance.now()
      toast(t('later.updated'), { bad: true, label: t('later.reload'), action: () => location.reload() })
    }
    return gone
  }

  return { start, report }
})
