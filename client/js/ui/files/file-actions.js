// What a person does to files: rename, delete, make a new one. Deleting is undone by going back to the tree that was there,
// unless something else has changed the files since.

yaa.define('ui/files/file-actions', ['ui/dom', 'ui/files/i18n', 'ui/popup', 'ui/dialog', 'core/file-names', 'core/workspace-stand'], (
  { h, uid }, { t }, { toast }, { openDialog, button }, names,
) => {
  /** @typedef {import('./files').Shared} Shared */

  /**
   * Offer to undo a change of the files. @param {Shared} shared @param {import('./files').Target} target @param {string} words
   * @param {string | undefined} before the tree that was there @param {string | undefined} after the tree that the change made
   */
  function offerUndo(shared, { routes, changed }, words, before, after) {
    if (!before || !after || before === after) return toast(words)
    const undo = async () => {
      try {
        if ((await routes.state()).tree !== after) return toast(t('undo.over'), { bad: true })
        await changed(await routes.restore(before))
        toast(t('undo.done'))
      } catch (error) {
        shared.failed(error)
      }
    }
    toast(words, { label: t('side.undo'), action: undo })
  }

  /** @param {Shared} shared @param {string[]} paths */
  async function remove(shared, paths) {
    const [target, before] = [shared.target(), shared.state()?.tree]
    let answer
    let done = 0
    try {
      for (const path of paths) {
        answer = await target.routes.remove(path)
        done += 1
      }
    } catch (error) {
      shared.failed(error)
    }
    if (!done) return
    await target.changed(answer)
    offerUndo(shared, target, done === 1 ? t('undo.deleted', { name: names.visible(names.baseName(paths[0])) }) : t('undo.deletedMany', { n: done }), before, answer?.tree)
  }

  /** @param {Shared} shared @param {string} title @param {string} value @param {(value: string) => Promise<any>} work */
  function askName(shared, title, value, work) {
    const id = uid('name')
    const input = h('input.input.mono', { id, value, autocomplete: 'off', autocapitalize: 'off', spellcheck: false, onkeydown: (/** @type {KeyboardEvent} */ event) => event.key === 'Enter' && !event.isComposing && go() })
    const problem = h('p.problem', { role: 'alert' })
    async function go() {
      const next = input.value.replace(/^\/+|\/+$/g, '')
      if (!next || next === value) return dialog.close()
      try {
        await work(next)
        dialog.close()
      } catch (error) {
        problem.textContent = /** @type {any} */ (error).message
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
    const target = shared.target()
    askName(shared, t('rename.title'), path, async (next) => {
      const before = shared.state()?.tree
      const answer = await target.routes.move(path, next)
      await target.changed(answer)
      then?.(next)
      offerUndo(shared, target, t('undo.renamed', { name: names.visible(names.baseName(path)), to: names.visible(next) }), before, answer?.tree)
    })
  }

  /** An empty one; folders above it are made with it. @param {Shared} shared @param {string} folder */
  function makeFile(shared, folder) {
    const target = shared.target()
    askName(shared, t('tree.newFile'), folder ? `${folder}/` : '', async (next) => {
      await target.changed(await target.routes.upload(next, new Blob([])))
      shared.open(next)
    })
  }

  return { remove, rename, makeFile, offerUndo }
})
