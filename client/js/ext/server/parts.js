// What the parts of the server's settings are made of: fields that show what the server says of them, forms that wait for
// it, rows with buttons.

yaa.define('ext/server/parts', ['ui/dom', 'ext/server/texts', 'ui/dialog', 'ext/server/values', 'ext/server/style'], ({ h, attr, text, uid }, { t }, { openDialog, button }, { problemsAt, isSecret }) => {
  /** Then it is said that no answer has come yet. */
  const SILENT_MS = 3000
  const PLAIN = { autocomplete: 'off', autocapitalize: 'off', spellcheck: false }
  /** @typedef {{el: any, input: any, value(): string, problem(words: string): void, focus(): void}} TextField */

  /**
   * @param {string} label @param {{hint?: string, value?: string, rows?: number, mono?: boolean, [property: string]: any}} [given]
   *   other properties go to the input
   * @returns {TextField}
   */
  function textField(label, { hint, rows, mono, value = '', ...more } = {}) {
    const kind = `${rows ? 'textarea' : 'input'}.input${mono ? '.mono' : ''}`
    return fieldOf(label, h(kind, { ...PLAIN, ...(rows ? { rows } : {}), ...more, value }), hint)
  }

  /**
   * A secret, which the server shows only the end of.
   * @param {string} label @param {any} kept as the server gave it @param {string} [hint]
   * @returns {TextField & {read(): any}} `read()`: undefined where there is none
   */
  function secretField(label, kept, hint) {
    const had = isSecret(kept)
    const placeholder = had ? t('host.secretKept', { tail: kept.tail ?? '' }) : ''
    const field = textField(label, { hint, type: 'password', placeholder, value: typeof kept === 'string' ? kept : '' })
    // one that a variable holds is written as ${NAME}, and is no secret
    if (typeof kept === 'string' && kept.startsWith('${')) field.input.type = 'text'
    return { ...field, read: () => field.value() || (had ? { secret: true } : undefined) }
  }

  /** @param {string} label @param {[value: string, words: string][]} options @param {string} value @param {string} [hint] @returns {TextField} */
  function choiceField(label, options, value, hint) {
    const known = options.some(([one]) => one === value) ? options : [...options, /** @type {[string, string]} */ ([value, value])]
    return fieldOf(label, h('select.input', null, known.map(([one, words]) => h('option', { value: one, selected: one === value }, words))), hint)
  }

  /** @param {string} label @param {any} input @param {string} [hint] @returns {TextField} */
  function fieldOf(label, input, hint) {
    input.id ||= uid('host')
    const wrong = h('p.problem', { id: `${input.id}-problem`, hidden: true })
    const about = hint ? h('p.hint', { id: `${input.id}-about` }, hint) : null
    attr(input, 'aria-describedby', about ? `${about.id} ${wrong.id}` : wrong.id)
    const el = h('div.field', null, h('label', { htmlFor: input.id }, label), input, about, wrong)

    /** @param {string} words */
    function problem(words) {
      text(wrong, words)
      wrong.hidden = !words
      attr(input, 'aria-invalid', words ? true : null)
    }

    // It was said of what stood there before. Captured: it comes before a field's own check of what stands there now.
    input.addEventListener('input', () => problem(''), { capture: true })
    return { el, input, value: () => input.value.trim(), focus: () => input.focus(), problem }
  }

  /** @param {string} label @param {boolean} checked @param {string} [hint] */
  function checkField(label, checked, hint) {
    const input = h('input', { type: 'checkbox', checked })
    return { el: h('div.field', null, h('label.check', null, input, label), hint ? h('p.hint', null, hint) : null), input }
  }

  /**
   * Run something that the server is asked for; meanwhile the button waits, and afterwards `note` says what came of it.
   * @param {any} pressed @param {any} note a p.problem @param {() => Promise<any>} work
   */
  async function busy(pressed, note, work) {
    if (pressed.getAttribute('aria-disabled')) return
    attr(pressed, 'aria-disabled', true)
    const timer = setTimeout(() => {
      text(note, t('host.waits'))
      note.hidden = false
    }, SILENT_MS)
    await attempt(note, work)
    clearTimeout(timer)
    if (note.textContent === t('host.waits')) note.hidden = true
    attr(pressed, 'aria-disabled', null)
  }

  /** Do it, and say in `note` why it was not. @param {any} note a p.problem @param {() => Promise<any>} work */
  async function attempt(note, work) {
    note.hidden = true
    try {
      await work()
    } catch (error) {
      text(note, wordsOf(error))
      note.hidden = false
    }
  }

  /** @param {any} error */
  function wordsOf(error) {
    if (error?.kind === 'network') return t('host.gone', { detail: error.message })
    const more = (error?.errors ?? []).map((/** @type {any} */ one) => one.detail).filter((/** @type {string} */ one) => one && !error.message?.includes(one))
    return [error?.message ?? String(error), ...more].join('\n')
  }

  const problemLine = () => h('p.problem.host-problem', { role: 'alert', hidden: true })

  /**
   * A form whose refusals stand at their fields; what was typed stays until the server has taken it.
   * @param {{fields: Record<string, TextField>, label: string, save: () => Promise<{wrong?: Record<string, string | undefined>} | void>, paths?: () => Record<string, string[]>,
   *   more?: any, buttons?: any[], cancel?: () => void, kept?: string}} given `wrong`: the server need not be asked; `kept`: where to
   */
  function formOf({ fields, label, save, paths = () => ({}), more, buttons = [], cancel, kept = t('host.lead') }) {
    const note = problemLine()
    const submit = h('button.button.primary', { type: 'submit' }, label)
    const el = h('form.host-form', { onsubmit }, Object.values(fields).map((field) => field.el), more, kept ? h('p.hint', null, kept) : null, note,
      h('div.button-row', null, submit, buttons, cancel ? button(t('host.cancel'), cancel) : null))
    el.noValidate = true

    /** @param {Record<string, string | undefined>} wrong */
    function show(wrong) {
      for (const [name, field] of Object.entries(fields)) {
        field.problem(wrong[name] ?? '')
        if (wrong[name]) field.el.closest('details')?.setAttribute('open', '')
      }
      const first = Object.keys(fields).find((name) => wrong[name])
      if (first) fields[first].focus()
    }

    /** @param {Event} event */
    function onsubmit(event) {
      event.preventDefault()
      show({})
      return busy(submit, note, async () => {
        try {
          const { wrong } = (await save()) ?? {}
          if (wrong) show(wrong)
        } catch (error) {
          const { errors = [] } = /** @type {Failure} */ (error)
          const found = problemsAt(errors, paths())
          show(found.fields)
          if (!Object.keys(found.fields).length) throw error
          if (found.rest.length) throw new Error(found.rest.join('\n'))
        }
      })
    }

    return { el, note, submit }
  }

  /**
   * @param {any[]} about what it is @param {any[]} buttons @param {any} [below]
   */
  const row = (about, buttons, below) => h('li', null, h('div.host-about', null, about), h('div.host-buttons', null, buttons), below)

  /** @param {string} words @param {string} [look] */
  const badge = (words, look = '') => h(`span.badge${look && `.${look}`}`, null, words)

  /** Ask before something is taken away. @param {string} title @param {string} words @param {() => Promise<any>} work */
  function confirm(title, words, work) {
    const note = problemLine()
    const go = button(t('host.remove'), () => busy(go, note, async () => {
      await work()
      dialog.close()
    }), 'danger')
    const dialog = openDialog({ title, body: h('div.stack', null, h('p', null, words), note), buttons: [button(t('host.cancel'), () => dialog.close()), go] })
  }

  /** A small button that names what it is about. @param {string} label @param {string} name @param {() => any} onclick @param {string} [look] */
  const small = (label, name, onclick, look = '') => h(`button.button.small${look && `.${look}`}`, { type: 'button', 'aria-label': `${label}: ${name}`, onclick }, label)

  /**
   * A list of what there is, and one open form over it. While a form is open what is under it is not drawn anew.
   * @param {{lead: string, add?: string, rows: (settings: any) => any[], none: string, form?: (settings: any, name: string, close: () => void) => any}} given
   */
  function listPart({ lead, add, rows, none, form }) {
    const list = h('ul.host-rows')
    const empty = h('p.hint', null, none)
    const place = h('div', { hidden: true })
    const plus = add ? h('button.button', { type: 'button', onclick: () => open('') }, add) : null
    const el = h('div.host-part', null, h('p.hint', null, lead), list, empty, place, plus ? h('div', null, plus) : null)
    /** @type {any} */ let last = null

    /** @param {string} name '' for a new one */
    function open(name) {
      if (!form || !last) return
      place.replaceChildren(form(last, name, close))
      place.hidden = false
      if (plus) plus.hidden = true
      place.querySelector('input, select, textarea')?.focus()
      place.scrollIntoView({ block: 'nearest' })
    }

    function close() {
      place.replaceChildren()
      place.hidden = true
      if (plus) plus.hidden = false
      plus?.focus()
      if (last) update(last)
    }

    /** @param {any} settings */
    function update(settings) {
      last = settings
      const made = rows(settings)
      list.replaceChildren(...made)
      list.hidden = !made.length
      empty.hidden = made.length > 0
    }

    return { el, update, open }
  }

  return { textField, secretField, choiceField, checkField, busy, attempt, problemLine, formOf, row, badge, confirm, small, listPart }
})
