// One tool call: a line at rest, its arguments, live output and result when opened, and the question it waits for.
// What is shown follows from the session alone (call, ledger entry, result, interrupt), so a reload shows the same.

yaa.define('ui/tool-card', ['ui/dom', 'ui/i18n', 'ui/code-block', 'ui/interrupt-cards', 'ui/message-actions', 'core/patch', 'i18n/calls'], (dom, { t, duration }, { codeBlock }, cards, { callEdits }, { isObject, parseJson }) => {
  const { h, icon, text, attr, fill } = dom
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
   * @property {any} [of] the article it is in
   * @property {boolean} writing is its message still being written? @property {boolean} cut was that cut off?
   */

  /** @param {import('./types').Actions} actions @returns {import('./types').View & {update: (item: Call) => void}} */
  function toolCard(actions) {
    const sign = h('span.sign')
    const name = h('span.tool-name')
    const brief = h('span.tool-brief')
    const gist = h('span.tool-gist')
    const state = h('span.tool-state')
    const body = h('div.tool-body', { hidden: true })
    const line = h('summary.tool-line', { onclick: () => { touched = true } }, sign, name, brief, gist, state, icon('chevron', 'chevron'))
    const details = h('details', { ontoggle: () => draw() }, line, body)
    const el = h('section.card.tool', { role: 'group' }, details)
    const parts = bodyOf(body)
    const drawFiles = filesUnder(details, 'result-files', (module) => module.resultFilesView(actions.file))
    const drawMedia = filesUnder(details, 'result-media', (module) => module.resultMediaView())
    const edits = callEdits(actions, parts.looks)
    const edited = h('span.edited', { hidden: true }, icon('pencil'), t('branch.edited'))
    state.before(edited)
    details.append(edits.el)
    /** @type {any} */ let ask = null
    /** @type {Call | null} */ let item = null
    let touched = false
    let signed = ''

    /** @param {Call} next */
    function update(next) {
      item = next
      const now = stateOf(next)
      const failed = BAD.has(now) || (now === 'done' && hasExited(next.result))
      const tone = WAITS.has(now) ? 'ask' : failed ? 'bad' : null
      attr(el, 'data-state', now)
      attr(el, 'data-tone', tone)
      attr(el, 'aria-label', `${next.call.function.name}: ${failed && now === 'done' ? gistOf(next.result) : t(`tool.state.${now}`)}`)
      text(name, next.call.function.name || '…')
      text(brief, briefOf(next))
      text(gist, next.call.function.name === 'ask_user' ? answerOf(next.result) : gistOf(next.result))
      text(state, stateText(next, now))
      edited.hidden = !next.entry?.args && !next.result?.meta?.edited_from && next.of?.message.meta?.edited_call !== next.call.id
      drawSign(failed ? 'failed' : now)
      if (!touched) details.open = (now === 'started' || now === 'unheard') && Boolean(next.output)
      draw()
      drawFiles(next.result?.result?.attachments)
      drawMedia(next.result?.result?.media)
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
      if (details.open && item) for (const one of [parts, edits]) one.update(item)
    }

    /** @param {Call} next */
    function drawAsk(next) {
      if (ask && ask.id !== next.interrupt?.id) {
        ask.view.el.remove()
        ask = null
      }
      if (!next.interrupt) return
      if (!ask) {
        ask = { id: next.interrupt.id, view: cards.interruptCard(next.interrupt, actions, next.call) }
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
    if (interrupt?.reason === 'client_tool' && entry?.state === 'started') return 'unheard'
    if (interrupt) return interrupt.reason === 'tool_call' ? 'asking' : 'waiting'
    if (cut) return 'cut'
    if (sent && entry?.state !== 'started') return sent.payload?.approved === false ? 'denied' : 'allowed'
    if (entry?.state === 'started' && !live) return 'unheard'
    if (entry?.state === 'waiting' && live) return 'proposed'
    return writing ? 'writing' : entry?.state ?? 'proposed'
  }

  /** @param {Call} item @param {string} now */
  function stateText({ result, entry }, now) {
    const { status, duration_ms: ms, error } = result?.result ?? {}
    const words = status === 'stopped' && Number.isFinite(ms) ? t('tool.stopped', { time: duration(ms), n: Number(error?.details?.lines) || 0 })
      : now === 'done' && ms >= 1 ? duration(ms) : t(`tool.state.${now}`)
    return entry?.attempt > 1 ? `${words} · ${t('tool.attempt', { n: entry.attempt })}` : words
  }

  /** What came of it, in two or three words. @param {any} result the tool message */
  function gistOf(result) {
    const limit = result?.result?.error?.details?.limit
    if (typeof limit === 'string') return limit
    const value = result?.result?.result
    if (typeof value !== 'object' || value === null) return ''
    if (Number.isInteger(value.exit_code)) return value.exit_code ? t('gist.exit', { code: value.exit_code }) : ''
    if (typeof value.diff === 'string') return changes(value.diff)
    if (Number.isInteger(value.matches)) return t('gist.matches', { n: value.matches })
    if (Array.isArray(value.files)) return t('gist.files', { n: value.files.length })
    return Number.isInteger(value.lines) ? t('gist.lines', { n: value.lines }) : ''
  }

  /** Did a program end with anything but 0? @param {any} result the tool message */
  const hasExited = (result) => Number.isInteger(result?.result?.result?.exit_code) && result.result.result.exit_code !== 0

  /** What a person answered. @param {any} result the tool message */
  function answerOf(result) {
    const value = result?.result?.result?.answer ?? result?.result?.result
    return value === undefined || value === null ? '' : (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, BRIEF_MAX)
  }

  /** @param {string} diff unified */
  const changes = (diff) => ['+', '\u2212'].map((sign, i) => sign + (diff.match(i ? /^-(?!--)/gm : /^\+(?!\+\+)/gm)?.length ?? 0)).join(' ')

  /** One line that tells two calls of the same tool apart. @param {Call} item */
  function briefOf({ call, entry }) {
    const source = call.function.arguments ?? ''
    const args = entry?.args ?? parseJson(source || '{}')
    if (!isObject(args)) return source.slice(0, BRIEF_MAX)
    const telling = TELLING.find((key) => typeof args[key] === 'string' && args[key])
    if (telling) return args[telling].trim().split('\n')[0].slice(0, BRIEF_MAX)
    const all = Object.entries(args).map(([key, value]) => `${key}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    return all.join(', ').slice(0, BRIEF_MAX)
  }

  /**
   * The opened card. What draws it comes with the first card, in its own group of scripts; where that does not come
   * (the server is gone), call and result are shown as they are.
   * @param {any} body
   */
  function bodyOf(body) {
    /** @type {{update: (item: any) => void, destroy: () => void, looks?: () => any[]} | null} */ let made = null
    /** @type {any} */ let item = null
    let gone = false
    const make = async () => {
      const module = await toolBodies()
      if (gone) return
      made = module ? module.toolBody(body) : plainBody(body)
      if (item) made?.update(item)
    }

    /** @param {any} next */
    function update(next) {
      if (!item) make()
      item = next
      made?.update(next)
    }

    const destroy = () => {
      gone = true
      made?.destroy()
    }
    return { update, destroy, looks: () => made?.looks?.() ?? [] }
  }

  /**
   * The files a call made or showed, under its line whether that is opened or not.
   * @param {any} details @param {string} part @param {(module: any) => any} make @returns {(all: any) => Promise<void>}
   */
  function filesUnder(details, part, make) {
    /** @type {any} */ let drawn = null
    /** @type {any} */ let view = null
    return async (all) => {
      if (all === drawn || !Array.isArray(all) || (!all.length && !view)) return
      drawn = all
      const module = await toolBodies(part)
      if (!module || drawn !== all) return
      if (!view) details.after((view = make(module)).el)
      view.update(all)
    }
  }

  /** @param {string} [part] @returns {Promise<any>} a module of ui/tools, null where it did not come */
  async function toolBodies(part = 'card-body') {
    try {
      await yaa.load('tools')
      return yaa.use(`ui/tools/${part}`)
    } catch (error) {
      console.warn(error)
      return null
    }
  }

  /** @param {any} body */
  function plainBody(body) {
    const block = codeBlock({ plain: true })
    body.append(block.el)
    const update = (/** @type {any} */ { call, result }) => block.update({ text: JSON.stringify({ call, result }, null, 2), lang: 'json' })
    return { update, destroy() {} }
  }

  return { toolCard, stateOf, filesUnder }
})
