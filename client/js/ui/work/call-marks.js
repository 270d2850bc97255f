// What is striking about a call that waits for approval, as notes on its card.

yaa.define('ui/work/call-marks', ['ui/dom', 'ui/i18n', 'ui/interrupt-cards', 'core/call-marks', 'i18n/work', 'css/work'], ({ h, icon }, { t }, { escapeControls }, { marksOf }) => {
  /** @param {string} _tool @param {any} args @returns {any} an element, null where nothing strikes */
  function marksView(_tool, args) {
    const marks = marksOf(args)
    if (!marks.length) return null
    return h('ul.marks-list', { 'aria-label': t('mark.title') }, marks.map(({ kind, what }) => (
      h('li', null, icon('alert'), h('span', null, t(`mark.${kind}`, { what: escapeControls(what), n: Number(what) || 0 })))
    )))
  }

  return { marksView }
})
