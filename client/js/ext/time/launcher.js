// Starts the recording of runs on this device, and the command that plays them.

yaa.define('ext/time/launcher', ['ext/time/texts', 'ui/commands', 'ext/time/event-log'], ({ language }, commands, { removeUnused }) => {
  /** @param {import('../../ui/types').CommandContext} context */
  function start(context) {
    const { app } = context
    /** @type {any} once it is loaded */ let slider = null
    let made = ''

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
    }

    const when = () => app.current.session.messages.length > 0
    commands.register({ id: 'inspect.time', title: 'inspect.time', icon: 'play', keys: 'g t', slash: 'replay', when, run: toggle })
    app.watchers.add(update)
    app.draw()
    // what deleted sessions left behind
    if (app.store.kind === 'idb') removeUnused(new Set(app.sessionStore.heads().map((head) => head.id))).catch(console.warn)
  }

  return { start }
})
