// The agent, the model and the mode in one field, where there is no room for two or nothing hovers, so that titles are not seen
// (css/modes): it says what they are, offers what each offers, and says what the agents are for.

yaa.define('ui/pair-picker', ['ui/dom', 'ui/i18n', 'ui/commands', 'i18n/modes', 'css/modes'], ({ h, fill, attr }, { t }, commands, { aboutOf }) => {
  /** @param {import('./types').CommandContext} context */
  function start({ app }) {
    /** @type {ReturnType<typeof picker> | null} */ let view = null

    /** The composer is made anew when the language changes. @param {import('./types').State} state */
    function update(state) {
      if (!state.whole) return
      if (!view?.el.isConnected) {
        /** @type {NodeListOf<HTMLSelectElement>} */
        const [agent, model] = document.querySelectorAll('.composer-bar > select')
        if (!model) return
        view = picker(agent, model)
        model.after(view.el)
      }
      view.update()
    }

    app.watchers.add(update)
    app.draw()
  }

  /** @param {HTMLSelectElement} agent @param {HTMLSelectElement} model */
  function picker(agent, model) {
    const label = [t('compose.agent'), t('compose.model')].join(' · ')
    const el = h('select.select.pair', { 'aria-label': label, title: label, hidden: true, onchange: choose })
    const sources = [agent, model]
    let drawn = ''

    function update() {
      /** @type {HTMLButtonElement | null} */ const button = document.querySelector('.composer-bar > .mode:not([hidden])')
      const mode = button?.textContent ?? ''
      const key = JSON.stringify([mode, button?.disabled, sources.map((one) => [one.hidden, one.disabled, one.value, one.textContent])])
      if (key === drawn) return
      drawn = key
      el.hidden = sources.some((one) => one.hidden)
      const names = sources.map((one) => one.selectedOptions[0]?.textContent ?? '')
      fill(el, h('option', { value: '', selected: true, hidden: true }, names.join(' · ')), sources.map(group),
        mode && h('option', { value: 'mode', disabled: button?.disabled }, `${t('mode.label')}: ${mode} …`))
    }

    /** @param {HTMLSelectElement} one @param {number} index */
    function group(one, index) {
      const options = [...one.options].map((option) => h('option', { value: `${index} ${option.value}` },
        [`${option.selected ? '✓ ' : ''}${option.textContent}`, aboutOf(option.title)].filter(Boolean).join(' – ')))
      const made = h('optgroup', { disabled: one.disabled }, options)
      attr(made, 'label', t(index ? 'compose.model' : 'compose.agent'))
      return made
    }

    function choose() {
      if (el.value === 'mode') {
        el.value = ''
        return void commands.run('mode')
      }
      const source = sources[Number(el.value[0])]
      source.value = el.value.slice(2)
      el.value = ''
      source.dispatchEvent(new Event('change'))
    }

    return { el, update }
  }

  return { start }
})
