/**
 * What the page costs, in one browser: until it can be typed in, to open a long session, for a frame while an answer
 * streams in, for a key. The job: {url, rounds}. Each figure is a step of its own, with what it measured.
 *
 * Work of a frame is from the first callback of the frame to the first task behind it: scripts, style, layout, paint.
 */
import { main } from "../browser/driver.mjs";

const COMPOSER = "form.composer textarea";
const LONG = 5000;

await main(async (walk, job) => {
  const { page } = walk;
  const home = job.url.split("#")[0];

  await walk.step("sign in", async () => {
    await page.goto(job.url);
    await page.waitForSelector(COMPOSER, { visible: true });
  });

  await walk.step("cold start", async () => {
    const found = [];
    for (let round = 0; round < job.rounds; round += 1) {
      const fresh = await walk.newPage();
      await fresh.setCacheEnabled(false);
      await fresh.goto(home);
      await fresh.waitForFunction(() => globalThis.typableMs > 0);
      found.push(await fresh.evaluate(() => {
        const files = performance.getEntriesByType("resource").filter((one) => one.startTime < globalThis.typableMs && /\.(?:js|css|html)$/.test(one.name));
        return { ms: globalThis.typableMs, requests: files.length + 1, kb: (files.reduce((sum, one) => sum + one.decodedBodySize, 0) + performance.getEntriesByType("navigation")[0].decodedBodySize) / 1024 };
      }));
      await fresh.close();
    }
    found.sort((a, b) => a.ms - b.ms);
    return { typable_ms: Math.round(found[0].ms), requests: found[0].requests, kb: Math.round(found[0].kb) };
  });

  await walk.step("long session", async () => {
    const tab = (walk.page = await walk.newPage());
    await tab.goto(home);
    await tab.waitForSelector(COMPOSER, { visible: true });
    await tab.waitForFunction(() => { try { return yaa.use("ui/ground").context() } catch { return false } });
    await tab.evaluate(async (count) => {
      const words = "The **quick** brown fox jumps over `the lazy` dog.\n\n- one\n- two\n\n```js\nconst a = 1\n```\n";
      const messages = Array.from({ length: count }, (_, i) => (i % 2 ? { id: `m${i}`, role: "assistant", content: words } : { id: `m${i}`, role: "user", content: `Question ${i}` }));
      await (await yaa.use("io/store-idb").open()).put({ id: "long", title: "Long", messages });
    }, LONG);
    const open_ms = await tab.evaluate(async () => {
      const begun = performance.now();
      await yaa.use("ui/ground").context().actions.open("long");
      await new Promise((resolve) => { const look = () => (document.querySelectorAll("article.message").length > 100 ? requestAnimationFrame(() => setTimeout(resolve)) : requestAnimationFrame(look)); look(); });
      return performance.now() - begun;
    });
    // the rest of it is built while nothing else is to be done
    await tab.waitForFunction((count) => document.querySelectorAll("article.message").length >= count, { polling: 250 }, LONG);
    return { open_ms: Math.round(open_ms) };
  });

  await walk.step("key", async () => {
    const tab = walk.page;
    await tab.evaluate(() => {
      globalThis.keys = [];
      let begun = 0;
      addEventListener("keydown", () => { begun = performance.now(); }, true);
      addEventListener("input", () => {
        const script = performance.now() - begun;
        requestAnimationFrame(() => {
          const frame = performance.now();
          const { port1, port2 } = new MessageChannel();
          port1.onmessage = () => globalThis.keys.push(script + performance.now() - frame);
          port2.postMessage(null);
        });
      });
    });
    await tab.click(COMPOSER);
    const words = "typing in a session of five thousand messages";
    const spent = await processor(walk, tab, () => tab.type(COMPOSER, words, { delay: 30 }));
    return { ...figures("key_ms", await tab.evaluate(() => globalThis.keys)), ...(spent ? { key_cpu_ms: round(spent / words.length) } : {}) };
  });

  for (const [name, id] of [["streaming", ""], ["streaming in a long session", "#s=long"]]) {
    await walk.step(name, async () => {
      const tab = await walk.newPage();
      await tab.goto("about:blank");
      await tab.goto(home + id);
      await tab.waitForSelector(COMPOSER, { visible: true });
      if (id) await tab.waitForFunction((count) => document.querySelectorAll("article.message").length >= count, { polling: 250 }, LONG);
      await tab.type(COMPOSER, "bench tokens=600 delay_us=8000");
      await tab.evaluate(() => {
        globalThis.frames = [];
        const { port1, port2 } = new MessageChannel();
        let begun = 0;
        port1.onmessage = () => globalThis.frames.push(performance.now() - begun);
        const each = () => { begun = performance.now(); port2.postMessage(null); requestAnimationFrame(each); };
        globalThis.watch = () => requestAnimationFrame(each);
      });
      await tab.keyboard.press("Enter");
      await tab.waitForFunction(() => document.querySelector("article[aria-busy=true]"));
      await tab.evaluate(() => globalThis.watch());
      const spent = await processor(walk, tab, () => tab.waitForFunction(() => (
        ([...document.querySelectorAll("article.message")].at(-1)?.textContent.match(/@\d+@/g)?.length ?? 0) > 400
      ), { polling: 250 }));
      const frames = await tab.evaluate(() => globalThis.frames);
      const found = { ...figures("frame_ms", frames), ...(spent ? { frame_cpu_ms: round(spent / frames.length) } : {}) };
      await tab.close();
      return found;
    });
  }
});

/** What the page's thread worked meanwhile, in ms of the processor, which other programs do not stretch; Chromium tells. */
async function processor(walk, tab, does) {
  if (walk.job.browser !== "chromium") return void (await does());
  const session = await tab.createCDPSession();
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const spent = async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    return (metrics.find(({ name }) => name === "TaskDuration")?.value ?? 0) * 1000;
  };
  const before = await spent();
  await does();
  return (await spent()) - before;
}

function round(ms) {
  return Number(ms.toFixed(1));
}

/** Half of them, and the hundredth. */
function figures(name, values) {
  const sorted = values.sort((a, b) => a - b);
  const at = (share) => Number(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))].toFixed(1));
  return { [`${name}_p50`]: at(0.5), [`${name}_p99`]: at(0.99), count: sorted.length };
}
