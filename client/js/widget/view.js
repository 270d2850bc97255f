// The widget on the page: a shadow root in the page's element, or a button in the corner and a panel at the side.

yaa.define('widget/view', ['core/session', 'core/typed-answer', 'widget/texts', 'widget/style', 'widget/dom', 'widget/interrupt-cards', 'widget/session'], (
  sessions, { asked, decide }, { textsFor }, style, { h, icon, prose }, { card }, talks,
) => {
  /** @param {WidgetOptions} options */
  function open(options) {
    const t = textsFor(options.language)
    const container = typeof options.container === 'string' ? document.querySelector(options.container) : options.container
    if (options.container && !container) throw new Error(`YaaWidget: nothing on this page matches ${options.container}`)
    const host = document.createElement('div')
    const shadow = host.attachShadow({ mode: 'open' })
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(style)
    shadow.adoptedStyleSheets = [sheet]
    let frame = 0
    let hasRun = false // since the page was opened, or the conversation begun anew
    const talk = talks.open(options, () => {
      hasRun ||= talk.live() // a run may begin and end between two frames
      frame ||= requestAnimationFrame(draw)
    })
    /** The question that was not there yet when the field's words were begun, and the one that is there. */
    let [early, target] = ['', '']
    const parts = panel(options, t, { submit, press, reset, close: () => show(false), floating: !container })
    const button = h('button.open-button', { type: 'button', 'aria-label': t('open'), title: t('open'), onclick: () => show(true) }, icon('chat'))
    parts.input.addEventListener('input', () => { if (!parts.input.value.trim()) early = '' })
    const thread = threadOf(parts.talk, t, talk)
    shadow.append(h(container ? 'div.root.embedded' : 'div.root.floating', null, container ? null : button, parts.el))
    ;(container ?? document.body).append(host)
    if (!container) parts.el.hidden = true

    /** @param {boolean} on */
    function show(on) {
      parts.el.hidden = !on
      button.hidden = on
      if (on) parts.input.focus()
      else button.focus()
    }

    /** What is written while a run is on waits in the field. @param {Event} event */
    function submit(event) {
      event.preventDefault()
      const text = parts.input.value.trim()
      if (!text || talk.live()) return
      const [one] = asked(talk.session())
      const { payload } = one ? decide(one, text, { early: early === one.id }) : {}
      if (one && payload === undefined) return parts.talk.focus() // its card comes first
      parts.input.value = early = ''
      if (one) talk.answer(one.id, { status: 'resolved', payload })
      else talk.send(text)
    }

    /** The later clicks of a double click mean nothing new: what they hit has just become the other button. @param {MouseEvent} event */
    function press(event) {
      if (!talk.live() && event.detail < 2) return // it submits
      event.preventDefault()
      if (event.detail < 2) talk.stop()
    }

    function reset() {
      talk.reset()
      hasRun = false
      parts.input.focus()
    }

    function draw() {
      frame = 0
      const live = talk.live()
      const near = parts.talk.scrollHeight - parts.talk.scrollTop - parts.talk.clientHeight < 80
      const held = shadow.activeElement
      thread.update()
      // a card that is answered goes, and who pressed it is not thrown back to the beginning of the page
      if (held && !held.isConnected) parts.talk.focus({ preventScroll: true })
      if (near) parts.talk.scrollTop = parts.talk.scrollHeight
      parts.talk.setAttribute('aria-busy', String(live))
      // its icon stays while it means the same: Firefox gives no click for a press on an element that went before the release
      const label = t(live ? 'stop' : 'send')
      if (parts.send.getAttribute('aria-label') !== label) parts.send.replaceChildren(icon(live ? 'stop' : 'send'))
      parts.send.setAttribute('aria-label', label)
      const next = live ? '' : asked(talk.session())[0]?.id ?? ''
      if (next !== target) early = parts.input.value.trim() ? next : ''
      target = next
      const said = statusOf(talk, t, hasRun)
      if (parts.status.textContent !== said) parts.status.textContent = said
    }

    draw()
    addEventListener('pagehide', talk.leave)
    talk.goOn()
    return {
      reset,
      show(/** @type {boolean} */ on) {
        if (!container) show(on)
      },
      destroy() {
        removeEventListener('pagehide', talk.leave)
        cancelAnimationFrame(frame)
        talk.close()
        host.remove()
      },
    }
  }

  /** @param {any} talk @param {(key: string, values?: any) => string} t @param {boolean} hasRun */
  function statusOf(talk, t, hasRun) {
    const { phase, reason, error } = talk.state()
    if (phase === 'lost') return t('lost')
    if (talk.live()) return t('working')
    if (reason === 'stopped') return t('stopped')
    if (error) return error.kind === 'network' ? error.message : t('failed', { detail: error.message })
    if (asked(talk.session())[0]?.reason === 'tool_call') return `${t('waits')} ${t('typed')}`
    if (talk.open().length) return t('waits')
    return hasRun && phase === 'done' ? t('ready') : ''
  }

  /** @param {WidgetOptions} options @param {(key: string, values?: any) => string} t @param {any} on */
  function panel(options, t, on) {
    const title = options.title ?? t('title')
    const iconButton = (/** @type {string} */ name, /** @type {string} */ label, /** @type {() => void} */ onclick) => (
      h('button.icon', { type: 'button', 'aria-label': label, title: label, onclick }, icon(name))
    )
    const talk = h('div.talk', { role: 'log', 'aria-live': 'off', 'aria-label': t('conversation'), tabIndex: 0 })
    const status = h('p.status', { role: 'status' })
    /** @param {KeyboardEvent} event */
    const onkeydown = (event) => {
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing || event.keyCode === 229) return
      event.preventDefault()
      form.requestSubmit()
    }
    const input = h('textarea', { rows: 1, 'aria-label': t('message'), placeholder: t('placeholder'), onkeydown })
    const send = h('button.icon', { type: 'submit', onclick: on.press }, icon('send'))
    const form = h('form.compose', { onsubmit: on.submit }, input, send)
    const el = h('section.panel', { 'aria-label': title },
      h('header', null, h('h2', null, title), iconButton('fresh', t('reset'), on.reset), on.floating ? iconButton('x', t('close'), on.close) : null),
      talk, status, form)
    if (on.floating) el.addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => event.key === 'Escape' && !event.isComposing && on.close())
    return { el, talk, status, input, send }
  }

  /** Messages and what is asked, kept equal to the session. @param {any} el @param {(key: string, values?: any) => string} t @param {any} talk */
  function threadOf(el, t, talk) {
    /** @type {Map<string, {el: any, update: (item: Item) => void}>} */
    let views = new Map()

    /** @param {Interrupt} one */
    const replyTo = (one) => (/** @type {'resolved' | 'cancelled'} */ status, /** @type {any} */ payload) => (
      talk.answer(one.id, { status, ...(payload === undefined ? {} : { payload }) })
    )

    function update() {
      const items = sessions.items(talk.session(), { live: talk.live() })
      const next = new Map()
      for (const item of items) {
        const view = views.get(item.message.id) ?? messageView(item, t)
        // what was cut off stays to be read, above the answer that is begun again
        view.update({ ...item, cut: item.message.open === true && !(talk.live() && item === items.at(-1)) })
        next.set(item.message.id, view)
      }
      for (const one of talk.live() ? [] : talk.open()) {
        const known = views.get(`ask ${one.id}`)
        const view = known ?? { update() {}, el: card(one, t, replyTo(one)) }
        next.set(`ask ${one.id}`, view)
      }
      for (const [key, view] of views) if (next.get(key) !== view) view.el.remove()
      for (const { el: one } of next.values()) if (one.parentNode !== el) el.append(one)
      views = next
    }

    return { update }
  }

  /** @param {Item} item @param {(key: string, values?: any) => string} t */
  function messageView({ message }, t) {
    const words = prose(t)
    const used = h('div')
    const mine = message.role === 'user'
    const el = h('article', { 'aria-label': mine ? t('you') : t('title') }, mine ? h('div.user', null, textOf(message.content)) : [words.el, used])
    if (message.role === 'error') el.className = 'error'
    let drawn = ''

    /** @param {Item} now */
    function update({ message: { content, open }, calls, cut }) {
      if (mine) return
      words.update(textOf(content), open === true && !cut && !calls.length)
      const lines = [...calls.map(({ call, result }) => t(result ? 'used' : 'using', { tool: call.function.name })), ...(cut ? [t('cut')] : [])]
      if (drawn === lines.join('\n')) return
      drawn = lines.join('\n')
      used.replaceChildren(...lines.map((line, i) => h('p.used', null, icon(i < calls.length ? 'tool' : 'x'), line)))
    }

    return { el, update }
  }

  /** @param {any} content */
  function textOf(content) {
    if (typeof content === 'string') return content
    return (content ?? []).map((/** @type {any} */ part) => part.text ?? '').join('\n')
  }

  return { open }
})
