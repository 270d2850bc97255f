// The settings of this page as a file, out and in: settings of new sessions, of the page, and the prompt library. No key
// goes out; and a file that comes in says what it would allow before it may.

yaa.define('ext/config/file', [
  'ui/dom', 'ui/i18n', 'ui/popup', 'ui/dialog', 'ui/commands', 'ext/config/form', 'core/session-defaults', 'core/redact', 'io/download', 'ext/config/texts',
], ({ h }, { t }, { toast }, { openDialog, button }, { context }, form, { defaultsOf, keepDefaults }, { scan, redact }, download) => {
  const MOST_BYTES = 4_000_000

  async function exportSettings() {
    const { settings } = context().app
    const made = form.settingsFile(settings.all(), defaultsOf(settings), (await yaa.part('library'))?.all(settings) ?? [])
    const secrets = scan(made)
    download.json('yaa-settings.json', redact(made, secrets))
    toast(t('config.exported', { n: secrets.length }))
  }

  /** @param {File} file @param {import('../../ui/types').Actions} actions @param {() => void} then */
  async function importSettings(file, actions, then) {
    const found = file.size > MOST_BYTES ? null : form.readSettingsFile(await file.text().then(JSON.parse).catch(() => null))
    if (!found) return toast(t('config.notSettings'), { bad: true })
    const { config, page, risks } = found
    const library = await yaa.part('library')
    const texts = !library ? [] : found.prompts.filter((one) => typeof one?.name === 'string' && typeof one?.text === 'string')
    const names = (/** @type {any} */ value) => Object.keys(value ?? {}).join(', ')
    const parts = [
      part(true, Object.keys(config).length, t('config.partConfig', { names: names(config) })),
      part(true, Object.keys(page).length, t('config.partPage', { names: names(page) })),
      part(true, texts.length, t('config.partPrompts', { n: texts.length })),
      part(false, risks.provider, t('config.partProvider', { url: String(risks.provider?.api_url ?? risks.provider?.preset ?? '') })),
      part(false, risks.allowed.length, t('config.partAllowed', { names: risks.allowed.join(', ') })),
      part(false, Object.keys(risks.tool ?? {}).length, t('config.partTool', { names: names(risks.tool) })),
      part(false, Object.keys(risks.prompt ?? {}).length, t('config.partPrompt', { names: names(risks.prompt) })),
    ]
    const body = h('div.stack', null, h('p', null, t('config.importLead')), parts.map((one) => one.el))
    const el = openDialog({ title: t('config.importTitle'), body, buttons: [button(t('config.cancel'), () => el.close()), button(t('config.take'), take, 'primary')] })

    function take() {
      const { settings } = context().app
      const [ofSessions, ofPage, ofLibrary, provider, allowed, tool, prompt] = parts.map((one) => one.on())
      const old = defaultsOf(settings)
      const next = ofSessions ? { ...config, llm_api: { ...config.llm_api } } : old
      if (!ofSessions || !config.llm_api?.provider) next.llm_api = { ...next.llm_api, ...(old.llm_api?.provider ? { provider: old.llm_api.provider } : {}) }
      if (provider) next.llm_api = { ...next.llm_api, provider: risks.provider }
      if (tool) next.tool = risks.tool
      else if (ofSessions && old.tool) next.tool = old.tool
      if (prompt) next.prompt = risks.prompt
      else if (ofSessions && old.prompt) next.prompt = old.prompt
      keepDefaults(settings, form.prune(next))
      const tools = { ...(ofPage ? page.tools : settings.get('tools')), ...(allowed ? Object.fromEntries(risks.allowed.map((name) => [name, 'allow'])) : {}) }
      if (ofLibrary) library.add(settings, { format: 'yaa.prompts', prompts: texts })
      el.close()
      const taken = { ...(ofPage ? page : {}), ...(ofPage || allowed ? { tools: tools ?? {} } : {}) }
      // the page is made anew where its language changes
      const changed = Object.entries(taken).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(settings.get(name)))
      actions.set(Object.fromEntries(changed))
      toast(t('config.imported'))
      then()
    }
  }

  /** @param {boolean} on @param {any} there @param {string} label */
  function part(on, there, label) {
    const box = h('input', { type: 'checkbox', checked: on && Boolean(there) })
    return { el: h('label.check.config-part', { hidden: !there }, box, h('span', null, label)), on: () => Boolean(there) && box.checked }
  }

  /** @param {import('../../ui/types').Actions} actions @param {() => void} then */
  function filesPart(actions, then) {
    const file = h('input.sr-only', { type: 'file', 'aria-label': t('config.import'), accept: '.json,application/json', tabIndex: -1, onchange })
    async function onchange() {
      if (file.files?.[0]) await importSettings(file.files[0], actions, then)
      file.value = ''
    }
    return h('section.stack', null, h('h3', null, t('config.files')), h('p.hint', null, t('config.filesHint')),
      h('div.button-row', null, button(t('config.export'), exportSettings, 'small'), button(t('config.import'), () => file.click(), 'small'), file))
  }

  return { filesPart, exportSettings, importSettings }
})
