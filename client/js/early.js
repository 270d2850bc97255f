// Before anything is painted: the colours that were chosen. Else a page that is dark on a light system, or the other way
// round, would flash with each load. It stands before all that waits for the page, so it is no module.

try {
  const { theme } = JSON.parse(localStorage.getItem('yaa.settings') ?? '{}')
  const meta = /** @type {HTMLMetaElement | null} */ (document.querySelector('meta[name="color-scheme"]'))
  if (theme && meta) {
    document.documentElement.dataset.theme = theme
    meta.content = theme
  }
} catch { /* nothing may be stored */ }
