// The bar under several approvals that answers all of them.

yaa.define('ui/approve-all', ['ui/dom', 'ui/i18n', 'i18n/questions'], ({ h, text }, { t }) => {
  /** Of these every later call can be allowed at once: what they do is in the files, and can be taken back. */
  const EDITS = new Set(['write_file', 'edit_file'])

  /** Two or more approvals can be answered at once. @param {import('./types').Actions} actions */
  function allBar(actions) {
    const label = h('span')
    /** @type {any[]} */ let open = []
    /** What each card would send by itself: arguments that were changed there are what is allowed. */
    const allow = (/** @type {'once' | 'session'} */ remember) => {
      const card = (/** @type {any} */ { id }) => /** @type {any} */ (document.getElementById(`ask-${id}`))
      const given = open.map((one) => (card(one) ? card(one).yes(remember) : { approved: true, remember }))
      if (given.every(Boolean)) each((i) => given[i])
    }
    const each = (/** @type {(i: number) => any} */ payload) => actions.answerAll(open.map((one, i) => [one.id, { status: 'resolved', payload: payload(i) }]))
    const edits = h('button.button.small', { type: 'button', onclick: () => allow('session') })
    const el = h('div.all-bar', { hidden: true }, label,
      h('button.button.small', { type: 'button', onclick: () => allow('once') }, t('ask.allOnce')), edits,
      h('button.button.small.danger', { type: 'button', onclick: () => each(() => ({ approved: false })) }, t('ask.allDeny')))

    /** @param {any[]} interrupts */
    function update(interrupts) {
      open = interrupts.filter((one) => one.reason === 'tool_call' && !one.answer)
      el.hidden = open.length < 2
      text(label, t('ask.all', { n: open.length }))
      edits.hidden = !open.every((one) => EDITS.has(one.tool) && !one.always)
      if (!edits.hidden) text(edits, t('ask.allEdits', { tools: [...new Set(open.map((one) => one.tool))].join(', ') }))
    }

    return { el, update }
  }

  return { allBar }
})
