// Dropped files: over the list of sessions they are imported, elsewhere attached. Unhandled, the browser would leave.

yaa.define('ui/file-drop', ['ui/dom', 'ui/i18n', 'ui/commands', 'i18n/late-parts'], ({ attr }, { t }, commands) => {
  /** @param {import('./types').CommandContext} context */
  function start({ app }) {
    const mark = (/** @type {string} */ css, /** @type {boolean | undefined} */ on, /** @type {string} */ words) => document.querySelectorAll(css).forEach((el) => attr(el, 'data-drop', on ? t(words) : null))

    /** @param {any} event */
    function over(event) {
      if (event.type === 'dragleave' && event.relatedTarget?.closest?.('.side') === event.target.closest?.('.side') && event.relatedTarget) return
      const holds = event.dataTransfer?.types.includes('Files') && !event.defaultPrevented
      const side = Boolean(event.target.closest?.('.side'))
      const hovers = holds && event.type === 'dragover'
      mark('.side', hovers && side, 'drop.import')
      mark('.main', hovers && !side, 'drop.attach')
      if (!holds || event.type === 'dragleave') return
      event.preventDefault()
      if (event.type !== 'drop') return
      const files = [...event.dataTransfer?.files ?? []]
      if (side) commands.run('sessions.import', files)
      else app.views.composer.attach(files)
    }

    for (const type of ['dragover', 'dragleave', 'drop']) addEventListener(type, over)
  }

  return { start }
})
