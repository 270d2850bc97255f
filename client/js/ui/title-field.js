// The field in which a session gets another title.

yaa.define('ui/title-field', ['ui/dom', 'ui/i18n'], ({ h }, { t }) => {
  /**
   * Rename in place: Enter and leaving keep the new title, Escape the old one.
   * @param {string} value @param {(value: string) => void} save @param {() => void} close
   */
  function titleField(value, save, close) {
    let over = false
    const end = (/** @type {boolean} */ keep) => {
      if (over) return
      over = true
      const next = field.value.trim()
      if (keep && next && next !== value) save(next)
      close()
    }
    const label = t('side.title')
    const field = h('input.input.title-edit', { value, 'aria-label': label, autocomplete: 'off', onblur: () => end(true), onkeydown })
    /** @param {KeyboardEvent} event */
    function onkeydown(event) {
      if (event.isComposing || event.keyCode === 229 || !['Enter', 'Escape'].includes(event.key)) return
      event.preventDefault() // it would press the button that has the focus next
      event.stopPropagation()
      end(event.key === 'Enter')
    }
    return field
  }

  return { titleField }
})
