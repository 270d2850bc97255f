// Cards of the interrupts a run waits for, one body per reason. A card reads `answer` from its interrupt and gives a new
// one to `actions.answer`. The session keeps both, so cards survive a reload, another tab, another device.

yaa.define('ui/interrupt-cards', ['ui/dom', 'ui/i18n', 'ui/form', 'core/usage'], (dom, { t, count, language }, { jsonField, schemaForm, isFlat, isSendKey }, { money }) => {
  const { h, icon, iconButton, fill, attr } = dom
  /** @typedef {(payload: any, status?: 'resolved' | 'cancelled') => void} Give */
  /** @typedef {import('./types').Field} Field */
  /** @typedef {import('./types').Asking} Does */
  /** @type {Record<string, (interrupt: any, answer: Give, call: any, does: Does) => Body>} */
  const BODIES = {
    tool_call: approval, input_required: question, indeterminate: unsure, limit, model_error: modelError, client_tool: clientTool,
  }
  /** Limits by the name the server gives them, with the words, the step offered for going on, and what a person's unit is. */
  const LIMITS = /** @type {const} */ ([
    ['max_steps', 'limit.steps', 10, 1], ['max_tokens', 'limit.tokens', 50_000, 1], ['max_wall_s', 'limit.wall', 300, 1],
    ['max_cost_micro', 'limit.cost', 100_000, 1e6], ['max_consecutive_errors', 'limit.errors', 0, 1],
  ])

  /**
   * @typedef {object} Body
   * @property {string} icon @property {string} title @property {string} [text]
   * @property {any[]} content everything under the heading
   * @property {(interrupt: any) => void} [update] it is looked at again
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
    const answer = (payload, status = 'resolved') => actions.answer(interrupt.id, { status, payload })
    const el = h('div.ask', { id: `ask-${interrupt.id}`, role: 'group', tabIndex: -1 })
    const open = h('div.form')
    const done = h('div.ask-answered', { hidden: true })
    /** @type {Body} */ let body
    /** @type {unknown} */ let made

    /** Its body may come later: client tools are loaded last. */
    function build() {
      const make = Object.hasOwn(BODIES, interrupt.reason) ? BODIES[interrupt.reason] : clientTool
      if (make === made) return
      made = make
      body = make(interrupt, answer, call, actions.asking)
      el.setAttribute('aria-label', body.title)
      el.yes = body.yes
      fill(open, body.content)
      fill(el, h('div.ask-head', null, icon(body.icon), h('div', null, h('h3', null, body.title), body.text ? h('p', null, body.text) : null)), open, done)
    }

    /** @param {any} now the same interrupt, later */
    function update(now) {
      const given = now.answer
      build()
      body.update?.(now)
      open.hidden = Boolean(given)
      done.hidden = !given
      if (given && done.dataset.given !== JSON.stringify(given)) {
        done.dataset.given = JSON.stringify(given)
        fill(done, icon('check'), answeredText(now),
          button('answered.undo', '.ghost.small', () => actions.answer(now.id, null)),
          button('answered.send', '.small', actions.goOn))
      }
    }

    build()
    return { el, update }
  }

  /** @param {any} interrupt */
  function answeredText({ reason, answer }) {
    if (answer.status === 'cancelled') return t(reason === 'input_required' && !answer.payload ? 'answered.not' : 'answered.denied')
    if (reason !== 'tool_call') return `${t('answered.sent')} ${t('answered.pending')}`
    return `${t(answer.payload?.approved ? 'answered.allowed' : 'answered.denied')} ${t('answered.pending')}`
  }

  /** @param {any} interrupt @param {Give} answer @param {any} call @param {Does} does @returns {Body} */
  function approval(interrupt, answer, call, does) {
    const args = interrupt.args ?? parseArgs(call?.function.arguments)
    const tool = interrupt.tool ?? call?.function.name ?? ''
    const shown = h('div')
    /** Made when it is wanted. @type {Field | null} */ let editor = null
    const holder = h('div', { hidden: true })
    const edit = button('ask.edit', '.ghost', toggleEdit)
    const more = iconButton('more', t('ask.more'), { 'aria-haspopup': 'menu', onclick: () => does.approvalMenu(more, interrupt, { tool, args, answer, place: el }) }, 'ghost')
    const deny = denial((reason) => answer({ approved: false, ...(reason ? { reason } : {}) }), () => { actions.hidden = false })
    const actions = h('div.ask-actions', null,
      button('ask.once', '.primary', () => allow('once')), button('ask.session', '', () => allow('session')),
      button('ask.deny', '.danger', () => { deny.show(); actions.hidden = true }), h('span.end', null, edit, more))
    const el = h('div.form', null, shown, holder, actions, deny.el)

    draw(args)

    /** Names and values; a change of a file as what goes and what comes, once that can be drawn. @param {any} value */
    async function draw(value) {
      const plain = isObject(value) ? argsList(value) : h('pre.mono', null, escapeControls(String(value)))
      fill(shown, plain)
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

    /** @param {'once' | 'session'} remember */
    function allow(remember) {
      const payload = yes(remember)
      if (payload) answer(payload)
    }

    return { icon: 'hand', title: t('ask.title', { tool }), text: ownWords(interrupt, tool), content: [el], yes }
  }

  /** The server's question only where it says more than the title. @param {Interrupt} interrupt @param {string} tool */
  const ownWords = ({ message }, tool) => (message && message !== `Allow ${tool}?` ? message : undefined)

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

  /** @param {any} interrupt @param {Give} answer @param {any} call @returns {Body} */
  function question(interrupt, answer, call) {
    const schema = interrupt.response_schema
    const text = interrupt.message ?? parseArgs(call?.function.arguments)?.question ?? ''
    const cancel = refusals(interrupt, answer)
    const base = { icon: 'question', title: text || t('question.title') }
    const only = loneString(schema)
    if (only) return { ...base, content: freeAnswer(interrupt, only, answer, cancel) }
    const form = isFlat(schema) ? schemaForm(schema) : jsonField({ label: t('question.answer'), value: {} })
    const send = button('question.send', '.primary', () => {
      const got = form.read()
      if (got.ok) answer(got.value)
    })
    return { ...base, content: [form.el, h('div.ask-actions', null, send, cancel)] }
  }

  /**
   * Ways not to answer. A tool in the middle of its work distinguishes a no from no answer: it may have to undo
   * something. A tool that only asks does not.
   * @param {any} interrupt @param {Give} answer
   */
  function refusals({ tool }, answer) {
    const cancel = button('question.cancel', '.ghost', () => answer(undefined, 'cancelled'))
    return tool === 'ask_user' ? [cancel] : [button('question.decline', '.danger', () => answer({ action: 'decline' }, 'cancelled')), cancel]
  }

  /**
   * Is a single text all that is asked? Then its key, or '' where the payload itself is the text.
   * @param {any} schema @returns {{key: string, field: any} | null}
   */
  function loneString(schema) {
    if (!schema || schema.type === 'string') return { key: '', field: schema ?? {} }
    const entries = Object.entries(schema.properties ?? {})
    if (entries.length !== 1) return null
    const [key, field] = entries[0]
    return field?.type === 'string' ? { key, field } : null
  }

  /**
   * Suggestions to press, and a line to write something else.
   * @param {any} interrupt @param {{key: string, field: any}} only @param {(payload: any) => void} answer @param {any[]} cancel
   */
  function freeAnswer(interrupt, { key, field }, answer, cancel) {
    const give = (/** @type {string} */ value) => answer(key ? { [key]: value } : value)
    const offers = interrupt.suggestions ?? interrupt.options ?? field.enum ?? field.examples ?? []
    const buttons = offers.map((/** @type {any} */ offer) => (
      h('button.button.small', { type: 'button', onclick: () => give(String(offer)) }, String(offer))
    ))
    const suggestions = buttons.length ? h('div.suggestions', null, buttons) : null
    if (field.enum) return [suggestions, h('div.ask-actions', null, cancel)]
    const input = h('textarea.input', { rows: 2, 'aria-label': t('question.answer'), placeholder: t('question.answer'), onkeydown })
    const send = () => input.value.trim() && give(input.value.trim())
    /** @param {KeyboardEvent} event */
    function onkeydown(event) {
      if (!isSendKey(event)) return
      event.preventDefault()
      send()
    }
    return [suggestions, input, h('div.ask-actions', null, button('question.send', '.primary', send), cancel)]
  }

  /** @param {any} interrupt @param {(payload: any) => void} answer @param {any} call @returns {Body} */
  function unsure(interrupt, answer, call) {
    const tool = interrupt.tool ?? call?.function.name ?? ''
    const input = h('textarea.input.mono', { 'aria-label': t('unsure.label'), placeholder: t('unsure.label'), spellcheck: false })
    const send = button('unsure.send', '.primary', () => answer({ action: 'result', content: input.value }))
    const byHand = h('div.form', { hidden: true }, input, h('div.ask-actions', null, send, button('ask.back', '.ghost', toggle)))
    const actions = h('div.ask-actions', null,
      button('unsure.skip', '', () => answer({ action: 'skip' })), button('unsure.result', '', toggle),
      button('unsure.retry', '.danger', () => answer({ action: 'retry' })))
    function toggle() {
      byHand.hidden = !byHand.hidden
      actions.hidden = !byHand.hidden
      ;(byHand.hidden ? actions.children[1] : input).focus()
    }
    const content = [callArgs(interrupt, call), actions, byHand]
    return { icon: 'alert', title: t('unsure.title', { tool }), text: t('unsure.text'), content }
  }

  /** @param {any} interrupt @param {(payload: any) => void} answer @param {any} call @returns {Body} */
  function clientTool(interrupt, answer, call) {
    const tool = interrupt.tool ?? call?.function.name ?? interrupt.reason
    const input = h('textarea.input.mono', { 'aria-label': t('question.send'), placeholder: t('question.send'), spellcheck: false })
    const send = (/** @type {boolean} */ bad) => answer({ content: input.value, ...(bad ? { is_error: true } : {}) })
    const decline = declineForm(answer, () => { actions.hidden = false })
    const actions = h('div.ask-actions', null,
      button('client.send', '.primary', () => send(false)), button('client.error', '', () => send(true)),
      button('question.decline', '.danger', () => { decline.show(); actions.hidden = true }))
    const content = [callArgs(interrupt, call), input, actions, decline.el]
    return { icon: 'question', title: t('client.title', { tool }), text: t('client.text'), content }
  }

  /** A call that is left undone, with a reason for the model. @param {(payload: any, status?: string) => void} answer @param {() => void} back */
  const declineForm = (answer, back) => denial((reason) => answer(reason ? { reason } : undefined, 'cancelled'), back, 'question.decline')

  /** @param {any} interrupt @param {any} call */
  function callArgs(interrupt, call) {
    const args = interrupt.args ?? parseArgs(call?.function.arguments)
    return isObject(args) && Object.keys(args).length ? argsList(args) : null
  }

  /** @param {any} interrupt @param {Give} answer @param {any} call @param {Does} does @returns {Body} */
  function limit(interrupt, answer, call, does) {
    if (interrupt.limit === 'context_overflow') return overflow(interrupt, answer, call, does)
    const name = interrupt.limit ?? interrupt.name ?? 'max_steps'
    const [key, label, more, scale] = LIMITS.find((one) => one[0] === name) ?? [name, '', 0, 1]
    const input = h('input.input', { inputmode: 'decimal', value: String((more || 10) / scale), 'aria-label': label ? t(label) : key })
    const go = () => {
      const n = Math.round(Number(input.value.replace(',', '.')) * scale)
      attr(input, 'aria-invalid', more && !(n > 0) ? true : null) // by nothing it would stop again at once
      if (more && !(n > 0)) return input.focus()
      answer({ continue: true, ...(more ? { extend: { [key]: n } } : {}) })
    }
    const shown = (/** @type {number} */ n) => (scale > 1 ? money(n, does.costUnit(), language()) : count(n))
    const used = {
      name: label ? t(label.replace('limit.', 'limit.name.')) : key,
      observed: shown(interrupt.observed ?? 0), allowed: shown(interrupt.allowed ?? 0),
    }
    const actions = h('div.ask-actions', null,
      button('limit.continue', '.primary', go), button('limit.stop', '.ghost', () => answer({ continue: false })),
      button('limit.edit', '.ghost', does.limits))
    const content = [h('div.more-row', null, more ? h('label.field', null, h('span.label', null, t(label)), input) : null, actions)]
    return { icon: 'limit', title: t('limit.title'), text: t('limit.text', used), content }
  }

  /**
   * More than may be sent: the largest messages are named, to be opened.
   * @param {any} interrupt @param {Give} answer @param {any} _call @param {Does} does @returns {Body}
   */
  function overflow(interrupt, answer, _call, does) {
    const holder = h('div')
    does.largest?.(interrupt.largest).then((el) => el && holder.append(el))
    const actions = h('div.ask-actions', null,
      button('fail.retry', '.primary', () => answer({ continue: true })), button('limit.stop', '.ghost', () => answer({ continue: false })),
      h('span.end', null, button('model.change', '.ghost', does.chooseModel)))
    return { icon: 'limit', title: t('overflow.title'), text: t('overflow.text', { observed: count(interrupt.observed ?? 0), allowed: count(interrupt.allowed ?? 0) }), content: [holder, actions] }
  }

  /** @param {any} interrupt @param {Give} answer @param {any} _call @param {Does} does @returns {Body} */
  function modelError(interrupt, answer, _call, does) {
    const actions = h('div.ask-actions', null,
      button('fail.retry', '.primary', () => answer({ retry: true })), button('limit.stop', '.ghost', () => answer({ retry: false })),
      h('span.end', null, button('model.change', '.ghost', does.chooseModel)))
    return { icon: 'alert', title: t('model.title'), text: interrupt.message, content: [actions] }
  }

  /** @param {string} key @param {string} classes @param {() => void} onclick */
  const button = (key, classes, onclick) => h(`button.button${classes}`, { type: 'button', onclick }, t(key))

  /** Show control characters: one that turns the direction of text would have one thing read and another allowed. @param {string} words */
  const escapeControls = (words) => words.replace(/(?![\t\n\r])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/gu, (sign) => `\\u{${sign.codePointAt(0)?.toString(16)}}`)

  /** Arguments as names and values. @param {Record<string, any>} args */
  function argsList(args) {
    const entries = Object.entries(args)
    if (!entries.length) return h('p.args-none', null, t('tool.noArguments'))
    const shown = (/** @type {any} */ value) => escapeControls(typeof value === 'string' ? value : JSON.stringify(value, null, 2))
    return h('dl.args', null, entries.map(([name, value]) => [h('dt', null, escapeControls(name)), h('dd', null, shown(value))]))
  }

  /** @param {any} source @returns {any} an object, or the text itself where it isn't JSON */
  function parseArgs(source) {
    try {
      return JSON.parse(source || '{}')
    } catch {
      return source
    }
  }

  /** @param {any} value */
  const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)

  return { interruptCard, argsList, parseArgs, escapeControls, bodies: BODIES, declineForm, callArgs, button }
})
