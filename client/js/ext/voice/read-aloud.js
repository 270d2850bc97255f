// An answer is read aloud by the browser's own voice: nothing leaves this device that the browser does not send itself.

yaa.define('ext/voice/read-aloud', ['ui/i18n', 'ui/popup', 'ext/voice/spoken-text', 'ext/voice/texts'], ({ t, language }, { toast, say }, { sentencesOf, languageOf }) => {
  const synthesis = globalThis.speechSynthesis
  /** What is being read. @type {{id: string, session: string} | null} */ let reading = null
  /** Kept, for Chromium forgets one that nobody holds, and its end with it. @type {any} */ let utterance = null

  const canRead = () => Boolean(synthesis && globalThis.SpeechSynthesisUtterance)

  /** @param {string} id of a message */
  const isReading = (id) => reading?.id === id

  function stop() {
    if (!reading) return
    reading = utterance = null
    synthesis.cancel()
  }

  /** Read a message, or stop reading it. @param {import('../../ui/types').App} app @param {string} id @param {string} markdown */
  function toggle(app, id, markdown) {
    const was = isReading(id)
    stop()
    if (was) return
    const sentences = sentencesOf(markdown)
    if (!sentences.length) return toast(t('voice.silent'))
    const lang = languageOf(sentences.join(' '), [language(), ...navigator.languages ?? []])
    const now = reading = { id, session: app.current.session.id }
    const watch = (/** @type {import('../../ui/types').State} */ state) => { if (reading === now && state.session.id !== now.session) stop() }
    app.watchers.add(watch)
    addEventListener('pagehide', stop, { once: true })
    say(t('voice.reading'))
    next(0)

    /** @param {number} n */
    function next(n) {
      if (reading !== now || n === sentences.length) {
        app.watchers.delete(watch)
        if (reading === now) reading = utterance = null
        return
      }
      utterance = Object.assign(new SpeechSynthesisUtterance(sentences[n]), { lang })
      utterance.onend = () => next(n + 1)
      utterance.onerror = (/** @type {any} */ { error }) => {
        if (reading !== now) return app.watchers.delete(watch)
        stop()
        next(0)
        toast(t('voice.unread', { detail: error }), { bad: true })
      }
      synthesis.speak(utterance)
    }
  }

  return { canRead, isReading, toggle, stop }
})
