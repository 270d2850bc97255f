/**
 * Pictures of every main screen, for the documentation and for looking at: desktop and phone, light and dark, English and
 * Chinese. Run by hand: `python3 -m tests.browser.screenshots`. The job: {url, folder, chosen}; `chosen` are the names to keep.
 */
import { join } from "node:path";
import { main } from "./driver.mjs";
import { asking, openGroups, session, START } from "./sample-session.mjs";

const SIZES = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844, deviceScaleFactor: 2 } };
const WORDS = {
  en: {
    titles: ["Decimals in the report", "Release notes for 2.4", "Where does the time go?", "Trip to Bergen", "Names for a cat"],
    ask: "How would you split this file? Keep it short.",
    answer: "Two modules are enough:\n\n1. **`read.py`** opens the file and yields rows.\n2. **`sum.py`** adds the amounts, as decimals.\n\n| Module | Lines | Tests |\n| --- | ---: | ---: |\n| `read.py` | 24 | 3 |\n| `sum.py` | 18 | 4 |\n\n```python\nfrom decimal import Decimal\n\ndef total(rows):\n    \"\"\"The sum of all amounts.\"\"\"\n    return sum(Decimal(row[\"amount\"]) for row in rows)\n```\n\nShall I move the tests along?",
    next: "Yes, and run them.", search: "amounts",
    trip: ["What should I pack for a week in Bergen in May?", "Something against rain first: it falls on two days of three. Then a warm jumper, shoes that bear wet cobbles, and a hat for the ridge of Ulriken."],
  },
  zh: {
    titles: ["报表中的小数", "2.4 版发布说明", "时间都花在哪里了？", "卑尔根之行", "给猫取名"],
    ask: "这个文件该怎么拆分？请简短回答。",
    answer: "两个模块就够了：\n\n1. **`read.py`** 打开文件并逐行读取。\n2. **`sum.py`** 用小数累加金额。\n\n| 模块 | 行数 | 测试 |\n| --- | ---: | ---: |\n| `read.py` | 24 | 3 |\n| `sum.py` | 18 | 4 |\n\n```python\nfrom decimal import Decimal\n\ndef total(rows):\n    \"\"\"所有金额之和。\"\"\"\n    return sum(Decimal(row[\"amount\"]) for row in rows)\n```\n\n要把测试也一起移过去吗？",
    next: "好的，移过去并运行。", search: "金额",
    trip: ["五月去卑尔根一周，该带些什么？", "先带雨具：三天里有两天下雨。再带一件厚毛衣、能走湿石板路的鞋，以及登乌尔里肯山时戴的帽子。"],
  },
};

/** What a server remarks on a template with a slip in it. */
const REMARK = {
  code: "prompt_placeholder_unknown", section: "persona", placeholders: ["{citty}"], known: ["character", "output_schema", "date", "environment", "mode"],
  message: "prompt.persona names {citty}, which means nothing; known: character, output_schema, date, environment, mode",
};

/** The file that the call of `p-ask` changes. */
const REPORT = `import csv


def rows(path):
    with open(path) as file:
        return list(csv.DictReader(file))


def total(rows):
    """The sum of all amounts."""
    return sum(float(row["amount"]) for row in rows)
`;

/** The sessions of the list; the first four are shown. */
function sessionsOf(language) {
  const { titles, ask, answer, next, trip } = WORDS[language];
  const meta = { model: "demo", ms: 2300, first_ms: 320, usage: { prompt_tokens: 1840, completion_tokens: 164, total_tokens: 2004 } };
  const usage = { prompt_tokens: 1840, completion_tokens: 164, total_tokens: 2004, calls: 1 };
  const talk = [{ id: "q1", role: "user", content: ask, at: START }, { id: "r1", role: "assistant", content: answer, at: START + 2300, meta }];
  const wait = asking("p-ask", "edit_file", { path: "src/report.py", old: "return sum(float(row[\"amount\"]) for row in rows)", new: "return sum(Decimal(row[\"amount\"]) for row in rows)" });
  const calls = wait.messages[1];
  return [
    { id: "p-chat", version: 1, rev: 2, title: titles[1], status: "completed", usage, messages: talk },
    { ...wait, title: titles[2], usage, messages: [...talk, { id: "q2", role: "user", content: next, at: START + 60_000 }, { ...calls, at: START + 61_000 }] },
    session({ id: "p-tools", title: titles[0] }),
    {
      id: "p-trip", version: 1, rev: 1, title: titles[3], status: "completed", usage, run: { warnings: [REMARK] },
      messages: [{ id: "q1", role: "user", content: trip[0], at: START }, { id: "r1", role: "assistant", content: trip[1], at: START + 2300, meta }],
    },
    ...titles.slice(4).map((title, n) => ({ id: `p-${n}`, version: 1, title, status: "completed", messages: [{ id: "m", role: "user", content: title }] })),
  ];
}

await main(async (walk, job) => {
  const { page } = walk;
  const command = (id, ...rest) => page.evaluate((name, more) => { yaa.use("ui/commands").run(name, ...more); }, id, rest);
  const dialog = () => page.waitForSelector("dialog[open]");
  const at = async (id) => {
    await page.evaluate((one) => yaa.use("ui/storage-notices").context().actions.open(one), id);
    await page.waitForFunction((one) => location.hash === `#s=${one}` && document.querySelector("article.message"), {}, id);
  };
  const ready = () => page.waitForFunction(() => { try { return yaa.use("ui/storage-notices").context() && yaa.use("ui/commands").list().some((one) => one.id === "desk") } catch { return false } });
  const close = () => page.evaluate(() => document.querySelector("dialog[open]")?.close());

  const shut = async () => {
    await page.$eval(".inspector-head > button:last-child", (one) => one.click());
    await page.waitForFunction(() => !document.querySelector(".inspector"));
  };

  /** Name → what to do first, what to do afterwards. */
  const screens = (language) => ({
    start: [async () => { await command("session.new"); await page.waitForSelector(".empty"); }],
    chat: [() => at("p-chat")],
    mode: [async () => { await at("p-chat"); await command("mode"); await page.waitForSelector(".menu [role=menuitemradio]"); }, () => page.keyboard.press("Escape")],
    remarks: [async () => {
      await at("p-trip");
      await page.waitForSelector(".warnings", { visible: true });
    }],
    approval: [async () => { await at("p-ask"); await page.waitForSelector(".ask .diff-row"); }],
    tools: [async () => {
      await at("p-tools");
      await openGroups(page);
      await page.$$eval(".card.tool details", (all) => all.forEach((one, n) => { one.open = [3, 5, 8].includes(n); }));
      await page.waitForFunction(() => document.querySelectorAll(".tool-parts").length >= 3);
      await page.evaluate(() => document.querySelectorAll(".card.tool")[3].scrollIntoView({ block: "start" }));
    }],
    list: [async () => { if (await page.$eval(".side", (one) => !one.checkVisibility())) await page.click(".top [aria-controls=side], .top button"); }, async () => { if (await page.$("[data-drawer=open]")) await page.keyboard.press("Escape"); }],
    search: [async () => {
      await page.evaluate((words) => {
        const field = document.querySelector(".side-search");
        field.value = words;
        field.dispatchEvent(new Event("input"));
      }, WORDS[language].search);
      await page.waitForSelector(".hit mark");
      if (await page.$eval(".side", (one) => !one.checkVisibility())) await page.click(".top button");
    }, async () => {
      await page.evaluate(() => {
        const field = document.querySelector(".side-search");
        field.value = "";
        field.dispatchEvent(new Event("input"));
      });
      if (await page.$("[data-drawer=open]")) await page.keyboard.press("Escape");
    }],
    settings: [async () => { await page.evaluate(() => yaa.use("ui/storage-notices").context().actions.openSettings("look")); await dialog(); }, close],
    tooling: [async () => { await page.evaluate(() => yaa.use("ui/storage-notices").context().actions.openSettings("tools")); await dialog(); }, close],
    palette: [async () => { await command("palette"); await dialog(); }, close],
    keys: [async () => { await command("keys"); await dialog(); }, close],
    prompts: [async () => { await command("prompts"); await dialog(); }, close],
    export: [async () => { await command("session.export"); await dialog(); }, close],
    ...Object.fromEntries(["context", "waterfall", "checks"].map((tab) => [tab, [async () => {
      await at("p-tools");
      await command(`inspect.${tab}`);
      await page.waitForSelector(`[role=tab][aria-selected=true][id$="${tab}"]`);
    }, shut]])),
    desk: [async () => { await command("desk"); await page.waitForSelector(".desk .ask"); }, shut],
    time: [async () => {
      await command("inspect.time");
      await page.waitForSelector(".time input");
      await page.$eval(".time input", (one) => { one.value = String(Math.round(one.max / 2)); one.dispatchEvent(new Event("input")); });
      await page.waitForSelector(".time-band:not([hidden])");
    }, () => command("inspect.time")],
  });

  await walk.step("sign in", async () => {
    await page.goto(job.url);
    await page.waitForSelector(".side .dot.good");
    await ready();
  });

  for (const language of ["en", "zh"]) {
    await walk.step(`sessions, ${language}`, async () => {
      await page.evaluate(async (all) => {
        const store = await yaa.use("io/store-idb").open();
        for (const { id } of await store.list()) await store.delete(id);
        for (const one of all.reverse()) await store.put(one);
        await store.flush();
        store.close();
      }, sessionsOf(language));
      await page.goto(`${page.url().split("#")[0]}`);
      await page.reload();
      await ready();
      await page.evaluate(async (text) => {
        await yaa.load("workspace");
        const { app } = yaa.use("ui/storage-notices").context();
        const routes = yaa.use("ext/files/session-files").routesOf(app, await app.store.get("p-ask"));
        await routes.upload("src/report.py", new File([text], "report.py"));
      }, REPORT);
      await page.evaluate((wanted) => yaa.use("ui/storage-notices").context().actions.set({ language: wanted }), language);
    });
    for (const [size, viewport] of Object.entries(SIZES)) {
      for (const theme of ["light", "dark"]) {
        await walk.step(`${size}, ${theme}, ${language}`, async () => {
          await page.setViewport(viewport);
          await page.evaluate((wanted) => yaa.use("ui/storage-notices").context().actions.set({ theme: wanted }), theme);
          for (const [name, [open, after]] of Object.entries(screens(language))) {
            const file = `${name}-${size}-${theme}-${language}`;
            if (job.chosen.length && !job.chosen.includes(file)) continue;
            try {
              await open();
            } catch (error) {
              throw new Error(`${file}: ${error.message}`);
            }
            // what opens begins to move with the next frame
            await page.evaluate(() => new Promise((resolve) => { requestAnimationFrame(() => requestAnimationFrame(resolve)); }));
            await walk.rest();
            await page.screenshot({ path: join(job.folder, `${file}.webp`), type: "webp", quality: 82 });
            await after?.();
          }
        });
      }
    }
  }
});
