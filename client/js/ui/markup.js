// What answers have beside plain Markdown: alerts, notes, keys, parts that are opened. Loaded with the first of them.

yaa.define('ui/markup', ['ui/dom', 'ui/i18n', 'ui/commands', 'ui/popup', 'core/file-names', 'ui/remote-image', 'i18n/markup', 'css/markup'], ({ h, fill, icon }, { t }, commands, { toast }, { linkedPath, kindOf }, remoteImage) => {
  /** @type {Record<string, string>} */
  const SIGNS = { note: 'alert', tip: 'spark', important: 'alert', warning: 'alert', caution: 'alert' }

  /** @param {any} el made by ui/markdown-view @param {any} node */
  function draw(el, node) {
    if (node.type === 'alert') {
      el.className = 'alert-title'
      fill(el, icon(SIGNS[node.kind] ?? 'alert'), t(`alert.${node.kind}`))
    } else if (node.type === 'note') {
      el.className = 'note-ref'
      fill(el, h('button.note-link', { type: 'button', 'aria-label': t('note.go', { n: node.n }), onclick: () => go(el, `.footnote[data-note="${Number(node.n)}"]`) }, String(node.n)))
      el.setAttribute('data-to', String(node.n))
    } else if (node.type === 'noteLabel' && node.n) {
      el.className = 'note-label'
      fill(el, h('button.note-link', { type: 'button', 'aria-label': t('note.back', { n: node.n }), onclick: () => go(el, `.note-ref[data-to="${Number(node.n)}"] button`) }, `${node.n}.`))
    } else if (node.type === 'remote') {
      remoteImage.offer(el, node)
    } else if (node.type === 'file' && linkedPath(node.path) && commands.context()) { // a saved page has no files
      const sign = kindOf(linkedPath(node.path)) === 'image' ? icon('image') : null
      fill(el, h('button.file-link', { type: 'button', title: t('link.file'), onclick: () => openFile(node.path) }, sign, ...el.childNodes))
    }
  }

  /** @param {string} address as the answer has it */
  function openFile(address) {
    if (commands.list().some(({ id }) => id === 'files')) commands.run('files', address)
    else toast(t('link.noFiles'), { bad: true })
  }

  /** To another place of the same answer. @param {any} from @param {string} css */
  function go(from, css) {
    const place = from.closest('.prose')?.querySelector(css)
    place?.scrollIntoView({ block: 'center' })
    place?.focus({ preventScroll: true })
  }

  return { draw }
})
