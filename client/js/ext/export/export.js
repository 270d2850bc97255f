// A session as a file, in a form that is chosen. Before it is saved the person sees what looks like a secret in it.

yaa.define('ext/export/export', [
  'ui/dom', 'ui/i18n', 'ui/popup', 'ui/dialog', 'core/redact', 'ext/export/transcript', 'io/download', 'io/clipboard', 'ext/export/style', 'ext/export/texts',
], ({ h, icon, uid }, { t }, { toast }, { openDialog, button }, { scan, redact }, { markdown, condense }, download, clipboard) => {
  /** @typedef {import('../../ui/types').CommandContext} CommandContext */
  /** `zip` only where copies of the session's files are here, `page` where the page can be saved. @typedef {'page' | 'markdown' | 'json' | 'zip'} Format */
  const FORMATS = /** @type {Format[]} */ (['page', 'markdown', 'json', 'zip'])
  const EXTENSIONS = { page: 'html', markdown: 'md', json: 'yaa.json', zip: 'zip' }
  const TYPES = { page: 'text/html', markdown: 'text/markdown', json: 'application/json' }

  /** Ask how, show what it would give away, save. @param {CommandContext} context @param {string} [id] */
  async function exportSession(context, id = context.app.current.session.id) {
    const session = (await context.app.sessionStore.open(id))?.session
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
    return (await yaa.part('page-file')).page({ source: yaa.source(), session: shown, objects, sprite: sprite(), language, saved: new Date().toISOString() })
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
    const formats = FORMATS.filter((format) => (format === 'zip' ? files : format !== 'page' || yaa.parts('page-file').length))
    const first = formats.find((format) => format === last) ?? formats[0]
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

  const copies = () => yaa.part('copies')

  return { exportSession }
})
