// What is striking about a call that waits for approval, as notes on its card.

yaa.define('ui/work/call-marks', ['ui/dom', 'ui/i18n', 'ui/interrupt-cards', 'core/call-marks', 'i18n/work', 'css/work'], ({ h, icon }, { t }, { escapeControls }, { marksOf }) => {
  /** Characters of a description. */
  const MAX = 1000

  /**
   * @param {string} tool @param {any} args @param {any} changes in the tool since it was allowed @param {any} info of the server
   * @returns {any} an element, null where nothing strikes
   */
  function marksView(tool, args, changes, info) {
    const description = info?.tools?.find((/** @type {any} */ one) => one.name === tool)?.description || t('mark.noDescription')
    const marks = [...(changes ? changesOf(tool, changes, description) : []), ...marksOf(args)]
    if (!marks.length) return null
    return h('ul.marks-list', { 'aria-label': t('mark.title') }, marks.map(({ kind, what }) => (
      h('li', null, icon('alert'), h('span', null, t(`mark.${kind}`, { what: escapeControls(what), n: Number(what) || 0 })))
    )))
  }

  /** @param {string} tool @param {any} changes @param {string} now its description @returns {{kind: string, what: string}[]} */
  function changesOf(tool, { added, removed, description }, now) {
    const names = (/** @type {any} */ all) => (Array.isArray(all) ? all.join(', ') : '')
    const parts = [['changedWords', description ? shorten(now) : ''], ['changedAdded', names(added)], ['changedRemoved', names(removed)]]
    const found = parts.flatMap(([kind, what]) => (what ? [{ kind, what }] : []))
    return [{ kind: 'changed', what: tool }, ...(found.length ? found : [{ kind: 'changedForm', what: tool }])]
  }

  /** @param {string} words */
  const shorten = (words) => (words.length > MAX ? `${words.slice(0, MAX)}…` : words)

  return { marksView }
})
