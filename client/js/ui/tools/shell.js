// A program that ran: what was called, what it printed, how it ended. Standard error stands apart where the tool tells
// them apart; what was left out of the middle is said where it is missing.

yaa.define('ui/tools/shell', [
  'ui/dom', 'i18n/tools', 'core/tool-call-kind', 'ui/tools/parts',
], (dom, { t, count }, toolCalls, { textPart, notice }) => {
  const { h, fill } = dom

  /** @returns {ToolPicture} */
  function shellView() {
    const source = textPart({ title: t('shell.command'), lang: 'sh' })
    const code = textPart({ title: t('shell.code'), lang: 'python' })
    const output = outputPart(t('tool.output'))
    const errors = outputPart(t('shell.stderr'))
    const end = h('p.ended')
    const el = h('div.picture', null, source.el, code.el, output.el, errors.el, end)

    /** @param {ToolShown} shown */
    function update({ args, result, live, done }) {
      show(source, typeof args?.command === 'string', args?.command)
      show(code, typeof args?.code === 'string', args?.code)
      const printed = done ? result?.output ?? result?.stdout : live
      output.el.hidden = printed === undefined || (printed === '' && Boolean(result?.stderr))
      output.update(String(printed ?? ''))
      errors.el.hidden = !result?.stderr
      errors.update(String(result?.stderr ?? ''))
      const ended = done && result?.exit_code !== undefined
      end.hidden = !ended
      if (ended) fill(end, endOf(result))
    }

    return { el, update, covers: ['args', 'output', 'result'] }
  }

  /** @param {{el: any, update: (text: string) => void}} view @param {boolean} wanted @param {string} words */
  function show(view, wanted, words) {
    view.el.hidden = !wanted
    if (wanted) view.update(words)
  }

  /** @param {any} result */
  function endOf({ exit_code: code, signal }) {
    const words = signal ? t('shell.signal', { n: signal }) : t('shell.exit', { code })
    return h(code === 0 ? 'span.badge' : 'span.badge.bad', null, words)
  }

  /** Output, with a note where its middle is missing. @param {string} title */
  function outputPart(title) {
    const head = textPart({ title })
    const tail = textPart({ title: t('shell.rest') })
    const gap = h('div')
    const el = h('div.picture', null, head.el, gap, tail.el)
    let left = -1

    /** @param {string} words */
    function update(words) {
      const cut = toolCalls.splitTruncated(words)
      head.update(cut.head)
      tail.el.hidden = gap.hidden = !cut.left
      if (!cut.left) return
      tail.update(cut.tail)
      if (left !== cut.left) fill(gap, notice(t('shell.leftOut', { n: count(cut.left), unit: cut.unit }), 'ask'))
      left = cut.left
    }

    return { el, update }
  }

  return { shellView }
})
