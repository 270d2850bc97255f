// What was found or listed: lines by file, a tree of files, rows of a table.

yaa.define('ui/tools/lists', ['ui/dom', 'i18n/tools', 'core/tool-call-kind', 'core/safe-urls', 'ui/tools/parts'], (dom, { t, count }, toolCalls, safeUrls, parts) => {
  const { h, fill, text, icon } = dom
  const { part, notice, longList, size } = parts

  /**
   * A part that is drawn again when its result is another one.
   * @typedef {{rows: readonly any[], make: (row: any, index: number) => any, note: string, warn?: string, none: string}} Listed
   * @param {string} title @param {(shown: ToolShown) => Listed} read
   * @param {any} holder @returns {ToolPicture}
   */
  function listView(title, read, holder) {
    let words = ''
    const body = part(title, () => words, holder)
    const warning = h('div')
    const el = h('div.picture', null, body.el, warning)
    let drawn = ''

    /** @param {ToolShown} shown */
    function update(shown) {
      el.hidden = !shown.done
      const key = JSON.stringify(shown.result)
      if (!shown.done || key === drawn) return
      drawn = key
      const found = read(shown)
      words = typeof shown.result?.lines === 'string' ? shown.result.lines : JSON.stringify(shown.result, null, 2)
      text(body.note, found.note)
      if (found.rows.length) longList(holder, found.rows, found.make)
      else fill(holder, h('p.none', null, found.none))
      warning.hidden = !found.warn
      fill(warning, found.warn ? notice(found.warn, 'ask') : null)
    }

    return { el, update, covers: ['result'] }
  }

  const searchView = () => listView(t('search.title'), ({ result }) => {
    const files = toolCalls.parseGrep(result.lines)
    const passed = result.passed_over ? t('search.passedOver', { n: count(result.passed_over) }) : ''
    return {
      rows: files, make: fileOfHits, none: t('search.none'),
      note: t('found.count', { n: result.matches, files: count(result.files_searched ?? files.length) }),
      warn: [result.complete === false ? t('search.incomplete') : '', passed].filter(Boolean).join(' '),
    }
  }, h('div.found', { tabIndex: 0, role: 'group', 'aria-label': t('search.title') }))

  /** @param {FoundFile} found */
  function fileOfHits({ file, lines }) {
    const rows = lines.map((line) => h('div.found-line', line.hit ? { 'data-hit': 'true' } : null,
      h('span.no', null, line.number), h(line.hit ? 'b' : 'span', null, line.text || ' ')))
    return h('div.found-file', null, h('div.path', null, file), rows)
  }

  /** What a search of the web found: the words of others, as text. */
  const resultsView = () => listView(t('results.title'), ({ result }) => ({
    rows: result.results, make: webResult, none: t('search.none'),
    note: [t('results.count', { n: result.results.length }), typeof result.provider === 'string' ? result.provider : ''].filter(Boolean).join(' · '),
    warn: Array.isArray(result.not_asked) ? t('results.notAsked', { names: result.not_asked.join(', ') }) : '',
  }), h('div.found.web', { tabIndex: 0, role: 'group', 'aria-label': t('results.title') }))

  /** @param {any} found */
  function webResult({ id, url, title, text: words, date }) {
    const href = safeUrls.link(url)
    const name = h('bdi', null, String(title || url))
    const about = [id, href && new URL(href).host, date].filter((one) => typeof one === 'string' && one).join(' · ')
    return h('div.found-file', null, href ? h('a', { href, title: href }, name) : name, h('p.hint', null, about), words ? h('p', { dir: 'auto' }, words) : null)
  }

  const treeView = () => listView(t('tree.title'), ({ result }) => ({
    rows: toolCalls.treeOf(result.files), make: nodeView, none: t('tree.none'), note: t('tree.count', { n: result.files.length }),
    warn: result.complete === false ? t('tree.incomplete') : '',
  }), h('ul.tree', { tabIndex: 0, 'aria-label': t('tree.title') }))

  /** @param {TreeNode} node @returns {any} */
  function nodeView(node) {
    const sized = node.size === undefined ? null : h('span.size', null, size(node.size))
    const line = [icon(node.type === 'folder' ? 'folder' : node.type === 'link' ? 'link' : 'file'), h('span.path', null, node.name), sized]
    if (!node.children.length) return h('li', null, h('div.node', null, line))
    return h('li', null, h('details', { open: true }, h('summary.node', null, line), h('ul', null, node.children.map(nodeView))))
  }

  /** @returns {ToolPicture} */
  function tableView() {
    const holder = h('div.grid', { tabIndex: 0, role: 'group', 'aria-label': t('table.title') })
    return listView(t('table.title'), ({ result }) => {
      const found = /** @type {NonNullable<ReturnType<typeof toolCalls.tableOf>>} */ (toolCalls.tableOf(result))
      const others = Object.entries(found.rest).map(([name, value]) => `${name}: ${cellText(value)}`)
      const numeric = found.columns.map((_, i) => found.rows.every((row) => row[i] == null || typeof row[i] === 'number'))
      const cellView = (/** @type {any} */ cell, /** @type {number} */ i) => h(numeric[i] ? 'td.number' : 'td', null, cellText(cell))
      const head = h('thead', null,
        h('tr', null, found.columns.map((name, i) => h(numeric[i] ? 'th.number' : 'th', { scope: 'col' }, name))))
      const body = h('tbody')
      longList(body, found.rows,
        (row) => h('tr', null, row.map(cellView)))
      const table = h('table', null, head, body)
      return { rows: [table], make: (one) => one, none: '', note: [t('table.count', { n: found.rows.length }), ...others].join(' · ') }
    }, holder)
  }

  /** @param {any} value */
  const cellText = (value) => (value === null || value === undefined ? '' : typeof value === 'object' ? JSON.stringify(value)
    : String(value))

  return { searchView, resultsView, treeView, tableView }
})
