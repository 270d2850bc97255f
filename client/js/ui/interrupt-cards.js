// Cards of the interrupts of a run, one body per reason: the approval here, the others in ui/question-cards, which
// comes with the first of them. A card reads `answer` from its interrupt and gives a new one to `actions.answer`; the
// session keeps both.

yaa.define('ui/interrupt-cards', ['ui/dom', 'ui/i18n', 'core/patch', 'css/cards', 'i18n/calls'], (dom, { t }, { isObject, parseJson }) => {
  const { h, icon, iconButton, fill } = dom
  /** More of a text is shown when it is asked for. */
  const [LINES, LETTERS] = [12, 1200]
  /** @typedef {(payload: any, status?: 'resolved' | 'cancelled') => void} Give */
  /** @typedef {import('./types').Field} Field */
  /** @typedef {import('./types').Asking} Does */
  /** @type {Record<string, (interrupt: any, answer: Give, call: any, does: Does) => Body>} */
  const BODIES = { tool_call: approval }
  /**
   * @typedef {object} Body
   * @property {string} icon @property {string} title @property {string} [text]
   * @property {any[]} content everything under the heading
   * @property {(interrupt: any) => void} [update] it is looked at again
   * @property {Record<string, () => void>} [keys] what keys do while the card has the focus
   * @property {(remember: 'once' | 'session') => any} [yes] what allowing it sends, null where its arguments are wrong
   */

  /**
   * The inside of a card for an open interrupt.
   * @param {any} interrupt
   * @param {Pick<import('./types').Actions, 'answer' | 'goOn' | 'asking'>} actions
   * @param {any} [call] the tool call it belongs to
   * @returns {import('./types').View}
   */
  function interruptCard(interrupt, actions, call) {
    /** @type {Give} */
    const answer = (payload, status = 'resolved') => {
      onward()
      actions.answer(interrupt.id, { status, payload })
    }
    const el = h('div.ask', { id: `ask-${interrupt.id}`, role: 'group', tabIndex: -1, onkeydown })
    const open = h('div.form')
    const done = h('div.ask-answered', { hidden: true })
    /** @type {Body} */ let body
    /** @type {unknown} */ let made

    /** Its body may come later: client tools are loaded last. */
    function build() {
      const make = Object.hasOwn(BODIES, interrupt.reason) ? BODIES[interrupt.reason] : BODIES.input_required ?? coming
      if (make === made) return
      if (make === coming) bring()
      made = make
      body = make(interrupt, answer, call, actions.asking)
      el.setAttribute('aria-label', body.title)
      el.yes = body.yes
      fill(open, body.content)
      fill(el, h('div.ask-head', null, icon(body.icon), h('div', null, h('h3', null, body.title), body.text ? h('p', null, body.text) : null)), open, done)
    }

    /** @param {any} event a letter that is pressed on the card, and not in a field of it */
    function onkeydown(event) {
      const key = event.key.toLowerCase()
      if (open.hidden || event.repeat || event.isComposing || event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(body.keys ?? {}, key) || event.target.matches('input, textarea, select')) return
      event.preventDefault()
      body.keys?.[key]()
    }

    /** The focus goes on to the next question of the thread; after the last one it leaves with the card. */
    function onward() {
      const all = [...el.closest('.thread')?.querySelectorAll('.ask') ?? []]
      const next = all.find((one) => one !== el && one.querySelector('.ask-answered[hidden]'))
      if (el.contains(document.activeElement)) next?.focus()
    }

    async function bring() {
      try {
        await yaa.load('questions')
        yaa.use('ui/question-cards')
      } catch (error) {
        made = null // tried again when the card is drawn again
        throw error
      }
      build()
    }

    /** @param {any} now the same interrupt, later */
    function update(now) {
      const given = now.answer
      build()
      body.update?.(now)
      open.hidden = Boolean(given)
      done.hidden = !given
      const others = actions.asking.others?.() === true
      const key = JSON.stringify([given, others])
      if (given && done.dataset.given !== key) {
        done.dataset.given = key
        fill(done, icon('check'), answeredText(now) + (given.status !== 'cancelled' && others ? ` ${t('answered.pending')}` : ''),
          button('answered.undo', '.ghost.small', () => actions.answer(now.id, null)),
          button('answered.send', '.small', actions.goOn))
      }
    }

    build()
    return { el, update }
  }

  /** Until the scripts of its body are there. @returns {Body} */
  const coming = () => ({ icon: 'question', title: t('question.title'), content: [h('span.spinner')] })

  /** @param {any} interrupt */
  function answeredText({ reason, answer }) {
    if (answer.status === 'cancelled') return t(reason === 'input_required' && !answer.payload ? 'answered.not' : 'answered.denied')
    if (reason !== 'tool_call') return t('answered.sent')
    return t(answer.payload?.approved ? 'answered.allowed' : 'answered.denied')
  }

  /** @param {any} interrupt @param {Give} answer @param {any} call @param {Does} does @returns {Body} */
  function approval(interrupt, answer, call, does) {
    const args = interrupt.args ?? parseArgs(call?.function.arguments)
    const tool = interrupt.tool ?? call?.function.name ?? ''
    const shown = h('div')
    const marks = h('div')
    /** Made when it is wanted. @type {Field | null} */ let editor = null
    const holder = h('div', { hidden: true })
    const edit = keyed('e', button('ask.edit', '.ghost', toggleEdit))
    const more = iconButton('more', t('ask.more'), { 'aria-haspopup': 'menu', onclick: () => does.approvalMenu(more, interrupt, { tool, args, answer, place: el }) }, 'ghost')
    const refuse = () => { deny.show(); actions.hidden = true }
    const deny = denial((reason) => answer({ approved: false, ...(reason ? { reason } : {}) }), () => { actions.hidden = false })
    const byRule = h('button.button.by-rule', { type: 'button', hidden: true })
    const actions = h('div.ask-actions', null,
      keyed('y', button('ask.once', '.primary', once)), byRule, interrupt.permission ? button(`ask.${interrupt.permission === 'edits_run' && args.command ? 'looks' : interrupt.permission}`, '', here) : null,
      keyed('n', button('ask.deny', '.danger', refuse)), h('span.end', null, edit, more))
    const names = Array.isArray(interrupt.skills) ? interrupt.skills.join(', ') : ''
    const el = h('div.form', null, interrupt.ask === 'every_call' ? h('p.hint', null, t('ask.everyCall')) : null, names ? h('p.hint', null, t('ask.skills', { names: escapeControls(names) })) : null, shown, marks, holder, actions, deny.el)

    draw(args)
    if (!interrupt.always) does.offer?.({ interrupt, tool, args }).then(showRule, () => {})

    /** Names and values; a change of a file as what goes and what comes, once that can be drawn. @param {any} value */
    async function draw(value) {
      const plain = isObject(value) ? argsList(value) : h('pre.mono', null, escapeControls(String(value)))
      fill(shown, plain)
      does.marks?.(tool, value, interrupt.changes).then((/** @type {any} */ found) => fill(marks, found))
      const picture = await does.picture?.(tool, value)
      if (picture && plain.isConnected) fill(shown, picture)
    }

    async function toggleEdit() {
      const read = editor?.read()
      if (read && !read.ok && !holder.hidden) return editor?.focus()
      if (!editor) {
        editor = await does.valueField(args)
        fill(holder, editor.el)
      }
      holder.hidden = !holder.hidden
      shown.hidden = !holder.hidden
      edit.textContent = t(holder.hidden ? 'ask.edit' : 'ask.editDone')
      if (!holder.hidden) editor.focus()
      else if (read?.ok && isObject(read.value)) draw(read.value)
    }

    /** @param {'once' | 'session'} remember */
    function yes(remember) {
      const edited = editor?.read() ?? { ok: true, value: args }
      if (!edited.ok) {
        if (holder.hidden) toggleEdit()
        editor?.focus()
        return null
      }
      const changed = JSON.stringify(edited.value) !== JSON.stringify(args)
      return { approved: true, remember, ...(changed ? { edited_args: edited.value } : {}) }
    }

    function once() {
      const payload = yes('once')
      if (payload) answer(payload)
    }

    /** Which calls will not be asked about again. @param {{match: Record<string, string>, words: string} | null} offered */
    function showRule(offered) {
      byRule.hidden = !offered
      if (!offered) return
      fill(byRule, t('ask.rule', { what: escapeControls(offered.words) }))
      byRule.title = t('ask.ruleHint', { pattern: escapeControls(Object.values(offered.match).join()) })
      byRule.onclick = () => {
        const payload = yes('session')
        if (payload) answer({ ...payload, match: offered.match })
      }
    }

    /** Calls like this one run from now on, as the mode says that the server named. */
    async function here() {
      const payload = yes('once')
      if (!payload) return
      await does.choose('permission', interrupt.permission, interrupt.id)
      answer(payload)
    }

    const keys = { y: once, n: refuse, e: toggleEdit }
    return { icon: 'hand', title: t('ask.title', { tool }), text: ownWords(interrupt, tool), content: [el], yes, keys }
  }

  /** The server's question only where it says more than the title. @param {Interrupt} interrupt @param {string} tool */
  function ownWords({ message = '', changes }, tool) {
    const words = changes ? message.replace(` ${changes.message}`, '') : message // a mark says them
    return words === `Allow ${tool}?` ? undefined : words
  }

  /** The reason for a refusal; shown in place of the buttons. @param {(reason: string) => void} send @param {() => void} back @param {string} [words] */
  function denial(send, back, words = 'ask.deny') {
    const placeholder = `${t('ask.denyReason')} (${t('form.optional')})`
    const input = h('input.input', { 'aria-label': t('ask.denyReason'), placeholder, autocomplete: 'off', onkeydown })
    const give = button(words, '.danger', () => send(input.value.trim()))
    const el = h('div.ask-actions', { hidden: true }, input, give, button('ask.back', '.ghost', hide))
    /** @type {any} the button that led here */ let from = null
    function hide() {
      el.hidden = true
      back()
      from?.focus()
    }
    /** @param {KeyboardEvent} event */
    function onkeydown(event) {
      if (event.isComposing || event.keyCode === 229) return
      if (event.key === 'Enter') send(input.value.trim())
      if (event.key === 'Escape') hide()
    }
    /** Before what was pressed is hidden. */
    function show() {
      from = document.activeElement
      el.hidden = false
      input.focus()
    }
    return { el, show }
  }

  /** A call that is left undone, with a reason for the model. @param {(payload: any, status?: string) => void} answer @param {() => void} back */
  const declineForm = (answer, back) => denial((reason) => answer(reason ? { reason } : undefined, 'cancelled'), back, 'question.decline')

  /** @param {any} interrupt @param {any} call */
  function callArgs(interrupt, call) {
    const args = interrupt.args ?? parseArgs(call?.function.arguments)
    return isObject(args) && Object.keys(args).length ? argsList(args) : null
  }

  /** @param {string} key that does the same while the card has the focus @param {any} el */
  function keyed(key, el) {
    el.setAttribute('aria-keyshortcuts', key)
    el.title = key.toUpperCase()
    return el
  }

  /** @param {string} key @param {string} classes @param {() => void} onclick */
  const button = (key, classes, onclick) => h(`button.button${classes}`, { type: 'button', onclick }, t(key))

  /** Show what cannot be seen, as core/call-marks counts it: it would have one thing read and another allowed. @param {string} words */
  const escapeControls = (words) => words.replace(/(?![\t\n\r])\p{Cc}|(?<![\p{ExtPict}\p{EMod}\ufe0f])\u200d|(?![\u200d\ufe0f])\p{DI}|\p{Cs}|[\u2028\u2029\ufff9-\ufffb]/gu, (sign) => `\\u{${sign.codePointAt(0)?.toString(16)}}`)

  /** Arguments as names and values. @param {Record<string, any>} args @returns {any} */
  function argsList(args) {
    const entries = Object.entries(args)
    if (!entries.length) return h('p.args-none', null, t('tool.noArguments'))
    const shown = (/** @type {any} */ value) => (areTexts(value) ? argsList(value) : longText(escapeControls(typeof value === 'string' ? value : JSON.stringify(value, null, 2))))
    return h('dl.args', null, entries.map(([name, value]) => [h('dt', null, escapeControls(name)), h('dd', null, shown(value))]))
  }

  /** Texts by name, such as files: read as texts, not as JSON. @param {any} value */
  const areTexts = (value) => isObject(value) && Object.keys(value).length > 0 && Object.values(value).every((one) => typeof one === 'string')

  /** The beginning of a long text, and how much follows. @param {string} words */
  function longText(words) {
    const head = words.split('\n', LINES).join('\n').slice(0, LETTERS)
    const rest = words.slice(head.length)
    if (rest.trim().length < 100 && !rest.includes('\n')) return words
    const n = rest.replace(/^\n/, '').split('\n').length
    const more = h('button.button.small.more-text', { type: 'button', onclick: () => more.replaceWith(rest) },
      n > 1 || rest.startsWith('\n') ? t('ask.lines', { n }) : t('ask.letters', { n: rest.length }))
    return [head, more]
  }

  /** @param {any} source @returns {any} an object, or the text itself where it isn't JSON */
  const parseArgs = (source) => parseJson(source || '{}', source)

  return { interruptCard, argsList, longText, parseArgs, escapeControls, bodies: BODIES, declineForm, callArgs, button }
})
