// Two runs side by side: this one and a branch of it or another session. Steps that are the same are one line; where
// they part, the words that differ are marked.

yaa.define('ext/inspector/compare-runs', ['ui/dom', 'ext/inspector/texts', 'ext/inspector/run-diff', 'core/branch-tree', 'core/diff', 'core/usage'], (
  dom, texts, runDiff, tree, diff, usage,
) => {
  const { h, list, icon, text } = dom
  const { t, count, duration, language } = texts
  const MAX_TEXT = 3000

  /** @param {import('../../ui/types').CommandContext} context @param {(id: string) => void} go */
  function compareView({ app }, go) {
    const select = h('select.input', { 'aria-label': t('compare.with'), onchange: compare })
    const result = h('div')
    /** @type {RunDiff | null} what is shown */ let shown = null
    const none = h('p.hint', { hidden: true }, t('compare.none'))
    const el = h('div.inspect-view', null, h('h3', null, t('inspect.compare')),
      h('label.field', null, h('span.label', null, t('compare.with')), select), none, result)
    let offered = ''
    let turn = 0

    /** @param {import('../../ui/types').State} state */
    function update({ session }) {
      const choices = choicesFor(session)
      const { id, rev, status, messages } = session
      const other = app.sessionStore.heads().find((head) => select.value === `session ${head.id}`) // another tab may go on with it
      const key = JSON.stringify([id, rev, status, choices, messages.length, messages.at(-1), other])
      if (key === offered) return
      offered = key
      const kept = select.value
      none.hidden = choices.length > 0
      select.disabled = !choices.length
      list(select, choices, ([value]) => value, ([value]) => {
        const option = h('option', { value })
        return { el: option, update: ([, label]) => text(option, label) }
      })
      if (choices.some(([value]) => value === kept)) select.value = kept
      compare()
    }

    /** Branches of this session first, then the other sessions, newest first. @param {Session} session @returns {[string, string][]} */
    function choicesFor(session) {
      const branches = tree.listBranches(session).filter((one) => one.id)
      const others = app.sessionStore.heads().filter((head) => head.id !== session.id && head.messages)
      return [
        .../** @type {[string, string][]} */ (branches
          .map((one, n) => [`branch ${one.id}`, one.name || t('compare.branch', { n: n + 1, words: wordsOf(one.messages) })])),
        .../** @type {[string, string][]} */ (others.map((head) => [`session ${head.id}`, head.title || t('session.untitled')])),
      ]
    }

    async function compare() {
      const mine = ++turn
      const session = app.past ?? app.current.session
      const other = await otherOf(session)
      if (mine !== turn) return
      shown = other && runDiff.compare(other, session)
      list(result, shown ? [...partsOf(shown)] : [], ([key]) => key, ([, make]) => make())
    }

    /**
     * Each with what it was made from: what is the same stays, with what is open in it and the focus.
     * @param {RunDiff} found @returns {[string, () => import('../../ui/types').View][]}
     */
    function partsOf(found) {
      const lead = () => still(found.first < 0 ? h('p.hint', null, t('compare.equal'))
        : h('button.button.small', { type: 'button', onclick: jump }, icon('down'), t('compare.first', { n: found.first + 1 })))
      const still = (/** @type {any} */ el) => ({ el, update() {} })
      return [
        [`totals ${JSON.stringify(found.totals)}`, () => still(totalsView(found.totals))], [`first ${found.first}`, lead],
        [`settings ${JSON.stringify(found.settings)}`, () => still(settingsView(found.settings))], ['steps', stepsView],
      ]
    }

    function stepsView() {
      const rows = h('ol.steps')
      const update = () => list(rows, grouped(shown?.rows ?? []), (row, i) => i + JSON.stringify(row), (row) => (
        { el: Array.isArray(row) ? sameView(row) : changeView(row, go), update() {} }))
      return { el: rows, update }
    }

    function jump() {
      const first = result.querySelector('[data-op]:not([data-op="same"])')
      first?.scrollIntoView({ block: 'center' })
      first?.focus()
    }

    /** @param {Session} session @returns {Promise<Session | null>} */
    async function otherOf(session) {
      const [kind, ...rest] = select.value.split(' ')
      const id = rest.join(' ')
      if (kind === 'session') return app.sessionStore.entry(id)?.session ?? app.store.get(id)
      const messages = kind === 'branch' ? tree.pathOf(session, id) : null
      return messages && { ...session, messages }
    }

    /** @param {string} what `session <id>` or `branch <id>` */
    function choose(what) {
      select.value = what
      compare()
    }

    return { el, update, choose }
  }

  /** The first words of a person in a branch. @param {Message[]} messages */
  function wordsOf(messages) {
    const first = messages.find((message) => typeof message?.content === 'string' && message.content)
    return String(first?.content ?? '').slice(0, 40)
  }

  /** @param {[RunTotals, RunTotals]} totals */
  function totalsView([before, after]) {
    const money = (/** @type {number} */ micro) => usage.money(micro, after.cost_unit || before.cost_unit, language())
    const figures = /** @type {[string, number, number, (n: number) => string][]} */ ([
      ['turns', before.turns, after.turns, count], ['calls', before.calls, after.calls, count],
      ['tokens', before.tokens, after.tokens, count],
      ['cost', before.cost_micro, after.cost_micro, money], ['time', before.ms, after.ms, duration],
    ])
    const columns = ['other', 'this', 'delta'].map((name) => h('th', { scope: 'col' }, t(`compare.${name}`)))
    const head = h('tr', null, h('td'), columns)
    const rows = figures.map(([name, from, to, write]) => {
      const delta = to === from ? '=' : `${to > from ? '+' : '−'}${write(Math.abs(to - from))}`
      return h('tr', null, h('th', { scope: 'row' }, t(`compare.${name}`)), h('td', null, write(from)), h('td', null, write(to)),
        h('td', null, delta))
    })
    return h('table.totals', null, h('thead', null, head), h('tbody', null, rows))
  }

  /** @param {RunDiff['settings']} settings */
  function settingsView(settings) {
    if (!settings.length) return h('div')
    const line = (/** @type {any} */ value) => (value === undefined ? '–' : JSON.stringify(value))
    return h('details.settings-diff', null, h('summary', null, t('compare.settings', { n: settings.length })),
      h('dl', null, settings.map(({ path, before, after }) => [
        h('dt', null, path), h('dd', null, h('del', null, line(before)), ' ', h('ins', null, line(after))),
      ])))
  }

  /** Runs of equal steps together. @param {RunRow[]} rows @returns {(RunRow | RunRow[])[]} */
  function grouped(rows) {
    /** @type {(RunRow | RunRow[])[]} */
    const found = []
    for (const row of rows) {
      const last = found.at(-1)
      if (row.op !== 'same') found.push(row)
      else if (Array.isArray(last)) last.push(row)
      else found.push([row])
    }
    return found
  }

  /** @param {RunRow[]} rows */
  function sameView(rows) {
    const names = rows.map(({ after }) => nameOf(/** @type {RunStep} */ (after))).join(' → ')
    return h('li.step', { 'data-op': 'same', title: names }, h('span.step-name', null, t('compare.same', { n: rows.length })),
      h('span.step-line', null, names))
  }

  /** @param {RunRow} row @param {(id: string) => void} go */
  function changeView({ op, before, after }, go) {
    const one = /** @type {RunStep} */ (after ?? before)
    const link = after ? h('button.link', { type: 'button', onclick: () => go(after.message) }, nameOf(one)) : nameOf(one)
    return h('li.step', { 'data-op': op, tabIndex: -1 }, h('div.step-name', null, h('span.badge', null, t(`compare.${op}`)), link),
      h('div.step-pair', null, sideView(before, after, false), sideView(after, before, true)))
  }

  /** @param {RunStep | undefined} own @param {RunStep | undefined} other @param {boolean} after */
  function sideView(own, other, after) {
    if (!own) return h('div.step-side.absent', null, t('compare.absent'))
    const parts = (/** @type {string} */ mine, /** @type {string} */ theirs) => {
      if (!other) return [mine]
      const found = diff.words(after ? theirs : mine, after ? mine : theirs)
      return (after ? found.after : found.before).map((part) => (part.changed ? h(after ? 'ins' : 'del', null, part.text) : part.text))
    }
    const args = own.kind === 'call' ? h('pre.step-args', { tabIndex: 0 }, parts(own.args, other?.args ?? '')) : null
    const words = own.text ? h('pre', { tabIndex: 0 }, parts(own.text.slice(0, MAX_TEXT), (other?.text ?? '').slice(0, MAX_TEXT))) : null
    return h('div.step-side', null, args, words)
  }

  /** @param {RunStep} one */
  const nameOf = (one) => (one.kind === 'call' ? one.name : t(`compare.kind.${one.kind}`))

  return { compareView }
})
