// One setting of a session as a field: its title, what it does, the control of its kind, what holds while it is empty.

yaa.define('ext/config/field', ['ui/dom', 'ui/i18n', 'ext/config/form', 'core/redact', 'ext/config/texts', 'ext/config/titles'], (
  { h, iconButton, text, attr, fill, uid }, { t, language }, form, { mask }, _, { titleOf },
) => {
  /** Templates show so much of what they stand for. */
  const SHOWN = 400
  /** Where null means something to people its description says so, and a box beside the field has it. */
  const NONE = /\s*null is none\./

  /** Title, and what it does, in the language of the page where there is one. @param {ConfigField} field @returns {string[]} */
  function wordsOf({ pointer, schema, rest, parts }) {
    const [title, about] = titleOf(language(), pointer) ?? [schema.title ?? parts.at(-1) ?? '', String(schema.description ?? '').replace(NONE, '')]
    return [rest ? t('config.rest', { name: title }) : title, about]
  }

  /**
   * @param {ConfigField} field @param {{change: (field: ConfigField, value: any) => void, context: () => import('../../ui/types').CommandContext}} given
   */
  function fieldView(field, { change, context }) {
    const [title, about] = wordsOf(field)
    const id = uid('config')
    const problem = h('p.problem', { id: `${id}-problem`, hidden: true })
    const standard = h('p.hint.config-standard')
    const reset = iconButton('x', t('config.reset', { name: title }), { onclick: () => (clear(), give(undefined)) })
    const control = controlOf(field, { id, give: typed, context })
    attr(control.input, 'aria-describedby', `${id}-about ${id}-problem`)
    const none = field.none && NONE.test(field.schema.description) && control.text ? h('input', { type: 'checkbox', onchange: () => (clear(), give(none.checked ? null : undefined)) }) : null
    const el = h('div.config-field', { 'data-pointer': field.pointer },
      h('div.config-head', null, h('label.label', { htmlFor: id }, title), none ? h('label.check', null, none, h('span', null, t('config.noneValue')), h('span.sr-only', null, ` (${title})`)) : null, reset),
      control.el, h('p.hint', { id: `${id}-about` }, about, h('code.config-key', null, field.parts.join('.'))), standard, control.below ?? null, problem)
    /** @type {any} */ let now

    function clear() {
      problem.hidden = true
      attr(control.input, 'aria-invalid', null)
    }

    /** @param {string} raw */
    function typed(raw) {
      const read = form.parse(raw, field)
      problem.hidden = !read.problem
      text(problem, read.problem ? t(read.problem, read.facts) : '')
      attr(control.input, 'aria-invalid', read.problem ? true : null)
      if (!read.problem) give(read.value)
    }

    /** @param {any} value */
    function give(value) {
      if (JSON.stringify(value) !== JSON.stringify(now)) change(field, value)
    }

    /** @param {{config: any, lower: any[], scope: string}} state */
    function update({ config, lower, scope }) {
      now = form.read(config, field)
      // a provider is taken whole: what another one has is not added to it
      const whole = field.parts[1] === 'provider' && config.llm_api?.provider
      const other = whole ? undefined : lower.map((one) => form.read(one, field)).find((one) => one !== undefined)
      const isEmpty = now === undefined
      reset.hidden = isEmpty
      if (none) none.checked = now === null
      if (problem.hidden) control.write(now, other, scope)
      const value = valueWords(other)
      text(standard, value && field.kind !== 'choice' && field.kind !== 'flag' && field.kind !== 'secret' && isEmpty ? t('config.asValue', { value }) : '')
      standard.hidden = !standard.textContent
    }

    return { el, update, isSet: () => now !== undefined, words: `${title} ${about} ${field.pointer} ${field.schema.title ?? ''} ${field.schema.description ?? ''}`.toLowerCase() }
  }

  /** @param {any} value */
  function valueWords(value) {
    if (value === undefined || value === '') return ''
    if (value === null) return t('config.noneValue')
    if (typeof value === 'boolean') return t(value ? 'config.on' : 'config.off')
    const words = typeof value === 'string' ? value : JSON.stringify(value)
    return words === '{}' || words === '[]' ? '' : words.slice(0, SHOWN)
  }

  /**
   * @param {ConfigField} field @param {{id: string, give: (raw: string) => void, context: () => import('../../ui/types').CommandContext}} given
   * @returns {{el: any, input: any, text: boolean, below?: any, write(value: any, other: any, scope: string): void}}
   */
  function controlOf(field, given) {
    if (field.kind === 'choice' || field.kind === 'flag') return choice(field, given)
    if (field.kind === 'secret') return secret(field, given)
    if (field.kind === 'template') return template(field, given)
    const { id, give, context } = given
    const long = field.kind === 'json' || field.kind === 'lines'
    const plain = { autocomplete: 'off', autocapitalize: 'off', spellcheck: false }
    const offers = long ? null : h('datalist', { id: `${id}-offers` })
    const input = long
      ? h('textarea.input.mono', { id, rows: 3, ...plain, onchange: () => give(input.value) })
      : h('input.input', { id, ...plain, inputmode: field.kind === 'number' ? 'decimal' : null, list: offers.id, onchange: () => give(input.value) })
    const el = h('div', null, input, offers, field.kind === 'lines' ? h('p.hint', null, linesHint(field)) : null)

    /** @param {any} value */
    function write(value) {
      if (input === document.activeElement) return
      const words = form.formatValue(value, field)
      if (input.value !== words) input.value = words
      if (offers) fill(offers, offersOf(field, context().app.server.info()).map((one) => h('option', { value: one })))
    }

    return { el, input, text: true, write }
  }

  /** @param {ConfigField} field */
  const linesHint = ({ schema }) => [t('config.lines'), (schema.items?.enum ?? []).join(', ')].filter(Boolean).join(' ')

  /** What is known of what may stand there. @param {ConfigField} field @param {any} info @returns {string[]} */
  function offersOf({ pointer, schema }, info) {
    const models = info?.models ?? []
    if (pointer === '/llm_api/provider/name') return ['auto', ...models.map((/** @type {any} */ one) => one.name)]
    if (pointer === '/llm_api/provider/model_name') return [...new Set(models.flatMap((/** @type {any} */ one) => one.models ?? []))].map(String)
    if (pointer === '/yaa/language') return ['中文', 'English', 'Español', 'Français', 'Deutsch', '日本語', 'العربية', 'हिन्दी']
    return (schema.examples ?? []).map(String)
  }

  /** @param {ConfigField} field @param {{id: string, give: (raw: string) => void}} given */
  function choice(field, { id, give }) {
    const { schema, kind } = field
    /** @type {{raw: string, value: any, label: string}[]} */
    const options = kind === 'flag'
      ? [true, false].map((value) => ({ raw: String(value), value, label: t(value ? 'config.on' : 'config.off') }))
      : schema.enum.map((/** @type {any} */ value, /** @type {number} */ i) => ({ raw: String(i), value, label: value === '' ? '–' : String(value) }))
    const unset = h('option', { value: '' })
    const input = h('select.input', { id, onchange: () => give(input.value) }, unset, options.map((one) => h('option', { value: one.raw }, one.label)))

    /** @param {any} value @param {any} other */
    function write(value, other) {
      const words = options.find((one) => one.value === other)?.label ?? ''
      text(unset, words ? t('config.asValue', { value: words }) : t('config.as'))
      const raw = value === undefined ? '' : options.find((one) => one.value === value)?.raw ?? ''
      if (input.value !== raw) input.value = raw
    }

    return { el: input, input, text: false, write }
  }

  /** A key is written, and never shown again: of one that is kept only enough to know it by. @param {ConfigField} field @param {{id: string, give: (raw: string) => void, context: () => import('../../ui/types').CommandContext}} given */
  function secret(field, { id, give, context }) {
    const input = h('input.input', { id, type: 'password', autocomplete: 'new-password', spellcheck: false, onchange })
    const hint = h('p.hint')

    function onchange() {
      const value = input.value.trim()
      input.value = ''
      if (value) give(value)
    }

    /** @param {any} value @param {any} _ @param {string} scope */
    function write(value, _, scope) {
      const { settings } = context().app
      input.placeholder = typeof value === 'string' && value ? t('config.keyKept', { shown: mask(value) }) : ''
      text(hint, t(scope === 'session' ? 'config.keyHintSession' : settings.remembers() ? 'settings.keyStored' : 'config.keyHintMemory'))
    }

    return { el: h('div', null, input, hint), input, text: false, write }
  }

  /** A section of the system prompt, with what it will say. @param {ConfigField} field @param {{id: string, give: (raw: string) => void, context: () => import('../../ui/types').CommandContext}} given */
  function template(field, { id, give, context }) {
    const { schema, parts } = field
    /** @type {string[]} */ const known = schema['x-placeholders'] ?? []
    const input = h('textarea.input.mono', { id, rows: 3, spellcheck: false, placeholder: (schema.default ?? '').slice(0, SHOWN), onchange: () => give(input.value), oninput: draw })
    const begin = h('button.button.small', { type: 'button', onclick: start }, t('config.template'))
    const shown = h('pre.config-preview', { tabIndex: 0, 'aria-label': `${t('config.preview')}: ${parts.at(-1)}` })
    const strange = h('p.problem', { role: 'status', hidden: true })
    const look = h('details', { ontoggle: draw }, h('summary', null, t('config.preview')), shown)
    const below = h('div.stack', null, known.length ? h('p.hint', null, t('config.placeholders', { names: known.map((name) => `{${name}}`).join(' ') })) : null, strange, look, h('div', null, begin))

    function start() {
      input.value = schema.default
      input.focus()
      draw()
      give(input.value)
    }

    function draw() {
      const found = form.preview(input.value || schema.default || '', known, factsOf(context()))
      text(shown, found.text)
      strange.hidden = !found.unknown.length || !known.length
      text(strange, found.unknown.length ? t('config.strange', { names: found.unknown.join(', ') }) : '')
      begin.hidden = Boolean(input.value) || !schema.default
    }

    /** @param {any} value */
    function write(value) {
      if (input === document.activeElement) return
      const words = form.formatValue(value, field)
      if (input.value !== words) input.value = words
      draw()
    }

    return { el: input, input, text: true, below, write }
  }

  /** What placeholders would say. @param {import('../../ui/types').CommandContext} context @returns {Record<string, string>} */
  function factsOf({ app }) {
    const { session } = app.current
    const info = app.server.info()
    return {
      character: session.character || app.settings.get('character') || info?.defaults?.character || '', date: new Date().toISOString().slice(0, 10),
      language: session.config?.yaa?.language || app.settings.get('config')?.yaa?.language || '', environment: (session.environment ?? []).join('\n'),
      ...Object.fromEntries(['host', 'place', 'mode'].map((name) => [name, String(session.run?.[name] ?? '')])),
    }
  }

  return { fieldView, wordsOf }
})
