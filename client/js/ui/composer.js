// The composer: a field that grows, Enter to send, the model, and one round button that sends or stops.
// Enter never sends while an input method is composing (isComposing, or keyCode 229 where that comes too late).

yaa.define('ui/composer', ['ui/h', 'ui/text'], ({ h, icon, attr, text, fill, uid }, { t }) => {
  /** @param {import('./types').Actions} actions @returns {any} */
  function composerView(actions) {
    const id = uid('compose')
    const area = h('textarea', {
      id, rows: 1, placeholder: t('compose.placeholder'), enterkeyhint: 'send', autocomplete: 'off', onkeydown, oninput,
    })
    const model = modelPicker(actions)
    const badge = h('span.badge', { hidden: true, title: t('demo.note') }, t('demo.badge'))
    const button = h('button.button.primary.send', { type: 'submit', onclick: press })
    const note = h('p.composer-note', { hidden: true }, t('compose.superseded'))
    const status = statusLine(actions)
    const form = h('form.composer', { onsubmit: (/** @type {Event} */ event) => event.preventDefault(), onclick: focusArea },
      h('label.sr-only', { htmlFor: id }, t('compose.label')), area,
      h('div.composer-bar', null, model.el, badge, h('span.gap'), button))
    const el = h('div.column', null, status.el, form, note)
    let busy = false
    let waits = false

    /** @param {any} state */
    function update(state) {
      busy = state.live
      waits = !busy && (state.session.interrupts ?? []).some((/** @type {Interrupt} */ one) => !one.answer)
      area.placeholder = t(waits ? 'compose.placeholderAsk' : 'compose.placeholder')
      model.update(state)
      badge.hidden = !state.demo
      status.update(state)
      draw()
    }

    function draw() {
      const stop = busy
      const label = t(stop ? 'compose.stop' : 'compose.send')
      if (button.dataset.is !== label) {
        button.dataset.is = label
        button.classList.toggle('stop', stop)
        attr(button, 'aria-label', label)
        attr(button, 'title', stop ? label : `${label} · ${t('compose.hint')}`)
        fill(button, icon(stop ? 'stop' : 'send'))
      }
      button.disabled = !stop && !area.value.trim()
      note.hidden = !waits || busy || !area.value.trim()
    }

    function oninput() {
      draw()
      actions.draft(area.value)
    }

    function press() {
      if (busy) actions.stop()
      else send()
    }

    function send() {
      const words = area.value.trim()
      if (!words) return // while a run is on it waits its turn
      area.value = ''
      actions.draft('')
      draw()
      actions.send(words)
    }

    /** @param {KeyboardEvent} event */
    function onkeydown(event) {
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing || event.keyCode === 229) return
      event.preventDefault()
      send()
    }

    /** A click on the empty part of the box means the field. @param {MouseEvent} event */
    function focusArea(event) {
      if (/** @type {Element} */ (event.target).matches('.composer, .composer-bar, .gap')) area.focus()
    }

    /** @param {string} words */
    function write(words) {
      area.value = words
      draw()
    }

    /** Where the caret is. @param {string} words */
    function insert(words) {
      area.focus()
      area.setRangeText(words, area.selectionStart, area.selectionEnd, 'end')
      oninput()
    }

    return { el, update, write, insert, read: () => area.value, focus: () => area.focus() }
  }

  /** The model, where there is a choice. @param {import('./types').Actions} actions */
  function modelPicker(actions) {
    const label = t('compose.model')
    const select = h('select.select', { 'aria-label': label, title: label, hidden: true, onchange: () => actions.setProvider(select.value) })
    let drawn = ''

    /** @param {import('./types').State} state */
    function update({ models, provider }) {
      const key = JSON.stringify([models, provider])
      if (key === drawn) return
      drawn = key
      // the badge beside it says it all
      select.hidden = !models.length || (models.length === 1 && models[0].demo)
      fill(select, models.map((one) => h('option', { value: one.name, selected: one.name === provider }, one.label)))
    }

    return { el: select, update }
  }

  /** The line above: what the connection does, and what can be done about it. @param {import('./types').Actions} actions */
  function statusLine(actions) {
    const sign = h('span', { 'aria-hidden': 'true' })
    const words = h('span')
    const button = h('button.button.small', { type: 'button', hidden: true, onclick: () => actions.goOn() })
    const el = h('div.status-line', { hidden: true }, sign, words, button)
    let drawn = ''

    /** @param {any} state */
    function update({ line }) {
      el.hidden = !line
      if (!line || drawn === JSON.stringify(line)) return
      drawn = JSON.stringify(line)
      attr(el, 'data-tone', line.tone ?? null)
      fill(sign, line.busy ? h('span.spinner') : icon(line.icon ?? 'alert'))
      text(words, line.text)
      button.hidden = !line.action
      text(button, line.action ?? '')
    }

    return { el, update }
  }

  return { composerView }
})
