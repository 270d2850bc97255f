// The cards of what a run may ask beside an approval: a question, the result of a call that was lost, a tool of another
// page, a limit, a model that does not answer. They come with the first of them (ui/interrupt-cards).

yaa.define('ui/question-cards', [
  'ui/dom', 'ui/i18n', 'ui/form', 'ui/composer', 'ui/interrupt-cards', 'core/usage', 'core/typed-answer', 'i18n/questions', 'ui/mcp-sign-in-card',
], ({ h, attr }, { t, count, language }, { jsonField, schemaForm, isFlat }, { isSendKey }, cards, { money }, { loneField }) => {
  const { parseArgs, declineForm, callArgs, button, escapeControls } = cards
  /** What no tool has to be told. */
  const SECRET = /\bkeys?\b|api.?key|passw|passphrase|passcode|token|secret|credential|\bpin\b|otp\b|log ?in|sign[ -]?in|session|密码|密钥|口令|令牌|凭据|登录|验证码/i
  /** @typedef {(payload: any, status?: 'resolved' | 'cancelled') => void} Give */
  /** @typedef {import('./types').Asking} Does */
  /** @typedef {ReturnType<Modules['ui/interrupt-cards']['bodies'][string]>} Body */
  /** Limits by the name the server gives them, with the words, the step offered for going on, and what a person's unit is. */
  const LIMITS = /** @type {const} */ ([
    ['max_steps', 'limit.steps', 10, 1], ['max_tokens', 'limit.tokens', 50_000, 1], ['max_wall_s', 'limit.wall', 300, 1],
    ['max_cost_micro', 'limit.cost', 100_000, 1e6], ['max_consecutive_errors', 'limit.errors', 0, 1],
  ])

  /**
   * Who asks is said in the page's words, and what they say is quoted: else it could pass for the page's own.
   * @param {any} interrupt @param {Give} give @param {any} call @param {Does} does @returns {Body}
   */
  function question(interrupt, give, call, does) {
    const { server, tool = call?.function.name ?? '' } = interrupt
    const schema = plainSchema(interrupt.response_schema)
    const text = String(interrupt.message ?? parseArgs(call?.function.arguments)?.question ?? '')
    const cancel = refusals(interrupt, give)
    const title = t(!server && !tool ? 'question.title' : server ? 'question.server' : tool === 'ask_user' ? 'question.model' : 'question.tool', { server: escapeControls(String(server)), tool: ownName(tool, server) })
    const wrong = h('p.problem', { role: 'alert', hidden: true }, t('question.ownKey'))
    /** @type {Give} */
    const answer = (payload, status) => {
      const key = does.api().key
      wrong.hidden = !key || !JSON.stringify(payload ?? '').includes(JSON.stringify(key).slice(1, -1))
      if (wrong.hidden) give(payload, status)
    }
    const lead = [text ? h('blockquote.quoted', null, escapeControls(text)) : null, SECRET.test(`${text} ${JSON.stringify(schema ?? '')}`) ? h('p.hint.warns', null, t('question.secret')) : null]
    const base = { icon: 'question', title }
    const only = loneField(schema)
    if (only?.field.type === 'string') return { ...base, content: [lead, only.key ? h('p.hint', null, nameOf(only.key, only.field)) : null, freeAnswer(interrupt, only, answer, cancel), wrong] }
    const form = isFlat(schema) ? schemaForm(schema) : jsonField({ label: t('question.answer'), value: {} })
    const send = button('question.send', '.primary', () => {
      const got = form.read()
      if (got.ok) answer(got.value)
    })
    return { ...base, content: [lead, form.el, wrong, h('div.ask-actions', null, send, cancel)] }
  }

  /** A tool's name without its server's. @param {string} tool @param {string} [server] */
  const ownName = (tool, server) => escapeControls(server && tool.startsWith(`mcp__${server}__`) ? tool.slice(server.length + 7) : tool)

  /** What a field is called, and its own name. @param {string} key @param {any} field */
  const nameOf = (key, field) => (field?.title && field.title !== key ? `${field.title} (${escapeControls(key)})` : escapeControls(key))

  /** The words of a form's fields, so that nothing in them is invisible, with the fields' own names. @param {any} schema */
  function plainSchema(schema) {
    if (!schema || typeof schema.properties !== 'object' || !schema.properties) return schema
    const plain = (/** @type {any} */ field, key = '') => {
      if (!field || typeof field !== 'object') return field
      const words = ['title', 'description'].filter((name) => typeof field[name] === 'string').map((name) => [name, escapeControls(field[name])])
      const shown = { ...field, ...Object.fromEntries(words) }
      return { ...shown, title: nameOf(key, shown) }
    }
    const entries = Object.entries(schema.properties)
    if (entries.length === 1 && /** @type {any} */ (entries[0][1])?.type === 'string') return schema // its name stands over the field
    return { ...schema, properties: Object.fromEntries(entries.map(([key, field]) => [key, plain(field, key)])) }
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
   * More than may be sent: what is large is named.
   * @param {any} interrupt @param {Give} answer @param {any} _call @param {Does} does @returns {Body}
   */
  function overflow(interrupt, answer, _call, does) {
    const holder = h('div')
    does.largest?.(interrupt, () => answer({ continue: true })).then((el) => el && holder.append(el))
    const actions = h('div.ask-actions', null,
      button('fail.retry', '.primary', () => answer({ continue: true })), button('limit.stop', '.ghost', () => answer({ continue: false })),
      h('span.end', null, button('model.change', '.ghost', does.chooseModel)))
    return { icon: 'limit', title: t('overflow.title'), text: t('overflow.text', { observed: count(interrupt.observed ?? 0), allowed: count(interrupt.allowed ?? 0) }), content: [holder, actions] }
  }

  /** @param {any} interrupt @param {Give} answer @param {any} _call @param {Does} does @returns {Body} */
  function modelError(interrupt, answer, _call, does) {
    const actions = h('div.ask-actions', null,
      button('fail.retry', '.primary', () => answer({ retry: true })), button('limit.stop', '.ghost', () => answer({ retry: false })),
      h('span.end', null, interrupt.code === 'upstream_auth' ? button('model.key', '.ghost', does.changeKey) : null, button('model.change', '.ghost', does.chooseModel)))
    return { icon: 'alert', title: t('model.title'), text: interrupt.message, content: [actions] }
  }

  Object.assign(cards.bodies, { input_required: question, indeterminate: unsure, limit, model_error: modelError, client_tool: clientTool })
  return {}
})
