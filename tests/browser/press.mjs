/**
 * One press of the mouse: it lands on what it is aimed at, or the page does not hear of it.
 *
 * A page moves while a walk measures it: a card comes, a count makes a button wider. So the place is measured when it was the
 * same in two frames and nothing covers it; and what the press lands on is judged before the page hears it. A press that
 * lands on something else is taken back, and aimed anew. What moves away each time, or is covered to the end, fails with a
 * sentence that names it.
 */

/** Presses in a row that landed on something else: the page moves because the pointer comes. */
const MISSES = 3;

/**
 * In the page: waits until the wanted element can be pressed, makes ready to judge the press, and answers the place.
 * `globalThis.walkAim` says what is in the way, and what the press landed on. `offset`: from the element's corner, not its middle.
 */
async function take(element, css, words, offset) {
  const aim = (globalThis.walkAim = { end: globalThis.walkAim?.end });
  aim.end?.();
  const name = (one) => (one?.cloneNode ? `${one.cloneNode(false).outerHTML ?? one.nodeName} "${(one.textContent ?? "").trim().slice(0, 60)}"` : "nothing of this page");
  // A page behind another one draws no frames.
  const frame = () => new Promise((resolve) => (requestAnimationFrame(resolve), setTimeout(resolve, 100)));
  /** What is closed to selectors of the page: the shadow trees of widgets. */
  const closed = () => [...document.querySelectorAll("div")].flatMap((one) => one.shadowRoot ?? []);
  let wanted;
  const isWanted = (at) => {
    for (let one = at; one; one = one.parentNode ?? one.host) if (one === wanted) return true;
    return at?.closest?.("label")?.control === wanted;
  };
  const place = () => JSON.stringify(wanted.getBoundingClientRect());
  const look = async () => {
    const all = element ? [element] : [...document.querySelectorAll(css)];
    if (!all.length) all.push(...closed().flatMap((root) => [...root.querySelectorAll(css)]));
    // What is out of sight and not laid out has no innerText in Firefox; it is scrolled to.
    const named = all.filter((one) => words === null || `${one.innerText || one.textContent} ${one.getAttribute("aria-label") ?? ""}`.includes(words));
    const shown = named.filter((one) => one.getClientRects().length);
    wanted = shown.find((one) => !one.disabled);
    if (!wanted) return shown.length ? "it is disabled" : named.length ? "it is not shown" : all.length ? `none of ${all.length} says so` : "there is none";
    wanted.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
    await frame();
    const before = place();
    await frame();
    if (place() !== before) return "it moves";
    const { left, top, right, bottom } = [...wanted.getClientRects()].find((box) => box.width >= 1 && box.height >= 1) ?? wanted.getBoundingClientRect();
    const [x, y] = offset
      ? [left + offset.x, top + offset.y]
      : [(Math.max(left, 0) + Math.min(right, innerWidth)) / 2, (Math.max(top, 0) + Math.min(bottom, innerHeight)) / 2];
    const over = wanted.getRootNode().elementFromPoint(x, y);
    if (isWanted(over)) return { x, y };
    wanted.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
    return `it is covered by ${name(over)}`;
  };
  aim.first = look();
  let at = await aim.first;
  while (typeof at === "string") {
    if (globalThis.walkAim !== aim) return null; // nobody waits for it any more
    aim.why = at;
    await frame();
    at = await look();
  }

  const kinds = ["pointerdown", "mousedown", "pointerup", "mouseup", "click"];
  const judge = (event) => {
    if (!event.isTrusted) return;
    const [hit] = event.composedPath();
    aim.other ??= isWanted(hit) ? "" : name(hit);
    if (!aim.other) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  for (const kind of kinds) addEventListener(kind, judge, true);
  aim.end = () => kinds.forEach((kind) => removeEventListener(kind, judge, true));
  aim.isOver = () => wanted.matches(":hover");
  return at;
}

/** Waits for the place of what is wanted: `wanted` is {element} or {css}, {words} that it says, and an {offset} in it. */
async function find(page, { element = null, css = "", words = null, offset = null }) {
  try {
    const place = await page.waitForFunction(take, {}, element, css, words, offset);
    return await place.jsonValue();
  } catch (error) {
    if (error?.name !== "TimeoutError") throw error;
    const why = await page.evaluate(async () => (await globalThis.walkAim?.first, globalThis.walkAim?.why)).catch(() => "");
    throw new Error(`${JSON.stringify(words ?? css)} cannot be pressed: ${why || "the page does not answer"}`);
  }
}

/** Presses it. `options` are those of the mouse: count, delay, button; and `offset`. */
export async function press(page, wanted, { offset, ...options } = {}) {
  const others = [];
  while (others.length < MISSES) {
    const { x, y } = await find(page, { ...wanted, offset });
    await page.mouse.click(x, y, options);
    // A press may bring another page, which knows of no aim.
    const other = await page.evaluate(() => (globalThis.walkAim?.end?.(), globalThis.walkAim ? globalThis.walkAim.other ?? "nothing of this page" : "")).catch(() => "");
    if (!other) return;
    others.push(other);
  }
  throw new Error(`${JSON.stringify(wanted.words ?? wanted.css)} moves away when it is pressed: the presses landed on ${others.join(", ")}`);
}

/** Has the pointer over it. */
export async function hover(page, wanted) {
  for (;;) {
    const { x, y } = await find(page, wanted);
    await page.mouse.move(x, y);
    if (await page.evaluate(() => (globalThis.walkAim?.end?.(), globalThis.walkAim?.isOver?.()))) return;
  }
}
