// What was said before, with the arrow keys: up from an empty field, and on as long as nothing is changed.

yaa.define('ui/composer-history', [], () => {
  /** @param {import('./types').CommandContext} context */
  function start({ app }) {
    let at = 0
    let shown = ''

    /** @param {any} event of a key that the composer has left to others */
    function onkeydown(event) {
      const area = event.target
      const step = { ArrowUp: 1, ArrowDown: -1 }[/** @type {string} */ (event.key)]
      if (!step || event.defaultPrevented || event.shiftKey || event.altKey || event.isComposing || !area.matches?.('form.composer textarea')) return
      if (!area.value) [at, shown] = [0, '']
      if (area.value !== shown || (!at && step < 0)) return
      const said = app.current.session.messages.filter(({ role, content }) => role === 'user' && typeof content === 'string').map(({ content }) => content)
      const next = Math.min(said.length, at + step)
      if (next === at) return
      event.preventDefault()
      at = next
      shown = at ? said[said.length - at] : ''
      area.value = shown
      area.dispatchEvent(new Event('input'))
    }

    document.addEventListener('keydown', onkeydown)
  }

  return { start }
})
