// The skills of the open session: which are offered and switched on, which were used and have changed since, and their
// texts, in which nothing is invisible. Beside them what the model is told of the session's folder.

yaa.define('ext/skills/panel', [
  'ui/dom', 'ui/i18n', 'ui/popup', 'ui/dialog', 'core/file-names', 'ext/skills/texts', 'ext/skills/style',
], ({ h, fill }, { t }, { toast }, { openDialog, button }, { visible, hiddenParts }) => {
  /** @typedef {{name: string, description: string, source: string, hidden?: Record<string, number>, local?: boolean}} Offered */
  const ALL = '*'
  const SOURCES = ['home', 'folder', 'key', 'workspace', 'mcp']
  const HERE = ['same', 'changed', 'missing']

  /** @param {import('../../ui/types').CommandContext} context @param {() => void} save */
  function openSkills(context, save) {
    const { app } = context
    const entry = app.current
    const body = h('div.skills')
    /** The server's: as they were when the page was opened, then as they are. @type {Offered[]} */
    let own = listOf(app.server.info()?.skills)
    let reads = false
    let offeredPart = h('section')
    const buttons = [button(t('skills.save'), () => { dialog.close(); save() })]
    const dialog = openDialog({ title: t('skills.title'), body, wide: true, buttons: entry.session.messages.length ? buttons : [], onclose: () => tongue.disconnect() })
    /** Its words are those of the language it was opened in. */
    const tongue = new MutationObserver(() => {
      dialog.close()
      openSkills(context, save)
    })
    tongue.observe(document.documentElement, { attributeFilter: ['lang'] })

    /** @param {string} [focused] the name of the skill whose button had the focus */
    function overview(focused) {
      const { session } = entry
      const used = Object.entries(objectOf(objectOf(session.skills).used))
      reads = false
      offeredPart = offeredSection(!used.length)
      fill(body,
        told(session.instructions),
        used.length ? section('skills.used', 'skills.usedHint', used.map(([name, one]) => usedRow(name, objectOf(one)))) : null,
        offeredPart,
        session.skills?.more > 0 ? h('p.hint', null, t('skills.more', { n: session.skills.more })) : null)
      if (focused) body.querySelector(`[data-skill="${CSS.escape(focused)}"]`)?.focus()
    }

    /** @param {boolean} alone nothing was used either */
    function offeredSection(alone) {
      const offered = offeredTo(own, entry.session)
      if (offered.length) return section('skills.offered', 'skills.offeredHint', offered.map(offeredRow))
      return h('section', { hidden: !alone }, h('p', null, t('skills.none')))
    }

    /** @param {Offered} skill */
    function offeredRow({ name, description, source, hidden, local }) {
      const off = offIn(entry.session)
      const box = h('input', { type: 'checkbox', checked: !off.includes(name) && !off.includes(ALL), 'aria-label': t('skills.on', { name: visible(name) }), onchange: () => change(name, box.checked) })
      const count = Object.values(hidden ?? {}).reduce((sum, n) => sum + n, 0)
      return h('li', null,
        h('label.check', null, box, h('span', null, h('b', null, visible(name)), ' ', badge(t(`skills.source.${SOURCES.includes(source) ? source : 'home'}`)),
          count ? badge(t('skills.hidden', { n: count }), 'bad') : null, h('span.hint', null, visible(description)))),
        local ? null : reading(name, () => read(name)))
    }

    /** @param {string} name @param {any} one */
    function usedRow(name, one) {
      const { session } = entry
      const waits = listOf(session.skills?.refresh).includes(name)
      const here = HERE.includes(one.here) ? one.here : 'same'
      return h('li', null,
        h('div.skill-words', null, h('b', null, visible(name)), ' ', badge(t(`skills.here.${here}`), here === 'same' ? '' : 'warn'),
          waits ? h('span.hint', null, t('skills.waits')) : null),
        here === 'changed' && !waits ? button(t('skills.refresh'), () => refresh(name, true), 'small') : null,
        waits ? button(t('skills.undo'), () => refresh(name, false), 'small') : null,
        reading(name, () => show(name, String(one.text ?? ''), [
          one.hash ? t('skills.hash', { hash: String(one.hash) }) : '',
          Object.keys(objectOf(one.files)).length ? t('skills.kept', { files: visible(Object.keys(one.files).join(', ')) }) : '',
        ])))
    }

    /** @param {string} name @param {() => void} onclick */
    const reading = (name, onclick) => h('button.button.small', { type: 'button', 'data-skill': name, 'aria-label': t('skills.readIt', { name: visible(name) }), onclick }, t('skills.read'))

    /** @param {string} name @param {boolean} on */
    function change(name, on) {
      if (entry.going || app.past) {
        toast(t('skills.busy'))
        return overview()
      }
      app.sessionStore.amend(entry, (session) => {
        const all = offeredTo(own, session).map((one) => one.name)
        const before = offIn(session)
        const off = new Set(before.includes(ALL) ? all : before)
        if (on) off.delete(name)
        else off.add(name)
        session.config = { ...session.config, yaa: { ...session.config?.yaa, skills_off: [...off] } }
      })
    }

    /** @param {string} name @param {boolean} anew */
    async function refresh(name, anew) {
      if (entry.going || app.past) return toast(t('skills.busy'))
      await app.sessionStore.amend(entry, (session) => {
        const others = listOf(session.skills?.refresh).filter((one) => one !== name)
        session.skills = { ...session.skills, refresh: anew ? [...others, name] : others }
      })
      overview(name)
    }

    /** @param {string} name of a skill of this server */
    async function read(name) {
      fill(body, h('span.spinner'))
      try {
        const api = app.server.api()
        const about = await api.ask(`/skills/${encodeURIComponent(name)}`)
        show(name, String(about.text ?? ''), [
          t('skills.hash', { hash: String(about.hash) }),
          about.files?.length > 1 ? t('skills.files', { files: visible(about.files.join(', ')) }) : '',
          about.allowed_tools ? t('skills.tools', { tools: visible(about.allowed_tools) }) : '',
          ...listOf(about.remarks).map(visible),
        ])
      } catch (error) {
        toast(t('skills.failed', { detail: String(/** @type {any} */ (error)?.message ?? error) }), { bad: true })
        overview(name)
      }
    }

    /** @param {string} name @param {string} text @param {string[]} lines */
    function show(name, text, lines) {
      reads = true
      const back = button(t('skills.back'), () => overview(name), 'small')
      const { nodes, count } = marked(text)
      fill(body, h('div.skill-head', null, back, h('h3', null, visible(name))),
        count ? h('p.note-bad', { role: 'note' }, `${t('skills.hidden', { n: count })}. ${t('skills.hiddenHint')}`) : null,
        h('pre.mono.skill-text', { tabIndex: 0, 'aria-label': visible(name) }, nodes),
        lines.filter(Boolean).map((line) => h('p.hint', null, line)))
      back.focus()
    }

    async function lookAgain() {
      const found = listOf((await app.server.api().info()).skills)
      if (JSON.stringify(found) === JSON.stringify(own)) return
      own = found
      if (!dialog.isConnected || reads || offeredPart.contains(document.activeElement)) return
      const before = offeredPart
      offeredPart = offeredSection(!Object.keys(objectOf(objectOf(entry.session.skills).used)).length)
      before.replaceWith(offeredPart)
    }

    overview()
    lookAgain().catch(console.warn)
  }

  /** What the model is told of the session's folder. @param {any} instructions */
  function told(instructions) {
    const { path, text, cut, nested } = objectOf(instructions)
    if (!path && !listOf(nested).length) return null
    return h('section', null, h('h3', null, t('skills.told')),
      path ? h('details', null, h('summary', null, visible(String(path))), h('pre.mono.skill-text', { tabIndex: 0, 'aria-label': visible(String(path)) }, marked(String(text ?? '')).nodes)) : null,
      cut ? h('p.hint', null, t('skills.cut')) : null,
      listOf(nested).length ? h('p.hint', null, t('skills.nested', { paths: visible(listOf(nested).join(', ')) })) : null)
  }

  /** @param {string} title @param {string} hint @param {any[]} rows */
  const section = (title, hint, rows) => h('section', null, h('h3', null, t(title)), h('p.hint', null, t(hint)), h('ul.skill-list', null, rows))

  /** @param {string} words @param {string} [look] */
  const badge = (words, look = '') => h(`span.badge${look && `.${look}`}`, null, words)

  /** A text in which what cannot be seen is written out and marked. @param {string} text */
  function marked(text) {
    const parts = hiddenParts(text)
    return { nodes: parts.map((part) => (part.hidden ? h('mark', null, part.text) : part.text)), count: parts.filter((part) => part.hidden).length }
  }

  /**
   * The server's skills, and those of the session's folder that the last run found.
   * @param {Offered[]} own @param {Session} session @returns {Offered[]}
   */
  function offeredTo(own, session) {
    const names = new Set(own.map(({ name }) => name))
    const more = listOf(session.skills?.offered).filter((one) => one && !names.has(one.name)).map((one) => ({ name: String(one.name), description: String(one.description ?? ''), source: 'workspace', local: true }))
    return [...own, ...more].sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** @param {Session} session @returns {string[]} */
  const offIn = (session) => listOf(session.config?.yaa?.skills_off).filter((one) => typeof one === 'string')

  /** @param {any} value @returns {any} */
  const objectOf = (value) => (value && typeof value === 'object' && !Array.isArray(value) ? value : {})

  /** @param {any} value @returns {any[]} */
  const listOf = (value) => (Array.isArray(value) ? value : [])

  return { openSkills }
})
