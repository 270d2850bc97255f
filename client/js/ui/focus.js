// The focus is never lost: where the element that has it goes away (a card is answered, a form has done its work, an edit
// makes another branch), it moves to the nearest thing around it that can take it, at last to the message field.

yaa.define('ui/focus', [], () => {
  /** @param {import('./types').CommandContext} context */
  function start({ app }) {
    /** What has the focus, and what it is in, from the inside out. @type {any[]} */
    let path = pathOf(document.activeElement)
    /** Where a screen was touched, a field would open the keyboard over the page. */
    let touched = false
    document.addEventListener('pointerdown', ({ pointerType }) => { touched = pointerType === 'touch' }, true)
    document.addEventListener('keydown', () => { touched = false }, true)
    document.addEventListener('focusin', ({ target }) => { path = pathOf(target) })

    /** What is hidden keeps the focus until the next frame, in some browsers. */
    function look() {
      const now = document.activeElement
      if (!path.length || (now !== document.body && now !== path[0]) || usable(path[0])) return
      const next = path.find((one) => one.hasAttribute('tabindex') && usable(one))
      if (next) next.focus({ preventScroll: true })
      else if (!touched) app.views.composer.focus()
    }

    app.watchers.add(({ whole }) => whole && look())
    // a press, by whatever means, may take its button away without the page being drawn
    document.addEventListener('click', () => requestAnimationFrame(() => requestAnimationFrame(look)))
  }

  /** @param {any} el */
  function pathOf(el) {
    /** @type {any[]} */ const found = []
    for (let one = el; one && one !== document.body; one = one.parentElement) found.push(one)
    return found
  }

  /** @param {any} el */
  const usable = (el) => el.isConnected && !el.disabled && !el.closest('[inert]') && el.checkVisibility({ visibilityProperty: true })

  return { start }
})
