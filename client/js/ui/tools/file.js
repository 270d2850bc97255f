// A text: a file with its line numbers, a fetched page with its address.

yaa.define('ui/tools/file', ['ui/dom', 'i18n/tools', 'ui/code-block', 'core/tool-call-kind', 'core/highlight', 'core/safe-urls', 'ui/tools/parts'], (
  dom, { t, count }, { codeBlock }, toolCalls, highlight, safeUrls, { part, notice },
) => {
  const { h, fill, text } = dom

  /** @returns {ToolPicture} */
  function fileView() {
    const block = codeBlock()
    block.el.classList.add('numbered')
    const pre = block.el.querySelector('pre')
    const gutter = h('span.gutter', { 'aria-hidden': 'true' })
    pre.prepend(gutter)
    const path = h('span.path')
    let words = ''
    const body = part('', () => words, block.el)
    body.head.replaceWith(path)
    const el = h('div.picture', null, body.el)

    /** @param {ToolShown} shown */
    function update({ args, result, done }) {
      const found = done ? toolCalls.parseNumberedLines(result?.content ?? '') : null
      el.hidden = !found
      if (!found) return
      words = found.lines.join('\n')
      const last = found.start + found.lines.length - 1
      text(path, args?.path ?? '')
      text(body.note, t('file.lines', { from: count(found.start), to: count(last), all: count(result.lines ?? last) }))
      text(gutter, found.lines.map((_, i) => found.start + i).join('\n'))
      block.update({ text: words, lang: highlight.languageOf(String(args?.path ?? '').split('.').at(-1) ?? '') })
    }

    return { el, update, covers: ['args', 'result'] }
  }

  /** @returns {ToolPicture} */
  function pageView() {
    const block = codeBlock({ plain: true })
    const title = h('b')
    const address = h('div')
    const more = h('div')
    let words = ''
    const body = part(t('page.text'), () => words, block.el)
    const el = h('div.picture', null, h('div.page-head', null, title, address), body.el, more)

    /** @param {ToolShown} shown */
    function update({ args, result, done }) {
      const url = String(result?.url ?? args?.url ?? '')
      const href = safeUrls.link(url)
      text(title, result?.title ?? '')
      title.hidden = !result?.title
      fill(address, href ? h('a.path', { href }, url) : h('span.path', null, url))
      body.el.hidden = !done
      if (!done) return
      words = result.text
      block.update({ text: words || t('tool.noOutput') })
      text(body.note, Number.isInteger(result.chars) ? t('page.chars', { n: result.chars }) : '')
      more.hidden = !Number.isInteger(result.next_offset)
      fill(more, Number.isInteger(result.next_offset) ? notice(t('page.more', { n: count(result.next_offset) }), '', 'clock') : null)
    }

    return { el, update, covers: ['args', 'result'] }
  }

  return { fileView, pageView }
})
