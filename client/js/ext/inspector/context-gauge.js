// The gauge under the composer: how full the model's window is, by what, and what the run may still use. Measured figures
// and estimates look different.

yaa.define('ext/inspector/context-gauge', ['ui/dom', 'ext/inspector/texts', 'core/context', 'core/usage'], (dom, texts, contexts, usage) => {
  const { h, fill, text, attr, uid } = dom
  const { t, count, duration, language } = texts
  const PARTS = ['system', 'tools', 'history', 'results', 'summaries']
  /** Shares at which the bar warns. */
  const [FULL, NEARLY] = [0.9, 0.7]

  /** @param {import('../../ui/types').CommandContext} context @param {() => void} inspect */
  function gaugeView({ app }, inspect) {
    const id = uid('gauge')
    const segments = PARTS.map((part) => segment(part))
    const bar = h('span.gauge-bar', { 'aria-hidden': 'true' }, segments)
    const words = h('span.gauge-words')
    const button = h('button.button.ghost.small.gauge', { type: 'button', hidden: true, popovertarget: id, title: t('gauge.title') },
      bar, words, h('span.sr-only', null, t('gauge.title')))
    const figures = h('div')
    const more = h('button.button.small', { type: 'button', onclick: () => (panel.hidePopover(), inspect()) }, t('gauge.more'))
    const panel = h('div.gauge-panel', { id, popover: 'auto', role: 'dialog', 'aria-label': t('gauge.title'), ontoggle: place }, figures, more)
    const el = h('span.gauge-place', null, button, panel)
    /** @type {ContextUsage | null} */ let gauge = null
    /** @type {Session | null} */ let session = null
    let drawn = ''
    /** @type {any[] | null} what the last figures were made from */ let seen = null

    /** @param {import('../../ui/types').State} state */
    function update(state) {
      const before = seen
      const { messages, rev, context, run } = state.session
      seen = [state.session, messages.length, messages.at(-1), rev, context, run?.step, app.server.info(), language()]
      if (!state.whole || (!state.live && before?.every((one, i) => one === seen?.[i]))) return
      session = state.session
      gauge = contexts.contextUsage(session, app.server.info())
      button.hidden = !session.messages.length
      const key = JSON.stringify([gauge, session.run, session.usage, language()])
      if (key === drawn) return
      drawn = key
      draw(gauge)
      if (panel.matches(':popover-open')) fill(figures, contentOf(session, gauge, app.server.info()))
    }

    /** @param {ContextUsage} now */
    function draw(now) {
      const share = now.share ?? 0
      attr(button, 'data-tone', share >= FULL ? 'bad' : share >= NEARLY ? 'ask' : null)
      bar.hidden = now.share === null
      PARTS.forEach((part, i) => size(segments[i], now.parts[part], now.window ?? now.used))
      const used = usage.short(now.used, language())
      text(words, now.window ? t('gauge.short', { used, window: usage.short(now.window, language()) }) : t('gauge.shortFree', { used }))
    }

    /** @param {any} event */
    function place(event) {
      if (event.newState !== 'open' || !session || !gauge) return
      fill(figures, contentOf(session, gauge, app.server.info()))
      const at = button.getBoundingClientRect()
      const { width, height } = panel.getBoundingClientRect()
      panel.style.setProperty('left', `${Math.max(8, Math.min(at.right - width, innerWidth - width - 8))}px`)
      panel.style.setProperty('top', `${Math.max(8, at.top - height - 8)}px`)
    }

    return { el, update }
  }

  /** @param {string} part */
  const segment = (part) => h('i', { 'data-part': part })

  /** @param {any} el @param {number} tokens @param {number} whole */
  function size(el, tokens, whole) {
    el.style.setProperty('flex-basis', `${Math.min(100, (100 * tokens) / Math.max(1, whole))}%`)
    return el
  }

  /** @param {Session} session @param {ContextUsage} gauge @param {any} info */
  function contentOf(session, gauge, info) {
    const whole = gauge.window ?? gauge.used
    const rows = PARTS.filter((part) => gauge.parts[part]).map((part) => row(part, gauge.parts[part], whole))
    if (gauge.free !== null) rows.push(row('free', gauge.free, whole))
    return [
      h('h3', null, t('gauge.title')),
      h('div.gauge-stack', { 'aria-hidden': 'true' }, PARTS.map((part) => size(segment(part), gauge.parts[part], whole))),
      h('dl.figures', null, rows),
      h('p.hint', null, [t(gauge.measured ? 'gauge.measured' : 'gauge.estimated'), gauge.window ? '' : t('gauge.noWindow')]
        .filter(Boolean).join(' ')),
      h('h3', null, t('gauge.run')), limitsOf(session, (name) => allowed(session, info, name)),
      h('h3', null, t('gauge.session')), totalsOf(session),
    ]
  }

  /** @param {string} part @param {number} tokens @param {number} whole */
  function row(part, tokens, whole) {
    const share = Math.round((100 * tokens) / Math.max(1, whole))
    return h('div', null, h('dt', null, h('i', { 'data-part': part, 'aria-hidden': 'true' }), t(`gauge.part.${part}`)),
      h('dd', null, count(tokens), h('small', null, ` ${share}%`)))
  }

  /** With what a person added to the limit. @param {Session} session @param {any} info @param {string} name */
  function allowed(session, info, name) {
    const limit = contexts.limitOf(session, info, name)
    return limit && limit + (session.run?.extended?.[name] ?? 0)
  }

  /** What the last run used of what it may. @param {Session} session @param {(name: string) => number | null} allowed */
  function limitsOf(session, allowed) {
    const run = session.run ?? {}
    const unit = session.usage?.cost_unit
    const money = (/** @type {number} */ micro) => usage.money(micro, unit, language())
    const wall = allowed('max_wall_s')
    const rows = /** @type {[string, any, number | null, (n: number) => string][]} */ ([
      ['steps', run.step, allowed('max_steps'), count], ['tokens', run.tokens, allowed('max_tokens'), count],
      ['wall', run.wall_ms, wall && wall * 1000, duration], ['cost', run.cost_micro, allowed('max_cost_micro'), money],
    ]).filter(([, used]) => Number.isFinite(used))
    if (!rows.length) return h('p.hint', null, t('gauge.noRun'))
    return h('dl.figures', null, rows.map(([name, used, most, write]) => h('div', null,
      h('dt', null, t(`gauge.limit.${name}`)), h('dd', null, write(used),
        h('small', null, most ? ` / ${write(most)}` : ` ${t('gauge.unlimited')}`)))))
  }

  /** @param {Session} session */
  function totalsOf(session) {
    const sum = usage.ofSession(session)
    const figure = (/** @type {string} */ name, /** @type {string} */ value) => h('div', null, h('dt', null, t(name)), h('dd', null, value))
    return h('dl.figures', null,
      figure('gauge.sum.tokens',
        t('gauge.sum.split', { total: count(sum.total), input: count(sum.prompt), output: count(sum.completion) })),
      sum.cost_micro ? figure('gauge.sum.cost', usage.money(sum.cost_micro, sum.cost_unit, language())) : null,
      figure('gauge.sum.time', duration(sum.ms)), figure('gauge.sum.calls', count(sum.calls)))
  }

  return { gaugeView }
})
