// What is on the screen: work on an article that nobody looks at waits until it is looked at. The browser says when
// it begins to render one; asking it (checkVisibility) would have it style all the others.

yaa.define('ui/seen', [], () => {
  /** Articles the browser renders. @type {WeakSet<Element>} */
  const rendered = new WeakSet()
  /** What is to be done in an article once it is rendered, or is not any more. @typedef {WeakMap<Element, Map<Element, () => void>>} Works */
  const [onShow, onSkip] = [/** @type {Works} */ (new WeakMap()), /** @type {Works} */ (new WeakMap())]
  /** What was asked for since the last frame: its article is known when it is in the page. @type {Map<Element, () => void>} */
  let asked = new Map()

  /**
   * Does `work` with the next frame if `el` is on the screen, and otherwise when it gets there; of several only the last.
   * What is in no article counts as seen.
   * @param {Element} el @param {() => void} work
   */
  function whenSeen(el, work) {
    if (!asked.size) requestAnimationFrame(sort)
    asked.set(el, work)
  }

  function sort() {
    const all = asked
    asked = new Map()
    for (const [el, work] of all) {
      const article = el.closest('.message')
      if (!article || rendered.has(article)) work()
      else remember(onShow, article, el, work)
    }
  }

  /** Does `work` once, when what is seen of `el` is passed over again. @param {Element} el @param {() => void} work */
  function whenGone(el, work) {
    const article = el.closest('.message')
    if (article) remember(onSkip, article, el, work)
  }

  /** @param {Works} works @param {Element} article @param {Element} el @param {() => void} work */
  function remember(works, article, el, work) {
    if (!works.has(article)) works.set(article, new Map())
    works.get(article)?.set(el, work)
  }

  // on its way down: in Firefox it does not come up again
  document.addEventListener('contentvisibilityautostatechange', (event) => {
    const { skipped, target } = /** @type {any} */ (event)
    if (target.matches('.chunk')) target.toggleAttribute('data-near', !skipped)
    if (!target.matches('.message')) return
    if (skipped) rendered.delete(target)
    else rendered.add(target)
    const works = skipped ? onSkip : onShow
    const due = works.get(target)
    works.delete(target)
    for (const work of due?.values() ?? []) work()
  }, true)

  return { whenSeen, whenGone }
})
