// The settings dialog: server, model, tools, limits, appearance. Every change is kept at once; there is no "Save".
// What comes from the server (models, tools) is drawn from /info and says so while it is not there.

yaa.define('ui/settings', ['ui/dom', 'ui/i18n', 'ui/connection-checks', 'ui/appearance', 'ui/client-tools', 'io/settings', 'ui/tool-rules', 'ui/settings-parts', 'i18n/settings', 'css/dialogs', 'css/config-form'], (dom, { t, count }, { toneOf, wordsOf }, { appearancePanel }, { switches }, { linkOf }, { toolsOf }, { TABS, SHOWN_BY, offers: isOffered }) => {
  const { h, icon, iconButton, list, text, attr, fill, uid } = dom
  const LIMITS = [
    ['max_steps', 'maxSteps'], ['max_tokens', 'maxTokens'], ['max_wall_s', 'maxWall'], ['max_consecutive_errors', 'maxErrors'],
    ['wall_s', 'callTime'], // of one call of a tool
  ]
  const RULES = [['', 'settings.toolDefault'], ['allow', 'settings.toolAllow'], ['ask', 'settings.toolAsk'], ['deny', 'settings.toolDeny']]

  /** @param {import('./types').Actions} actions @returns {any} */
  function settingsDialog(actions) {
    const heading = uid('settings')
    /** @type {Record<string, import('./types').View>} */
    const panels = {
      server: serverPanel(actions), model: modelPanel(actions), tools: toolsPanel(actions), limits: limitsPanel(actions),
      look: appearancePanel(actions), storage: laterView(from('storage', 'ui/storage-notices'), 'storagePanel', actions),
      ...Object.fromEntries(Object.entries(SHOWN_BY).map(([name, purpose]) => [name, laterView(() => yaa.part(purpose), name, actions)])),
    }
    const panel = h('div.panel', { role: 'tabpanel', tabIndex: -1 })
    const tab = (/** @type {string} */ name) => (
      h('button', { type: 'button', role: 'tab', 'data-tab': name, onclick: () => choose(name) }, t(`settings.${name}`))
    )
    const tabs = h('div.tabs', { role: 'tablist', 'aria-labelledby': heading, onkeydown }, Object.keys(TABS).map(tab))
    const close = iconButton('x', t('settings.close'), { onclick: () => el.close() })
    const el = h('dialog.dialog', { 'aria-labelledby': heading, closedby: 'any', onclose: () => actions.draw() },
      h('header.dialog-head', null, h('h2', { id: heading }, t('settings.title')), close),
      h('div.dialog-body', null, tabs, panel))
    /** The folded parts, by name. @type {Record<string, any>} */ const folds = {}
    const boxes = Object.fromEntries(Object.entries(TABS).map(([name, parts]) => [name, h('div.group', null, parts.map((/** @type {string} */ part) => (part === name ? h('div', { 'data-part': part }, panels[part].el) : fold(part))))]))
    /** @type {any} */ let last = null
    /** The tab, and what was asked for in it. */
    let [current, part] = ['', 'model']

    /** @param {string} name */
    function fold(name) {
      const ontoggle = () => last && update(last)
      folds[name] = h('details.config-group', { 'data-part': name, ontoggle },
        h('summary', null, icon('chevron', 'chevron'), h('span', null, t(`settings.${name}`))), h('div.config-fields', null, panels[name].el))
      return folds[name]
    }

    const offers = (/** @type {string} */ name) => isOffered(name, last?.info)

    /** @param {string} wanted a part, or a tab */
    function choose(wanted) {
      part = wanted
      const name = current = String(Object.keys(TABS).find((one) => TABS[one].includes(part)))
      for (const tab of tabs.children) {
        const on = tab.dataset.tab === name
        attr(tab, 'aria-selected', on)
        tab.tabIndex = on ? 0 : -1
        if (on) tab.scrollIntoView({ block: 'nearest', inline: 'nearest' })
      }
      attr(panel, 'aria-label', t(`settings.${name}`))
      fill(panel, boxes[name])
      panel.scrollTop = 0
      if (folds[part]) folds[part].open = true
      if (last) update(last)
      folds[part]?.scrollIntoView()
    }

    /** @param {KeyboardEvent} event */
    function onkeydown(event) {
      const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key]
      if (!step) return
      event.preventDefault()
      const offered = Object.keys(TABS).filter(offers)
      choose(offered[(offered.indexOf(current) + step + offered.length) % offered.length])
      tabs.querySelector('[aria-selected="true"]').focus()
    }

    /** @param {any} state */
    function update(state) {
      last = state
      if (!el.open) return
      for (const name of Object.keys(SHOWN_BY)) (folds[name] ?? tabs.querySelector(`[data-tab=${name}]`)).hidden = !offers(name)
      if (!offers(part)) return choose('model')
      for (const name of TABS[current]) if (offers(name) && folds[name]?.open !== false) panels[name].update(state)
    }

    /** @param {string} [name] */
    function show(name) {
      if (!el.open) el.showModal()
      choose(name ?? part)
      tabs.querySelector('[aria-selected="true"]').focus()
    }

    return { el, update, show }
  }

  /** @param {string} group @param {string} module */
  const from = (group, module) => () => yaa.load(group).then(() => yaa.use(/** @type {any} */ (module)))

  /**
   * A view that scripts bring which come when it is first looked at; none where no part has it.
   * @param {() => Promise<any>} load gives their module @param {string} name @param {import('./types').Actions} actions
   */
  function laterView(load, name, actions) {
    const el = h('div.later')
    /** @type {any} */ let view = null
    /** @type {any} */ let last = null
    let coming = false
    async function come() {
      const [module] = await Promise.all([load(), ...['dialogs', 'questions', 'session-defaults'].map((one) => yaa.load(one))])
      if (!module) return
      view = module[name](actions)
      fill(el, view.el)
      view.update(last)
    }
    /** @param {any} state */
    function update(state) {
      last = state
      if (view) view.update(state)
      else if (!coming) coming = Boolean(come().catch((error) => fill(el, h('p.problem', null, error.message))))
    }
    return { el, update }
  }

  /** @param {import('./types').Actions} actions */
  function serverPanel(actions) {
    const servers = laterView(() => yaa.part('server-list'), 'settingsPart', actions)
    const device = laterView(() => yaa.part('device-link'), 'linkPart', actions)
    const signIns = laterView(from('questions', 'ui/mcp-sign-in'), 'signInsPart', actions)
    const url = textField('settings.url', 'settings.urlHint', saveUrl, { inputmode: 'url', type: 'url' })
    const key = textField('settings.key', '', (value) => actions.set({ key: value.trim() }), { type: 'password' })
    const show = h('button.button.small', { type: 'button', 'aria-pressed': 'false', onclick: toggle }, t('settings.keyShow'))
    const test = h('button.button', { type: 'button', onclick: () => actions.connect() }, icon('retry'), t('settings.test'))
    const kept = h('p.hint')
    const remember = h('input', { type: 'checkbox', onchange: () => actions.set({ remember: remember.checked }) })
    const rememberRow = h('div', { hidden: true },
      h('label.check', null, remember, t('settings.remember')), h('p.hint', null, t('settings.rememberWarn')))
    const dot = h('span.dot')
    const words = h('span')
    key.row.append(show)
    const wrong = h('p.problem', { hidden: true, role: 'alert' }, t('settings.urlBad'))
    url.el.append(wrong)
    const el = h('div.group', null, url.el, h('div.stack', null, key.el, kept, rememberRow),
      h('div.status-box', null, dot, words), h('div', null, test), device.el, servers.el, signIns.el)

    /** @param {string} value */
    function saveUrl(value) {
      wrong.hidden = /^https?:\/\/[^\s/]\S*$/.test(linkOf(value).address)
      attr(url.input, 'aria-invalid', wrong.hidden ? null : true)
      if (wrong.hidden) actions.set({ url: value })
    }

    function toggle() {
      const hidden = key.input.type === 'password'
      key.input.type = hidden ? 'text' : 'password'
      attr(show, 'aria-pressed', hidden)
      text(show, t(hidden ? 'settings.keyHide' : 'settings.keyShow'))
    }

    /** @param {any} state */
    function update(state) {
      const { settings, server, onDisk } = state
      device.update(state)
      servers.update(state)
      signIns.update(state)
      url.write(settings.url)
      key.write(settings.key)
      text(kept, `${t('settings.keyHint')} ${t(onDisk && !settings.remember ? 'settings.keyMemory' : 'settings.keyStored')}`)
      rememberRow.hidden = !onDisk
      remember.checked = Boolean(settings.remember)
      dot.className = `dot ${toneOf(server)}`
      text(words, [wordsOf(server), detailsOf(server)].filter(Boolean).join(' – '))
    }

    return { el, update }
  }

  /** @param {import('./types').ServerState} server */
  function detailsOf({ failure, version, tier }) {
    if (failure) return failure.detail
    return [version && t('server.version', { version }), tier && t('server.sandbox', { tier })].filter(Boolean).join(' · ')
  }

  /** The models of a provider, or of the server's choice. @param {any} info @param {string} provider @returns {string[]} */
  function modelsOf(info, provider) {
    /** @type {any[]} */ const all = info?.models ?? []
    return (all.find((one) => one.name === provider) ?? all.find((one) => one.default) ?? all[0])?.models ?? []
  }

  /** @param {import('./types').Actions} actions */
  function modelPanel(actions) {
    const select = h('select.input', { id: uid('provider'), onchange: () => actions.choose('provider', select.value) })
    const none = h('p.hint', null, t('settings.modelsNone'))
    const known = h('datalist', { id: uid('models') })
    const model = textField('settings.modelName', 'settings.modelHint', (value) => actions.choose('model', value.trim()), { list: known.id })
    const demo = h('p.hint', { hidden: true }, t('demo.note'))
    const tongue = textField('config.language', 'config.languageHint', (value) => actions.choose('yaa', 'language', value.trim()))
    const title = h('input', { type: 'checkbox', onchange: () => actions.choose('yaa', 'auto_title', title.checked) })
    const titles = h('div.field', null, h('label.check', null, title, t('config.autoTitle')), h('p.hint', null, t('config.autoTitleHint')))
    const character = areaField('settings.character', 'settings.characterHint', 'settings.characterPlaceholder', saveCharacter)
    const provider = h('div.field', null, h('label', { htmlFor: select.id }, t('settings.provider')), select, none, demo)
    const el = h('div.group', null, provider, model.el, known, tongue.el, titles, character.el, h('p.hint', null, t('settings.scope')))
    let drawn = ''

    /** @param {string} value */
    function saveCharacter(value) {
      actions.set({ character: value })
    }

    /** @param {import('./types').State} state */
    function update({ session, settings, models, provider: current, demo: isDemo, info }) {
      const key = JSON.stringify([models, current, info?.models])
      if (key !== drawn) {
        fill(select, models.map((one) => h('option', { value: one.name, selected: one.name === current }, one.label)))
        fill(known, modelsOf(info, current).map((name) => h('option', { value: name })))
      }
      drawn = key
      select.hidden = !models.length
      none.hidden = models.length > 0
      demo.hidden = !isDemo
      model.write((session.config?.llm_api?.provider ?? settings.config?.llm_api?.provider ?? { model_name: settings.model }).model_name ?? '')
      tongue.write(session.config?.yaa?.language ?? settings.config?.yaa?.language ?? '')
      tongue.input.placeholder = info?.defaults?.config?.yaa?.language ?? ''
      title.checked = settings.config?.yaa?.auto_title ?? (info?.defaults?.config?.yaa?.auto_title || (models.length > 0 && !isDemo))
      character.write(settings.character ?? '')
    }

    return { el, update }
  }

  /** @param {import('./types').Actions} actions */
  function toolsPanel(actions) {
    const rules = h('ul.rules')
    const none = h('p.hint', null, t('settings.toolsNone'))
    const own = switches(actions)
    const el = h('div.group', null, h('p.hint', null, t('settings.toolsLead')), none, rules, own.el)

    /** @param {import('./types').State} state */
    function update(state) {
      const { info, settings } = state
      const tools = toolsOf(info)
      own.update({ state })
      none.hidden = tools.length > 0
      rules.hidden = !tools.length
      const rows = tools.map((tool) => ({ ...tool, rule: settings.tools?.[tool.name] ?? '' }))
      list(rules, rows, (tool) => tool.name, (tool) => toolRow(tool, actions))
    }

    return { el, update }
  }

  /** A description of the server's, without the ends of its lines; paragraphs and lists stay. @param {string} words */
  const flowing = (words) => words.replace(/([^\n])\n(?![\n\s*-])/g, '$1 ')

  /** @param {any} tool @param {import('./types').Actions} actions */
  function toolRow(tool, actions) {
    const off = tool.policy === 'deny'
    const note = off ? 'settings.toolOff' : tool.readOnly ? 'settings.toolReadOnly' : ''
    const label = t('settings.toolRule', { tool: tool.name })
    const select = h('select.select', { 'aria-label': label, disabled: off, onchange: () => actions.choose('tool', tool.name, select.value) },
      RULES.map(([value, key]) => h('option', { value }, t(key, { policy: tool.policy }))))
    const name = h('div', null, h('code', null, tool.name), note ? h('span.badge', null, t(note)) : null)
    const why = h('p.why')
    const words = h('p', null, flowing(tool.description))
    const about = t('settings.toolAbout', { tool: tool.name }) // of the usual ones, for people
    const el = h('li', null, h('div', null, name, about ? [h('p', null, about), h('details', null, h('summary', null, t('settings.toolText')), words)] : words, why), select)
    return { el, update: (/** @type {any} */ { rule, unavailable }) => {
      select.value = rule
      why.hidden = !unavailable
      text(why, unavailable ? t('settings.toolUnavailable', { reason: unavailable }) : '')
    } }
  }

  /** @param {import('./types').Actions} actions */
  function limitsPanel(actions) {
    const fields = LIMITS.map(([name, label]) => {
      const field = textField(`settings.${label}`, '', (value) => actions.choose(name === 'wall_s' ? 'call' : 'limit', name, value), { inputmode: 'numeric' })
      const told = h('p.hint', { id: uid('told') })
      field.el.append(told)
      attr(field.input, 'aria-describedby', told.id)
      return { name, field: { ...field, told } }
    })
    const el = h('div.group', null, h('p.hint', null, t('settings.limitsLead')),
      h('div.grid-2', null, fields.map(({ field }) => field.el)), h('p.hint', null, t('settings.scope')))

    /** @param {any} state */
    function update({ settings, info }) {
      const { limits: usual } = info?.defaults?.config ?? {}
      for (const { name, field } of fields) {
        const call = name === 'wall_s'
        const most = (call ? info?.limits?.tool : info?.limits?.session)?.[name]
        field.write(String((call ? settings.config?.limits?.tool : settings.limits)?.[name] ?? ''))
        field.input.placeholder = String((call ? usual?.tool : usual)?.[name] ?? '∞')
        text(field.told, Number.isFinite(most) ? t('settings.most', { n: count(most) }) : '')
      }
    }

    return { el, update }
  }

  /**
   * A line of text, kept when the field is left or Enter pressed.
   * @param {string} label @param {string} hint @param {(value: string) => void} save @param {Record<string, any>} [more]
   */
  function textField(label, hint, save, more = {}) {
    const id = uid('text')
    const plain = { autocomplete: 'off', autocapitalize: 'off', spellcheck: false }
    const input = h('input.input', { id, ...plain, onchange: () => save(input.value), ...more })
    const row = h('div.inline-row', null, input)
    const el = h('div.field', null, h('label', { htmlFor: id }, t(label)), row, hint ? h('p.hint', null, t(hint)) : null)
    return { el, input, row, write: (/** @type {string} */ value) => write(input, value) }
  }

  /** @param {string} label @param {string} hint @param {string} placeholder @param {(value: string) => void} save */
  function areaField(label, hint, placeholder, save) {
    const id = uid('area')
    const input = h('textarea.input', { id, placeholder: t(placeholder), onchange: () => save(input.value) })
    const el = h('div.field', null, h('label', { htmlFor: id }, t(label)), input, h('p.hint', null, t(hint)))
    return { el, write: (/** @type {string} */ value) => write(input, value) }
  }

  /** Never write into a field someone is typing in. @param {any} input @param {string} value */
  function write(input, value) {
    if (input !== document.activeElement && input.value !== value) input.value = value
  }

  return { settingsDialog }
})
