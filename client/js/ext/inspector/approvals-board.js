// The approvals board: what waits for a person in any session of this browser, with the cards of the thread. An answered
// session goes on in the background.

yaa.define('ext/inspector/approvals-board', ['ui/dom', 'ext/inspector/texts', 'ui/interrupt-cards', 'core/session'], (dom, { t, moment }, { interruptCard }, { titleOf }) => {
  const { h, list, text, fill, icon } = dom

  /** @param {import('../../ui/types').CommandContext} context @param {any} calls */
  function approvalsBoard(context, calls) {
    const { app, actions } = context
    const groups = h('div.desk')
    const none = h('p.desk-none', { hidden: true }, icon('check'), h('span', null, t('desk.none')))
    const notify = h('button.button.small', { type: 'button', hidden: true, onclick: allow }, t('desk.notify'))
    const el = h('div.inspect-view', null, h('h3', null, t('inspect.desk')), h('p.hint', null, t('desk.lead')), notify, none, groups)
    let turn = 0
    calls.listen(() => el.isConnected && draw())

    async function draw() {
      const mine = ++turn
      const all = await calls.all()
      if (mine !== turn) return
      none.hidden = all.length > 0
      notify.hidden = globalThis.Notification?.permission !== 'default'
      list(groups, all, (/** @type {any} */ one) => one.entry.session.id, () => groupView())
    }

    async function allow() {
      await Notification.requestPermission()
      draw()
    }

    function groupView() {
      const title = h('button.link', { type: 'button', onclick: () => actions.open(entry.session.id) })
      const when = h('span.hint')
      const cards = h('div.calls')
      const inner = h('section', null, h('div.desk-head', null, h('h4', null, title), when), cards)
      /** @type {import('../../ui/types').Entry} */ let entry
      const answers = {
        answer: async (/** @type {string} */ id, /** @type {any} */ answer) => {
          await app.sessionStore.answer(entry, [[id, answer]])
          draw()
        },
        goOn: () => app.sessionStore.retry(entry),
        asking: {
          ...actions.asking,
          picture: (/** @type {string} */ tool, /** @type {any} */ args) => actions.asking.picture?.(tool, args, entry.session) ?? Promise.resolve(null),
          costUnit: () => entry.session.usage?.cost_unit ?? '',
          // rules and limits are made in the session itself
          approvalMenu: (/** @type {any[]} */ ...rest) => (isCurrent() ? /** @type {any} */ (actions.asking).approvalMenu(...rest)
            : actions.open(entry.session.id)),
          rule: (/** @type {any[]} */ ...rest) => (isCurrent() ? /** @type {any} */ (actions.asking).rule(...rest) : actions.open(entry.session.id)),
          limits: () => (isCurrent() ? actions.asking.limits() : actions.open(entry.session.id)),
        },
      }
      const isCurrent = () => entry === app.current

      /** @param {{entry: import('../../ui/types').Entry, open: Interrupt[]}} one */
      function update({ entry: now, open }) {
        entry = now
        text(title, titleOf(now.session) || t('session.untitled'))
        const at = now.session.messages.at(-1)?.at
        text(when, at ? moment(at) : '')
        list(cards, open, (interrupt) => interrupt.id, (interrupt) => cardView(interrupt, callOf(entry.session, interrupt.call_id),
          answers))
      }

      return { el: inner, update, destroy: () => list(cards, [], String, () => ({ el: null, update: () => {} })) }
    }

    return { el, update: draw }
  }

  /** @param {Session} session @param {string | undefined} id @returns {ToolCall | undefined} */
  function callOf(session, id) {
    for (const message of session.messages) for (const call of message?.tool_calls ?? []) if (call?.id === id) return call
    return undefined
  }

  /** @param {Interrupt} interrupt @param {ToolCall | undefined} call @param {any} answers */
  function cardView(interrupt, call, answers) {
    const ask = interruptCard(interrupt, answers, call)
    const card = h('section.card.wait', { 'data-tone': interrupt.reason === 'model_error' ? 'bad' : 'ask' })
    fill(card, ask.el)
    return { el: card, update: ask.update, destroy: ask.destroy }
  }

  return { approvalsBoard }
})
