// Search over every session of this browser: what was typed is looked for in titles and contents, newest sessions
// first, and the list grows while it is looked. A session that was read once is kept folded until it changes.

yaa.define('ext/search/results', ['ui/dom', 'ui/i18n', 'ui/popup', 'ext/search/find-bar', 'core/search', 'ext/search/style'], (dom, { t }, { say }, find, search) => {
  const { h, list, text, hide, fill, attr } = dom
  /** Sessions read from storage at once. */
  const TOGETHER = 8
  /** So many are listed, and as many again when more are asked for. */
  const SHOWN = 60
  /** So long at a time it is looked, or a key would wait; what was found is drawn now and then. */
  const [AT_ONCE_MS, DRAW_MS] = [12, 200]

  /** @type {Map<string, {updated: number, pages: Page[]}>} */
  const read = new Map()

  /** @param {import('../../ui/types').CommandContext} context @returns {any} */
  function resultsView(context) {
    const count = h('p.found-count', { hidden: true })
    const rows = h('ul.found-list')
    const rest = h('button.button.small.ghost', { type: 'button', onclick: more })
    const el = h('div', { hidden: true }, count, rows, rest)
    /** @type {{found: any[], query: string, words: string[]}} */ let looked
    let shown = 0
    let turn = 0
    const here = () => { for (const row of rows.children) mark(row) }
    context.app.watchers.add(({ whole }) => { if (whole && !el.hidden) here() })

    /** Is it the one that is open? @param {any} row */
    const mark = (row) => attr(row.firstChild, 'data-current', row.dataset.id === context.app.current.session.id)

    /** @param {string} query '' ends the search */
    async function update(query) {
      const mine = ++turn
      const words = search.terms(query)
      el.hidden = !words.length
      if (!words.length) return fill(rows)
      /** @type {any[]} */ const found = []
      looked = { found, query, words }
      shown = SHOWN
      const heads = context.app.sessionStore.heads()
      let [since, drawn] = [performance.now(), 0]
      for (let at = 0; at < heads.length; at += TOGETHER) {
        const some = await Promise.all(heads.slice(at, at + TOGETHER).map((head) => lookIn(head, words).catch(console.warn))) // one that is odd hides no other
        if (mine !== turn) return
        found.push(...some.filter(Boolean))
        if (performance.now() - since < AT_ONCE_MS) continue
        if (performance.now() - drawn > DRAW_MS) {
          draw()
          drawn = performance.now()
        }
        await new Promise((later) => setTimeout(later)) // what was read before is here at once
        if (mine !== turn) return
        since = performance.now()
      }
      draw()
      const said = t('search.count', { n: found.length })
      const there = new Set(heads.map(({ id }) => id))
      for (const id of read.keys()) if (!there.has(id)) read.delete(id)
      count.hidden = false
      text(count, said)
      say(said)
    }

    /** The places are only looked up where they are shown. */
    function draw() {
      const { found, query, words } = looked
      const best = [...found].sort((a, b) => b.score - a.score || b.updated - a.updated).slice(0, shown)
      for (const one of best) one.hits ??= search.searchSession(one.in, words)?.hits
      list(rows, best.map((one) => ({ ...one, query, title: search.splitMatches(one.in.title, words) })), (one) => one.id, () => foundView(context))
      hide(rest, best.length === found.length)
      text(rest, t('search.more', { n: Math.min(SHOWN, found.length - best.length) }))
      here()
    }

    /** The focus goes on to the first of them. */
    function more() {
      const first = shown
      shown += SHOWN
      draw()
      rows.children[first].querySelector('button').focus()
    }

    /** @param {Head} head @param {string[]} words */
    async function lookIn(head, words) {
      const title = head.title || t('session.untitled')
      const all = { title, pages: await pagesOf(head) }
      const found = search.searchSession(all, words, 0)
      return found && { score: found.score, in: all, id: head.id, updated: head.updated }
    }

    /** @param {Head} head @returns {Promise<Page[]>} */
    async function pagesOf({ id, updated }) {
      const known = read.get(id)
      if (known?.updated === updated) return known.pages
      const session = context.app.sessionStore.entry(id)?.session ?? await context.app.store.get(id)
      const pages = session ? search.allPages(session) : []
      read.set(id, { updated, pages })
      return pages
    }

    return { el, update }
  }

  /** One session that was found, and the best places in it. @param {import('../../ui/types').CommandContext} context */
  function foundView(context) {
    const title = h('span.row-title')
    const open = h('button.row-open', { type: 'button', onclick: () => jump({ id: '' }) }, title)
    const hits = h('ul')
    const el = h('li', null, h('div.row', null, open), hits)
    /** @type {any} */ let shown = null

    /** @param {{id: string, branch?: string}} hit */
    const jump = (hit) => jumpTo(context, shown.id, hit, shown.query)

    /** @param {any} next */
    function update(next) {
      shown = next
      fill(title, partsOf(next.title))
      attr(el, 'data-id', next.id)
      list(hits, next.hits, (_, i) => String(i), () => hitView(jump)) // one that has the focus stays
    }

    return { el, update }
  }

  /** @param {(hit: any) => void} jump */
  function hitView(jump) {
    /** @type {any} */ let hit = null
    const open = h('button.hit', { type: 'button', onclick: () => jump(hit) })

    /** @param {any} next */
    function update(next) {
      hit = next
      const where = hit.branch ? `${roleOf(hit.role)} · ${t('search.branch')}` : roleOf(hit.role)
      fill(open, h('b', null, where), ' ', partsOf(hit.parts))
    }

    return { el: h('li', null, open), update }
  }

  /** @param {string} role */
  const roleOf = (role) => t(role === 'user' ? 'thread.you' : role === 'error' ? 'thread.error' : 'app.name')

  /** @param {[string, boolean][]} parts */
  const partsOf = (parts) => parts.map(([part, hit]) => (hit ? h('mark', null, part) : part))

  /**
   * Open a session at a message, with what was searched for marked in it.
   * @param {import('../../ui/types').CommandContext} context @param {string} id
   * @param {{id: string, branch?: string}} hit in another branch: that one is opened @param {string} query
   */
  async function jumpTo({ app, actions }, id, hit, query) {
    await actions.open(id)
    if (hit.branch) await actions.branch('switchTo', hit.branch)
    if (hit.id) await find.show(app, hit.id, query)
  }

  return { resultsView, jumpTo }
})
