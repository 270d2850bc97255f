/** What moves on a page by itself, as the browser measures it, and which things moved that can be pressed. */

/** In a page, before its scripts. */
function watch() {
  const moves = (globalThis.pageMoves = []);
  if (globalThis.PerformanceObserver?.supportedEntryTypes.includes("layout-shift")) {
    const sees = (list) => list.getEntries().forEach(({ value, sources }) => sources.forEach(({ node }) => {
      // the page's own box gets its margins with the first styles, before anything is in it
      if (node && node !== document.body) moves.push(`${node.className || node.nodeName} (${value.toFixed(4)})`);
    }));
    new PerformanceObserver(sees).observe({ type: "layout-shift", buffered: true });
  }
  const places = new WeakMap();
  const look = () => {
    for (const one of document.querySelectorAll("button, a, summary, select, textarea, input")) {
      const { x, y, width, height } = one.getBoundingClientRect();
      const place = width ? [x, y, width, height].map(Math.round).join() : undefined;
      const before = places.get(one);
      if (before && place && before !== place) moves.push(`${one.className} ${one.ariaLabel ?? one.textContent.trim()}: ${before} is ${place}`);
      places.set(one, place);
    }
    requestAnimationFrame(() => setTimeout(look)); // what was painted, not what is drawn for the next frame
  };
  requestAnimationFrame(() => setTimeout(look));
}

/** Watches a page from its next document on. @returns {() => Promise<string[]>} what has moved since it was asked last */
export async function watchMoves(page) {
  await page.evaluateOnNewDocument(watch);
  return () => page.evaluate(() => globalThis.pageMoves.splice(0));
}
