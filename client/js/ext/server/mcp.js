// MCP servers: an entry is pasted as another program has it, tried, and kept with the tools that it has shown.

yaa.define('ext/server/mcp', ['ui/dom', 'ext/server/texts', 'ui/form', 'ui/mcp-sign-in', 'ext/server/parts', 'ext/server/trial', 'ext/server/values'], (
  { h, text, attr }, { t }, { jsonField }, { signInsPart }, { textField, formOf, row, badge, attempt, confirm, small, listPart }, trials, { mcpEntries, freeName, NAME },
) => {
  const PATH = ['server', 'mcpServers']

  /** @param {any} settings @returns {Record<string, any>} */
  const serversOf = (settings) => settings.effective?.mcpServers ?? settings.file?.server?.mcpServers ?? {}

  /** A trial of one entry. @param {any} store @param {() => {name: string, entry: any} | null} what */
  const trialOf = (store, what) => offered(store, trials.trialOf({
    what, label: t('host.mcp.try'), going: t('host.mcp.starting'),
    async ask({ name, entry }, signal) {
      const found = await store.routes.tryMcp(name, entry, signal)
      if (!found.ok && !found.sign_in) throw new Error(found.problem?.detail ?? t('host.try.failed'))
      return found
    },
    show: (found) => (found.sign_in && !found.ok ? h('p.hint', null, t('host.mcp.needsSignIn')) : toolsOf(found.tools ?? [])),
  }))

  /** A trial, with its button only where the server tries entries. @template {{press: any}} T @param {any} store @param {T} trial @returns {T} */
  function offered(store, trial) {
    trial.press.hidden = !store.app.server.info()?.mcp_trial
    return trial
  }

  /** @param {{name: string, description?: string}[]} tools */
  const toolsOf = (tools) => h('details.connect-more', { open: tools.length < 9 }, h('summary', null, t('host.mcp.tools', { n: tools.length })),
    h('ul.host-tools', null, tools.map((one) => h('li', null, h('code', null, one.name), ' ', h('span.hint', null, (one.description ?? '').split('\n')[0])))))

  /** @param {any} store @param {any} settings @param {() => void} close */
  function pasteForm(store, settings, close) {
    const source = textField(t('host.mcp.paste'), { rows: 5, mono: true, hint: t('host.mcp.pasteHint'), placeholder: '{"mcpServers": {"files": {"command": "npx", "args": ["-y", "…"]}}}', oninput: look })
    const name = textField(t('host.name'))
    const found = h('p.hint', { role: 'status' })
    /** @type {{name: string, entry: any}[]} */ let entries = []

    function look() {
      const read = mcpEntries(source.value())
      entries = read.entries
      source.problem(source.value() && read.problem ? t(read.problem) : '')
      text(found, entries.length > 1 ? t('host.mcp.several', { names: entries.map((one) => one.name).join(', ') }) : '')
      name.el.hidden = entries.length !== 1
      if (entries.length === 1 && !name.input.value) name.input.placeholder = freeName(entries[0].name, serversOf(settings))
    }
    const named = () => (entries.length === 1 ? [{ ...entries[0], name: name.value() || freeName(entries[0].name, serversOf(settings)) }] : entries)
    const trial = trialOf(store, () => (look(), named()[0] ?? (source.problem(t(mcpEntries(source.value()).problem ?? 'host.mcp.empty')), null)))
    name.el.hidden = true
    const form = formOf({
      fields: { source, name }, label: t('host.save'), cancel: close, buttons: [trial.press],
      more: h('div.stack', null, found, h('p.hint', null, t('host.mcp.rights')), trial.note, trial.said),
      paths: () => ({ source: PATH }),
      save: async () => {
        look()
        if (!entries.length) return { wrong: { source: t(mcpEntries(source.value()).problem ?? 'host.mcp.empty') } }
        const wrong = named().find((one) => !NAME.test(one.name))
        if (wrong) return { wrong: { [entries.length > 1 ? 'source' : 'name']: t('host.badName') } }
        const taken = named().find((one) => Object.hasOwn(serversOf(settings), one.name))
        if (taken) return { wrong: { [entries.length > 1 ? 'source' : 'name']: t('host.takenName', { name: taken.name }) } }
        await store.change(named().map((one) => ({ path: [...PATH, one.name], value: one.entry })))
        source.input.value = ''
        trial.end()
        close()
      },
    })
    return form.el
  }

  /** @param {any} store @param {any} settings @param {string} name @param {() => void} close */
  function editForm(store, settings, name, close) {
    const json = jsonField({ label: t('host.mcp.entry', { name }), value: settings.file?.server?.mcpServers?.[name] ?? serversOf(settings)[name], object: true })
    const trial = trialOf(store, () => {
      const read = json.read()
      return read.ok ? { name, entry: read.value } : null
    })
    const form = formOf({
      fields: {}, label: t('host.save'), cancel: close, buttons: [trial.press],
      more: h('div.stack', null, json.el, h('p.hint', null, t('host.secretJson')), trial.note, trial.said),
      save: async () => {
        const read = json.read()
        if (!read.ok) return json.focus()
        await store.change([{ path: [...PATH, name], value: read.value }])
        trial.end()
        close()
      },
    })
    return form.el
  }

  /** @param {any} store @param {import('../../ui/types').Actions} actions */
  function part(store, actions) {
    const signIns = signInsPart(actions)
    const part = listPart({
      lead: t('host.mcp.lead'), add: t('host.mcp.add'), none: t('host.mcp.none'),
      form: (settings, name, close) => (name ? editForm(store, settings, name, close) : pasteForm(store, settings, close)),
      rows: (settings) => Object.entries(serversOf(settings)).map(([name, entry]) => {
        const trial = trialOf(store, () => ({ name, entry: settings.file?.server?.mcpServers?.[name] ?? entry }))
        trial.press.className = 'button small'
        attr(trial.press, 'aria-label', `${t('host.mcp.try')}: ${name}`)
        const off = entry.disabled === true
        return row(
          [h('b', null, name), ' ', off ? badge(t('host.off')) : null, h('p.hint.mono', null, entry.url ?? [entry.command, ...(entry.args ?? [])].join(' '))],
          [trial.press, small(t(off ? 'host.turnOn' : 'host.turnOff'), name, () => attempt(trial.note, () => store.change([off ? { path: [...PATH, name, 'disabled'], remove: true } : { path: [...PATH, name, 'disabled'], value: true }]))),
            small(t('host.edit'), name, () => part.open(name)),
            small(t('host.remove'), name, () => confirm(t('host.removeIt', { name }), t('host.mcp.removeHint'), () => store.change([{ path: [...PATH, name], remove: true }])), 'danger')],
          h('div.host-below', null, trial.said, trial.note))
      }),
    })
    part.el.append(signIns.el)
    const { update } = part
    part.update = (/** @type {any} */ settings) => (update(settings), signIns.update(/** @type {any} */ ({ server: store.app.server.state() })))
    return part
  }

  return { part }
})
