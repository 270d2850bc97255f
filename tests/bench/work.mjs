/**
 * How much a page works: for each frame, and for each key. Both in ms, without the time spent waiting for the processor
 * where the browser tells it apart.
 *
 * Chromium: a trace of the renderer's main thread, whose tasks carry the processor's own time (`tdur`). A frame is the task
 * that lays out and paints; a key is all there is to do from its event to the frame that shows it. Categories are few on
 * purpose: `disabled-by-default-devtools.timeline` counts all nodes of the page with every frame, which with 5,000 messages
 * added 5 ms that no reader ever waits for.
 * Firefox: the clock of the page, from the event or the first callback of the frame to the first task behind it.
 */
const CATEGORIES = ["-*", "toplevel", "devtools.timeline"];

/** @returns {Promise<{frames: number[], keys: number[]}>} what the page worked while `does` went on */
export async function work(browser, tab, does) {
  return browser === "chromium" ? traced(tab, does) : stamped(tab, does);
}

async function traced(tab, does) {
  await tab.tracing.start({ categories: CATEGORIES });
  await does();
  const { traceEvents } = JSON.parse(new TextDecoder().decode(await tab.tracing.stop()));
  const mine = mainThread(traceEvents);
  const tasks = mine.filter(({ name, ph }) => name === "ThreadControllerImpl::RunTask" && ph === "X");
  const during = (at) => tasks.find(({ ts, dur }) => ts <= at && at <= ts + dur);
  const drawn = [...new Set(mine.filter(({ name }) => name === "Layerize").map(({ ts }) => during(ts)).filter(Boolean))];
  const keys = [];
  const events = mine.filter(({ name }) => name === "EventDispatch");
  for (const { ts } of events.filter(({ args }) => args.data?.type === "keydown")) {
    const input = events.find((one) => one.ts >= ts && one.args.data?.type === "input");
    const shown = drawn.find((one) => input && one.ts > input.ts);
    if (shown) keys.push(sum(tasks.filter((one) => one.ts + one.dur > ts && one.ts <= shown.ts)));
  }
  return { frames: drawn.map((one) => sum([one])), keys };
}

/** The events of the page that drew most, in order. */
function mainThread(events) {
  const thread = ({ pid, tid }) => `${pid} ${tid}`;
  const main = new Set(events.filter((one) => one.name === "thread_name" && one.args.name === "CrRendererMain").map(thread));
  const counts = new Map();
  for (const one of events) if (one.name === "Layerize" && main.has(thread(one))) counts.set(thread(one), (counts.get(thread(one)) ?? 0) + 1);
  const [busiest] = [...counts].sort((a, b) => b[1] - a[1])[0] ?? [];
  return events.filter((one) => thread(one) === busiest).sort((a, b) => a.ts - b.ts);
}

const sum = (tasks) => tasks.reduce((all, { tdur, dur }) => all + (tdur ?? dur), 0) / 1000;

async function stamped(tab, does) {
  await tab.evaluate(() => {
    const found = (globalThis.worked = { frames: [], keys: [] });
    const { port1, port2 } = new MessageChannel();
    const after = [];
    port1.onmessage = () => after.splice(0).forEach((one) => one());
    let begun = 0;
    addEventListener("keydown", () => { begun = performance.now(); }, true);
    addEventListener("input", () => {
      const script = performance.now() - begun;
      requestAnimationFrame((now) => {
        const frame = performance.now();
        after.push(() => found.keys.push(script + performance.now() - frame));
        port2.postMessage(now);
      });
    });
    const each = () => {
      const frame = performance.now();
      after.push(() => found.frames.push(performance.now() - frame));
      port2.postMessage(0);
      found.next = requestAnimationFrame(each);
    };
    found.next = requestAnimationFrame(each);
  });
  await does();
  return tab.evaluate(() => {
    cancelAnimationFrame(globalThis.worked.next);
    return { frames: globalThis.worked.frames, keys: globalThis.worked.keys };
  });
}
