/**
 * What the page costs, in one browser: until it can be typed in, to open a long session, for a frame while an answer
 * streams in, for a key. The job: {url, rounds}. Each figure is a step of its own, with what it measured; work.mjs says
 * what a frame and a key are. The floor is the same in a page with nothing but a field and a line of text.
 *
 * What else the machine does adds some milliseconds to single keys and frames, in the floor as well. So all of it is done
 * `rounds` times, and the round with the least 99th counts: what the page itself does is in each of them.
 */
import { main } from "../browser/driver.mjs";
import { work } from "./work.mjs";

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
      await page.evaluate(forget);
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

  // As far away as another continent, over a phone's network; only Chromium can be made that slow.
  if (job.browser === "chromium") {
    await walk.step("slow network", async () => {
      const found = [];
      for (let round = 0; round < job.rounds; round += 1) {
        await page.evaluate(forget);
        const fresh = await walk.newPage();
        await fresh.setCacheEnabled(false);
        const line = await fresh.createCDPSession();
        await line.send("Network.enable");
        await line.send("Network.emulateNetworkConditions", { offline: false, latency: 300, downloadThroughput: 200_000, uploadThroughput: 94_000 });
        await fresh.goto(home);
        await fresh.waitForFunction(() => globalThis.typableMs > 0);
        found.push(await fresh.evaluate(() => globalThis.typableMs));
        await fresh.close();
      }
      return { slow_typable_ms: Math.round(Math.min(...found)) };
    });
  }

  await walk.step("long session", async () => {
    const tab = (walk.page = await walk.newPage());
    await tab.goto(home);
    await tab.waitForSelector(COMPOSER, { visible: true });
    await tab.waitForFunction(() => { try { return yaa.use("ui/storage-notices").context() } catch { return false } });
    await tab.evaluate(async (count) => {
      const words = "The **quick** brown fox jumps over `the lazy` dog.\n\n- one\n- two\n\n```js\nconst a = 1\n```\n";
      const messages = Array.from({ length: count }, (_, i) => (i % 2 ? { id: `m${i}`, role: "assistant", content: words } : { id: `m${i}`, role: "user", content: `Question ${i}` }));
      await (await yaa.use("io/store-idb").open()).put({ id: "long", title: "Long", messages });
    }, LONG);
    const open_ms = await tab.evaluate(async () => {
      const begun = performance.now();
      await yaa.use("ui/storage-notices").context().actions.open("long");
      await new Promise((resolve) => { const look = () => (document.querySelectorAll("article.message").length > 100 ? requestAnimationFrame(() => setTimeout(resolve)) : requestAnimationFrame(look)); look(); });
      return performance.now() - begun;
    });
    // the rest of it is built while nothing else is to be done
    await tab.waitForFunction((count) => document.querySelectorAll("article.message").length >= count, { polling: 250 }, LONG);
    return { open_ms: Math.round(open_ms) };
  });

  // 137 keys: of fewer than a hundred, the hundredth part would be the worst one alone
  const WORDS = "typing in a session of five thousand messages ".repeat(3).trim();
  const type = (tab, selector) => work(job.browser, tab, () => tab.type(selector, WORDS, { delay: 30 }));

  await walk.step("key", async () => best(job.rounds, async () => {
    await walk.page.click(COMPOSER, { count: 3 });
    await walk.page.keyboard.press("Backspace");
    return figures("key_ms", (await type(walk.page, COMPOSER)).keys);
  }));

  for (const [name, id] of [["streaming", ""], ["streaming in a long session", "#s=long"]]) {
    await walk.step(name, async () => best(job.rounds, async () => {
      const tab = await walk.newPage();
      await tab.goto("about:blank");
      await tab.goto(home + id);
      await tab.waitForSelector(COMPOSER, { visible: true });
      if (id) await tab.waitForFunction((count) => document.querySelectorAll("article.message").length >= count, { polling: 250 }, LONG);
      await tab.type(COMPOSER, "bench tokens=600 delay_us=8000");
      await tab.keyboard.press("Enter");
      await tab.waitForSelector("article[aria-busy=true]");
      const { frames } = await work(job.browser, tab, () => tab.waitForFunction(() => (
        (document.querySelector(".chunk:last-child > .message:last-child").textContent.match(/@\d+@/g)?.length ?? 0) > 500
      ), { polling: 500 }));
      await tab.close();
      return figures("frame_ms", frames);
    }));
  }

  await walk.step("floor", async () => best(job.rounds, async () => {
    const tab = await walk.newPage();
    await tab.goto("about:blank");
    await tab.evaluate(() => document.body.append(document.createElement("textarea"), document.createElement("p")));
    await tab.focus("textarea");
    const { keys } = await type(tab, "textarea");
    const { frames } = await work(job.browser, tab, () => tab.evaluate(async () => {
      for (let word = 0; word < 150; word += 1) {
        document.querySelector("p").append(`@${word}@ `);
        await new Promise(requestAnimationFrame);
      }
    }));
    await tab.close();
    return { ...figures("key_ms", keys), ...figures("frame_ms", frames) };
  }));
});

/** The round in which the 99th was the least, of each kind. */
async function best(rounds, measure) {
  const least = {};
  for (let round = 0; round < rounds; round += 1) {
    const found = await measure();
    for (const name of Object.keys(found).filter((one) => one.endsWith("_p99"))) {
      if (found[name] >= least[name]) continue;
      const half = name.replace("_p99", "_p50");
      Object.assign(least, { [half]: found[half], [name]: found[name] });
    }
  }
  return least;
}

/** Half of them, and the hundredth. */
function figures(name, values) {
  const sorted = values.sort((a, b) => a - b);
  const at = (share) => Number(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))].toFixed(1));
  return { [`${name}_p50`]: at(0.5), [`${name}_p99`]: at(0.99) };
}

/** In the page: what is kept of it goes, so that the next one comes over the network, as for somebody who has never been here. */
async function forget() {
  const workers = (await navigator.serviceWorker?.getRegistrations()) ?? [];
  await Promise.all(workers.map((one) => one.unregister()));
  await Promise.all((await caches.keys()).map((name) => caches.delete(name)));
}
