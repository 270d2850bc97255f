// What the server remarks on a session without stopping it: a template that names what means nothing, a section that is
// none. One calm note over the composer, which opens to the remarks and goes when it is dismissed.

yaa.define('ui/warnings', ['ui/h', 'ui/text', 'i18n/modes', 'css/modes'], ({ h, icon, iconButton, fill }, { t }) => {
  /** The server's own words, to be said in the reader's language. Others are shown as they came. */
  const KNOWN = /** @type {const} */ ([
    ['warn.placeholder', /^prompt\.(?<name>\S+) names (?<what>.+), which means nothing; known: (?<known>.+)$/s],
    ['warn.section', /^prompt\.(?<name>.+) is no section; there are (?<known>.+)$/s],
  ])

  /** @param {string} said */
  function inWords(said) {
    for (const [key, pattern] of KNOWN) {
      const found = pattern.exec(said)
      if (found) return t(key, { ...found.groups })
    }
    return said
  }

  /** @param {import('./types').CommandContext} context */
  function start({ app }) {
    const el = h('div.note.warnings', { hidden: true })
    /** What was dismissed, until the page is closed. @type {Set<string>} */
    const dismissed = new Set()
    let drawn = ''

    /** @param {import('./types').State} state */
    function update({ whole, session }) {
      if (!whole) return
      if (!el.isConnected) document.querySelector('.foot .notes')?.prepend(el)
      const all = remarks(session)
      const key = `${document.documentElement.lang} ${session.id} ${JSON.stringify(all)}`
      el.hidden = !all.length || dismissed.has(key)
      if (el.hidden || drawn === key) return
      drawn = key
      const close = iconButton('x', t('warn.close'), { onclick: () => {
        dismissed.add(key)
        el.hidden = true
        app.views.composer.focus()
      } })
      fill(el, h('details', null,
        h('summary', null, icon('question'), h('span', null, t('warn.lead', { n: all.length })), icon('chevron', 'chevron')),
        h('ul', null, all.map((one) => h('li', null, inWords(one))))), close)
    }

    app.watchers.add(update)
    app.draw()
  }

  /** @param {Session} session @returns {string[]} a document may hold anything */
  function remarks(session) {
    const found = session.run?.warnings
    return Array.isArray(found) ? found.filter((one) => typeof one === 'string' && one) : []
  }

  return { start, inWords, remarks }
})
