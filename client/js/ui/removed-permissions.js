// Shows the permissions that were removed from an imported session; those that a person ticks are put back.

yaa.define('ui/removed-permissions', ['ui/dom', 'ui/i18n', 'ui/popup', 'ui/dialog', 'ui/interrupt-cards', 'core/sanitize', 'core/patch', 'i18n/removed-permissions', 'css/dialogs'], (
  { h }, { t }, { toast }, { openDialog, button }, { escapeControls }, { canTakeOver, takeOver }, { parsePointer },
) => {
  /** More are counted, and can be set in the session itself. */
  const MOST_SESSIONS = 20
  const MOST_ITEMS = 50
  /** What is longer opens at a press. */
  const SHORT = 120

  /**
   * What is told: the page chooses the provider itself, so the name of one asks for nothing.
   * @param {Removed[]} removed
   */
  const reportable = (removed) => removed.filter(({ kind, value }) => kind !== 'provider' || Object.keys(value).some((key) => key !== 'name' && key !== 'model_name'))

  /**
   * Show what was left out of these sessions, which are stored. Nothing is shown where there is nothing.
   * @param {import('./types').App} app @param {import('./types').ImportedSession[]} brought
   * @param {{own?: () => Promise<any>, onclose?: () => void}} [more] own: take back everything, since it is the person's own copy
   * @returns {boolean} whether there was anything
   */
  function showRemoved(app, brought, { own, onclose } = {}) {
    const all = brought.map((one) => ({ ...one, removed: reportable(one.removed) })).filter(({ removed, beside }) => removed.length || beside)
    if (!all.length) {
      onclose?.()
      return false
    }
    const parts = all.slice(0, MOST_SESSIONS).map((one) => part(one, () => { done.disabled = parts.every((other) => !other.read().length) }))
    const rest = all.length - parts.length
    const done = h('button.button.primary', { type: 'button', disabled: true, onclick: take }, t('foreign.take'))
    const body = h('div.group', null, h('p', null, t('foreign.lead', { n: all.length })), parts.map(({ el }) => el),
      rest ? h('p.hint', null, t('foreign.more', { n: rest })) : null, own ? h('p.hint', null, t('foreign.ownHint')) : null)
    const buttons = [own ? button(t('foreign.own'), takeAll) : null, button(t('foreign.leave'), () => el.close()), done]
    const el = openDialog({ title: t('foreign.title', { n: all.length }), body, wide: true, buttons: buttons.filter(Boolean), onclose })

    async function take() {
      let count = 0
      for (const { id, read } of parts) {
        const items = read()
        if (items.length) await app.sessionStore.change(id, (session) => items.forEach((item) => takeOver(session, item)))
        count += items.length
      }
      toast(t('foreign.taken', { n: count }))
      el.close()
    }

    async function takeAll() {
      await own?.()
      toast(t('foreign.takenAll'))
      el.close()
    }

    return true
  }

  /** One session: what can be taken over, and what cannot. @param {import('./types').ImportedSession} brought @param {() => void} onchange */
  function part({ id, title, removed, beside }, onchange) {
    const shown = removed.slice(0, MOST_ITEMS)
    const rows = shown.filter(canTakeOver).map((item) => ({ item, box: h('input', { type: 'checkbox', onchange }) }))
    const gone = shown.filter((item) => !canTakeOver(item))
    const el = h('section.stack', null, h('h3', null, title || t('session.untitled')),
      beside ? h('p.hint', null, t('foreign.beside')) : null,
      rows.length ? h('ul.secrets.foreign', { 'aria-label': t('foreign.can') }, rows.map(({ item, box }) => h('li', null, h('label.check', null, box, h('span', null, wordsOf(item))), detail(item)))) : null,
      gone.length ? h('p.hint', null, t('foreign.gone')) : null,
      gone.length ? h('ul.foreign-gone', null, gone.map((item) => h('li', null, wordsOf(item), detail(item)))) : null,
      removed.length > shown.length ? h('p.hint', null, t('foreign.moreItems', { n: removed.length - shown.length })) : null)
    return { id, el, read: () => rows.filter(({ box }) => box.checked).map(({ item }) => item) }
  }

  /** What it would have done, in a line. @param {Removed} item @returns {string} */
  function wordsOf({ kind, path, value }) {
    const place = parsePointer(path) ?? []
    const name = escapeControls(String(place[place.length - 1] ?? ''))
    switch (kind) {
      case 'grant': return t('foreign.run', { tool: escapeControls(String(value.tool)) })
      case 'tool': return t(value.auto_approve === true ? 'foreign.run' : 'foreign.tool', { tool: name })
      case 'agent': return t(value.definition ? 'foreign.ownAgent' : 'foreign.agent', { name: escapeControls(value.name) })
      case 'agent_policy': return t('foreign.agentPolicy', { tool: name })
      case 'instructions': return t('foreign.instructions', { place: escapeControls(place.filter((one) => one !== 'config').join('.')) })
      case 'limit': return t(value === null ? 'foreign.noLimit' : 'foreign.limit', { name: escapeControls(place.slice(2).join('.')), value: escapeControls(shortOf(value)) })
      case 'provider': return t('foreign.provider', { url: escapeControls(shortOf(value.api_url ?? value.name ?? '')) })
      case 'tool_choice': return t('foreign.toolChoice', { tool: escapeControls(shortOf(value)) })
      case 'ask': return t('foreign.ask', { mode: value })
      case 'tools': return t('foreign.tools', { names: escapeControls(shortOf(value.join(', '))) })
      case 'answer': return t('foreign.answer', { tool: escapeControls(shortOf(value.tool ?? value.reason ?? '')) })
      case 'call': return t('foreign.call', { tool: escapeControls(shortOf(value.name ?? '')) })
      case 'unknown': return t('foreign.unknown', { path: escapeControls(shortOf(place.join('.'))) })
      default: return t(`foreign.${kind}`)
    }
  }

  /** What the words leave out, whole: nobody takes over what cannot be read. @param {Removed} item */
  function detail({ kind, value }) {
    const words = detailOf(kind, value)
    if (!words) return null
    if (words.length <= SHORT && !words.includes('\n')) return h('p.hint.mono', null, escapeControls(words))
    return h('details.foreign-more', null, h('summary', null, t('foreign.read')), h('pre.mono', { tabIndex: 0 }, escapeControls(words)))
  }

  /** @param {string} kind @param {any} value @returns {string} */
  function detailOf(kind, value) {
    if (kind === 'instructions') return value
    if (kind === 'grant') return value.match ? JSON.stringify(value.match, null, 1).replace(/\s+/g, ' ') : ''
    if (kind === 'tool' && Object.keys(value).join() === 'auto_approve' && value.auto_approve === true) return ''
    if (kind === 'agent') return value.definition ? JSON.stringify(value.definition, null, 2) : ''
    return kind === 'tool' || kind === 'model_settings' ? JSON.stringify(value) : ''
  }

  /** @param {any} value */
  const shortOf = (value) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value) ?? ''
    return text.length > SHORT ? `${text.slice(0, SHORT).toWellFormed()}…` : text
  }

  return { showRemoved, reportable }
})
