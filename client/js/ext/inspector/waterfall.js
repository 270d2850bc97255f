// The waterfall: a row for each model call, tool, wait and further attempt on one time axis. Waiting for a person is
// drawn apart and, where it is long, folded, so that the rest can be read.

yaa.define('ext/inspector/waterfall', [
  'ui/dom', 'ext/inspector/texts', 'ext/inspector/timeline', 'core/usage',
], (dom, texts, { timeline, axis }, usage) => {
  const { h, fill, list, text, attr } = dom
  const { t, count, duration, language } = texts
  /** A wait is drawn with at most this share of everything else. */
  const WAIT_SHARE = 0.15
  const MOST_ROWS = 400

  /** @param {(id: string) => void} go */
  function waterfallView(go) {
    const legend = h('ul.legend')
    const scale = h('div.scale', { 'aria-hidden': 'true' })
    const rows = h('ol.bars')
    const note = h('p.hint')
    const el = h('div.inspect-view', null, h('h3', null, t('inspect.waterfall')), legend, note, scale, rows)
    let drawn = ''

    /** @param {import('../../ui/types').State} state */
    function update({ session, live }) {
      const all = timeline(session, { live })
      const bars = all.bars.slice(-MOST_ROWS)
      const key = JSON.stringify([language(), bars])
      if (key === drawn) return
      drawn = key
      note.hidden = bars.length > 0 && bars.length === all.bars.length
      text(note, bars.length ? t('waterfall.last', { n: count(bars.length), all: count(all.bars.length) }) : t('waterfall.none'))
      const busy = all.totals.model + all.totals.tool + all.totals.retry
      const line = axis(bars, Math.max(1000, busy * WAIT_SHARE))
      fill(legend, ['model', 'tool', 'retry', 'human'].filter((kind) => all.totals[kind]).map((kind) => (
        h('li', null, h('i', { 'data-kind': kind, 'aria-hidden': 'true' }), t(`waterfall.${kind}`),
          h('b', null, duration(all.totals[kind]))))))
      fill(scale, bars.length ? [0, 0.25, 0.5, 0.75, 1].map((share) => tick(share, line.length)) : null)
      const first = all.bars.length - bars.length // bars are only added: each keeps its row
      list(rows, bars.map((bar) => ({ bar, line })), ({ bar }, i) => `${first + i} ${bar.kind} ${bar.message} ${bar.call}`, () => rowView(go))
    }

    const hidden = () => document.querySelectorAll('[data-lit]').forEach((one) => one.removeAttribute('data-lit'))
    return { el, update, hidden }
  }

  /** @param {number} share @param {number} length */
  function tick(share, length) {
    const el = h('span', null, duration(length * share))
    el.style.setProperty('left', `${share * 100}%`)
    return el
  }

  /** @param {(id: string) => void} go @returns {import('../../ui/types').View} */
  function rowView(go) {
    /** @type {Bar} */ let bar
    const [block, waiting] = [h('i'), h('u')]
    block.append(waiting)
    const [name, figures] = [h('span'), h('small')]
    const failed = h('span.badge.bad', null, t('waterfall.failed'))
    const stalled = h('span.badge.warn', null, t('waterfall.stalled'))
    const light = (/** @type {boolean} */ on) => document.getElementById(`message-${bar.message}`)?.toggleAttribute('data-lit', on)
    const button = h('button', {
      type: 'button', onclick: () => go(bar.message), onpointerenter: () => light(true), onpointerleave: () => light(false),
      onfocus: () => light(true), onblur: () => light(false),
    }, h('span.bar-words', null, name, figures), h('span.bar-signs', null, failed, stalled), h('span.track', { 'aria-hidden': 'true' }, block))
    const el = h('li', null, button)

    /** @param {{bar: Bar, line: {place: (at: number) => number, length: number}}} next */
    function update({ bar: next, line }) {
      bar = next
      for (const one of [el, block]) attr(one, 'data-kind', bar.kind)
      const [from, to] = [bar.from, bar.to].map((at) => (100 * line.place(at)) / line.length)
      block.style.setProperty('left', `${from}%`)
      block.style.setProperty('width', `${Math.max(0.4, to - from)}%`)
      const first = bar.first_ms && bar.ms ? Math.min(100, (100 * bar.first_ms) / bar.ms) : 0
      waiting.hidden = !first
      waiting.style.setProperty('width', `${first}%`)
      text(name, nameOf(bar))
      text(figures, figuresOf(bar))
      failed.hidden = !bar.failed
      stalled.hidden = !bar.stalled
    }

    return { el, update }
  }

  /** @param {Bar} bar */
  function nameOf(bar) {
    if (bar.kind === 'human') return t(`waterfall.human.${bar.name}`)
    if (bar.kind === 'error') return t('waterfall.error')
    if (bar.kind === 'retry') return t('waterfall.again', { name: bar.name || t('waterfall.model') })
    return bar.name || t(`waterfall.${bar.kind}`)
  }

  /** @param {Bar} bar */
  function figuresOf(bar) {
    const cost = bar.cost_micro ? usage.money(bar.cost_micro, bar.cost_unit, language()) : ''
    const tokens = bar.tokens ? t('session.tokens', { n: bar.tokens }) : ''
    return [bar.kind === 'error' ? '' : duration(bar.ms), tokens, cost].filter(Boolean).join(' · ')
  }

  return { waterfallView }
})
