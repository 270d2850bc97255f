// The session as JSON, opened branch by branch, with a search over names and values. Only open branches are rendered, so a
// session of megabytes costs nothing until then.

yaa.define('ext/inspector/json-view', ['ui/dom', 'ext/inspector/texts', 'ui/popup'], (dom, { t }, popup) => {
  const { h, list, grow, iconButton, text, attr } = dom
  const FIRST = 200
  const MAX_TEXT = 400
  const MOST_FOUND = 200

  function jsonView() {
    const field = h('input.input', { type: 'search', placeholder: t('json.search'), 'aria-label': t('json.search'), oninput: draw,
      autocomplete: 'off', spellcheck: false })
    const note = h('p.hint', { role: 'status' })
    const rows = h('ul')
    const tree = h('div.json', null, rows)
    /** @type {any} */ let session = null
    let drawn = ''
    const copy = iconButton('copy', t('json.copy'), { onclick: () => popup.copy(JSON.stringify(session, null, 2), copy) })
    const el = h('div.inspect-view', null, h('div.json-head', null, h('h3', null, t('inspect.json')), copy), field, note, tree)

    /** @param {import('../../ui/types').State} state */
    function update(state) {
      session = state.session
      const { id, rev, status, messages } = session
      const key = JSON.stringify([id, rev, status, messages.length, JSON.stringify(messages.at(-1) ?? null).length])
      if (key === drawn && field.value) return // a search reads all of it, the rest what is open
      drawn = key
      draw()
    }

    function draw() {
      const wanted = field.value.trim().toLowerCase()
      const found = wanted ? search(session, wanted) : rowsOf(session)
      text(note, wanted ? t('json.found', { n: found.length >= MOST_FOUND ? `${MOST_FOUND}+` : String(found.length) }) : '')
      list(rows, found, ({ path, value }, i) => `${wanted && i} ${kindOf(value)} ${path}`, nodeView)
    }

    return { el, update }
  }

  /** @typedef {{path: string, value: any}} Row a name or a way, and what is there */

  /** @param {any} root @param {string} wanted lower case @returns {Row[]} */
  function search(root, wanted) {
    /** @type {Row[]} */
    const found = []
    /** @param {any} value @param {string} path @param {string} name */
    const visit = (value, path, name) => {
      if (found.length >= MOST_FOUND) return
      const inside = typeof value === 'object' && value !== null
      const hit = name.toLowerCase().includes(wanted) || (!inside && String(value).toLowerCase().includes(wanted))
      if (hit) found.push({ path, value })
      if (inside && !hit) for (const [key, one] of Object.entries(value)) visit(one, path ? `${path}.${key}` : key, key)
    }
    visit(root, '', '')
    return found
  }

  /** What a row of it looks like: while that stays, the row does, and what is open in it. @param {any} value */
  const kindOf = (value) => (typeof value === 'object' && value ? 'inner' : typeof value === 'string' && value.length > MAX_TEXT ? 'long' : 'plain')

  /** @param {any} value @returns {Row[]} */
  const rowsOf = (value) => Object.entries(value).map(([path, one]) => ({ path, value: one }))

  /** @param {Row} row @returns {import('../../ui/types').View<Row>} */
  function nodeView({ path, value }) {
    const view = { inner: innerView, long: longView, plain: plainView }[kindOf(value)](path)
    return { el: h('li', null, view.el), update: (row) => view.update(row.value) }
  }

  /** @param {string} name */
  function innerView(name) {
    const size = h('span')
    const hint = h('span.json-brief')
    const inner = h('ul')
    const el = h('details', { ontoggle: draw }, h('summary', null, h('b', null, name), ' ', size, ' ', hint), inner)
    let most = FIRST
    /** @type {any} */ let value = null

    function draw() {
      if (!el.open) return
      const all = rowsOf(value)
      const shown = all.length > most ? [...all.slice(0, most), null] : all
      list(inner, shown, (one) => (one ? `${kindOf(one.value)} ${one.path}` : ''), (one) => (one ? nodeView(one) : moreView()))
    }

    function moreView() {
      const button = h('button.button.small', { type: 'button', onclick: () => (most = Infinity, draw()) })
      return { el: h('li', null, button), update: () => text(button, t('json.more', { n: Object.keys(value).length - most })) }
    }

    /** @param {any} now */
    function update(now) {
      value = now
      const n = Object.keys(value).length
      text(size, Array.isArray(value) ? `[${n}]` : `{${n}}`)
      text(hint, briefOf(value))
      draw()
    }

    return { el, update }
  }

  /** @param {string} name */
  function plainView(name) {
    const shown = h('span')

    /** @param {any} value */
    function update(value) {
      attr(shown, 'data-kind', value === null ? 'null' : typeof value)
      text(shown, typeof value === 'string' ? JSON.stringify(value) : String(value))
    }

    return { el: h('span', null, h('b', null, name), ': ', shown), update }
  }

  /** A long text, after its name. @param {string} name */
  function longView(name) {
    const start = h('span', { 'data-kind': 'string' })
    const length = h('span.json-brief')
    const pre = h('pre', { tabIndex: 0 })
    const el = h('details.json-text', null, h('summary', null, start, length), pre)

    /** @param {string} value */
    function update(value) {
      text(start, `${JSON.stringify(value.slice(0, 80)).slice(0, -1)}…" `)
      text(length, t('page.length', { n: value.length }))
      grow(pre, value)
    }

    return { el: h('span', null, h('b', null, name), ': ', el), update }
  }

  /** What tells one object of a list from the others. @param {any} value */
  function briefOf(value) {
    return [value.role, value.name, value.id, value.function?.name, value.op, value.state]
      .filter((one) => typeof one === 'string').slice(0, 2).join(' · ')
  }

  return { jsonView, search }
})
