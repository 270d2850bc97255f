/**
 * Small things that people met on their first day: what waits and what failed, menus, notices of the server, another version
 * of it, notifications, a browser that shows no storage. The job: {url}.
 */
import { main } from "./driver.mjs";
import { asking, put } from "./sample-session.mjs";

const AREA = "form.composer textarea";
const said = (id, messages, more = {}) => ({ id, version: 1, rev: 1, title: id, status: "completed", finish_reason: "completed", calls: {}, messages, ...more });
const user = { id: "u1", role: "user", content: "go", at: 1 };

await main(async (walk, job) => {
  const { page } = walk;
  const expect = (found, wanted, what) => {
    if (JSON.stringify(found) !== JSON.stringify(wanted)) throw new Error(`${what}: ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`);
  };
  const items = () => page.$$eval(".menu [role=menuitem]", (all) => all.map((one) => one.innerText.trim()));

  await walk.step("open", async () => {
    // what a browser that is looked at and one that is not would do, and a server of another version
    await page.evaluateOnNewDocument(() => {
      globalThis.noted = [];
      globalThis.Notification = class {
        static permission = "default";
        static async requestPermission() { return (this.permission = "granted"); }
        constructor(title, { body }) { globalThis.noted.push(body); }
        close() {}
      };
      Object.defineProperty(document, "hidden", { get: () => globalThis.away === true });
      const ask = globalThis.fetch;
      globalThis.fetch = async (address, ...rest) => {
        const answer = await ask(address, ...rest);
        if (!globalThis.otherVersion || !/\/info$/.test(String(address))) return answer;
        return new Response(JSON.stringify({ ...await answer.json(), version: "9.9.0" }), { status: answer.status, headers: answer.headers });
      };
    });
    await page.goto(job.url);
    await page.waitForSelector(".side .dot.good");
  });

  await walk.step("what failed waits for nobody", async () => {
    const failed = said("failed", [user], { status: "interrupted", interrupts: [{ id: "i1", reason: "model_error", code: "upstream_auth", message: "401 Unauthorized" }] });
    await put(page, failed, said("well", [user, { id: "a1", role: "assistant", content: "Yes." }]));
    await walk.sees(".ask", "401 Unauthorized");
    await walk.press("Change the key", ".ask button");
    await page.waitForSelector("dialog[open] [data-part=providers][open] .host-part");
    await walk.press("Close", "dialog[open] button");
    await page.waitForSelector("dialog[open]", { hidden: true });
    await page.waitForSelector(".desk-button", { hidden: true });
    expect(await page.$$eval(".side .row-mark .dot.warn, .chip", (all) => all.length), 0, "marks of what waits");
    await put(page, asking("waits", "shell", { command: "true" }));
    await walk.sees(".desk-button", "1");
    await page.waitForSelector(".side .row-mark .dot.warn");
    expect(await page.$eval(".desk-button .sr-only", (one) => one.textContent), "1 question waits for you", "for those who listen");
  });

  await walk.step("a talk from elsewhere that ends with a question was not cut off", async () => {
    await put(page, said("elsewhere", [user, { id: "a1", role: "assistant", content: "Yes." }, { ...user, id: "u2", content: "And then?" }], { status: undefined, finish_reason: undefined }));
    await walk.rest();
    expect(await page.$$eval(".status-line", (all) => all.filter((one) => one.checkVisibility()).map((one) => one.innerText)), [], "a line");
  });

  await walk.step("the menu of a session begins with its name and ends with its end", async () => {
    await page.waitForFunction(() => yaa.use("ui/commands").list().some(({ id }) => id === "session.delete"));
    await walk.press("More about this session", ".top button");
    const all = await items();
    expect([all[0], all.at(-1)], ["Rename", "Delete this session"], all.join());
    expect(all.length <= 7, true, `few enough to be read: ${all.join()}`);
    await walk.press("Rename", ".menu button");
    await page.waitForSelector(".top .title-edit:focus");
    await page.keyboard.type("Named here");
    await page.keyboard.press("Enter");
    await walk.sees(".top-title", "Named here");
    expect(await page.$$eval(".title-edit", (all) => all.length), 0, "opened again by the same key");
  });

  await walk.step("Escape ends a selection", async () => {
    await page.$eval(".side .row .row-more", (one) => one.click());
    await walk.press("Select", ".menu button");
    await page.waitForSelector(".select-bar");
    await page.focus(".side .row-check");
    await page.keyboard.press("Escape");
    await page.waitForSelector(".select-bar", { hidden: true });
    expect(await page.$$eval(".row-check", (all) => all.filter((one) => !one.hidden).length), 0, "boxes");
    await page.evaluate(() => { yaa.use("ui/commands").run("side.toggle"); });
    await page.waitForSelector(".side", { hidden: true });
    await walk.press("Show sessions", ".top button"); // the way back is in sight
    await page.waitForSelector(".side", { visible: true });
  });

  await walk.step("one remark of the server is said, several are folded", async () => {
    const remark = { code: "config_key_unknown", message: "Said.", key: "limits.max_stepz", nearest: "limits.max_steps" };
    const talk = [user, { id: "a1", role: "assistant", content: "Yes." }];
    await put(page, said("one remark", talk, { run: { id: "r", warnings: [remark] }, usage: { prompt_tokens: 800, completion_tokens: 100, total_tokens: 900, cost_micro: 95_000, cost_unit: "$" } }));
    await walk.sees(".top-meter", "$0.095"); // of the session, in money as the language writes it
    if ((await walk.text(".top-meter")).includes("tokens")) throw new Error("two numbers of tokens, with two meanings");
    await walk.sees(".composer-bar", "/ 100K"); // what the model is sent, of what it may be: another number
    await walk.sees(".warnings", "limits.max_steps");
    expect(await page.$$eval(".warnings details", (all) => all.length), 0, "to be opened");
    await walk.shot("remark");
    await put(page, said("two remarks", talk, { run: { id: "r", warnings: [remark, { message: "Another." }] } }));
    await walk.sees(".warnings summary", "2 remarks");
  });

  await walk.step("that the server has another version is said", async () => {
    await page.evaluate(() => {
      globalThis.otherVersion = true;
      yaa.use("ui/commands").context().actions.newSession();
      yaa.use("ui/commands").context().actions.connect();
    });
    await walk.sees(".warnings", "This page is of version");
    await walk.sees(".warnings", "9.9.0");
    await walk.shot("version");
    await walk.clean();
  });

  await walk.step("long code shows its beginning, and how much follows", async () => {
    const lines = Array.from({ length: 5700 }, (_, n) => `value_${n} = ${n}`);
    await put(page, said("long code", [user, { id: "a1", role: "assistant", content: `Here:\n\n\`\`\`python\n${lines.join("\n")}\n\`\`\``, meta: {} }]));
    await walk.sees(".code-more", "5,640 more lines");
    const tall = await page.$eval(".feed", (one) => one.scrollHeight);
    if (tall > 3 * 800) throw new Error(`${tall} pixels`);
    await walk.press("5,640 more lines", ".code-more");
    await page.waitForFunction(() => document.querySelector(".feed").scrollHeight > 50_000);
    if (!(await page.$eval("article pre", (one) => one.textContent.endsWith("value_5699 = 5699")))) throw new Error("not whole");
    await walk.press("Line numbers", "article .code button");
    expect(await page.$eval("article pre", (one) => one.dataset.lines.split("\n").at(-1)), "5700", "the last number");
    await page.evaluate(() => {
      const make = URL.createObjectURL;
      URL.createObjectURL = (blob) => { blob.text().then((text) => { globalThis.savedCode = text; }); return make.call(URL, blob); };
    });
    await walk.press("Save code as a file", "article .code button");
    await page.waitForFunction(() => globalThis.savedCode?.endsWith("value_5699 = 5699"));
  });

  await walk.step("the palette has what it is asked for by its name first, and what can be set", async () => {
    await page.waitForFunction(() => yaa.use("ui/commands").list().some(({ id }) => id === "palette"));
    await page.evaluate(() => { yaa.use("ui/commands").run("palette"); });
    await page.waitForSelector("dialog[open] [role=combobox]");
    const first = async (words) => {
      await walk.write("dialog[open] [role=combobox]", words);
      return page.$$eval("dialog[open] [role=option] .name", (all) => all.map((one) => one.textContent));
    };
    expect((await first("new session"))[0], "New session", "the first");
    for (const [words, wanted] of [["theme", "Theme: Dark"], ["language", "Language: 中文"], ["model", "Model: "], ["agent", "Agent: coder"]]) {
      const found = await first(words);
      if (!found.some((one) => one.toLowerCase().startsWith(wanted.toLowerCase()))) throw new Error(`${words}: ${found.join(", ")}`);
    }
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog[open]", { hidden: true });
  });

  await walk.step("a long text that is pasted is a file, or stays text if that is meant; a short one is typed", async () => {
    await page.evaluate(async () => { await yaa.use("ui/commands").run("session.new"); });
    await walk.sees(".empty", "What shall we do?"); // the field is that of the new session with the same drawing
    const paste = (text) => page.evaluate((words) => {
      const area = document.querySelector("form.composer textarea");
      const event = Object.assign(new Event("paste", { bubbles: true, cancelable: true }));
      const data = new DataTransfer();
      data.setData("text/plain", words);
      Object.defineProperty(event, "clipboardData", { value: data });
      area.focus();
      area.dispatchEvent(event);
      return event.defaultPrevented;
    }, text);
    expect(await paste("line\n".repeat(99)), false, "100 lines are typed");
    expect(await paste("line\r\n".repeat(150)), true, "151 lines");
    await walk.sees(".tray", "pasted.txt");
    await walk.sees(".toast", "has 151 lines and is attached");
    await walk.press("As text instead", ".toast button");
    await page.waitForFunction(() => document.querySelector("form.composer textarea").value.split("\n").length === 151 && !document.querySelector(".tray li"));
    await page.$eval("form.composer textarea", (area) => { area.value = ""; area.dispatchEvent(new Event("input", { bubbles: true })); });
  });

  await walk.step("a file that comes while the tray of a new session is made is in it", async () => {
    await put(page, said("before a file", [user, { id: "a1", role: "assistant", content: "Yes." }]));
    await page.waitForSelector("form.composer .tray"); // the composer has them now, for each session
    await page.evaluate(() => {
      const { run, context } = yaa.use("ui/commands");
      const { settings, views } = context().app;
      const { keepFiles } = settings;
      run("session.new");
      settings.keepFiles = (...given) => new Promise((resolve) => { globalThis.keepNow = () => resolve(keepFiles(...given)); });
      views.composer.attach([new File(["words"], "late.txt", { type: "text/plain" })]);
      settings.keepFiles = keepFiles;
    });
    await page.waitForSelector("form.composer ul.tray"); // it has looked for what is stored
    await page.evaluate(() => globalThis.keepNow());
    await walk.sees(".tray", "late.txt");
    expect(await page.$$eval("form.composer ul.tray", (all) => all.length), 1, "trays");
    expect(await page.$$eval(".tray li", (all) => all.length), 1, "files");
    await page.$$eval(".tray li button", ([one]) => one.click());
  });

  await walk.step("the palette begins with nothing that changes a message", async () => {
    await put(page, said("for the palette", [user, { id: "a1", role: "assistant", content: "Yes." }]));
    await page.evaluate(() => { yaa.use("ui/commands").run("palette"); });
    await walk.sees(".palette[open] [role=option]", "New session");
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog[open]", { hidden: true });
  });

  await walk.step("how long one call may take is set beside the other limits", async () => {
    await page.evaluate(() => yaa.use("ui/commands").context().actions.openSettings("limits"));
    await walk.sees("dialog[open] .grid-2 .field:last-child", "at most 3,600 at this server");
    expect(await page.$eval("dialog[open] .grid-2 .field:last-child input", (one) => one.placeholder), "300", "the usual one");
    await walk.write("dialog[open] .grid-2 .field:last-child input", "120");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => yaa.use("ui/commands").context().app.settings.get("config")?.limits?.tool?.wall_s === 120);
    await walk.shot("limits");
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog[open]", { hidden: true });
  });

  await walk.step("who waits for a while may be told when it is over", async () => {
    await page.type(AREA, "bench tokens=4000 delay_us=20000");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".note.notify");
    await walk.shot("notify");
    await walk.press("Notify me when I am elsewhere", ".note.notify button");
    await page.waitForFunction(() => Notification.permission === "granted" && !document.querySelector(".note.notify"));
    await page.evaluate(() => { globalThis.away = true; });
    await page.click(".send.stop");
    await page.waitForFunction(() => globalThis.noted.some((words) => words.includes("the answer is there")));
    await page.evaluate(() => { globalThis.away = false; });
    // the events of a run that is over are on this device, for the time slider, and no more in memory
    await page.waitForFunction(() => yaa.use("ui/commands").context().app.current.run.events.length === 0);
    const kept = await page.evaluate(async () => (await yaa.use("ext/time/event-log").load(yaa.use("ui/commands").context().app.current.session.id)).length);
    expect(kept, 1, "runs whose events are kept");
  });

  await walk.step("a browser that lets nobody look for its storage shows the page", async () => {
    const other = await walk.context.newPage();
    other.setDefaultTimeout(job.patience_ms);
    await other.evaluateOnNewDocument(() => Object.defineProperty(globalThis, "indexedDB", { get() { throw new Error("not here"); } }));
    await other.goto(job.url);
    await other.waitForSelector(AREA, { visible: true });
    await other.waitForSelector(".side .dot.good");
    await other.close();
  });
});
