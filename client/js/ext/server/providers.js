// Providers of models: a list, a form for each, and a trial that asks the vendor for its models.

yaa.define('ext/server/providers', ['ui/dom', 'ext/server/texts', 'ui/form', 'ext/server/parts', 'ext/server/trial', 'ext/server/values'], (
  { h, fill, text, hide }, { t }, { jsonField }, { textField, secretField, choiceField, checkField, formOf, row, badge, attempt, confirm, small, listPart }, { trialView, factsOf, offersOf }, { NAME, freeName, numberOf, isObject },
) => {
  const PATH = ['server', 'providers']
  /** Those that have a field of their own. */
  const OWN = ['preset', 'api_url', 'api_key', 'model_name', 'max_context', 'costs', 'cost_unit']

  /** @param {any} settings @returns {Record<string, any>} */
  const providersOf = (settings) => settings.effective?.providers ?? settings.file?.server?.providers ?? {}

  /** As the file has it: its `${NAME}` stay as they are. @param {any} settings @param {string} name @returns {any} */
  const inFile = (settings, name) => settings.file?.server?.providers?.[name]

  /** @param {any} store @param {any} settings @param {string} old @param {() => void} close */
  function providerForm(store, settings, old, close) {
    const entry = (old && (inFile(settings, old) ?? providersOf(settings)[old])) || {}
    const vendors = /** @type {Vendor[]} */ (settings.vendors ?? [])
    // a secret stays at its place: under another name it would have to be given again
    const name = textField(t('host.name'), { value: old, readOnly: Boolean(old), hint: t('host.provider.nameHint') })
    const preset = choiceField(t('host.vendor'), [['', t('host.provider.other')], ...vendors.map((one) => /** @type {[string, string]} */ ([one.preset, one.title]))], entry.preset ?? '', t('host.provider.vendorHint'))
    hide(preset.el, !vendors.some((one) => one.title))
    const url = textField(t('host.apiUrl'), { value: entry.api_url ?? '', inputmode: 'url', hint: t('host.provider.urlHint') })
    const key = secretField(t('host.key'), entry.api_key, t('host.provider.keyHint'))
    const model = textField(t('host.model'), { value: entry.model_name ?? '' })
    const offers = offersOf(model.input)
    const facts = h('p.hint')
    model.el.append(offers.el, facts)
    const max = textField(t('host.provider.window'), { value: String(entry.max_context ?? ''), inputmode: 'numeric', hint: t('host.provider.windowHint') })
    const perMillion = (/** @type {any} */ price) => (Number.isFinite(price) ? String(Number((price * 1000).toPrecision(12))) : '')
    const input = textField(t('host.provider.priceIn'), { value: perMillion(entry.costs?.input), inputmode: 'decimal' })
    const output = textField(t('host.provider.priceOut'), { value: perMillion(entry.costs?.output), inputmode: 'decimal', hint: t('host.provider.priceHint') })
    const unit = textField(t('host.provider.unit'), { value: entry.cost_unit ?? '', placeholder: 'USD' })
    const first = checkField(t('host.provider.first'), Boolean(old) && settings.effective?.default_provider === old)
    const others = Object.fromEntries(Object.entries(entry).filter(([key]) => !OWN.includes(key)))
    const json = jsonField({ label: t('host.otherKeys'), value: Object.keys(others).length ? others : {}, object: true })
    const numbers = { max, input, output }
    const fields = { preset, key, url, model, name }
    const more = h('details.connect-more', { open: Boolean(entry.max_context || entry.costs) }, h('summary', null, t('host.more')),
      max.el, h('div.grid-2', null, input.el, output.el), unit.el, json.el)

    /** @returns {{value?: any, wrong?: Record<string, string>}} */
    function read() {
      /** @type {Record<string, string>} */ const wrong = {}
      const typed = Object.fromEntries(Object.entries(numbers).map(([id, field]) => {
        const value = numberOf(field.value())
        if (value === null) wrong[id] = t('host.number')
        return [id, value]
      }))
      if (!NAME.test(nameNow())) wrong.name = t('host.badName')
      if (nameNow() !== old && Object.hasOwn(providersOf(settings), nameNow())) wrong.name = t('host.taken')
      if (!preset.value() && !url.value()) wrong.url = t('host.provider.neither')
      const rest = json.read()
      if (Object.keys(wrong).length || !rest.ok) return { wrong }
      const costs = { ...(isObject(entry.costs) ? entry.costs : {}), input: typed.input === undefined ? undefined : Number(typed.input) / 1000, output: typed.output === undefined ? undefined : Number(typed.output) / 1000 }
      return { value: prune({
        ...rest.value, preset: preset.value(), api_url: url.value(), api_key: key.read(), model_name: model.value(),
        max_context: typed.max, costs: prune(costs), cost_unit: unit.value(),
      }) }
    }

    const nameNow = () => name.value() || freeName(preset.value() || 'main', providersOf(settings))
    const trial = trialView(store, {
      label: t('host.test'),
      what: () => {
        const { value, wrong } = read()
        // a key that only the server has is tried under the name of its provider
        if (value?.api_key?.secret) return { name: old, provider: value }
        return wrong || !value ? null : { provider: value }
      },
      onModels: ({ models = [] }) => {
        offers.write(models)
        if (!model.value() && models.length) model.input.value = models[0].name
        text(facts, factsOf(models.find((/** @type {any} */ one) => one.name === model.value()) ?? {}))
      },
    })
    const at = (/** @type {string[]} */ ...rest) => [...PATH, nameNow(), ...rest]
    const form = formOf({
      fields: { ...fields, ...numbers, unit }, label: t('host.save'), cancel: close, buttons: [trial.press],
      paths: () => ({ name: at(), preset: at('preset'), url: at('api_url'), key: at('api_key'), model: at('model_name'), max: at('max_context'), input: at('costs', 'input'), output: at('costs', 'output'), unit: at('cost_unit') }),
      save: async () => {
        const { value, wrong } = read()
        if (wrong) return { wrong }
        const wanted = nameNow()
        const changes = [
          { path: [...PATH, wanted], value },
          ...(first.input.checked ? [{ path: ['server', 'default_provider'], value: wanted }] : settings.file?.server?.default_provider === old && old ? [{ path: ['server', 'default_provider'], remove: true }] : []),
        ]
        await store.change(changes)
        trial.end()
        close()
      },
    })
    // its own fields stand among the others
    more.prepend(max.el)
    form.note.before(more, first.el, trial.said, trial.note)
    fill(more.querySelector('.grid-2'), input.el, output.el)
    more.querySelector('.grid-2').after(unit.el, json.el)
    return form.el
  }

  /** Without what is empty. @param {any} value */
  function prune(value) {
    const kept = Object.entries(value).filter(([, one]) => one !== undefined && one !== '')
    return kept.length ? Object.fromEntries(kept) : undefined
  }

  /** @param {any} store */
  function part(store) {
    const part = listPart({
      lead: t('host.provider.lead'), add: t('host.provider.add'), none: t('host.provider.none'),
      form: (settings, name, close) => providerForm(store, settings, name, close),
      rows: (settings) => [...Object.keys(providersOf(settings)).map((name) => providerRow(settings, name)), ...(settings.found ?? []).map(foundRow)],
    })

    /** @param {any} settings @param {string} name */
    function providerRow(settings, name) {
      const entry = providersOf(settings)[name]
      const fixed = !inFile(settings, name)
      const trial = trialView(store, { label: t('host.test'), what: () => ({ name }) })
      trial.press.className = 'button small'
      trial.press.setAttribute('aria-label', `${t('host.test')}: ${name}`)
      const isFirst = settings.effective?.default_provider === name
      return row(
        [h('b', null, name), ' ', isFirst ? badge(t('host.provider.isFirst')) : null, fixed ? badge(t('host.fixed')) : null,
          h('p.hint', null, [entry.model_name, entry.preset || entry.api_url, entry.api_key && t('host.keyTail', { tail: entry.api_key.tail ?? '' })].filter(Boolean).join(' · '))],
        [trial.press, ...(fixed ? [] : [
          isFirst ? null : small(t('host.provider.makeFirst'), name, () => attempt(trial.note, () => store.change([{ path: ['server', 'default_provider'], value: name }]))),
          small(t('host.edit'), name, () => part.open(name)),
          small(t('host.remove'), name, () => confirm(t('host.removeIt', { name }), t('host.provider.removeHint'), () => store.change([
            { path: [...PATH, name], remove: true }, ...(settings.file?.server?.default_provider === name ? [{ path: ['server', 'default_provider'], remove: true }] : []),
          ])), 'danger'),
        ])],
        h('div.host-below', null, trial.said, trial.note),
      )
    }

    /** @param {any} one */
    const foundRow = (one) => row([h('b', null, one.name), ' ', badge(t('host.provider.found')), h('p.hint', null, [one.api_url, one.models?.length ? t('host.models', { n: one.models.length }) : ''].filter(Boolean).join(' · '))], [])

    return part
  }

  return { part }
})
