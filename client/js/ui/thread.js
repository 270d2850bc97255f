// The thread: messages in order, what waits for an answer at the end, and the scrolling. It follows the end only
// while the reader is there; nothing here moves focus. The newest messages are made first, the rest in idle time.

yaa.define('ui/thread', ['ui/dom', 'ui/i18n', 'ui/message', 'ui/connection-checks', 'ui/message-actions', 'core/session'], (
  dom, { t }, { messageView }, { emptyView }, { setAsideView }, { siblings },
) => {
  const { h, icon, list, attr, hide } = dom
  const NEAR_END = 80
  const NEAR_EDGE = 8
  /** Articles are kept in chunks, so that the browser and this file can pass over most of a long session at once. */
  const CHUNK = 50
  /** Articles made at once when a session is opened; the earlier ones follow while the browser is idle. */
  const FIRST = 150
  /** Made in one go, and while time is left: a key that is pressed waits for no more. */
  const [AT_ONCE, SPARE_MS] = [10, 8]

  /** @param {import('./types').Actions} actions @returns {any} */
  function threadView(actions) {
    const empty = emptyView(actions)
    const feed = h('div.feed', { role: 'feed', 'aria-label': t('thread.label') })
    const working = h('div.working', { hidden: true, 'aria-hidden': 'true' }, h('i'), h('i'), h('i'))
    const waits = h('div.calls')
    /** Takes the place of `rest` with the first two approvals. @type {any} */ let all = null
    const rest = h('div', { hidden: true })
    /** @type {Interrupt[]} */ let asked = []
    /** @type {Interrupt[]} those that belong to no call */ let off = []
    const ghost = setAsideView(actions)
    const column = h('div.column', null, empty.el, h('div.thread', null, feed, working, waits, rest, ghost.el))
    const el = h('div.scroll', { onscroll, onkeydown, tabIndex: 0 }, column)
    const end = { type: 'button', hidden: true, onclick: scrollToEnd }
    const toEnd = h('button.button.small.to-end', end, icon('down'), t('thread.toEnd'))
    let pinned = true
    let brought = ''
    let broughtAt = 0
    let top = 0
    let openId = ''
    /** Everything the session shows, and where its last turn begins. @type {any[]} */
    let shown = []
    let turn = 0
    /** Articles before this one are not made yet. */
    let from = 0
    /** @type {Map<string, import('./types').View>} */ let chunks = new Map()
    const sizes = new ResizeObserver(follow)
    sizes.observe(column)
    sizes.observe(el)

    /** @param {import('./types').State} state while an answer streams in (`whole` is false) its items are those of the last turn */
    function update(state) {
      const { session, live, whole } = state
      const items = actions.work?.fold(itemsOf(state)) ?? itemsOf(state)
      shown = whole ? items : [...shown.slice(0, turn), ...items]
      if (whole) turn = Math.max(0, items.findLastIndex((item) => item.message.role === 'user'))
      if (session.id !== openId) reset(session.id)
      hide(empty.el, shown.length > 0)
      hide(feed, !shown.length)
      attr(column, 'data-empty', !shown.length)
      if (whole) empty.update(state)
      drawFeed(whole ? 0 : Math.floor(turn / CHUNK))
      attr(feed, 'aria-busy', live ? 'true' : null)
      hide(working, !live || isWriting(shown.at(-1)))
      if (whole || session.interrupts?.length) drawWaits(session, live)
      ghost.update(session, live)
      follow()
    }

    /** @param {number} changed the first chunk that may have changed */
    function drawFeed(changed) {
      const count = Math.ceil(shown.length / CHUNK)
      from = Math.min(from, Math.max(0, shown.length - 1)) // another branch may be shorter
      chunks = list(feed, Array.from({ length: count }, (_, i) => i), keyOf, chunkView, changed)
    }

    const keyOf = (/** @type {number} */ chunk) => `${openId} ${chunk}`

    /** All chunks are there from the start, empty: to fill one that is off the screen lays out nothing. */
    function chunkView() {
      const inner = h('div.chunk', { role: 'none', 'data-blank': '' })
      const make = (/** @type {any} */ item) => messageView(item, actions)
      const draw = (/** @type {any[]} */ items) => {
        attr(inner, 'data-blank', null)
        list(inner, items, (item) => item.message.id, make)
      }
      return {
        el: inner,
        update: (/** @type {number} */ chunk) => {
          const until = (chunk + 1) * CHUNK
          if (until > from) draw(shown.slice(Math.max(from, until - CHUNK), until))
        },
        destroy: () => draw([]),
      }
    }

    /** @param {Session} session @param {boolean} live */
    function drawWaits(session, live) {
      const open = live ? [] : session.interrupts ?? []
      off = open.filter((one) => !isOnCard(one, session))
      drawOff()
      drawAll(open)
    }

    /** What is asked beside the calls. */
    async function drawOff() {
      if (off.length && !cards) {
        await yaa.load('calls')
        cards = yaa.use('ui/interrupt-cards')
      }
      list(waits, off, (one) => one.id, (one) => waitCard(one, actions))
    }

    /** @param {Interrupt[]} open */
    async function drawAll(open) {
      asked = open
      if (brought && open.every((one) => one.answer)) { // all are answered: what comes is at the end
        brought = ''
        pinned = true
      }
      if (!all && open.length > 1) {
        await yaa.load('questions')
        if (!all) rest.replaceWith((all = yaa.use('ui/approve-all').allBar(actions)).el)
      }
      all?.update(asked)
    }

    /** @param {string} id */
    function reset(id) {
      openId = id
      brought = ''
      pinned = true
      el.scrollTop = 0 // where a session with nothing in it begins
      from = Math.max(0, shown.length - FIRST)
      if (from) later(id)
    }

    /** @param {string} id of the session that was opened; another may be open by then */
    function later(id) {
      const idle = window.requestIdleCallback ?? ((/** @type {any} */ run) => setTimeout(run, 50))
      idle((/** @type {IdleDeadline | undefined} */ deadline) => {
        if (id !== openId || !from) return
        do {
          const chunk = Math.floor((from - 1) / CHUNK)
          from = Math.max(chunk * CHUNK, from - AT_ONCE)
          chunks.get(keyOf(chunk))?.update(chunk)
        } while (from && Number(deadline?.timeRemaining()) > SPARE_MS)
        later(id)
      })
    }

    function onscroll() {
      const rest = el.scrollHeight - el.scrollTop - el.clientHeight
      // who has not moved up is at the end still, whatever has grown there: this event comes after it
      pinned = rest < NEAR_END || (pinned && el.scrollTop >= top)
      top = el.scrollTop
      hide(toEnd, rest < el.clientHeight / 2 || !shown.length)
      attr(/** @type {Element} */ (el.parentElement), 'data-scrolled', el.scrollTop > 4)
    }

    function follow() {
      if (!pinned && brought) showFirst()
      if (!pinned || !empty.el.hidden) return onscroll()
      el.scrollTop = el.scrollHeight
      if (asked.length > 1) showFirst()
      top = el.scrollTop // lower where something has shrunk, which is no move of the reader
    }

    /**
     * Of several questions the first one, where not all have room, and with each answer the next. It is held there until the
     * reader scrolls: what stands above it may become smaller later.
     */
    function showFirst() {
      const first = asked.find((one) => !one.answer)
      if (!first) return
      const stood = Math.min(broughtAt, el.scrollHeight - el.clientHeight)
      const isHeld = first.id !== brought || Math.abs(el.scrollTop - stood) < 2
      const card = isHeld && document.getElementById(`ask-${first.id}`)
      if (!card) return
      const above = el.getBoundingClientRect().top + NEAR_EDGE - card.getBoundingClientRect().top
      if (above > 0) el.scrollTop -= above
      else if (!brought) return
      brought = first.id
      broughtAt = el.scrollTop
      pinned = false
    }

    /** At once: on a gentle way there what comes into view changes its height, and the end is somewhere else. */
    function scrollToEnd() {
      pinned = true
      follow()
    }

    /** A feed is walked by article with Page Up and Page Down. @param {KeyboardEvent} event */
    function onkeydown(event) {
      const step = { PageDown: 1, PageUp: -1 }[event.key]
      const target = /** @type {Element} */ (event.target)
      if (!step || event.ctrlKey || event.metaKey || event.altKey || !target.matches('article, .scroll')) return
      // a page further in what is longer than the view
      const [box, view] = [target.getBoundingClientRect(), el.getBoundingClientRect()]
      if (target === el || (step > 0 ? box.bottom > view.bottom : box.top < view.top)) return
      const articles = [...feed.querySelectorAll('.message:not([data-fold=inside])')]
      const at = articles.indexOf(target)
      const next = articles[at < 0 ? (step > 0 ? 0 : articles.length - 1) : at + step]
      if (!next) return
      event.preventDefault()
      next.focus()
    }

    /** Show what waits for the reader; only when asked to. */
    function showAsk() {
      const first = el.querySelector('.ask')
      first?.scrollIntoView({ block: 'center' })
      first?.focus()
    }

    /** The article of a message, made and in view, wherever in the session it is. @param {string} id */
    function reveal(id) {
      if (actions.work?.unfold(shown, id)) {
        shown = actions.work.fold(shown)
        drawFeed(0)
      }
      if (from) drawFeed(from = 0)
      const article = document.getElementById(`message-${id}`)
      pinned = false
      article?.scrollIntoView({ block: 'center' })
      return article
    }

    return { el, toEnd, update, showAsk, reveal, follow: scrollToEnd }
  }

  /** What each article shows: its message, the calls in it, and whether it is being written. @param {any} state @returns {any[]} */
  function itemsOf({ session, items, live, outputs }) {
    const beside = siblings(session)
    const asks = (session.interrupts ?? []).some((/** @type {Interrupt} */ one) => one.reason === 'model_error')
    const shown = items.filter((/** @type {Item} */ { message }, /** @type {number} */ i) => (
      // the card that asks what to do about an error says what the error was
      message.role !== 'system' && !(asks && message.role === 'error' && i === items.length - 1)
    ))
    return shown.map((/** @type {Item} */ item, /** @type {number} */ i) => ({
      ...item, live, outputs, siblings: beside, last: i === shown.length - 1,
      recorded: i === shown.length - 1 ? session.run?.from_record : 0,
      joined: item.message.role === 'assistant' && shown[i - 1]?.message.role === 'assistant',
    }))
  }

  /** Does the last article show by itself that something is coming? @param {any} item */
  function isWriting(item) {
    if (!item) return false
    const { message, calls } = item
    const writes = message.open && (message.content || message.reasoning?.text || calls.length)
    return Boolean(writes) || calls.some((/** @type {CallItem} */ one) => one.entry?.state === 'started' && !one.result)
  }

  /** Is this interrupt shown on the card of its call? @param {Interrupt} interrupt @param {Session} session */
  function isOnCard({ call_id: id }, { messages }) {
    return id !== undefined && messages.some((message) => message.tool_calls?.some((call) => call.id === id))
  }

  /** @type {any} ui/interrupt-cards, once something is asked */ let cards = null

  /** @param {any} interrupt @param {import('./types').Actions} actions */
  function waitCard(interrupt, actions) {
    const ask = cards.interruptCard(interrupt, actions)
    const tone = interrupt.reason === 'model_error' ? 'bad' : 'ask'
    return { el: h('section.card.wait', { 'data-tone': tone }, ask.el), update: ask.update }
  }

  return { threadView }
})
