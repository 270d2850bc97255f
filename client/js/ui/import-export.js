// Sessions as files, out and in. Before one is saved the person sees what looks like a secret in it; a copy of all is to
// be kept, and whole. A file that comes in is read as text, whatever it is, and brings no permissions along
// (core/sanitize): what it wanted to allow is shown.

yaa.define('ui/import-export', [
  'ui/dom', 'ui/i18n', 'ui/popup', 'ui/dialog', 'ui/prompt-library', 'core/ids', 'core/canonical-json', 'core/branch-tree', 'core/session-import', 'core/standalone-page', 'core/redact',
  'core/transcript', 'core/sanitize',
  'io/download', 'io/clipboard', 'io/unzip', 'ui/removed-permissions',
], (
  dom, words, { toast }, { openDialog, button }, prompts, { uuid }, { equal }, tree, importer, { page, extract }, { scan, redact },
  { markdown, condense }, { UNKNOWN }, download, clipboard, unzip, removedPermissions,
) => {
  const { h, icon, uid } = dom
  const { t } = words
  /** @typedef {import('./types').CommandContext} CommandContext */
  /** `zip` only where copies of the session's files are here. @typedef {'page' | 'markdown' | 'json' | 'zip'} Format */
  const FORMATS = /** @type {Format[]} */ (['page', 'markdown', 'json', 'zip'])
  const EXTENSIONS = { page: 'html', markdown: 'md', json: 'yaa.json', zip: 'zip' }
  const TYPES = { page: 'text/html', markdown: 'text/markdown', json: 'application/json' }

  // -- out --

  /** @param {CommandContext} context @param {string} [id] */
  const read = async ({ app }, id = app.current.session.id) => (await app.sessionStore.open(id))?.session

  /** Ask how, show what it would give away, save. @param {CommandContext} context @param {string} [id] */
  async function exportSession(context, id) {
    const session = await read(context, id)
    if (!session) return
    const files = await (await copies())?.keptWords(session.id) ?? ''
    const form = exportForm(session, context.app.settings.get('exportAs'), files)
    const finish = async (/** @type {(content: any, format: Format) => any} */ does) => {
      const { format, short, secrets } = form.read()
      context.app.settings.set('exportAs', format)
      await does(await contentOf(redact(session, secrets), format, short), format)
      dialog.close()
    }
    const onSave = () => finish((content, format) => {
      const name = download.nameFor(session, EXTENSIONS[format])
      if (format === 'zip') download.blob(name, content)
      else download.text(name, content, TYPES[format])
    })
    const onCopy = () => finish(async (content) => toast(t(await clipboard.copy(content) ? 'copied' : 'copy.failed')))
    const copy = button(t('export.copy'), onCopy)
    const done = h('button.button.primary', { type: 'button', onclick: onSave }, icon('download'), t('export.save'))
    const dialog = openDialog({ title: t('export.title'), body: form.el, wide: true, buttons: [copy, done] })
    form.onchange((/** @type {string} */ format) => { copy.hidden = format === 'page' || format === 'zip' })
  }

  /** @param {Session} session @param {Format} format @param {boolean} short */
  async function contentOf(session, format, short) {
    const shown = short ? condense(session, (left) => `[… ${t('export.left', { n: left })} …]`) : session
    if (format === 'zip') return (await copies()).zipped(session.id, `${JSON.stringify(shown, null, 2)}\n`)
    if (format === 'json') return `${JSON.stringify(shown, null, 2)}\n`
    if (format === 'markdown') return markdown(shown, { words: headings(), tools: !short })
    await yaa.load()
    const language = document.documentElement.lang
    const objects = short ? {} : await (await copies())?.encoded(session.id)
    return page({ source: yaa.source(), session: shown, objects, sprite: sprite(), language, saved: new Date().toISOString() })
  }

  const headings = () => ({
    you: t('thread.you'), assistant: t('app.name'), error: t('thread.error'), thoughts: t('think.done'), result: t('tool.result'),
    untitled: t('session.untitled'), image: t('image.alt'), edited: t('branch.edited'), files: t('export.files'),
  })

  /** The icons of this page, as markup. */
  function sprite() {
    const svg = document.querySelector('svg:has(> symbol)')
    return svg ? new XMLSerializer().serializeToString(svg) : ''
  }

  /** @param {Session} session @param {string | undefined} last the format taken last time @param {string} files what is said of the copies that are here */
  function exportForm(session, last, files) {
    const name = uid('format')
    const formats = files ? FORMATS : FORMATS.filter((format) => format !== 'zip')
    const first = formats.find((format) => format === last) ?? 'page'
    const radios = formats.map((value) => h('input', { type: 'radio', name, value, checked: value === first, onchange: draw }))
    const choice = h('fieldset', null, h('legend.label', null, t('export.format')), h('div.choices', null, formats.map((format, i) => (
      h('label.choice', null, radios[i],
        h('span', null, h('b', null, t(`export.${format}`)), h('span.hint', null, t(`export.${format}Hint`))))
    ))))
    const short = h('input', { type: 'checkbox' })
    const shortRow = h('div', null, h('label.check', null, short, t('export.short')), h('p.hint', null, t('export.shortHint')))
    const secrets = scan(session)
    const boxes = secrets.map(() => h('input', { type: 'checkbox', checked: true }))
    const list = h('section', null, h('h3.label', null, t('export.secrets', { n: secrets.length })),
      h('p.hint', null, t(secrets.length ? 'export.secretsHint' : 'export.secretsNone')),
      h('ul.secrets', { hidden: !secrets.length }, secrets.map((one, i) => secretRow(one, boxes[i]))))
    const told = files ? h('p.hint', null, files) : null
    const el = h('div.group', null, choice, told, shortRow, list)
    /** @type {((format: string) => void) | null} */ let heard = null
    const format = () => radios.find((one) => one.checked)?.value

    function draw() {
      heard?.(format())
    }

    return {
      el,
      read: () => ({ format: format(), short: short.checked, secrets: secrets.filter((_, i) => boxes[i].checked) }),
      onchange: (/** @type {(format: string) => void} */ callback) => { heard = callback; draw() },
    }
  }

  /** @param {Secret} secret @param {any} box */
  function secretRow(secret, box) {
    const times = secret.count > 1 ? ` · ${t('export.times', { n: secret.count })}` : ''
    const kind = h('span.hint', null, `${t(`secret.${secret.kind}`)}${times}`)
    return h('li', null, h('label.check', null, box, h('code', null, secret.shown), kind), h('p.hint.mono', null, secret.context))
  }

  /** Several sessions, or all, in one document. @param {CommandContext} context @param {string[]} [ids] */
  async function exportSessions(context, ids) {
    if (ids?.length === 1) return exportSession(context, ids[0])
    const { app } = context
    const wanted = ids ?? app.sessionStore.heads().map((head) => head.id)
    /** @type {Session[]} */ const all = []
    for (const id of wanted) {
      const session = await read(context, id)
      if (session) all.push(session)
    }
    const day = new Date().toISOString()
    download.json(`yaa-${day.slice(0, 10)}.yaa.json`, importer.exportDocument(all, ids ? [] : prompts.all(app.settings), day))
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
          found += prompts.add(context.app.settings, more)
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
      yield { name: file.name, text, objects: (/** @type {any} */ part) => part.decoded(extract(text)?.objects) }
      return
    }
    const objects = (/** @type {any} */ part) => part.unzipped(file)
    for await (const one of unzip.texts(file, (name) => /\.jsonl?$/i.test(name))) yield { ...one, objects }
  }

  const copies = () => yaa.part('copies')

  /** Files that came with a session whose calls have recorded any. @param {CommandContext} context @param {Session} session @param {(part: any) => any} objects */
  async function takeFiles({ app }, session, objects) {
    if (!session.messages.some((message) => message.result?.tree)) return
    const part = await copies()
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
    const input = h('input', { type: 'file' })
    input.multiple = true
    input.accept = '.json,.jsonl,.html,.htm,.zip,application/json,text/html,application/zip'
    return new Promise((resolve) => {
      input.addEventListener('change', () => resolve([...input.files]))
      input.addEventListener('cancel', () => resolve([]))
      input.click()
    })
  }

  return { exportSession, exportSessions, importFiles }
})
