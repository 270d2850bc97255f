// Find in this session: a bar of its own that also reaches what the browser's find does not (folded cards, articles
// that are not drawn yet). The browser's own find is left alone. Matches are painted, not wrapped: no element changes.

yaa.define('ext/search/find-bar', ['ui/dom', 'ui/i18n', 'ui/popup', 'core/search', 'ext/search/texts', 'ext/search/style'], (dom, { t }, { say }, search) => {
  const { h, iconButton, text, uid } = dom
  const BLOCKS = 'p, li, td, th, pre, h1, h2, h3, h4, h5, h6, div, summary, button, dt, dd'
  /** So many frames an article may need to be drawn. */
  const FRAMES = 40
  /** @type {any} */ let bar = null

  /** @param {import('../../ui/types').CommandContext} context @param {string} [words] */
  function open({ app }, words = String(getSelection() ?? '').split('\n')[0].trim()) {
    bar ??= findBar(app)
    app.views.header.el.after(bar.el)
    bar.start(words)
  }

  /** @param {import('../../ui/types').App} app */
  function findBar(app) {
    const id = uid('find')
    const label = t('find.label')
    const named = { 'aria-label': label, placeholder: label }
    const input = h('input.input', { id, type: 'search', ...named, autocomplete: 'off', oninput: look, onkeydown })
    const count = h('span.count')
    const previous = iconButton('down', t('find.previous'), { onclick: () => step(-1) }, 'ghost.small.up')
    const next = iconButton('down', t('find.next'), { onclick: () => step(1) })
    const end = iconButton('x', t('find.close'), { onclick: close })
    const el = h('div.find-bar', { role: 'search', 'aria-label': label }, input, count, previous, next, end)
    /** Ids of the messages that have what is looked for. @type {string[]} */
    let found = []
    let at = -1
    /** Which match in this message. */
    let place = 0

    /** @param {string} words */
    function start(words) {
      if (words) input.value = words
      input.focus()
      input.select()
      look()
    }

    function look() {
      const words = search.terms(input.value)
      const session = app.current.session
      const pages = words.length ? search.pages(session) : []
      found = pages.filter(({ folded }) => words.every((word) => folded.includes(word))).map((page) => page.id)
      at = -1
      place = 0
      clear()
      text(count, words.length ? t('find.found', { n: found.length }) : '')
    }

    /** @param {number} by */
    async function step(by) {
      if (!found.length) return say(t('find.found', { n: 0 }))
      const inside = at >= 0 ? places(found[at], input.value) : []
      if (inside[place + by]) place += by
      else {
        at = (at + by + found.length + (at < 0 && by < 0 ? 1 : 0)) % found.length
        place = by > 0 ? 0 : -1
      }
      place = await show(app, found[at], input.value, place)
      const words = t('find.at', { n: at + 1, of: found.length })
      text(count, words)
      say(words)
    }

    function close() {
      clear()
      el.remove()
      const article = at >= 0 && document.getElementById(`message-${found[at]}`)
      if (article) article.focus()
      else app.views.composer.focus()
    }

    /** @param {KeyboardEvent} event */
    function onkeydown(event) {
      if (event.isComposing || event.keyCode === 229) return
      if (event.key === 'Enter') step(event.shiftKey ? -1 : 1)
      else if (event.key === 'Escape') close()
      else return
      event.preventDefault()
    }

    return { el, start }
  }

  /**
   * Bring a message into view with its matches painted.
   * @param {import('../../ui/types').App} app @param {string} id @param {string} query @param {number} [place] which match; -1 is the last
   * @returns {Promise<number>} the match that is shown
   */
  async function show(app, id, query, place = 0) {
    let article = app.views.thread.reveal(id)
    for (let frame = 0; !article && frame < FRAMES; frame++) {
      await new Promise(requestAnimationFrame)
      article = app.views.thread.reveal(id)
    }
    if (!article) return 0
    const all = await unfolded(article, id, query)
    const now = place < 0 ? all.length - 1 : place
    paint(all, now)
    all[now]?.startContainer.parentElement?.scrollIntoView({ block: 'center' })
    if (!document.activeElement?.closest('.find-bar')) article.focus({ preventScroll: true })
    return Math.max(0, now)
  }

  /**
   * The matches, with what hides them opened. What a card holds is drawn when it is opened, so where nothing matches
   * every card is looked into.
   * @param {Element} article @param {string} id @param {string} query
   */
  async function unfolded(article, id, query) {
    const words = search.terms(query)
    const closed = () => /** @type {HTMLDetailsElement[]} */ ([...article.querySelectorAll('details:not([open])')])
    const has = (/** @type {Element} */ one) => words.some((word) => search.foldCase(one.textContent).includes(word))
    closed().filter(has).forEach((one) => { one.open = true })
    if (places(id, query).length) return places(id, query)
    const opened = closed()
    opened.forEach((one) => { one.open = true })
    for (let frame = 0; frame < FRAMES && !places(id, query).length; frame++) await new Promise(requestAnimationFrame)
    opened.filter((one) => !has(one)).forEach((one) => { one.open = false })
    return places(id, query)
  }

  /** The matches in an article as they are drawn. @param {string} id @param {string} query @returns {Range[]} */
  function places(id, query) {
    const article = document.getElementById(`message-${id}`)
    if (!article) return []
    /** @type {{node: Text, from: number}[]} */ const nodes = []
    let whole = ''
    let block = null
    const walker = document.createTreeWalker(article, NodeFilter.SHOW_TEXT)
    while (walker.nextNode()) {
      const node = /** @type {Text} */ (walker.currentNode)
      const own = node.parentElement?.closest(BLOCKS)
      if (!node.parentElement?.checkVisibility({ contentVisibilityAuto: false }) || node.parentElement.closest('.sr-only')) continue
      if (own !== block) whole += '\n'
      block = own
      nodes.push({ node, from: whole.length })
      whole += node.data
    }
    return search.ranges(whole, search.terms(query)).map(([from, to]) => rangeOf(nodes, from, to))
  }

  /** @param {{node: Text, from: number}[]} nodes @param {number} from @param {number} to */
  function rangeOf(nodes, from, to) {
    const range = document.createRange()
    const first = nodes.findLast((one) => one.from <= from) ?? nodes[0]
    const last = nodes.findLast((one) => one.from < to) ?? first
    range.setStart(first.node, Math.min(from - first.from, first.node.length))
    range.setEnd(last.node, Math.min(to - last.from, last.node.length))
    return range
  }

  /** @param {Range[]} all @param {number} now */
  function paint(all, now) {
    if (!globalThis.CSS?.highlights) return
    CSS.highlights.set('found', new Highlight(...all))
    const one = new Highlight(...all.slice(now, now + 1))
    one.priority = 1
    CSS.highlights.set('found-now', one)
  }

  function clear() {
    CSS.highlights?.delete('found')
    CSS.highlights?.delete('found-now')
  }

  return { open, show, clear }
})
