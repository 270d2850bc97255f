// A unified diff as rows of what went and what came, with line numbers.

yaa.define('ui/files/diff-part', ['ui/dom', 'i18n/files', 'core/diff', 'ui/tools/diff', 'css/tools'], ({ h }, { t, count }, diff, { drawRows }) => {
  /** @param {DiffRow[]} rows @param {boolean} [asks] the change waits to be allowed */
  function rowsPart(rows, asks = false) {
    const { added, removed } = diff.count(rows)
    const table = h('div.diff', { tabIndex: 0, role: 'group', 'aria-label': t('diff.of', { added: count(added), removed: count(removed) }) })
    drawRows(table, rows, asks)
    return table
  }

  /** @param {string} words unified */
  const diffPart = (words) => rowsPart(diff.parse(words))

  return { diffPart, rowsPart }
})
