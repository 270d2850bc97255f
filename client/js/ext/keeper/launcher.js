// Kept sessions in the page: the switch, the sign over the composer, and what joins them to the list and to the runs.

yaa.define('ext/keeper/launcher', [
  'ui/dom', 'ui/i18n', 'ui/popup', 'ui/commands', 'core/session', 'ext/keeper/rules', 'ext/keeper/runs', 'ext/keeper/sync', 'ext/keeper/follow', 'ext/keeper/list', 'ext/keeper/texts',
], ({ h, icon, text, css }, { t, duration }, { toast, say }, commands, sessions, rules, runs, { syncOf }, { followerOf }, { listOf }) => {
  /** @typedef {import('../../ui/types').CommandContext} CommandContext */
  /** What becomes of a run is said when it takes longer: a line that comes and goes is only noise. */
  const LONG_MS = 3000

  // in the list: quiet, behind the title
  css`
@layer dialogs {
  .row .badge.quiet { order: 1; background: none; padding: 0; box-shadow: none; font-size: var(--t1); font-weight: 400; color: var(--ink-3); }
}
`

  /** @param {CommandContext} context */
  function start(context) {
    const { app } = context
    const { sessionStore, settings, server } = app
    if (app.standalone) return
    const sync = syncOf(context)
    const follower = followerOf(app, sync)
    const isKept = () => Boolean(sync.recordOf(app.current.session.id))
    const isUsual = () => settings.get('keep') ?? rules.isUsual(server.info(), server.api().base)
    const list = listOf(app, (/** @type {any[]} */ rows) => rows.forEach((row) => call(context, row)), isUsual)
    const note = noteView(context, sync)

    sessionStore.hooks.push({
      onStart() {}, onEvent() {},
      onRest(entry) {
        sync.rest(entry)
        if (sync.recordOf(entry.session.id)) list.look()
      },
      rows: list.shown,
      fetch: async (id) => {
        const row = list.row(id)
        if (!row && !sync.recordOf(id)) return null
        if (row?.problem) throw new Error(row.problem) // which is said by who wanted to open it
        return sync.fetch(id, row?.changed)
      },
      onRemove: (id) => sync.remove(id, list.row(id)),
    })
    commands.register({
      id: 'session.keep', title: () => t(isKept() ? 'keep.off' : 'keep.on'), icon: 'retry', slash: 'keep', menu: 'session',
      when: () => list.isPossible() && app.current.session.messages.length > 0 && !app.current.session.ext?.temporary,
      run: () => (isKept() ? sync.takeBack(app.current) : sync.keep(app.current)).then(list.look),
    })
    commands.register({
      id: 'sessions.keep', title: () => t(isUsual() ? 'keep.newOff' : 'keep.new'), icon: 'retry', slash: 'keep-new', menu: 'empty', when: list.isPossible,
      run() {
        settings.set('keep', !isUsual())
        toast(t(isUsual() ? 'keep.newMeansOn' : 'keep.newMeansOff'))
        app.draw()
      },
    })
    addEventListener('yaa-saved', (/** @type {any} */ { detail }) => sync.saved(detail))
    addEventListener('yaa-unkept', (/** @type {any} */ { detail }) => toast(t('keep.unkept', { detail }), { bad: true }))
    server.ready.then(() => list.look())
    let api = server.api()
    app.watchers.add((state) => {
      if (!state.whole) return
      if (api !== server.api()) list.look()
      api = server.api()
      mark(app.current, list.isPossible() && isUsual())
      follower.look()
      note.update(state)
    })
    app.draw()

    /** A session that nobody has written in yet says by its key whether it shall be kept. @param {import('../../ui/types').Entry} entry @param {boolean} on */
    function mark({ session }, on) {
      if (session.messages.length || Boolean(session.ext?.[rules.KEY]) === (on && !session.ext?.temporary)) return
      if (on && !session.ext?.temporary) session.ext = rules.keyed(session).ext
      else rules.unkeyed(session)
    }
  }

  /** A question in a session that is not looked at. @param {CommandContext} context @param {any} row */
  function call({ app, actions }, { id, title }) {
    if (id === app.current.session.id && !document.hidden) return
    const words = t('keep.asks', { title: title || t('session.untitled') })
    say(words)
    if (!document.hidden || globalThis.Notification?.permission !== 'granted') return
    const note = new Notification(t('app.name'), { body: words, tag: `yaa-kept ${id}` })
    note.onclick = () => {
      window.focus()
      note.close()
      actions.open(id)
    }
  }

  /** Over the composer: what becomes of the run, who else looks. @param {CommandContext} context @param {any} sync */
  function noteView({ app }, sync) {
    const words = h('span')
    const press = h('button.button.small', { type: 'button', onclick: () => sync.keep(app.current) })
    const el = h('div.note.kept', { hidden: true }, icon('retry'), words, press)
    /** Since when which session runs. */
    let [since, running] = [0, '']
    /** @type {any} */ let timer = 0

    /** @param {import('../../ui/types').State} state */
    function update({ session, live, info, server }) {
      if (!el.isConnected) document.querySelector('.foot .notes')?.prepend(el)
      const kept = Boolean(sync.recordOf(session.id))
      if (!live || running !== session.id) [since, running] = [Date.now(), session.id]
      const isLong = live && Date.now() - since >= LONG_MS
      clearTimeout(timer)
      if (live && !isLong) timer = setTimeout(app.draw, LONG_MS - (Date.now() - since))
      const link = runs.linkOf(session.id)
      const { sign } = link
      const word = rules.runWord(link, live, isLong)
      const others = Math.max(0, (sign.followers ?? 1) - 1)
      const also = others ? t('keep.others', { n: others }) : ''
      const said = kept ? [
        server.failure ? t('keep.offline') : '',
        word && t(word, { n: sign.attempts, time: duration((sign.pause_s ?? 0) * 1000) }),
        also,
      ] : [isLong && info?.keeper && server.ok && !session.ext?.temporary ? t('keep.ends') : '']
      const line = said.filter(Boolean).join(' ')
      el.hidden = !line
      text(words, line)
      press.hidden = kept
      text(press, t('keep.on'))
    }

    return { update }
  }

  return { start }
})
