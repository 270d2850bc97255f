// How the open session is answered: effort, temperature, length. Each can be left to the model.

yaa.define('ui/answer-settings', ['ui/dom', 'ui/i18n', 'ui/popup', 'ui/dialog', 'core/answer-settings', 'i18n/commands'], (dom, { t }, { toast, say }, { openDialog }, { read, wrong, write, EFFORTS }) => {
  const { h, uid, attr, text } = dom

  /** @param {import('./types').CommandContext} context */
  function open({ app }) {
    const entry = app.current
    const now = read(entry.session.config)
    const efforts = ['', ...EFFORTS, ...(now.effort && !EFFORTS.includes(now.effort) ? [now.effort] : [])]
    const effort = h('select.input', null, efforts.map((one) => h('option', { value: one, selected: one === now.effort }, one || t('answers.own'))))
    const number = (/** @type {string} */ value, /** @type {object} */ more) => h('input.input', { value, placeholder: t('answers.own'), autocomplete: 'off', ...more })
    const temperature = number(now.temperature, { inputmode: 'decimal' })
    const length = number(now.length, { inputmode: 'numeric' })
    const fields = { temperature, length }
    const problem = h('p.problem', { hidden: true, role: 'status' })
    const body = h('form.edit-form', { onsubmit: save },
      field('effort', effort), field('temperature', temperature), field('length', length), problem,
      h('p.hint', null, t('answers.hint')),
      h('div.edit-actions', null, h('span.gap'),
        h('button.button.primary', { type: 'submit' }, t('answers.save'))))
    const el = openDialog({ title: t('answers.title'), body })
    effort.focus()

    /** @param {Event} event */
    function save(event) {
      event.preventDefault()
      const wishes = { effort: effort.value, temperature: temperature.value.replace(',', '.'), length: length.value }
      const bad = wrong(wishes)
      for (const [name, one] of Object.entries(fields)) attr(one, 'aria-invalid', name === bad ? 'true' : null)
      problem.hidden = !bad
      if (bad) {
        text(problem, t(`answers.wrong.${bad}`))
        return fields[bad].focus()
      }
      const running = Boolean(entry.going || entry.elsewhere)
      app.sessionStore.amend(entry, (session) => { session.config = write(session.config, wishes) })
      el.close()
      if (running) toast(t('answers.later'))
      else say(t('answers.saved'))
    }
  }

  /** @param {string} name @param {any} control */
  function field(name, control) {
    const id = uid('answers')
    control.id = id
    return h('div.field', null, h('label', { htmlFor: id }, t(`answers.${name}`)), control, h('p.hint', null, t(`answers.${name}Hint`)))
  }

  return { open }
})
