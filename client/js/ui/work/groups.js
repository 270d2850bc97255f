// Neighbouring calls as one line of the thread that says what was done and opens: the first article of a group has the
// line, the others are hidden until it is pressed.

yaa.define('ui/work/groups', ['ui/dom', 'ui/i18n', 'core/call-groups', 'i18n/work', 'css/work'], (dom, { t, duration }, calls) => {
  const { h, icon, text, attr } = dom
  /** Groups that were opened, by the id of their first message. */
  const opened = new Set()
  const NEWEST = 3

  /**
   * Give each article of a group its place in it.
   * @param {any[]} items of the thread @returns {any[]}
   */
  function fold(items) {
    const groups = calls.groupsOf(items)
    if (!groups.length) return items
    const places = new Map()
    const inside = document.activeElement?.closest('article.message')?.id.replace(/^message-/, '')
    for (const group of groups) {
      // what somebody is at does not vanish
      if (group.items.some(({ message }, i) => i && message.id === inside)) opened.add(group.id)
      const open = opened.has(group.id)
      group.items.forEach(({ message }, i) => places.set(message.id, {
        id: group.id, items: group.items, head: i === 0, open, key: `${i} ${open} ${i ? '' : group.items.length}`,
      }))
    }
    return items.map((item) => (places.has(item.message.id) ? { ...item, fold: places.get(item.message.id) } : item))
  }

  /** Open the group that a message is in. @param {any[]} items of the thread @param {string} id of the message @returns {boolean} was it closed? */
  function unfold(items, id) {
    const group = calls.groupsOf(items).find((one) => one.items.some(({ message }) => message.id === id))
    if (!group || opened.has(group.id)) return false
    opened.add(group.id)
    return true
  }

  /** @param {import('../types').Actions} actions @returns {import('../types').View} */
  function lineView(actions) {
    /** @type {any} */ let fold = null
    const words = h('span.work-words')
    const time = h('span.tool-state')
    const sign = h('span.sign', null, icon('check'))
    const bad = h('span.work-bad')
    const button = h('button.work-line', { type: 'button', 'aria-expanded': 'false', onclick: toggle }, sign, words, bad, time, icon('chevron', 'chevron'))
    const el = h('div.work', null, button)
    let drawn = ''

    /** @param {any} next a place in a group */
    function update(next) {
      fold = next
      attr(button, 'aria-expanded', String(next.open))
      const key = next.items.map((/** @type {any} */ { message }) => message.id).join(' ')
      if (key === drawn) return
      drawn = key
      const { counts, failed, denied, ms } = calls.summaryOf(next.items)
      text(words, counts.map(([kind, n]) => t(`work.${kind}`, { n })).join(t('work.and')))
      text(bad, [failed.length ? `${t('work.failed', { n: failed.length })}: ${failed.slice(-NEWEST).map(nameOf).join(', ')}` : '', denied ? t('work.denied', { n: denied }) : ''].filter(Boolean).join(' · '))
      attr(el, 'data-tone', failed.length ? 'bad' : null)
      text(time, ms >= 1 ? duration(ms) : '')
    }

    function toggle() {
      if (fold.open) opened.delete(fold.id)
      else opened.add(fold.id)
      actions.draw()
    }

    return { el, update }
  }

  /** @param {CallItem} call */
  function nameOf({ call, result }) {
    const code = /** @type {any} */ (result)?.result?.result?.exit_code
    return Number.isInteger(code) && code ? `${call.function.name} ${t('gist.exit', { code })}` : call.function.name
  }

  return { fold, unfold, lineView }
})
