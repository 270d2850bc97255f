// The checks of a session: why it does not run, and its irregularities.

yaa.define('ext/inspector/checks', [
  'ui/dom', 'ext/inspector/texts', 'ext/inspector/session-checks', 'core/session', 'core/usage', 'core/context',
], (dom, texts, { checkSession }, sessions, usage, { messageViews }) => {
  const { h, list, text, icon } = dom
  const { t, count, duration, language } = texts
  const SIGNS = { bad: 'alert', warn: 'alert', note: 'thought' }

  /** @param {(id: string) => void} go */
  function checksView(go) {
    const why = h('p.why')
    const rows = h('ul.findings')
    const sum = h('p.hint')
    const el = h('div.inspect-view', null, h('h3', null, t('checks.why')), why, sum, h('h3', null, t('inspect.checks')), rows)

    let drawn = ''

    /** @param {import('../../ui/types').State} state */
    function update({ session, live }) {
      const { id, rev, status, interrupts, messages } = session
      const key = JSON.stringify([id, rev, status, live, interrupts, messages.length, messages.at(-1), language()])
      if (key === drawn) return
      drawn = key
      text(why, whyText(session, live))
      const total = usage.ofSession(session)
      const cost = total.cost_micro ? usage.money(total.cost_micro, total.cost_unit, language()) : ''
      text(sum, [t('session.tokens', { n: total.total }), cost, duration(total.ms)].filter(Boolean).join(' · '))
      const whole = new Set(messageViews(session).filter((row) => row.state === 'whole').map((row) => row.message.id))
      const found = checkSession(session, { live }).filter((one) => one.rule !== 'large' || whole.has(one.message ?? ''))
      const once = new Map(found.map((one) => [language() + JSON.stringify(one), one]))
      list(rows, found.length ? [...once] : [['', null]], ([key]) => key, ([, one]) => (
        { el: one ? rowView(one, go) : h('li', null, icon('check'), t('checks.none')), update() {} }))
    }

    return { el, update }
  }

  /** @param {Finding} one @param {(id: string) => void} go */
  function rowView(one, go) {
    const { rule, shown = '', detail = '' } = one
    const kind = rule === 'secret' ? t(`checks.secret.${detail}`, { shown }) : rule === 'large' ? count(Number(detail)) : detail
    const words = t(`checks.${one.rule}`, { detail: kind })
    const { message } = one
    const link = message ? h('button.button.small', { type: 'button', onclick: () => go(message) }, t('checks.show')) : null
    return h('li', { 'data-tone': one.level }, icon(SIGNS[one.level]), h('span', null, words), link)
  }

  /** @param {Session} session @param {boolean} live */
  function whyText(session, live) {
    const why = sessions.stopReason(session, { live })
    if (why.kind === 'awaiting') {
      const what = new Set(why.open.map((one) => one.tool ?? one.reason))
      return t('why.awaiting', { n: why.open.length, what: [...what].join(', ') })
    }
    if (why.kind === 'limit') {
      const one = why.interrupt
      if (!one) return t('why.limited')
      return t('why.limit', { name: one.limit ?? one.name ?? '', observed: count(one.observed ?? 0), allowed: count(one.allowed ?? 0) })
    }
    if (why.kind === 'model_error') return t('why.model_error', { detail: why.interrupt?.message ?? '' })
    if (why.kind === 'failed') return t('why.failed', { detail: String(why.message?.content ?? '') })
    return t(`why.${why.kind}`)
  }

  return { checksView, whyText }
})
