// Resources and prompts of MCP servers in the composer: a resource that was chosen after `@` goes along with the message,
// and a prompt that was chosen after `/` is written into the field. Nothing is sent by itself.

yaa.define('ext/mcp/composer', [
  'ui/dom', 'ui/i18n', 'ui/popup', 'ui/dialog', 'ext/mcp/offers', 'core/attachments', 'ext/mcp/texts',
], ({ h, uid, fill }, { t }, { toast, say }, { openDialog }, offers, attachments) => {
  /** @typedef {import('../../ui/types').CommandContext} CommandContext */
  /** Lists are used for so long. */
  const FRESH_MS = 20_000
  const REST_MS = 250
  /** @type {Map<string, {until: number, list: Promise<any[]>}>} */
  const kept = new Map()

  /** @param {CommandContext} context @param {string} path @param {(answer: any) => any[]} read */
  async function listed({ app }, path, read) {
    if (!app.server.info()) return [] // it has not been reached yet
    const api = app.server.api()
    const key = `${api.base} ${path}`
    const old = kept.get(key)
    if (old && old.until > Date.now()) return old.list
    // a server without these addresses offers nothing
    const list = ask(api, path).then(read, (error) => {
      console.info(error.message)
      if (error.kind !== 'refused') kept.delete(key)
      return []
    })
    kept.set(key, { until: Date.now() + FRESH_MS, list })
    return list
  }

  /** @param {any} api @param {string} path @param {any} [body] @returns {Promise<any>} */
  const ask = (api, path, body) => api.ask(path, { body })

  /** Those that this session may read. @param {CommandContext} context @returns {Promise<any[]>} */
  async function resources(context) {
    const all = await listed(context, '/mcp/resources', offers.resources)
    const { session } = context.app.current
    const own = session.config?.tool ?? {}
    const denied = new Set((context.app.server.info()?.tools ?? []).filter((/** @type {any} */ tool) => (
      own[tool.name]?.deny && /^mcp .*/.test(tool.origin) && /__read_resource/.test(tool.name)
    )).map((/** @type {any} */ tool) => tool.origin.slice(4)))
    return all.filter(({ server }) => !denied.has(server))
  }

  /** @param {CommandContext} context @returns {Promise<any[]>} */
  const prompts = (context) => listed(context, '/mcp/prompts', offers.prompts)

  /** Put a resource beside the message; of a template its address is asked for. @param {CommandContext} context @param {any} chosen */
  function attach(context, chosen) {
    if (chosen.uri) return read(context, chosen)
    const fields = offers.variables(chosen.template).map((/** @type {string} */ name) => ({ name, required: true }))
    if (!fields.length) return read(context, { ...chosen, uri: chosen.template })
    form(context, chosen.name, t('mcp.read'), fields, { server: chosen.server, template: chosen.template }, {}, (values) => (
      read(context, { ...chosen, uri: offers.expand(chosen.template, values) })
    ))
  }

  /** @param {CommandContext} context @param {any} chosen */
  async function read({ app }, { server, uri, name }) {
    say(t('mcp.reading', { name }))
    try {
      const { contents } = await ask(app.server.api(), '/mcp/resource', { server, uri })
      /** @type {File[]} */ const files = []
      for (const one of contents) {
        const made = filesOf(server, name, one)
        if (typeof made === 'string') toast(made, { bad: true })
        else files.push(...made)
      }
      if (files.length) await app.views.composer.attach(files)
    } catch (error) {
      toast(t('mcp.failed', { name, why: /** @type {Error} */ (error).message }), { bad: true })
    }
  }

  /**
   * What the tray takes: files that know their part of the message already.
   * @param {string} server @param {string} name @param {any} content @returns {File[] | string} or why not
   */
  function filesOf(server, name, { uri, mimeType = '', text, blob }) {
    const { LIMITS } = attachments
    const about = { name, server, uri, type: mimeType }
    if (text !== undefined) {
      if (text.length > LIMITS.text) return t('mcp.large', { name, max: LIMITS.text / 1024 })
      return [known(name, text.length, attachments.resourcePart(about, text), null)]
    }
    if (!attachments.isPlainImage(mimeType)) return t('mcp.binary', { name, type: mimeType || '?' })
    if (blob.length > LIMITS.image * 1.4) return t('mcp.large', { name, max: LIMITS.image / 1024 })
    const url = `data:${mimeType};base64,${blob}`
    return [
      known(name, 0, attachments.resourcePart(about, t('mcp.follows')), null),
      known(name, Math.round(blob.length * 0.75), attachments.imagePart(url), url),
    ]
  }

  /** @param {string} name @param {number} size @param {any} part @param {string | null} image */
  const known = (name, size, part, image) => Object.assign(new File([], name), { attached: { name, size, part, image } })

  /** Write a prompt into the field, after its arguments are filled in. @param {CommandContext} context @param {any} prompt @param {string} [rest] what was typed behind its name */
  function insert(context, prompt, rest = '') {
    const { server, name, title } = prompt
    const first = prompt.arguments[0]?.name
    const given = first && rest ? { [first]: rest } : {}
    const missing = prompt.arguments.filter((/** @type {any} */ one) => !(one.name in given))
    if (!missing.some((/** @type {any} */ one) => one.required) && (rest || !missing.length)) return write(context, prompt, given)
    form(context, title, t('mcp.insert'), prompt.arguments, { server, prompt: name }, given, (values) => write(context, prompt, values))
  }

  /** @param {CommandContext} context @param {any} prompt @param {Record<string, string>} values */
  async function write({ app }, { server, name, title }, values) {
    say(t('mcp.reading', { name: title }))
    try {
      const { messages } = await ask(app.server.api(), '/mcp/prompt', { server, name, arguments: values })
      app.views.composer.insert(offers.promptText(messages, (/** @type {string} */ role) => t(role === 'assistant' ? 'mcp.assistant' : 'mcp.user')))
    } catch (error) {
      toast(t('mcp.failed', { name: title, why: /** @type {Error} */ (error).message }), { bad: true })
    }
  }

  /**
   * Ask for values, with what the server knows that they may be.
   * @param {CommandContext} context @param {string} title @param {string} label of the button
   * @param {{name: string, description?: string, required: boolean}[]} wanted @param {any} about of whom completions are asked
   * @param {Record<string, string>} given @param {(values: Record<string, string>) => void} done
   */
  function form({ app }, title, label, wanted, about, given, done) {
    const fields = wanted.map(({ name, description, required }) => {
      const id = uid('argument')
      const known = h('datalist', { id: `${id}-known` })
      const input = h('input.input', { id, value: given[name] ?? '', required, autocomplete: 'off', oninput: () => complete(name, input, known) })
      input.setAttribute('list', known.id)
      const hint = description ? h('p.hint', { id: `${id}-hint` }, description) : null
      if (hint) input.setAttribute('aria-describedby', hint.id)
      return { name, input, el: h('div.field', null, h('label', { htmlFor: id }, required ? t('mcp.required', { name }) : name), input, known, hint) }
    })
    const values = () => Object.fromEntries(fields.map(({ name, input }) => [name, input.value.trim()]).filter(([, value]) => value))
    const body = h('form.group', { onsubmit: submit }, h('p.hint', null, t('mcp.of', { server: about.server })), fields.map(({ el }) => el),
      h('div.form-end', null, h('button.button.primary', { type: 'submit' }, label)))
    const dialog = openDialog({ title, body })
    fields[0]?.input.focus()
    let rest = 0

    /** @param {Event} event */
    function submit(event) {
      event.preventDefault()
      dialog.close()
      done(values())
    }

    /** @param {string} name @param {HTMLInputElement} input @param {HTMLElement} known */
    function complete(name, input, known) {
      clearTimeout(rest)
      rest = setTimeout(async () => {
        const { [name]: _, ...others } = values()
        const typed = input.value
        const found = await ask(app.server.api(), '/mcp/complete', { ...about, argument: name, value: typed, arguments: others }).catch(() => null)
        if (found && input.value === typed) fill(known, found.values.map((/** @type {string} */ value) => h('option', { value })))
      }, REST_MS)
    }
  }

  return { resources, prompts, attach, insert }
})
