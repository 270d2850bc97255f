// A unified diff as rows of what went and what came, with line numbers.

yaa.define('ext/files/diff-part', ['ui/dom', 'ext/files/texts', 'core/diff', 'ui/tools/diff', 'css/tools'], ({ h }, { t, count }, diff, { drawRows }) => {
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
