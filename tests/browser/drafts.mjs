/**
 * What is written and attached, and not sent yet: over a reload, another language, another session; the colours a page
 * begins with; and the keys of a phone. The job: {url, browser}.
 */
import { main } from "./driver.mjs";

const AREA = "form.composer textarea";

await main(async (walk, job) => {
  const { page } = walk;
  const ready = () => page.waitForFunction(() => {
    try {
      return Boolean(yaa.use("ui/attachments") && yaa.use("ui/settings"));
    } catch {
      return false;
    }
  });
  const set = (changes) => page.evaluate((all) => yaa.use("ui/commands").context().actions.set(all), changes);
  const attach = (name) => page.evaluate((one) => yaa.use("ui/commands").context().app.views.composer.attach([new File(["words"], one)]), name);
  const fresh = () => page.evaluate(() => yaa.use("ui/commands").run("session.new"));
  const kept = () => page.evaluate(() => JSON.stringify(localStorage));
  /** What is written, and the files beside it. */
  const holds = (words, ...files) => page.waitForFunction((wanted, css) => (
    JSON.stringify([document.querySelector(css).value, ...[...document.querySelectorAll(".tray b")].map((one) => one.textContent)]) === wanted
  ), {}, JSON.stringify([words, ...files]), AREA);
  const send = async () => {
    await page.focus(AREA);
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => yaa.use("ui/commands").context().app.current.state?.phase === "done");
  };

  await walk.step("files that are not sent are there after a reload, and in another language", async () => {
    await page.goto(job.url);
    await page.waitForSelector(".side .dot.good"); // the link has signed in: the other pages have none
    await page.waitForSelector(AREA);
    await ready();
    await page.type(AREA, "bench tokens=2 delay_us=0");
    await attach("a.txt");
    await holds("bench tokens=2 delay_us=0", "a.txt");
    await page.reload();
    await holds("bench tokens=2 delay_us=0", "a.txt");
    await ready();
    await set({ language: "zh" });
    await page.waitForSelector(".tray button[aria-label='移除 a.txt']");
    await holds("bench tokens=2 delay_us=0", "a.txt");
    await set({ language: "en" });
    await page.waitForSelector(".tray button[aria-label='Remove a.txt']");
    await holds("bench tokens=2 delay_us=0", "a.txt");
  });

  await walk.step("they are gone once they are sent, and each session has its own", async () => {
    await send();
    await holds("");
    await page.type(AREA, "later");
    await attach("b.txt");
    await fresh();
    await holds("");
    await page.reload();
    await ready();
    await holds("");
    await page.evaluate(() => history.back());
    await holds("later", "b.txt");
  });

  await walk.step("another tab has its own words and files for the same session, and each keeps them", async () => {
    const own = walk.page;
    const other = await walk.newPage();
    await other.goto(await own.evaluate(() => location.href));
    const shows = (tab, words, ...files) => tab.bringToFront().then(() => tab.waitForFunction((wanted, css) => (
      JSON.stringify([document.querySelector(css)?.value, ...[...document.querySelectorAll(".tray b")].map((one) => one.textContent)]) === wanted
    ), {}, JSON.stringify([words, ...files]), AREA));
    const add = async (tab, name) => {
      await tab.bringToFront();
      await tab.waitForFunction(() => { try { return yaa.use("ui/attachments") && yaa.use("ui/settings") } catch { return false } });
      await tab.evaluate((one) => yaa.use("ui/commands").context().app.views.composer.attach([new File(["words"], one)]), name);
    };
    await shows(other, "later", "b.txt"); // what the first tab may have left
    await add(own, "c.txt");
    await shows(own, "later", "b.txt", "c.txt");
    await add(other, "d.txt");
    await shows(other, "later", "b.txt", "d.txt");
    for (const [tab, ...files] of [[own, "b.txt", "c.txt"], [other, "b.txt", "d.txt"]]) {
      await tab.bringToFront();
      await tab.reload();
      await shows(tab, "later", ...files);
    }
    await other.close();
    walk.page = own;
    await own.bringToFront();
  });

  await walk.step("of what is meant for a temporary session nothing is kept", async () => {
    await fresh();
    await page.type(AREA, "bench tokens=2 delay_us=0 hush");
    await attach("c.txt");
    await page.waitForFunction(() => JSON.stringify(localStorage).includes("hush"));
    await walk.press("More about this session", ".top button");
    await walk.press("New temporary session", "[role=menuitem]");
    await page.waitForFunction(() => !JSON.stringify(localStorage).includes("hush"));
    await holds("bench tokens=2 delay_us=0 hush", "c.txt");
    await set({ language: "zh" });
    await page.waitForSelector(".tray button[aria-label='移除 c.txt']");
    await holds("bench tokens=2 delay_us=0 hush", "c.txt");
    await set({ language: "en" });
    await send();
    await fresh();
    await holds("");
    if ((await kept()).includes("hush")) throw new Error("its words are kept");
  });

  await walk.step("a language that does not come", async () => {
    await page.reload();
    await ready();
    await page.evaluate(() => {
      const none = Object.assign(document.createElement("link"), { rel: "stylesheet" });
      none.setAttribute("href", "none.css");
      document.querySelector("template[data-group=zh]").content.replaceChildren(none);
      yaa.use("ui/commands").context().actions.openSettings("look");
    });
    await page.waitForSelector("dialog[open] .panel");
    await set({ language: "zh" });
    await walk.sees("dialog[open] .toast", "A part of the page could not be loaded.");
    await set({ language: "en" });
  });

  await walk.step("the colours that were chosen are there before anything is painted", async () => {
    await page.evaluateOnNewDocument(() => {
      if (globalThis !== globalThis.top) return; // a frame has colours of its own
      new MutationObserver((_, observer) => {
        if (!document.body) return;
        observer.disconnect();
        globalThis.first = [document.documentElement.dataset.theme, document.querySelector("meta[name=color-scheme]").content];
      }).observe(document, { childList: true, subtree: true });
    });
    for (const [theme, ...wanted] of [["dark", "dark", "dark"], ["", null, "light dark"]]) {
      await set({ theme });
      await page.reload();
      const found = await page.evaluate(() => globalThis.first);
      if (JSON.stringify(found) !== JSON.stringify(wanted)) throw new Error(`${theme}: ${JSON.stringify(found)}`);
      await ready();
    }
  });

  if (job.browser !== "chromium") return; // Firefox's protocol has no fingers

  await walk.step("on a phone Enter is a new line, and no field is so small that the page is zoomed", async () => {
    await page.setViewport({ width: 390, height: 844, isMobile: true, hasTouch: true });
    await page.reload();
    await ready();
    await page.type(AREA, "one");
    await page.keyboard.press("Enter");
    await page.keyboard.type("two");
    await holds("one\ntwo");
    await page.evaluate(() => yaa.use("ui/commands").context().actions.openSettings("tools"));
    await page.waitForSelector("dialog[open] select");
    const small = await page.$$eval("textarea, select, input:not([type=checkbox], [type=file])", (all) => all
      .filter((one) => one.getClientRects().length && parseFloat(getComputedStyle(one).fontSize) < 16).map((one) => one.className || one.localName));
    if (small.length) throw new Error(`too small: ${small}`);
    await walk.shot("phone");
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog[open]", { hidden: true });
    await page.$eval(AREA, (area) => { area.value = "bench tokens=2 delay_us=0"; area.dispatchEvent(new Event("input")); });
    await page.focus(AREA);
    await page.keyboard.down("Control");
    await page.keyboard.press("Enter");
    await page.keyboard.up("Control");
    await page.waitForSelector("article[data-role=assistant]");
    const narrow = await page.$$eval(".top .button, :is(.composer-bar, .call-edits, .message-actions) :is(button, select)", (all) => all.filter((one) => one.checkVisibility())
      .map((one) => [one.getAttribute("aria-label") ?? one.innerText, one.offsetHeight, one.localName === "button" && one.matches(".send, .square") ? one.offsetWidth : 44]).filter(([, tall, wide]) => tall < 44 || wide < 44));
    if (narrow.length) throw new Error(`too small for a finger: ${JSON.stringify(narrow)}`);
    await walk.shot("phone-fingers");
  });
});
