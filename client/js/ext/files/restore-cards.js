// Cards of what a run asks about files: whether those of a folder go back to where the session stands, and what to do about
// objects that this server does not have.

yaa.define('ext/files/restore-cards', ['ui/dom', 'ext/files/texts', 'ui/interrupt-cards', 'ext/files/file-list', 'core/file-names', 'ext/files/style'], (
  { h, fill, text, attr }, { t }, cards, { changeRow, size }, { visible },
) => {
  const { button } = cards
  /** Rows that are shown at first. */
  const FIRST = 12

  /** @param {import('../../ui/types').CommandContext} context */
  function start(context) {
    cards.bodies.workspace_restore = (interrupt, answer) => restoreBody(interrupt, answer)
    cards.bodies.workspace_missing = (interrupt, answer) => missingBody(context, interrupt, answer)
    context.actions.draw() // a card that was drawn before is made anew
  }

  /** @param {any} value @returns {any[]} */
  const listOf = (value) => (Array.isArray(value) ? value.filter((one) => typeof one?.path === 'string') : [])

  /** @param {any[]} all @param {number} total @param {(one: any) => any} make */
  function shortList(all, total, make) {
    const rest = h('div', null)
    const more = all.length > FIRST ? button('cards.more', '.small.ghost', () => {
      more.remove()
      rest.append(h('ul.file-list', null, all.slice(FIRST).map(make)))
    }) : null
    const beyond = total > all.length ? h('p.hint', null, t('cards.beyond', { n: total - all.length })) : null
    return h('div', null, h('ul.file-list', { 'aria-label': t('cards.list') }, all.slice(0, FIRST).map(make)), rest, more, beyond)
  }

  /**
   * The next question of a run has the same id: what is asked may be something else.
   * @param {any} interrupt @param {string} title @param {(now: any) => any[]} contentOf
   */
  function renewed(interrupt, title, contentOf) {
    const holder = h('div.form')
    let drawn = ''

    /** @param {any} now */
    function update(now) {
      const key = JSON.stringify([now.goal, now.differences, now.objects, now.count])
      if (key === drawn) return
      drawn = key
      fill(holder, contentOf(now))
    }

    update(interrupt)
    return { icon: 'folder', title, content: [holder], update }
  }

  /** @param {any} interrupt @param {(payload: any) => void} answer */
  const restoreBody = (interrupt, answer) => renewed(interrupt, t('restore.title'), (now) => {
    const all = listOf(now.differences)
    const total = Number.isInteger(now.count) ? Math.max(now.count, all.length) : all.length
    return [h('p', null, t(now.foreign ? 'restore.foreign' : 'restore.text', { n: total, tree: String(now.start ?? '').slice(0, 12) })), shortList(all, total, changeRow), h('p.hint', null, t('restore.hint')), h('div.ask-actions', null,
      button('restore.go', '.primary', () => answer({ action: 'restore' })), button('restore.keep', '', () => answer({ action: 'keep' })))]
  })

  /** @param {import('../../ui/types').CommandContext} context @param {any} interrupt @param {(payload: any) => void} answer */
  const missingBody = ({ app }, interrupt, answer) => renewed(interrupt, t('missing.title'), (now) => missingContent(app, now, answer))

  /** @param {import('../../ui/types').App} app @param {any} interrupt @param {(payload: any) => void} answer @returns {any[]} */
  function missingContent(app, interrupt, answer) {
    const all = (Array.isArray(interrupt.objects) ? interrupt.objects : []).filter((/** @type {any} */ one) => typeof one?.sha256 === 'string')
    const total = Number.isInteger(interrupt.count) ? Math.max(interrupt.count, all.length) : all.length
    const named = all.filter((/** @type {any} */ one) => one.path)
    const have = h('p.hint', null, t('missing.looking'))
    const bar = h('progress', { max: 1, value: 0, hidden: true, 'aria-label': t('missing.upload') })
    const send = button('missing.upload', '.primary', go)
    const without = button('missing.goOn', '', () => answer({ action: 'go_on' }))
    send.disabled = true
    /** @type {any[]} */ let here = []

    async function look() {
      await yaa.load('kept-files')
      const kept = yaa.use('ext/files/kept-objects')
      const found = await Promise.all(all.map(async (/** @type {any} */ one) => Boolean(await kept.get(one.sha256))))
      here = all.filter((/** @type {any} */ _, /** @type {number} */ i) => found[i])
      send.disabled = !here.length
      if (!here.length) text(have, t('missing.none'))
      else text(have, here.length === total ? t('missing.all') : t('missing.some', { n: here.length, of: total }))
    }

    async function go() {
      send.disabled = without.disabled = true
      bar.hidden = false
      try {
        const hashes = here.map(({ sha256 }) => sha256)
        await yaa.use('ext/files/copies').give(app, hashes, (/** @type {number} */ share) => attr(bar, 'value', share))
        answer({ action: 'uploaded' })
      } catch (error) {
        text(have, t('files.failed', { detail: /** @type {any} */ (error).message }))
        send.disabled = without.disabled = false
      }
      bar.hidden = true
    }

    look().catch((error) => text(have, t('files.failed', { detail: error.message })))
    const row = (/** @type {any} */ { path, bytes }) => h('li', null, h('bdi.path', null, visible(String(path ?? ''))), h('span.part-note', null, Number.isFinite(bytes) ? size(bytes) : ''))
    return [h('p', null, interrupt.bytes > 0 ? t('missing.text', { n: total, size: size(interrupt.bytes) }) : t('missing.list')),
      named.length ? shortList(named, named.length + total - all.length, row) : null, have, bar, h('div.ask-actions', null, send, without)]
  }

  return { start }
})
