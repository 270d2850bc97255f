// Set the chosen colours before the first paint, or each load flashes. No module: the kernel comes later.

try {
  const { theme } = JSON.parse(localStorage.getItem('yaa.settings') ?? '{}')
  const meta = /** @type {HTMLMetaElement | null} */ (document.querySelector('meta[name="color-scheme"]'))
  if (theme && meta) {
    document.documentElement.dataset.theme = theme
    meta.content = theme
  }
} catch { /* nothing may be stored */ }
