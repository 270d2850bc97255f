// The bar over the field: what a session has changed, and what can be done with it. Over a copy of a folder it is there after
// a run and when a session is opened, until nothing is left that the folder does not have; elsewhere it says what the last
// turn changed, until that is undone.

yaa.define('ext/files/review-bar', ['ui/dom', 'ext/files/texts', 'ext/files/session-files', 'core/session', 'core/workspace-stand', 'ext/files/file-changes', 'core/file-names', 'ext/files/layer-diffs'], (
  { h, icon, text }, { t, count }, files, { openInterrupts }, { standOf }, { changesOf, turnStart, treeBefore }, { visible, isJunk }, { layerOf, linesIn },
) => {
  /**
   * @param {import('../../ui/types').App} app
   * @param {(what: 'review' | 'apply' | 'discard' | 'undo', seen: any) => void} act
   */
  function reviewBar(app, act) {
    const words = h('span', { role: 'status' })
    const lines = h('span.review-lines')
    /** @type {any} */ let layer = null
    const button = (/** @type {'review' | 'apply' | 'discard' | 'undo'} */ what, classes = '') => h(`button.button.small${classes}`, { type: 'button', onclick: () => act(what, layer) }, t(`review.${what}`))
    const apply = button('apply', '.primary')
    const [discard, undo] = [button('discard', '.danger'), button('undo')]
    const el = h('div.note.review', { role: 'group', 'aria-label': t('review.label'), hidden: true }, icon('folder'), h('span.review-words', null, words, ' ', lines), h('span.review-actions', null, button('review'), discard, undo, apply))
    let drawn = ''
    let turn = 0

    /** @param {import('../../ui/types').State} state */
    function update({ session, live }) {
      const shown = !app.past && !live && files.isOffered(app) && files.modeOf(app) !== 'read' && Boolean(standOf(session)) && !openInterrupts(session).length
      const key = shown ? JSON.stringify([session.id, files.folderOf(app), standOf(session), session.messages.length]) : ''
      if (key === drawn) return
      drawn = key
      refresh()
    }

    /** Ask again: the layer, or its folder, has changed. */
    async function refresh() {
      const mine = ++turn
      if (!drawn) return show(null)
      const routes = files.routesOf(app)
      const found = files.modeOf(app) === 'overlay' ? await layerOf(routes).catch(() => null) : ofTurn(app.current.session) // the panel says why
      if (mine !== turn) return
      show(found)
      const sum = found?.meant.length ? await linesIn(routes, found).catch(() => null) : null
      if (mine !== turn) return
      lines.hidden = !sum
      lines.replaceChildren(...sum ? [h('ins', null, `+${count(sum.added)}`), ' ', h('del', null, `−${count(sum.removed)}`)] : [])
    }

    /** @param {any} found */
    function show(found) {
      layer = found
      const n = found ? found.meant.length + Math.max(0, found.count - found.files.length) : 0
      el.hidden = !n
      const folder = files.folderOf(app)
      text(words, n ? t(!found.before ? 'review.words' : folder ? 'review.folder' : 'review.own', { n, folder: visible(folder) }) : '')
      discard.hidden = Boolean(found?.before)
      undo.hidden = !discard.hidden
      apply.hidden = !undo.hidden || !found?.meant.some((/** @type {FileChange} */ { asks, conflict }) => !asks && !conflict)
    }

    return { el, update, refresh, waits: () => !el.hidden && !layer?.before }
  }

  /** What the last turn changed where there is no copy; null: nothing, or it is undone. @param {Session} session */
  function ofTurn(session) {
    const start = turnStart(session)
    const [before, after] = [treeBefore(session, start), standOf(session)]
    const { files: all, count: n } = changesOf(session, start)
    if (!n || !before || before === after) return null
    return { files: all, meant: all.filter(({ path }) => !isJunk(path)), count: n, from: before, before, after, base: before, tree: after }
  }

  return { reviewBar }
})
