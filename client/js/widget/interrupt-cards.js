// What a run waits for, as cards with buttons: a tool that wants to run, a question, a limit, a call nobody knows about.

yaa.define('widget/interrupt-cards', ['widget/dom'], ({ h }) => {
  /** @typedef {(status: 'resolved' | 'cancelled', payload?: any) => void} Reply */
  /** @typedef {(key: string, values?: any) => string} Words */

  /** @param {Interrupt} interrupt @param {Words} t @param {Reply} reply @returns {any} */
  function card(interrupt, t, reply) {
    const tool = String(interrupt.tool ?? '')
    const button = (/** @type {string} */ label, /** @type {() => void} */ onclick, look = '') => h(`button.button${look}`, { type: 'button', onclick }, label)
    const words = interrupt.message ? [h('p', null, interrupt.message)] : []
    switch (interrupt.reason) {
      case 'tool_call': return box(t('asks', { tool }), [
        h('pre', { tabIndex: 0 }, plainly(JSON.stringify(interrupt.args ?? {}, null, 2))),
        h('div.row', null, button(t('allow'), () => reply('resolved', { approved: true }), '.primary'), button(t('deny'), () => reply('resolved', { approved: false }))),
      ])
      case 'input_required': return box(asker(interrupt, t), [
        h('blockquote', null, plainly(interrupt.message ?? '')), SECRET.test(`${interrupt.message} ${JSON.stringify(interrupt.response_schema ?? '')}`) ? h('p.warns', null, t('secret')) : '', form(interrupt, t, reply)])
      case 'limit': return box(t('limit'), [...words, h('div.row', null, button(t('more'), () => reply('resolved', { continue: true }), '.primary'))])
      case 'model_error': return box(t('failed', { detail: interrupt.message ?? '' }), [h('div.row', null, button(t('again'), () => reply('resolved', { retry: true }), '.primary'))])
      case 'indeterminate': return box(t('unclear', { tool }), [h('div.row', null,
        button(t('again'), () => reply('resolved', { action: 'retry' })), button(t('skipCall'), () => reply('resolved', { action: 'skip' })))])
      case 'mcp_sign_in': return box(interrupt.message ?? tool, [h('div.row', null,
        button(t('again'), () => reply('resolved', { action: 'retry' }), '.primary'), button(t('skip'), () => reply('cancelled')))])
      default: return box(interrupt.message ?? interrupt.reason, [h('div.row', null, button(t('skip'), () => reply('cancelled')))])
    }
  }

  /** Who asks, in the widget's words. @param {any} interrupt @param {Words} t */
  const asker = ({ tool = '', server }, t) => (server ? t('askServer', { server: plainly(server), tool: plainly(tool.replace(`mcp__${server}__`, '')) }) : tool === 'ask_user' || !tool ? t('question') : t('askTool', { tool: plainly(tool) }))

  /** As in ui/question-cards. */
  const SECRET = /\bkeys?\b|api.?key|passw|passphrase|passcode|token|secret|credential|\bpin\b|otp\b|log ?in|sign[ -]?in|session|密码|密钥|口令|令牌|凭据|登录|验证码/i

  /** Signs that cannot be seen would have one thing read and another allowed. @param {string} json */
  const plainly = (json) => json.replace(/(?![\t\n\r])\p{Cc}|(?<![\p{ExtPict}\p{EMod}\ufe0f])\u200d|(?![\u200d\ufe0f])\p{DI}|\p{Cs}|[\u2028\u2029\ufff9-\ufffb]/gu, (sign) => `\\u{${sign.codePointAt(0)?.toString(16)}}`)

  /** @param {string} title @param {any[]} parts */
  const box = (title, parts) => h('section.ask', { role: 'group', 'aria-label': title }, h('strong', null, title), parts)

  /** One field for each plain property of the answer's schema. @param {Interrupt} interrupt @param {Words} t @param {Reply} reply */
  function form(interrupt, t, reply) {
    const schema = interrupt.response_schema ?? {}
    const single = schema.type !== 'object' || !schema.properties
    const fields = Object.entries(single ? { '': schema } : schema.properties).map(([name, given]) => field(name, /** @type {any} */ (given), t))
    /** @param {Event} event */
    function onsubmit(event) {
      event.preventDefault()
      const values = Object.fromEntries(fields.map(({ name, read }) => [name, read()]).filter(([, value]) => value !== undefined))
      reply('resolved', single ? values[''] ?? '' : values)
    }
    return h('form', { onsubmit }, fields.map(({ el }) => el), h('div.row', null,
      h('button.button.primary', { type: 'submit' }, t('answer')), h('button.button', { type: 'button', onclick: () => reply('cancelled') }, t('skip'))))
  }

  /** @param {string} name @param {any} schema @param {Words} t */
  function field(name, schema, t) {
    const label = plainly(schema.title && name && schema.title !== name ? `${schema.title} (${name})` : schema.title ?? (name || t('answer')))
    const options = Array.isArray(schema.enum) ? schema.enum : null
    const yes = schema.type === 'boolean'
    const number = schema.type === 'number' || schema.type === 'integer'
    const input = options ? h('select', null, options.map((/** @type {any} */ one) => h('option', { value: JSON.stringify(one) }, String(one))))
      : yes ? h('input', { type: 'checkbox', checked: schema.default === true }) : h('input', { type: number ? 'number' : 'text', value: String(schema.default ?? '') })
    const read = () => {
      if (options) return JSON.parse(input.value)
      if (yes) return input.checked
      if (input.value === '') return undefined
      return number ? Number(input.value) : input.value
    }
    return { name, read, el: h('label', null, label, input) }
  }

  return { card }
})
