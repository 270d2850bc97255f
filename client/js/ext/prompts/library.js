// The prompt library: texts a person keeps in this browser, with blanks that are asked for when one is used. They are
// inserted into the composer, never sent by themselves.

yaa.define('ext/prompts/library', [
  'ui/dom', 'ui/i18n', 'ui/popup', 'ui/dialog', 'ext/prompts/templates', 'core/ids', 'core/patch', 'io/download', 'ext/prompts/style', 'ext/prompts/texts',
], (dom, { t }, { toast }, { openDialog, button }, { blanks, fill, slug, read, merge }, { id: newId }, { parseJson }, download) => {
  const { h, iconButton, list, text, uid } = dom
  /** @typedef {import('../../ui/types').CommandContext} CommandContext */
  /** @typedef {{id: string, name: string, text: string}} Prompt */
  const EXAMPLES = { one: '{{name}}', two: '{{tone=kind|short}}' }

  /** @param {Settings} settings @returns {Prompt[]} */
  const all = (settings) => settings.get('prompts') ?? []

  /** What can be chosen in the palette and, by its word, after a slash. @param {CommandContext} context */
  const entries = (context) => all(context.app.settings).map((one) => (
    { id: one.id, word: slug(one.name), name: one.name, icon: 'book', keys: [], note: t('palette.prompt'), run: (/** @type {string} */ rest) => insert(context, one, rest) }
  ))

  /** @param {Settings} settings @param {any} value of a file @returns {number} how many were new */
  function add(settings, value) {
    const old = all(settings)
    const merged = merge(old, read(value)).map((one) => ({ id: newId('prompt'), ...one }))
    if (merged.length > old.length) settings.set('prompts', merged)
    return merged.length - old.length
  }

  /**
   * Into the composer, after its blanks are filled in.
   * @param {CommandContext} context @param {Prompt} prompt @param {string} [rest] what was typed behind its name
   */
  function insert({ app }, prompt, rest = '') {
    const found = blanks(prompt.text)
    const give = (/** @type {Record<string, string>} */ values) => app.views.composer.insert(fill(prompt.text, values))
    if (!found.length) return give({})
    // what was typed behind the name is the first blank
    if (found.length === 1 && rest) return give({ [found[0].name]: rest })
    const fields = found.map((one, i) => blankField(one, i === 0 ? rest : ''))
    const form = h('form.group', { onsubmit: submit }, fields.map((field) => field.el),
      h('div.form-end', null, h('button.button.primary', { type: 'submit' }, t('prompts.insert'))))
    const dialog = openDialog({ title: prompt.name, body: form })
    fields[0].input.focus()

    /** @param {Event} event */
    function submit(event) {
      event.preventDefault()
      dialog.close()
      give(Object.fromEntries(fields.map(({ name, input }) => [name, input.value])))
    }
  }

  /** @param {{name: string, value: string, options: string[]}} blank @param {string} given */
  function blankField({ name, value, options }, given) {
    const id = uid('blank')
    const input = options.length
      ? h('select.input', { id }, options.map((one) => h('option', { value: one }, one)))
      : h('textarea.input.one-line', { id, rows: 1, value: given || value })
    return { name, input, el: h('div.field', null, h('label', { htmlFor: id }, name), input) }
  }

  /** @param {Settings} settings */
  function save(settings) {
    const prompts = all(settings).map(({ name, text }) => ({ name, text }))
    download.json('yaa-prompts.json', { format: 'yaa.prompts', prompts })
  }

  /** The library. @param {CommandContext} context */
  function open(context) {
    const { settings } = context.app
    const rows = h('ul.prompts')
    const none = h('p.hint', null, t('prompts.none'))
    const body = h('div.group', null, h('p.hint', null, t('prompts.lead')), none, rows)
    const buttons = [
      button(t('prompts.import'), bring), button(t('prompts.export'), () => save(settings)),
      button(t('prompts.new'), () => edit(context, null, draw), 'primary'),
    ]
    const dialog = openDialog({ title: t('prompts.title'), body, buttons, wide: true })
    draw()

    function draw() {
      const prompts = all(settings)
      none.hidden = prompts.length > 0
      rows.hidden = !prompts.length
      buttons[1].hidden = !prompts.length
      list(rows, prompts, (one) => one.id, row)
    }

    /** @param {Prompt} prompt */
    function row(prompt) {
      const name = h('b')
      const word = h('code')
      const gist = h('span.hint')
      const use = () => {
        dialog.close()
        insert(context, prompt)
      }
      const open = h('button.prompt-open', { type: 'button', onclick: use }, h('span', null, name, word), gist)
      const el = h('li', null, open,
        iconButton('pencil', t('prompts.edit'), { onclick: () => edit(context, prompt, draw) }),
        iconButton('trash', t('prompts.delete'), { onclick: () => remove(settings, prompt, draw) }))
      const update = (/** @type {Prompt} */ next) => {
        prompt = next
        text(name, next.name)
        text(word, `/${slug(next.name)}`)
        text(gist, next.text.replace(/\s+/g, ' ').slice(0, 160))
      }
      return { el, update }
    }

    async function bring() {
      const input = h('input', { type: 'file', accept: '.json,application/json' })
      input.addEventListener('change', async () => {
        const n = add(settings, parseJson(await input.files[0].text()))
        toast(t('import.prompts', { n }), { bad: !n })
        draw()
      })
      input.click()
    }
  }

  /** @param {Settings} settings @param {Prompt} prompt @param {() => void} draw */
  function remove(settings, prompt, draw) {
    const at = all(settings).findIndex((one) => one.id === prompt.id)
    settings.set('prompts', all(settings).filter((one) => one.id !== prompt.id))
    draw()
    const undo = () => {
      settings.set('prompts', all(settings).toSpliced(at, 0, prompt)) // others may have come since
      draw()
    }
    toast(t('prompts.deleted', { name: prompt.name }), { label: t('side.undo'), action: undo })
  }

  /** @param {CommandContext} context @param {Prompt | null} prompt null: a new one @param {(() => void)} [then] @param {string} [words] */
  function edit({ app }, prompt, then, words = '') {
    const [nameId, textId] = [uid('prompt'), uid('prompt')]
    const name = h('input.input', { id: nameId, value: prompt?.name ?? '', autocomplete: 'off', required: true })
    const area = h('textarea.input', { id: textId, value: prompt?.text ?? words, required: true, rows: 8, oninput: draw })
    const found = h('p.hint')
    const form = h('form.group', { onsubmit: save },
      h('div.field', null, h('label', { htmlFor: nameId }, t('prompts.name')), name),
      h('div.field', null,
        h('label', { htmlFor: textId }, t('prompts.text')), area, h('p.hint', null, t('prompts.blanksHint', EXAMPLES)), found),
      h('div.form-end', null, h('button.button.primary', { type: 'submit' }, t('prompts.save'))))
    const dialog = openDialog({ title: t(prompt ? 'prompts.edit' : 'prompts.new'), body: form })
    draw()
    name.focus()

    function draw() {
      const names = blanks(area.value).map((one) => one.name)
      text(found, names.length ? t('prompts.blanks', { names: names.join(', ') }) : '')
    }

    /** @param {Event} event */
    function save(event) {
      event.preventDefault()
      const next = { id: prompt?.id ?? newId('prompt'), name: name.value.trim(), text: area.value }
      if (!next.name || !next.text.trim()) return
      const others = all(app.settings)
      app.settings.set('prompts', prompt ? others.map((one) => (one.id === next.id ? next : one)) : [...others, next])
      dialog.close()
      then?.()
    }
  }

  /** Keep what is in the composer. @param {CommandContext} context */
  const saveFromComposer = (context) => edit(context, null, () => toast(t('prompts.kept')), context.app.views.composer.read())

  return { all, add, entries, open, saveFromComposer }
})
