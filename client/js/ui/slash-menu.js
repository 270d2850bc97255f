// The menu of a slash at the beginning of a message: commands with a word, the prompts of the library, and those of MCP
// servers. The focus stays in the field (aria-activedescendant).

yaa.define('ui/slash-menu', [
  'ui/dom', 'ui/i18n', 'ui/popup', 'ui/commands', 'ui/suggestions', 'core/search', 'css/dialogs',
], ({ h, icon, attr }, { t }, { say }, commands, { suggestions }, search) => {
  /** @typedef {import('./types').CommandContext} CommandContext */
  const SHOWN = 8
  const TYPED = /^\/(\S*)$/
  const WHOLE = /^\/(\S+)(?:\s+([^]*))?$/

  /** @typedef {{word: string, name: string, icon: string, run: (rest: string) => any}} Entry */

  /** @param {CommandContext} context @param {any} library of prompts, or null @param {Entry[]} others of parts that may be there @returns {Entry[]} */
  function entriesOf(context, library, others) {
    const own = commands.list().filter((one) => one.slash).map((/** @type {import('./types').Command} */ one) => (
      {
        word: String(one.slash), name: commands.titleOf(one), icon: one.icon ?? 'chevron',
        run: (/** @type {string} */ rest) => commands.run(one.id, ...(rest && one.rest ? [rest] : [])),
      }
    ))
    return [...(library?.entries(context) ?? []).filter((/** @type {Entry} */ one) => one.word), ...own, ...others]
  }

  /** Of each field, however fast one types. @type {WeakMap<object, any>} */ const menus = new WeakMap()

  /** @param {CommandContext} context @param {any} area the field @param {() => void} clear @returns {Promise<any>} */
  async function open(context, area, clear) {
    const library = await yaa.part('library').catch(() => null)
    if (!menus.has(area)) menus.set(area, menuOf(context, area, clear, library))
    return menus.get(area)
  }

  /** @param {CommandContext} context @param {any} area @param {() => void} clear @param {any} library */
  function menuOf(context, area, clear, library) {
    const el = h('ul.slash', { 'aria-label': t('slash.label'), hidden: true })
    const menu = suggestions(el, { key: (one) => `${one.icon} ${one.word}`, option, choose })
    /** @type {Entry[]} */ let offered = []
    /** @type {any} */ let before = null
    area.after(el)
    attr(area, 'aria-autocomplete', 'list')

    async function fetchOffered() {
      const from = await yaa.part('composer')
      const all = await from?.prompts(context)
      if (!all || all === before) return
      before = all
      offered = all.map((/** @type {any} */ one) => ({ word: one.word, name: one.title, icon: 'link', run: (/** @type {string} */ rest) => from.insert(context, one, rest) }))
      draw()
    }

    function update() {
      if (area.value.startsWith('/')) fetchOffered().catch(console.warn)
      draw()
    }

    function draw() {
      const typed = TYPED.exec(area.value)?.[1]
      const shown = typed === undefined ? [] : entriesOf(context, library, offered)
        .map((one) => ({ one, score: Math.max(search.rank(one.word, typed) * 1.5, search.rank(one.name, typed)) }))
        .filter(({ score }) => score > 0).sort((a, b) => b.score - a.score).slice(0, SHOWN).map(({ one }) => one)
      if (menu.show(area, shown)) say(t('slash.count', { n: shown.length }))
    }

    /** @param {Entry} entry */
    function option(entry) {
      const stay = (/** @type {Event} */ event) => event.preventDefault()
      const el = h('li', { onpointerdown: stay, onclick: () => choose(entry) },
        icon(entry.icon), h('code', null, `/${entry.word}`), h('span', null, entry.name))
      return { el, update() {} }
    }

    /** @param {Entry} entry @param {string} [rest] */
    function choose(entry, rest = '') {
      clear()
      menu.close()
      entry.run(rest)
    }

    /** Would Enter start a command? @param {string} words */
    function means(words) {
      const word = WHOLE.exec(words.trim())?.[1]
      return words.startsWith('/') && (!el.hidden || entriesOf(context, library, offered).some((one) => one.word === word))
    }

    /** A whole line such as `/find words`; false where it means nothing and is a message. @param {string} words */
    async function submit(words) {
      const [, word, rest = ''] = WHOLE.exec(words) ?? []
      if (word?.includes(':')) await fetchOffered().catch(console.warn)
      const entry = word && area.value.trim() === words && entriesOf(context, library, offered).find((one) => one.word === word)
      if (entry) choose(entry, rest.trim())
      return Boolean(entry)
    }

    return { el, update, onkeydown: menu.onkeydown, submit, means }
  }

  return { open }
})
