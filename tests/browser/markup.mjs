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

[https://good.example](https://bad.example/x), [tx\u202et.exe](https://a.example), ![A cat](https://pictures.example/cat.png)

[^1]: The first note, with \`code\`.
[^late]: 第二条脚注。
`;

const FENCE = "```";
const DIAGRAMS = `A flow:

${FENCE}mermaid
flowchart TD
  A[Request arrives] --> B{Key valid?}
  B -->|Yes| C[Run the agent]
  B -->|No| D[401]
  C --> E{Tool needed?}
  E -->|Yes| F([Ask the person])
  F --> C
  E -->|No| G((Done))
  subgraph server [The server]
    C
    E
  end
  click A "javascript:alert(1)"
${FENCE}

${FENCE}mermaid
graph LR
  开始[开始] --> 处理(处理数据) -.-> 结束((结束))
  处理 ==> 处理
${FENCE}

${FENCE}mermaid
sequenceDiagram
  participant U as You
  participant S as Server
  participant M as Model
  U->>S: POST /session
  S->>M: messages
  M-->>S: call shell
  alt allowed
    S->>S: run it in the sandbox
  else refused
    S-->>U: ask
  end
  Note over U,S: nothing runs twice
  S-->>U: the answer
${FENCE}

${FENCE}mermaid
pie title Where time goes
  "Model" : 72
  "Tools" : 20
  "Server" : 8
${FENCE}

${FENCE}mermaid
stateDiagram-v2
  [*] --> idle
  idle --> running : POST
  running --> waiting : asks
  waiting --> running : answer
  running --> [*]
${FENCE}

${FENCE}mermaid
gantt
  title Not drawn
${FENCE}
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
    // where a link really leads, and why a picture is not there
    const links = await page.$$eval(".prose a", (all) => all.map((one) => one.textContent));
    if (JSON.stringify(links) !== '["https://good.example (bad.example)","txt.exe"]') throw new Error(JSON.stringify(links));
    await walk.sees(".prose .image-off", "Not loaded by itself: its address can tell pictures.example what is said here.");
    await walk.clean();
    await walk.shot("1-markup");
  });

  await walk.step("the columns of a table go in the direction of its words", async () => {
    await show("rtl", "| الاسم | العمر |\n|---|---|\n| سلمى | ٣٠ |\n\n| name | age |\n|---|---|\n| Ann | 30 |\n");
    await page.waitForFunction(() => document.querySelectorAll(".prose table").length === 2);
    const ways = await page.$$eval(".prose table", (all) => all.map((one) => getComputedStyle(one).direction).join());
    if (ways !== "rtl,ltr") throw new Error(ways);
  });

  await walk.step("colours of a terminal are colours in a block of code", async () => {
    await show("ansi", "```\n\u001b[1mbold\u001b[0m \u001b[31mfailed\u001b[0m 3 \u001b[32mpassed\u001b[0m\n```\n");
    await page.waitForSelector(".code-ansi-red");
    const [text, red, plain] = await page.evaluate(() => [document.querySelector(".prose pre").textContent, getComputedStyle(document.querySelector(".code-ansi-red")).color, getComputedStyle(document.querySelector(".prose pre code")).color]);
    if (text !== "bold failed 3 passed" || red === plain) throw new Error(JSON.stringify([text, red, plain]));
    await page.evaluate(() => yaa.use("ui/commands").context().actions.open("markup"));
    await page.waitForSelector(".note-ref button");
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

  await walk.step("diagrams are drawn, with their source one press away; what is not understood is its source", async () => {
    await show("diagrams", DIAGRAMS);
    for (let i = 0; i < 6; i++) {
      await page.waitForFunction((at) => {
        const block = document.querySelectorAll(".prose .code")[at];
        block?.scrollIntoView({ block: "center" });
        return block?.querySelector(at === 5 ? ".code-bar button" : "svg.diagram text");
      }, {}, i);
    }
    const found = await page.$$eval(".prose .code", (all) => all.map((one) => [Boolean(one.querySelector("svg.diagram")), !one.querySelector("pre").hidden]));
    if (JSON.stringify(found) !== JSON.stringify([...Array(5).fill([true, false]), [false, true]])) throw new Error(JSON.stringify(found));
    const odd = await page.$$eval(".diagram *", (all) => all.filter((one) => !["rect", "circle", "polygon", "path", "text"].includes(one.localName) || [...one.attributes].some(({ name }) => /^on|href|style/.test(name))).length);
    if (odd) throw new Error(`${odd} odd elements`);
    await page.evaluate(() => document.querySelector(".prose .code").scrollIntoView({ block: "start" }));
    await walk.clean();
    await walk.shot("3-flow");
    await page.evaluate(() => document.querySelectorAll(".prose .code")[2].scrollIntoView({ block: "start" }));
    await walk.shot("4-sequence");
    await page.evaluate(() => document.querySelectorAll(".prose .code")[3].scrollIntoView({ block: "start" }));
    await walk.shot("5-pie");
    await page.evaluate(() => document.querySelector(".prose .code").scrollIntoView({ block: "start" }));
    await walk.press("Source", ".code-bar button");
    await page.waitForFunction(() => document.querySelector(".prose .code pre").checkVisibility() && document.querySelector(".prose .code pre").textContent.includes("flowchart TD"));
    await walk.press("Source", ".code-bar button");
  });

  await walk.step("a diagram that is written piece by piece is text until it is whole", async () => {
    const shown = await page.evaluate(async () => {
      const stage = document.createElement("div");
      document.querySelector(".scroll").append(stage);
      const view = yaa.use("ui/markdown-view").markdownView();
      stage.append(view.el);
      const text = "A:\n\n```mermaid\ngraph TD\n  A[One] --> B{Two}\n  B -->|x| C\n```\nAnd so on";
      const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
      let early = 0;
      for (let end = 1; end <= text.length; end++) {
        view.update(text.slice(0, end), end < text.length);
        if (end % 6 === 0) await frame();
        if (!text.slice(0, end).includes("C\n``") && stage.querySelector("svg.diagram")) early++;
      }
      for (let i = 0; i < 200 && !stage.querySelector("svg.diagram"); i++) await frame();
      const found = [early, [...stage.querySelectorAll("svg.diagram text")].map((one) => one.textContent).join()];
      stage.remove();
      return found;
    });
    if (JSON.stringify(shown) !== '[0,"One,Two,C,x"]') throw new Error(JSON.stringify(shown));
  });

  await walk.step("an answer that came from the server's record says so, in both languages", async () => {
    await page.evaluate(async () => {
      const { app, actions } = yaa.use("ui/commands").context();
      const messages = [{ id: "u", role: "user", content: "?" }, { id: "a", role: "assistant", content: "Done.", meta: { model: "m" } }];
      await app.sessionStore.restore({ id: "recorded", title: "recorded", messages, run: { id: "run_1", from_record: 3 } });
      await actions.open("recorded");
    });
    await walk.sees(".message-foot", "m · 3 from the server’s record");
    await page.evaluate(() => yaa.use("ui/commands").context().actions.set({ language: "zh" }));
    await walk.sees(".message-foot", "m · 3 条取自服务器的记录");
    await page.evaluate(() => yaa.use("ui/commands").context().actions.set({ language: "en" }));
    await page.evaluate(() => yaa.use("ui/commands").context().actions.open("diagrams"));
  });

  await walk.step("in Chinese, in the dark, on a phone", async () => {
    await page.setViewport({ width: 390, height: 844 });
    await page.evaluate(() => yaa.use("ui/commands").context().actions.set({ theme: "dark", language: "zh" }));
    await page.waitForFunction(() => document.documentElement.lang.startsWith("zh") && document.querySelectorAll("svg.diagram").length > 1);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    if (wide) throw new Error("it is wider than the screen");
    await walk.clean();
    await page.evaluate(() => document.querySelector(".prose .code").scrollIntoView({ block: "start" }));
    await walk.shot("2-phone");
    await page.evaluate(() => yaa.use("ui/commands").context().actions.set({ theme: "", language: "en" }));
    await page.setViewport({ width: 1280, height: 800 });
  });
});
