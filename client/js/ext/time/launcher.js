// Starts the recording of runs on this device, and the command that plays them.

yaa.define('ext/time/launcher', ['ext/time/texts', 'ui/commands', 'ext/time/event-log'], ({ language }, commands, eventLog) => {
  /** @param {import('../../ui/types').CommandContext} context */
  function start(context) {
    const { app } = context
    /** @type {any} once it is loaded */ let slider = null
    let made = ''
    const ids = () => new Set(app.sessionStore.heads().map((head) => head.id))
    let known = ids()

    async function toggle() {
      await yaa.load('time-slider')
      slider ??= yaa.use('ext/time/slider').sliderView(context)
      made = language()
      slider.toggle()
    }

    /** @param {import('../../ui/types').State} state */
    function update(state) {
      if (slider && language() !== made) slider = slider.end() // the page was made anew: so is this
      slider?.update(state)
      if (!state.whole) return
      const here = ids()
      for (const id of known) if (!here.has(id)) eventLog.remove(id)
      known = here
    }

    /** Store the events of a run, only on this device; then they need no memory. @param {any} event */
    function keep({ detail: session }) {
      const { run } = app.sessionStore.entry(session.id) ?? {}
      if (!run?.events.length || session.ext?.temporary) return
      eventLog.save(session.id, String(session.run?.id ?? ''), run.events).then(() => { run.events.length = 0 }, console.warn)
    }

    const when = () => app.current.session.messages.length > 0
    commands.register({ id: 'inspect.time', title: 'inspect.time', icon: 'play', keys: 'g t', slash: 'replay', when, run: toggle })
    app.watchers.add(update)
    app.draw()
    if (app.store.kind !== 'idb') return
    addEventListener('yaa-saved', keep)
    eventLog.removeUnused(known).catch(console.warn) // what deleted sessions left behind
  }

  return { start }
})
