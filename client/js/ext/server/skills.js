// Skills of the server: which are offered to sessions that say nothing else, and what is wrong with them.

yaa.define('ext/server/skills', ['ui/dom', 'ext/server/texts', 'ui/commands', 'ui/dialog', 'ext/server/parts', 'ext/server/values'], ({ h }, { t }, commands, { button }, { row, badge, problemLine, attempt }) => {
  const PATH = ['session', 'config', 'yaa', 'skills_off']
  /** Instead of names: none is offered. */
  const ALL = '*'

  /** @param {any} store */
  function part(store) {
    const list = h('ul.host-rows')
    const none = h('p.hint', null, t('host.skills.none'))
    const note = problemLine()
    const el = h('div.host-part', null, h('p.hint', null, t('host.skills.lead')), list, none, note,
      h('div', null, button(t('host.skills.open'), () => commands.run('skills'))))

    function update() {
      const info = store.app.server.info() ?? {}
      const off = new Set(info.defaults?.config?.yaa?.skills_off ?? [])
      const skills = info.skills ?? []
      list.replaceChildren(...skills.map((/** @type {any} */ one) => {
        const box = h('input', { type: 'checkbox', checked: !off.has(one.name) && !off.has(ALL), onchange: () => change(one.name, box) })
        return row([h('label.check', null, box, h('b', null, one.name), ' ', badge(one.source)), h('p.hint', null, one.description)], [])
      }))
      list.hidden = !skills.length
      none.hidden = skills.length > 0

      /** @param {string} name @param {any} box */
      async function change(name, box) {
        const next = new Set(off.has(ALL) ? skills.map((/** @type {any} */ one) => one.name) : off)
        if (box.checked) next.delete(name)
        else next.add(name)
        await attempt(note, () => store.change([next.size ? { path: PATH, value: [...next] } : { path: PATH, remove: true }]))
        if (!note.hidden) box.checked = !box.checked
      }
    }

    return { el, update }
  }

  return { part }
})
