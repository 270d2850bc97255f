// What makes long runs readable: groups of calls, the plan over the message field, and how long something takes.

yaa.define('ui/work/launcher', ['ui/i18n', 'ui/work/groups', 'ui/work/plan-strip'], ({ duration }, groups, { planStrip }) => {
  const EVERY_MS = 1000

  /** @param {import('../types').CommandContext} context */
  function start({ app, actions }) {
    actions.work = groups
    let strip = planStrip()
    /** When each running thing was first seen. @type {WeakMap<Element, number>} */ const began = new WeakMap()
    let timer = 0
    let language = ''

    /** @param {any} state */
    function update(state) {
      if (document.documentElement.lang !== language || !strip.el.isConnected) {
        language = document.documentElement.lang
        strip.el.remove()
        strip = planStrip()
        app.views.notes.el.before(strip.el)
      }
      strip.update(state)
      if (state.live && !timer) timer = window.setInterval(tick, EVERY_MS)
      if (!state.live && timer) {
        clearInterval(timer)
        timer = 0
        tick()
      }
    }

    /** Write how long what runs has been running; on the element, so that drawing it anew leaves that alone. */
    function tick() {
      const now = performance.now()
      const running = new Set(timer ? document.querySelectorAll('.card.tool[data-state=started] .tool-state, .working:not([hidden])') : [])
      for (const el of running) {
        if (!began.has(el)) began.set(el, now)
        const ms = now - (began.get(el) ?? now)
        if (ms >= EVERY_MS) el.setAttribute('data-for', duration(Math.round(ms / 1000) * 1000))
      }
      for (const el of document.querySelectorAll('[data-for]')) {
        if (running.has(el)) continue
        el.removeAttribute('data-for')
        began.delete(el)
      }
    }

    app.watchers.add(update)
    actions.draw()
  }

  return { start }
})
