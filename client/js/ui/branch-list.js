// All branches of the session in one list, indented as they hang on one another: choose, name, mark, delete.

yaa.define('ui/branch-list', ['ui/dom', 'ui/i18n', 'ui/dialog', 'ui/message', 'core/branch-tree', 'i18n/branches', 'css/branches'], (dom, { t, moment }, { openDialog }, { plainText }, tree) => {
  const { h, icon, iconButton, list, text, attr } = dom
  const BRIEF = 80

  /** @param {import('./types').App} app @param {import('./types').Actions} actions */
  function openTree(app, actions) {
    const rows = h('ul.paths', { 'aria-label': t('paths.title') })
    const none = h('p.hint', null, t('paths.none'))
    const lead = h('p.hint', null, t('paths.lead'))
    const el = openDialog({ title: t('paths.title'), body: [lead, none, rows], wide: true })
    draw()

    function draw() {
      const { session } = app.current
      const all = tree.listBranches(session)
      none.hidden = all.length > 1
      lead.hidden = !none.hidden
      list(rows, all.map((row) => ({ ...row, session })), (row) => row.id ?? '', () => rowView({ choose, change }))
    }

    /** @param {string} id */
    async function choose(id) {
      el.close()
      await actions.branch('switchTo', id)
      app.views.thread.follow()
    }

    /** @param {string} name of a branch action @param {any[]} rest */
    async function change(name, ...rest) {
      await actions.branch(name, ...rest)
      draw()
    }
  }

  /** @param {{choose: (id: string) => void, change: (name: string, ...rest: any[]) => void}} does */
  function rowView({ choose, change }) {
    /** @type {any} */ let row = null
    const title = h('span.path-title')
    const figures = h('span.path-figures')
    const open = h('button.path-open', { type: 'button', onclick: () => row.id && choose(row.id) }, title, figures)
    const star = iconButton('star', t('paths.favourite'), { onclick: () => change('label', row.id, { favourite: !row.favourite }) })
    const name = iconButton('pencil', t('paths.name'), { onclick: rename })
    const trash = iconButton('trash', t('paths.delete'), { onclick: () => change('removeBranch', row.id) })
    const el = h('li.path-row', null, icon('branch'), open, star, name, trash)

    /** @param {any} next */
    function update(next) {
      row = next
      const waiting = (row.state.interrupts ?? []).some((/** @type {Interrupt} */ one) => !one.answer)
      const last = row.messages.at(-1)
      text(title, row.name || briefOf(row) || t('paths.nothing'))
      text(figures, [
        row.id === null ? t('paths.active') : '', t('paths.items', { n: row.messages.filter((/** @type {Message} */ one) => one.role !== 'tool').length }),
        last?.at ? moment(last.at) : '', waiting ? t('paths.waiting') : '',
      ].filter(Boolean).join(' · '))
      el.style.setProperty('--depth', String(Math.min(row.depth, 8)))
      attr(el, 'data-active', row.id === null)
      attr(open, 'aria-current', row.id === null ? 'true' : null)
      attr(open, 'title', row.id === null ? null : t('paths.open'))
      attr(star, 'aria-pressed', row.favourite)
      trash.hidden = row.id === null
    }

    function rename() {
      const back = () => {
        field.replaceWith(open)
        name.focus()
      }
      let over = false
      const end = (/** @type {boolean} */ keep) => {
        if (over) return
        over = true
        const words = field.value.trim()
        back()
        if (keep && words !== row.name) change('label', row.id, { name: words })
      }
      const field = h('input.input', { value: row.name, 'aria-label': t('paths.nameLabel'), autocomplete: 'off', onblur: () => end(true), onkeydown })
      /** @param {KeyboardEvent} event */
      function onkeydown(event) {
        if (event.isComposing || event.keyCode === 229) return
        if (event.key !== 'Enter' && event.key !== 'Escape') return
        event.preventDefault() // it would press the button that gets the focus, or close the dialog
        end(event.key === 'Enter')
      }
      open.replaceWith(field)
      field.focus()
      field.select()
    }

    return { el, update }
  }

  /** What a branch begins with, in its own words. @param {{messages: Message[], id: string | null}} row */
  function briefOf({ messages, id }) {
    if (id === null) return t('paths.beginning')
    const said = messages.find((message) => message.role !== 'tool') ?? messages[0]
    if (!said) return ''
    const words = plainText(said.content).trim() || said.tool_calls?.map((call) => call.function.name).join(', ') || ''
    // an answer is Markdown: what its first line says, without its marks
    const plain = said.role === 'assistant' ? words.replace(/[*_`#>]+/g, '').trim() : words
    return plain.split('\n')[0].slice(0, BRIEF)
  }

  return { openTree }
})
