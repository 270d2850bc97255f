// How the server is: its sandbox and why it is no stronger, whether it uses what the file says, what its owner has to fix,
// and its last runs.

yaa.define('ext/server/state', ['ui/dom', 'ext/server/texts', 'ext/server/parts', 'core/usage'], ({ h, fill, text, icon }, { t, count, duration, moment, language }, { problemLine, attempt }, { money }) => {
  /** What stops the page from changing anything, or waits for a start. @param {string} [about] part of the server; without it all is said but what stands in a folder's row */
  function notices(about) {
    const el = h('div.stack', { role: 'status' })

    /** @param {any} settings */
    function update({ writable, why, opens_host: opensHost, reload = {}, fixed = [], problems = {} }) {
      const wrong = Object.entries(problems).flatMap(([part, lines]) => ((about ? about !== part : part === 'folders') ? [] : lines.map((/** @type {string} */ line) => `${part}: ${line}`)))
      fill(el,
        writable === false ? h('p.problem', null, t('host.readOnly'), ' ', why ?? '') : null,
        reload.state === 'failed' ? h('p.problem', null, t('host.reload.failed', { detail: [reload.detail ?? []].flat().join(' · ') })) : null,
        reload.state === 'loading' ? h('p.hint', null, h('span.spinner'), ' ', t('host.reload.loading')) : null,
        reload.later?.length ? h('p.hint', null, t('host.reload.later', { names: reload.later.join(', ') })) : null,
        opensHost === false ? h('p.hint', null, t('host.notFromHere')) : null,
        fixed.length && !about ? h('p.hint', null, t('host.fixedKeys', { names: fixed.join(', ') })) : null,
        wrong.length ? h('details.connect-more', null, h('summary', null, icon('alert'), t('host.problems', { n: wrong.length })), h('ul.host-problems', null, wrong.map((line) => h('li', null, line)))) : null)
    }

    return { el, update }
  }

  /** @param {any} store */
  function sandboxPart(store) {
    const el = h('div.host-part')

    /** @param {any} settings */
    function update({ sandbox = {} }) {
      const list = (/** @type {string} */ title, /** @type {any} */ lines) => (lines.length ? [h('h3', null, t(title)), h('ul.host-problems', null, lines.map((/** @type {any} */ line) => h('li', null, String(line))))] : null)
      const tried = Array.isArray(sandbox.tried) ? sandbox.tried : Object.entries(sandbox.tried ?? {}).map(([tier, why]) => `${tier}: ${why}`)
      fill(el, h('p', null, h('b', null, t('host.sandbox.tier', { tier: sandbox.tier ?? '?', require: sandbox.require ?? '?' }))), h('p.hint', null, t('host.sandbox.lead')),
        list('host.sandbox.missing', sandbox.missing ?? []) ?? h('p.hint', null, t('host.sandbox.strongest')), list('host.sandbox.tried', tried), list('host.sandbox.withheld', sandbox.withheld ?? []))
    }

    return { el, update }
  }

  const COLUMNS = ['at', 'who', 'end', 'agent', 'model', 'steps', 'calls', 'tokens', 'cost', 'time', 'id']

  /** @param {any} store */
  function runsPart(store) {
    const note = problemLine()
    const none = h('p.hint', { hidden: true }, t('host.runs.none'))
    const body = h('tbody')
    const table = h('div.host-scroll', { tabIndex: 0, role: 'region', 'aria-label': t('host.runs.lead') }, h('table.host-table', null, h('thead', null, h('tr', null, COLUMNS.map((one) => h('th', { scope: 'col' }, t(`host.runs.${one}`))))), body))
    const el = h('div.host-part', null, h('p.hint', null, t('host.runs.lead')), table, none, note, h('div', null, h('button.button', { type: 'button', onclick: () => attempt(note, read) }, icon('retry'), t('host.runs.read'))))
    let asked = false

    async function read() {
      const found = await store.routes.runs()
      const runs = [...found?.active ?? [], ...Array.isArray(found) ? found : found?.runs ?? []]
      fill(body, runs.map(rowOf))
      table.hidden = !runs.length
      none.hidden = runs.length > 0
    }

    /** @param {string} run */
    async function end(run) {
      const { stopped } = await store.routes.endRun(run)
      await read()
      if (stopped === false) throw new Error(t('host.runs.notStopped'))
    }

    /** @param {any} run one that goes on has no end yet */
    function rowOf(run) {
      const going = !run.status && !run.finish_reason && !run.code && run.ms === undefined
      const button = () => h('button.button', { type: 'button', 'aria-label': t('host.runs.stopOf', { name: run.key_name ?? '' }), onclick: () => attempt(note, () => end(run.run)) }, t('host.runs.stop'))
      const cells = [
        Number.isFinite(run.at) ? moment(run.at) : '', run.key_name, going ? button() : [run.status, run.finish_reason !== run.status && run.finish_reason, run.code].filter(Boolean).join(' · '), run.agent, run.model,
        number(run.model_calls), number(run.tool_calls), number(run.total_tokens ?? (run.prompt_tokens ?? 0) + (run.completion_tokens ?? 0)),
        run.cost_micro ? money(run.cost_micro, run.cost_unit ?? '', language()) : '', Number.isFinite(run.ms) ? duration(run.ms) : '', run.run,
      ]
      return h('tr', null, cells.map((one) => h('td', null, one ?? '')))
    }

    return { el, update: () => { if (!asked) asked = Boolean(attempt(note, read)) } }
  }

  /** @param {any} value */
  const number = (value) => (Number.isFinite(value) ? count(value) : '')

  return { notices, sandboxPart, runsPart }
})
