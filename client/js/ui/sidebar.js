// The sessions of this browser: pinned ones, then newest first by day, with a mark on those that run or wait. They can
// be searched, narrowed to a tag, and selected. Deleting is undone by the toast, so nothing asks "are you sure?".
// The header of the open session is here too.

yaa.define('ui/sidebar', [
  'ui/dom', 'ui/i18n', 'ui/popup', 'ui/connection-checks', 'ui/commands', 'core/usage',
], (dom, { t, count, duration, language }, { openMenu }, { toneOf, wordsOf }, commands, { ofSession, money }) => {
  const { h, icon, iconButton, list, text, attr, fill } = dom
  const DAY_MS = 86_400_000

  /** @param {import('./types').Actions} actions @returns {any} */
  function sidebarView(actions) {
    const groups = h('div')
    const none = h('p.side-note', { hidden: true }, t('side.empty'))
    const scroll = h('div.side-list', null, none, groups)
    /** @type {any} comes with the first selection */ let picking = null
    const find = searchField(groups, draw)
    const chips = chipRow(narrow)
    const server = serverButton(actions)
    const onkeydown = (/** @type {KeyboardEvent} */ { key }) => key === 'Escape' && picking?.end()
    const el = h('nav.side', { id: 'side', 'aria-label': t('side.label'), onkeydown },
      h('div.side-head', null, h('p.side-name', null, t('app.name')),
        iconButton('panel', t('side.hide'), { onclick: () => actions.toggleSide() }),
        iconButton('plus', t('side.new'), { onclick: () => actions.newSession() }, 'small')),
      h('div.side-find', null, find.el, chips.el), scroll,
      h('div.side-foot', null, server.el))
    /** @type {any[]} */ let sessions = []
    let filter = ''

    /** @param {any} state */
    function update(state) {
      sessions = state.sessions
      server.update(state.server)
      draw()
    }

    /** The same one again shows all. @param {string} value */
    function narrow(value) {
      filter = filter === value ? '' : value
      draw()
    }

    /** @param {string} id the first of several */
    async function select(id) {
      picking ??= await commands.run('sessions.select', groups, scroll, draw)
      picking?.begin(id)
    }

    function draw() {
      if (!sessions.some((row) => fits(row, filter))) filter = ''
      find.el.hidden = !sessions.length || !yaa.parts('results').length
      none.hidden = sessions.length > 0
      chips.update({ rows: groups.hidden ? [] : sessions, filter })
      picking?.update(sessions.map((row) => row.id))
      const rows = sessions.filter((row) => fits(row, filter)).map((row) => ({ ...row, picked: picking?.has(row.id) ?? null }))
      list(groups, grouped(rows), (group) => group.key, groupView)
    }

    /** @param {{key: string}} group */
    function groupView(group) {
      const rows = h('ul')
      const inner = h('section', null, h('h2', null, t(group.key)), rows)
      const make = () => rowView(actions, select)
      return { el: inner, update: (/** @type {any} */ next) => list(rows, next.rows, (row) => row.id, make) }
    }

    return { el, update, search: find.focus }
  }

  /** The field over the list; its results take the place of the list. @param {any} groups @param {() => void} draw */
  function searchField(groups, draw) {
    const label = t('search.label')
    const named = { 'aria-label': label, placeholder: label }
    const input = h('input.input.side-search', { type: 'search', ...named, autocomplete: 'off', oninput, onkeydown })
    const el = h('div.field-icon', null, icon('search'), input)
    /** @type {Promise<any> | null} one view, however fast one types */ let view = null

    async function oninput() {
      const results = await (view ??= yaa.part('results').then((one) => one?.resultsView(commands.context())))
      if (!results) return void (view = null)
      if (!results.el.isConnected) groups.after(results.el)
      groups.hidden = Boolean(input.value.trim())
      draw()
      results.update(input.value)
    }

    /** @param {KeyboardEvent} event */
    function onkeydown(event) {
      if (event.isComposing || event.key !== 'Escape' || !input.value) return
      event.preventDefault()
      input.value = ''
      oninput()
    }

    function focus() {
      input.focus()
      input.select()
    }

    return { el, focus }
  }

  /** @param {any} row @param {string} filter */
  function fits(row, filter) {
    if (filter === 'asking') return row.mark === 'asking'
    if (filter === 'archived') return row.archived
    return filter ? row.tags.includes(filter.slice(1)) : !row.archived || row.current
  }

  /** What the list can be narrowed to: those that wait, each tag, and what is in the archive. @param {(value: string) => void} choose */
  function chipRow(choose) {
    const el = h('div.chips', { role: 'group', 'aria-label': t('side.filter') })

    /** @param {{rows: any[], filter: string}} now */
    function update({ rows, filter }) {
      const waiting = rows.filter((row) => row.mark === 'asking').length
      const tags = [...new Set(rows.flatMap((row) => row.tags))].sort((a, b) => a.localeCompare(b))
      const all = tags.map((tag) => ({ value: `#${tag}`, label: tag }))
      const archived = rows.filter((row) => row.archived).length
      if (archived) all.push({ value: 'archived', label: t('side.archived', { n: archived }) })
      if (waiting && rows.length > 1) all.unshift({ value: 'asking', label: t('side.waiting', { n: waiting }) })
      el.hidden = !all.length
      list(el, all.map((one) => ({ ...one, on: one.value === filter })), (one) => one.value, chip)
    }

    /** @param {any} one */
    function chip(one) {
      const el = h('button.chip', { type: 'button', onclick: () => choose(one.value) })
      return { el, update: (/** @type {any} */ next) => (text(el, next.label), attr(el, 'aria-pressed', next.on)) }
    }

    return { el, update }
  }

  /** Pinned ones first, then by day. @param {any[]} sessions newest first */
  function grouped(sessions) {
    const today = new Date().setHours(0, 0, 0, 0)
    const week = today - 6 * DAY_MS
    const starts = [['side.today', today], ['side.yesterday', today - DAY_MS], ['side.week', week], ['side.older', -Infinity]]
    const pinned = sessions.filter((row) => row.pinned)
    /** @type {{key: string, rows: any[]}[]} */ const groups = pinned.length ? [{ key: 'side.pinned', rows: pinned }] : []
    for (const row of sessions.filter((one) => !one.pinned)) {
      const key = String(starts.find(([, from]) => row.updated >= from)?.[0] ?? 'side.older')
      const group = groups.find((one) => one.key === key)
      if (group) group.rows.push(row)
      else groups.push({ key, rows: [row] })
    }
    return groups
  }

  /** @param {import('./types').Actions} actions @param {(id: string) => void} select */
  function rowView(actions, select) {
    const title = h('span.row-title')
    const tags = h('span.row-tags')
    const mark = h('span.row-mark')
    const box = h('input.row-check', { type: 'checkbox' })
    const open = h('button.row-open', { type: 'button', onclick: visit, ondblclick: rename },
      mark, h('span.row-words', null, title, tags))
    const onclick = () => openMenu(more, entries())
    const more = iconButton('more', '', { 'aria-haspopup': 'menu', onclick }, 'ghost.small.row-more')
    const el = h('li.row', null, box, open, more)
    /** @type {any} */ let row = null
    let drawn = ''

    /** What is typed next is meant for it; a touched screen would show its keys over it. @param {any} event */
    async function visit({ pointerType }) {
      await actions.open(row.id)
      if (pointerType !== 'touch' && document.activeElement === open) actions.write()
    }

    /** @param {any} next */
    function update(next) {
      row = next
      text(title, row.title)
      attr(title, 'title', row.title)
      attr(el, 'data-current', row.current)
      attr(open, 'aria-current', row.current ? 'page' : null)
      attr(more, 'aria-label', t('side.more', { title: row.title }))
      box.hidden = row.picked === null
      box.checked = Boolean(row.picked)
      box.value = row.id
      attr(box, 'aria-label', t('side.pick', { title: row.title }))
      const words = [row.note, row.when, ...row.tags.map((/** @type {string} */ tag) => `#${tag}`)].filter(Boolean).join(' ')
      text(tags, words)
      tags.hidden = !words
      if (drawn === row.mark + row.badge) return
      drawn = row.mark + row.badge
      fill(mark, markOf(row.mark), row.badge && h(`span.badge${row.badge[2] ?? ''}`, { title: row.badge[1] }, row.badge[0]))
    }

    const entries = () => [
      { label: t(row.pinned ? 'side.unpin' : 'side.pin'), icon: 'pin', action: () => commands.run('session.pin', row.id) },
      { label: t('side.tags'), icon: 'tag', action: () => commands.run('session.tags', [row.id]) },
      { label: t(row.archived ? 'side.unarchive' : 'side.archive'), icon: 'folder', action: () => commands.run('session.archive', [row.id]) },
      { label: t('side.rename'), icon: 'pencil', action: rename },
      { label: t('side.export'), icon: 'download', action: () => commands.run('sessions.export', [row.id]) },
      { label: t('side.select'), icon: 'check', action: () => select(row.id) },
      { label: t('side.delete'), icon: 'trash', danger: true, action: () => actions.remove(row.id) },
    ]

    async function rename() {
      await yaa.load('commands')
      const { titleField } = yaa.use('ui/title-field')
      const { id } = row
      const back = () => {
        field.replaceWith(open)
        open.focus()
      }
      const field = titleField(row.title, (/** @type {string} */ value) => actions.rename(id, value), back)
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

  /** The line over the thread: the session's title, and what it has cost so far. @param {import('./types').Actions} actions */
  function headerView(actions) {
    const side = iconButton('panel', t('side.show'), { onclick: () => actions.toggleSide(), 'aria-controls': 'side' })
    const title = h('button.top-title', { type: 'button', title: t('session.rename'), onclick: rename })
    const heading = h('h2', null, title)
    const meter = h('span')
    const fresh = iconButton('plus', t('side.new'), { onclick: () => actions.newSession() })
    const menu = iconButton('more', t('session.menu'), { 'aria-haspopup': 'menu', onclick: () => openMenu(menu, entries()) })
    const el = h('header.top', null, side, heading, h('div.top-meter', null, meter, h('div.files-place'), menu, fresh))
    /** @type {any} */ let last = null

    /** @param {any} state */
    function update(state) {
      last = state
      const { session } = state
      text(title, state.title)
      side.hidden = state.sideOpen
      attr(side, 'aria-expanded', state.sideOpen)
      fresh.hidden = state.sideOpen
      heading.hidden = !session.messages?.length
      menu.disabled = heading.hidden && !commands.list().length // they come later
      const { total, prompt, completion, calls, cost_micro: cost, cost_unit: unit, ms } = ofSession(session)
      text(meter, cost ? money(cost, unit, language()) : '')
      const split = t('session.tokensTitle', { input: count(prompt), output: count(completion), calls })
      attr(meter, 'title', total ? [split, ms && t('session.time', { time: duration(ms) })].filter(Boolean).join('\n') : null)
    }

    /** What concerns the session as a whole is at both ends. */
    function entries() {
      const begun = last.session.messages.length > 0
      const kind = begun ? 'session' : 'empty'
      const all = commands.list().filter((one) => one.menu === kind || one.id === 'palette').map((one) => (
        { label: commands.titleOf(one), icon: one.icon ?? 'chevron', danger: one.danger, action: () => commands.run(one.id) }
      ))
      const rest = all.filter(({ danger }) => !danger)
      return [...(begun ? [{ label: t('side.rename'), icon: 'pencil', action: rename }] : []), ...rest, ...all.filter(({ danger }) => danger)]
    }

    async function rename() {
      await yaa.load('commands')
      const { titleField } = yaa.use('ui/title-field')
      const { id, title: old = '' } = last.session
      const back = () => {
        field.replaceWith(title)
        title.focus()
      }
      const field = titleField(old, (/** @type {string} */ value) => actions.rename(id, value), back)
      title.replaceWith(field)
      field.select()
    }

    return { el, update }
  }

  return { sidebarView, headerView }
})
