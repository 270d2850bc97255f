// What runs may do without asking, and how far: the menu of an approval, rules made from a call, and the limits of the
// open session with what its run has used of them.

yaa.define('ui/limits', [
  'ui/dom', 'ui/i18n', 'ui/popup', 'ui/dialog', 'core/grant-patterns', 'core/session', 'core/usage', 'i18n/branches', 'i18n/limits', 'i18n/settings', 'css/branches', 'css/limits',
], (dom, { t, count, language }, { openMenu, toast, say }, { openDialog }, patterns, { asksAlways }, { money }) => {
  const { h, icon, iconButton, text, fill, uid } = dom
  /** name, the counter of the run it is measured on, and how many of these a person's unit is */
  const LIMITS = /** @type {const} */ ([
    ['max_steps', 'step', 1], ['max_tokens', 'tokens', 1], ['max_cost_micro', 'cost_micro', 1e6], ['max_wall_s', 'wall_ms', 1],
  ])
  /** Of a rule on a button. */
  const MOST_WORDS = 48
  const RULES = ['', 'allow', 'ask', 'deny']

  /** @param {import('./types').App} app @param {import('./types').Actions} actions @returns {Record<string, (...rest: any[]) => any>} */
  function limitActions(app, actions) {
    const paused = () => Boolean(app.settings.get('paused')) || asksAlways(app.current.session)

    /**
     * @param {any} anchor @param {Interrupt} interrupt
     * @param {{tool: string, args: any, answer: (payload: any) => void, place: any}} asked
     */
    function approvalMenu(anchor, interrupt, { tool, args, answer, place }) {
      const forTool = (/** @type {string} */ rule, /** @type {any} */ payload) => () => {
        actions.choose('tool', tool, rule)
        answer(payload)
      }
      openMenu(anchor, [
        ...(interrupt.always ? [] : [ // it would be asked about all the same
          { label: t('rule.make'), icon: 'hand', action: () => rule(interrupt, { tool, args, answer, place }) },
          { label: t('rule.always', { tool }), icon: 'check', action: forTool('allow', { approved: true, remember: 'once' }) },
        ]),
        { label: t('rule.never', { tool }), icon: 'x', danger: true, action: forTool('deny', { approved: false }) },
        { label: t(paused() ? 'pause.end' : 'pause.start'), icon: 'clock', action: pause },
        { label: t('limits.open'), icon: 'limit', action: limits },
      ])
    }

    /** @param {Interrupt} interrupt @param {{tool: string, args: any, answer: (payload: any) => void, place: any}} asked */
    const rule = (interrupt, asked) => builder(asked.place, app.current.session, { interrupt, ...asked }, formatsIn(app, asked.tool))

    /**
     * The rule that a card offers at one press: this call, or those like it where nothing but a copy can be changed.
     * Null where a person has to look at it first.
     * @param {{interrupt: Interrupt, tool: string, args: any}} asked
     */
    function offer({ interrupt, tool, args }) {
      const rows = patterns.suggest(args, formatsIn(app, tool)).filter((row) => row.on)
      if (rows.length !== 1) return null
      const [{ key, value, pattern, exact }] = rows
      const isWide = Boolean(interrupt.permission) && pattern !== exact
      const words = isWide ? pattern.replace(/ ?\*$/, ' …') : value
      return words.length > MOST_WORDS || words.includes('\n') ? null : { match: { [key]: isWide ? pattern : exact }, words }
    }

    function pause() {
      const on = !paused()
      actions.pause(on)
      say(t(on ? 'pause.started' : 'pause.ended')) // the note over the composer is seen by itself
    }

    /** How far this session's runs may go, and what they need not ask about. */
    function limits() {
      const { session } = app.current
      const fields = LIMITS.map((one) => limitRow(session, app, one))
      const call = callRow(session, app)
      const body = h('form.edit-form', { onsubmit: save },
        h('section.group', null, h('h3', null, t('limits.limits')), h('p.hint', null, t('limits.lead')), h('div.limit-rows', null, [...fields, call].map((field) => field.el))),
        h('section.group', null, h('h3', null, t('limits.approvals')), pauseRow(), toolRows(), grantRows(session)),
        h('div.edit-actions', null, h('span.gap'), h('button.button', { type: 'button', onclick: () => el.close() }, t('branch.cancel')),
          h('button.button.primary', { type: 'submit' }, t('branch.save'))))
      const el = openDialog({ title: t('limits.title'), body, wide: true })
      fields[0].focus()

      /** @param {Event} event */
      async function save(event) {
        event.preventDefault()
        const read = fields.map((field) => field.read())
        const time = call.read()
        const wrong = [...read, time].findIndex((one) => !one.ok)
        if (wrong >= 0) return [...fields, call][wrong].focus()
        const own = Object.fromEntries(read.flatMap((one) => (one.value === undefined ? [] : [[one.name, one.value]])))
        const done = await app.sessionStore.edit(app.current, (one) => setLimits(one, own) && setCallTime(one, time.value))
        if (done === null) return toast(t('branch.busy'))
        el.close()
      }
    }

    function pauseRow() {
      const box = h('input', { type: 'checkbox', checked: paused(), onchange: () => actions.pause(box.checked) })
      return h('div.field', null, h('label.check', null, box, t('pause.label')), h('p.hint', null, t('pause.hint')))
    }

    /** Tools of the server, each with what it may do in this session and new ones. */
    function toolRows() {
      const tools = app.server.info()?.tools ?? []
      const set = app.settings.get('tools') ?? {}
      if (!tools.length) return h('p.hint', null, t('settings.toolsNone'))
      return h('details.tools-menu', null, h('summary', null, icon('chevron', 'chevron'), t('limits.tools')),
        h('ul.grants', null, tools.map((/** @type {any} */ { name, policy }) => {
          const select = h('select.select', { 'aria-label': t('settings.toolRule', { tool: name }), disabled: policy === 'deny', onchange: () => actions.choose('tool', name, select.value) },
            RULES.map((value) => h('option', { value, selected: value === (set[name] ?? '') }, t(value ? `limits.rule.${value}` : 'settings.toolDefault', { policy }))))
          return h('li', null, h('code', null, name), select)
        })))
    }

    /** @param {Session} session */
    function grantRows(session) {
      const all = session.grants ?? []
      const holder = h('ul.grants', { 'aria-label': t('limits.grants') })
      if (!all.length) return h('p.hint', null, t('limits.noGrants'))
      fill(holder, all.map((/** @type {any} */ grant) => {
        const words = Object.entries(grant.match ?? {}).map(([key, pattern]) => `${key}: ${pattern}`).join(', ')
        const out = iconButton('trash', t('limits.forget'), { onclick: () => forget(grant, row) })
        const row = h('li', null, h('span', null, h('code', null, grant.tool), words ? ` ${words}` : '', ' · ', t(`limits.decided.${grant.decision === 'deny' ? 'deny' : 'allow'}`)), out)
        return row
      }))
      return holder
    }

    /** @param {any} grant @param {any} row */
    async function forget(grant, row) {
      const done = await app.sessionStore.edit(app.current, (one) => {
        one.grants = (one.grants ?? []).filter((/** @type {any} */ other) => JSON.stringify(other) !== JSON.stringify(grant))
        return true
      })
      if (done) row.remove()
      else toast(t('branch.busy'))
    }

    return { approvalMenu, rule, offer, limits, pause }
  }

  /** Limits a person set for this session; the app's own settings fill in the others. @param {Session} session @param {Record<string, number>} own */
  function setLimits(session, own) {
    session.ext ??= {}
    const before = Object.keys(session.ext.limits ?? {})
    session.config ??= {}
    session.config.limits = { ...session.config.limits, ...own }
    for (const name of before) if (!(name in own)) delete session.config.limits[name]
    if (Object.keys(own).length) session.ext.limits = own
    else delete session.ext.limits
    if (!Object.keys(session.ext).length) delete session.ext
    return true
  }

  /** How long one call may take; a server fills in its own. @param {Session} session @param {number} [seconds] */
  function setCallTime(session, seconds) {
    const { limits = {} } = (session.config ??= {})
    const { wall_s: _, ...rest } = limits.tool ?? {}
    session.config.limits = { ...limits, tool: { ...rest, ...(seconds === undefined ? {} : { wall_s: seconds }) } }
    return true
  }

  /** @param {Session} session @param {import('./types').App} app */
  function callRow(session, app) {
    const info = app.server.info()
    const usual = info?.defaults?.config?.limits?.tool?.wall_s
    const set = session.config?.limits?.tool?.wall_s
    return numberField(t('limits.call'), {
      value: set === undefined || set === usual ? '' : String(set), placeholder: usual === undefined ? t('limits.none') : count(usual),
      hints: mostOf(info?.limits?.tool?.wall_s, count),
    })
  }

  /** @param {any} most @param {(n: number) => string} shown */
  const mostOf = (most, shown) => (Number.isFinite(most) ? [t('limits.most', { n: shown(most) })] : [])

  /** @param {Session} session @param {import('./types').App} app @param {readonly [string, string, number]} limit */
  function limitRow(session, app, [name, counter, scale]) {
    const info = app.server.info()
    const standard = session.config?.limits?.[name] ?? info?.defaults?.config?.limits?.[name]
    const most = info?.limits?.session?.[name] // more may be said here, and another server may allow it
    const own = session.ext?.limits?.[name]
    const shown = (/** @type {number} */ n) => (scale > 1 ? money(n, session.usage?.cost_unit, language()) : count(n))
    const used = (session.run?.[counter] ?? 0) / (counter === 'wall_ms' ? 1000 : 1)
    const field = numberField(t(`limits.${name}`), {
      value: own === undefined ? '' : String(own / scale),
      placeholder: typeof standard === 'number' ? (scale > 1 ? String(standard / scale) : count(standard)) : t('limits.none'),
      hints: [t('limits.used', { n: shown(Math.round(used)) }), ...mostOf(most, shown)], scale,
    })
    return { ...field, read: () => ({ ...field.read(), name }) }
  }

  /** A number above 0, or nothing. @param {string} label @param {{value: string, placeholder: string, hints: string[], scale?: number}} shown */
  function numberField(label, { value: before, placeholder, hints, scale = 1 }) {
    const id = uid('limit')
    const problem = h('p.problem', { hidden: true, id: `${id}-problem` }, t('limits.bad'))
    const input = h('input.input', { id, inputmode: 'decimal', autocomplete: 'off', value: before, 'aria-describedby': `${id}-problem`, placeholder })
    const el = h('div.field', null, h('label', { htmlFor: id }, label), input, h('p.hint', null, hints.join(' · ')), problem)

    function read() {
      const raw = input.value.trim().replace(',', '.')
      const value = Math.round(Number(raw) * scale)
      const ok = raw === '' || (Number.isSafeInteger(value) && value > 0)
      problem.hidden = ok
      return { ok, value: raw === '' ? undefined : value }
    }

    return { el, read, focus: () => input.focus() }
  }

  /** Which arguments of a tool are paths, addresses and command lines. @param {import('./types').App} app @param {string} name */
  function formatsIn(app, name) {
    const tool = [...(app.server.info()?.tools ?? []), ...(app.current.session.tools ?? [])].find((one) => one.name === name)
    return tool ? patterns.formatsOf(tool.parameters) : patterns.usual
  }

  /**
   * A rule made from a call: which of its arguments matter, and what they have to look like.
   * @param {any} place the card's form @param {Session} session
   * @param {{interrupt: Interrupt, tool: string, args: any, answer: (payload: any) => void}} asked
   * @param {Record<string, string>} formats
   */
  function builder(place, session, { interrupt, tool, args, answer }, formats) {
    place.querySelector('.rule')?.remove()
    const offered = patterns.suggest(args, formats)
    const told = h('p.hint', { role: 'status' })
    const rows = offered.map((one) => ruleRow(one, args, draw))
    const problem = h('p.problem', { hidden: true }, t('rule.misses'))
    const allow = h('button.button.primary', { type: 'button', onclick: give }, t('rule.allow'))
    const close = () => {
      el.remove()
      place.querySelector('.ask-actions .button')?.focus()
    }
    function give() {
      if (!patterns.covers({ tool, match: matchOf() }, tool, args, formats)) return rows[0]?.focus()
      answer({ approved: true, remember: 'session', ...(rows.length ? { match: matchOf() } : {}) })
    }
    const el = h('section.rule', { 'aria-label': t('rule.title', { tool }) }, h('h4', null, t('rule.title', { tool })),
      rows.length ? rows.map((row) => row.el) : h('p.hint', null, t('rule.noText')), told, problem,
      Object.values(formats).includes('shell-command') ? h('p.hint', null, t('rule.chains')) : null,
      h('div.ask-actions', null, allow,
        h('button.button.ghost', { type: 'button', onclick: close }, t('branch.cancel'))))

    /** @returns {Record<string, string>} */
    function matchOf() {
      return Object.fromEntries(rows.flatMap((row) => (row.on() ? [[row.key, row.pattern()]] : [])))
    }

    function draw() {
      const grant = { tool, match: matchOf() }
      const all = patterns.earlierCalls(session, grant, interrupt.call_id, formats)
      problem.hidden = patterns.covers(grant, tool, args, formats)
      allow.disabled = !problem.hidden
      text(told, Object.keys(grant.match).length ? t('rule.earlier', { n: all.length }) : t('rule.every', { tool, n: all.length }))
    }

    draw()
    place.append(el)
    el.querySelector('input')?.focus()
    el.scrollIntoView({ block: 'nearest' })
  }

  /** The pattern matches this call alone to begin with. @param {{key: string, pattern: string, exact: string, on: boolean}} offered @param {any} args @param {() => void} onchange */
  function ruleRow({ key, pattern, exact, on }, args, onchange) {
    const box = h('input', { type: 'checkbox', checked: on, onchange: toggle })
    const wider = h('button.button.small.ghost', { type: 'button', hidden: pattern === exact, onclick: () => { field.value = pattern; wider.hidden = true; field.focus(); onchange() } }, t('rule.wider', { pattern }))
    const field = h('textarea.input.mono', { value: exact, rows: Math.min(6, exact.split('\n').length), spellcheck: false, autocapitalize: 'off', autocomplete: 'off', 'aria-label': t('rule.pattern', { key }), disabled: !on, oninput: onchange })
    const el = h('div.rule-row', null, h('label.check', null, box, h('code', null, key)), field, wider)
    function toggle() {
      field.disabled = wider.disabled = !box.checked
      onchange()
    }
    return { key, el, on: () => box.checked, pattern: () => field.value, focus: () => field.focus() }
  }

  return { limitActions, setLimits }
})
