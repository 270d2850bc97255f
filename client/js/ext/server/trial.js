// Try a provider before it is kept: the server asks it for its models, and the page shows them to be chosen from.

yaa.define('ext/server/trial', ['ui/dom', 'ext/server/texts', 'ext/server/parts'], ({ h, fill, uid }, { t, count, duration, language }, { busy, problemLine }) => {
  /** Models of a vendor with many are narrowed by typing. */
  const MOST_SHOWN = 300

  /**
   * A button by which the server tries something; pressed again, it gives up what it tried before.
   * @param {{label: string, going: string, what: () => any, ask: (wanted: any, signal: AbortSignal) => Promise<any>, show: (found: any) => any, then?: (found: any) => void}} given
   *   `what`: null while there is nothing to try; `ask`: throws what is said, and finds null where there is nothing to show
   */
  function trialOf({ label, going, what, ask, show, then = () => {} }) {
    const note = problemLine()
    const said = h('div', { role: 'status' })
    const press = h('button.button', { type: 'button', onclick: run }, label)
    /** @type {AbortController | null} */ let current = null

    async function run() {
      const wanted = what()
      if (!wanted) return
      current?.abort()
      const mine = current = new AbortController()
      /** @type {any} */ let found = null
      fill(said, h('p.hint', null, h('span.spinner'), ' ', going))
      await busy(press, note, async () => { found = await ask(wanted, mine.signal) })
      if (mine !== current) return
      fill(said, found && show(found))
      if (found) then(found)
    }

    function end() {
      current?.abort()
      current = null
      note.hidden = true
      fill(said)
    }

    return { press, note, said, run, end }
  }

  /**
   * @param {{routes: any}} store
   * @param {{label: string, what: () => any, onModels?: (found: any) => void, onCandidates?: (vendors: Vendor[]) => void}} given
   *   `what`: as `POST /settings/try/provider` takes it, or `…/key`. `onCandidates`: nobody was asked, for the key may be of any of these
   */
  const trialView = (store, { label, what, onModels, onCandidates }) => trialOf({
    label, what, then: onModels, going: t('host.try.going'),
    async ask(wanted, signal) {
      const found = await store.routes.tryProvider(wanted, signal)
      if (!found.ok && onCandidates && found.candidates?.length) return void onCandidates(found.candidates)
      if (!found.ok) throw new Error(found.problem?.detail ?? t('host.try.failed'))
      return found
    },
    show: (found) => h('p.hint', null, t('host.try.works', { n: found.models?.length ?? 0, time: duration(found.took_ms ?? 0) })),
  })

  /** @param {any} model @returns {string} its window and price, where they are known */
  function factsOf({ window, price }) {
    const prices = price && typeof price === 'object' ? [price.input, price.output].map((one) => (Number.isFinite(one) ? money(one * 1000) : '?')).join(' / ') : ''
    return [window ? t('host.window', { n: count(window) }) : '', prices && t('host.price', { prices })].filter(Boolean).join(' · ')
  }

  /** @param {number} amount */
  const money = (amount) => amount.toLocaleString(language(), { maximumSignificantDigits: 3 })

  /** A field with the models as offers. @param {any} input whose `list` they become */
  function offersOf(input) {
    const id = uid('models')
    const el = h('datalist', { id })
    input.setAttribute('list', id)
    return { el, write: (/** @type {any[]} */ models) => fill(el, models.slice(0, MOST_SHOWN).map((one) => h('option', { value: one.name }, factsOf(one)))) }
  }

  return { trialOf, trialView, factsOf, offersOf }
})
