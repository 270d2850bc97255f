// What a person does to files: rename, delete, make a new one. Each change is undone by the two trees that the server tells of
// it, beside whatever else was written since.

yaa.define('ext/files/file-actions', ['ui/dom', 'ext/files/texts', 'ui/popup', 'ui/dialog', 'core/file-names', 'core/workspace-stand'], (
  { h, uid }, { t }, { toast }, { openDialog, button }, names,
) => {
  /** @typedef {import('./files').Shared} Shared */

  /**
   * Offer to undo a change of the files. @param {Shared} shared @param {import('./files').Target} target @param {string} words
   * @param {any[]} answers of the server, in their order
   */
  function offerUndo(shared, { routes, changed }, words, answers) {
    if (!answers.every(({ before, after }) => before && after && before !== after)) return toast(`${words} ${t('undo.none')}`)
    const undo = async () => {
      let answer
      try {
        for (const { before, after } of [...answers].reverse()) answer = await routes.restore(before, after)
        toast(t('undo.done'))
      } catch (error) {
        shared.failed(error)
      }
      await changed(answer)
    }
    toast(words, { label: t('side.undo'), action: undo })
  }

  /** @param {Shared} shared @param {string[]} paths */
  async function remove(shared, paths) {
    const target = shared.target()
    /** @type {any[]} */ const answers = []
    try {
      for (const path of paths) answers.push(await target.routes.remove(path))
    } catch (error) {
      shared.failed(error)
    }
    await target.changed(answers.at(-1)) // also without an answer: what there is then is looked at
    const n = answers.length
    if (n) offerUndo(shared, target, n === 1 ? t('undo.deleted', { name: names.visible(names.baseName(paths[0])) }) : t('undo.deletedMany', { n }), answers)
  }

  /** @param {Shared} shared @param {string} title @param {string} value @param {(value: string, target: import('./files').Target) => Promise<any>} work */
  function askName(shared, title, value, work) {
    const target = shared.target()
    const id = uid('name')
    const input = h('input.input.mono', { id, value, autocomplete: 'off', autocapitalize: 'off', spellcheck: false, onkeydown: (/** @type {KeyboardEvent} */ event) => event.key === 'Enter' && !event.isComposing && go() })
    const problem = h('p.problem', { role: 'alert' })
    async function go() {
      const next = input.value.replace(/^\/+|\/+$/g, '')
      if (!next || next === value) return dialog.close()
      try {
        await work(next, target)
        dialog.close()
      } catch (error) {
        problem.textContent = /** @type {any} */ (error).message
        target.changed(null)
      }
    }
    const dialog = openDialog({
      title, body: h('div.field', null, h('label', { htmlFor: id }, t('rename.path')), input, problem),
      buttons: [button(t('rename.cancel'), () => dialog.close()), button(t('rename.go'), go, 'primary')],
    })
    input.focus()
    input.setSelectionRange(value.length - names.baseName(value).length, value.length)
  }

  /** @param {Shared} shared @param {string} path @param {(path: string) => void} [then] */
  function rename(shared, path, then) {
    askName(shared, t('rename.title'), path, async (next, target) => {
      const answer = await target.routes.move(path, next)
      await target.changed(answer)
      then?.(next)
      offerUndo(shared, target, t('undo.renamed', { name: names.visible(names.baseName(path)), to: names.visible(next) }), [answer])
    })
  }

  /** An empty one; folders above it are made with it. @param {Shared} shared @param {string} folder */
  function makeFile(shared, folder) {
    askName(shared, t('tree.newFile'), folder ? `${folder}/` : '', async (next, target) => {
      await target.changed(await target.routes.upload(next, new Blob([])))
      shared.open(next)
    })
  }

  return { remove, rename, makeFile, offerUndo }
})
