// Sessions as files, out and in. A file that comes in is read as text, whatever it is, and brings no permissions along
// (core/sanitize): what it wanted to allow is shown.

yaa.define('ui/import-export', [
  'ui/dom', 'ui/i18n', 'ui/popup', 'core/ids', 'core/canonical-json', 'core/branch-tree', 'core/session-import', 'core/sanitize', 'io/download', 'io/unzip', 'ui/removed-permissions', 'i18n/commands',
], ({ h }, { t }, { toast }, { uuid }, { equal }, tree, importer, { UNKNOWN }, download, unzip, removedPermissions) => {
  /** @typedef {import('./types').CommandContext} CommandContext */
  // -- out --

  /** Several sessions, or all, in one document; one in a form that is asked for. @param {CommandContext} context @param {string[]} [ids] */
  async function exportSessions(context, ids) {
    const forms = ids?.length === 1 && await yaa.part('export')
    if (forms) return forms.exportSession(context, ids?.[0])
    const { app } = context
    const wanted = ids ?? app.sessionStore.heads().map((head) => head.id)
    /** @type {Session[]} */ const all = []
    for (const id of wanted) {
      const session = (await app.sessionStore.open(id).catch(({ said, message }) => void toast(said ?? message, { bad: true })))?.session
      if (session) all.push(session)
    }
    const day = new Date().toISOString()
    download.json(`yaa-${day.slice(0, 10)}.yaa.json`, importer.exportDocument(all, ids ? [] : (await library())?.all(app.settings) ?? [], day))
    if (!ids) app.settings.set('exportedAt', Date.now())
    toast(t('export.done', { n: all.length }))
  }

  // -- in --

  /** @param {CommandContext} context @param {File[]} [files] none: ask for them */
  async function importFiles(context, files) {
    const chosen = files ?? await pick()
    if (!chosen.length) return
    /** @type {{added: Session[], same: number, copies: number, merged: number, left: number, parts: number, unread: number, versions: string[], programs: string[], failed: string[]}} */
    const result = { added: [], same: 0, copies: 0, merged: 0, left: 0, parts: 0, unread: 0, versions: [], programs: [], failed: [] }
    /** @type {import('./types').ImportedSession[]} */ const brought = []
    const servers = context.app.server.info()?.defaults
    const ask = context.app.settings.get('config')?.yaa?.ask // what is filled in has to be known to be left out
    const defaults = servers && ask ? { ...servers, config: { ...servers.config, yaa: { ...servers.config?.yaa, ask } } } : servers ?? UNKNOWN
    const formats = await yaa.part('formats')
    let found = 0
    for (const file of chosen) {
      let known = false
      let why = ''
      try {
        for await (const { name, text, objects } of textsIn(file)) {
          const { sessions, removed, prompts: more = [], program, left } = importer.readSessions(text, name, defaults, formats)
          known ||= sessions.length + more.length > 0 || left !== undefined || program !== undefined
          if (program) result.programs.push(`${name} (${program})`)
          result.left += left?.messages ?? 0
          result.parts += left?.parts ?? 0
          result.unread += left?.sessions ?? 0
          result.versions.push(...left?.versions ?? [])
          if (more.length) found += (await library())?.add(context.app.settings, more) ?? 0
          const both = sessions.map((session, i) => ({ session, removed: removed[i] }))
          for (const one of both.sort((a, b) => lastTime(a.session) - lastTime(b.session))) {
            const isNew = await keep(context, one.session, result)
            if (isNew) brought.push({ id: one.session.id, title: one.session.title, removed: one.removed })
            await takeFiles(context, one.session, objects) // of one that is here too
          }
        }
      } catch (error) { // a folder, or a ZIP file that is not whole
        why = ` (${/** @type {any} */ (error).message})`
      }
      if (why || !known) result.failed.push(file.name + why)
    }
    await context.app.sessionStore.changed(...result.added.map(({ id }) => id))
    context.actions.draw()
    report(context, result, found)
    removedPermissions.showRemoved(context.app, brought)
  }

  /** An export is often a ZIP file: of what is in it, all that may be sessions. @param {File} file */
  async function* textsIn(file) {
    if (!await unzip.isZip(file)) {
      const text = await file.text()
      const page = /^\ufeff?\s*</.test(text) ? (await yaa.part('page-file'))?.extract(text) : null
      yield { name: file.name, text: page ? JSON.stringify(page.session) : text, objects: (/** @type {any} */ part) => part.decoded(page?.objects) }
      return
    }
    const objects = (/** @type {any} */ part) => part.unzipped(file)
    for await (const one of unzip.texts(file, (name) => /\.jsonl?$/i.test(name))) yield { ...one, objects }
  }

  const library = () => yaa.part('library')

  /** Files that came with a session whose calls have recorded any. @param {CommandContext} context @param {Session} session @param {(part: any) => any} objects */
  async function takeFiles({ app }, session, objects) {
    if (!session.messages.some((message) => message.result?.tree)) return
    const part = await yaa.part('copies')
    await part?.takeBack(session, await objects(part), app.store.kind === 'idb')
  }

  /**
   * What is here already stays as it is: other branches of it come in, another state of it is kept beside it.
   * @param {CommandContext} context @param {Session} session @param {any} result
   * @returns {Promise<boolean>} false: it was here already
   */
  async function keep({ app }, session, result) {
    const open = app.sessionStore.entry(session.id)?.session // another tab may have deleted it
    const known = open?.ext?.temporary ? open : await app.store.get(session.id)
    if (known?.messages.length) {
      const branches = tree.merge(structuredClone(known), structuredClone(session))
      if (branches === 0 || (branches === null && equal(known.messages, session.messages))) {
        result.same += 1
        return false
      }
      const entry = branches && await app.sessionStore.open(session.id)
      if (entry && await app.sessionStore.edit(entry, (one) => tree.merge(one, session)) !== null) {
        result.merged += branches
        return false
      }
      session.id = uuid()
      result.copies += 1
    }
    await app.sessionStore.restore(session, true, lastTime(session))
    result.added.push(session)
    return true
  }

  /** @param {Session} session @returns {number} */
  function lastTime({ messages, start_time: start }) {
    return messages.findLast((message) => typeof message.at === 'number')?.at ?? (Date.parse(start) || 0)
  }

  /** @param {CommandContext} context @param {any} result @param {number} found how many prompts */
  function report({ actions }, { added, same, copies, merged, left, parts, unread, versions, programs, failed }, found) {
    const said = [
      added.length && t('import.added', { n: added.length }), copies && t('import.copies', { n: copies }),
      same && t('import.same', { n: same }), merged && t('import.merged', { n: merged }),
      left && t('import.left', { n: left }), parts && t('import.parts', { n: parts }), unread && t('import.unread', { n: unread }),
      versions.length && t('import.versions', { n: versions.length, versions: [...new Set(versions)].join(', ') }),
      programs.length && t('import.programs', { names: programs.join(', ') }),
      found && t('import.prompts', { n: found }), failed.length && t('import.failed', { names: failed.join(', ') }),
    ].filter(Boolean).join(' ')
    const id = added.at(-1)?.id
    const open = added.length === 1 ? { label: t('import.open'), action: () => actions.open(id) } : {}
    toast(said || t('import.failed', { names: '' }), { bad: versions.length + unread + programs.length > 0 || !added.length && !same && !merged && !found, ...open })
  }

  /** @returns {Promise<File[]>} */
  function pick() {
    const input = h('input', { type: 'file', multiple: true, accept: '.json,.jsonl,.html,.htm,.zip,application/json,text/html,application/zip' })
    return new Promise((resolve) => {
      input.addEventListener('change', () => resolve([...input.files]))
      input.addEventListener('cancel', () => resolve([]))
      input.click()
    })
  }

  return { exportSessions, importFiles }
})
