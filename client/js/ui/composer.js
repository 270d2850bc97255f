// The composer: a field that grows, Enter to send, files beside it, the model, and one round button that sends or
// stops.

yaa.define('ui/composer', ['ui/dom', 'ui/i18n', 'ui/commands'], ({ h, icon, iconButton, attr, text, fill, uid, fromRight }, { t }, commands) => {
  /** A draft is stored after this pause, or this long without one: too much work for every key. */
  const [REST_MS, LATEST_MS] = [300, 5000]
  /** Keys are on the screen, and there is no Shift+Enter among them. */
  const TOUCH = globalThis.matchMedia?.('(pointer: coarse)')
  /** What the last rows of the models open. @type {Record<string, string>} */
  const LISTS = { '*': 'model', '**': 'session.answers' }
  /** Files of drafts can be brought back: what does it is here. */
  let ready = false

  /**
   * Is this the key that sends? Never while an input method is composing (isComposing, or keyCode 229 where that comes too
   * late). Where keys are on the screen Enter begins a new line, and a button sends, or a real keyboard's Ctrl+Enter.
   * @param {KeyboardEvent} event
   */
  const isSendKey = (event) => (
    event.key === 'Enter' && !event.shiftKey && !event.isComposing && event.keyCode !== 229 &&
    (!TOUCH?.matches || event.ctrlKey || event.metaKey)
  )

  /**
   * Name the draft of a session. An empty session is another one after a reload; a temporary one is of this page alone.
   * @param {Session} session
   */
  const draftOf = ({ id, messages, ext }) => (ext?.temporary ? `~${id}` : messages.length ? id : 'new')

  /** @param {import('./types').Actions} actions @returns {any} */
  function composerView(actions) {
    const id = uid('compose')
    const area = h('textarea', {
      id, rows: 1, placeholder: t('compose.placeholder'), autocomplete: 'off', onkeydown, oninput, onpaste,
    })
    const model = picker('compose.model', (name) => (LISTS[name] ? commands.run(LISTS[name]) : actions.choose('answers', name)))
    const agent = picker('compose.agent', actions.setAgent)
    const badge = h('button.badge', { type: 'button', hidden: true, title: t('demo.note'), onclick: () => commands.run('connect') }, t('demo.badge'))
    const button = h('button.button.primary.send', { type: 'submit', onclick: press })
    const clip = iconButton('clip', t('compose.attach'), { onclick: pick })
    const status = statusLine(actions)
    const stay = (/** @type {Event} */ event) => event.preventDefault()
    const form = h('form.composer', { onsubmit: stay, onclick: focusArea },
      h('label.sr-only', { htmlFor: id }, t('compose.label')), area,
      h('div.composer-bar', null, clip, agent.el, model.el, badge, h('span.gap'), button))
    const el = h('div.column', null, status.el, form)
    let busy = false
    let waits = false
    let current = ''
    let rest = 0
    /** When the first letter was typed that is not kept yet. */
    let unkept = 0
    /** @type {Session | null} */ let session = null
    addEventListener('pagehide', () => rest && keep())
    /** Drafts whose files go up before they are sent. @type {Map<string, AbortController>} */
    const placing = new Map()
    /** The files of each draft. @type {Map<string, any>} */
    const trays = new Map()
    /** Files that are being read; rejected while the scripts for it are missing. @type {Promise<any>} */ let coming = Promise.resolve()
    /** @type {any} */ let slash = null
    /** What typed text does while something is asked. @type {any} */ let typed = null

    /** @param {any} state */
    function update(state) {
      const same = session?.id === state.session.id
      session = state.session
      busy = state.live
      waits = !busy && (state.session.interrupts ?? []).some((/** @type {Interrupt} */ one) => !one.answer)
      area.placeholder = t(waits ? 'compose.placeholderAsk' : 'compose.placeholder')
      // one model alone that is no AI: the badge beside it says it all
      const more = state.info?.models?.some((/** @type {any} */ one) => one?.models?.length > 1)
      const rows = [...state.models, ...(more ? [{ name: '*', label: t('compose.all') }] : []), { name: '**', label: t('compose.tune') }]
      model.update(rows, state.provider, !state.models.length || (state.models.length === 1 && state.demo))
      agent.update(state.agents, state.agent, state.agents.length < 2)
      agent.el.disabled = state.live // a run keeps the one it began with
      badge.hidden = !state.demo
      status.update(state)
      turnTo(draftOf(state.session), same)
      if (waits && !typed) bringTyped()
      draw()
    }

    /** @param {string} draft @param {boolean} same the session has got its first message, or is temporary now */
    function turnTo(draft, same) {
      if (draft === current) return
      const [old, tray] = [current, trays.get(current)]
      current = draft
      if (same) actions.draft('', old), keep()
      if (same && tray) {
        trays.delete(old)
        trays.set(draft, tray)
        tray.rename(draft)
      } else tray?.el.remove()
      if (ready) bringBack()
    }

    /** Restore the files of this draft once their scripts are loaded. */
    function bringBack() {
      ready = true
      if (trays.has(current)) form.prepend(trays.get(current).el)
      else attach([])
    }

    const hasFiles = () => trays.get(current)?.isEmpty() === false
    const isEmpty = () => !area.value.trim() && !hasFiles()

    function draw() {
      const stop = busy || placing.has(current)
      const label = t(stop ? 'compose.stop' : 'compose.send')
      if (button.dataset.is !== label) {
        button.dataset.is = label
        button.classList.toggle('stop', stop)
        attr(button, 'aria-label', label)
        attr(button, 'title', stop ? label : `${label} · ${t('compose.hint')}`)
        fill(button, icon(stop ? 'stop' : 'send'))
      }
      button.disabled = !stop && isEmpty()
      attr(area, 'dir', fromRight(area.value) ? 'auto' : null)
      typed?.update(waits ? session : null, slash?.means(area.value))
    }

    async function oninput() {
      draw()
      keepSoon()
      if (area.value.startsWith('/')) slash = await commands.run('slash', area, clear)
      slash?.update()
      if (slash) draw()
    }

    async function bringTyped() {
      typed = await commands.run('typed', area, hasFiles)
      draw()
    }

    function keepSoon() {
      const now = performance.now()
      if (!rest) unkept = now
      clearTimeout(rest)
      rest = setTimeout(keep, Math.min(REST_MS, unkept + LATEST_MS - now))
    }

    function keep() {
      clearTimeout(rest)
      rest = 0
      if (current) actions.draft(area.value, current)
    }

    /** Ignore the second click of a double click: it hits what has just become the other button. @param {MouseEvent} event */
    function press(event) {
      if (event.detail === 2) return
      if (placing.has(current)) placing.get(current)?.abort()
      else if (busy) actions.stop()
      else send()
    }

    async function send() {
      const id = current
      await coming // what was dropped here goes along
      const words = area.value.trim()
      if (isEmpty() || id !== current || placing.has(id)) return // while a run is on it waits its turn
      if (words.startsWith('/')) {
        slash = await commands.run('slash', area, clear)
        if (await slash?.submit(words) || area.value.trim() !== words) return
      }
      if (waits && !typed) await bringTyped()
      const how = waits && typed.take(words)
      if (how === 'stays') return
      if (how === 'answered') return clear()
      const to = session?.id
      const tray = trays.get(id)
      const files = hasFiles() ? await placed(id, tray) : []
      if (!files) return
      if (id !== current) actions.draft('', id)
      else if (area.value.trim() === words) clear()
      tray?.clear()
      actions.send(files.length ? yaa.use('core/attachments').content(words, files) : words, to, how === 'later')
    }

    /** Puts the files of a draft where they belong; until then it is a draft, and can be stopped. @param {string} id @param {any} tray @returns {Promise<any[] | null>} */
    async function placed(id, tray) {
      keep()
      const control = new AbortController()
      const stopped = new Promise((resolve) => { control.signal.onabort = () => resolve(null) })
      placing.set(id, control)
      draw()
      const files = await Promise.race([tray.placed(control.signal), stopped])
      placing.delete(id)
      draw()
      return files
    }

    function clear() {
      area.value = ''
      keep()
      draw()
      slash?.update()
    }

    /** @param {KeyboardEvent} event */
    function onkeydown(event) {
      if (event.isComposing || event.keyCode === 229) return
      if (slash?.onkeydown(event)) return
      if (!isSendKey(event)) return
      event.preventDefault()
      send()
    }

    /** One after the other. @param {File[]} files @returns {Promise<any>} what takes them out again */
    async function attach(files) {
      const id = current
      const kept = files.length && !trays.has(id) && !('attached' in files[0]) && actions.keepFiles(id, files)
      return coming = coming.catch(() => {}).then(async () => take(id, files, await kept))
    }

    function pick() {
      const input = h('input', { type: 'file', multiple: true, onchange: () => attach([...input.files]) })
      input.click()
    }

    /** @param {string} id of the draft @param {File[]} files @param {any} kept a tray that is made now finds them in the store */
    async function take(id, files, kept) {
      const old = trays.get(id)
      if (kept) old?.el.remove()
      const tray = (!kept && old) || await commands.run('attach.tray', id, draw)
      trays.set(id, tray)
      if (id === current) form.prepend(tray.el)
      if (files.length) area.focus()
      return tray.add(kept ? [] : files)
    }

    /** @param {ClipboardEvent} event */
    function onpaste(event) {
      const files = [...event.clipboardData?.files ?? []]
      // a program that copies a table gives its picture too: then the text is meant
      if (!files.length || event.clipboardData?.types.includes('text/plain')) return
      event.preventDefault()
      attach(files)
    }

    /** A click on the empty part of the box means the field. @param {MouseEvent} event */
    function focusArea(event) {
      if (/** @type {Element} */ (event.target).matches('.composer, .composer-bar, .gap')) area.focus()
    }

    /** @param {string} words */
    function write(words) {
      if (rest) keep() // that of the session which was open until now
      area.value = words
      draw()
    }

    /** Where the caret is. @param {string} words */
    function insert(words) {
      area.focus()
      area.setRangeText(words, area.selectionStart, area.selectionEnd, 'end')
      oninput()
    }

    return { el, update, write, insert, attach, pick, bringBack, read: () => area.value, focus: () => area.focus() }
  }

  /** The model or the agent, where there is a choice. @param {string} name @param {(name: string) => void} choose */
  function picker(name, choose) {
    const label = t(name)
    const select = h('select.select', { 'aria-label': label, title: label, hidden: true, onchange })
    let drawn = ''
    let chosen = ''

    /** What opens a list is not chosen itself. */
    function onchange() {
      const { value } = select
      if (LISTS[value]) select.value = chosen
      choose(value)
    }

    /** @param {{name: string, label: string, title?: string}[]} offered @param {string} current @param {boolean} hidden */
    function update(offered, current, hidden) {
      const key = JSON.stringify([offered, current, hidden])
      if (key === drawn) return
      drawn = key
      select.hidden = hidden
      chosen = current
      fill(select, offered.map((one) => h('option', { value: one.name, selected: one.name === current, title: one.title ?? '' }, one.name === 'default' ? t('agent.default') : one.label)))
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

  return { composerView, draftOf, isSendKey }
})
