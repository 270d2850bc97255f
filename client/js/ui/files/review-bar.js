// The bar over the field: what a session has changed in its copy of a folder, and what can be done with it. It is there after
// a run and when a session is opened, until nothing is left that the folder does not have.

yaa.define('ui/files/review-bar', ['ui/dom', 'ui/files/i18n', 'ui/files/session-files', 'core/session', 'core/workspace-stand', 'io/layer-diffs'], (
  { h, icon, text }, { t, count }, files, { openInterrupts }, { standOf }, { layerOf, linesIn },
) => {
  /**
   * @param {import('../types').App} app
   * @param {(what: 'review' | 'apply' | 'discard', tree?: string) => void} act
   */
  function reviewBar(app, act) {
    const words = h('span', { role: 'status' })
    const lines = h('span.review-lines')
    /** @type {any} */ let layer = null
    const button = (/** @type {'review' | 'apply' | 'discard'} */ what, classes = '') => h(`button.button.small${classes}`, { type: 'button', onclick: () => act(what, layer?.tree) }, t(`review.${what}`))
    const apply = button('apply', '.primary')
    const el = h('div.note.review', { role: 'group', 'aria-label': t('review.label'), hidden: true }, icon('folder'), h('span.review-words', null, words, ' ', lines), h('span.review-actions', null, button('review'), button('discard', '.danger'), apply))
    let drawn = ''
    let turn = 0

    /** @param {import('../types').State} state */
    function update({ session, live }) {
      const shown = !app.past && !live && files.isOffered(app) && files.modeOf(app) === 'overlay' && Boolean(standOf(session)) && !openInterrupts(session).length
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
      const found = await layerOf(routes).catch(() => null) // the panel says why
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
      text(words, n ? t('review.words', { n }) : '')
      apply.hidden = !found?.meant.some((/** @type {FileChange} */ { asks, conflict }) => !asks && !conflict)
    }

    return { el, update, refresh }
  }

  return { reviewBar }
})
