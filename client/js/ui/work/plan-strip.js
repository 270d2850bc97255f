// The plan of a run over the message field: how far it is, what is being done, and all tasks when it is opened.

yaa.define('ui/work/plan-strip', ['ui/dom', 'ui/i18n', 'i18n/work', 'css/work'], (dom, { t }) => {
  const { h, icon, text, attr, fill } = dom
  /** @type {Record<string, string>} */
  const SIGNS = { completed: 'check', failed: 'x', cancelled: 'x', in_progress: 'play', todo: 'none' }
  /** A document from elsewhere may hold anything. */
  const MOST = 100

  /** @returns {import('../types').View<{session: Session, live: boolean}>} */
  function planStrip() {
    const count = h('span.plan-count')
    const now = h('span.plan-now')
    const tasks = h('ol.plan-tasks')
    const el = h('details.plan', { hidden: true }, h('summary', null, icon('tree'), h('b', null, t('plan.title')), count, now, icon('chevron', 'chevron')), tasks)
    let drawn = ''

    /** @param {{session: Session, live: boolean}} state */
    function update({ session, live }) {
      const all = tasksOf(session)
      const done = all.filter(({ status }) => status === 'completed' || status === 'cancelled').length
      el.hidden = !all.length || (!live && done === all.length)
      const key = JSON.stringify([session.id, all])
      if (el.hidden || key === drawn) return
      drawn = key
      const current = all.find(({ status }) => status === 'in_progress') ?? all.find(({ status }) => status === 'failed') ?? all.find(({ status }) => status === 'todo')
      text(count, t('plan.count', { n: done, of: all.length }))
      text(now, current ? current.title : '')
      attr(el, 'data-tone', all.some(({ status }) => status === 'failed') ? 'bad' : null)
      fill(tasks, all.map(taskView))
    }

    return { el, update }
  }

  /** @param {Task} task */
  function taskView({ title, status, result }) {
    const known = Object.hasOwn(SIGNS, status) ? status : 'todo'
    return h('li', { 'data-status': known, 'aria-current': known === 'in_progress' ? 'step' : null },
      icon(SIGNS[known]), h('span', null, h('span.sr-only', null, `${t(`plan.${known}`)}: `), title, result ? h('small', null, result) : null))
  }

  /** @typedef {{title: string, status: string, result?: string}} Task */

  /** @param {any} session @returns {Task[]} */
  function tasksOf({ plan }) {
    const tasks = Array.isArray(plan?.tasks) ? plan.tasks : []
    return tasks.filter((/** @type {any} */ one) => typeof one?.title === 'string').slice(0, MOST)
      .map((/** @type {any} */ { title, status, result }) => ({ title, status: String(status), ...(typeof result === 'string' && result ? { result } : {}) }))
  }

  return { planStrip, tasksOf }
})
