// Delays work on an article until the browser renders it. The browser reports that; to ask it (checkVisibility) would
// style all other articles.

yaa.define('ui/render-visibility', [], () => {
  /** Articles the browser renders. @type {WeakSet<Element>} */
  const rendered = new WeakSet()
  /** What is to be done in an article once it is rendered. @type {WeakMap<Element, Map<Element, () => void>>} */
  const onShow = new WeakMap()
  /** Work since the last frame: its article is known once it is in the page. @type {Map<Element, () => void>} */
  let asked = new Map()

  /**
   * Do `work` with the next frame once `el` is rendered; of several only the last. Outside of articles: at once.
   * @param {Element} el @param {() => void} work
   */
  function whenRendered(el, work) {
    if (!asked.size) requestAnimationFrame(sort)
    asked.set(el, work)
  }

  function sort() {
    const all = asked
    asked = new Map()
    for (const [el, work] of all) {
      const article = el.closest('.message')
      if (!article || rendered.has(article)) work()
      else remember(article, el, work)
    }
  }

  /** @param {Element} article @param {Element} el @param {() => void} work */
  function remember(article, el, work) {
    if (!onShow.has(article)) onShow.set(article, new Map())
    onShow.get(article)?.set(el, work)
  }

  // on its way down: in Firefox it does not come up again
  document.addEventListener('contentvisibilityautostatechange', (event) => {
    const { skipped, target } = /** @type {any} */ (event)
    if (target.matches('.chunk')) target.toggleAttribute('data-near', !skipped)
    if (!target.matches('.message')) return
    if (skipped) return rendered.delete(target)
    rendered.add(target)
    const due = onShow.get(target)
    onShow.delete(target)
    for (const work of due?.values() ?? []) work()
  }, true)

  return { whenRendered }
})
