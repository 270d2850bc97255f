// The session as it is: JSON, opened branch by branch, with a search over names and values. Only what is open is made,
// so a session of some megabytes costs nothing until it is looked into.

yaa.define('ui/inspector/json', ['ui/h', 'ui/inspector/text', 'ui/popup'], (dom, { t }, popup) => {
  const { h, fill, iconButton, text } = dom
  const FIRST = 200
  const MAX_TEXT = 400
  const MOST_FOUND = 200

  function jsonView() {
    const field = h('input.input', { type: 'search', placeholder: t('json.search'), 'aria-label': t('json.search'), oninput: draw,
      autocomplete: 'off', spellcheck: false })
    const note = h('p.hint', { role: 'status' })
    const tree = h('div.json')
    /** @type {any} */ let session = null
    let drawn = ''
    const copy = iconButton('copy', t('json.copy'), { onclick: () => popup.copy(JSON.stringify(session, null, 2), copy) })
    const el = h('div.inspect-view', null, h('div.json-head', null, h('h3', null, t('inspect.json')), copy), field, note, tree)

    /** @param {import('../types').State} state */
    function update(state) {
      session = state.session
      const { id, rev, status, messages } = session
      const key = JSON.stringify([id, rev, status, messages.length, JSON.stringify(messages.at(-1) ?? null).length])
      if (key === drawn) return
      drawn = key
      draw()
    }

    function draw() {
      const wanted = field.value.trim().toLowerCase()
      if (!wanted) {
        text(note, '')
        return fill(tree, h('ul', null, Object.entries(session).map(([name, value]) => nodeView(name, value, 0))))
      }
      const found = search(session, wanted)
      text(note, t('json.found', { n: found.length >= MOST_FOUND ? `${MOST_FOUND}+` : String(found.length) }))
      fill(tree, h('ul', null, found.map(({ path, value }) => nodeView(path, value, 0))))
    }

    return { el, update }
  }

  /** @param {any} root @param {string} wanted lower case @returns {{path: string, value: any}[]} */
  function search(root, wanted) {
    /** @type {{path: string, value: any}[]} */
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

  /** @param {string} name @param {any} value @param {number} depth @returns {any} */
  function nodeView(name, value, depth) {
    if (typeof value !== 'object' || value === null) return h('li', null, h('b', null, name), ': ', valueView(value))
    const entries = Object.entries(value)
    const kind = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`
    const inner = h('ul')
    const hint = briefOf(value)
    const el = h('details', { ontoggle: make }, h('summary', null, h('b', null, name), ` ${kind} `, h('span.json-brief', null, hint)),
      inner)
    let made = false
    function make() {
      if (!el.open || made) return
      made = true
      fill(inner, entries.slice(0, FIRST).map(([key, one]) => nodeView(key, one, depth + 1)))
      if (entries.length > FIRST) inner.append(h('li', null, moreButton(inner, entries, depth)))
    }
    return h('li', null, el)
  }

  /** @param {any} inner @param {[string, any][]} entries @param {number} depth */
  function moreButton(inner, entries, depth) {
    const button = h('button.button.small', { type: 'button', onclick: () => {
      button.parentElement.remove()
      inner.append(...entries.slice(FIRST).map(([key, one]) => nodeView(key, one, depth + 1)))
    } }, t('json.more', { n: entries.length - FIRST }))
    return button
  }

  /** What tells one object of a list from the others. @param {any} value */
  function briefOf(value) {
    return [value.role, value.name, value.id, value.function?.name, value.op, value.state]
      .filter((one) => typeof one === 'string').slice(0, 2).join(' · ')
  }

  /** @param {any} value */
  function valueView(value) {
    const kind = value === null ? 'null' : typeof value
    if (kind !== 'string' || value.length <= MAX_TEXT) return h('span', { 'data-kind': kind },
      kind === 'string' ? JSON.stringify(value) : String(value))
    const start = `${JSON.stringify(value.slice(0, 80)).slice(0, -1)}…" `
    const length = h('span.json-brief', null, t('page.length', { n: value.length }))
    return h('details.json-text', null, h('summary', null, h('span', { 'data-kind': kind }, start), length),
      h('pre', { tabIndex: 0 }, value))
  }

  return { jsonView, search }
})
