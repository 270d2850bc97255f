/**
 * A long session is sent whole once, then only what is new; a server that has forgotten it gets it whole, and nobody sees
 * that. The job: {url}.
 */
import { main } from "./driver.mjs";

const COMPOSER = "form.composer textarea";
const MANY = 60;

await main(async (walk, job) => {
  const { page } = walk;

  await walk.step("a long session from before", async () => {
    await page.goto(job.url);
    await page.waitForSelector(COMPOSER, { visible: true });
    await page.waitForFunction(() => { try { return yaa.use("ui/storage-notices").context() } catch { return false } });
    await page.evaluate(async (count) => {
      const messages = Array.from({ length: count }, (_, i) => ({ id: `m${i}`, role: i % 2 ? "assistant" : "user", content: `Words ${i} é😀`, at: i }));
      await (await yaa.use("io/store-idb").open()).put({ id: "long", title: "Long", messages });
      await yaa.use("ui/storage-notices").context().actions.open("long");
      const { fetch } = globalThis;
      globalThis.posts = [];
      globalThis.fetch = async (address, options) => {
        const body = options?.body && String(address).endsWith("/session") ? JSON.parse(options.body) : null;
        if (body && globalThis.forgotten && body.base) body.base.digest = "0".repeat(32); // as of another one
        const response = await fetch(address, body ? { ...options, body: JSON.stringify(body) } : options);
        if (body) globalThis.posts.push([response.status, body.base?.messages ?? 0, body.messages.length]);
        return response;
      };
    }, MANY);
  });

  let turn = 0;
  const say = async () => {
    turn += 1;
    await page.type(COMPOSER, "bench tokens=3 delay_us=0");
    await page.keyboard.press("Enter");
    await page.waitForFunction((count) => document.querySelectorAll("article.message").length === count && !document.querySelector(".feed[aria-busy=true]"), {}, MANY + 2 * turn);
  };
  /** The status, the base and the further messages of each POST so far. */
  const posts = async (...wanted) => {
    const found = JSON.stringify(await page.evaluate(() => globalThis.posts));
    if (found !== JSON.stringify(wanted)) throw new Error(`${found}, not ${JSON.stringify(wanted)}`);
  };
  await walk.step("once whole, then what is new", async () => {
    await say();
    await posts([200, 0, MANY + 1]);
    // the digests of 62 messages are worked out between the keys of what is typed next
    await page.waitForFunction(() => { try { return yaa.use("io/session-base") } catch { return false } });
    await say();
    await posts([200, 0, MANY + 1], [200, MANY + 2, 1]);
  });

  await walk.step("a server that has forgotten it", async () => {
    await page.evaluate(() => { globalThis.forgotten = true; });
    await say();
    await posts([200, 0, MANY + 1], [200, MANY + 2, 1], [409, MANY + 4, 1], [200, 0, MANY + 5]);
    const shown = await page.evaluate(() => document.body.innerText.match(/not kept|whole session|base_unknown|differ/i)?.[0] ?? "");
    if (shown) throw new Error(`the page says ${shown}`);
  });
});
