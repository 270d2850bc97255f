// "Connect a model": what the server has found, a key that is pasted, an address, a folder. For a server that has only its
// demo. The key goes to the server and nowhere else; the field is emptied when it is kept.

yaa.define('ext/server/connect', [
  'ui/dom', 'ext/server/texts', 'ui/popup', 'ui/dialog', 'ext/server/store', 'ext/server/parts', 'ext/server/trial', 'ext/server/values', 'ext/server/folders',
], ({ h, icon, fill, text, hide }, { t }, { toast }, { openDialog }, { storeOf }, { textField, choiceField, busy, problemLine, attempt }, { trialView, factsOf }, { vendorsOf, freeName }, { folderForm }) => {
  /** Pages of vendors on which keys are made. */
  const MOST_LINKS = 9

  /**
   * @param {any} store ext/server/store
   * @param {{done?: () => void, demo?: () => void}} [given] `demo`: the person stays with it
   */
  function connectView(store, { done = () => {}, demo } = {}) {
    const note = problemLine()
    const body = h('div.connect-body', null, h('p.hint', { role: 'status' }, t('host.reading')))
    const el = h('div.connect', null, body, note)
    /** @type {any[]} */ let parts = []

    async function read() {
      await attempt(note, async () => build(store.now() ?? await store.read()))
      if (!note.hidden) fill(body)
    }

    /** @param {any} settings */
    function build(settings) {
      if (settings.writable === false) return fill(body, h('p.problem', null, settings.why || t('host.readOnly')))
      const keyed = /** @type {Vendor[]} */ (settings.vendors ?? []).filter((one) => one.key_url && store.app.server.info()?.key_trial)
      const key = keyed.length ? keyPart(store, keyed, finished) : null
      const url = urlPart(store, finished)
      parts = key ? [key, url] : [url]
      fill(body, foundPart(store, settings, finished), key?.el,
        h('div.connect-folds', null, folded('link', t('host.connect.url'), url.el, !key),
          folded('folder', t('host.connect.folder'), folderForm(store, '', {}, () => toast(t('host.connect.folderKept'))))),
        demo ? h('div', null, h('button.button.ghost', { type: 'button', onclick: demo }, icon('play'), t('host.connect.demo'))) : null)
    }

    /** @param {string} name */
    function finished(name) {
      for (const part of parts) part.end()
      toast(t('host.connect.done', { name }))
      done()
    }

    read()
    return { el, focus: () => el.querySelector('input')?.focus(), end: () => { for (const part of parts) part.end() } }
  }

  /** @param {string} sign @param {string} title @param {any} inside */
  const folded = (sign, title, inside, open = false) => h('details.connect-more', { open }, h('summary', null, icon(sign), title), inside)

  /** Models on this machine and keys in variables. @param {any} store @param {any} settings @param {(name: string) => void} finished */
  function foundPart(store, settings, finished) {
    const found = settings.found ?? []
    const lines = settings.found_lines ?? []
    if (!found.length) return lines.length ? h('p.hint', null, lines.join(' · ')) : null
    const note = problemLine()
    const rows = found.map((/** @type {any} */ one) => {
      const entry = entryOfFound(one)
      const model = one.models?.[0]?.model_name ?? one.models?.[0]?.name ?? one.models?.[0] ?? ''
      const use = h('button.button.primary', { type: 'button', 'aria-label': `${t('host.use')}: ${one.name}`, onclick: () => busy(use, note, () => keep(store, one.preset || one.name, { ...entry, ...(model ? { model_name: model } : {}) }, finished)) }, t('host.use'))
      return h('li', null, h('div.host-about', null, h('b', null, one.name), ' ', h('span.hint', null, [one.api_url, one.models?.length ? t('host.models', { n: one.models.length }) : ''].filter(Boolean).join(' · '))), use)
    })
    return h('section.stack', null, h('h3', null, t('host.connect.found')), h('ul.host-rows', null, rows), note)
  }

  /** The key of a vendor stays in its variable, where the server finds it. @param {any} one of `found` */
  const entryOfFound = ({ preset, api_url: url }) => ({ ...(preset ? { preset } : {}), ...(url ? { api_url: url } : {}) })

  /**
   * Keep a provider and make it the usual one.
   * @param {any} store @param {string} wish for its name @param {any} entry @param {(name: string) => void} finished
   */
  async function keep(store, wish, entry, finished) {
    const settings = store.now() ?? await store.read()
    const name = freeName(wish, settings.effective?.providers ?? settings.file?.server?.providers ?? {})
    await store.change([{ path: ['server', 'providers', name], value: entry }, { path: ['server', 'default_provider'], value: name }])
    finished(entry.model_name || name)
  }

  /** @param {any} store @param {Vendor[]} keyed who gives out keys @param {(name: string) => void} finished */
  function keyPart(store, keyed, finished) {
    const said = h('p.hint', { role: 'status' })
    const field = textField(t('host.connect.paste'), { type: 'password', placeholder: 'sk-…', hint: t('host.connect.keyHint'), oninput: look, onpaste: () => setTimeout(() => field.value() && trial.run()) })
    const vendor = choiceField(t('host.vendor'), [['', t('host.choose')]], '')
    vendor.input.addEventListener('change', () => (forget(), vendor.value() && trial.run()))
    /** What is kept beside the key, as the trial has said. @type {any} */ let entry = null
    const result = resultPart(t('host.connect.use'), (model) => keep(store, vendor.value() || entry.preset, { ...entry, api_key: field.value(), model_name: model }, finished))
    const trial = trialView(store, {
      label: t('host.try'), onCandidates: choose,
      what: () => (field.value() ? { key: field.value(), ...(vendor.value() ? { vendor: vendor.value() } : {}) } : null),
      onModels: (found) => {
        entry = found.entry ?? { preset: found.preset }
        vendor.input.value = found.vendor ?? vendor.value()
        result.write(found)
      },
    })
    hide(vendor.el, true)
    hide(trial.press, true)
    const where = h('p.hint', null, t('host.connect.whereKey'), ' ', keyed.filter((one) => /^https:\/\//.test(one.key_url ?? '')).slice(0, MOST_LINKS).flatMap((one, i) => [i ? ', ' : '', h('a', { href: one.key_url }, one.title)]))
    const el = h('section.stack', null, field.el, said, vendor.el,
      h('div.button-row', null, trial.press), trial.said, trial.note, result.el, where)

    function forget() {
      entry = null
      result.clear()
      trial.end()
    }

    function look() {
      const fits = vendorsOf(field.value(), keyed)
      text(said, fits.length === 1 ? t('host.connect.looks', { name: fits[0].title }) : '')
      vendor.input.value = ''
      hide(vendor.el, true)
      hide(trial.press, !field.value())
      forget()
    }

    /** Nobody is sent a key that may be of another: the person says whose it is. @param {Vendor[]} candidates */
    function choose(candidates) {
      const names = new Set(candidates.map(idOf))
      const others = keyed.filter((one) => !names.has(idOf(one)))
      fill(vendor.input, h('option', { value: '' }, t('host.choose')), [...candidates, ...others].map((one) => h('option', { value: idOf(one) }, one.title)))
      text(said, t('host.connect.several'))
      hide(vendor.el, false)
      vendor.focus()
    }

    function end() {
      field.input.value = ''
      look()
    }

    return { el, end }
  }

  /** @param {Vendor} one */
  const idOf = ({ vendor, preset }) => vendor || preset

  /** @param {any} store @param {(name: string) => void} finished */
  function urlPart(store, finished) {
    const url = textField(t('host.apiUrl'), { type: 'url', inputmode: 'url', placeholder: 'http://127.0.0.1:8080/v1', hint: t('host.connect.urlHint'), oninput: () => (result.clear(), trial.end()) })
    const key = textField(t('host.keyOptional'), { type: 'password' })
    /** http where nobody says otherwise. */
    const address = () => url.value().replace(/^(?!.*:\/\/|$)/, 'http://')
    const entry = () => ({ api_url: address(), ...(key.value() ? { api_key: key.value() } : {}) })
    const result = resultPart(t('host.connect.use'), (model) => keep(store, hostOf(address()), { ...entry(), model_name: model }, finished))
    const trial = trialView(store, { label: t('host.try'), onModels: result.write, what: () => {
      const fits = /^https?:/i.test(address()) && URL.canParse(address())
      url.problem(fits ? '' : t('host.badUrl'))
      return fits ? { provider: entry() } : null
    } })
    const el = h('div.stack', null, url.el, key.el, h('div.button-row', null, trial.press), trial.said, trial.note, result.el)
    return { el, end: () => { url.input.value = key.input.value = '', result.clear(), trial.end() } }
  }

  /** @param {string} url */
  const hostOf = (url) => { const host = new URL(url).hostname; return /^(?:localhost$|127\.|\[)/.test(host) ? 'local' : host }

  /** Choose one of the models that a trial has found. @param {string} label @param {(model: string) => Promise<any>} use */
  function resultPart(label, use) {
    const note = problemLine()
    const field = textField(t('host.model'))
    const list = h('select.input', { onchange: () => { field.input.value = list.value, about() } })
    list.setAttribute('aria-label', t('host.model'))
    const facts = h('p.hint')
    const go = h('button.button.primary', { type: 'button', onclick: () => busy(go, note, () => use(field.value())) }, label)
    const el = h('div.stack', { hidden: true }, list, field.el, facts, h('div', null, go), note)
    /** @type {any[]} */ let models = []

    const about = () => text(facts, factsOf(models.find((one) => one.name === field.value()) ?? {}))

    /** @param {any} found */
    function write({ models: all = [], model_name: model }) {
      models = all
      fill(list, all.map((/** @type {any} */ one) => h('option', { value: one.name }, [one.name, factsOf(one)].filter(Boolean).join('  ·  '))))
      field.input.value = list.value = model && all.some((/** @type {any} */ one) => one.name === model) ? model : all[0]?.name ?? ''
      hide(list, !all.length)
      hide(field.el, all.length > 0)
      about()
      el.hidden = false
      go.focus()
    }

    return { el, write, clear: () => { el.hidden = true } }
  }

  /** @param {import('../../ui/types').CommandContext} context */
  function open({ app }) {
    const { owner } = app.server.info() ?? {}
    if (owner !== true) return toast(t(owner === false ? 'connect.ask' : 'demo.note'))
    const view = connectView(storeOf(app), { done: () => dialog.close(), demo: () => dialog.close() })
    const dialog = openDialog({ title: t('host.connect.title'), body: view.el, onclose: view.end })
  }

  return { connectView, open }
})
