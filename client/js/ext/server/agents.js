// Agents in the owner's folder: read, written, copied, tried, deleted. What has no field is edited as JSON beside them.

yaa.define('ext/server/agents', ['ui/dom', 'ext/server/texts', 'ui/form', 'ext/server/parts', 'ext/server/trial', 'core/patch', 'i18n/settings'], (
  { h, text }, { t }, { jsonField }, { textField, choiceField, checkField, formOf, row, badge, confirm, small, listPart, problemLine, attempt }, { offersOf }, { isObject, parseJson },
) => {
  const OWN = ['description', 'systemPrompt', 'tools', 'provider', 'model']
  const NAME = /^[A-Za-z0-9_-]{1,64}$/
  /** What a usual tool is for, in the settings' own words. */
  const ABOUT = 'settings.toolAbout'
  /** @typedef {{name: string, built_in?: boolean, text?: string, revision?: string, agent?: any, problems?: string[]}} AgentFile */

  /** @param {AgentFile | undefined} file @returns {any} null: it cannot be read as an object */
  function agentOf(file) {
    const { agent, text = '' } = file ?? {}
    return [agent, parseJson(text)].find(isObject) ?? null
  }

  /** @param {any} prompt */
  const linesOf = (prompt) => (Array.isArray(prompt) ? prompt.join('\n') : prompt ?? '')

  /**
   * Boxes of the tools that an agent may use. What it names and is not there (a pattern, a tool of a server that is off) has
   * its box, too, and stays until that is unticked.
   * @param {{name: string, description?: string}[]} tools @param {any} listed none: all of them
   */
  function toolsField(tools, listed) {
    const some = Array.isArray(listed)
    const names = some ? listed.map(String) : []
    const has = (/** @type {string} */ name) => names.some((one) => one.toLowerCase() === name.toLowerCase())
    const others = names.filter((one) => !tools.some(({ name }) => name.toLowerCase() === one.toLowerCase()))
    const boxes = [
      ...others.map((name) => ({ name, ...checkField(name, true, t(/[*?[]/.test(name) ? 'host.agent.toolPattern' : 'host.agent.toolGone')) })),
      ...tools.map(({ name, description = '' }) => ({ name, ...checkField(name, has(name), t(ABOUT, { tool: name }) || description.split('\n')[0]) })),
    ]
    const list = h('div.grid-2', { hidden: !some }, boxes.map((one) => one.el))
    const all = checkField(t('host.agent.allTools'), !some, t('host.agent.allToolsHint'))
    all.input.onchange = () => { list.hidden = all.input.checked }
    const wrong = problemLine()
    return {
      el: h('fieldset.field', null, h('legend.label', null, t('host.agent.tools')), all.el, list, wrong), input: all.input, focus: () => all.input.focus(), value: () => '',
      read: () => (all.input.checked ? {} : { tools: boxes.filter((one) => one.input.checked).map((one) => one.name) }),
      problem: (/** @type {string} */ words) => { text(wrong, words), wrong.hidden = !words },
    }
  }

  /**
   * @param {any} store @param {AgentFile | undefined} file @param {string} name of what is made @param {(AgentFile)[]} all
   * @param {() => Promise<AgentFile[]>} done @param {() => void} close
   */
  function agentForm(store, file, name, all, done, close) {
    const agent = agentOf(file) ?? {}
    const info = store.app.server.info() ?? {}
    const named = textField(t('host.name'), { value: name, hint: t('host.agent.nameHint'), readOnly: Boolean(file && file.name === name) })
    const about = textField(t('host.agent.about'), { value: agent.description ?? '' })
    const prompt = textField(t('host.agent.prompt'), { value: linesOf(agent.systemPrompt), rows: 6, hint: t('host.agent.promptHint') })
    const tools = toolsField(info.tools ?? [], agent.tools)
    const models = /** @type {any[]} */ (info.models ?? [])
    const provider = choiceField(t('host.provider'), [['', t('host.agent.anyProvider')], ...models.map((one) => /** @type {[string, string]} */ ([one.name, one.name]))], agent.provider ?? '')
    const model = textField(t('host.model'), { value: agent.model ?? '' })
    const offers = offersOf(model.input)
    model.el.append(offers.el)
    const offer = () => offers.write((models.find((one) => one.name === provider.value()) ?? models.find((one) => one.default))?.models?.map((/** @type {string} */ one) => ({ name: one })) ?? [])
    provider.input.onchange = offer
    offer()
    const others = Object.fromEntries(Object.entries(agent).filter(([key]) => !OWN.includes(key)))
    const json = jsonField({ label: t('host.otherKeys'), value: others, object: true })
    const broken = file && !agentOf(file) ? h('p.problem', null, t('host.agent.unreadable')) : null
    /** Of the file that is edited; another one would be put over what was changed elsewhere. */
    let revision = file?.name === name && !file.built_in ? file.revision : undefined
    const form = formOf({
      fields: { named, about, prompt, tools, provider, model }, label: t('host.save'), cancel: close, kept: '',
      more: h('div.stack', null, h('details.connect-more', { open: Object.keys(others).length > 0 }, h('summary', null, t('host.more')), json.el), broken),
      paths: () => ({ about: ['agent', 'description'], prompt: ['agent', 'systemPrompt'], tools: ['agent', 'tools'], provider: ['agent', 'provider'], model: ['agent', 'model'] }),
      save: async () => {
        const wanted = named.value()
        if (!NAME.test(wanted)) return { wrong: { named: t('host.agent.badName') } }
        if (wanted !== (file?.name ?? '') && all.some((one) => one.name === wanted && !one.built_in)) return { wrong: { named: t('host.taken') } }
        const rest = json.read()
        if (!rest.ok) return json.focus()
        const given = {
          ...rest.value, ...(about.value() ? { description: about.value() } : {}), ...(prompt.value() ? { systemPrompt: prompt.value() } : {}),
          ...tools.read(), ...(provider.value() ? { provider: provider.value() } : {}), ...(model.value() ? { model: model.value() } : {}),
        }
        try {
          await store.routes.saveAgent(wanted, given, revision)
        } catch (error) {
          if (/** @type {Failure} */ (error).code !== 'revision_changed') throw error
          revision = (await done()).find((one) => one.name === wanted)?.revision
          throw new Error(t('host.changed'))
        }
        await done()
        close()
      },
    })
    return form.el
  }

  /** @param {any} store @param {import('../../ui/types').Actions} actions */
  function part(store, actions) {
    /** @type {AgentFile[]} */ let files = []
    let asked = false
    /** What a new one is made from. @type {AgentFile | undefined} */ let source
    const note = problemLine()
    const part = listPart({
      lead: t('host.agent.lead'), add: t('host.agent.add'), none: t('host.agent.none'),
      form: (_, name, close) => {
        const from = name ? files.find((one) => one.name === name) : source
        const of = name || (source ? freeName(source.name) : '')
        source = undefined
        return agentForm(store, from, of, files, read, close)
      },
      rows: () => [...own(), ...files.filter((one) => one.built_in)].map(fileRow),
    })
    part.el.append(note)

    /** @param {string} name */
    function freeName(name) {
      for (let n = 2; ; n += 1) if (!files.some((one) => one.name === `${name}-${n}`)) return `${name}-${n}`
    }

    const own = () => files.filter((one) => !one.built_in)

    async function read() {
      await attempt(note, async () => {
        const found = await store.routes.agents()
        files = Array.isArray(found) ? found : found?.agents ?? []
        if (store.now()) draw(store.now())
      })
      return files
    }

    /** @param {AgentFile} file */
    function fileRow(file) {
      const { name, built_in: builtIn, problems = [] } = file
      return row([
        h('b', null, name), ' ', builtIn ? badge(t('host.agent.builtIn')) : null, problems.length ? badge(t('host.agent.wrong'), 'bad') : null,
        h('p.hint', null, agentOf(file)?.description ?? ''), problems.map((words) => h('p.problem', null, words)),
      ], [
        problems.length ? null : small(t('host.agent.try'), name, () => tryOut(name)), builtIn ? null : small(t('host.edit'), name, () => part.open(name)),
        small(t('host.duplicate'), name, () => { source = file, part.open('') }),
        builtIn ? null : small(t('host.remove'), name, () => confirm(t('host.removeIt', { name }), t('host.agent.removeHint'), async () => { await store.routes.removeAgent(name), await read(), await store.app.server.connect() }), 'danger'),
      ])
    }

    /** A new session with it. @param {string} name */
    async function tryOut(name) {
      await store.app.server.connect()
      document.querySelector('dialog[open]')?.querySelector('.dialog-head button')?.dispatchEvent(new MouseEvent('click', { bubbles: true }))
      actions.newSession()
      actions.setAgent(name)
    }

    const { update: draw } = part
    part.update = (/** @type {any} */ settings) => {
      draw(settings)
      if (!asked) asked = Boolean(read())
    }
    return part
  }

  return { part }
})
