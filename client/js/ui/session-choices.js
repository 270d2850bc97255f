// Applies a choice made in the settings: it becomes the default of new sessions and is written into the open one. A model
// chosen beside the thread is of the open session alone. A default never changes what a session says (core/session-defaults).

yaa.define('ui/session-choices', [
  'ui/i18n', 'ui/popup', 'core/session-defaults', 'i18n/commands',
], ({ t }, { toast }, { defaultsOf, keepDefaults, withRule, isOwn, pause, endPause }) => {
  /** @param {any} object @param {string} name @param {any} value undefined takes it out */
  function withEntry(object, name, value) {
    const { [name]: _, ...rest } = object ?? {}
    return value === undefined ? rest : { ...rest, [name]: value }
  }

  /** @param {any} config @param {string} section @param {string} name @param {any} value */
  const within = (config, section, name, value) => withEntry(config, section, withEntry(config?.[section], name, value))

  /** @param {any} config @param {string} name of a provider, or auto @param {string} [model] */
  const withProvider = (config, name, model) => within(config, 'llm_api', 'provider', { name, ...(model ? { model_name: model } : {}) })

  /** How each choice changes a `session.config`; `answers` that of the open session alone. @type {Record<string, (config: any, ...rest: any[]) => any>} */
  const CHANGES = {
    provider: withProvider,
    answers: withProvider,
    model: (config, model) => within(config, 'llm_api', 'provider', withEntry({ name: 'auto', ...config?.llm_api?.provider }, 'model_name', model || undefined)),
    limit: (config, name, value) => within(config, 'limits', name, Number(value) > 0 ? Number(value) : undefined),
    call: (config, name, value) => within(config, 'limits', 'tool', withEntry(config?.limits?.tool, name, Number(value) > 0 ? Number(value) : undefined)),
    yaa: (config, name, value) => within(config, 'yaa', name, value === '' ? undefined : value),
  }

  /**
   * @param {import('./types').App} app @param {import('./types').Entry} entry the open session
   * @param {string} what one of `CHANGES`, `tool`, `pause` or `permission` @param {any[]} rest
   */
  function choose(app, entry, what, ...rest) {
    const { settings, sessionStore } = app
    if (what === 'pause') return sessionStore.amend(entry, (session) => (rest[0] ? pause(session, true) : endPause(session)))
    if (what === 'permission') return choosePermission(sessionStore, entry, rest[0], rest[1])
    if (what === 'tool') return chooseTool(app, entry, rest[0], rest[1])
    const before = entry.session.config?.llm_api?.provider
    const more = what === 'provider' ? [rest[0], settings.get('model')] : rest
    if (what !== 'answers') keepDefaults(settings, CHANGES[what](defaultsOf(settings), ...more))
    sessionStore.amend(entry, (session) => {
      const config = CHANGES[what](session.config, ...more)
      const own = what === 'limit' ? session.ext?.limits?.[rest[0]] : undefined // said for this session alone
      session.config = own === undefined ? config : within(config, 'limits', rest[0], own)
    })
    if (CHANGES[what] === withProvider && isOwn(before)) toast(t('model.dropped'), { label: t('side.undo'), action: () => giveBack(app, entry, before) })
  }

  /** @param {import('./types').App} app @param {import('./types').Entry} entry @param {string} name @param {string} rule '' for the server's */
  function chooseTool({ settings, sessionStore }, entry, name, rule) {
    settings.set('tools', withEntry(settings.get('tools'), name, rule || undefined))
    sessionStore.amend(entry, (session) => {
      const config = (session.config ??= {})
      config.tool = { ...config.tool, [name]: withRule(config.tool?.[name], rule) }
      if (!Object.keys(config.tool[name]).length) delete config.tool[name]
    })
  }

  /**
   * The permission mode of the open session.
   * @param {import('./types').App['sessionStore']} sessionStore @param {import('./types').Entry} entry @param {string} mode
   * @param {string} [asked] the approval on whose card it was chosen: others that the mode would not have asked about are given, too
   */
  async function choosePermission(sessionStore, entry, mode, asked) {
    await sessionStore.amend(entry, (session) => { session.config = within(session.config, 'yaa', 'ask', mode) })
    if (!asked) return
    const runs = mode === 'copy_runs' ? ['edits_run', mode] : [mode]
    const others = (entry.session.interrupts ?? []).filter((one) => one.id !== asked && !one.answer && runs.includes(one.permission ?? ''))
    sessionStore.answer(entry, others.map((one) => [one.id, { status: 'resolved', payload: { approved: true, remember: 'once' } }]))
  }

  /** The provider of its own that a session has lost by a choice, given back. @param {import('./types').App} app @param {import('./types').Entry} entry @param {any} provider */
  function giveBack({ sessionStore }, entry, provider) {
    sessionStore.amend(entry, (session) => { session.config = within(session.config, 'llm_api', 'provider', provider) })
  }

  return { choose }
})
