// Rows of files that changed: a letter with its word, the path, the size. Sizes in the words of the page.

yaa.define('ext/files/file-list', ['ui/dom', 'ext/files/texts', 'ext/files/session-files', 'core/file-names'], ({ h, icon, fill, attr }, { t, count }, { LETTERS }, { visible }) => {
  /** The lines of a file in the place of its bytes. @param {any} place @param {{diff: string, added: number, removed: number}} lines */
  const writeLines = (place, { diff, added, removed }) => diff && place?.replaceChildren(h('ins', null, `+${count(added)}`), ' ', h('del', null, `−${count(removed)}`))

  /** @param {number} bytes */
  function size(bytes) {
    if (bytes < 1000) return t('size.bytes', { n: count(bytes) })
    const [unit, n] = bytes < 1e6 ? ['size.kb', bytes / 1e3] : ['size.mb', bytes / 1e6]
    return t(unit, { n: n < 10 ? Math.round(n * 10) / 10 : count(Math.round(n)) })
  }

  /** A letter says it to eyes, a word to everyone. @param {string} change */
  const mark = (change) => h('abbr.change', { 'data-change': change, title: t(`change.${change}`) },
    h('span', { 'aria-hidden': 'true' }, LETTERS[/** @type {'added'} */ (change)] ?? '?'), h('span.sr-only', null, t(`change.${change}`)))

  /** @param {any} file */
  const bytesOf = (file) => file.bytes_after ?? file.bytes ?? file.bytes_before

  /** Its path, and of a link where it leads. @param {any} file a FileChange */
  const pathOf = (file) => h('span.path', null, h('bdi', null, visible(file.path)), typeof file.target === 'string' ? [' → ', h('bdi', null, visible(file.target))] : null)

  /** @param {any} file a FileChange */
  const changeRow = (file) => h('li', null, mark(file.change), pathOf(file),
    file.conflict ? h('span.badge.warn', null, t('layer.conflict')) : null,
    h('span.part-note', null, Number.isFinite(bytesOf(file)) ? size(bytesOf(file)) : ''))

  /**
   * A row that opens a place; what is in it is asked for when it is first opened, and again if it did not come.
   * @param {any[]} parts @param {() => Promise<any>} bring @param {boolean} [disabled]
   */
  function openingRow(parts, bring, disabled = false) {
    const place = h('div.file-diff', { hidden: true })
    const button = h('button.file-row', { type: 'button', 'aria-expanded': 'false', disabled, onclick: () => turn(place.hidden) }, parts, icon('chevron', 'chevron'))
    let known = false
    /** @param {boolean} on */
    async function turn(on) {
      place.hidden = !on
      attr(button, 'aria-expanded', on)
      if (!on || known) return
      fill(place, h('span.spinner'))
      try {
        fill(place, await bring())
        known = true
      } catch (error) {
        fill(place, h('p.problem', null, /** @type {any} */ (error).message))
      }
    }
    return { button, place, turn }
  }

  /** What no list has. @param {any} left `left_out` of an answer @returns {string} in words, '' for nothing */
  const leftWords = ({ rules: _, ...left } = {}) => Object.entries(left).map(([key, value]) => Array.isArray(value)
    ? `${t(`left.${key}`, { n: value.length })} (${value.map((one) => visible(String(one))).join(', ')})` : t(`left.${key}`, { n: Number(value) || 0 })).join(', ')

  return { mark, pathOf, changeRow, openingRow, size, leftWords, writeLines }
})
