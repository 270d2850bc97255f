// Starts what stands beside the conversation: the gauge, compaction markers, the count of pending calls, and the commands
// that open the inspector. Loaded once the page can be used.

yaa.define('ext/inspector/launcher', [
  'ui/dom', 'ext/inspector/texts', 'ui/commands', 'ui/popup', 'ext/inspector/context-gauge', 'ext/inspector/compaction-markers', 'ext/inspector/pending-calls', 'ext/inspector/notify-offer', 'ext/inspector/compact-command', 'ext/inspector/gauge-style',
], ({ h, icon, text, attr }, { t, language }, commands, { toast }, { gaugeView }, { placeMarkers }, { pendingCalls }, { notifyOffer }, compact) => {
  /** @typedef {import('../../ui/types').CommandContext} CommandContext */
  /** Parts of the inspector, with the keys that open them. */
  const TABS = /** @type {const} */ ([
    ['context', 'limit', 'g c'], ['waterfall', 'clock', 'g w'], ['compare', 'branch', 'g d'], ['checks', 'check', 'g h'],
    ['json', 'file', 'g j'],
  ])

  /** @param {CommandContext} context */
  function start(context) {
    const { app } = context
    /** @type {any} the panel and the slider, once they are loaded */ let made = null
    const open = (/** @type {string} */ tab, /** @type {string} */ what = '') => load().then((one) => one?.open(tab, what))
    let views = makeViews()
    const offer = notifyOffer(context)
    const calls = pendingCalls(context, (/** @type {number} */ n) => views.desk.update(n))

    function makeViews() {
      return { language: language(), gauge: gaugeView(context, () => open('context')), desk: deskButton(() => open('desk')) }
    }

    /** The page was made anew in another language: so is this. */
    function remake() {
      for (const one of [views.gauge, views.desk]) one.el.remove()
      views = makeViews()
      made?.end()
      made = null
    }

    async function load() {
      try {
        await yaa.load('inspector')
        made ??= yaa.use('ext/inspector/panel').start(context, calls)
        return made
      } catch (error) {
        toast(t('inspect.gone', { detail: String(/** @type {any} */ (error)?.message ?? error) }), { bad: true })
        return null
      }
    }

    /** @param {import('../../ui/types').State} state */
    function update(state) {
      if (language() !== views.language) remake()
      mount(views.gauge.el, '.composer-bar .gap')
      mount(views.desk.el, '.top-meter > :first-child')
      views.gauge.update(state)
      if (state.whole) {
        placeMarkers(state.session)
        calls.look(state)
        offer.look(state)
      }
      made?.update(state)
    }

    register(open)
    app.watchers.add(update)
    app.draw()
  }

  /** Put where it belongs again after the page was made anew. @param {any} el @param {string} beside */
  function mount(el, beside) {
    if (!el.isConnected) document.querySelector(beside)?.after(el)
  }

  /** @param {(tab: string, what?: string) => any} open */
  function register(open) {
    const has = (/** @type {CommandContext} */ { app }) => app.current.session.messages.length > 0
    for (const [tab, sign, keys] of TABS) {
      const both = tab === 'compare'
      /** @type {(context: CommandContext, ids: string[]) => any} */
      const run = (context, ids) => (both ? compare(context, ids, open) : open(tab))
      const id = both ? 'sessions.compare' : `inspect.${tab}`
      const when = both ? undefined : has
      commands.register({ id, title: `inspect.${tab}.open`, icon: sign, keys, slash: tab, when, run })
    }
    compact.register()
    commands.register({ id: 'desk', title: 'desk.open', icon: 'hand', keys: 'g q', slash: 'desk', run: () => open('desk') })
  }

  /**
   * Two sessions of the list, or this one beside whatever is chosen. Of two the later one is shown.
   * @param {CommandContext} context @param {string[] | undefined} ids @param {(tab: string, what?: string) => any} open
   */
  async function compare({ app, actions }, ids, open) {
    if (!Array.isArray(ids) || ids.length !== 2) return open('compare')
    const at = (/** @type {string} */ id) => app.sessionStore.heads().findIndex((head) => head.id === id)
    const [later, earlier] = at(ids[0]) <= at(ids[1]) ? ids : [ids[1], ids[0]]
    await actions.open(later)
    await open('compare', `session ${earlier}`)
  }

  /** How many calls wait, in all sessions; not there while none does. @param {() => void} open */
  function deskButton(open) {
    const count = h('span.desk-count')
    const words = h('span.sr-only')
    const el = h('button.button.ghost.small.desk-button', { type: 'button', hidden: true, onclick: open }, icon('hand'), count, words)

    /** @param {number} n */
    function update(n) {
      el.hidden = !n
      text(count, String(n))
      text(words, t('desk.waiting', { n }))
      attr(el, 'title', t('desk.waiting', { n }))
    }

    return { el, update }
  }

  return { start }
})
