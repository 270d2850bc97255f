// Try a provider before it is kept: the server asks it for its models, and the page shows them to be chosen from.

yaa.define('ui/server/trial', ['ui/dom', 'ui/server/i18n', 'ui/server/parts'], ({ h, fill, uid }, { t, count, duration, language }, { busy, problemLine }) => {
  /** Models of a vendor with many are narrowed by typing. */
  const MOST_SHOWN = 300

  /**
   * @param {{routes: any}} store
   * @param {{label: string, what: () => any, onModels?: (found: any) => void, onCandidates?: (vendors: Vendor[]) => void}} given
   *   `what`: as `POST /settings/try/provider` takes it; null: nothing to try yet. `onCandidates`: nobody was asked, for
   *   the key may be of any of these
   */
  function trialView(store, { label, what, onModels = () => {}, onCandidates }) {
    const note = problemLine()
    const said = h('p.hint', { role: 'status' })
    const press = h('button.button', { type: 'button', onclick: run }, label)
    /** @type {AbortController | null} */ let going = null

    /** @returns {Promise<any>} what was found, null where it did not work */
    async function run() {
      const wanted = what()
      if (!wanted) return null
      going?.abort()
      const mine = going = new AbortController()
      /** @type {any} */ let found = null
      fill(said, h('span.spinner'), ' ', t('host.try.going'))
      await busy(press, note, async () => {
        found = await store.routes.tryProvider(wanted, mine.signal)
        if (!found.ok && onCandidates && found.candidates?.length) return onCandidates(found.candidates)
        if (!found.ok) throw new Error(found.problem?.detail ?? t('host.try.failed'))
      }).finally(() => fill(said))
      if (!note.hidden || !found?.ok || mine !== going) return null
      fill(said, t('host.try.works', { n: found.models?.length ?? 0, time: duration(found.took_ms ?? 0) }))
      onModels(found)
      return found
    }

    function end() {
      going?.abort()
      going = null
      note.hidden = true
      fill(said)
    }

    return { press, note, said, run, end }
  }

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

  return { trialView, factsOf, offersOf }
})
