// A message that waits to be sent, over the composer.

yaa.define('ui/queue-chip', ['ui/dom', 'ui/i18n', 'i18n/late-parts'], ({ h, icon, iconButton, text, attr }, { t }) => {
  /** A message that waits: to read, change, send now or take out. @param {import('./types').Actions} actions */
  function chipView(actions) {
    /** @type {any} */ let item = null
    const words = h('button.queue-words', { type: 'button', title: t('queue.edit'), onclick: edit })
    const now = h('button.button.small', { type: 'button', onclick: () => actions.queue.sendNow(item.id) })
    const out = iconButton('x', t('queue.remove'), { onclick: () => actions.queue.change(item.id, '') })
    const el = h('li.queue-item', null, icon('clock'), words, now, out)

    /** @param {any} next */
    function update(next) {
      item = next
      text(words, item.label)
      text(now, t(item.live ? 'queue.interrupt' : 'queue.now'))
      attr(now, 'title', item.live ? t('queue.interruptHint') : null)
    }

    function edit() {
      let over = false
      const end = (/** @type {boolean} */ keep) => {
        if (over) return
        over = true
        field.replaceWith(words)
        words.focus()
        if (keep && field.value.trim()) actions.queue.change(item.id, field.value.trim())
      }
      const field = h('textarea.input', { value: item.text, rows: 1, 'aria-label': t('queue.edit'), onblur: () => end(true), onkeydown })
      /** @param {KeyboardEvent} event */
      function onkeydown(event) {
        if (event.isComposing || event.keyCode === 229 || event.shiftKey) return
        if (event.key === 'Enter' || event.key === 'Escape') {
          event.preventDefault()
          event.stopPropagation()
          end(event.key === 'Enter')
        }
      }
      words.replaceWith(field)
      field.focus()
    }

    return { el, update }
  }

  return { chipView }
})
