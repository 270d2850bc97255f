// One tool call: a line at rest, its arguments, live output and result when opened, and the question it waits for.
// What is shown follows from the session alone (call, ledger entry, result, interrupt), so a reload shows the same.

yaa.define('ui/tool-card', ['ui/h', 'ui/text', 'ui/code', 'ui/popup', 'ui/asks'], (dom, { t, duration }, { codeBlock }, popup, asks) => {
  const { h, icon, iconButton, text, attr, fill } = dom
  const BAD = new Set(['failed', 'denied'])
  const WAITS = new Set(['asking', 'waiting', 'indeterminate'])
  /** @type {Record<string, string>} */
  const SIGNS = { done: 'check', failed: 'x', denied: 'x', skipped: 'x', asking: 'hand', waiting: 'question', indeterminate: 'alert', unheard: 'clock' }
  /** Arguments that say most about a call, in the order in which they are looked for. */
  const TELLING = ['command', 'path', 'url', 'query', 'expression', 'question', 'code', 'name']
  const BRIEF_MAX = 200

  /**
   * @typedef {object} Call what a card shows
   * @property {any} call the tool call of the assistant message
   * @property {any} [entry] its ledger entry @property {any} [result] its tool message
   * @property {any} [interrupt] what it waits for @property {any} [sent] the answer that is on its way
   * @property {string} [output] live output
   * @property {boolean} live is a run going on?
   * @property {boolean} writing is its message still being written? @property {boolean} cut was that cut off?
   */

  /** @param {import('./types').Actions} actions @returns {import('./types').View & {update: (item: Call) => void}} */
  function toolCard(actions) {
    const sign = h('span.sign')
    const name = h('span.tool-name')
    const brief = h('span.tool-brief')
    const state = h('span.tool-state')
    const body = h('div.tool-body', { hidden: true })
    const line = h('summary.tool-line', { onclick: () => { touched = true } }, sign, name, brief, state, icon('chevron', 'chevron'))
    const details = h('details', { ontoggle: () => draw() }, line, body)
    const el = h('section.card.tool', { role: 'group' }, details)
    const parts = bodyParts(body)
    /** @type {any} */ let ask = null
    /** @type {Call | null} */ let item = null
    let touched = false
    let signed = ''

    /** @param {Call} next */
    function update(next) {
      item = next
      const now = stateOf(next)
      const tone = WAITS.has(now) ? 'ask' : BAD.has(now) ? 'bad' : null
      attr(el, 'data-state', now)
      attr(el, 'data-tone', tone)
      attr(el, 'aria-label', `${next.call.function.name}: ${t(`tool.state.${now}`)}`)
      text(name, next.call.function.name || '…')
      text(brief, briefOf(next))
      text(state, stateText(next, now))
      drawSign(now)
      if (!touched) details.open = (now === 'started' || now === 'unheard') && Boolean(next.output)
      draw()
      drawAsk(next)
    }

    /** @param {string} now */
    function drawSign(now) {
      if (now === signed) return
      signed = now
      if (now === 'started' || now === 'writing') fill(sign, h('span.spinner'))
      else fill(sign, icon(SIGNS[now] ?? 'tool'))
    }

    function draw() {
      body.hidden = !details.open
      if (details.open && item) parts.update(item)
    }

    /** @param {Call} next */
    function drawAsk(next) {
      if (ask && ask.id !== next.interrupt?.id) {
        ask.view.el.remove()
        ask = null
      }
      if (!next.interrupt) return
      if (!ask) {
        ask = { id: next.interrupt.id, view: asks.askView(next.interrupt, actions, next.call) }
        el.append(ask.view.el)
      }
      ask.view.update(next.interrupt)
    }

    return { el, update, destroy: parts.destroy }
  }

  /** The state in one word: a result decides, then a question, then the ledger. @param {Call} item */
  function stateOf({ entry, result, interrupt, sent, live, writing, cut }) {
    if (result) return entry?.state === 'denied' || entry?.state === 'skipped' ? entry.state : result.is_error ? 'failed' : 'done'
    if (interrupt?.reason === 'indeterminate') return 'indeterminate'
    if (interrupt) return interrupt.reason === 'tool_call' ? 'asking' : 'waiting'
    if (cut) return 'cut'
    if (sent && entry?.state !== 'started') return sent.payload?.approved === false ? 'denied' : 'allowed'
    if (entry?.state === 'started' && !live) return 'unheard'
    return writing ? 'writing' : entry?.state ?? 'proposed'
  }

  /** @param {Call} item @param {string} now */
  function stateText({ result, entry }, now) {
    const ms = result?.result?.duration_ms
    const words = now === 'done' && ms >= 1 ? duration(ms) : t(`tool.state.${now}`)
    return entry?.attempt > 1 ? `${words} · ${t('tool.attempt', { n: entry.attempt })}` : words
  }

  /** One line that tells two calls of the same tool apart. @param {Call} item */
  function briefOf({ call, entry }) {
    const source = call.function.arguments ?? ''
    const args = entry?.args ?? asObject(source)
    if (!args) return source.slice(0, BRIEF_MAX)
    const telling = TELLING.find((key) => typeof args[key] === 'string' && args[key])
    if (telling) return args[telling].trim().split('\n')[0].slice(0, BRIEF_MAX)
    const all = Object.entries(args).map(([key, value]) => `${key}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    return all.join(', ').slice(0, BRIEF_MAX)
  }

  /** @param {string} source @returns {Record<string, any> | null} */
  function asObject(source) {
    try {
      const value = JSON.parse(source || '{}')
      return typeof value === 'object' && value && !Array.isArray(value) ? value : null
    } catch {
      return null
    }
  }

  /** The opened card: arguments, output, result or error, log; each made when there is something to show. @param {any} body */
  function bodyParts(body) {
    /** @type {Map<string, {el: any, update: (value: any) => void, destroy?: () => void}>} */
    const shown = new Map()

    /** @param {Call} item */
    function update({ call, entry, result, output }) {
      const envelope = result?.result
      const error = envelope?.error?.message ?? (result?.is_error ? result.content : undefined)
      const args = entry?.args ?? asObject(call.function.arguments) ?? call.function.arguments
      put('args', t(entry?.args ? 'tool.editedArguments' : 'tool.arguments'), args)
      put('output', t('tool.output'), result ? undefined : output || undefined)
      put('error', t('tool.error'), error)
      put('result', t('tool.result'), result && error === undefined ? envelope?.result ?? result.content ?? '' : undefined)
      put('log', t('tool.log'), envelope?.logs?.length ? envelope.logs.map(logLine).join('\n') : undefined)
    }

    /** @param {string} key @param {string} title @param {any} value undefined: nothing to show */
    function put(key, title, value) {
      const old = shown.get(key)
      if (value === undefined) {
        old?.destroy?.()
        old?.el.remove()
        shown.delete(key)
        return
      }
      const view = old ?? valuePart(title)
      if (!old) {
        shown.set(key, view)
        body.append(view.el)
      }
      view.update(value)
    }

    const destroy = () => shown.forEach((view) => view.destroy?.())
    return { update, destroy }
  }

  /** @param {any} line a string, or an object with a message */
  const logLine = (line) => (typeof line === 'string' ? line : line?.message ?? JSON.stringify(line))

  /** A titled value with a copy button. @param {string} title */
  function valuePart(title) {
    const words = () => (typeof value === 'string' ? value : JSON.stringify(value, null, 2))
    const copy = iconButton('copy', t('tool.copy'), { onclick: () => popup.copy(words(), copy) })
    const holder = h('div')
    const el = h('div.part', null, h('div.part-head', null, title, copy), holder)
    /** @type {any} */ let value
    /** @type {any} */ let block = null

    /** @param {any} next */
    function update(next) {
      if (next === value && holder.firstChild) return
      const same = typeof next !== 'string' && JSON.stringify(next) === JSON.stringify(value)
      value = next
      if (same) return
      if (isFlatObject(next)) {
        block = null
        return fill(holder, asks.argsList(next))
      }
      if (!block) {
        block = codeBlock({ plain: true })
        fill(holder, block.el)
      }
      const plain = typeof next === 'string'
      block.update({ text: plain && !next ? t('tool.noOutput') : words(), lang: plain ? '' : 'json' })
    }

    return { el, update, destroy: () => block?.destroy() }
  }

  /** Can it be read as a list of names and values? @param {any} value */
  function isFlatObject(value) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
    return Object.values(value).every((one) => typeof one !== 'object' || one === null)
  }

  return { toolCard, stateOf }
})
