/**
 * While a run of many steps goes on, the inspector and the gauge keep up with it, and what is in them can be pressed, has
 * the focus and stays open: a press lasts as long as a finger's, and things happen meanwhile. The job: {url}.
 */
import { main } from "./driver.mjs";

const PRESS = { delay: 400 };
const KEY = "AKIAIOSFODNN7QQQQQQQ"; // what looks like one is a finding of the checks

/** The key of each tab, and what is pressed in it. */
const TABS = [
  ["w", ".bars button"], ["h", ".findings button"], ["c", ".lens li > button"], ["d", ".steps .link"], ["j", ".json summary"],
];

await main(async (walk, job) => {
  const { page } = walk;
  const size = (css) => page.$$eval(css, (all) => all.length);
  /** A step of the run further on. */
  const further = async () => {
    const before = await size("article.message");
    await page.waitForFunction((n) => document.querySelectorAll("article.message").length > n, {}, before + 1);
  };
  const say = async (words) => {
    await page.type("form.composer textarea", words);
    await page.keyboard.press("Enter");
  };

  await walk.step("a session to compare with, and one that runs", async () => {
    await page.goto(job.url);
    await page.waitForSelector(".gauge");
    await say("bench tokens=3 delay_us=0");
    await walk.sees(".gauge-words", " / ");
    await page.waitForFunction(() => document.querySelector("article[data-role=assistant]") && !document.querySelector(".feed[aria-busy]"));
    await walk.press("New session", ".side button");
    await say(`${KEY} bench tokens=20 delay_us=20000 turns=290 tool=datetime{}`);
    await page.waitForSelector("article[data-role=assistant]");
    await further();
  });

  for (const [key, css] of TABS) {
    await walk.step(`what ${key} opens`, async () => {
      await walk.singleKeys();
      await page.evaluate(() => document.activeElement?.blur());
      await page.keyboard.press("g");
      await page.keyboard.press(key);
      const one = await page.waitForSelector(css);
      await further();
      await one.evaluate((el) => el.addEventListener("click", () => { globalThis.pressed = el; }));
      await one.click(PRESS);
      if (!(await one.evaluate((el) => globalThis.pressed === el))) throw new Error("the press was lost");
      await one.focus();
      const rows = await size(".bars li, .lens li, .steps li, .json li");
      await further();
      await further();
      const now = await one.evaluate((el) => ({ here: el.isConnected, focused: document.activeElement === el, open: el.parentElement.open, live: Boolean(document.querySelector(".feed[aria-busy]")) }));
      if (!now.here || !now.focused || !now.live || now.open === false) throw new Error(JSON.stringify(now));
      if ((key === "w" || key === "c") && (await size(".bars li, .lens li")) <= rows) throw new Error(`still ${rows} rows`);
    });
  }

  await walk.step("the gauge", async () => {
    await page.click("button.gauge", PRESS); // beside a panel it has no words
    await page.waitForSelector(".gauge-panel:popover-open");
    const words = await walk.text(".gauge-panel");
    await further();
    const now = await walk.text(".gauge-panel");
    if (now === words || !now.includes(" / 300")) throw new Error(`still ${words}`);
    await page.click(".gauge-panel button", PRESS);
    await page.waitForSelector(".gauge-panel:not(:popover-open)");
  });

  await walk.step("that there is no room is said once, however often a write fails", async () => {
    const refused = () => page.evaluate(() => !dispatchEvent(new CustomEvent("yaa-storage", { detail: { code: "quota", message: "full" }, cancelable: true })));
    if (!(await refused())) throw new Error("nobody hears it");
    const copy = await page.waitForSelector(".keep-note button");
    await copy.focus();
    await refused();
    if (!(await copy.evaluate((el) => document.activeElement === el))) throw new Error("its button is another one");
    await walk.press("Close", ".keep-note button");
  });

  await walk.step("it is stopped", async () => {
    await page.click("form.composer button.send", PRESS);
    await walk.sees(".status-line", "Stopped");
  });

  await walk.step("of a long session it is said that the last rows are shown", async () => {
    await page.evaluate(async () => {
      const usage = { total_tokens: 1 };
      const messages = Array.from({ length: 900 }, (_, i) => ({ id: `m${i}`, role: i % 2 ? "assistant" : "user", content: "x", at: 1e12 + i * 1000, ...(i % 2 ? { meta: { ms: 500, usage } } : {}) }));
      await (await yaa.use("io/store-idb").open()).put({ id: "long", title: "Long", messages });
      await yaa.use("ui/commands").context().actions.open("long");
    });
    await page.evaluate(() => document.activeElement?.blur());
    await page.keyboard.press("g");
    await page.keyboard.press("w");
    await walk.sees(".inspect-view .hint", "The last 400 of 899 rows");
    if ((await size(".bars li")) !== 400) throw new Error(`${await size(".bars li")} rows`);
  });
});
