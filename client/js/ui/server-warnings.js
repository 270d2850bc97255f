// What the server remarks on a session without stopping it: a template that names what means nothing, a section that is
// none; and that the page is of another version. One calm note over the composer, which says it, or opens to several
// remarks, and goes when it is dismissed.

yaa.define('ui/server-warnings', ['ui/dom', 'ui/i18n', 'i18n/modes', 'css/modes'], ({ h, icon, iconButton, fill }, { t }) => {
  /** @typedef {import('./types').Remark} Remark */
  /** Of the page: that of the server it came with (server/__init__.py). */
  const VERSION = '0.1.0'
  /** What there are words for here, and the facts that they name. @type {Map<string | undefined, [string, string[]]>} */
  const KNOWN = new Map([
    ['prompt_placeholder_unknown', ['warn.placeholder', ['section', 'placeholders', 'known']]],
    ['prompt_section_unknown', ['warn.section', ['section', 'known']]],
    ['prompt_cut', ['warn.cut', ['counted', 'sent']]],
    ['config_key_unknown', ['warn.key', ['key', 'nearest']]],
    ['agent_narrowed', ['warn.agent', ['agent', 'left_out']]],
    ['skill_changed', ['warn.skillChanged', ['skill']]],
    ['skill_missing', ['warn.skillMissing', ['skill']]],
    ['skills_left_out', ['warn.skillsLeftOut', ['most', 'count']]],
    ['other_home', ['warn.home', []]],
    ['other_version', ['warn.version', ['page', 'server']]],
  ])

  /** In the reader's language, or in the server's words: a newer one says more, and a document may hold anything. @param {Remark} remark */
  function warningText({ code, message, ...rest }) {
    const why = `permission.${rest.reason}`
    if (code === 'permission_mode' && t(why) !== why) return t('warn.permission', { why: t(why) })
    const [key, names] = KNOWN.get(code) ?? ['', []]
    const facts = names.map((name) => [name, factOf(rest[name])])
    return key && facts.every(([, words]) => words) ? t(key, Object.fromEntries(facts)) : message
  }

  /** A text or a number, or some in a row. @param {any} value */
  const factOf = (value) => [value].flat().filter((one) => ['string', 'number'].includes(typeof one)).join(', ')

  /** @param {import('./types').CommandContext} context */
  function start({ app }) {
    const el = h('div.note.warnings', { hidden: true })
    /** What was dismissed, until the page is closed. @type {Set<string>} */
    const dismissed = new Set()
    let drawn = ''

    /** @param {import('./types').State} state */
    function update({ whole, session, server }) {
      if (!whole) return
      if (!el.isConnected) document.querySelector('.foot .notes')?.prepend(el)
      const own = remarks(session)
      const all = [...own, ...versionRemark(server)]
      const key = `${document.documentElement.lang} ${own.length ? session.id : ''} ${JSON.stringify(all)}`
      el.hidden = !all.length || dismissed.has(key)
      if (el.hidden || drawn === key) return
      drawn = key
      const close = iconButton('x', t('warn.close'), { onclick: () => {
        dismissed.add(key)
        el.hidden = true
        app.views.composer.focus()
      } })
      fill(el, all.length === 1 ? [icon('question'), h('span', null, warningText(all[0]))] : h('details', null,
        h('summary', null, icon('question'), h('span', null, t('warn.lead', { n: all.length })), icon('chevron', 'chevron')),
        h('ul', null, all.map((one) => h('li', null, warningText(one))))), close)
    }

    app.watchers.add(update)
    app.draw()
  }

  /** @param {import('./types').ServerState} server @returns {Remark[]} */
  const versionRemark = ({ version }) => (version && version !== VERSION ? [{ code: 'other_version', message: '', page: VERSION, server: version }] : [])

  /** @param {Session} session @returns {Remark[]} in documents of earlier versions they are texts */
  function remarks(session) {
    const found = session.run?.warnings
    if (!Array.isArray(found)) return []
    return found.map((one) => (typeof one === 'string' ? { message: one } : one)).filter((one) => one?.message && typeof one.message === 'string')
  }

  return { start, warningText, remarks, versionRemark, VERSION }
})
