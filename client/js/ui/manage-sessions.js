// Actions on sessions of the list: pin, tag, and actions on several at once. Pins and tags are in the session (ext.pinned,
// ext.tags), so they travel with it.

yaa.define('ui/manage-sessions', [
  'ui/dom', 'ui/i18n', 'ui/popup', 'ui/dialog', 'ui/commands',
], (dom, { t }, { toast }, { openDialog, button }, commands) => {
  const { h, iconButton, text, list } = dom
  /** @typedef {import('./types').CommandContext} CommandContext */

  /** @param {CommandContext} context @param {string} [id] */
  async function pin({ app }, id = app.current.session.id) {
    await app.sessionStore.change(id, (session) => {
      const { pinned, ...ext } = session.ext ?? {}
      session.ext = pinned ? ext : { ...ext, pinned: true }
    })
  }

  /**
   * Into the archive, or out of it where all of them are there. When each was last used is kept: by that it counts as old.
   * @param {CommandContext} context @param {string[]} [ids] @param {boolean} [old] it was not a person who chose them
   */
  async function archive({ app }, ids = [app.current.session.id], old = false) {
    const used = new Map(app.sessionStore.heads().map((head) => [head.id, head.archived || head.updated]))
    const out = !old && ids.every((id) => app.sessionStore.heads().find((head) => head.id === id)?.archived)
    /** @param {boolean} into */
    async function put(into) {
      for (const id of ids) await app.sessionStore.change(id, (session) => {
        const { archived: _, ...ext } = session.ext ?? {}
        session.ext = into ? { ...ext, archived: used.get(id) ?? Date.now() } : ext
      }, true)
      await app.sessionStore.changed(...ids)
      app.draw()
    }
    await put(!out)
    if (!out) toast(t(old ? 'archive.old' : 'archive.done', { n: ids.length }), { label: t('side.undo'), action: () => put(false) })
  }

  /**
   * Give sessions their tags: all that are in use can be switched, new ones typed. What is switched holds, however the dialog
   * is left.
   * @param {CommandContext} context @param {string[]} [ids]
   */
  function tags({ app, state }, ids = [app.current.session.id]) {
    const rows = state().sessions
    const chosen = new Set(rows.filter((row) => ids.includes(row.id)).flatMap((row) => row.tags))
    const before = new Set(chosen)
    const known = new Set(rows.flatMap((row) => row.tags))
    const chips = h('div.chips.wrap', { role: 'group', 'aria-label': t('side.tags') })
    const input = h('input.input', { 'aria-label': t('tags.new'), placeholder: t('tags.new'), autocomplete: 'off', onkeydown })
    const form = h('div.group', null, chips,
      h('div.inline-row', null, input, button(t('tags.add'), add)), h('p.hint', null, t('tags.hint')))
    const el = openDialog({ title: t('tags.title', { n: ids.length }), body: form, buttons: [button(t('tags.done'), done, 'primary')], onclose: keep })
    draw()
    input.focus()

    function draw() {
      list(chips, [...known].sort(), (tag) => tag, chip)
      chips.hidden = !known.size
    }

    /** @param {string} tag */
    function chip(tag) {
      const toggle = () => {
        chosen[chosen.has(tag) ? 'delete' : 'add'](tag)
        draw()
      }
      const el = h('button.chip', { type: 'button', onclick: toggle }, tag)
      return { el, update: () => el.setAttribute('aria-pressed', String(chosen.has(tag))) }
    }

    function add() {
      for (const tag of input.value.split(/[,，;；]/).map(clean).filter(Boolean)) known.add(tag), chosen.add(tag)
      input.value = ''
      draw()
    }

    /** @param {KeyboardEvent} event */
    function onkeydown(event) {
      if (event.key !== 'Enter' || event.isComposing || event.keyCode === 229) return
      event.preventDefault()
      if (input.value.trim()) add()
      else done()
    }

    function done() {
      add()
      el.close()
    }

    async function keep() {
      if ([...known].every((tag) => chosen.has(tag) === before.has(tag))) return
      for (const id of ids) await app.sessionStore.change(id, (session) => retag(session, before, chosen), true)
      await app.sessionStore.changed(...ids)
    }
  }

  /**
   * Only what was switched changes: of several sessions each keeps what the others do not have.
   * @param {Session} session @param {Set<string>} before @param {Set<string>} after
   */
  function retag(session, before, after) {
    const own = (session.ext?.tags ?? []).filter((/** @type {string} */ tag) => after.has(tag) || !before.has(tag))
    const added = [...after].filter((tag) => !before.has(tag) && !own.includes(tag))
    session.ext = { ...session.ext, tags: [...own, ...added] }
    if (!session.ext.tags.length) delete session.ext.tags
  }

  /** @param {string} word */
  const clean = (word) => word.replace(/^#+/, '').replace(/\s+/g, ' ').trim().slice(0, 40)

  /**
   * Which sessions are selected, while some are; the bar under the list says what can be done with them.
   * @param {CommandContext} context @param {any} groups holds the boxes @param {any} above the bar @param {() => void} draw
   */
  function select(context, groups, above, draw) {
    /** @type {Set<string> | null} */ let picked = null
    /** @type {string[]} */ let all = []
    /** @type {any} */ let bar = null
    let anchor = ''
    groups.addEventListener('click', (/** @type {any} */ event) => event.target.matches('input[type=checkbox]') && pick(event))

    /** @param {string} id the first one */
    function begin(id) {
      picked = new Set([id])
      anchor = id
      draw()
      if (bar) return
      bar = selectionBar(context, { all: () => all, set })
      above.after(bar.el)
      draw()
    }

    /** @param {string[] | null} ids null ends it */
    function set(ids) {
      picked = ids && new Set(ids)
      if (!ids) bar?.el.remove()
      if (!ids) bar = null
      draw()
    }

    /** One more or one less; with Shift everything in between. @param {any} event */
    function pick({ target, shiftKey }) {
      const ids = [...groups.querySelectorAll('input[type=checkbox]')].map((box) => box.value)
      const [from, to] = [ids.indexOf(anchor), ids.indexOf(target.value)].sort((a, b) => a - b)
      const range = shiftKey && from >= 0 ? ids.slice(from, to + 1) : [target.value]
      anchor = target.value
      for (const id of range) picked?.[target.checked ? 'add' : 'delete'](id)
      draw()
    }

    /** @param {string[]} ids of the sessions there are */
    function update(ids) {
      all = ids
      if (picked) picked = new Set(ids.filter((id) => picked?.has(id)))
      bar?.update([...picked ?? []])
    }

    return { begin, update, end: () => { if (picked) set(null) }, has: (/** @type {string} */ id) => (picked ? picked.has(id) : null) }
  }

  /**
   * The bar under the list while sessions are selected.
   * @param {CommandContext} context @param {{all: () => string[], set: (ids: string[] | null) => void}} pick
   */
  function selectionBar(context, pick) {
    /** @type {string[]} */ let ids = []
    const count = h('b')
    /** @param {string} name @param {string} label @param {() => any} onclick */
    const act = (name, label, onclick) => iconButton(name, t(label), { onclick })
    const compare = act('compare', 'select.compare', () => commands.run('sessions.compare', ids))
    const remove = async () => {
      await removeAll(context, ids)
      pick.set(null)
    }
    const some = [
      act('tag', 'side.tags', () => commands.run('session.tags', ids)), act('folder', 'side.archive', () => commands.run('session.archive', ids)),
      act('download', 'side.export', () => commands.run('sessions.export', ids)),
      compare, act('trash', 'side.delete', remove),
    ]
    const all = button(t('select.all'), () => pick.set(ids.length === pick.all().length ? [] : pick.all()), 'small')
    const el = h('div.select-bar', { role: 'toolbar', 'aria-label': t('side.select') },
      h('div', null, count, all, iconButton('x', t('select.done'), { onclick: () => pick.set(null) })), h('div', null, some))

    /** @param {string[]} now */
    function update(now) {
      ids = now
      text(count, t('select.count', { n: ids.length }))
      for (const one of some) one.disabled = !ids.length
      compare.disabled = ids.length !== 2 || !commands.list().some((one) => one.id === 'sessions.compare')
    }

    return { el, update }
  }

  /** @param {CommandContext} context @param {string[]} ids */
  async function removeAll({ app, actions }, ids) {
    /** @type {Session[]} */ const gone = []
    for (const id of ids) {
      const session = await app.sessionStore.remove(id, true)
      if (session) gone.push(session)
    }
    await app.sessionStore.changed(...ids)
    if (ids.includes(app.current.session.id)) app.show(app.sessionStore.fresh())
    const undo = async () => {
      for (const session of gone) await app.sessionStore.restore(session, true)
      await app.sessionStore.changed(...gone.map(({ id }) => id))
      actions.draw()
    }
    toast(t('select.deleted', { n: gone.length }), { label: t('side.undo'), action: undo })
  }

  return { pin, tags, select, archive, removeAll }
})
