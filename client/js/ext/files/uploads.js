// Files on their way into the workspace: by drop, paste and button, folders too. Each has a bar, can be stopped and tried
// again; one after the other, so that runs keep their connections.

yaa.define('ext/files/uploads', ['ui/dom', 'ext/files/texts', 'ui/popup', 'ext/files/file-list', 'ext/files/file-actions', 'core/file-names'], (
  { h, iconButton, text, attr }, { t }, { toast }, { size }, { offerUndo }, names,
) => {
  /** Files of a folder that are taken in one go. */
  const MOST = 2000

  /** @param {import('./files').Shared} shared @param {() => string} folder where they go */
  function uploadsView(shared, folder) {
    const el = h('ul.uploads', { 'aria-label': t('upload.title'), hidden: true })
    /** @type {{file: Blob, path: string, row: any, stop: AbortController, target: import('./files').Target}[]} */ const waiting = []
    let working = false

    /** @param {{file: Blob, path: string}[]} all @param {string} [into] @param {import('./files').Target} [target] */
    function add(all, into = folder(), target = shared.target()) {
      for (const { file, path } of all.slice(0, MOST)) enqueue(file, into ? `${into}/${path}` : path, target)
      if (all.length > MOST) toast(t('upload.many', { n: MOST }), { bad: true })
      work()
    }

    /** @param {Blob} file @param {string} path @param {import('./files').Target} target */
    function enqueue(file, path, target) {
      const row = rowView(path, file.size)
      const one = { file, path, row, stop: new AbortController(), target }
      row.stop.onclick = () => {
        one.stop.abort()
        row.el.remove()
        const at = waiting.indexOf(one)
        if (at >= 0) waiting.splice(at, 1)
        el.hidden = !el.childElementCount
      }
      row.again.onclick = () => {
        row.el.remove()
        enqueue(file, path, target)
        work()
      }
      el.append(row.el)
      el.hidden = false
      waiting.push(one)
    }

    async function work() {
      if (working) return
      working = true
      while (waiting.length) await send(waiting[0].target)
      working = false
    }

    /** All that wait for one session. @param {import('./files').Target} target */
    async function send(target) {
      let last = ''
      /** @type {any[]} */ const answers = []
      for (let at = 0; at >= 0; at = waiting.findIndex((each) => each.target.id === target.id)) {
        const [{ file, path, row, stop, target: { routes } }] = waiting.splice(at, 1)
        try {
          answers.push(await routes.upload(path, file, { signal: stop.signal, onProgress: row.progress }))
          row.el.remove()
          last = path
        } catch (error) {
          if (!stop.signal.aborted) row.failed(/** @type {any} */ (error).message)
        }
        el.hidden = !el.childElementCount
      }
      await target.changed(answers.at(-1)) // also without an answer: what there is then is looked at
      const n = answers.length
      if (n) offerUndo(shared, target, n === 1 ? t('upload.done', { name: names.visible(names.baseName(last)) }) : t('upload.doneMany', { n }), answers)
    }

    /** @param {string} path @param {number} bytes */
    function rowView(path, bytes) {
      const bar = h('progress', { max: Math.max(1, bytes), 'aria-label': t('upload.of', { name: names.visible(path) }) })
      bar.value = 0
      const note = h('span.part-note', null, size(bytes))
      const stop = iconButton('x', t('upload.stop'), {})
      const again = h('button.button.small', { type: 'button', hidden: true }, t('upload.again'))
      const row = h('li', null, h('bdi.path', null, names.visible(path)), note, again, stop, bar)
      return {
        el: row, stop, again,
        progress: (/** @type {number} */ sent) => {
          bar.value = sent
          text(note, `${size(sent)} / ${size(bytes)}`)
        },
        failed: (/** @type {string} */ why) => {
          attr(row, 'data-tone', 'bad')
          bar.hidden = true
          again.hidden = false
          text(note, why)
        },
      }
    }

    /** @param {DataTransfer} given files and folders */
    async function drop(given) {
      const [into, target] = [folder(), shared.target()]
      const entries = [...given.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean)
      const files = [...given.files]
      if (!entries.length) return add(files.map((file) => ({ file, path: file.name })), into, target)
      /** @type {{file: Blob, path: string}[]} */ const found = []
      try {
        for (const entry of entries) await walk(entry, '', found)
      } catch (error) {
        shared.failed(error)
      }
      add(found, into, target)
    }

    /** @param {any} entry a FileSystemEntry @param {string} above @param {{file: Blob, path: string}[]} found */
    async function walk(entry, above, found) {
      if (found.length > MOST) return
      const path = above ? `${above}/${entry.name}` : entry.name
      if (entry.isFile) return void found.push({ file: await new Promise((resolve, reject) => { entry.file(resolve, reject) }), path })
      const reader = entry.createReader()
      for (;;) {
        /** @type {any[]} */ const some = await new Promise((resolve, reject) => { reader.readEntries(resolve, reject) })
        if (!some.length) return
        for (const one of some) await walk(one, path, found)
      }
    }

    /** @param {string} into */
    function pick(into) {
      const [input, target] = [h('input', { type: 'file', multiple: true }), shared.target()]
      input.addEventListener('change', () => add([...input.files].map((file) => ({ file, path: file.name })), into, target))
      input.click()
    }

    return { el, add, drop, pick }
  }

  return { uploadsView }
})
