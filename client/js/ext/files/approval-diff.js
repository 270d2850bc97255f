// What a call of write_file or edit_file would do to the file as it is now: the diff, with its line numbers. The arguments
// can be seen as they are.

yaa.define('ext/files/approval-diff', ['ui/dom', 'ext/files/texts', 'ext/files/session-files', 'ext/files/diff-part', 'ui/interrupt-cards', 'ui/tools/parts', 'core/diff', 'ext/files/file-edit', 'core/tool-call-kind', 'core/file-names'], (
  { h, attr, text }, { t, count }, files, { rowsPart }, cards, parts, diff, { editFile }, toolCalls, names,
) => {
  /** Tools of the server itself: those of others may mean other files. */
  const OWN = new Set(['write_file', 'edit_file'])
  /** A larger file is not compared. */
  const MOST = 500_000

  /**
   * @param {import('../../ui/types').App} app @param {string} tool @param {any} args @param {Session} [of] the open one
   * @returns {Promise<any>} an element; null where the arguments say it best
   */
  async function refine(app, tool, args, of) {
    const path = placeOf(args?.path)
    if (path === null || !files.isOffered(app) || !OWN.has(tool)) return null
    const routes = files.routesOf(app, of)
    const entry = await routes.find(path) // a failure tells nothing about the file
    const blob = !entry ? null : entry.bytes === 0 ? new Blob([]) : await routes.read(path, { most: MOST + 1 })
    const writes = tool === 'write_file' // a key of the other tool says nothing
    const tooLarge = () => shown(args, null, [t('approve.large')], null)
    if (blob && blob.size > MOST) return tooLarge()
    const bytes = blob ? new Uint8Array(await blob.arrayBuffer()) : new Uint8Array()
    if (!names.isText(bytes)) return writes ? shown(args, null, [t('approve.binary')], 'ask') : null
    const before = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes) // the mark is a part of what is compared
    if (writes) {
      if (typeof args.content !== 'string') return null
      if (args.content.length > MOST) return tooLarge()
      const words = !blob ? t('approve.new') : before === args.content ? t('approve.same') : t('approve.replaces')
      return shown(args, diff.rows(before, args.content), [words], null)
    }
    const found = editFile(blob ? before : null, args)
    if (!found) return null
    const { after, problem, places = 0 } = found
    if (problem?.why === 'large') return tooLarge()
    if (problem) return shown(args, toolCalls.changeOf(args, undefined), [problemWords(problem)], 'bad')
    if (after === null) return shown(args, diff.rows(before, ''), [t('approve.deletes')], 'ask')
    const words = !blob ? t('approve.new') : places > 1 ? t('approve.places', { n: places }) : ''
    return shown(args, diff.rows(before, after), [words], null)
  }

  /** @param {EditProblem} problem */
  function problemWords({ why, part, lines, times = 0 }) {
    const words = why === 'often' && lines.length ? t('approve.fits', { lines: lines.slice(0, 8).map(count).join(', ') + (lines.length > 8 ? ', …' : '') })
      : t({ missing: 'approve.notFound', often: 'approve.often', noFile: 'approve.noFile', there: 'approve.there', nothing: 'approve.nothing', unfit: 'approve.unfit', large: 'approve.large' }[why], { n: times })
    return part ? `${t('approve.part', { n: part })} ${words}` : words
  }

  /** As the routes take it: below the workspace. @param {any} path @returns {string | null} */
  function placeOf(path) {
    if (typeof path !== 'string' || !path) return null
    const parts = path.replace(/^\/workspace\//, '').split('/').filter((part) => part && part !== '.')
    return parts.length && !parts.includes('..') && (!path.startsWith('/') || path.startsWith('/workspace/')) ? parts.join('/') : null
  }

  /** @param {any} args @param {DiffRow[] | null} rows @param {string[]} notes @param {'bad' | 'ask' | null} tone */
  function shown(args, rows, notes, tone) {
    const { added, removed } = rows ? diff.count(rows) : { added: 0, removed: 0 }
    const plain = h('div', { hidden: true }, cards.argsList(args))
    const table = rows && rowsPart(rows, true)
    const swap = h('button.button.small.ghost', { type: 'button', 'aria-pressed': 'false', onclick: () => {
      plain.hidden = !plain.hidden
      if (table) table.hidden = !plain.hidden
      attr(swap, 'aria-pressed', !plain.hidden)
      text(swap, t(plain.hidden ? 'approve.args' : 'approve.diff'))
    } }, t('approve.args'))
    const words = notes.filter(Boolean).join(' ')
    if (!rows) plain.hidden = false
    return h('div.picture.approval', null,
      h('div.part-head', null, h('bdi.path', null, names.visible(args.path)), h('span.part-note', { 'aria-hidden': 'true' }, rows ? `+${count(added)} −${count(removed)}` : ''), rows ? swap : null),
      tone ? parts.notice(words, tone) : words ? h('p.hint', null, words) : null, table, plain)
  }

  return { refine }
})
