// The time slider: the session as it was after each event. Whatever is shown is `fold(events[0..t])`, and nothing else
// of the page knows that it looks at the past. A run that this browser saw is played as it came; the rest from events
// that lead to the same document.

yaa.define('ext/time/slider', ['ui/dom', 'ext/time/texts', 'ui/popup', 'ext/time/replay', 'core/message-edits', 'ext/time/event-recording', 'ext/time/event-log', 'ext/time/style'], (
  dom, texts, { toast, say }, { replay, sessionAfter }, edits, recordings, eventLog,
) => {
  const { h, iconButton, text, attr, fill, icon } = dom
  const { t, moment, count } = texts
  /** Events a second at each speed; 0: at once. */
  const SPEEDS = /** @type {const} */ ([['1', 12], ['4', 48], ['16', 200]])

  /** @param {import('../../ui/types').CommandContext} context */
  function sliderView(context) {
    const { app } = context
    const range = h('input', { type: 'range', min: 0, max: 0, step: 1, value: '0', 'aria-label': t('time.label'),
      oninput: () => seek(Number(range.value)) })
    const play = iconButton('play', t('time.play'), { onclick: toggle }, 'small')
    const speed = h('select.select', { 'aria-label': t('time.speed'), title: t('time.speed') },
      SPEEDS.map(([name]) => h('option', { value: name }, `${name}×`)))
    const where = h('span.time-where')
    const what = h('span.time-what')
    const fork = h('button.button.small', { type: 'button', onclick: forkHere }, icon('branch'), t('time.fork'))
    const back = iconButton('chevron', t('time.back'), { onclick: () => seek(at - 1) }, 'ghost.small.flip')
    const next = iconButton('chevron', t('time.next'), { onclick: () => seek(at + 1) })
    const band = h('p.time-band', { hidden: true }, icon('clock'), h('span', null, t('time.past')),
      h('button.link', { type: 'button', onclick: () => seek(last()) }, t('time.now')))
    const el = h('div.time', { role: 'group', 'aria-label': t('inspect.time') },
      h('div.time-row', null, back, play, next, range, speed, fork, iconButton('x', t('time.close'), { onclick: close })),
      h('div.time-row.time-words', null, where, what), band)
    /** @type {Replayed} */ let replayed = { start: /** @type {any} */ ({ messages: [] }), events: [], turns: [], recorded: 0, whole: false }
    let at = 0
    let timer = 0
    let openId = ''
    let open = false
    let madeFor = ''

    const last = () => replayed.events.length

    async function show() {
      await read()
      open = true
      mount()
      seek(last())
      range.focus()
      say(t('time.opened', { n: last(), seen: count(replayed.recorded) }))
    }

    /** The events of the session as it is now. */
    async function read() {
      const { session, run } = app.current
      madeFor = markOf(session)
      const kept = await eventLog.load(session.id)
      const live = run?.events.length ? [recordings.pack(String(session.run?.id ?? 'now'), [...run.events])] : []
      replayed = replay(session, [...kept.filter((/** @type {Recording} */ one) => one.run !== live[0]?.run), ...live])
      openId = session.id
      at = last()
      range.max = String(last())
    }

    /** What tells two states of a session apart. @param {Session} session */
    const markOf = ({ rev, status, messages }) => [rev, status, messages.length, messages.at(-1)?.id].join()

    function mount() {
      const top = document.querySelector('.top')
      if (open && el.parentElement !== top) top?.append(el)
      attr(/** @type {Element} */ (top), 'data-time', open ? 'open' : null)
    }

    function close() {
      pause()
      open = false
      openId = ''
      el.remove()
      attr(/** @type {Element} */ (document.querySelector('.top')), 'data-time', null)
      app.past = null
      shade(false)
      app.draw()
    }

    /** @param {number} to how many events */
    function seek(to) {
      at = Math.max(0, Math.min(last(), to))
      const past = at < last()
      app.past = past ? sessionAfter(replayed, at) : null
      range.value = String(at)
      const event = replayed.events[at - 1]
      const words = wordsOf(event)
      text(where, t('time.where', { at, of: last() }))
      text(what, [words, event?.timestamp ? moment(event.timestamp) : ''].filter(Boolean).join(' · '))
      attr(range, 'aria-valuetext', `${where.textContent}, ${words}`)
      band.hidden = !past
      fork.disabled = !app.past?.messages.length
      back.disabled = at === 0
      next.disabled = !past
      app.draw()
    }

    /** @param {YaaEvent | undefined} event */
    function wordsOf(event) {
      if (!event) return t('time.begin')
      const key = event.type === 'yaa.local' ? (event.ops[0]?.path === '/messages/-' ? 'said' : 'set') : event.type
      return t(`time.event.${KNOWN.has(key) ? key : 'other'}`, { type: event.type, name: event.toolCallName ?? '' })
    }

    // -- playing --

    function toggle() {
      if (timer) return pause()
      if (at >= last()) seek(0)
      const [, rate] = SPEEDS.find(([name]) => name === speed.value) ?? SPEEDS[0]
      timer = window.setInterval(() => {
        seek(at + Math.max(1, Math.round(rate / 20)))
        if (at >= last()) pause()
      }, Math.max(50, 1000 / rate))
      drawPlay()
    }

    function pause() {
      clearInterval(timer)
      timer = 0
      drawPlay()
    }

    function drawPlay() {
      fill(play, icon(timer ? 'pause' : 'play'))
      attr(play, 'aria-label', t(timer ? 'time.pause' : 'time.play'))
    }

    /** @param {number} step to the next or the last moment at which a person spoke */
    function turn(step) {
      const stops = [0, ...replayed.turns.map((one) => one + 1), last()]
      seek((step > 0 ? stops.find((one) => one > at) : stops.findLast((one) => one < at)) ?? at)
    }

    /** @param {KeyboardEvent} event */
    function onkeydown(event) {
      if (!open || event.ctrlKey || event.metaKey || event.altKey) return
      const target = /** @type {Element} */ (event.target)
      if (target !== range && target.closest('input, textarea, select, dialog, [contenteditable]')) return
      const back = event.code === 'BracketLeft' || event.key === '[' || event.key === '{'
      const on = event.code === 'BracketRight' || event.key === ']' || event.key === '}'
      if (back || on) (event.shiftKey ? turn : (/** @type {number} */ step) => seek(at + step))(on ? 1 : -1)
      else if (event.key === ' ' && !target.closest('button, summary, a')) toggle()
      else if (event.key === 'Escape' && target.closest('.time')) close()
      else return
      event.preventDefault()
    }

    // -- going on from here --

    /** The moment that is looked at, as a session of its own. */
    async function forkHere() {
      const past = app.past
      const id = past?.messages.at(-1)?.id
      if (!past || !id) return
      const made = edits.forkSession(past, id, { title: t('time.forkTitle', { title: past.title ?? t('session.untitled'), at }) })
      await app.sessionStore.restore(made)
      close()
      await context.actions.open(made.id)
      toast(t('time.forked'))
    }

    /** @param {import('../../ui/types').State} state */
    function update(state) {
      if (!open) return
      if (app.current.session.id !== openId) return close()
      mount()
      shade(Boolean(app.past))
      // what has happened since belongs to it too
      if (!app.past && !state.live && madeFor !== markOf(app.current.session)) read().then(() => seek(last()))
    }

    /** What would write is out of reach while the past is shown. @param {boolean} past */
    function shade(past) {
      const writers = '.thread .ask, .thread .all-bar, form.composer, .status-line'
      for (const one of document.querySelectorAll(writers)) one.toggleAttribute('inert', past)
      attr(/** @type {Element} */ (document.querySelector('.main')), 'data-past', past ? 'true' : null)
    }

    addEventListener('keydown', onkeydown)
    const end = () => {
      close()
      removeEventListener('keydown', onkeydown)
    }
    return { end, update, toggle: () => (open ? close() : show()), close }
  }

  const KNOWN = new Set([
    'said', 'set', 'RUN_STARTED', 'RUN_FINISHED', 'RUN_ERROR', 'TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END',
    'TOOL_CALL_START', 'TOOL_CALL_ARGS', 'TOOL_CALL_END', 'TOOL_CALL_RESULT', 'REASONING_MESSAGE_START', 'REASONING_MESSAGE_CONTENT',
    'REASONING_MESSAGE_END', 'STATE_DELTA', 'STEP_STARTED', 'STEP_FINISHED',
  ])

  return { sliderView }
})
