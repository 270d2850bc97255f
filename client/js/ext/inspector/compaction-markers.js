// A line in the thread where the model's view was compacted; opened, it lists the operations. Articles come and go in
// chunks, so the lines are placed again when chunks change.

yaa.define('ext/inspector/compaction-markers', ['ui/dom', 'ext/inspector/texts', 'core/context'], ({ h, icon }, { t, count, language }, contexts) => {
  /** @type {Session | null} */ let session = null
  /** @type {any} */ let feed = null
  /** Those that are as they were stay, and stay open. @type {Map<string, any>} */ let made = new Map()
  const watch = new MutationObserver(() => place())

  /** @param {Session} now */
  function placeMarkers(now) {
    session = now
    const found = document.querySelector('.feed')
    if (found !== feed) {
      feed = found
      watch.disconnect()
    }
    place()
  }

  function place() {
    if (!session || !feed) return
    for (const one of [feed, ...feed.children]) watch.observe(one, { childList: true })
    const all = contexts.markers(session)
    const before = made
    const keyOf = (/** @type {Marker} */ marker) => JSON.stringify([language(), session?.id, marker])
    made = new Map(all.map((marker) => [keyOf(marker), before.get(keyOf(marker)) ?? markerView(marker)]))
    for (const [key, el] of before) if (!made.has(key)) el.remove()
    for (const marker of all) {
      const article = articleOf(session, marker.after)
      const el = made.get(keyOf(marker))
      if (article && el.parentElement !== article) article.append(el)
    }
  }

  /**
   * The article that shows a message: a result is in the one of its call; what is nowhere stands at the end.
   * @param {Session} now @param {string} id
   */
  function articleOf(now, id) {
    const message = now.messages.find((one) => one?.id === id)
    const owner = message?.role === 'tool' ? now.messages
      .find((one) => one?.tool_calls?.some((call) => call?.id === message.tool_call_id)) : message
    return owner ? document.getElementById(`message-${owner.id}`) : [...feed.querySelectorAll('.message')].at(-1)
  }

  /** @param {Marker} marker */
  function markerView(marker) {
    const sizes = marker.before !== null && marker.to !== null
      ? t('marker.sizes', { before: count(marker.before), after: count(marker.to) }) : ''
    const line = h('summary', null, icon('limit'), h('span', null, t(marker.trigger === 'asked' && !marker.ops.length ? 'marker.nothing' : 'marker.title')), h('small', null, sizes), icon('chevron', 'chevron'))
    const why = marker.trigger ? h('p.hint', null, t('marker.trigger', { trigger: marker.trigger })) : null
    return h('details.marker', null, line, h('div.marker-body', null, why, h('ul', null, marker.ops.map(opView))))
  }

  /** @param {Marker['ops'][number]} one */
  function opView({ kind, known, text, count: n, op }) {
    const words = known ? t(`marker.op.${kind}`, { n }) : t('marker.unknown', { kind })
    return h('li', null, words, text ? h('pre', { tabIndex: 0 }, text) : null,
      known ? null : h('pre', { tabIndex: 0 }, JSON.stringify(op, null, 2)))
  }

  return { placeMarkers }
})
