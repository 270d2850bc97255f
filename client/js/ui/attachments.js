// Files beside a message: the tray over the composer while it is written, and how they look in the thread.

yaa.define('ui/attachments', [
  'ui/dom', 'ui/i18n', 'ui/popup', 'core/attachments', 'core/safe-urls', 'io/draft-files', 'css/attachments', 'i18n/attachments',
], (dom, { t, count }, { toast, say }, attachments, safeUrls, draftFiles) => {
  const { h, icon, iconButton, list, text } = dom
  const { LIMITS } = attachments
  /** So many refusals are said, of the others their number. */
  const SAID = 3
  let serial = 0

  /** A long text, and what is none, has no `part`: it goes into the workspace alone. @typedef {{key: string, name: string, part: any, image: string | null, size: number, file?: Blob, text?: string, whole?: number}} Attached */

  /**
   * With what it had before the page was loaded.
   * @param {any} app @param {string} draft @param {() => void} onchange @returns {Promise<any>}
   */
  async function tray(app, draft, onchange) {
    const mark = app.standalone ? '~' : '' // a page that leaves no traces
    /** @type {(Attached | File)[]} */ const kept = await draftFiles.load(mark + draft)
    /** Files that are stored, and not read yet. */ const raw = kept.filter((one) => one instanceof File)
    let all = kept.flatMap((one) => (one instanceof File ? [] : [/** @type {Attached} */ ({ ...one, key: `file ${++serial}`, image: attachments.imageOf(one.part) })]))
    const chips = h('ul.tray', { 'aria-label': t('attach.label'), hidden: true })
    const note = h('p.tray-note', { hidden: true, role: 'status' })
    const el = h('div', null, chips, note)

    /** @param {File[]} files @returns {Promise<() => void>} takes them out again */
    async function add(files) {
      /** @type {Attached[]} */ const added = []
      /** @type {Set<string>} */ const refused = new Set()
      if (raw.push(...files)) changed()
      for (let file = raw[0]; file; file = raw[0]) {
        const full = all.length >= LIMITS.files
        // a folder, or a file that has gone meanwhile
        const made = full ? t('attach.many', { n: LIMITS.files }) : await attachedOf(app, file).catch(() => t('attach.unread', { name: file.name }))
        raw.shift()
        if (typeof made === 'string') refused.add(made)
        else {
          added.push(made)
          all = [...all, made]
        }
        changed()
      }
      if (refused.size) refuse([...refused])
      return () => {
        all = all.filter((one) => !added.includes(one))
        changed()
      }
    }

    /** @param {string} key */
    function remove(key) {
      const at = all.findIndex((one) => one.key === key)
      say(t('attach.removed', { name: all[at]?.name ?? '' }))
      all = all.filter((one) => one.key !== key)
      changed()
      chips.querySelectorAll('button')[Math.min(at, all.length - 1)]?.focus()
    }

    function changed() {
      draftFiles.save(mark + draft, [...all.map(({ key, image, ...one }) => one), ...raw])
      draw()
    }

    function draw() {
      chips.hidden = !all.length
      list(chips, all, (one) => one.key, (one) => ({ el: chip(one), update() {} }))
      onchange()
    }

    /** @param {Attached} one */
    function chip(one) {
      const shown = one.image ? h('img', { src: one.image, alt: '' }) : icon('page')
      return h('li.attached', { title: one.name }, shown, h('span', null, h('b', null, one.name), h('small', null, sizeOf(one.size))),
        iconButton('x', t('attach.remove', { name: one.name }), { onclick: () => remove(one.key) }))
    }

    function clear() {
      all = []
      changed()
    }

    /** The same files, of a draft with another name. @param {string} next */
    function rename(next) {
      draftFiles.save(mark + draft, [])
      draft = next
      changed()
    }

    /** The parts to send; null where some cannot go, which is said. @param {AbortSignal} signal @returns {Promise<any[] | null>} */
    async function placed(signal) {
      goesUp(true)
      try {
        return await place(app, all, signal)
      } catch (error) {
        if (signal.aborted) return null
        toast(t('attach.unplaced', { detail: /** @type {any} */ (error).message }), { bad: true })
        return null
      } finally {
        goesUp(false)
      }
    }

    /** @param {boolean} on */
    function goesUp(on) {
      text(note, on ? t('attach.goesUp') : '')
      note.hidden = !on
    }

    draw()
    return { el, add, clear, rename, placed, isEmpty: () => !all.length }
  }

  /** In one notice, however many it are. @param {string[]} all */
  function refuse(all) {
    const rest = all.length - SAID
    toast([...all.slice(0, SAID), rest > 0 ? t('attach.more', { n: rest }) : ''].join(' '), { bad: true })
  }

  /** @param {number} bytes */
  const sizeOf = (bytes) => (
    bytes < 1024 ? t('attach.bytes', { n: count(bytes) }) : t('attach.kilobytes', { n: count(Math.round(bytes / 1024)) })
  )

  /** What puts files into the workspace; null where they may not go there. @param {any} app */
  async function placingOf(app) {
    const placing = await yaa.part('attached-files')
    return placing?.isOffered(app) ? placing : null
  }

  /** The parts of a message; its files are in the workspace then, if they may. @param {any} app @param {Pick<Attached, 'name' | 'part' | 'file'>[]} all @param {AbortSignal} [signal] @returns {Promise<any[]>} */
  async function place(app, all, signal) {
    const { current } = app // another one may be opened meanwhile
    const placing = all.some(({ file }) => file) ? await placingOf(app) : null
    if (placing) return placing.place(app, current, all, signal)
    return all.map(({ part, name }) => {
      if (!part) throw new Error(name)
      return part
    })
  }

  /** @param {any} app @param {File} file @returns {Promise<Attached | string>} or why not */
  async function attachedOf(app, file) {
    const { name, size, attached } = /** @type {File & {attached?: Attached}} */ (file)
    if (attached) return { ...attached, key: `file ${++serial}` }
    const base = { key: `file ${++serial}`, name: name || t('attach.pasted'), size, file }
    if (attachments.isImage(file)) {
      const url = await imageUrl(file)
      if (!url) return t('attach.broken', { name })
      if (url.length > LIMITS.image * 1.4) return t('attach.large', { name, max: sizeOf(LIMITS.image) })
      return { ...base, size: Math.round(url.length * 0.75), part: attachments.imagePart(url), image: url }
    }
    const most = await placingOf(app).catch(() => null) ? LIMITS.upload : LIMITS.text
    if (size > most) return t('attach.large', { name, max: sizeOf(most) })
    const alone = size > LIMITS.inline && most === LIMITS.upload
    const text = alone ? beginning(new Uint8Array(await file.slice(0, LIMITS.inline).arrayBuffer())) : attachments.decode(new Uint8Array(await file.arrayBuffer()))
    if (text === null && most === LIMITS.text) return t('attach.binary', { name })
    if (alone || text === null) return { ...base, part: null, image: null, ...(text === null ? {} : { text, whole: size }) }
    return { ...base, part: attachments.filePart(base.name, text), image: null, text, whole: 0 }
  }

  /** The text that begins with these bytes, of which the last character may be cut; null where they are none. @param {Uint8Array} bytes */
  function beginning(bytes) {
    for (let cut = 0; cut < 4; cut += 1) {
      const text = attachments.decode(bytes.subarray(0, bytes.length - cut))
      if (text !== null) return text
    }
    return null
  }

  /** A picture as a data: address, no larger than models look at it. @param {File} file */
  async function imageUrl(file) {
    try {
      const bitmap = await createImageBitmap(file)
      const { width, height, whole } = attachments.fit(bitmap.width, bitmap.height)
      if (whole && attachments.isPlainImage(file.type) && file.size < LIMITS.image / 4) return await asIs(file)
      const canvas = document.createElement('canvas')
      Object.assign(canvas, { width, height })
      canvas.getContext('2d')?.drawImage(bitmap, 0, 0, width, height)
      return canvas.toDataURL(file.type === 'image/png' && file.size < LIMITS.image / 4 ? 'image/png' : 'image/jpeg', 0.86)
    } catch {
      return ''
    }
  }

  /** @param {File} file @returns {Promise<string>} */
  function asIs(file) {
    return new Promise((resolve, reject) => {
      const reader = new FileReader()
      reader.onload = () => resolve(String(reader.result))
      reader.onerror = () => reject(reader.error)
      reader.readAsDataURL(file)
    })
  }

  /** The files of a message in the thread; null where there are none. @param {any} content */
  function filesView(content) {
    const { files, images } = attachments.split(content)
    if (!files.length && !images.length) return null
    return h('div.sent-files', null, images.map(imageView), files.map(fileView))
  }

  /** @param {string} url */
  function imageView(url) {
    const safe = safeUrls.image(url)
    if (!safe || safe.remote) return h('span.attached', null, icon('image'), h('span', null, safe?.host ?? t('image.alt')))
    const img = h('img', { src: safe.src, alt: t('image.alt'), loading: 'lazy' })
    const el = h('button.sent-image', { type: 'button', 'aria-pressed': 'false', 'aria-label': t('attach.enlarge'), onclick: enlarge }, img)
    function enlarge() {
      const on = el.getAttribute('aria-pressed') === 'true'
      el.setAttribute('aria-pressed', String(!on))
    }
    return el
  }

  /** @param {{name: string, text: string, from?: string, path?: string}} file */
  function fileView({ name, text, from = '', path }) {
    const line = h('summary', { title: from }, icon(from ? 'link' : 'page'), h('b', null, name), h('small', null, path ?? sizeOf(text.length)))
    return h('details.sent-file', null, line, h('pre', { tabIndex: 0 }, text))
  }

  return { tray, place, filesView, words: (/** @type {any} */ content) => attachments.split(content).words }
})
