// One message of the thread: what the person wrote, what the assistant thought, said and called, or what went wrong.
// Results are not articles of their own: they belong to the card of their call.

yaa.define('ui/message', ['ui/h', 'ui/text', 'ui/md-dom', 'ui/tool-card', 'ui/popup'], (dom, words, { markdownView }, { toolCard }, popup) => {
  const { h, icon, iconButton, text, attr, list, grow } = dom
  const { t, count, duration, moment } = words

  /**
   * @typedef {object} Shown what an article shows
   * @property {Message} message @property {CallItem[]} calls
   * @property {boolean} live is a run going on? @property {boolean} cut was it cut off while it was written?
   * @property {boolean} joined does it follow another message of the assistant?
   * @property {Map<string, string>} outputs live output by call
   */

  /** @param {Shown} item @param {import('./types').Actions} actions @returns {import('./types').View} */
  function messageView(item, actions) {
    const role = item.message.role
    const own = role === 'user' || role === 'error'
    const inner = role === 'user' ? userView(item.message) : own ? errorView(item.message, actions) : assistantView(actions)
    const heading = h('h3.sr-only', null, t(role === 'user' ? 'thread.you' : own ? 'thread.error' : 'thread.assistant'))
    const el = h('article.message', { id: `message-${item.message.id}`, 'data-role': role, tabIndex: -1 }, heading, inner.el)

    /** @param {Shown} next */
    function update(next) {
      attr(el, 'aria-busy', next.live && next.message.open ? 'true' : null)
      attr(el, 'data-join', next.joined ? 'true' : null)
      inner.update(next)
    }

    return { el, update, destroy: () => inner.destroy?.() }
  }

  /** @param {any} message */
  function userView(message) {
    const bubble = h('div.bubble')
    const time = h('time')
    const copy = iconButton('copy', t('thread.copy'), { onclick: () => popup.copy(plainText(message.content), copy) })
    const el = h('div', null, bubble, h('div.message-foot', null, time, copy))

    /** @param {Shown} next */
    function update(next) {
      message = next.message
      text(bubble, plainText(message.content))
      if (message.at) text(time, moment(message.at))
    }

    return { el, update, destroy: undefined }
  }

  /** @param {any} message @param {import('./types').Actions} actions */
  function errorView(message, actions) {
    const words = h('p', null, message.content)
    const el = h('div.error-note', null, icon('alert'), h('div.body', null, h('b', null, t('fail.title.other')), words,
      h('button.button.small', { type: 'button', onclick: () => actions.goOn() }, icon('retry'), t('fail.retry'))))
    /** @param {Shown} next */
    const update = (next) => text(words, plainText(next.message.content))
    return { el, update, destroy: undefined }
  }

  /** @param {import('./types').Actions} actions */
  function assistantView(actions) {
    const think = thinkView()
    const prose = markdownView()
    const calls = h('div.calls')
    const cut = h('p.cut-note', { hidden: true }, icon('alert'), t('thread.cut'))
    const foot = footView()
    const el = h('div.turn', null, think.el, prose.el, calls, cut, foot.el)

    /** @param {Shown} next */
    function update(next) {
      const { message, live } = next
      const writing = live && Boolean(message.open)
      const words = plainText(message.content)
      think.update(message, writing && !words && !message.tool_calls?.length)
      prose.el.hidden = !words
      prose.update(words)
      calls.hidden = !next.calls.length
      // an answer on its way to the server leaves nothing to ask: the call is a line again
      const items = next.calls.map(({ interrupt, ...one }) => {
        const sent = live && interrupt?.answer
        const output = next.outputs.get(one.call.id)
        return { ...one, interrupt: sent ? undefined : interrupt, sent, output, cut: next.cut, writing, live }
      })
      list(calls, items, (one) => one.call.id, () => toolCard(actions))
      cut.hidden = !next.cut
      foot.update(message)
    }

    function destroy() {
      prose.destroy()
      list(calls, [], String, () => { throw new Error('nothing to make') })
    }

    return { el, update, destroy }
  }

  /** Thinking: open while it comes, folded when the answer begins, unless the reader took it in hand. */
  function thinkView() {
    const label = h('span')
    const body = h('div.think-text')
    let touched = false
    const summary = h('summary', { onclick: () => { touched = true } }, icon('thought'), label, icon('chevron', 'chevron'))
    const el = h('details.think', { hidden: true }, summary, body)

    /** @param {any} message @param {boolean} thinking */
    function update(message, thinking) {
      const words = message.reasoning?.text
      el.hidden = !words
      if (!words) return
      text(label, t(thinking ? 'think.live' : 'think.done'))
      if (!touched) el.open = thinking
      if (!el.open && body.firstChild?.data === words) return
      const atEnd = body.scrollHeight - body.scrollTop - body.clientHeight < 24
      grow(body, words)
      if (thinking && atEnd) body.scrollTop = body.scrollHeight
    }

    return { el, update }
  }

  /** Tokens, time and the copy button under a finished answer. */
  function footView() {
    const figures = h('span')
    /** @type {any} */ let shown = null
    const copy = iconButton('copy', t('thread.copy'), { onclick: () => popup.copy(plainText(shown.content), copy) })
    const el = h('div.message-foot', { hidden: true }, copy, figures)

    /** @param {any} message */
    function update(message) {
      shown = message
      const meta = message.meta
      el.hidden = !meta || Boolean(message.tool_calls?.length)
      if (el.hidden) return
      const usage = meta.usage ?? {}
      const tokens = usage.total_tokens && t('meta.tokens', { n: usage.total_tokens })
      text(figures, [tokens, meta.ms !== undefined && duration(meta.ms), meta.model].filter(Boolean).join(' · '))
      const split = t('meta.title', { input: count(usage.prompt_tokens ?? 0), output: count(usage.completion_tokens ?? 0) })
      const first = meta.first_ms !== undefined && t('meta.first', { time: duration(meta.first_ms) })
      attr(figures, 'title', [split, first].filter(Boolean).join('\n'))
    }

    return { el, update }
  }

  /** Content as text: a string, or the text of its parts and a mark for the others. @param {any} content */
  function plainText(content) {
    if (typeof content === 'string') return content
    if (!Array.isArray(content)) return ''
    const marked = (/** @type {any} */ part) => `[${t('thread.part', { type: part?.type ?? '?' })}]`
    return content.map((part) => (typeof part === 'string' ? part : part?.text ?? marked(part))).join('\n')
  }

  return { messageView, plainText }
})
