// The command palette: everything the app can do, every session and what can be set, by name. The list of models alone, and
// the sheet of keys, from the same table. Both are dialogs that list what `ui/commands` knows; nothing is said twice.

yaa.define('ui/command-palette', [
  'ui/dom', 'ui/i18n', 'ui/dialog', 'ui/suggestions', 'ui/commands', 'core/search', 'core/model-choices', 'ui/settings-parts', 'core/usage', 'css/dialogs',
], (dom, { t, language }, { openDialog }, { suggestions }, commands, search, { modelRows }, { TABS, offers }, { money, short }) => {
  const { h, icon, fill } = dom
  /** @typedef {import('./types').CommandContext} CommandContext */
  const SHOWN = 40
  const THEMES = ['', 'light', 'dark']
  const LANGUAGES = [['en', 'English'], ['zh', '中文']]
  /** Keys that belong to the message field. */
  const FIXED = [['Enter', 'keys.send'], ['Shift+Enter', 'keys.line'], ['↑', 'keys.history'], ['/', 'keys.slash'], ['Esc', 'keys.escape']]

  /**
   * Something that can be chosen.
   * @typedef {{id: string, name: string, icon: string, keys: string[], note: string, run: () => any}} Choice
   */

  /** @param {CommandContext} context @param {any} library of prompts, or null @returns {Choice[]} */
  function choicesOf(context, library) {
    const all = commands.list().filter((one) => one.id !== 'palette').map((one) => (
      {
        id: one.id, name: commands.titleOf(one), icon: one.icon ?? 'chevron', keys: commands.keysOf(one), note: '',
        run: () => commands.run(one.id),
      }
    ))
    const sessions = context.state().sessions.map((/** @type {any} */ row) => (
      { id: row.id, name: row.title, icon: 'page', keys: [], note: t('palette.session'), run: () => context.actions.open(row.id) }
    ))
    return [...all, ...library?.entries(context) ?? [], ...sessions, ...settingsOf(context)]
  }

  /** Parts of the settings, models, agents, looks and languages, for the open session or the page. @param {CommandContext} context @returns {Choice[]} */
  function settingsOf(context) {
    const { actions } = context
    /** @param {string} kind @param {string} note @param {string[]} names @param {(index: number) => any} run */
    const rows = (kind, note, names, run) => names.map((name, i) => (
      { id: `${kind} ${i}`, name: `${note}: ${name}`, icon: 'tune', keys: [], note: '', run: () => run(i) }
    ))
    const agents = context.state().agents
    const parts = Object.values(TABS).flat().filter((one) => offers(one, context.app.server.info()))
    return [
      ...rows('settings', t('settings.title'), parts.map((one) => t(`settings.${one}`)), (i) => actions.openSettings(parts[i])),
      ...modelsOf(context, useModel(context)).map((one) => ({ ...one, name: `${t('compose.model')}: ${one.name}` })),
      ...(agents.length > 1 && !context.state().live ? rows('agent', t('compose.agent'), agents.map((one) => one.label), (i) => actions.setAgent(agents[i].name)) : []),
      ...rows('theme', t('palette.theme'), THEMES.map((one) => t(`palette.theme.${one || 'system'}`)), (i) => actions.set({ theme: THEMES[i] })),
      ...rows('language', t('palette.language'), LANGUAGES.map(([, name]) => name), (i) => actions.set({ language: LANGUAGES[i][0] })),
    ]
  }

  /** @param {CommandContext} context @param {(provider: string, model: string) => any} use @returns {Choice[]} */
  function modelsOf(context, use) {
    return modelRows(context.app.server.info()).map(({ provider, model, name, window, price }) => (
      { id: `model ${provider} ${model}`, name, icon: 'spark', keys: [], note: knownOf(window, price), run: () => use(provider, model) }
    ))
  }

  /** @param {number} window @param {{input: number, output: number, unit: string} | null} price of a million tokens */
  function knownOf(window, price) {
    const sum = (/** @type {number} */ value) => money(Math.round(value * 1e6), price?.unit, language())
    return [window && t('models.window', { n: short(window, language()) }), price && t('models.price', { input: sum(price.input), output: sum(price.output) })].filter(Boolean).join(' · ')
  }

  /** @param {CommandContext} context */
  const useModel = ({ actions }) => (/** @type {string} */ provider, /** @type {string} */ model) => actions.choose('answers', provider, model)

  /** Every command and every session. @param {CommandContext} context */
  const open = async (context) => choose(choicesOf(context, await yaa.part('library').catch(() => null)), t('palette.label'))

  /**
   * Every model of every provider. @param {CommandContext} context
   * @param {(provider: string, model: string) => any} [use] without it the session is answered by it from now on
   */
  function models(context, use = useModel(context)) {
    const rows = () => modelsOf(context, use)
    choose(rows(), t('models.title'), Infinity, context.app.server.refresh().then(rows))
  }

  /**
   * A field to search in, over the list that it searches.
   * @param {Choice[]} choices @param {string} label @param {number} [most] shown at once
   * @param {Promise<Choice[]>} [later] what takes their place
   */
  function choose(choices, label, most = SHOWN, later) {
    const box = h('ul', { 'aria-label': label })
    const none = h('p.side-note', { hidden: true }, t('palette.none'))
    const input = h('input.input', {
      role: 'combobox', 'aria-expanded': 'true', 'aria-autocomplete': 'list', 'aria-label': label,
      placeholder: label, autocomplete: 'off', spellcheck: false, oninput: draw,
      onkeydown: (/** @type {KeyboardEvent} */ event) => event.key !== 'Escape' && event.key !== 'Tab' && menu.onkeydown(event),
    })
    const el = h('dialog.dialog.palette', { 'aria-label': label, closedby: 'any', onclose: () => el.remove() },
      h('div.field-icon', null, icon('search'), input), box, none)
    const menu = suggestions(box, { key: (one) => one.id, option, choose: take })
    document.body.append(el)
    el.showModal()
    input.focus()
    draw()
    later?.then((now) => {
      if (now.length === choices.length || !el.open) return
      choices = now
      draw()
    })

    function draw() {
      const typed = input.value
      const ranked = choices.map((one, i) => ({ one, i, score: search.rank(one.name, typed) })).filter(({ score }) => score > 0)
      if (typed.trim()) ranked.sort((a, b) => b.score - a.score || a.i - b.i)
      const shown = ranked.slice(0, most).map(({ one }) => ({ ...one, words: search.terms(typed) }))
      menu.show(input, shown)
      none.hidden = shown.length > 0
    }

    /** @param {any} choice */
    function option(choice) {
      const name = h('span.name')
      const el = h('li', { onclick: () => take(choice), onpointermove: () => menu.hover(choice) },
        icon(choice.icon), name, choice.note ? h('span.hint', null, choice.note) : null, choice.keys.slice(0, 1).map(keyView))
      const update = (/** @type {any} */ next) => (
        fill(name, search.splitMatches(next.name, next.words).map(([part, hit]) => (hit ? h('mark', null, part) : part)))
      )
      return { el, update }
    }

    /** @param {Choice} choice */
    function take(choice) {
      el.close()
      choice.run()
    }
  }

  /** @param {string} keys */
  const keyView = (keys) => h('span.keys', null, commands.label(keys).map((key) => h('kbd', null, key)))

  /** The sheet of keys. @param {CommandContext} context */
  function keys({ app, actions }) {
    const all = commands.table().filter((one) => commands.keysOf(one).length)
    const rows = all.map((one) => h('li', null, h('span', null, commands.titleOf(one)), h('span', null, commands.keysOf(one).map(keyView))))
    const fixed = (/** @type {string[]} */ [key, words]) => h('li', null, h('span', null, t(words)), h('span', null, h('kbd', null, key)))
    const checked = app.settings.get('keys') === 'on'
    const single = h('input', { type: 'checkbox', checked, onchange: () => actions.set({ keys: single.checked ? 'on' : '' }) })
    openDialog({
      title: t('keys.title'), wide: true,
      body: [
        h('section', null, h('h3', null, t('keys.everywhere')), h('ul.key-list', null, rows, fixed(['← →', 'keys.row']))),
        h('section', null, h('h3', null, t('keys.writing')), h('ul.key-list', null, FIXED.map(fixed))),
        h('div', null, h('label.check', null, single, t('keys.single')), h('p.hint', null, t('keys.singleHint'))),
      ],
    })
  }

  return { open, models, keys }
})
