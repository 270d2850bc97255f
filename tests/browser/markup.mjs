/**
 * What answers have beside plain Markdown: alerts, notes, keys, parts that are opened, formulas of several lines, diagrams.
 * The job: {url, browser}.
 */
import { main } from "./driver.mjs";

const WORDS = `Press <kbd>Ctrl</kbd>+<kbd>C</kbd>, H<sub>2</sub>O and x<sup>2</sup>.[^1] 中文，见[^late]。

> [!WARNING]
> This **deletes** files.

> [!TIP]
> - one
> - two

<details>
<summary>How it *works*</summary>

1. first
2. second

</details>

\\begin{align}
a &= b + c \\\\
d &= e
\\end{align}

<img src=x onerror=alert(1)> <kbd onclick="alert(1)">x</kbd>

[^1]: The first note, with \`code\`.
[^late]: 第二条脚注。
`;

await main(async (walk, job) => {
  const { page } = walk;
  await page.goto(job.url);
  await page.waitForFunction(() => { try { return yaa.use("ui/commands").list().length > 0 } catch { return false } });

  /** A session of one answer, open. */
  const show = (id, words) => page.evaluate(async (name, content) => {
    const { app, actions } = yaa.use("ui/commands").context();
    await app.sessionStore.restore({ id: name, title: name, messages: [{ id: "u", role: "user", content: "?" }, { id: `a-${name}`, role: "assistant", content }] });
    await actions.open(name);
  }, id, words);

  await walk.step("alerts, keys, notes, details and formulas are drawn, and no other HTML", async () => {
    await show("markup", WORDS);
    await page.waitForFunction(() => document.querySelector(".alert-title .icon") && document.querySelector(".prose math mtable") && document.querySelector(".note-ref button"));
    const found = await page.evaluate(() => {
      const prose = document.querySelector(".prose");
      const texts = (css) => [...prose.querySelectorAll(css)].map((one) => one.textContent.trim());
      return { kbd: texts("kbd"), sub: texts("sub"), titles: texts(".alert-title"), summary: texts("summary"), notes: texts(".footnote"), img: prose.querySelectorAll("img, [onclick], script").length, folded: !prose.querySelector("details").open };
    });
    const wanted = { kbd: ["Ctrl", "C"], sub: ["2"], titles: ["Warning", "Tip"], summary: ["How it works"], notes: ["1.The first note, with code.", "2.第二条脚注。"], img: 0, folded: true };
    if (JSON.stringify(found) !== JSON.stringify(wanted)) throw new Error(JSON.stringify(found));
    await walk.clean();
    await walk.shot("1-markup");
  });

  await walk.step("a note is reached and left by keys, and a part is opened", async () => {
    await page.focus(".note-ref button");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.activeElement?.matches(".footnote[data-note='1']"));
    await page.focus(".footnote[data-note='1'] button");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.activeElement?.closest(".note-ref"));
    await page.click(".prose summary");
    await page.waitForFunction(() => document.querySelector(".prose details").open && document.querySelector(".prose details li").checkVisibility());
  });

  await walk.step("in Chinese, in the dark, on a phone", async () => {
    await page.setViewport({ width: 390, height: 844 });
    await page.evaluate(() => yaa.use("ui/commands").context().actions.set({ theme: "dark", language: "zh" }));
    await walk.sees(".alert-title", "警告");
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    if (wide) throw new Error("it is wider than the screen");
    await walk.clean();
    await walk.shot("2-phone");
    await page.evaluate(() => yaa.use("ui/commands").context().actions.set({ theme: "", language: "en" }));
    await page.setViewport({ width: 1280, height: 800 });
  });
});
