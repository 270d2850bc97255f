// Small dialogs: a heading, what is asked, and a row of buttons at the end. The focus goes in, and comes back.

yaa.define('ui/dialog', ['ui/dom', 'ui/i18n', 'ui/popup', 'i18n/commands', 'css/dialogs'], ({ h, iconButton, uid }, { t }, { toast }) => {
  /**
   * @param {{title: string, body: any, buttons?: any[], wide?: boolean, onclose?: () => void}} given
   * @returns {any} the dialog, open
   */
  function openDialog({ title, body, buttons = [], wide = false, onclose }) {
    const id = uid('dialog')
    const before = /** @type {HTMLElement | null} */ (document.activeElement)
    const end = () => {
      el.remove()
      onclose?.()
      const now = document.activeElement
      if (!before?.isConnected || (now && now !== document.body && now !== before)) return
      // Chromium gives a field its focus back without its caret after a dialog over a dialog
      before.blur()
      before.focus()
    }
    const kind = wide ? 'dialog.dialog.small-dialog.wide' : 'dialog.dialog.small-dialog'
    const el = h(kind, { 'aria-labelledby': id, closedby: 'any', onclose: end },
      h('header.dialog-head', null, h('h2', { id }, title), iconButton('x', t('settings.close'), { onclick: () => leave() })),
      h('div.dialog-main', null, body),
      buttons.length ? h('footer.dialog-foot', null, buttons) : null)
    document.body.append(el)
    const leave = guard(el)
    el.showModal()
    return el
  }

  /**
   * What was typed in a dialog that is left (Escape, a press beside it, its cross) can be had back.
   * @param {any} el @returns {() => void} leaves it
   */
  function guard(el) {
    const typed = () => [...el.querySelectorAll('textarea, input:not([type=radio], [type=checkbox])')].map((one) => one.value).join('\n')
    const first = typed()
    const again = () => {
      document.body.append(el)
      el.showModal()
    }
    const leave = () => {
      if (typed() === first) return
      el.addEventListener('close', () => toast(t('dialog.left'), { label: t('side.undo'), action: again }), { once: true })
    }
    // a file dialog that is left says so here too
    el.addEventListener('cancel', (/** @type {Event} */ event) => event.target === el && leave())
    return () => {
      leave()
      el.close()
    }
  }

  /** @param {string} label @param {() => void} onclick @param {string} [look] */
  const button = (label, onclick, look = '') => h(`button.button${look && `.${look}`}`, { type: 'button', onclick }, label)

  return { openDialog, button }
})
