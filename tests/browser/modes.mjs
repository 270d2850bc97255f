/**
 * What a session is told beside its messages, and says back: the mode its runs go by, what the server remarks on, and a
 * request that is too large for its model. The model is the scripted one of the benchmark, under two names: one has
 * little room. The job: {url, browser}.
 */
import { main, PATIENCE_MS } from "./driver.mjs";
import { put } from "./sample-session.mjs";

const COMPOSER = "form.composer textarea";
const PAIR = ".composer-bar select.pair";
const MODE = "button.mode:not([hidden])";
const LONG = "All the words there are. ".repeat(900);
const FIELD = ".composer-bar select[aria-label=Model]";
const OVERFLOW = ".calls > .card:has(.ask)";

await main(async (walk, job) => {
  const { page } = walk;
  let posted = 0;
  page.on("request", (request) => { posted += request.method() === "POST" && request.url().endsWith("/session"); });

  await walk.step("the modes the server knows, and what each does", async () => {
    await page.goto(job.url);
    await page.waitForFunction(() => yaa.use("ui/commands").list().some(({ id }) => id === "mode"));
    if (await page.$(MODE)) throw new Error("a mode that nobody has chosen is in sight");
    await page.evaluate(() => { yaa.use("ui/commands").run("mode"); });
    await page.waitForSelector("[role=menu]");
    const rows = await page.$$eval("[role=menuitemradio]", (all) => all.map((one) => `${one.ariaChecked} ${one.innerText.replace("\n", ": ")}`));
    const wanted = ["true As the agent says: Now: As needed", "false As needed: Any number", "false Plain: One tool at most", "false Step by step: One tool at a time", "false With a plan: A plan that is kept"];
    for (const [n, words] of wanted.entries()) if (!rows[n]?.startsWith(words)) throw new Error(`${words}: ${rows.join(" | ")}`);
    if (rows.length !== wanted.length) throw new Error(rows.join(" | "));
    await walk.clean();
    await walk.shot("1-modes");
    await walk.press("Plain", "[role=menuitemradio]");
    await walk.sees(MODE, "Plain");
  });

  await walk.step("pressed again, the button closes its menu, and pressed once more opens it", async () => {
    await page.click(MODE);
    await page.waitForSelector("[role=menu]");
    await walk.rest();
    await page.click(MODE);
    const closed = () => page.waitForFunction(() => !document.querySelector("[role=menu], .mode[aria-expanded]"));
    await closed();
    const press = () => page.$eval(MODE, (button) => button.click()); // as a screen reader does: no pointer goes down
    await press();
    await page.waitForSelector("[role=menu]");
    await walk.rest();
    await press();
    await closed();
    await page.click(MODE);
    await page.waitForSelector("[role=menu]");
    await walk.rest();
    await page.hover(MODE);
    await page.mouse.down();
    await page.mouse.move(5, 300); // let go elsewhere: that is no press
    await page.mouse.up();
    await page.keyboard.press("Escape");
    await closed();
    await press();
    await walk.press("Plain", "[role=menuitemradio]");
    await walk.sees(MODE, "Plain");
  });

  await walk.step("a run goes by the mode of its session", async () => {
    await send(walk, "bench tokens=3 delay_us=0 tool=datetime tool=datetime");
    await answered(walk, 3);
    const states = await page.$$eval(".card.tool", (all) => all.map((one) => one.dataset.state));
    if (states.join() !== "done,skipped") throw new Error(states.join());
    const kept = (await stored(page)).config.yaa.mode;
    if (kept !== "plain") throw new Error(kept);
  });

  await walk.step("another session has its own", async () => {
    await walk.press("New session", ".side button");
    await page.waitForFunction((css) => !document.querySelector(css), {}, MODE);
    await page.click(".row-open");
    await walk.sees(MODE, "Plain");
  });

  await walk.step("the mode is chosen with keys, too", async () => {
    await page.focus(MODE);
    await page.keyboard.press("Enter");
    await page.waitForSelector("[role=menu]");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Enter");
    await walk.sees(MODE, "As needed");
    const [own, focus] = [(await stored(page)).config.yaa.mode, await page.evaluate(() => document.activeElement.className)];
    if (own !== "free" || !focus.includes("mode")) throw new Error(`${own} ${focus}`);
  });

  await walk.step("what the server remarks on", async () => {
    await put(page, {
      id: "remarks", version: 1, rev: 0, title: "Remarks", messages: [{ id: "u1", role: "user", content: "bench tokens=2 delay_us=0" }],
      config: { prompt: { persona: "{x} and {charakter}", weather: "?" } },
    });
    await walk.press("Resume", ".status-line button");
    await answered(walk, 2);
    await walk.sees(".warnings", "The server has 2 remarks");
    await page.click(".warnings summary");
    await walk.sees(".warnings", "The template “persona” names {charakter}, {x}, which means nothing");
    await walk.sees(".warnings", "“weather” is no section of the prompt");
    await walk.clean();
    await walk.shot("2-remarks");
    await language(page, "zh");
    await walk.sees(".warnings", "服务器对本会话有 2 条提示");
    await page.click(".warnings summary");
    await walk.sees(".warnings", "没有含义");
    await walk.shot("3-zh");
    await language(page, "en");
    await walk.press("Dismiss", ".warnings button");
    await page.waitForFunction(() => !document.querySelector(".warnings")?.checkVisibility());
    await send(walk, "bench tokens=3 delay_us=0");
    await answered(walk, 3);
    if (await page.$eval(".warnings", (one) => one.checkVisibility())) throw new Error(`it is there again: ${await page.$eval(".warnings", (one) => one.textContent)}`);
  });

  await walk.step("every model is found by name, and the field names the one that answers", async () => {
    const named = () => page.$eval(FIELD, (one) => one.selectedOptions[0].textContent);
    const before = await named();
    if (!/^\S+ · main$/.test(before)) throw new Error(before);
    await page.evaluate(() => { yaa.use("ui/commands").run("model"); });
    await page.waitForSelector(".palette[open] [role=option]");
    await walk.clean("the models");
    await walk.shot("3-models");
    await page.keyboard.type("small");
    await page.waitForFunction(() => document.querySelector(".palette [role=option] .name").textContent.endsWith("small"));
    await page.keyboard.press("Enter");
    await page.waitForFunction((css) => document.querySelector(css).value === "small", {}, FIELD);
    await walk.press("New session", ".side button");
    await page.waitForFunction((css, name) => document.querySelector(css).selectedOptions[0].textContent === name, {}, FIELD, before);
  });

  await walk.step("one answer is given again by another model, and the session has its own after it", async () => {
    await send(walk, "bench tokens=3 delay_us=0");
    await answered(walk, 3);
    const before = await page.$eval(FIELD, (one) => one.value);
    await page.evaluate(() => {
      const onStart = ({ session }) => { globalThis.answeredBy = session.config.llm_api?.provider?.name; };
      const { app, actions } = yaa.use("ui/commands").context();
      app.sessionStore.hooks.push({ onStart, onEvent() {}, onRest() {} });
      actions.branch("retryWith", app.current.session.messages.at(-1).id);
    });
    await page.waitForSelector(".palette[open] [role=option]");
    await page.keyboard.type("small");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => globalThis.answeredBy === "small");
    await page.waitForFunction((css, name) => !document.querySelector(".feed[aria-busy=true]") && document.querySelector(css).value === name, {}, FIELD, before);
    await walk.sees(".switch .where", "2/2");
  });

  await walk.step("all models are listed with what is known of them, and the field names the one that answers", async () => {
    await walk.press("New session", ".side button");
    const before = await page.$eval(FIELD, (one) => one.value);
    await page.select(FIELD, "*");
    await page.waitForSelector(".palette[open] [role=option]");
    if ((await page.$eval(FIELD, (one) => one.value)) !== before) throw new Error("the list itself was chosen");
    const rows = await page.$$eval(".palette[open] [role=option]", (all) => all.map((one) => one.innerText.replace(/\s+/g, " ").trim()));
    const wide = rows.find((one) => one.includes("wide-1"));
    if (!/200K tokens · \$2.50 in, \$10.00 out per million/.test(wide)) throw new Error(rows.join("\n"));
    await walk.clean();
    await walk.shot("7-models");
    await page.keyboard.type("wide-2");
    await page.keyboard.press("Enter");
    await page.waitForFunction((css) => document.querySelector(css).selectedOptions[0].textContent === "wide-2 · wide", {}, FIELD);
    await send(walk, "bench tokens=3 delay_us=0");
    await answered(walk, 3);
    await walk.sees(".message-foot", "wide-2");
  });

  await walk.step("effort, temperature and length are set beside the model, for this session", async () => {
    await page.select(FIELD, "**");
    await page.waitForSelector("dialog[open] .edit-form");
    const fields = await page.$$eval("dialog[open] .edit-form :is(select, input)", (all) => all.map((one) => one.id));
    await page.select(`#${fields[0]}`, "high");
    await walk.fill(`#${fields[1]}`, "3");
    await walk.press("Save", "dialog[open] button");
    await walk.sees("dialog[open] .problem", "from 0 to 2");
    await walk.clean();
    await walk.shot("8-answers");
    await walk.fill(`#${fields[1]}`, "0.3");
    await walk.fill(`#${fields[2]}`, "500");
    await walk.press("Save", "dialog[open] button");
    await page.waitForFunction(() => !document.querySelector("dialog[open]"));
    const label = await page.$eval(FIELD, (one) => one.selectedOptions[0].textContent);
    if (label !== "wide-2 · wide") throw new Error(label);
    await page.evaluate(() => {
      const { app } = yaa.use("ui/commands").context();
      app.sessionStore.hooks.push({ onStart: ({ session }) => { globalThis.sentWith = structuredClone(session.config.llm_api) }, onEvent() {}, onRest() {} });
    });
    await send(walk, "bench tokens=3 delay_us=0");
    await page.waitForFunction(() => document.querySelectorAll("article.message[data-role=assistant]").length === 2 && !document.querySelector(".feed[aria-busy=true]"));
    const { model_settings: settings, max_tokens: length } = await page.evaluate(() => globalThis.sentWith);
    if (JSON.stringify([settings, length]) !== '[{"reasoning_effort":"high","use_custom_temp":true,"temperature":0.3},500]') throw new Error(JSON.stringify([settings, length]));
  });

  await walk.step("sessions of the same name say when each was", async () => {
    await page.evaluate(async () => {
      const { app } = yaa.use("ui/commands").context();
      for (const id of ["twin-a", "twin-b"]) await app.sessionStore.restore({ id, title: "Twins", messages: [{ id: "u", role: "user", content: "x" }] });
    });
    await page.waitForFunction(() => {
      const rows = [...document.querySelectorAll(".row")];
      const timed = rows.filter((row) => row.querySelector(".row-tags").textContent);
      const said = timed.map((row) => row.innerText);
      return rows.length > 2 && new Set(said).size === said.length && timed.length >= 2 && timed.every((row) => rows.filter((one) => one.querySelector(".row-title").textContent === row.querySelector(".row-title").textContent).length > 1);
    });
    await walk.shot("9-twins");
  });

  await walk.step("the tools say all of what they do", async () => {
    await page.evaluate(() => yaa.use("ui/commands").context().actions.openSettings("tools"));
    await page.waitForSelector("dialog[open] .panel li p", { visible: true });
    const [cut, told] = await page.evaluate(() => {
      const { tools } = yaa.use("ui/commands").context().app.server.info();
      const shown = [...document.querySelectorAll("dialog[open] .panel li p")];
      const flat = (words) => words.replace(/\s+/g, " ");
      const text = shown.map((one) => flat(one.textContent));
      return [shown.filter((one) => one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1).length, tools.filter((one) => !text.includes(flat(one.description))).map((one) => one.name)];
    });
    if (cut || told.length) throw new Error(`${cut} are cut; ${told} are not whole`);
    await walk.shot("10-tools");
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => !document.querySelector("dialog[open]"));
  });

  await walk.step("too large for the model: what it says", async () => {
    await walk.press("New session", ".side button");
    await page.select(".composer-bar select[aria-label=Model]", "small");
    await send(walk, `bench tokens=4 delay_us=0 ${LONG}`);
    await walk.sees(OVERFLOW, "Too large to send");
    await walk.sees(`${OVERFLOW} .largest`, "bench tokens=4");
    await walk.rest();
    await walk.clean();
    await walk.shot("4-overflow");
  });

  await walk.step("the largest message is one press away", async () => {
    await page.click(".largest button");
    await page.waitForFunction(() => document.querySelector("article.message").getBoundingClientRect().bottom > 0);
  });

  await walk.step("trying again asks the server again, and it is still too large", async () => {
    const before = posted;
    const asked = page.waitForRequest((request) => request.method() === "POST" && request.url().endsWith("/session"), { timeout: PATIENCE_MS });
    await walk.press("Try again", `${OVERFLOW} button`);
    await (await asked).response();
    await page.waitForFunction(() => !document.querySelector(".feed[aria-busy=true]"));
    await walk.sees(OVERFLOW, "Too large to send");
    if (posted !== before + 1) throw new Error(`${posted - before} requests`);
  });

  await walk.step("another model is chosen, and it goes on", async () => {
    await walk.press("Choose another model", `${OVERFLOW} button`);
    await page.waitForSelector("dialog[open] [data-tab=model][aria-selected=true]");
    await page.select("dialog[open] [role=tabpanel] select, dialog[open] section select", "main");
    await page.keyboard.press("Escape");
    await walk.press("Try again", `${OVERFLOW} button`);
    await answered(walk, 4);
    if (await page.$(OVERFLOW)) throw new Error("the card stays");
  });

  await walk.step("tools that do not fit are offered in brief with one press", async () => {
    await walk.press("New session", ".side button");
    await page.select(".composer-bar select[aria-label=Model]", "tiny");
    await send(walk, "bench tokens=4 delay_us=0");
    await walk.sees(OVERFLOW, "tools that are offered take about");
    await walk.press("Offer them in brief: the model asks for what it needs", `${OVERFLOW} button`);
    await answered(walk, 4);
    if (await page.$(OVERFLOW)) throw new Error("the card stays");
    const brief = await page.evaluate(() => yaa.use("ui/commands").context().app.current.session.config.yaa.tool_detail);
    if (brief !== true) throw new Error(`tool_detail is ${brief}`);
  });

  await walk.step("left as it is", async () => {
    await walk.press("New session", ".side button");
    await page.select(".composer-bar select[aria-label=Model]", "small");
    await send(walk, `bench tokens=5 delay_us=0 ${LONG}`);
    await walk.sees(OVERFLOW, "Too large to send");
    await walk.press("Leave it here", `${OVERFLOW} button`);
    await page.waitForFunction((css) => !document.querySelector(css) && !document.querySelector(".feed[aria-busy=true]"), {}, OVERFLOW);
    const { interrupts } = await stored(page);
    if (interrupts.some((one) => !one.answer)) throw new Error(JSON.stringify(interrupts));
  });

  await walk.step("on a phone, in the dark", async () => {
    await page.setViewport({ width: 390, height: 844 });
    await page.evaluate(() => yaa.use("ui/commands").context().actions.set({ theme: "dark" }));
    await walk.press("Show sessions", ".top button");
    await walk.press("Remarks", ".row-open");
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    if (wide) throw new Error("the page scrolls sideways");
    await walk.shot("5-phone");
    await page.evaluate(() => { yaa.use("ui/commands").run("model"); });
    await page.waitForSelector(".palette[open] [role=option]");
    const narrow = await page.$$eval(".palette [role=option] .name", (all) => all.filter((one) => one.scrollWidth > one.clientWidth + 1 || one.clientWidth < 40).length);
    if (narrow) throw new Error(`${narrow} names of models are cut`);
    await walk.shot("5-phone-models");
    await page.keyboard.press("Escape");
    await page.waitForSelector(".palette", { hidden: true });
    await page.evaluate(() => yaa.use("ui/commands").context().actions.set({ language: "zh" }));
    await page.waitForFunction(() => document.documentElement.lang.startsWith("zh"));
    await page.evaluate(() => { yaa.use("ui/commands").run("session.answers"); });
    await walk.sees("dialog[open] label", "推理强度");
    const over = await page.$eval("dialog[open]", (one) => one.scrollWidth > one.clientWidth + 1);
    if (over) throw new Error("the dialog is wider than the screen");
    await walk.clean();
    await walk.shot("5-phone-answers");
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog[open]", { hidden: true });
    await page.evaluate(() => yaa.use("ui/commands").context().actions.set({ language: "en" }));
    await page.waitForSelector(PAIR);
    await page.setViewport({ width: 320, height: 640 });
    const pair = await page.$eval(PAIR, (one) => one.offsetWidth);
    if (pair < 80) throw new Error(`the names of agent and model have ${pair} pixels`);
    await page.setViewport({ width: 390, height: 844 });
  });

  await walk.step("agent and model in one field of a phone", async () => {
    const shown = () => page.$$eval(".composer-bar select", (all) => all.filter((one) => one.checkVisibility()).map((one) => [one.getAttribute("aria-label"), one.selectedOptions[0].textContent].join(": ")));
    const before = await shown();
    if (before.length !== 1 || !/^Agent · Model: \S.* · \S/.test(before[0])) throw new Error(JSON.stringify(before));
    const about = await page.$$eval(`${PAIR} optgroup:first-of-type option`, (all) => all.map((one) => one.textContent));
    if (!about.includes("coder – Reads, writes and runs code in the session's folder.")) throw new Error(`nobody says what each agent is for: ${about}`);
    const option = (index) => page.$$eval(`${PAIR} optgroup:nth-of-type(${index}) option`, (all) => all.find((one) => !one.textContent.startsWith("✓")).value);
    for (const index of [1, 2]) {
      const name = await option(index);
      await page.select(PAIR, name);
      await page.waitForFunction((css, at, wanted) => document.querySelectorAll(`${css} optgroup`)[at].querySelector(`option[value="${CSS.escape(wanted)}"]`).textContent.startsWith("✓"), {}, PAIR, index - 1, name);
    }
    const after = await shown();
    if (after[0] === before[0]) throw new Error(JSON.stringify(after));
    await walk.shot("5-phone-pair");
    await page.setViewport({ width: 1280, height: 800 });
    const wide = await shown();
    if (wide.length !== 2) throw new Error(JSON.stringify(wide));
    await page.setViewport({ width: 390, height: 844 });
  });

  await walk.step("modes of a phone", async () => {
    await page.evaluate(() => { yaa.use("ui/commands").run("mode"); });
    await page.waitForSelector("[role=menu]");
    await walk.clean();
    await walk.shot("6-phone-modes");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Enter");
    await page.waitForFunction((css) => document.querySelector(css).lastElementChild.textContent === "Mode: With a plan …" && document.querySelector(css).value === "", {}, PAIR);
    if (await page.$eval(MODE, (one) => one.checkVisibility())) throw new Error("a sign without words");
    await page.select(PAIR, "mode");
    await page.waitForSelector("[role=menu]");
  });
});

async function send(walk, words) {
  await walk.page.$eval(COMPOSER, (el, value) => {
    el.value = value;
    el.dispatchEvent(new Event("input", { bubbles: true }));
  }, words);
  await walk.page.focus(COMPOSER);
  await walk.page.keyboard.press("Enter");
}

/** Waits until the last answer has so many words and nothing runs. */
async function answered(walk, tokens) {
  await walk.page.waitForFunction((wanted) => {
    const last = [...document.querySelectorAll("article.message")].at(-1);
    return (last?.textContent.match(/@\d+@/g) ?? []).length === wanted && !document.querySelector(".feed[aria-busy=true]");
  }, {}, tokens);
}

/** The open session as it is kept. */
function stored(page) {
  return page.evaluate(() => yaa.use("ui/commands").context().app.current.session);
}

async function language(page, wanted) {
  await page.evaluate((name) => yaa.use("ui/commands").context().actions.set({ language: name }), wanted);
  await page.waitForFunction((name) => document.documentElement.lang.startsWith(name), {}, wanted);
}
