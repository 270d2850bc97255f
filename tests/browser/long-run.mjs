/**
 * A long run can be followed at a glance: 60 calls of tools with a plan, three approvals and a failure. The job: {url}.
 */
import { main } from "./driver.mjs";
import { put, START } from "./sample-session.mjs";

const PHASES = ["Look at the code", "Write the failing tests", "Make them pass", "Run the checks", "Write the documentation", "Look at it once more"];
const SIZES = [[1280, 800], [390, 844]];

/** One phase: ten calls, each in a message of its own. */
const STEPS = [
  ["read_file", (p) => ({ path: `src/part${p}.py` }), { content: "     1\timport csv", lines: 1 }],
  ["read_file", (p) => ({ path: `src/util${p}.py` }), { content: "     1\timport csv", lines: 1 }],
  ["search_files", () => ({ query: "amount" }), { matches: 2, lines: "src/a.py:8: amount", files_searched: 3 }],
  ["read_file", (p) => ({ path: `tests/test_part${p}.py` }), { content: "     1\timport csv", lines: 1 }],
  ["shell", () => ({ command: "git status --short" }), { exit_code: 0, output: " M a" }],
  ["edit_file", (p) => ({ path: `src/part${p}.py`, old: "a", new: "b" }), { path: "src/part.py", replaced: 1, diff: "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n" }],
  ["edit_file", (p) => ({ path: `src/util${p}.py`, old: "a", new: "b" }), { path: "src/util.py", replaced: 1, diff: "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n" }],
  ["shell", () => ({ command: "python3 -m unittest -q" }), { exit_code: 0, output: "OK" }],
  ["write_file", (p) => ({ path: `docs/part${p}.md`, content: "# Part" }), { path: "docs/part.md", bytes: 6, replaced: false }],
  ["plan_update", (p) => ({ task: String(p + 1), status: "completed" }), { id: "1", status: "completed" }],
];

function longRun() {
  const messages = [{ id: "u1", role: "user", content: "Make the amounts decimals everywhere, with tests and documentation.", at: START }];
  const calls = {};
  const interrupts = [];
  let at = START;
  PHASES.forEach((title, phase) => STEPS.forEach(([name, args, result], n) => {
    const id = `c${phase}_${n}`;
    const exit = phase === 3 && n === 7;
    const waits = phase === 5 && n >= 7;
    if (waits && n > 7) return;
    const all = waits ? [7, 8, 4].map((one) => STEPS[one]) : [[name, args, result]];
    const made = all.map(([tool, of], i) => ({ id: `${id}${i || ""}`, type: "function", function: { name: tool, arguments: JSON.stringify(of(phase)) } }));
    messages.push({ id: `a${phase}_${n}`, role: "assistant", content: n ? "" : `${title}.`, at: at += 900, tool_calls: made, meta: { model: "demo", ms: 800 } });
    for (const [i, one] of made.entries()) {
      calls[one.id] = { name: one.function.name, state: waits ? "asking" : "done", attempt: 1, fingerprint: "f" };
      if (waits) interrupts.push({ id: `int-${one.id}`, reason: "tool_call", call_id: one.id, tool: one.function.name, args: all[i][1](phase), message: `Allow ${one.function.name}?` });
      else messages.push({ id: `t${one.id}`, role: "tool", tool_call_id: one.id, name, at: at += 100, content: "{}", result: { status: "ok", result: exit ? { exit_code: 1, output: "FAIL" } : result, duration_ms: 100, attachments: [], logs: [] } });
    }
  }));
  return {
    id: "long-run", version: 1, rev: 1, title: "Decimals everywhere", status: "interrupted", finish_reason: "awaiting", messages, calls, interrupts, grants: [],
    plan: { goal: "Decimals", tasks: PHASES.map((title, n) => ({ id: String(n + 1), title, status: n < 5 ? "completed" : "in_progress", ...(n === 3 ? { result: "one test failed at first" } : {}) })) },
    ext: {},
  };
}

await main(async (walk, job) => {
  const { page } = walk;
  const expect = (found, wanted, what) => {
    if (JSON.stringify(found) !== JSON.stringify(wanted)) throw new Error(`${what}: ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`);
  };
  const set = (changes) => page.evaluate((all) => yaa.use("ui/commands").context().actions.set(all), changes);

  await walk.step("open", async () => {
    await page.goto(job.url);
    await put(page, longRun());
    await page.waitForSelector(".work-line");
  });

  await walk.step("what was done is one line for each part", async () => {
    const lines = await page.$$eval(".work-line", (all) => all.map((one) => [...one.children].map((part) => part.textContent).filter(Boolean).join(" ")));
    expect(lines.length, 6, "lines");
    if (!/^read 3 files, 1 search, changed 3 files, ran 2 commands, plan updated 9(\.0)? s$/.test(lines[0])) throw new Error(lines[0]);
    if (!lines[3].includes("1 failed: shell exit 1")) throw new Error(lines[3]);
    expect(await page.$$eval(".ask", (all) => all.filter((one) => one.checkVisibility()).length), 3, "approvals in sight");
  });

  for (const [width, height] of SIZES) {
    await walk.step(`ten calls take no more than a screen at ${width}`, async () => {
      await page.setViewport({ width, height });
      await walk.rest();
      // what was never in sight has an estimated height
      for (const share of [0, 0.25, 0.5, 0.75, 1]) {
        await page.$eval(".scroll", (one, at) => { one.scrollTop = at * one.scrollHeight; }, share);
        await walk.rest();
      }
      const tall = await page.$eval(".feed", (one) => one.scrollHeight);
      if (tall > 6 * height) throw new Error(`${tall} pixels`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
      expect(wide, false, "wider than the screen");
      await page.$eval(".scroll", (one) => { one.scrollTop = 0; });
      await walk.shot(`1-top-${width}`);
      await page.$eval(".scroll", (one) => { one.scrollTop = one.scrollHeight; });
      await walk.shot(`1-end-${width}`);
      await walk.clean();
    });
  }
  await page.setViewport({ width: 1280, height: 800 });

  await walk.step("a group opens and closes with a key", async () => {
    const shown = () => page.$$eval(".card.tool", (all) => all.filter((one) => one.checkVisibility()).length);
    const before = await shown();
    await page.focus(".work-line");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".work-line[aria-expanded=true]");
    expect(await shown(), before + 10, "cards");
    await walk.clean();
    await walk.shot("2-open");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".work-line[aria-expanded=true]", { hidden: true });
    expect(await shown(), before, "cards again");
  });

  await walk.step("what is looked for in a group opens it", async () => {
    await page.evaluate(() => yaa.use("ui/commands").context().app.views.thread.reveal("a3_7"));
    await page.waitForFunction(() => document.getElementById("message-a3_7").checkVisibility());
    const card = "#message-a3_7 .card.tool";
    expect(await page.$eval(card, (one) => [one.dataset.state, one.dataset.tone, one.ariaLabel]), ["done", "bad", "shell: exit 1"], "a command that failed");
  });

  await walk.step("the plan is in sight", async () => {
    const plan = await page.$eval(".plan > summary", (one) => one.innerText.replace(/\s+/g, " ").trim());
    expect(plan, "Plan 5 of 6 Look at it once more", "the plan");
    await page.focus(".plan > summary");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".plan[open] li[aria-current=step]");
    expect(await page.$$eval(".plan li", (all) => all.map((one) => one.dataset.status).join(" ")), "completed completed completed completed completed in_progress", "its tasks");
    await walk.clean();
    await walk.shot("3-plan");
    await page.keyboard.press("Enter");
  });

  await walk.step("what is said does not cover what can be allowed", async () => {
    for (const [width, height] of SIZES) {
      await page.setViewport({ width, height });
      await page.$eval(".scroll", (one) => { one.scrollTop = one.scrollHeight; });
      await walk.rest();
      await page.evaluate(() => yaa.use("ui/popup").toast("Deleted “A session with a long title”.", { label: "Undo" }));
      await page.waitForSelector(".toast");
      const covered = await page.evaluate(() => {
        const said = document.querySelector(".toast").getBoundingClientRect();
        return [...document.querySelectorAll(".ask-actions .button, .all-bar .button")].filter((one) => {
          const { top, bottom, left, right } = one.getBoundingClientRect();
          return one.checkVisibility() && top < said.bottom && bottom > said.top && left < said.right && right > said.left;
        }).map((one) => one.textContent);
      });
      expect(covered, [], `covered at ${width}`);
      await walk.shot(`5-toast-${width}`);
      await page.$eval(".toast .square", (one) => one.click());
    }
    await page.setViewport({ width: 1280, height: 800 });
  });

  await walk.step("in Chinese and in the dark", async () => {
    await set({ language: "zh", theme: "dark" });
    await page.waitForFunction(() => document.documentElement.lang === "zh-CN" && document.querySelector(".work-line")?.textContent.includes("读取 3 个文件") && document.querySelector(".plan > summary")?.textContent.includes("计划"));
    await walk.shot("4-zh-dark");
    await walk.clean();
    await set({ language: "", theme: "" });
  });

  await walk.step("the answer to a question stays in sight", async () => {
    const call = { id: "q1", type: "function", function: { name: "ask_user", arguments: JSON.stringify({ question: "Which database?" }) } };
    await put(page, {
      id: "asked", version: 1, rev: 1, title: "Asked", status: "completed", finish_reason: "completed", calls: { q1: { name: "ask_user", state: "done" } }, interrupts: [], grants: [], ext: {},
      messages: [
        { id: "u1", role: "user", content: "go", at: START }, { id: "a1", role: "assistant", content: "", at: START, tool_calls: [call], meta: {} },
        { id: "t1", role: "tool", tool_call_id: "q1", name: "ask_user", content: "SQLite", at: START, result: { status: "ok", result: "SQLite", attachments: [], logs: [] } },
      ],
    });
    await walk.sees(".card.tool .tool-gist", "SQLite");
  });

  await walk.step("of a message of a megabyte only what is in sight is laid out, and it is there whole", async () => {
    const texts = { words: "word ".repeat(210_000), lines: "A line of it.\n\n".repeat(70_000), none: "\u{1F642}漢".repeat(260_000) };
    for (const [id, content] of Object.entries(texts)) {
      await put(page, { id, version: 1, rev: 1, title: id, status: "completed", finish_reason: "completed", messages: [{ id: `u-${id}`, role: "user", content, at: START }], calls: {}, interrupts: [], grants: [], ext: {} });
      await page.waitForSelector(`#message-u-${id} .piece`);
      const found = await page.$eval(`#message-u-${id} .bubble`, (el, words) => {
        const pieces = [...el.children];
        return { whole: el.textContent === words, formed: pieces.every((one) => one.textContent.isWellFormed()), auto: pieces.length > 100 && pieces.every((one) => getComputedStyle(one).contentVisibility === "auto") };
      }, content);
      expect(found, { whole: true, formed: true, auto: true }, id);
    }
    await walk.shot("6-megabyte");
  });
});
