// One message of the thread: what the person wrote, what the assistant thought, said and called, or what went wrong.
// Results are not articles of their own: they belong to the card of their call.

yaa.define('ui/message', [
  'ui/dom', 'ui/i18n', 'ui/markdown-view', 'ui/message-actions', 'core/session', 'core/usage',
], (dom, words, { markdownView }, { actionBar, isMarked }, { endedBy }, { money }) => {
  const { h, icon, text, attr, fill, hide, list, grow } = dom
  const { t, count, duration, moment, language } = words

  /**
   * @typedef {object} Shown what an article shows
   * @property {Message} message @property {CallItem[]} calls
   * @property {boolean} live is a run going on? @property {boolean} last is it the last one? @property {boolean} cut was it cut off while it was written?
   * @property {boolean} joined does it follow another message of the assistant?
   * @property {number} [recorded] of the last one: how many messages of its run came from the server's record
   * @property {any} [fold] its place in a group of calls (ui/work/groups)
   * @property {Map<string, string>} outputs live output by call
   * @property {Map<string, (string | null)[]>} siblings the branches beside each message that has any
   */

  /** @param {Shown} item @param {import('./types').Actions} actions @returns {import('./types').View} */
  function messageView(item, actions) {
    const role = item.message.role
    const own = role === 'user' || role === 'error'
    const inner = role === 'user' ? userView(actions) : own ? errorView(item.message, actions) : assistantView(actions)
    const who = t(role === 'user' ? 'thread.you' : own ? 'thread.error' : 'app.name')
    const heading = h('h3.sr-only', null, who)
    const el = h('article.message', { id: `message-${item.message.id}`, 'data-role': role, tabIndex: -1 }, heading, inner.el)

    /** @type {any[] | null} */ let drawn = null

    /** @param {Shown} next */
    function update(next) {
      attr(el, 'data-join', next.joined ? 'true' : null)
      attr(el, 'data-fold', foldOf(next.fold))
      const now = settled(next)
      if (now && drawn && now.length === drawn.length && now.every((one, i) => one === drawn?.[i])) return
      drawn = now
      const busy = next.live && next.message.open
      attr(el, 'aria-busy', busy ? 'true' : null)
      hide(heading, next.joined && !next.message.content)
      if (!busy) attr(heading, 'aria-label', `${who}: ${beginOf(next)}`)
      inner.update(next)
    }

    return { el, update, destroy: () => inner.destroy?.() }
  }

  /** Its first words, or else the names of its calls. @param {Shown} shown */
  const beginOf = ({ message, calls }) => (plainText(message.content).trim() || calls.map(({ call }) => call.function.name).join(', ')).slice(0, 60)

  /** @param {any} fold */
  const foldOf = (fold) => (fold ? (fold.head ? (fold.open ? 'open' : 'closed') : fold.open ? 'member' : 'inside') : null)

  /**
   * What an article that will not change by itself is made of, or null while it may: in a session of thousands only a
   * few are looked at more closely.
   * @param {Shown} item @returns {any[] | null}
   */
  function settled({ message, calls, cut, last, live, recorded, siblings, fold }) {
    const done = !message.open && calls.every((one) => one.result)
    const results = calls.map((one) => one.result)
    const beside = siblings.size ? [message, ...results].map((one) => siblings.get(one?.id ?? '-')?.join(' ')) : []
    return done ? [message, cut, last, last && live, recorded, fold?.key, ...results, ...beside] : null
  }

  /** @param {import('./types').Actions} actions */
  function userView(actions) {
    const bubble = h('div.bubble')
    const time = h('time')
    const bar = actionBar(actions, (message) => plainText(message.content))
    const el = h('div.said', null, bubble, h('div.message-foot', null, time, bar.el))

    /** @param {Shown} next */
    function update(next) {
      const { message } = next
      write(bubble, plainText(message.content))
      if (Array.isArray(message.content)) drawFiles(el, bubble, message.content)
      if (message.at) text(time, moment(message.at))
      bar.update(next)
      attr(el, 'data-marked', isMarked(next) || null)
    }

    return { el, update, destroy: undefined }
  }

  /** A text that takes long to lay out is in pieces, of which those in sight are laid out. @param {any} bubble @param {string} words */
  function write(bubble, words) {
    const pieces = words.length > 20_000 && words.match(/[^]{1,4000}\n|[^]{1,4000}(?:\s|$)|[^]{4000}/gu)
    if (!pieces) text(bubble, words)
    else if (bubble.textContent !== words) fill(bubble, pieces.map((one) => h('div.piece', null, one)))
  }

  /** Pictures and files that went along; what draws them comes with the first. @param {any} el @param {any} bubble @param {any[]} content */
  async function drawFiles(el, bubble, content) {
    await yaa.load('attachments')
    const { filesView, words } = yaa.use('ui/attachments')
    const files = filesView(content)
    el.querySelector('.sent-files')?.remove()
    if (files) bubble.before(files)
    write(bubble, words(content))
    bubble.hidden = !bubble.textContent
  }

  /** @param {any} message @param {import('./types').Actions} actions */
  function errorView(message, actions) {
    const who = { stopped: 'run.byYou', stopped_by_owner: 'run.byOwner' }[String(message.code)]
    const words = h('p')
    const retry = h('button.button.small', { type: 'button', onclick: () => actions.goOn() }, icon('retry'), t(who ? 'run.resume' : 'fail.retry'))
    const el = h('div.error-note', null, icon(who ? 'stop' : 'alert'), h('div.body', null, h('b', null, t(who ? 'run.stopped' : 'fail.title.other')), words, retry))

    /** @param {Shown} next */
    function update(next) {
      text(words, who ? t(who) : plainText(next.message.content))
      retry.hidden = !next.last || next.live
    }

    return { el, update, destroy: undefined }
  }

  /** @param {import('./types').Actions} actions */
  function assistantView(actions) {
    const el = h('div.turn')
    const part = partsOf(el, { think: thinkView, prose: () => markdownView(actions.cite), made: madeView, work: () => actions.work?.lineView(actions), calls: () => callsView(actions), cut: cutView, foot: () => footView(actions) })

    /** @param {Shown} next */
    function update(next) {
      const { message, live, calls } = next
      const writing = live && Boolean(message.open)
      const words = plainText(message.content)
      part('think', message.reasoning?.text)?.update({ message, thinking: writing && !words && !calls.length })
      part('prose', words)?.update(marked(words, message.meta?.citations), writing && !calls.length)
      part('made', message.media?.length)?.update(message.media)
      part('work', next.fold?.head)?.update(next.fold)
      part('calls', calls.length)?.update({ ...next, writing })
      const why = next.cut ? 'cut' : endedBy(message)
      part('cut', why)?.update(why)
      part('foot', !writing)?.update(next)
    }

    return { el, update, destroy: part.destroy }
  }

  /** With marks of what was cited, whose places count whole characters. @param {string} words @param {any} cited */
  function marked(words, cited) {
    if (!Array.isArray(cited)) return words
    const chars = [...words]
    const marks = cited.map((one, i) => ({ at: one?.end || chars.length, mark: `[^p${i + 1}]` }))
    for (const { at, mark } of marks.reverse().sort((a, b) => b.at - a.at)) chars.splice(at, 0, mark)
    return chars.join('')
  }

  /**
   * Parts that are made when first needed and keep the order of their names: most answers have few of them.
   * @param {any} el @param {Record<string, () => any>} makers
   */
  function partsOf(el, makers) {
    const names = Object.keys(makers)
    /** @type {Record<string, any>} */ const made = {}

    /** @param {string} name @param {any} wanted */
    function part(name, wanted) {
      if (!made[name] && wanted) {
        made[name] = makers[name]()
        const next = names.slice(names.indexOf(name) + 1).find((one) => made[one])
        el.insertBefore(made[name].el, next ? made[next].el : null)
      }
      if (made[name]) hide(made[name].el, !wanted)
      return wanted ? made[name] : null
    }

    part.destroy = () => Object.values(made).forEach((view) => view.destroy?.())
    return part
  }

  /** @type {any} ui/tool-card, once there is a call to show */ let cards = null

  /** What draws calls comes with the first; until then, and if it does not come, they are names. @param {import('./types').Actions} actions */
  function callsView(actions) {
    const el = h('div.calls')
    const make = () => cards.toolCard(actions)
    /** @type {(Shown & {writing: boolean}) | null} */ let shown = null

    /** @param {Shown & {writing: boolean}} next */
    function update(next) {
      const bring = !cards && !shown
      shown = next
      if (cards) return draw(next)
      text(el, next.calls.map(({ call }) => call.function.name).join(', '))
      if (bring) yaa.load('calls').then(come, console.warn)
    }

    function come() {
      cards ??= yaa.use('ui/tool-card')
      if (shown) draw(shown)
    }

    /** @param {Shown & {writing: boolean}} now */
    function draw({ calls, outputs, live, cut, writing }) {
      if (!el.firstElementChild) fill(el)
      // An answer on its way to the server leaves nothing to ask: the call is a line again. And whether the page runs
      // a tool of its own without asking is seen when the run has come to rest.
      const items = calls.map(({ interrupt, ...one }) => {
        const sent = live && interrupt?.answer
        const asks = live && (sent || interrupt?.reason === 'client_tool') ? undefined : interrupt
        const output = outputs.get(one.call.id)
        return { ...one, interrupt: asks, sent, output, cut, writing, live, of: shown }
      })
      list(el, items, (one) => one.call.id, make)
    }

    function destroy() {
      shown = null
      list(el, [], String, make)
    }

    return { el, update, destroy }
  }

  /** Pictures and sounds that the model made; what draws them comes with the first. */
  function madeView() {
    const place = h('span')
    /** @type {any} */ let draw = null
    const update = (/** @type {any} */ media) => yaa.load('calls').then(() => {
      draw ??= yaa.use('ui/tool-card').filesUnder(place, 'result-media', (/** @type {any} */ module) => module.resultMediaView(true))
      return draw(media)
    }, console.warn)
    return { el: h('div', null, place), update }
  }

  function cutView() {
    const said = h('span')
    const el = h('p.cut-note', null, icon('alert'), said)
    return { el, update: (/** @type {string} */ why) => text(said, t(`thread.${why}`)) }
  }

  /** Open while it comes, folded when the answer begins, unless the reader did either. */
  function thinkView() {
    const label = h('span')
    const body = h('div.think-text')
    let touched = false
    const summary = h('summary', { onclick: () => { touched = true } }, icon('thought'), label, icon('chevron', 'chevron'))
    const el = h('details.think', null, summary, body)

    /** @param {{message: Message, thinking: boolean}} now */
    function update({ message, thinking }) {
      const words = message.reasoning.text
      text(label, t(thinking ? 'think.live' : 'think.done'))
      if (!touched) el.open = thinking
      const follow = thinking && body.scrollHeight - body.scrollTop - body.clientHeight < 24
      grow(body, words)
      if (follow) body.scrollTop = body.scrollHeight
    }

    return { el, update }
  }

  /** Actions, tokens and time. @param {import('./types').Actions} actions */
  function footView(actions) {
    const figures = h('span')
    const bar = actionBar(actions, (message) => plainText(message.content))
    const el = h('div.message-foot', null, bar.el, figures)

    /** @param {Shown} next */
    function update(next) {
      bar.update(next)
      figures.hidden = !next.message.meta || next.calls.length > 0
      // between the steps of a turn there is nothing to show
      el.hidden = figures.hidden && bar.el.hidden
      if (!figures.hidden) drawFigures(next.message.meta, next.recorded)
    }

    /** @param {any} meta @param {number} [recorded] */
    function drawFigures(meta, recorded) {
      const usage = meta.usage ?? {}
      const tokens = usage.total_tokens && t('session.tokens', { n: usage.total_tokens })
      const cost = usage.cost_micro > 0 && money(usage.cost_micro, usage.cost_unit, language())
      const own = recorded && t('meta.record', { n: recorded })
      text(figures, [tokens, cost, meta.ms !== undefined && duration(meta.ms), meta.model, own].filter(Boolean).join(' · '))
      const split = t('meta.title', { input: count(usage.prompt_tokens ?? 0), output: count(usage.completion_tokens ?? 0) })
      const first = meta.first_ms !== undefined && t('meta.first', { time: duration(meta.first_ms) })
      attr(figures, 'title', [meta.usage && split, first].filter(Boolean).join('\n') || null)
    }

    return { el, update }
  }

  /** Content as text, with a mark for what is none. @param {any} content */
  function plainText(content) {
    if (typeof content === 'string') return content
    if (!Array.isArray(content)) return ''
    const marked = (/** @type {any} */ part) => `[${t('thread.part', { type: part?.type ?? '?' })}]`
    return content.map((part) => (typeof part === 'string' ? part : part?.text ?? marked(part))).join('\n')
  }

  return { messageView, plainText }
})
