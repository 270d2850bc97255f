// A file that was written or edited, as lines that went and lines that came. Signs and `ins`/`del` say what colours say.

yaa.define('ui/tools/diff', [
  'ui/dom', 'i18n/tools', 'core/diff', 'core/tool-call-kind', 'ui/tools/parts', 'ui/interrupt-cards',
], (dom, { t, count }, diff, toolCalls, parts, { escapeControls }) => {
  const { h, fill, text } = dom
  const { part, longList, size } = parts
  const SIGNS = new Map([['\r', '␍'], ['\0', '␀'], ['\x1b', '␛']])

  /** Of a change that waits to be allowed, which no box of limited height hides: these are shown if there are more than twice as many. */
  const ASKED_ROWS = 24

  /** @param {{asks?: boolean}} [options] `asks`: it waits to be allowed @returns {ToolPicture} */
  function diffView({ asks = false } = {}) {
    const path = h('span.path')
    const table = h('div.diff', { tabIndex: 0, role: 'group' })
    let words = ''
    const body = part('', () => words, table)
    body.head.replaceWith(path)
    const el = h('div.picture', null, body.el)
    let drawn = ''

    /** @param {ToolShown} shown */
    function update({ args, result }) {
      const key = JSON.stringify([args, result])
      if (key === drawn) return
      drawn = key
      const rows = toolCalls.changeOf(args, result)
      const { added, removed } = diff.count(rows)
      words = unified(rows)
      text(path, result?.path ?? args?.path ?? '')
      table.setAttribute('aria-label', t('diff.label', { path: path.textContent ?? '' }))
      text(body.note, [noteOf(args, result), t('diff.count', { added: count(added), removed: count(removed) })].filter(Boolean).join(' · '))
      drawRows(table, rows, asks)
    }

    return { el, update, covers: ['args', 'result'] }
  }

  /** What the result says beyond its lines. @param {any} args @param {any} result */
  function noteOf(args, result) {
    if (!result) return ''
    if (typeof args?.content === 'string') {
      const bytes = Number.isInteger(result.bytes) ? size(result.bytes) : ''
      return [t(result.replaced ? 'diff.replaced' : 'diff.created'), bytes].filter(Boolean).join(' · ')
    }
    const repairs = Array.isArray(result.notes) ? result.notes.map(String) : []
    return [result.created ? t('diff.created') : result.replaced > 1 ? t('diff.places', { n: result.replaced }) : '', ...repairs].filter(Boolean).join(' · ')
  }

  /** @param {any} table @param {DiffRow[]} rows @param {boolean} [asks] */
  function drawRows(table, rows, asks = false) {
    const first = asks && rows.length > 2 * ASKED_ROWS ? ASKED_ROWS : undefined
    if (!rows.length) fill(table, h('p.diff-none', null, t('diff.none')))
    else longList(table, rows.every(isCrlf) ? rows.map(chopped) : rows, rowView, first)
  }

  /** @param {DiffRow} row */
  const isCrlf = (row) => row.kind === 'gap' || row.text.endsWith('\r') || Boolean(row.unended)

  /** Where all lines end in CRLF, that is no news. @param {DiffRow} row @returns {DiffRow} */
  function chopped(row) {
    const chop = (/** @type {string} */ text) => text.replace(/\r$/, '')
    const last = row.parts?.at(-1)
    return { ...row, text: chop(row.text), ...(row.parts && last ? { parts: [...row.parts.slice(0, -1), { ...last, text: chop(last.text) }] } : {}) }
  }

  /** @param {DiffRow} row */
  function rowView(row) {
    if (row.kind === 'gap') return h('div.diff-gap', null, row.count ? t('diff.gap', { n: row.count }) : '⋯')
    const end = row.unended ? h('small', null, t('diff.unended')) : null
    const line = h(row.kind === 'added' ? 'ins' : row.kind === 'removed' ? 'del' : 'span', null, partsOf(row), end)
    return h('div.diff-row', { 'data-kind': row.kind },
      h('span.no', { 'aria-hidden': 'true' }, row.before ?? ''), h('span.no', { 'aria-hidden': 'true' }, row.after ?? ''), line)
  }

  /** @param {DiffRow} row */
  function partsOf(row) {
    if (!row.parts) return seen(row.text) || ' '
    return row.parts.map((one) => (one.changed ? h('mark', null, seen(one.text)) : seen(one.text)))
  }

  /** Nothing that is changed may be invisible. @param {string} text */
  const seen = (text) => escapeControls(text.replace(/[\r\0\x1b]/g, (char) => SIGNS.get(char) ?? ''))

  /** @param {DiffRow[]} rows */
  function unified(rows) {
    const signs = { same: ' ', added: '+', removed: '-', gap: '@@' }
    return rows.map((row) => signs[row.kind] + row.text).join('\n')
  }

  return { diffView, drawRows }
})
