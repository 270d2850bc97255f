// Folders of the server's machine that a session may work in.

yaa.define('ext/server/folders', ['ui/dom', 'ext/server/texts', 'ui/dialog', 'ext/server/parts', 'ext/server/values'], (
  { h, icon, fill }, { t }, { openDialog }, { textField, choiceField, checkField, formOf, row, badge, confirm, small, listPart }, { freeName, NAME },
) => {
  const MODES = ['read', 'write', 'overlay']
  const PATH = ['server', 'folders']

  /** In the place of names: only for the owner. */
  const NOBODY = '-'

  /** @param {{people: string[]}} entry */
  const namesOf = ({ people }) => people.join(', ') || NOBODY

  /** @param {any} settings @returns {Record<string, any>} */
  const foldersOf = (settings) => settings.effective?.folders ?? settings.file?.server?.folders ?? {}

  /**
   * @param {any} store @param {string} old its name, '' for a new one @param {any} entry @param {(name: string) => void} done @param {() => void} [cancel]
   */
  function folderForm(store, old, entry, done, cancel) {
    const path = textField(t('host.folder.path'), { value: entry.path ?? '', hint: t('host.folder.pathHint'), placeholder: '~/projects/site' })
    const name = textField(t('host.name'), { value: old, hint: t('host.folder.nameHint') })
    const mode = choiceField(t('host.folder.mode'), MODES.map((one) => [one, t(`host.folder.${one}`)]), entry.mode ?? 'overlay')
    const trusted = checkField(t('host.folder.trusted'), entry.trusted === true, t('host.folder.trustedHint'))
    const people = textField(t('host.folder.people'), { value: entry.people ? namesOf(entry) : '', hint: t('host.folder.peopleHint') })
    /** A name from the path, where none was given. */
    const nameNow = () => name.value() || freeName(path.value().split(/[/\\]/).filter(Boolean).at(-1) ?? '', foldersOf(store.now() ?? {}))
    const fields = { path, name, mode, people }
    path.el.append(browser(store, path))
    const form = formOf({
      fields, label: t('host.save'), cancel, more: trusted.el,
      paths: () => ({ path: [...PATH, nameNow(), 'path'], mode: [...PATH, nameNow(), 'mode'], people: [...PATH, nameNow(), 'people'], name: [...PATH, nameNow()] }),
      save: async () => {
        if (!path.value()) return { wrong: { path: t('host.required') } }
        const wanted = nameNow()
        if (!NAME.test(wanted)) return { wrong: { name: t('host.badName') } }
        if (wanted !== old && Object.hasOwn(foldersOf(store.now() ?? {}), wanted)) return { wrong: { name: t('host.taken') } }
        const tried = await store.routes.tryFolder(path.value()).catch(refused)
        if (!tried.ok) return { wrong: { path: tried.problem?.detail ?? t('host.try.failed') } }
        const { people: _, ...rest } = entry
        const names = people.value().split(/[,，]/).map((one) => one.trim()).filter((one) => one && one !== NOBODY)
        const value = { ...rest, path: path.value(), mode: mode.value(), trusted: trusted.input.checked, ...(people.value() ? { people: names } : {}) }
        await store.change([...(old && old !== wanted ? [{ path: [...PATH, old], remove: true }] : []), { path: [...PATH, wanted], value }])
        if (!old) path.input.value = name.input.value = ''
        done(wanted)
      },
    })
    return form.el
  }

  /** Ask for a folder in a dialog. @param {any} store @param {(name: string) => void} done with its name */
  async function ask(store, done) {
    const { writable, why } = await store.read()
    const body = writable === false ? h('p.problem', null, why || t('host.readOnly')) : folderForm(store, '', {}, (name) => {
      dialog.close()
      done(name)
    })
    const dialog = openDialog({ title: t('host.folder.add'), body })
  }

  /** Who may not look may not save either, and is told by that. @param {any} error */
  function refused(error) {
    if (error.code === 'forbidden' || error.status === 404) return { ok: true }
    throw error
  }

  /** Folders of the server's machine, by name, below those where one may look. @param {any} store @param {any} field of the path */
  function browser(store, field) {
    const list = h('ul.folder-names', { hidden: true, 'aria-label': t('host.folder.look') })
    const look = h('button.button.small', { type: 'button', 'aria-expanded': 'false', onclick: toggle }, icon('search'), t('host.folder.look'))

    function toggle() {
      list.hidden = !list.hidden
      look.setAttribute('aria-expanded', String(!list.hidden))
      if (!list.hidden) show('')
    }

    /** @param {string} at */
    async function show(at) {
      try {
        const { path, parent, folders, more } = await store.routes.folders(at)
        if (path) field.input.value = path
        field.problem('')
        const row = (/** @type {string} */ sign, /** @type {string} */ words, /** @type {string} */ to) => h('li', null, h('button.button.ghost.small', { type: 'button', onclick: () => show(to) }, icon(sign), h('bdi', null, words)))
        const below = folders.map((/** @type {string} */ name) => row('folder', name, path ? `${path.replace(/\/$/, '')}/${name}` : name))
        const nothing = path || folders.length ? '' : t('host.folder.lookNone')
        fill(list, parent === null ? null : row('left', t('host.folder.up'), parent), below, more || nothing ? h('li.hint', null, nothing || t('host.folder.more')) : null)
        list.querySelector('button')?.focus()
      } catch (error) {
        field.problem(/** @type {any} */ (error).message)
      }
    }

    return h('div', null, look, list)
  }

  /** Why sessions cannot work in it now, and for whom there is no key. @param {any} settings @param {string} name */
  function problemsOf(settings, name) {
    const place = `server.folders.${name}`
    const lines = (settings.problems?.folders ?? []).filter((/** @type {string} */ line) => line.startsWith(`${place} (`) || line.startsWith(`${place}.`))
    return lines.map((/** @type {string} */ line) => h('p.problem', null, line.slice(line.indexOf(': ', place.length) + 2)))
  }

  /** @param {any} store */
  function part(store) {
    const part = listPart({
      lead: t('host.folder.lead'), add: t('host.folder.add'), none: t('host.folder.none'),
      form: (settings, name, close) => folderForm(store, name, foldersOf(settings)[name] ?? {}, close, close),
      rows: (settings) => Object.entries(foldersOf(settings)).map(([name, entry]) => row(
        [h('b', null, name), ' ', badge(t(`host.folder.is.${entry.mode ?? 'overlay'}`)), entry.trusted ? badge(t('host.folder.isTrusted')) : null, entry.people ? [' ', badge(t('host.folder.for', { names: namesOf(entry) }))] : null, h('p.hint.mono', null, entry.path)],
        [small(t('host.edit'), name, () => part.open(name)),
          small(t('host.remove'), name, () => confirm(t('host.removeIt', { name }), t('host.folder.removeHint'), () => store.change([{ path: [...PATH, name], remove: true }])), 'danger')], problemsOf(settings, name),
      )),
    })
    return part
  }

  return { part, folderForm, ask }
})
