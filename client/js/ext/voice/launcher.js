// Offers to read an answer aloud, and loads dictation where it can be used: the server has who transcribes, and the browser
// gives a microphone to this page.

yaa.define('ext/voice/launcher', ['ui/i18n', 'ui/commands', 'ui/session-commands', 'core/attachments', 'ext/voice/read-aloud'], (
  { t }, commands, { target }, attachments, voice,
) => {
  /** @param {import('../../ui/types').CommandContext} context */
  function start(context) {
    const { app } = context
    if (voice.canRead()) offerReading(context)
    if (!globalThis.MediaRecorder || !globalThis.navigator?.mediaDevices?.getUserMedia) return
    const look = (/** @type {import('../../ui/types').State} */ state) => {
      if (!state.info?.transcription) return
      app.watchers.delete(look)
      yaa.load('dictation').then(() => yaa.use('ext/voice/dictation').start(context), console.warn)
    }
    app.watchers.add(look)
    app.draw()
  }

  /** @param {import('../../ui/types').CommandContext} context */
  function offerReading({ app, state }) {
    const words = (/** @type {Message} */ { role, content }) => (role === 'assistant' ? attachments.split(content).words : '')
    const read = (/** @type {Message} */ message) => voice.toggle(app, message.id, words(message))
    commands.register({
      id: 'message.read', title: 'voice.readLast', icon: 'sound', slash: 'read',
      when: () => app.current.session.messages.length > 0 && !state().live,
      run(context) {
        const message = target(context, (/** @type {Message} */ one) => one.role === 'assistant' && Boolean(one.content))
        if (message && !app.past) read(message)
      },
      entry: (message) => (words(message) ? { label: t(voice.isReading(message.id) ? 'voice.stopReading' : 'voice.read'), icon: 'sound', action: () => read(message) } : null),
    })
  }

  return { start }
})
