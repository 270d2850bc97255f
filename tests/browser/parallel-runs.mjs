/**
 * A browser has six connections to one address, and all tabs share them: no more than four runs stream at once, the next
 * one says that it waits, and goes on when a place is free, also where the tab that held it was killed. And a long session.
 * The job: {url, browser}.
 */
import { main } from "./driver.mjs";

const COMPOSER = "form.composer textarea";
const WAITS = "Waiting for one of the four other runs to end";
const LONG = "bench tokens=6000 delay_us=20000";

await main(async (walk, job) => {
  const home = job.url.split("#")[0];
  /** @type {any[]} */ const tabs = [];

  await walk.step("two tabs", async () => {
    for (const address of [job.url, home]) {
      const page = tabs.length ? await walk.newPage() : walk.page;
      await page.goto(address);
      await page.waitForSelector(".side .dot.good");
      tabs.push(page);
      if (tabs.length > 1) continue;
      // rows are found by what was typed, so no model names the sessions
      await page.waitForFunction(() => { try { return Boolean(yaa.use("ui/commands").context()) } catch { return false } });
      await page.evaluate(() => yaa.use("ui/commands").context().actions.choose("yaa", "auto_title", false));
    }
  });
  const [one, two] = tabs;

  await walk.step("a list that begins is no heading for a moment", async () => {
    const found = await one.evaluate(() => {
      const said = (content, open, ...calls) => ({ message: { id: "m", role: "assistant", content, ...(open ? { open } : {}) }, calls, live: open, last: true, outputs: new Map(), siblings: new Map() });
      const view = yaa.use("ui/message").messageView(said("", true), {});
      const html = (content, open = true, ...calls) => (view.update(said(content, open, ...calls)), [...view.el.querySelector(".prose").children].map((each) => each.tagName).join());
      return [html("Two:\n-"), html("Two:\n- one"), html("Two:\n- one\n\nSo\n="), html("Two:\n- one\n\nSo\n=", false),
        html("Two:\n\n42"), html("Two:\n\n42", true, { call: { id: "c", type: "function", function: { name: "shell", arguments: "{" } } })];
    });
    const wanted = ["P", "P,UL", "P,UL,P", "P,UL,H3", "P", "P,P"]; // words that a call follows are said
    if (String(found) !== String(wanted)) throw new Error(String(found));
  });

  await walk.step("two sessions stream at once, looked at in turn, and both are whole", async () => {
    await one.bringToFront();
    const orders = [401, 402];
    for (const tokens of orders) await begin(one, `bench tokens=${tokens} delay_us=25000`);
    await one.waitForFunction(() => document.querySelectorAll(".row .spinner").length === 2);
    const seen = new Map();
    for (const tokens of [...orders, ...orders]) {
      await row(one, `tokens=${tokens}`);
      // each goes on where it was, and while the other one was looked at it went on too
      await one.waitForFunction((more) => {
        const [busy, words] = [document.querySelector("article[aria-busy=true]"), document.querySelector("article.message[data-role=assistant]")?.textContent ?? ""];
        return busy && (words.match(/@\d+@/g) ?? []).length > more;
      }, {}, seen.get(tokens) ?? 0);
      seen.set(tokens, await one.evaluate(() => document.querySelector("article.message[data-role=assistant]").textContent.match(/@\d+@/g).length));
    }
    for (const tokens of orders) {
      await row(one, `tokens=${tokens}`);
      await one.waitForFunction(() => !document.querySelector(".feed[aria-busy=true]") && !document.querySelector(".status-line")?.checkVisibility());
      const said = await one.evaluate(() => document.querySelector("article.message[data-role=assistant]").textContent.match(/@\d+@/g).map((each) => Number(each.slice(1, -1))));
      const inOrder = said.every((each, n) => !n || each > said[n - 1]);
      if (said.length !== tokens || !inOrder) throw new Error(`${said.length} of ${tokens}, in order: ${inOrder}`);
    }
    await two.bringToFront();
  });

  await walk.step("one asks", async () => {
    await write(two, "bench tokens=2 delay_us=0 tool=datetime");
    await says(two, ".ask", "Allow datetime?");
  });

  await walk.step("four stream, the fifth says that it waits", async () => {
    for (const page of [one, one, one, two]) await begin(page);
    await two.click(".side [aria-label='New session']");
    await write(two, "bench tokens=4 delay_us=0");
    await says(two, ".status-line", WAITS);
    const running = await two.evaluate(() => document.querySelector("article.message[data-role=assistant]"));
    if (running) throw new Error("it has an answer");
  });

  await walk.step("the server is still within reach", async () => {
    const found = await two.evaluate(async () => {
      const { app } = yaa.use("ui/commands").context();
      return (await app.server.api().health()).status;
    });
    if (found !== "ok") throw new Error(found);
  });

  await walk.step("an answer to a question does not wait", async () => {
    await row(two, "tokens=2");
    await two.click(".ask .primary");
    await answered(two, 2);
  });

  await walk.step("one is stopped, the waiting one begins", async () => {
    await one.bringToFront();
    await one.click("form.composer button.send");
    await says(one, ".status-line", "Stopped.");
    await two.bringToFront();
    await row(two, "tokens=4");
    await answered(two, 4);
  });

  await walk.step("a killed tab holds no place", async () => {
    // three run: two in the first tab, one here; two more, and it is full again
    await begin(two);
    await two.bringToFront();
    await two.click(".side [aria-label='New session']");
    await write(two, "bench tokens=5 delay_us=0");
    await says(two, ".status-line", WAITS);
    await kill(job, one);
    await two.bringToFront();
    await answered(two, 5);
  });

  await walk.step("a long session is all there, and only what is near is worked on", async () => {
    const page = await walk.newPage();
    await page.goto(home);
    await page.waitForFunction(() => { try { return yaa.use("ui/commands").context() } catch { return false } });
    const count = 1000;
    await page.evaluate(async (n) => {
      const words = ["A question", "```js\nconst a = 1\n```"];
      const messages = Array.from({ length: n }, (_, i) => ({ id: `m${i}`, role: i % 2 ? "assistant" : "user", content: words[i % 2] }));
      await (await yaa.use("io/store-idb").open()).put({ id: "long", title: "Long", messages });
      await yaa.use("ui/commands").context().actions.open("long");
    }, count);
    await page.waitForFunction((n) => document.querySelectorAll("article.message").length === n, {}, count);
    const order = await page.$$eval("article.message", (all) => all.every((one, i) => one.id === `message-m${i}`));
    if (!order) throw new Error("the messages are out of order");
    const worked = (i) => page.waitForFunction((id) => document.querySelector(`#message-m${id} .code-keyword`) && document.querySelector(`#message-m${id} .code-bar button`), {}, i);
    await worked(count - 1);
    const looked = await page.$$eval("article.message", (all) => all.filter((one) => getComputedStyle(one).contentVisibility === "auto").length);
    if (looked < 1 || looked > count / 4) throw new Error(`the browser looks at ${looked} articles`);
    if (await page.$("#message-m1 .code-bar button")) throw new Error("the first answer was worked on before it was near");
    await page.evaluate(() => document.querySelector(".scroll").scrollTo(0, 0));
    await worked(1);
  });

  await walk.step("a stored session that is none keeps the page from nothing", async () => {
    const page = walk.page;
    await page.evaluate(async () => {
      const store = await yaa.use("io/store-idb").open();
      const call = { id: "c", type: "function", function: { name: "f", arguments: "{}" } };
      const asked = [{ id: "q", role: "user", content: "Odd question" }, { id: "a", role: "assistant", content: "", tool_calls: [call] }];
      await store.put({ id: "odd", title: "Odd", messages: asked, interrupts: [{ id: "i", reason: "__proto__", call_id: "c" }] });
      await store.put({ id: "broken", title: "Broken", messages: [{ ...asked[1], tool_calls: [{ id: "c" }] }] });
    });
    await page.goto("about:blank");
    await page.goto(`${home}#s=broken`); // as after a reload
    await says(page, "body", "This session cannot be shown");
    await row(page, "Odd");
    await says(page, ".ask", "f");
    await page.waitForFunction(() => yaa.use("ui/commands").list().length > 0); // they come once the page is at rest
    await page.keyboard.down("Control");
    await page.keyboard.press("k");
    await page.keyboard.up("Control");
    await page.waitForSelector("dialog[open]");
  });
});

/** A run in a session of its own that goes on for longer than this walk. */
async function begin(page, words = LONG) {
  await page.bringToFront();
  if (await page.$("article.message")) await page.click(".side [aria-label='New session']");
  await page.waitForFunction(() => !document.querySelector("article.message"));
  await write(page, words);
  await page.waitForFunction(() => /@\d+@/.test(document.querySelector("article.message[data-role=assistant]")?.innerText ?? ""));
}

async function write(page, words) {
  await page.click(COMPOSER);
  await page.type(COMPOSER, words);
  await page.keyboard.press("Enter");
}

/** Opens the session that begins with these words: pressed where it is, since rows change places while runs end. */
async function row(page, words) {
  await page.waitForFunction((wanted) => {
    if ([...document.querySelectorAll(".bubble")].some((one) => one.textContent.includes(wanted))) return true; // innerText is empty where nothing is rendered
    [...document.querySelectorAll(".row-open")].find((one) => one.textContent.includes(wanted))?.click();
    return false;
  }, {}, words);
}

async function answered(page, tokens) {
  await page.waitForFunction((wanted) => {
    const last = [...document.querySelectorAll("article.message[data-role=assistant]")].at(-1);
    return last?.innerText.match(/@\d+@/g)?.length === wanted && !document.querySelector(".feed[aria-busy=true]");
  }, {}, tokens);
}

async function says(page, css, words) {
  await page.waitForFunction((selector, wanted) => document.querySelector(selector)?.innerText.includes(wanted), {}, css, words);
}

/** As the system does it, where the browser lets a test: without a word to the page. */
async function kill(job, page) {
  if (job.browser === "chromium") {
    const session = await page.createCDPSession();
    session.send("Page.crash").catch(() => {});
    await new Promise((resolve) => page.once("error", resolve));
  }
  await page.close({ runBeforeUnload: false }).catch(() => {});
}
