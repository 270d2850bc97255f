// Editors for messages, arguments and results: text in place of the message, values in a dialog with a form where the value
// is flat, else JSON or plain text.

yaa.define('ui/editors', ['ui/dom', 'ui/i18n', 'ui/popup', 'ui/interrupt-cards', 'ui/form', 'ui/composer', 'ui/dialog', 'i18n/branches', 'css/branches'], (dom, { t }, { toast }, { parseArgs }, form, { isSendKey }, { openDialog }) => {
  const { jsonField, schemaForm, isFlat } = form
  const { h, icon, attr, fill } = dom
  const TYPES = new Set(['string', 'number', 'boolean'])
  const LONG = 60
  const FILE_MAX = 1_000_000

  /**
   * An editor in the place of a message's words. It stays, with what was typed, until that is saved.
   * @param {HTMLElement} place its article
   * @param {{value: string, hint: string, sends: boolean, save: (words: string) => Promise<boolean>, typed?: string}} options
   *   `save` returns false if it could not; `typed`: what it was left with before
   */
  function editInline(place, { value, hint, sends, save, typed = value }) {
    const old = /** @type {HTMLElement | null} */ (place.querySelector('.words-edit textarea'))
    if (old) return old.focus()
    const area = h('textarea.input', { value: typed, rows: 2, 'aria-label': t('branch.words'), onkeydown })
    const ok = h('button.button.small.primary', { type: 'button', onclick: done }, t(sends ? 'branch.send' : 'branch.save'))
    const cancel = h('button.button.small', { type: 'button', onclick: leave }, t('branch.cancel'))
    const note = h('span.hint', null, hint)
    const el = h('div.words-edit', null, area, h('div.words-actions', null, note, cancel, ok))
    attr(place, 'data-editing', 'true')
    place.append(el)
    area.focus()
    area.setSelectionRange(typed.length, typed.length)

    async function done() {
      const words = area.value.trim()
      if (!words) return area.focus()
      if (area.readOnly) return // it is being saved
      area.readOnly = true
      if (words === value.trim() || await save(words)) close()
      area.readOnly = false
    }

    function close() {
      el.remove() // the focus goes on to the message field
      attr(place, 'data-editing', null)
    }

    function leave() {
      const left = area.value
      close()
      place.focus()
      const again = () => editInline(place, { value, hint, sends, save, typed: left })
      if (left !== value) toast(t('dialog.left'), { label: t('side.undo'), action: again })
    }

    /** @param {KeyboardEvent} event */
    function onkeydown(event) {
      if (event.isComposing || event.keyCode === 229) return
      if (event.key === 'Escape') leave()
      else if (event.key === 'Enter' && (sends ? isSendKey(event) : event.ctrlKey || event.metaKey)) done()
      else return
      event.preventDefault()
      event.stopPropagation()
    }
  }

  /**
   * A dialog for a value. `object`: only an object will do. `isError`: offered as a choice where it is given. It stays,
   * with what was typed, until that is saved.
   * @param {{title: string, hint: string, value: any, object?: boolean, isError?: boolean,
   *   save: (made: {value: any, isError: boolean}) => Promise<boolean>}} options `save` returns false if it could not
   */
  function editValue({ title, hint, value, object = false, isError, save }) {
    const field = valueField(value, object)
    const error = h('input', { type: 'checkbox', checked: isError === true })
    const file = h('input.sr-only', { type: 'file', tabIndex: -1, 'aria-hidden': 'true', onchange: load })
    const problem = h('p.problem', { hidden: true })
    const ok = h('button.button.primary', { type: 'submit' }, t('branch.save'))
    const result = isError !== undefined
    const body = h('form.edit-form', { onsubmit: done }, h('p.hint', null, hint), field.el, problem,
      result ? h('label.check', null, error, t('branch.asError')) : null,
      h('div.edit-actions', null,
        result ? h('button.button', { type: 'button', onclick: () => file.click() }, icon('plus'), t('branch.fromFile')) : null, file,
        h('span.gap'), h('button.button', { type: 'button', onclick: () => el.close() }, t('branch.cancel')), ok))
    const el = openDialog({ title, body, wide: true })
    field.focus()

    /** @param {Event} event */
    async function done(event) {
      event.preventDefault()
      const made = field.read()
      if (!made.ok) return field.focus()
      if (ok.disabled) return
      ok.disabled = true
      if (await save({ value: made.value, isError: error.checked })) el.close()
      ok.disabled = false
    }

    async function load() {
      const [chosen] = file.files ?? []
      if (!chosen) return
      problem.hidden = chosen.size <= FILE_MAX
      problem.textContent = problem.hidden ? '' : t('branch.fileTooLarge')
      if (problem.hidden) field.write(await chosen.text())
    }
  }

  /**
   * A form, JSON or text, with a switch between form and JSON where both will do.
   * @param {any} value @param {boolean} object
   */
  function valueField(value, object) {
    if (typeof value === 'string' && !object) return textField(value)
    const schema = object ? schemaOf(value) : null
    const json = jsonField({ label: t('branch.asJson'), value: object && typeof value === 'string' ? undefined : value, object })
    if (object && typeof value === 'string') json.write(value)
    const write = (/** @type {string} */ words) => json.write(parseArgs(words))
    if (!schema) return { ...json, write }
    let form = schemaForm(schema, true)
    let plain = true
    const holder = h('div', null, form.el)
    const toggle = h('button.button.ghost.small', { type: 'button', onclick: turn }, t('branch.asJson'))
    const el = h('div.value-field', null, toggle, holder)
    const now = () => (plain ? form : json)

    function turn() {
      const made = now().read()
      const next = made.ok && plain ? null : schemaOf(made.value)
      if (!made.ok || (!plain && !next)) return now().focus()
      if (plain) json.write(made.value)
      else form = schemaForm(next, true)
      plain = !plain
      toggle.textContent = t(plain ? 'branch.asJson' : 'branch.asForm')
      fill(holder, now().el)
      now().focus()
    }

    /** An emptied text is an empty text, not a missing one. */
    function read() {
      const made = now().read()
      if (!made.ok || !plain) return made
      const texts = Object.keys(value).filter((name) => typeof value[name] === 'string' && !(name in made.value))
      return { ok: true, value: { ...made.value, ...Object.fromEntries(texts.map((name) => [name, ''])) } }
    }

    return { el, read, focus: () => now().focus(), write }
  }

  /** @param {string} value */
  function textField(value) {
    const area = h('textarea.input.mono', { value, rows: 10, spellcheck: false, 'aria-label': t('branch.value') })
    return {
      el: area, read: () => ({ ok: true, value: area.value }), focus: () => area.focus(),
      write: (/** @type {string} */ words) => { area.value = words },
    }
  }

  /** A flat object as a form; its own values say of which kind they are. @param {any} value */
  function schemaOf(value) {
    const entries = Object.entries(value ?? {})
    if (!entries.length || !entries.every(([, one]) => TYPES.has(typeof one))) return null
    const fields = entries.map(([name, one]) => {
      const long = typeof one === 'string' && (one.length > LONG || one.includes('\n'))
      return [name, { type: typeof one, default: one, ...(long ? { format: 'multiline' } : {}) }]
    })
    const schema = { type: 'object', properties: Object.fromEntries(fields) }
    return isFlat(schema) ? schema : null
  }

  return { editInline, editValue, valueField }
})
