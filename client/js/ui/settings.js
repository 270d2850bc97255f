// The settings dialog: server, model, tools, limits, appearance. Every change is kept at once; there is no "Save".
// What comes from the server (models, tools) is drawn from /info and says so while it is not there.

yaa.define('ui/settings', ['ui/h', 'ui/text', 'ui/connection'], ({ h, icon, iconButton, list, text, attr, fill, uid }, { t }, { toneOf, wordsOf }) => {
  const TABS = ['server', 'model', 'tools', 'limits', 'look']
  const LIMITS = [['max_steps', 'maxSteps'], ['max_tokens', 'maxTokens'], ['max_wall_s', 'maxWall'], ['max_consecutive_errors', 'maxErrors']]
  const LANGUAGES = [['en', 'English'], ['zh', '中文']]
  const THEMES = [['', 'settings.themeSystem'], ['light', 'settings.themeLight'], ['dark', 'settings.themeDark']]

  /** @param {import('./types').Actions} actions @returns {any} */
  function settingsDialog(actions) {
    const heading = uid('settings')
    /** @type {Record<string, import('./types').View>} */
    const panels = { server: serverPanel(actions), model: modelPanel(actions), tools: toolsPanel(actions), limits: limitsPanel(actions), look: lookPanel(actions) }
    const panel = h('div.panel', { role: 'tabpanel', tabIndex: -1 })
    const tabs = h('div.tabs', { role: 'tablist', 'aria-labelledby': heading, onkeydown },
      TABS.map((name) => h('button', { type: 'button', role: 'tab', 'data-tab': name, onclick: () => choose(name) }, t(`settings.${name}`))))
    const el = h('dialog.dialog', { 'aria-labelledby': heading, closedby: 'any', onclose: () => actions.settingsClosed() },
      h('header.dialog-head', null, h('h2', { id: heading }, t('settings.title')), iconButton('x', t('settings.close'), { onclick: () => el.close() })),
      h('div.dialog-body', null, tabs, panel))
    /** @type {any} */ let last = null
    let current = ''

    /** @param {string} name */
    function choose(name) {
      current = name
      for (const tab of tabs.children) {
        const on = tab.dataset.tab === name
        attr(tab, 'aria-selected', on)
        tab.tabIndex = on ? 0 : -1
      }
      attr(panel, 'aria-label', t(`settings.${name}`))
      fill(panel, panels[name].el)
      panel.scrollTop = 0
      if (last) update(last)
    }

    /** @param {KeyboardEvent} event */
    function onkeydown(event) {
      const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key]
      if (!step) return
      event.preventDefault()
      choose(TABS[(TABS.indexOf(current) + step + TABS.length) % TABS.length])
      tabs.querySelector('[aria-selected="true"]').focus()
    }

    /** @param {any} state */
    function update(state) {
      last = state
      if (el.open) panels[current].update(state)
    }

    /** @param {string} [name] */
    function show(name) {
      if (!el.open) el.showModal()
      choose(name ?? (current || 'server'))
      tabs.querySelector('[aria-selected="true"]').focus()
    }

    return { el, update, show }
  }

  /** @param {import('./types').Actions} actions */
  function serverPanel(actions) {
    const url = textField('settings.url', 'settings.urlHint', saveUrl, { inputmode: 'url', type: 'url' })
    const key = textField('settings.key', '', (value) => actions.set({ key: value.trim() }), { type: 'password' })
    const show = h('button.button.small', { type: 'button', 'aria-pressed': 'false', onclick: toggle }, t('settings.keyShow'))
    const test = h('button.button', { type: 'button', onclick: () => actions.connect() }, icon('retry'), t('settings.test'))
    const kept = h('p.hint')
    const remember = h('input', { type: 'checkbox', onchange: () => actions.set({ remember: remember.checked }) })
    const rememberRow = h('div', { hidden: true }, h('label.check', null, remember, t('settings.remember')), h('p.hint', null, t('settings.rememberWarn')))
    const dot = h('span.dot')
    const words = h('span')
    key.row.append(show)
    const wrong = h('p.problem', { hidden: true, role: 'alert' }, t('settings.urlBad'))
    url.el.append(wrong)
    const el = h('div.group', null, url.el, h('div.stack', null, key.el, kept, rememberRow), h('div.status-box', null, dot, words), h('div', null, test))

    /** @param {string} value */
    function saveUrl(value) {
      const address = value.trim().replace(/\/+$/, '')
      wrong.hidden = /^https?:\/\/[^\s/]+/.test(address)
      attr(url.input, 'aria-invalid', wrong.hidden ? null : true)
      if (wrong.hidden) actions.set({ url: address })
    }

    function toggle() {
      const hidden = key.input.type === 'password'
      key.input.type = hidden ? 'text' : 'password'
      attr(show, 'aria-pressed', hidden)
      text(show, t(hidden ? 'settings.keyHide' : 'settings.keyShow'))
    }

    /** @param {any} state */
    function update({ settings, server, onDisk }) {
      url.write(settings.url)
      key.write(settings.key)
      text(kept, `${t('settings.keyHint')} ${t(onDisk && !settings.remember ? 'settings.keyMemory' : 'settings.keyStored')}`)
      rememberRow.hidden = !onDisk
      remember.checked = Boolean(settings.remember)
      dot.className = `dot ${toneOf(server)}`
      const details = server.failure ? server.failure.detail : [server.version && t('server.version', { version: server.version }), server.tier && t('server.sandbox', { tier: server.tier })].filter(Boolean).join(' · ')
      text(words, [wordsOf(server), details].filter(Boolean).join(' – '))
    }

    return { el, update }
  }

  /** @param {import('./types').Actions} actions */
  function modelPanel(actions) {
    const select = h('select.input', { id: uid('provider'), onchange: () => actions.setProvider(select.value) })
    const none = h('p.hint', null, t('settings.modelsNone'))
    const model = textField('settings.modelName', 'settings.modelHint', (value) => actions.set({ model: value.trim() }))
    const demo = h('p.hint', { hidden: true }, t('demo.note'))
    const character = areaField('settings.character', 'settings.characterHint', 'settings.characterPlaceholder', (value) => actions.set({ character: value }))
    const el = h('div.group', null, h('div.field', null, h('label', { htmlFor: select.id }, t('settings.provider')), select, none, demo), model.el, character.el)
    let drawn = ''

    /** @param {any} state */
    function update({ settings, models, provider, demo: isDemo }) {
      const key = JSON.stringify([models, provider])
      if (key !== drawn) fill(select, models.map((/** @type {any} */ one) => h('option', { value: one.name, selected: one.name === provider }, one.label)))
      drawn = key
      select.hidden = !models.length
      none.hidden = models.length > 0
      demo.hidden = !isDemo
      model.write(settings.model ?? '')
      character.write(settings.character ?? '')
    }

    return { el, update }
  }

  /** @param {import('./types').Actions} actions */
  function toolsPanel(actions) {
    const rules = h('ul.rules')
    const none = h('p.hint', null, t('settings.toolsNone'))
    const el = h('div.group', null, h('p.hint', null, t('settings.toolsLead')), none, rules)

    /** @param {any} state */
    function update({ tools, settings }) {
      none.hidden = tools.length > 0
      rules.hidden = !tools.length
      list(rules, tools.map((/** @type {any} */ tool) => ({ ...tool, rule: settings.tools?.[tool.name] ?? '' })), (tool) => tool.name, (tool) => toolRow(tool, actions))
    }

    return { el, update }
  }

  /** @param {any} tool @param {import('./types').Actions} actions */
  function toolRow(tool, actions) {
    const off = tool.ceiling === 'deny'
    const badge = off ? t('settings.toolCeilingDeny') : tool.ceiling === 'ask' ? t('settings.toolCeilingAsk') : tool.readOnly ? t('settings.toolReadOnly') : ''
    const rules = [['', 'settings.toolDefault'], ['allow', 'settings.toolAllow'], ['ask', 'settings.toolAsk'], ['deny', 'settings.toolDeny']]
    const select = h('select.select', { 'aria-label': t('settings.toolRule', { tool: tool.name }), disabled: off, onchange: () => actions.setTool(tool.name, select.value) },
      rules.filter(([value]) => !(value === 'allow' && tool.ceiling === 'ask')).map(([value, key]) => h('option', { value }, t(key))))
    const el = h('li', null, h('div', null, h('div', null, h('code', null, tool.name), badge ? h('span.badge', null, badge) : null), h('p', null, tool.description)), select)
    return { el, update: (/** @type {any} */ next) => { select.value = next.rule } }
  }

  /** @param {import('./types').Actions} actions */
  function limitsPanel(actions) {
    const fields = LIMITS.map(([name, label]) => ({ name, field: textField(`settings.${label}`, '', (value) => actions.setLimit(name, value), { inputmode: 'numeric' }) }))
    const el = h('div.group', null, h('p.hint', null, t('settings.limitsLead')), h('div.grid-2', null, fields.map(({ field }) => field.el)), h('p.hint', null, t('settings.scope')))

    /** @param {any} state */
    function update({ settings, defaults }) {
      for (const { name, field } of fields) {
        field.write(String(settings.limits?.[name] ?? ''))
        field.input.placeholder = String(defaults?.[name] ?? '∞')
      }
    }

    return { el, update }
  }

  /** @param {import('./types').Actions} actions */
  function lookPanel(actions) {
    const language = segments('settings.language', [['', t('settings.languageSystem')], ...LANGUAGES], (value) => actions.set({ language: value }))
    const theme = segments('settings.theme', THEMES.map(([value, key]) => [value, t(key)]), (value) => actions.set({ theme: value }))
    const el = h('div.group', null, language.el, theme.el)

    /** @param {any} state */
    function update({ settings }) {
      language.write(settings.language ?? '')
      theme.write(settings.theme ?? '')
    }

    return { el, update }
  }

  /** A line of text kept when the field is left or Enter pressed. @param {string} label @param {string} hint @param {(value: string) => void} save @param {Record<string, any>} [more] */
  function textField(label, hint, save, more = {}) {
    const id = uid('text')
    const input = h('input.input', { id, autocomplete: 'off', autocapitalize: 'off', spellcheck: false, onchange: () => save(input.value), ...more })
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

  /** One of a few: radio buttons that look like one control. @param {string} label @param {string[][]} options @param {(value: string) => void} save */
  function segments(label, options, save) {
    const name = uid('choice')
    const inputs = options.map(([value]) => h('input', { type: 'radio', name, value, onchange: () => save(value) }))
    const el = h('fieldset.field', null, h('legend.label', null, t(label)), h('div', null, h('div.segments', null, options.map(([, words], i) => h('label', null, inputs[i], h('span', null, words))))))
    return { el, write: (/** @type {string} */ value) => inputs.forEach((input) => { input.checked = input.value === value }) }
  }

  return { settingsDialog }
})
