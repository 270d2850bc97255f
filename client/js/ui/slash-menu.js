// The menu of a slash at the beginning of a message: commands with a word, the prompts of the library, and those of MCP
// servers. The focus stays in the field (aria-activedescendant).

yaa.define('ui/slash-menu', [
  'ui/dom', 'ui/i18n', 'ui/popup', 'ui/commands', 'ui/prompt-library', 'core/search', 'css/dialogs',
], (dom, { t }, { say }, commands, prompts, search) => {
  const { h, icon, list, attr, uid, fill } = dom
  /** @typedef {import('./types').CommandContext} CommandContext */
  const SHOWN = 8
  const TYPED = /^\/(\S*)$/
  const WHOLE = /^\/(\S+)(?:\s+([^]*))?$/

  /** @typedef {{word: string, name: string, icon: string, run: (rest: string) => any}} Entry */

  /** @param {CommandContext} context @param {Entry[]} others of parts that may be there @returns {Entry[]} */
  function entriesOf(context, others) {
    const own = commands.list().filter((one) => one.slash).map((/** @type {import('./types').Command} */ one) => (
      {
        word: String(one.slash), name: commands.titleOf(one), icon: one.icon ?? 'chevron',
        run: (/** @type {string} */ rest) => commands.run(one.id, ...(rest && one.rest ? [rest] : [])),
      }
    ))
    const texts = prompts.all(context.app.settings).map((/** @type {any} */ one) => (
      {
        word: prompts.slug(one.name), name: one.name, icon: 'book',
        run: (/** @type {string} */ rest) => prompts.insert(context, one, rest),
      }
    ))
    return [...texts.filter((/** @type {Entry} */ one) => one.word), ...own, ...others]
  }

  /** Of each field, however fast one types. @type {WeakMap<object, any>} */ const menus = new WeakMap()

  /** @param {CommandContext} context @param {any} area the field @param {() => void} clear @returns {any} */
  function open(context, area, clear) {
    if (!menus.has(area)) menus.set(area, menuOf(context, area, clear))
    return menus.get(area)
  }

  /** @param {CommandContext} context @param {any} area @param {() => void} clear */
  function menuOf(context, area, clear) {
    const id = uid('slash')
    const el = h('ul.slash', { id, role: 'listbox', 'aria-label': t('slash.label'), hidden: true })
    /** @type {Entry[]} */ let shown = []
    let at = 0
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
      const before = shown.length
      shown = typed === undefined ? [] : entriesOf(context, offered)
        .map((one) => ({ one, score: Math.max(search.rank(one.word, typed) * 1.5, search.rank(one.name, typed)) }))
        .filter(({ score }) => score > 0).sort((a, b) => b.score - a.score).slice(0, SHOWN).map(({ one }) => one)
      at = 0
      el.hidden = !shown.length
      attr(area, 'aria-controls', shown.length ? id : null)
      list(el, shown, (one) => `${one.icon} ${one.word}`, option)
      point()
      if (shown.length && !before) say(t('slash.count', { n: shown.length }))
    }

    /** @param {Entry} entry */
    function option(entry) {
      const stay = (/** @type {Event} */ event) => event.preventDefault()
      const el = h('li', { role: 'option', id: uid('option'), onpointerdown: stay, onclick: () => choose(entry) },
        icon(entry.icon), h('code', null, `/${entry.word}`), h('span', null, entry.name))
      return { el, update() {} }
    }

    function point() {
      const options = [...el.children]
      options.forEach((one, i) => attr(one, 'aria-selected', i === at))
      attr(area, 'aria-activedescendant', options[at]?.id ?? null)
    }

    function close() {
      shown = []
      el.hidden = true
      attr(area, 'aria-activedescendant', null)
      attr(area, 'aria-controls', null)
      fill(el)
    }

    /** @param {Entry} entry @param {string} [rest] */
    function choose(entry, rest = '') {
      clear()
      close()
      entry.run(rest)
    }

    /** @param {KeyboardEvent} event @returns {boolean} was it for the list? */
    function onkeydown(event) {
      if (!shown.length) return false
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
      if (step) at = (at + step + shown.length) % shown.length
      else if (event.key === 'Escape') close()
      else if ((event.key === 'Enter' && !event.shiftKey) || event.key === 'Tab') choose(shown[at])
      else return false
      if (step) point()
      event.preventDefault()
      return true
    }

    /** A whole line such as `/find words`; false where it means nothing and is a message. @param {string} words */
    async function submit(words) {
      const [, word, rest = ''] = WHOLE.exec(words) ?? []
      if (word?.includes(':')) await fetchOffered().catch(console.warn)
      const entry = word && area.value.trim() === words && entriesOf(context, offered).find((one) => one.word === word)
      if (entry) choose(entry, rest.trim())
      return Boolean(entry)
    }

    return { el, update, onkeydown, submit }
  }

  return { open }
})
