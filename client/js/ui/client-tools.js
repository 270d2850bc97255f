// The tools of this page, as a person meets them: the switches in the settings, and the card of a call that waits for
// a click. What is done without one happens in core/client-tools; this file joins it to the runs.

yaa.define('ui/client-tools', [
  'ui/dom', 'ui/i18n', 'ui/popup', 'ui/interrupt-cards', 'core/client-tools', 'ui/builtin-tools', 'ui/question-cards', 'i18n/client-tools',
], (dom, { t }, { toast }, cards, tools) => {
  const { h, list, text, fill } = dom
  const { button } = cards
  /** What is over sooner is not shown at all: a card that comes and goes is only noise. */
  const BRIEF_MS = 300

  /** Once, when the page starts. @param {import('./types').App} app @param {Store} store */
  function open(app, store) {
    const { settings, sessionStore, server } = app
    const enabled = () => settings.get('pageTools') ?? {}
    const taken = () => (server.info()?.tools ?? []).map((/** @type {any} */ { name }) => name)
    const runner = tools.openCallRunner({
      enabled,
      going: (entry) => entry.going,
      save: (entry, work) => (entry && work ? sessionStore.mark(entry, work) : store.flush()),
      answer: (entry, answers) => sessionStore.answer(entry, answers),
      changed: () => app.draw(),
      failed: (tool, why) => toast(t('page.actionFailed', { tool: tool.name, detail: why }), { bad: true }),
    })
    sessionStore.hooks.push({ ...runner, onStart, onRest: (entry) => { if (!entry.watched) runner.onRest(entry) } })
    const byHand = cards.bodies.client_tool
    cards.bodies.client_tool = (interrupt, answer, call, does) => (
      runner.toolFor(interrupt) ? cardBody(runner, app, interrupt, answer, call) : byHand(interrupt, answer, call, does)
    )

    /** The session says what this page can do; what another one could does not count here. @param {import('./types').Entry} entry */
    function onStart(entry) {
      if (entry.watched) return
      const declared = tools.declare(enabled(), taken())
      if (declared.length || entry.session.tools?.length) entry.session.tools = declared
      runner.onStart(entry)
    }
  }

  /**
   * @param {CallRunner} runner @param {import('./types').App} app @param {any} interrupt
   * @param {(payload: any, status?: string) => void} answer @param {any} call
   */
  function cardBody(runner, app, interrupt, answer, call) {
    const { tool, confirm } = interrupt
    const here = runner.toolFor(interrupt)
    const run = () => runner.run(app.current, interrupt)
    const words = h('p.hint')
    const place = h('div')
    const decline = cards.declineForm(answer, () => { place.hidden = false })
    const deny = () => { decline.show(); place.hidden = true }
    const label = here?.label?.() ?? t('page.run')
    const go = () => h('button.button.primary', { type: 'button', onclick: run }, label)
    /** @type {Record<string, () => any[]>} */
    const buttons = {
      running: () => [h('span.spinner'), button('page.stop', '.danger', () => runner.stop(app.current, interrupt))],
      waiting: () => [go(), button('question.decline', '.danger', deny)],
      click: () => [go(), button('question.decline', '.danger', deny)],
      begun: () => [button('page.again', '', run), button('question.decline', '.danger', deny)],
    }
    let drawn = ''

    function update() {
      const now = runner.status(app.current, interrupt)
      if (now === drawn) return
      appear(words.closest('.ask'), now === 'running' && !drawn)
      drawn = now
      text(words, t(`page.${now}`, { tool }))
      fill(place, h('div.ask-actions', null, buttons[now]()))
    }

    const content = [cards.callArgs(interrupt, call), words, place, decline.el]
    return { icon: 'tool', title: t('page.title', { tool }), text: confirm ?? here?.about?.(), content, update }
  }

  /** @param {any} card @param {boolean} late what the page has begun by itself shows when it takes its time */
  function appear(card, late) {
    if (card) card.hidden = late
    if (late) setTimeout(() => { if (card) card.hidden = false }, BRIEF_MS)
  }

  /** @param {import('./types').Actions} actions */
  function switches(actions) {
    const rows = h('ul.rules')
    const el = h('section.group', null, h('h3', null, t('page.tools')), h('p.hint', null, t('page.toolsLead')), rows)

    /** @param {{state: import('./types').State}} now */
    function update({ state }) {
      const theirs = new Set((state.info?.tools ?? []).map((/** @type {any} */ { name }) => name))
      const on = state.settings.pageTools ?? {}
      list(rows, tools.all().map((tool) => ({ tool, on, taken: theirs.has(tool.name) })), ({ tool }) => tool.name, ({ tool }) => switchRow(tool, actions))
    }

    return { el, update }
  }

  /** @param {PageTool} tool @param {import('./types').Actions} actions */
  function switchRow(tool, actions) {
    /** @type {Record<string, boolean>} */ let current = {}
    const box = h('input', { type: 'checkbox', onchange })
    const note = h('span.badge', { hidden: true }, t('page.taken'))
    const about = h('p', null, tool.about?.() ?? tool.description)
    const el = h('li', null, h('label.check', null, box, h('span', null, h('code', null, tool.name), note, about)))

    function onchange() {
      actions.set({ pageTools: { ...current, [tool.name]: box.checked } })
      if (box.checked) tool.enabled?.()
    }

    /** @param {{on: Record<string, boolean>, taken: boolean}} now */
    function update({ on, taken }) {
      current = on
      box.checked = on[tool.name] === true
      box.disabled = taken
      note.hidden = !taken
    }

    return { el, update }
  }

  return { open, switches }
})
