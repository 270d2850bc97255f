// Loads dictation where it can be used: the server has who transcribes, and the browser gives a microphone to this page.

yaa.define('ui/voice/launcher', [], () => {
  /** @param {import('../types').CommandContext} context */
  function start(context) {
    if (!globalThis.MediaRecorder || !globalThis.navigator?.mediaDevices?.getUserMedia) return
    const look = (/** @type {import('../types').State} */ state) => {
      if (!state.info?.transcription) return
      context.app.watchers.delete(look)
      yaa.load('voice').then(() => yaa.use('ui/voice/dictation').start(context), console.warn)
    }
    context.app.watchers.add(look)
    context.app.draw()
  }

  return { start }
})
