/** The chat of client/auto-ai. The job: {server, key, shop, disk}. */
import { main } from "./driver.mjs";

/** Waits until a part of the widget says the words. */
const sees = (page, css, words) => page.waitForFunction((wanted, said) => (
  [...document.querySelectorAll("div")].some((one) => [...(one.shadowRoot?.querySelectorAll(wanted) ?? [])].some((el) => el.innerText.includes(said)))
), {}, css, words);

const part = (page, css) => page.waitForFunction((wanted) => (
  [...document.querySelectorAll("div")].map((one) => one.shadowRoot?.querySelector(wanted)).find(Boolean)
), {}, css);

async function send(page, words) {
  await (await part(page, "textarea")).type(words);
  await page.keyboard.press("Enter");
}

async function typed(page, id, text) {
  await page.$eval(id, (el) => { el.value = ""; });
  await page.type(id, text);
}

await main(async (walk, job) => {
  const { page } = walk;

  await walk.step("no chat without a key: it is asked for", async () => {
    await page.goto(`${job.server}/auto-ai`);
    await page.waitForSelector("#sign:not([hidden])");
    if (new URL(page.url()).pathname !== "/auto-ai/") throw new Error(page.url());
    await walk.sees("#said", "This server needs a key.");
    await walk.shot("1-key");
    await typed(page, "#key", "wrong-key-of-twenty-four");
    await page.keyboard.press("Enter");
    await walk.sees("#said", "This key is not valid here.");
    await typed(page, "#server", "http://127.0.0.1:1");
    await page.keyboard.press("Enter");
    await walk.sees("#said", "No server answers at this address.");
  });

  await walk.step("the key in the address opens index.html, and is not left there", async () => {
    await page.goto(`${job.server}/auto-ai/index.html#key=${encodeURIComponent(job.key)}`);
    await part(page, "form.compose");
    if (await page.$eval("#sign", (el) => !el.hidden) || page.url().includes("key")) throw new Error(page.url());
    await walk.shot("2-chat");
  });

  await walk.step("a tool of the page", async () => {
    await send(page, 'call set_page_title {"title": "标题"}');
    await sees(page, "article", "done");
    await sees(page, ".used", "set_page_title");
    if (await page.title() !== "标题") throw new Error(await page.title());
    await walk.shot("3-answer");
  });

  await walk.step("no barriers", () => walk.clean());

  await walk.step("on the next page of the tab the key and the conversation are there", async () => {
    await page.goto(`${job.server}/auto-ai/sidebar-demo.html`);
    await part(page, ".open-button");
    await walk.shot("4-sidebar-closed");
    await page.click(".open-button");
    await sees(page, "article", "done");
    await send(page, 'call set_page_title {"title": "At the side"}');
    await page.waitForFunction(() => document.title === "At the side");
    await sees(page, ".status", "Answer ready");
    await walk.shot("5-sidebar");
  });

  await walk.step("no barriers beside the panel", () => walk.clean());

  await walk.step("a narrow window", async () => {
    await page.setViewport({ width: 360, height: 640 });
    await page.goto(`${job.server}/auto-ai/`);
    await sees(page, "article", "done");
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (wide > 0) throw new Error(`${wide} px too wide`);
    await walk.shot("6-narrow");
    await page.setViewport({ width: 1280, height: 800 });
  });

  await walk.step("from disk", async () => {
    await page.goto(job.disk);
    await page.waitForSelector("#sign:not([hidden])");
    await typed(page, "#server", job.server);
    await typed(page, "#key", job.key);
    await page.keyboard.press("Enter");
    await send(page, 'call set_page_title {"title": "From disk"}');
    await sees(page, "article", "done");
    if (await page.title() !== "From disk") throw new Error(await page.title());
  });

  await walk.step("a page that was written for AutoAi, on another origin", async () => {
    await page.goto(job.shop);
    await part(page, "form.compose");
    await sees(page, "h2", "Shop assistant");
    await send(page, 'call getUsername {"format": "plain"}');
    await sees(page, "article", "done");
    const heard = await page.evaluate(() => JSON.stringify(globalThis.heard));
    if (heard !== '[{"format":"plain"}]') throw new Error(heard);
    await sees(page, ".status", "Answer ready");
    await send(page, "call shop_getAllOrders {}");
    await sees(page, ".used", "shop_getAllOrders");
    await sees(page, ".status", "Answer ready");
    await walk.shot("7-shop");
    const methods = await page.evaluate(async () => {
      const { chatWidget } = globalThis;
      chatWidget.setHeaders({ "X-User-Id": "user-456" });
      chatWidget.setEnvironmentContext(["Now another"]);
      const facts = chatWidget.getEnvironmentContext();
      chatWidget.destroy();
      return [facts, document.querySelector("#chat").childElementCount];
    });
    if (JSON.stringify(methods) !== '[["Now another"],0]') throw new Error(JSON.stringify(methods));
  });
});
