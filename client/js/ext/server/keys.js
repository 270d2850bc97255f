// API keys for other people: each is made once and shown once, with the link that signs a browser in, also as a QR code.

yaa.define('ext/server/keys', ['ui/dom', 'ext/server/texts', 'ext/server/parts', 'ui/copy-field', 'ext/server/values', 'ui/monthly-usage'], (
  { h, text }, { t }, { textField, checkField, formOf, row, badge, confirm, small, listPart, problemLine }, { copyField }, { numberOf }, { monthlyUsage },
) => {
  /** Limits that are asked for by most; the others are written into the file. */
  const LIMITS = /** @type {const} */ ([['max_runs', 'runs', 1], ['max_steps', 'steps', 1], ['max_tokens', 'tokens', 1], ['max_cost_micro', 'cost', 1e6]])

  /** Shown once; gone with the form. @param {{name: string, key: string}} made @param {any[]} link that signs in with it @param {() => void} close */
  function shownOnce({ name, key }, link, close) {
    return h('div.host-form', { role: 'group', 'aria-label': t('host.keys.made', { name }) }, h('h3', null, t('host.keys.made', { name })), h('p.hint', null, t('host.keys.once')),
      link, copyField(t('host.key'), key), h('div', null, h('button.button.primary', { type: 'button', onclick: close }, t('host.keys.written'))))
  }

  /** @param {any} store @param {any} settings @param {() => void} close */
  function keyForm(store, settings, close) {
    const name = textField(t('host.name'), { hint: t('host.keys.nameHint') })
    const owner = checkField(t('host.keys.owner'), false, t('host.keys.ownerHint'))
    const limits = Object.fromEntries(LIMITS.map(([key, words, factor]) => [key, textField(t(`host.keys.${words}`), factor === 1 ? { inputmode: 'numeric' } : { inputmode: 'decimal', hint: t('host.keys.costHint') })]))
    const form = formOf({
      fields: { name, ...limits }, label: t('host.keys.make'), cancel: close, more: owner.el,
      paths: () => ({ name: ['name'], ...Object.fromEntries(LIMITS.map(([key]) => [key, key === 'max_runs' ? ['limits', key] : ['limits', 'session', key]])) }),
      save: async () => {
        if (!name.value()) return { wrong: { name: t('host.required') } }
        if (entriesOf(settings).some((one) => one.name === name.value())) return { wrong: { name: t('host.taken') } }
        /** @type {Record<string, string>} */ const wrong = {}
        /** @type {any} */ const given = {}
        for (const [key, , factor] of LIMITS) {
          const typed = numberOf(limits[key].value())
          const value = typed && factor > 1 ? Math.round(typed * factor) : typed
          if (value === null || (value !== undefined && !Number.isInteger(value))) wrong[key] = t('host.integer')
          else if (value !== undefined && key === 'max_runs') given.max_runs = value
          else if (value !== undefined) given.session = { ...given.session, [key]: value }
        }
        if (Object.keys(wrong).length) return { wrong }
        const made = await store.seen(store.routes.addKey({ name: name.value(), owner: owner.input.checked, ...(Object.keys(given).length ? { limits: given } : {}) }))
        const link = (await yaa.part('device-link'))?.linkParts(`${store.app.server.api().base}${made.link}`) ?? []
        const shown = shownOnce({ name: name.value(), key: made.key }, link, close)
        form.el.replaceWith(shown)
        shown.querySelector('input')?.focus()
        await store.read()
      },
    })
    return form.el
  }

  /** @param {any} settings @returns {any[]} */
  const entriesOf = (settings) => (settings.effective?.api_keys ?? settings.file?.server?.api_keys ?? []).map((/** @type {any} */ one) => (typeof one === 'string' || one?.secret ? { key: one } : one))

  /** @param {any} store */
  function part(store) {
    /** What their runs have used, by name, @type {Map<string, string>} */ let used = new Map()
    /** and where that stands: a row that has the focus is not drawn anew. @type {Map<string, any>} */ const lines = new Map()
    const look = monthlyUsage((/** @type {Map<string, string>} */ now) => {
      used = now
      if ([...used.keys()].every((name) => lines.has(name))) for (const [name, words] of used) text(lines.get(name), words)
      else list.update(store.now())
    })
    const list = listPart({
      lead: t('host.keys.lead'), add: t('host.keys.add'), none: t('host.keys.none'),
      form: (settings, _, close) => keyForm(store, settings, close),
      rows: (settings) => [...entriesOf(settings).map((one) => {
        const name = one.name ?? ''
        return row([h('b', null, name || t('host.keys.unnamed')), ' ', one.owner ? badge(t('host.keys.isOwner')) : null, limitsOf(one.limits), name ? usedBy(name) : null],
          name ? [small(t('host.keys.end'), name, () => confirm(t('host.keys.endIt', { name }), t('host.keys.endHint'), async () => { await store.seen(store.routes.removeKey(name)), await store.read() }), 'danger')] : [])
      }), ...[...used.keys()].filter((name) => !entriesOf(settings).some((one) => one.name === name)).map((name) => row([h('b', null, name || t('host.keys.home')), usedBy(name)], []))],
    })
    /** @param {string} name */
    function usedBy(name) {
      lines.set(name, h('p.hint', null, used.get(name)))
      return lines.get(name)
    }

    return { el: list.el, look, update: (/** @type {any} */ settings) => (look(), list.update(settings)) }
  }

  /** @param {any} limits */
  function limitsOf(limits) {
    const all = { ...limits, ...limits?.session }
    const words = LIMITS.filter(([key]) => Number.isFinite(all[key])).map(([key, words, factor]) => `${t(`host.keys.${words}`)}: ${all[key] / factor}`)
    return words.length ? h('p.hint', null, words.join(' · ')) : null
  }

  return { part }
})
