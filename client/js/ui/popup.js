// Toasts, screen reader announcements and menus. Deleting shows an undo toast instead of a question; a toast never
// moves the focus.

yaa.define('ui/popup', ['ui/dom', 'ui/i18n', 'io/clipboard'], ({ h, icon, iconButton }, { t }, clipboard) => {
  const STAYS_MS = 6000
  const HEARD_MS = 200
  /** @type {any} */ let shelf = null
  /** @type {ResizeObserver | null} */ let below = null

  /**
   * @param {string} message
   * @param {{label?: string, action?: () => void, bad?: boolean}} [options] with an action it stays longer; under a hand or a focus, for good
   */
  function toast(message, options = {}) {
    const stay = () => clearTimeout(timer)
    const el = h('div.toast', { 'data-tone': options.bad ? 'bad' : null, onpointerenter: stay, onfocusin: stay }, h('span', null, message))
    const close = () => {
      clearTimeout(timer)
      el.remove()
      if (shelf.childElementCount) return
      if (shelf.isConnected) shelf.hidePopover?.()
      below?.disconnect()
      removeEventListener('scroll', rise, true)
    }
    const act = () => {
      close()
      options.action?.()
    }
    if (options.label) el.append(h('button.button.small', { type: 'button', onclick: act }, options.label))
    el.append(iconButton('x', t('settings.close'), { onclick: close }, 'small'))
    shelf ??= h('div.toasts', { popover: 'manual', role: 'region', 'aria-label': t('toast.label') })
    putShelf()
    shelf.append(el)
    rise()
    const timer = setTimeout(close, options.label ? STAYS_MS * 2 : STAYS_MS)
    say(message, options.bad)
  }

  /** Over everything, and inside of an open dialog: what is outside of one can be seen, but not pressed. */
  function putShelf() {
    const dialog = [...document.querySelectorAll('dialog:modal')].at(-1)
    const host = dialog ?? document.body
    if (shelf.parentElement !== host) host.append(shelf)
    if (!shelf.matches(':popover-open')) shelf.showPopover?.()
    dialog?.addEventListener('close', () => shelf.childElementCount && putShelf(), { once: true })
    // however tall what is below is or becomes
    below?.disconnect()
    below = new ResizeObserver(rise)
    for (const one of document.querySelectorAll('.foot, .feed')) below.observe(one)
    addEventListener('scroll', rise, { capture: true, passive: true })
  }

  /** Stand over the message field, in a dialog at its end, or as much higher as covers no button to answer with and no field in use. */
  function rise() {
    const dialog = shelf.closest('dialog')
    const base = (dialog ? 0 : document.querySelector('.foot')?.clientHeight ?? 0) + 8
    const { left, right, height } = shelf.getBoundingClientRect()
    const taken = [...document.querySelectorAll(dialog ? '.dialog-foot, .button-row, :focus' : '.ask-actions, .all-bar')].map((one) => one.getBoundingClientRect())
      .filter((one) => one.height && one.left < right && one.right > left)
    const free = (/** @type {number} */ up) => taken.every(({ top, bottom }) => bottom <= innerHeight - up - height || top >= innerHeight - up)
    let up = base
    while (!free(up) && up + height < innerHeight) up += 8
    shelf.style.setProperty('inset-block-end', `${free(up) ? up : base}px`)
  }

  /** @type {Record<string, string[]>} what each line has still to say, the first being said */
  const waiting = { status: [], alarm: [] }

  /** Announce to a screen reader; only errors interrupt. @param {string} message @param {boolean} [bad] */
  function say(message, bad = false) {
    const name = bad ? 'alarm' : 'status'
    if (waiting[name].push(message) === 1) speak(name)
  }

  /** One after the other: a text overwritten at once is never read, and the same words twice need an empty line between. @param {string} name */
  function speak(name) {
    const line = /** @type {HTMLElement} */ (document.getElementById(name))
    line.textContent = ''
    setTimeout(() => {
      line.textContent = waiting[name][0]
      setTimeout(() => { if (waiting[name].shift() && waiting[name].length) speak(name) }, HEARD_MS)
    }, HEARD_MS / 4)
  }

  /** Copy, and show it on the button that was pressed. @param {string} text @param {any} button with an icon */
  async function copy(text, button) {
    const done = await clipboard.copy(text)
    say(t(done ? 'copied' : 'copy.failed'), !done)
    if (!done) return toast(t('copy.failed'), { bad: true })
    const use = button.querySelector('use')
    use?.setAttribute('href', '#i-check')
    setTimeout(() => use?.setAttribute('href', '#i-copy'), 1500)
  }

  /**
   * Open a menu under `anchor`; pressed again, the button only closes it. It is made when opened and removed when closed.
   * @param {any} anchor the button @param {import('./types').MenuEntry[]} entries @param {string} [label] instead of the button's
   */
  function openMenu(anchor, entries, label = anchor.getAttribute('aria-label')) {
    if (anchor.popoverTargetElement) return // with this press the browser closes it
    const items = entries.map((entry) => {
      const kind = { type: 'button', role: entry.checked === undefined ? 'menuitem' : 'menuitemradio', 'aria-checked': entry.checked, 'aria-disabled': entry.disabled }
      return h(entry.danger ? 'button.danger' : 'button', { ...kind, onclick: () => (close(), entry.action()) }, icon(entry.icon), entry.label)
    })
    const menu = h('div.menu', { popover: 'auto', role: 'menu', 'aria-label': label, onkeydown, onbeforetoggle, ontoggle }, items)
    ;(anchor.closest('main, nav, dialog') ?? document.querySelector('main')).append(menu)
    anchor.setAttribute('aria-expanded', 'true')
    menu.showPopover()
    position(menu, anchor.getBoundingClientRect())
    ;(menu.querySelector('[aria-checked=true]') ?? menu.firstChild)?.focus()

    function close() {
      menu.hidePopover()
      anchor.focus()
    }

    /** @param {KeyboardEvent} event */
    function onkeydown(event) {
      const all = [...menu.children]
      const at = all.indexOf(document.activeElement)
      const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key]
      if (event.key === 'Tab') close() // on from the button
      if (to === undefined) return
      event.preventDefault()
      all.at(to % all.length).focus()
    }

    /** @param {any} event before the next press */
    function onbeforetoggle({ newState }) {
      if (newState === 'open') return
      anchor.popoverTargetElement = null
      anchor.removeAttribute('aria-expanded')
    }

    /** @param {any} event after the press that opens it */
    function ontoggle({ newState }) {
      if (newState === 'open') anchor.popoverTargetElement = menu
      else menu.remove()
    }
  }

  /** Below the button, or above it where there is no room. @param {any} menu @param {DOMRect} at */
  function position(menu, at) {
    const { width, height } = menu.getBoundingClientRect()
    const left = Math.max(8, Math.min(at.right - width, innerWidth - width - 8))
    const below = at.bottom + height + 12 < innerHeight
    menu.style.setProperty('left', `${left}px`)
    menu.style.setProperty('top', `${below ? at.bottom : Math.max(8, at.top - height - 8)}px`)
  }

  return { toast, say, copy, openMenu }
})
