// Marks where files that are dropped go (ui/app takes them). A long text that is pasted into the message is attached.

yaa.define('ui/file-drop', ['ui/dom', 'ui/i18n', 'ui/popup', 'i18n/late-parts'], ({ attr }, { t }, { toast }) => {
  /** Lines of a pasted text that stay in the message. */
  const MOST_LINES = 100

  /** @param {import('./types').CommandContext} context */
  function start({ app }) {
    const mark = (/** @type {string} */ css, /** @type {boolean | undefined} */ on, /** @type {string} */ words) => document.querySelectorAll(css).forEach((el) => attr(el, 'data-drop', on ? t(words) : null))

    /** @param {any} event */
    function over(event) {
      if (event.type === 'dragleave' && event.relatedTarget?.closest?.('.side') === event.target.closest?.('.side') && event.relatedTarget) return
      const hovers = event.type === 'dragover' && event.dataTransfer?.types.includes('Files') && !event.defaultPrevented
      const side = Boolean(event.target.closest?.('.side'))
      mark('.side', hovers && side, 'drop.import')
      mark('.main', hovers && !side, 'drop.attach')
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

    for (const type of ['dragover', 'dragleave', 'drop']) document.addEventListener(type, over) // before ui/app takes it
    addEventListener('paste', paste)
  }

  return { start }
})
