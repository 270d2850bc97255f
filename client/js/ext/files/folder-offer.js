// The folder that yaa was started in: its name is in the address (`?folder=`). It is asked about before it is used.

yaa.define('ext/files/folder-offer', ['ui/dom', 'ext/files/texts', 'ext/files/session-files', 'core/file-names'], ({ h, icon, text }, { t }, files, { visible }) => {
  /** @param {import('../../ui/types').CommandContext} context @param {(name: string) => any} choose */
  function start({ app, actions }, choose) {
    const name = new URLSearchParams(location.search).get('folder')
    if (!name) return
    const words = h('span')
    const yes = h('button.button.small.primary', { type: 'button', onclick: () => end(true) }, t('folder.offerYes'))
    const el = h('div.note.folder-offer', { hidden: true }, icon('folder'), words, yes,
      h('button.button.small', { type: 'button', onclick: () => end(false) }, t('folder.offerNo')))

    /** @param {boolean} takes */
    function end(takes) {
      app.watchers.delete(update)
      el.remove()
      history.replaceState(history.state, '', location.pathname + location.hash)
      if (takes) choose(name ?? '')
      actions.draw()
    }

    function update() {
      const folder = files.foldersOf(app).find((/** @type {any} */ one) => one.name === name)
      yes.hidden = folder?.available === false
      text(words, yes.hidden ? folder?.reason ?? '' : t('folder.offer', { name: visible(String(name)) }))
      el.hidden = !folder || app.current.session.messages.length > 0 || files.folderOf(app) === name
      if (!el.hidden && !el.isConnected) document.querySelector('.foot .notes')?.prepend(el)
    }

    app.watchers.add(update)
  }

  return { start }
})
