// Fields a person fills in: JSON with its errors named as they are typed, and a form for a flat JSON Schema (an
// object of strings, numbers, booleans and choices). Any other schema is answered as JSON.

yaa.define('ui/form', ['ui/dom', 'ui/i18n', 'i18n/questions'], ({ h, text, attr, uid }, { t }) => {
  const PLAIN = new Set(['string', 'number', 'integer', 'boolean'])
  const LONG = 160
  /**
   * A JSON editor. `read()` gives `{ok, value}` and shows what is wrong when it isn't.
   * @param {{label: string, value?: any, object?: boolean, hint?: string}} options `object`: only an object will do
   */
  function jsonField(options) {
    const id = uid('json')
    const problem = h('p.problem', { id: `${id}-problem`, hidden: true })
    const area = h('textarea.input.mono', {
      id, spellcheck: false, autocapitalize: 'off', autocomplete: 'off', 'aria-describedby': `${id}-problem`, oninput: read,
    })
    const el = h('div.field', null, h('label', { htmlFor: id }, options.label), area, problem)

    /** @returns {{ok: boolean, value?: any}} */
    function read() {
      const result = parse(area.value, Boolean(options.object))
      problem.hidden = result.ok
      text(problem, result.problem ?? '')
      attr(area, 'aria-invalid', result.ok ? null : true)
      return result
    }

    /** @param {any} value */
    const write = (value) => { area.value = value === undefined ? '' : JSON.stringify(value, null, 2) }
    write(options.value)
    return { el, read, write, focus: () => area.focus() }
  }

  /** @param {string} source @param {boolean} object @returns {{ok: boolean, value?: any, problem?: string}} */
  function parse(source, object) {
    let value
    try {
      value = JSON.parse(source)
    } catch (error) {
      return { ok: false, problem: t('ask.notJson', { detail: /** @type {Error} */ (error).message }) }
    }
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    if (object && !isObject) return { ok: false, problem: t('ask.notObject', { example: '{"name": "value"}' }) }
    return { ok: true, value }
  }

  /** Can this schema be a form? @param {any} schema */
  function isFlat(schema) {
    const fields = Object.values(schema?.properties ?? {})
    return schema?.type === 'object' && fields.length > 0 && fields.every(isPlain)
  }

  /** @param {any} field */
  const isPlain = (field) => Array.isArray(field?.enum) || Array.isArray(field?.oneOf) || PLAIN.has(field?.type)

  /**
   * A form for a flat schema; `read()` gives `{ok, value}` with values of the schema's types.
   * @param {any} schema @param {boolean} [code] its texts are code, paths and the like
   */
  function schemaForm(schema, code = false) {
    const required = new Set(schema.required ?? [])
    const fields = Object.entries(schema.properties).map(([name, field]) => schemaField(name, field, required.has(name), code))
    const el = h('div.form', null, fields.map((field) => field.el))

    function read() {
      /** @type {Record<string, any>} */ const value = {}
      let first = null
      for (const field of fields) {
        const got = field.read()
        if (!got.ok) first ??= field
        else if (got.value !== undefined) value[field.name] = got.value
      }
      first?.focus()
      return { ok: !first, value }
    }

    return { el, read, focus: () => fields[0].focus() }
  }

  /** @param {string} name @param {any} field @param {boolean} required @param {boolean} code */
  function schemaField(name, field, required, code) {
    const id = uid('field')
    const title = field.title ?? name
    const input = control(id, field, required, code)
    const problem = h('p.problem', { id: `${id}-problem`, hidden: true })
    attr(input, 'aria-describedby', `${id}-problem`)
    const hint = field.description ? h('p.hint', null, field.description) : null
    const optional = required ? null : h('span.hint', null, ` · ${t('form.optional')}`)
    const el = field.type === 'boolean'
      ? h('div.field', null, h('label.check', null, input, title), hint, problem)
      : h('div.field', null, h('label', { htmlFor: id }, title, optional), input, hint, problem)

    function read() {
      const result = field.type === 'boolean' ? { value: input.checked } : checked(input.value, field, required)
      problem.hidden = !result.problem
      text(problem, result.problem ?? '')
      attr(input, 'aria-invalid', result.problem ? true : null)
      return { ok: !result.problem, value: result.value }
    }

    return { name, el, read, focus: () => input.focus() }
  }

  /** @param {string} id @param {any} field @param {boolean} required @param {boolean} code */
  function control(id, field, required, code) {
    const initial = field.default
    const options = choices(field)
    if (options) {
      const none = initial === undefined ? h('option', { value: '' }, required ? t('form.choose') : '–') : null
      return h('select.input', { id }, none,
        options.map((option, i) => h('option', { value: String(i), selected: option.value === initial }, option.label)))
    }
    if (field.type === 'boolean') return h('input', { id, type: 'checkbox', checked: initial === true })
    const value = initial === undefined ? '' : String(initial)
    if (field.type !== 'string') return h('input.input', { id, inputmode: 'decimal', autocomplete: 'off', value })
    const long = (field.maxLength ?? 0) > LONG || field.format === 'multiline'
    const plain = code ? { spellcheck: false, autocapitalize: 'off' } : {}
    return h(`${long ? 'textarea' : 'input'}.input${code ? '.mono' : ''}`, { id, autocomplete: 'off', value, ...plain })
  }

  /** @param {any} field @returns {{value: any, label: string}[] | null} */
  function choices(field) {
    /** @type {any[] | undefined} */ const values = field.enum
    if (Array.isArray(values)) return values.map((value, i) => ({ value, label: field.enumNames?.[i] ?? String(value) }))
    /** @type {any[] | undefined} */ const options = field.oneOf
    if (Array.isArray(options)) return options.map((one) => ({ value: one.const, label: one.title ?? String(one.const) }))
    return null
  }

  /** @param {string} raw @param {any} field @param {boolean} required @returns {{value?: any, problem?: string}} */
  function checked(raw, field, required) {
    if (raw.trim() === '') return required ? { problem: t('form.required') } : {}
    const options = choices(field)
    if (options) return { value: options[Number(raw)].value }
    if (field.type === 'string') return { value: raw }
    const value = Number(raw.trim())
    if (!Number.isFinite(value)) return { problem: t('form.number') }
    if (field.type === 'integer' && !Number.isInteger(value)) return { problem: t('form.integer') }
    if (field.minimum !== undefined && value < field.minimum) return { problem: t('form.min', { n: field.minimum }) }
    if (field.maximum !== undefined && value > field.maximum) return { problem: t('form.max', { n: field.maximum }) }
    return { value }
  }

  return { jsonField, schemaForm, isFlat }
})
