// A message that waits to be sent, over the composer.

yaa.define('ui/queue-chip', ['ui/dom', 'ui/i18n', 'ui/popup', 'core/attachments', 'ui/commands', 'i18n/late-parts', 'css/modes'], ({ h, icon, iconButton, text, attr }, { t }, { toast }, { split, withWords }, { context }) => {
  /** A message that waits: to read, change, send now or take out. @param {import('./types').Actions} actions */
  function chipView(actions) {
    /** @type {any} */ let item = null
    const words = h('button.queue-words', { type: 'button', title: t('queue.edit'), onclick: edit })
    const now = h('button.button.small', { type: 'button', onclick: () => actions.queue.sendNow(item.id) })
    const out = iconButton('x', t('queue.remove'), { onclick: () => change('') })
    const el = h('li.queue-item', null, icon('clock'), words, now, out)

    /** @param {any} next */
    function update(next) {
      item = { ...next, ...split(next.content) }
      text(words, item.words || [...item.files.map((/** @type {any} */ { name }) => name), ...item.images.map(() => t('image.alt'))].join(', '))
      text(now, t(item.live ? 'queue.interrupt' : 'queue.now'))
      now.hidden = !item.live && item.asks // it waits for the answer
      attr(now, 'title', item.live ? t('queue.interruptHint') : null)
    }

    /** @param {string} words '' takes it out */
    function change(words) {
      const { id, content } = item
      if (actions.queue.of().every((one) => one.id !== id)) return // it has been sent
      const { sessionStore, current } = context().app
      sessionStore.queue(current, id, words ? withWords(content, words) : undefined)
      if (!words) toast(t('queue.removed'), { label: t('side.undo'), action: () => sessionStore.queue(current, id, content) })
    }

    function edit() {
      let over = false
      const end = (/** @type {boolean} */ keep) => {
        if (over) return
        over = true
        field.replaceWith(words)
        words.focus()
        if (keep && field.value.trim()) change(field.value.trim())
      }
      const field = h('textarea.input', { value: item.words, rows: 1, 'aria-label': t('queue.edit'), onblur: () => end(true), onkeydown })
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
