// A list that is chosen from while the focus stays in its field (aria-activedescendant).

yaa.define('ui/suggestions', ['ui/dom'], ({ list, attr, uid }) => {
  /**
   * @param {any} el the list
   * @param {{key: (one: any) => string, option: (one: any) => import('./types').View, choose: (one: any) => void}} given `option`: the row of one
   */
  function suggestions(el, { key, option, choose }) {
    /** @type {any} */ let field = null
    /** @type {any[]} */ let shown = []
    let at = 0
    el.id = uid('list')
    attr(el, 'role', 'listbox')

    /** @param {any} wanted the field @param {any[]} next @returns {boolean} is it there only now? */
    function show(wanted, next) {
      const isNew = !shown.length && next.length > 0
      ;[field, shown] = [wanted, next]
      el.hidden = !shown.length
      attr(field, 'aria-controls', shown.length ? el.id : null)
      list(el, shown, key, (one) => {
        const row = option(one)
        attr(row.el, 'role', 'option')
        row.el.id = uid('option')
        return row
      })
      point(0)
      return isNew
    }

    /** @param {number} index */
    function point(index) {
      at = index
      const options = [...el.children]
      options.forEach((one, i) => attr(one, 'aria-selected', i === at))
      attr(field, 'aria-activedescendant', options[at]?.id ?? null)
      options[at]?.scrollIntoView({ block: 'nearest' })
    }

    const close = () => { if (shown.length) show(field, []) }

    /** @param {KeyboardEvent} event @returns {boolean} was it for the list? */
    function onkeydown(event) {
      if (!shown.length || event.isComposing || event.keyCode === 229) return false
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
      if (step) point((at + step + shown.length) % shown.length)
      else if (event.key === 'Escape') close()
      else if ((event.key === 'Enter' && !event.shiftKey) || event.key === 'Tab') choose(shown[at])
      else return false
      event.preventDefault()
      return true
    }

    /** Point at one, as the mouse does. @param {any} one */
    function hover(one) {
      const index = shown.findIndex((other) => key(other) === key(one))
      if (index !== at) point(index)
    }

    return { show, close, onkeydown, hover, first: () => shown[0] }
  }

  return { suggestions }
})
