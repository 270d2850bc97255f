// Dropped files: over the list of sessions they are imported, elsewhere attached. Unhandled, the browser would leave. A long
// text that is pasted into the message is attached, too.

yaa.define('ui/file-drop', ['ui/dom', 'ui/i18n', 'ui/popup', 'ui/commands', 'i18n/late-parts'], ({ attr }, { t }, { toast }, commands) => {
  /** Lines of a pasted text that stay in the message. */
  const MOST_LINES = 100

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

    /** @param {any} event a ClipboardEvent */
    function paste(event) {
      const text = event.clipboardData?.getData('text/plain').replace(/\r\n?/g, '\n') ?? ''
      const lines = text.split('\n').length
      if (event.defaultPrevented || lines <= MOST_LINES || !event.target.matches?.('form.composer textarea')) return
      event.preventDefault()
      const { attach, insert } = app.views.composer
      const attached = attach([new File([text], t('paste.name'), { type: 'text/plain' })])
      const instead = () => attached.then((/** @type {() => void} */ remove) => (remove(), insert(text)))
      toast(t('paste.attached', { n: lines }), { label: t('paste.insert'), action: instead })
    }

    for (const type of ['dragover', 'dragleave', 'drop']) addEventListener(type, over)
    addEventListener('paste', paste)
  }

  return { start }
})
