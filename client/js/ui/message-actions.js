// The buttons under a message: copy, edit, another answer, its branches. Their work is in ui/branch-actions, loaded
// with the first press.

yaa.define('ui/message-actions', ['ui/dom', 'ui/i18n', 'ui/popup', 'ui/render-visibility'], (dom, { t }, popup, { whenRendered }) => {
  const { h, icon, iconButton, text, attr, hide, list } = dom

  /**
   * @typedef {object} Shown
   * @property {Message} message @property {CallItem[]} calls @property {boolean} last
   * @property {Map<string, (string | null)[]>} siblings of the whole session (core/session)
   */

  /**
   * The row under a message.
   * @param {import('./types').Actions} actions @param {(message: Message) => string} words what copying takes
   * @returns {import('./types').View<Shown>}
   */
  function actionBar(actions, words) {
    /** @type {any} */ let shown = null
    /** @type {any} */ let buttons = null
    /** @type {any} */ let marks = null
    const el = h('span.message-bar')
    // of thousands of messages few are looked at: the others have no buttons
    whenRendered(el, () => {
      buttons = buttonsView(actions, words)
      el.append(buttons.el)
      if (shown) update(shown)
    })

    /** @param {Shown} next */
    function update(next) {
      shown = next
      const marked = isMarked(next)
      if (marked && !marks) {
        marks = marksView(actions)
        el.prepend(marks.el)
      }
      marks?.update(next)
      buttons?.update(next)
      el.hidden = next.calls.length > 0 && !marked
    }

    return { el, update }
  }

  /** Is there anything to say about its branches? @param {Shown} shown */
  function isMarked({ message, calls, siblings }) {
    return Boolean(message.meta?.edited_from) || siblings.has(message.id) || calls.some(({ result }) => siblings.has(result?.id ?? '-'))
  }

  /** @param {import('./types').Actions} actions @param {(message: Message) => string} words */
  function buttonsView(actions, words) {
    /** @type {any} */ let shown = null
    const id = () => shown.message.id
    const copy = iconButton('copy', t('thread.copy'), { onclick: () => popup.copy(words(shown.message), copy) })
    const edit = iconButton('pencil', t('branch.edit'), { tabIndex: -1, onclick: () => actions.branch('edit', id()) })
    const again = iconButton('retry', t('branch.retry'), { tabIndex: -1, onclick: () => actions.branch('retry', id()) })
    const more = iconButton('more', t('branch.more'), { tabIndex: -1, 'aria-haspopup': 'menu', onclick: () => actions.branch('menu', more, shown) })
    const row = [copy, edit, again, more]
    const el = h('span.message-actions', { role: 'toolbar', hidden: true, onkeydown }, row)

    /** One stop of Tab a message, then the arrow keys. @param {any} event */
    function onkeydown({ key, target }) {
      const there = row.filter((one) => one.checkVisibility())
      there[there.indexOf(target) + (key === 'ArrowRight' ? 1 : key === 'ArrowLeft' ? -1 : NaN)]?.focus()
    }

    /** @param {Shown} next */
    function update(next) {
      shown = next
      const own = next.message.role === 'user'
      el.hidden = next.calls.length > 0
      again.hidden = own && !next.last
      for (const name of ['aria-label', 'title']) attr(again, name, t(own ? 'branch.answer' : 'branch.retry'))
    }

    return { el, update }
  }

  /** Who changed it, and which of how many it is. @param {import('./types').Actions} actions */
  function marksView(actions) {
    const edited = h('span.edited', { hidden: true }, icon('pencil'), t('branch.edited'))
    const switches = h('span.switches')
    const el = h('span.marks', null, switches, edited)

    /** @param {Shown} next */
    function update({ message, calls, siblings }) {
      const places = [{ id: message.id, name: '' }, ...calls.map(({ call, result }) => ({ id: result?.id ?? '-', name: call.function.name }))]
      const there = places.filter((place) => siblings.has(place.id))
      list(switches, there.map((place) => ({ ...place, all: siblings.get(place.id) })), (place) => place.name, () => switchView(actions))
      // an edited call says so on its card
      edited.hidden = !message.meta?.edited_from || Boolean(message.meta.edited_call)
      el.hidden = !there.length && edited.hidden
    }

    return { el, update }
  }

  /** ‹ 2/3 › @param {import('./types').Actions} actions */
  function switchView(actions) {
    /** @type {{id: string, name: string, all: (string | null)[]}} */ let place = { id: '', name: '', all: [] }
    const go = (/** @type {number} */ step) => () => {
      const target = place.all[place.all.indexOf(null) + step]
      if (target) actions.branch('switchTo', target, step)
    }
    const back = iconButton('left', t('branch.previous'), { 'data-step': -1, onclick: go(-1) })
    const on = iconButton('chevron', t('branch.next'), { 'data-step': 1, onclick: go(1) })
    const where = h('span.where')
    const el = h('span.switch', { role: 'group' }, back, where, on)

    /** @param {any} next */
    function update(next) {
      place = next
      const n = place.all.indexOf(null) + 1
      const total = place.all.length
      text(where, (place.name ? `${place.name} ` : '') + `${n}/${total}`)
      attr(el, 'aria-label', t('branch.which', { n, total }))
      for (const [button, stuck] of [[back, n === 1], [on, n === total]]) attr(button, 'aria-disabled', stuck ? 'true' : null)
    }

    return { el, update }
  }

  /** The end of an opened call. @param {import('./types').Actions} actions @param {() => import('./types').MenuEntry[]} looks how it can be shown */
  function callEdits(actions, looks) {
    /** @type {any} */ let shown = null
    const more = iconButton('more', t('branch.more'), { 'aria-haspopup': 'menu', onclick: () => actions.branch('menu', more, shown.of, shown, looks()) })
    const el = h('div.call-edits', { hidden: true }, more)

    /** @param {any} next a call, and `of`: the article it is in */
    function update(next) {
      shown = next
      el.hidden = false // before that there is nothing to press it for
    }

    return { el, update }
  }

  /** What an edit has set aside, until something goes on from there. @param {import('./types').Actions} actions */
  function setAsideView(actions) {
    const words = h('span')
    const go = h('button.button.small.primary', { type: 'button', onclick: () => actions.branch('continueHere') }, t('branch.continue'))
    const back = h('button.button.small', { type: 'button', onclick: () => actions.branch('back') }, t('branch.back'))
    const el = h('div.aside', { role: 'group', 'aria-label': t('branch.ghost'), hidden: true }, icon('branch'), words, go, back)

    /** @param {Session} session @param {boolean} live */
    function update(session, live) {
      const fresh = session.ext?.tree?.active?.fresh
      hide(el, live || !fresh)
      if (el.hidden) return
      const { edits, aside } = fresh
      const told = [edits && t('branch.edits', { n: edits }), aside && t('branch.aside', { n: aside })].filter(Boolean).join(t('branch.and'))
      text(words, told || t('branch.ready'))
      back.hidden = !fresh.from
      const last = session.messages.at(-1)
      const runs = last && last.role !== 'error' && (last.role !== 'assistant' || Boolean(last.tool_calls?.length))
      go.hidden = !runs
    }

    return { el, update }
  }

  return { actionBar, callEdits, setAsideView, isMarked }
})
