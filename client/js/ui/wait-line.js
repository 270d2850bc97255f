// What a run waits for, as the server says it (`run.wait`): another try and why, a model that has said nothing yet, a turn.
// One line over the composer, until the next event comes.

yaa.define('ui/wait-line', ['ui/dom', 'ui/i18n', 'ui/popup', 'i18n/late-parts'], ({ h, icon, text }, { t, duration }, { say }) => {
  /** @param {{awaits: string, waited_s: number, left_s?: number, attempt?: number, of?: number, cause?: string}} wait @param {number} passed seconds since it was said */
  function waitText({ awaits, waited_s, left_s, attempt, of, cause }, passed) {
    const time = (/** @type {number} */ seconds) => duration(Math.max(0, Math.round(seconds)) * 1000)
    const facts = { attempt, of, cause, waited: time(waited_s + passed), left: time((left_s ?? 0) - passed) }
    const known = ['retry', 'model', 'interval'].includes(awaits) ? awaits : 'place'
    return t(`wait.${known === 'retry' && passed >= (left_s ?? 0) ? 'again' : known}`, facts)
  }

  /** @param {import('./types').CommandContext} context */
  function start({ app }) {
    const words = h('span')
    const el = h('div.note.wait', { hidden: true }, icon('clock'), words)
    /** @type {any} */ let said = null
    let [timer, since] = [0, 0]

    function update() {
      const wait = app.current.state?.wait
      clearTimeout(timer)
      el.hidden = !wait
      if (!wait) return
      if (!el.isConnected) document.querySelector('.foot .notes')?.prepend(el)
      const isNew = said !== wait
      if (isNew) [said, since] = [wait, Date.now()]
      text(words, waitText(wait, (Date.now() - since) / 1000))
      if (isNew) say(words.textContent ?? '')
      timer = window.setTimeout(update, 1000)
    }

    app.watchers.add(update)
    update()
  }

  return { start, waitText }
})
