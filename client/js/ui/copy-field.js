// A text to copy, in a field of its own.

yaa.define('ui/copy-field', ['ui/dom', 'ui/i18n', 'ui/popup', 'i18n/settings'], ({ h, icon, uid }, { t }, { copy }) => {
  /** @param {string} label @param {string} value */
  function copyField(label, value) {
    const id = uid('copy')
    const input = h('input.input.mono', { id, value, readOnly: true, onfocus: () => input.select() })
    const press = h('button.button.small', { type: 'button', 'aria-label': `${t('link.copy')}: ${label}`, onclick: () => copy(value, press) }, icon('copy'), t('link.copy'))
    return h('div.field', null, h('label', { htmlFor: id }, label), input, h('div', null, press))
  }

  return { copyField }
})
