// Keeps the focus when its element is removed (a form, a message that has another one in its place): it moves to the nearest
// focusable ancestor or neighbour, from an answered card or an edit to the message field, in the same task: no key is lost.

yaa.define('ui/focus-recovery', [], () => {
  /** What takes an element away from who uses it, beside its removal; `open` is a dialog's. */
  const TAKES = ['hidden', 'disabled', 'inert', 'open']
  const FIELDS = 'input, textarea, select, button, a[href], summary, [tabindex]'

  /** @param {import('./types').CommandContext} context */
  function start({ app }) {
    /** What has the focus, and what it is in, from the inside out. @type {any[]} */
    let path = pathOf(document.activeElement)
    /** Where a screen was touched, a field would open the keyboard over the page. */
    let touched = false
    document.addEventListener('pointerdown', ({ pointerType }) => { touched = pointerType === 'touch' }, true)
    document.addEventListener('keydown', () => { touched = false }, true)
    /** What had the focus before each dialog. @type {WeakMap<Element, any>} */
    const openers = new WeakMap()
    document.addEventListener('focusin', ({ target }) => {
      const next = pathOf(target)
      const dialog = next.find((one) => one.localName === 'dialog')
      if (dialog && path.length && !path.includes(dialog)) openers.set(dialog, path[0])
      path = next
    })

    /** Runs at each change of the page; while an answer streams in it ends within three lines. @param {MutationRecord[]} records */
    function look(records) {
      const [had] = path
      const now = document.activeElement
      if (!had || (now !== had && now !== document.body)) return
      if (now === had && !had.disabled && !path.some((one) => one.hidden || one.inert || one.open === false)) return
      if (!usable(had)) return move()
      // what was put elsewhere has lost the focus on the way; else it was a person who left it
      if (records.some(({ removedNodes }) => [...removedNodes].some((one) => one.contains(had)))) had.focus({ preventScroll: true })
      else if (now !== had) path = []
    }

    /** What is hidden by its style alone keeps the focus until the next frame, in some browsers. */
    function settle() {
      const now = document.activeElement
      if (path.length && (now === document.body || now === path[0]) && !usable(path[0])) move()
    }

    function move() {
      const closed = path.find((one) => one.localName === 'dialog' && !one.open) // this runs before the browser has given the focus back itself
      const next = isDone(path) ? null : [openers.get(closed), near(path)].find((one) => one && usable(one))
      if (next) next.focus({ preventScroll: true })
      else if (!touched) app.views.composer.focus()
    }

    app.watchers.add(({ whole }) => whole && settle())
    new MutationObserver(look).observe(document.body, { childList: true, subtree: true, attributeFilter: TAKES })
  }

  /** @param {any} el */
  function pathOf(el) {
    /** @type {any[]} */ const found = []
    for (let one = el; one && one !== document.body; one = one.parentElement) found.push(one)
    return found
  }

  /** Was it in a card of the thread, or an editor of a message, that is gone? @param {any[]} path */
  const isDone = (path) => path.some((one) => one.matches('.ask, .words-edit') && !usable(one)) && !path.some((one) => one.matches('dialog, .inspect-view'))

  /** Out of a dialog there is no way but its end: something in it. @param {any[]} path */
  function near(path) {
    const inside = path.some((one) => one.localName === 'dialog' && usable(one))
    for (const one of path) {
      if (one.hasAttribute('tabindex') && !one.matches('.scroll') && usable(one)) return one // the thread as a whole takes no letters
      const field = inside && [...one.querySelectorAll(FIELDS)].find(usable)
      if (field) return field
    }
    return null
  }

  /** @param {any} el */
  const usable = (el) => el.isConnected && !el.disabled && !el.closest('[inert]') && el.checkVisibility({ visibilityProperty: true })

  return { start }
})
