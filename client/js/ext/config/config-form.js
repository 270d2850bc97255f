// Every setting of a session, as fields: for the open session, or for new ones. Each is kept when it is left. The fields
// come from the schema that the server publishes (core/config-form).

yaa.define('ext/config/config-form', [
  'ui/dom', 'ui/i18n', 'ui/popup', 'ui/form', 'ui/commands', 'ext/config/field', 'ext/config/file', 'ext/config/form', 'core/session-defaults', 'core/session-changes', 'ext/config/texts', 'css/config-form',
], ({ h, icon, text, attr, fill, uid }, { t, language }, { say }, { jsonField }, { context }, { fieldView, wordsOf }, { filesPart }, form, { defaultsOf, keepDefaults }, { apply }) => {
  /** Stands in JSON where the key of a provider would. */
  const KEPT = '(kept)'

  /** @param {import('../../ui/types').Actions} actions */
  function panel(actions) {
    /** @type {'session' | 'default'} */ let scope = 'session'
    /** @type {{name: string, el: any, count: any, views: any[]}[]} */ let groups = []
    let drawn = ''
    const name = uid('scope')
    const radios = /** @type {const} */ (['session', 'default']).map((value) => h('input', { type: 'radio', name, value, checked: value === scope, onchange: () => { scope = value, update() } }))
    const scopeHint = h('p.hint')
    const scopes = h('fieldset.field', null, h('legend.label', null, t('config.scope')),
      h('div', null, h('div.segments', null, radios.map((radio) => h('label', null, radio, h('span', null, t(`config.${radio.value}`)))))), scopeHint)
    const find = h('input.input', { type: 'search', 'aria-label': t('config.search'), placeholder: t('config.search'), autocomplete: 'off', oninput: narrow })
    const found = h('p.sr-only', { role: 'status' })
    const none = h('p.hint')
    const list = h('div.config-groups')
    const whole = jsonPart()
    const files = filesPart(actions, update)
    const el = h('div.group', null, h('p.hint', null, t('config.lead')), scopes, h('div.field-icon', null, icon('search'), find), found, none, list, whole.el, files)

    /** What this scope says now, with what waits for the end of a run. */
    function current() {
      const { app } = context()
      if (scope === 'default') return defaultsOf(app.settings)
      const session = structuredClone({ config: app.current.session.config ?? {}, ext: app.current.session.ext, messages: [], id: '' })
      for (const change of [...app.current.stored, ...app.current.later]) apply(/** @type {any} */ (session), change)
      return session.config
    }

    /** What holds where this scope says nothing. */
    function below() {
      const { app } = context()
      const server = app.server.info()?.defaults?.config ?? {}
      return scope === 'default' ? [server] : [defaultsOf(app.settings), server]
    }

    /** @param {(config: any) => any} work @param {string} title of what is changed */
    function save(work, title) {
      const { app } = context()
      const waits = scope === 'session' && Boolean(app.current.going || app.current.elsewhere)
      if (scope === 'default') keepDefaults(app.settings, form.prune(work(defaultsOf(app.settings))))
      else app.sessionStore.amend(app.current, (session) => {
        const before = session.config?.limits ?? {}
        session.config = work(session.config)
        withoutOwnLimits(session, before)
      })
      say(t(waits ? 'config.waits' : 'config.saved', { name: title, scope }))
      actions.draw()
    }

    /** @param {ConfigField} field @param {any} value */
    function change(field, value) {
      save((config) => form.change(config, field, value), wordsOf(field)[0])
    }

    function build() {
      const { app } = context()
      const schema = app.server.info()?.config_schema
      const key = JSON.stringify([schema, language()])
      if (key === drawn) return
      drawn = key
      const open = new Set(groups.filter((group) => group.el.open).map((group) => group.name))
      groups = schema ? form.groups(schema).map((group, i) => groupView(group, open.size ? open.has(group.name) : !i)) : []
      fill(list, groups.map((group) => group.el))
      text(none, t(app.server.info() ? 'config.old' : 'config.none'))
      none.hidden = Boolean(schema)
      whole.el.hidden = !schema
      narrow()
    }

    /** @param {{name: string, fields: ConfigField[]}} group @param {boolean} open */
    function groupView({ name, fields }, open) {
      const count = h('span.badge')
      const views = fields.map((field) => fieldView(field, { change, context }))
      const title = t(`config.group.${name}`)
      const inside = h('div.config-fields', null, name === 'tool' ? h('p.hint', null, t('config.toolHint')) : null, views.map((view) => view.el))
      const el = h('details.config-group', { open }, h('summary', null, icon('chevron', 'chevron'), h('span', null, title), count), inside)
      return { name, el, count, views }
    }

    function narrow() {
      const words = find.value.toLowerCase().split(/\s+/).filter(Boolean)
      let n = 0
      for (const group of groups) {
        let here = 0
        for (const view of group.views) {
          view.el.hidden = !words.every((/** @type {string} */ word) => view.words.includes(word))
          if (!view.el.hidden) here += 1
        }
        group.el.hidden = !here
        if (words.length && here) group.el.open = true
        n += here
      }
      text(found, words.length ? t('config.found', { n }) : '')
      none.hidden = groups.length > 0 && n > 0
      if (groups.length && !n) text(none, t('config.found', { n: 0 }))
    }

    function jsonPart() {
      const field = jsonField({ label: t('config.json'), object: true })
      const keep = h('button.button.small', { type: 'button', onclick }, t('config.jsonSave'))
      const el = h('details.config-group', { ontoggle: () => el.open && write() }, h('summary', null, icon('chevron', 'chevron'), h('span', null, t('config.json'))),
        h('div.config-fields', null, h('p.hint', null, t('config.jsonHint')), field.el, h('div', null, keep)))
      let shown = ''

      function write() {
        const config = structuredClone(current())
        if (config.llm_api?.provider?.api_key) config.llm_api.provider.api_key = KEPT
        const key = JSON.stringify(config)
        if (key === shown) return // what is being typed stays
        shown = key
        field.write(config)
      }

      function onclick() {
        const read = field.read()
        if (!read.ok) return field.focus()
        save((config) => withKey(read.value, config), t('config.json'))
      }

      return { el, update: () => { if (el.open && !el.contains(document.activeElement)) write() } }
    }

    function update() {
      build()
      text(scopeHint, t(`config.${scope}Hint`))
      const [config, lower] = [current(), below()]
      for (const { views, count } of groups) {
        for (const view of views) view.update({ config, lower, scope })
        const n = views.filter((view) => view.isSet()).length
        text(count, t('config.set', { n }))
        count.hidden = !n
      }
      whole.update()
      attr(el, 'data-scope', scope)
    }

    return { el, update }
  }

  /** Limits set for a session alone come before its config at each run: what is changed here is meant instead. @param {Session} session @param {any} before */
  function withoutOwnLimits(session, before) {
    const own = session.ext?.limits
    if (!own) return
    for (const name of Object.keys(own)) if (session.config.limits?.[name] !== before[name]) delete own[name]
    if (!Object.keys(own).length) delete session.ext.limits
  }

  /** @param {any} config as it was typed @param {any} old */
  function withKey(config, old) {
    const next = structuredClone(config)
    const provider = next.llm_api?.provider
    if (provider?.api_key !== KEPT) return next
    const [mine, before] = [provider.api_url, old?.llm_api?.provider?.api_url]
    if (mine === before) provider.api_key = old?.llm_api?.provider?.api_key
    else delete provider.api_key // a key belongs to one address
    return next
  }

  return { config: panel }
})
