// The sessions of this browser: newest first, grouped by day, with a mark on those that run or wait. Deleting is
// undone by the toast, so nothing asks "are you sure?". The header of the open session is here too.

yaa.define('ui/sidebar', ['ui/h', 'ui/text', 'ui/popup', 'ui/connection'], (dom, { t, count }, { openMenu }, { toneOf, wordsOf }) => {
  const { h, icon, iconButton, list, text, attr, fill } = dom
  const DAY_MS = 86_400_000

  /** @param {import('./types').Actions} actions @returns {any} */
  function sidebarView(actions) {
    const groups = h('div')
    const none = h('p.side-note', { hidden: true }, t('side.empty'))
    const server = serverButton(actions)
    const el = h('nav.side', { id: 'side', 'aria-label': t('side.label') },
      h('div.side-head', null, h('h1', null, t('app.name')),
        iconButton('panel', t('side.hide'), { onclick: () => actions.toggleSide() }),
        iconButton('plus', t('side.new'), { onclick: () => actions.newSession() }, 'small')),
      h('div.side-list', null, none, groups),
      h('div.side-foot', null, server.el))

    /** @param {any} state */
    function update(state) {
      none.hidden = state.sessions.length > 0
      list(groups, grouped(state.sessions), (group) => group.key, groupView)
      server.update(state.server)
    }

    /** @param {{key: string}} group */
    function groupView(group) {
      const rows = h('ul')
      const inner = h('section', null, h('h2', null, t(group.key)), rows)
      return { el: inner, update: (/** @type {any} */ next) => list(rows, next.rows, (row) => row.id, () => rowView(actions)) }
    }

    return { el, update }
  }

  /** @param {any[]} sessions newest first */
  function grouped(sessions) {
    const today = new Date().setHours(0, 0, 0, 0)
    const week = today - 6 * DAY_MS
    const starts = [['side.today', today], ['side.yesterday', today - DAY_MS], ['side.week', week], ['side.older', -Infinity]]
    /** @type {{key: string, rows: any[]}[]} */ const groups = []
    for (const row of sessions) {
      const key = String(starts.find(([, from]) => row.updated >= from)?.[0])
      if (groups.at(-1)?.key !== key) groups.push({ key, rows: [] })
      groups.at(-1)?.rows.push(row)
    }
    return groups
  }

  /** @param {import('./types').Actions} actions */
  function rowView(actions) {
    const title = h('span.row-title')
    const mark = h('span.row-mark')
    const open = h('button.row-open', { type: 'button', onclick: () => actions.open(row.id), ondblclick: rename }, mark, title)
    const onclick = () => openMenu(more, entries())
    const more = iconButton('more', '', { 'aria-haspopup': 'menu', onclick }, 'ghost.small.row-more')
    const el = h('li.row', null, open, more)
    /** @type {any} */ let row = null
    let drawn = ''

    /** @param {any} next */
    function update(next) {
      row = next
      text(title, row.title)
      attr(title, 'title', row.title)
      attr(el, 'data-current', row.current)
      attr(open, 'aria-current', row.current ? 'page' : null)
      attr(more, 'aria-label', t('side.more', { title: row.title }))
      if (drawn === row.mark) return
      drawn = row.mark
      fill(mark, markOf(row.mark))
    }

    const entries = () => [
      { label: t('side.rename'), icon: 'pencil', action: rename },
      { label: t('side.download'), icon: 'download', action: () => actions.download(row.id) },
      { label: t('side.delete'), icon: 'trash', danger: true, action: () => actions.remove(row.id) },
    ]

    function rename() {
      const { id } = row
      const back = () => {
        field.replaceWith(open)
        open.focus()
      }
      const field = titleField(row.title, (value) => actions.rename(id, value), back)
      open.replaceWith(field)
      field.select()
    }

    return { el, update }
  }

  /** @param {string} mark */
  function markOf(mark) {
    if (!mark) return null
    const sign = mark === 'busy' ? h('span.spinner') : h(`span.dot.${mark === 'asking' ? 'warn' : 'bad'}`)
    sign.title = t(`side.${mark}`)
    return [sign, h('span.sr-only', null, t(`side.${mark}`))]
  }

  /**
   * Rename in place: Enter and leaving keep the new title, Escape the old one.
   * @param {string} value @param {(value: string) => void} save @param {() => void} close
   */
  function titleField(value, save, close) {
    let over = false
    const end = (/** @type {boolean} */ keep) => {
      if (over) return
      over = true
      const next = field.value.trim()
      if (keep && next && next !== value) save(next)
      close()
    }
    const label = t('side.title')
    const field = h('input.input.title-edit', { value, 'aria-label': label, autocomplete: 'off', onblur: () => end(true), onkeydown })
    /** @param {KeyboardEvent} event */
    function onkeydown(event) {
      if (event.isComposing || event.keyCode === 229) return
      if (event.key === 'Enter') end(true)
      if (event.key === 'Escape') end(false)
    }
    return field
  }

  /** The server at the foot of the list; opens the settings. @param {import('./types').Actions} actions */
  function serverButton(actions) {
    const dot = h('span.dot')
    const host = h('b')
    const words = h('span')
    const el = h('button.button.ghost', { type: 'button', onclick: () => actions.openSettings() },
      dot, h('span.server-line', null, host, words), h('span.sr-only', null, t('settings.title')), icon('tune'))
    attr(el, 'title', t('settings.title'))

    /** @param {any} server */
    function update(server) {
      dot.className = `dot ${toneOf(server)}`
      text(host, server.url.replace(/^https?:\/\//, ''))
      text(words, wordsOf(server))
    }

    return { el, update }
  }

  /** The line over the thread: the session's title, and what it has used so far. @param {import('./types').Actions} actions */
  function headerView(actions) {
    const side = iconButton('panel', t('side.show'), { onclick: () => actions.toggleSide(), 'aria-controls': 'side' })
    const title = h('button.top-title', { type: 'button', title: t('session.rename'), onclick: rename })
    const heading = h('h2', null, title)
    const meter = h('span')
    const fresh = iconButton('plus', t('side.new'), { onclick: () => actions.newSession() })
    const el = h('header.top', null, side, heading, h('div.top-meter', null, meter, fresh))
    /** @type {any} */ let last = null

    /** @param {any} state */
    function update(state) {
      last = state
      const { session } = state
      text(title, session.title || t('session.untitled'))
      side.hidden = state.sideOpen
      attr(side, 'aria-expanded', state.sideOpen)
      fresh.hidden = state.sideOpen
      heading.hidden = !session.messages?.length
      const usage = session.usage ?? {}
      text(meter, usage.total_tokens ? t('session.tokens', { n: usage.total_tokens }) : '')
      const { prompt_tokens: input = 0, completion_tokens: output = 0, calls = 0 } = usage
      const split = t('session.tokensTitle', { input: count(input), output: count(output), calls })
      attr(meter, 'title', usage.total_tokens ? split : null)
    }

    function rename() {
      const { id, title: old = '' } = last.session
      const back = () => {
        field.replaceWith(title)
        title.focus()
      }
      const field = titleField(old, (value) => actions.rename(id, value), back)
      title.replaceWith(field)
      field.select()
    }

    return { el, update }
  }

  return { sidebarView, headerView }
})
