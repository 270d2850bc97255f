// What typed text does while a run waits for a person: a line over the field says it before Enter is pressed, and gives
// the way out, which is a message as before.

yaa.define('ui/typed-answer', ['ui/dom', 'ui/i18n', 'ui/commands', 'ui/interrupt-cards', 'core/typed-answer', 'i18n/questions'], (
  { h, icon, iconButton, text, attr, uid }, { t }, commands, { parseArgs, escapeControls }, { asked, decide },
) => {
  /** Letters of a question that are shown; the card has all of them. */
  const LETTERS = 200
  /** @type {TypedAnswer} */ const NOTHING = { kind: 'later' }

  /** @type {WeakMap<object, any>} */ const lines = new WeakMap()

  /** The line of a field: one, however often it is asked for. @param {import('./types').CommandContext} context @param {any} area @param {() => boolean} hasFiles */
  function open({ actions }, area, hasFiles) {
    if (!lines.has(area)) lines.set(area, lineOver(actions, area, hasFiles))
    return lines.get(area)
  }

  /** @param {import('./types').Actions} actions @param {any} area the field @param {() => boolean} hasFiles */
  function lineOver(actions, area, hasFiles) {
    /** @type {Interrupt[]} */ let all = []
    /** @type {Interrupt | undefined} */ let target
    /** What the field holds was there before the question. */
    let early = false
    /** The person wants to send a message. */
    let aside = false
    /** What the field holds is a command. */
    let isCommand = false
    const id = uid('typed')
    const lead = h('span')
    const what = h('button.typed-what', { type: 'button', title: t('typed.show'), onclick: () => (card() ? show() : commands.run('thread.ask')) })
    const how = h('span.typed-how', { id, role: 'status' })
    const answer = h('button.button.small', { type: 'button', hidden: true, onclick: () => turn(false) }, t('typed.instead'))
    const next = iconButton('chevron', t('typed.next'), { onclick: () => choose(all[(all.indexOf(/** @type {Interrupt} */ (target)) + 1) % all.length]) })
    const out = iconButton('x', t('typed.aside'), { onclick: () => turn(true) })
    const el = h('div.typed', { role: 'group', 'aria-label': t('typed.label'), hidden: true }, icon('question'), h('span.typed-words', null, lead, what, how), answer, next, out)
    area.before(el)

    const card = () => /** @type {any} */ (target && document.getElementById(`ask-${target.id}`))

    function show() {
      card().scrollIntoView({ block: 'center' })
      card().focus()
    }

    /** @param {boolean} on */
    function turn(on) {
      aside = on
      early = false
      draw()
      area.focus()
    }

    /** @param {Interrupt | undefined} one */
    function choose(one) {
      if (one?.id === target?.id) return
      target = one
      aside = false
      draw()
    }

    /** @param {Session | null} session null: nothing is asked @param {boolean} [command] what is typed is one */
    function update(session, command = false) {
      isCommand = command
      all = session ? asked(session) : []
      const before = target?.id
      choose(all.find((one) => one.id === before) ?? all[0])
      if (target?.id !== before) early = Boolean(area.value.trim())
      if (!area.value.trim()) early = false
      draw()
    }

    const decision = (/** @type {string} */ words) => decide(/** @type {Interrupt} */ (target), words, { files: hasFiles(), early, key: actions.asking.api().key })

    function draw() {
      const words = area.value.trim()
      const { kind, why = '', choices = [] } = target && !isCommand ? decision(words) : NOTHING
      el.hidden = !target || (why === 'card' && !words) // the page may be answering by itself
      attr(area, 'aria-describedby', el.hidden ? null : id)
      if (!target) return text(how, '')
      text(lead, t(all.length > 1 ? 'typed.which' : 'typed.one', { i: all.indexOf(target) + 1, n: all.length }))
      text(what, questionOf(target))
      text(how, t(isCommand ? 'typed.command' : aside ? 'typed.message' : `typed.${why || kind}`, { choices: escapeControls(choices.join(', ')) }))
      attr(el, 'data-kind', aside ? 'message' : kind)
      next.hidden = all.length < 2
      answer.hidden = !aside && !early
      out.hidden = aside
    }

    /** @param {Interrupt} interrupt */
    function questionOf({ reason, tool = '', message = '', args }) {
      const given = parseArgs(args)
      const about = Object.values(typeof given === 'object' ? given : {}).find((one) => typeof one === 'string') ?? ''
      const words = reason === 'tool_call' ? `${t('ask.title', { tool })} ${about}` : reason === 'input_required' ? message : card()?.ariaLabel ?? message
      return escapeControls(words.replace(/\s+/g, ' ').trim().slice(0, LETTERS))
    }

    /** Answer with these words. @param {string} words @returns {'message' | 'later' | 'stays' | 'answered'} */
    function take(words) {
      if (area.value.trim() !== words) return 'stays' // another session is open by now
      if (isCommand) return 'stays' // it was about to be chosen from the list
      if (!target || aside) return 'message'
      const { kind, payload } = decision(words)
      if (kind === 'later' || kind === 'stays') return kind
      const given = kind === 'allow' && card()?.yes ? card().yes('once') : payload // arguments that were changed on the card are what is allowed
      if (given === null) return 'stays'
      actions.answer(target.id, { status: 'resolved', payload: given })
      return 'answered'
    }

    return { update, take }
  }

  return { open }
})
