/**
 * The table of a bad line: each row is something that a person does, while one kind of request meets one fault. Afterwards the
 * line is good again, and four things must hold: nothing the person made is lost; no setting is ignored; nothing that was said
 * is false; something can be done without a reload. The job: {url, direct, key, site, speed, rows: [{action, fault}]}, of a
 * server and a line as in bad_line.py. A row that fails is told, and the next one begins with a fresh page.
 */
import { main } from "./driver.mjs";
import { parts } from "./server-parts.mjs";

const COMPOSER = "form.composer textarea";
const DIALOG = "dialog[open]";
/** What only programmers read: status lines, names of files and errors. */
const RAW = /\b(?:4\d\d|5\d\d) X\b|\.js could not be loaded|\bundefined\b|\[object|TypeError|SyntaxError|NetworkError|Failed to fetch|Unexpected token/;
/** What is not so in any row: the page is the server's own, and asks one thing at a time. */
const FALSE = /does not allow this page|other cards/;
/** Kinds of faults that answer nothing for a while; and what shows that something is awaited. */
const SILENT = new Set(["hang", "deaf", "delay", "late"]);
/** Given to a page that has just been opened. */
const FILES_GIVEN = ["dropped.txt", "pasted.txt", "chosen.txt"];
const BUSY = ".spinner, [aria-busy=true], [aria-disabled=true], progress";

await main(async (walk, job) => {
  /** So long, in ms of this machine, the page has for what it does after the line is good again. */
  const SETTLE_MS = job.patience_ms / 4;
  const { page } = walk;
  const { open, field, part } = parts(walk);
  const told = async (...what) => (await walk.ask(...what)).answer;
  let count = 0;
  /** The fault of the row. @type {any} */ let now = {};
  let [ranOn, goesOn] = [false, false];

  /** The page's clock runs faster than ours, so that its limits of seconds are waited for. */
  const hurry = (tab) => tab.evaluateOnNewDocument((speed) => {
    const [later, often, now, limit] = [globalThis.setTimeout, globalThis.setInterval, Date.now, AbortSignal.timeout];
    const began = now();
    globalThis.setTimeout = (work, ms = 0, ...rest) => later(work, ms / speed, ...rest);
    globalThis.setInterval = (work, ms = 0, ...rest) => often(work, ms / speed, ...rest);
    Date.now = () => began + (now() - began) * speed;
    AbortSignal.timeout = (ms) => limit.call(AbortSignal, ms / speed);
  }, job.speed);
  await hurry(page);

  // -- the server as it is, past the line

  const ask = (path, options = {}) => fetch(job.direct + path, { ...options, headers: { Authorization: `Bearer ${job.key}`, ...options.headers } });
  const put = (id, path, text, folder = "") => ask(`/workspaces/${id}/file?${new URLSearchParams({ path, ...(folder ? { folder } : {}) })}`, { method: "PUT", body: text });
  const filesOf = async (id) => (await (await ask(`/workspaces/${id}/files`)).json()).entries.map((one) => one.path).sort();
  const layerOf = async (id) => (await (await ask(`/workspaces/${id}/status?folder=notes`)).json()).files.map((one) => one.path).sort();
  const fileOf = async () => (await (await ask("/settings")).json()).file.server ?? {};

  // -- the page

  const session = () => page.evaluate(() => yaa.use("ui/commands").context().app.current.session);
  const shown = () => page.evaluate(() => [document.body.innerText, ...[...document.querySelectorAll("input:not([type=password]), textarea")].map((one) => one.value)].join("\n"));
  const rows = () => page.$$eval(".file-tree .node .name", (all) => all.map((one) => one.textContent).sort());
  const isThere = (css) => page.evaluate((selector) => [...document.querySelectorAll(selector)].some((one) => one.checkVisibility()), css);
  const pressed = (words, css) => page.evaluate((wanted, selector) => {
    const found = [...document.querySelectorAll(selector)].find((one) => one.checkVisibility() && !one.disabled && !one.getAttribute("aria-disabled") && one.innerText.includes(wanted));
    found?.click();
    return Boolean(found);
  }, words, css);
  const isLocked = () => page.evaluate(() => [...document.querySelectorAll("form.composer textarea")].some((one) => one.readOnly || one.disabled));
  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  async function until(holds, ms = SETTLE_MS) {
    for (const end = performance.now() + ms; performance.now() < end; await pause(100)) if (await holds()) return true;
    return false;
  }

  async function openPage() {
    await page.goto("about:blank");
    await page.goto(job.url);
    await page.waitForSelector(COMPOSER, { visible: true });
    await page.waitForFunction(() => { try { return yaa.use("ui/commands").context().app.server.info() } catch { return null } });
    await page.evaluate(() => yaa.use("ui/commands").context().actions.set({ theme: "light", paused: false }));
  }

  /** Have every call asked about. */
  const pauseCalls = () => page.evaluate(() => {
    const { actions } = yaa.use("ui/commands").context();
    if (actions.pause) actions.pause(true);
    else actions.set({ paused: true }); // of a page that is older
  });

  async function newSession(folder = "") {
    await page.evaluate(() => document.querySelector("dialog[open]")?.querySelector(".dialog-head button")?.click());
    // an empty one would be used again, with the files that it has
    await page.evaluate(() => { const { app, actions } = yaa.use("ui/commands").context(); actions.set({ paused: false }); app.show(app.sessionStore.fresh()); });
    if (folder) await page.evaluate((name) => { yaa.use("ui/commands").context().app.current.session.workspace = { folder: name }; }, folder);
    return (await session()).id;
  }

  async function openFiles(names) {
    const id = await newSession();
    for (const [path, text] of Object.entries(names)) await put(id, path, text);
    if (!await isThere("aside.files")) await page.click(".files-button");
    else await page.evaluate(() => [...document.querySelectorAll(".files-head .icon-button, .files-head button")].find((one) => one.getAttribute("aria-label") === "Refresh")?.click());
    await page.evaluate(() => document.querySelector(".files-tabs button")?.click());
    const tops = [...new Set(Object.keys(names).map((path) => path.split("/")[0]))];
    await until(async () => (await rows()).join() === tops.sort().join());
    return id;
  }

  /** A session whose commands run unasked. */
  async function shellSession() {
    const id = await newSession();
    await page.evaluate(() => { yaa.use("ui/commands").context().app.current.session.config = { tool: { shell: { auto_approve: true } } }; });
    ranOn = false;
    return id;
  }
  /** How often a command of it ran. */
  async function ran(id) {
    const answer = await ask(`/workspaces/${id}/file?path=ran.txt`);
    return answer.ok ? (await answer.text()).length : 0;
  }

  const again = () => page.evaluate(() => [...document.querySelectorAll(".files-head button")].find((one) => /Refresh/.test(one.getAttribute("aria-label")))?.click());
  /** By the keys, as a person gets there. */
  async function focusRow(name) {
    await page.evaluate(() => document.querySelector('.file-tree .node[tabindex="0"]').focus());
    await page.keyboard.press("Home");
    for (let n = 0; n < 9 && await page.evaluate(() => document.activeElement.dataset.path) !== name; n++) await page.keyboard.press("ArrowDown");
  }
  const clickRow = (name) => page.evaluate((wanted) => [...document.querySelectorAll(".file-tree .node")].find((one) => one.dataset.path === wanted)?.click(), name);
  /** Once the page takes it, which is a part that comes late. */
  async function drop(css, name, text) {
    const isTaken = (type) => page.evaluate((selector, file, words, what) => {
      const data = new DataTransfer();
      data.items.add(new File([words], file));
      return !document.querySelector(selector).dispatchEvent(new DragEvent(what, { dataTransfer: data, bubbles: true, cancelable: true }));
    }, css, name, text, type);
    await until(() => isTaken("dragover"));
    await isTaken("drop");
  }

  /** The list says what is on the server. */
  const listed = (id) => async (fail) => {
    if (await until(async () => (await rows()).join() === [...new Set((await filesOf(id)).map((path) => path.split("/")[0]))].join())) return;
    await again();
    const tops = (await filesOf(id)).join();
    const late = await until(async () => (await rows()).join() === [...new Set(tops.split(",").map((path) => path.split("/")[0]))].join());
    fail("false", `the list said ${late ? "something else until it was asked again" : (await rows()).join()}; on the server: ${tops}`);
  };

  async function openSettings(name) {
    await newSession();
    await open(name);
    await pressed("Cancel", `${part(name)} .host-form button`);
  }

  /** A form is saved again as long as it is open. */
  const savedAgain = (name, words, isSaved) => async (fail) => {
    await until(() => page.evaluate((at) => ![...document.querySelectorAll(`${at} button`)].some((one) => one.getAttribute("aria-disabled")), part(name)));
    for (let n = 0; n < 2 && await isThere(`${part(name)} form.host-form`); n++) {
      if (!await pressed(words, `${part(name)} .host-form button`)) fail("stuck", "the button does nothing");
      await until(async () => !await isThere(`${part(name)} form.host-form`));
    }
    const said = await page.$eval(part(name), (one) => one.innerText);
    if (/changed elsewhere|of this name already|is taken/.test(said)) fail("false", said.match(/[^\n]*(?:changed elsewhere|of this name already|is taken)[^\n]*/)[0]);
    if (await isThere(`${part(name)} form.host-form`)) fail("stuck", `it cannot be saved without a reload: ${said.slice(-300)}`);
    if (!await isSaved()) fail("lost", "it is not on the server");
  };

  /** What the page offers after a bad line is pressed, until the answer is there. */
  const answered = (words, turns = 1) => async (fail) => {
    const isDone = () => page.evaluate((wanted) => !document.querySelector(".feed[aria-busy=true]") && [...document.querySelectorAll("article.message[data-role=assistant]")].at(-1)?.innerText.includes(wanted), words);
    for (let n = 0; n < 6 && !await until(isDone, 2500); n++) {
      await pressed("Try now", "button") || await pressed("Try again", "button") || await pressed("Resume", "button") || await pressed("Allow once", ".ask button");
    }
    if (!await isDone()) fail("lost", `the answer never came: ${(await page.$eval("main, body", (one) => one.innerText)).slice(-300)}`);
    const { messages } = await session();
    if (messages.filter((one) => one.role === "user").length !== turns) fail("lost", `${messages.length} messages`);
    if (messages.filter((one) => one.role === "tool").length > turns) fail("lost", "the call ran twice");
  };

  /** `over`: the requests that the fault happens to; `act`: what the person does, and what the page then is asked about. */
  const ACTIONS = {
    upload: {
      over: "PUT /workspaces/.*path=up", begin: () => openFiles({ "f1.txt": "1" }),
      act: () => drop("aside.files", "up.txt", "mine"),
      async check(id, fail) {
        await until(async () => (await filesOf(id)).includes("up.txt") || await isThere(".uploads li[data-tone=bad]"));
        if (!(await filesOf(id)).includes("up.txt") && !await isThere(".uploads li")) fail("lost", "up.txt is nowhere");
        await listed(id)(fail);
        if (await pressed("Try again", ".uploads .button")) await until(async () => (await filesOf(id)).includes("up.txt"));
        if (!(await filesOf(id)).includes("up.txt")) fail("stuck", `it cannot be sent again: ${await page.$eval("aside.files", (one) => one.innerText)}`);
      },
    },
    "upload, the agent writes, Undo": {
      over: "PUT /workspaces/.*path=up", begin: () => openFiles({ "f1.txt": "1" }),
      async act(id) {
        await drop("aside.files", "up.txt", "mine");
        await put(id, "agent.txt", "the agent's");
      },
      async check(id, fail) {
        await until(() => isThere(".toast button"), 4000);
        if (!await pressed("Undo", ".toast button")) return;
        await until(async () => !(await filesOf(id)).includes("up.txt"), 4000);
        if (!(await filesOf(id)).includes("agent.txt")) fail("lost", "Undo took what the agent wrote");
        await listed(id)(fail);
      },
    },
    delete: {
      over: "DELETE /workspaces", begin: () => openFiles({ "f1.txt": "1", "f2.txt": "2" }),
      act: async () => (await focusRow("f2.txt"), page.keyboard.press("Delete")),
      async check(id, fail) {
        await listed(id)(fail);
        if (!(await filesOf(id)).includes("f2.txt")) return;
        await focusRow("f2.txt");
        await page.keyboard.press("Delete");
        if (!await until(async () => !(await filesOf(id)).includes("f2.txt"))) fail("stuck", "it cannot be deleted");
      },
    },
    rename: {
      over: "POST /workspaces/.*move", begin: () => openFiles({ "f1.txt": "1" }),
      async act() {
        await focusRow("f1.txt");
        await page.keyboard.press("F2");
        await walk.write(`${DIALOG} input`, "g1.txt");
        await page.keyboard.press("Enter");
      },
      async check(id, fail) {
        await listed(id)(fail);
        if (await isThere(`${DIALOG} input`)) {
          await page.focus(`${DIALOG} input`);
          await page.keyboard.press("Enter");
          if (!await until(async () => !await isThere(`${DIALOG} input`), 4000)) fail("false", await page.$eval(DIALOG, (one) => one.innerText.slice(-80)));
        }
        if (!(await filesOf(id)).includes("g1.txt")) fail("lost", "the name is not given");
        await listed(id)(fail);
      },
    },
    "open a file": {
      over: "GET /workspaces/.*/file\\?.*f2", begin: () => openFiles({ "f1.txt": "content of the first", "f2.txt": "content of the second" }),
      async act() {
        await clickRow("f1.txt");
        await until(async () => (await shown()).includes("content of the first"));
        await page.evaluate(() => document.querySelector(".file-head button").click());
        await clickRow("f2.txt");
        await pause(150);
      },
      async during(_, fail) {
        if ((await page.$eval(".file-head .path", (one) => one.innerText)).includes("f2") && (await page.$eval(".file-place", (one) => one.innerText)).includes("first")) fail("false", "the name of the second over the text of the first");
        if (!(await page.$eval(".file-place", (one) => one.innerHTML)).length) fail("false", "nothing is said");
      },
      async check(_, fail) {
        await page.evaluate(() => document.querySelector(".file-head button").click());
        await clickRow("f2.txt");
        if (!await until(async () => (await shown()).includes("content of the second"))) fail("stuck", "it cannot be read");
        await page.evaluate(() => document.querySelector(".file-head button").click());
      },
    },
    "open two folders": {
      over: "GET /workspaces/.*/files\\?path=", begin: () => openFiles({ "d1/in-1": "1", "d2/in-2": "2" }),
      act: async () => (await clickRow("d1"), await clickRow("d2")),
      async check(_, fail) {
        const both = async () => ["in-1", "in-2"].every((name) => rows.last.includes(name));
        const look = async () => (rows.last = await rows(), both());
        if (await until(look, 2500)) return;
        for (const [name, inside] of [["d1", "in-1"], ["d2", "in-2"]]) {
          const isOpen = await page.evaluate((wanted) => [...document.querySelectorAll(".file-tree .node")].find((one) => one.dataset.path === wanted)?.getAttribute("aria-expanded"), name);
          if (!(await rows()).includes(inside) && isOpen === "true") fail("false", `${name} is open and empty`);
          if (isOpen !== "true") await clickRow(name);
        }
        if (!await until(look, 4000)) fail("stuck", "they cannot be opened");
      },
    },
    "look at the files": {
      over: "GET /workspaces/.*/(state|files)",
      async begin() {
        const id = await newSession();
        await put(id, "f1.txt", "1");
        if (await isThere("aside.files")) await page.evaluate(() => [...document.querySelectorAll(".files-head button")].at(-1).click());
        return id;
      },
      act: () => page.click(".files-button"),
      async during(_, fail) {
        await pause(3000 / job.speed);
        const said = await page.$eval("aside.files", (one) => one.querySelector(".files-body").innerText + one.querySelector(".files-notice").innerText);
        if (!/Loading|answer|f1|busy|did not work|gateway|reached/i.test(said)) fail("false", "nothing is said");
      },
      check: async (id, fail) => (await again(), listed(id)(fail)),
    },
    "look at a change": {
      ...layerRow("diff"),
      over: "GET /workspaces/.*/diff",
      act: () => page.click(".layer-row .file-row"),
      async check(_, fail) {
        const isSeen = () => isThere(".layer-row .diff, .layer-row .file-diff .files-bar");
        if (await until(isSeen, 2000)) return;
        await page.click(".layer-row .file-row");
        await page.click(".layer-row .file-row");
        if (!await until(isSeen)) fail("stuck", "it cannot be seen");
      },
    },
    discard: layerRow("discard", "Discard all", async (id) => !(await layerOf(id)).length),
    apply: layerRow("apply", "Apply all", async (id) => !(await layerOf(id)).length),
    "save a setting": settingRow("PATCH /settings", "folders", "Save", async (name) => {
      await walk.press("Add a folder", `${part("folders")} button`);
      await walk.write(await field("folders", "Path"), job.site);
      await walk.write(await field("folders", "Name"), name);
    }, async (name) => Boolean((await fileOf()).folders?.[name])),
    "save an agent": settingRow("PUT /settings/agents", "agents", "Save", async (name) => {
      await walk.press("New agent", `${part("agents")} button`);
      await walk.write(await field("agents", "Name"), name);
      await walk.write(await field("agents", "What it is told"), "Say arr.");
    }, async (name) => (await (await ask("/settings/agents")).json()).agents.some((one) => one.name === name)),
    "make a key": settingRow("POST /settings/keys", "keys", "Make it", async (name) => {
      await pressed("I have written it down", `${part("keys")} button`);
      await walk.press("Make a key", `${part("keys")} button`);
      await walk.write(await field("keys", "Name"), name);
    }, async () => {
      if (!await isThere(`${part("keys")} svg.qr`)) return false;
      const key = await page.$eval(await field("keys", "Key"), (one) => one.value);
      return (await fetch(`${job.direct}/info`, { headers: { Authorization: `Bearer ${key}` } })).ok;
    }),
    "send a message": {
      over: "POST /session$",
      async begin() {
        await newSession();
        return told("posts");
      },
      act: () => walk.send("calc 6*7"),
      async during(before, fail) {
        const posts = await told("posts") - before;
        if (posts > 4) fail("false", `sent ${posts} times in ${now.hold * job.speed / 1000} s`);
        const said = await shown();
        if (now.kind === "busy" && (/Connection lost/.test(said) || !/Try again soon/.test(said))) fail("false", "the server is busy, and its words are not shown");
        if (["hang", "deaf"].includes(now.kind) && !/Try now/.test(said)) fail("stuck", "nothing can be done about the silence");
        if (now.kind === "stand" && !/Nothing has come/.test(said)) fail("false", "the line stands, and nothing is said of it");
      },
      check: (_, fail) => answered("42")(fail),
    },
    "send what may run once": {
      over: "POST /session$", begin: shellSession, act: () => walk.send("shell printf 1 >> ran.txt"),
      async check(id, fail) {
        const isDone = () => page.evaluate(() => !document.querySelector(".feed[aria-busy=true]") && (document.querySelector(".ask:not([hidden])") || yaa.use("ui/commands").context().app.current.session.messages.at(-1).role === "assistant"));
        for (let n = 0; n < 6 && !await until(isDone, 2500); n++) await pressed("Try now", "button") || await pressed("Try again", "button") || await pressed("Resume", "button");
        const times = await ran(id);
        if (times > 1) fail("lost", `the call ran ${times} times`);
        if (!times && !await isThere(".ask:not([hidden])")) fail("lost", "the call did not run");
      },
    },
    "stop before a word": {
      over: "POST /session$", begin: shellSession,
      async act(id) {
        await walk.send("shell sleep 2; printf 1 >> ran.txt");
        await pause(600); // the command has begun
        if (await isThere("form.composer button.stop")) await page.click("form.composer button.stop");
        if (!await until(async () => /Stopped\./.test(await shown()), 2500)) return;
        const times = await ran(id);
        await pause(2500);
        ranOn = await ran(id) !== times;
      },
      async check(_, fail) {
        if (ranOn) fail("false", "“Stopped.” was said, and the command ran to its end");
        if (!await until(() => page.evaluate(() => !document.querySelector(".feed[aria-busy=true]")))) fail("stuck", "it never ends");
      },
    },
    "edit and send again": {
      over: "POST /session$",
      async begin() {
        await newSession();
        await walk.send("calc 1*2");
        await answered("2")(() => {});
      },
      async act() {
        await page.evaluate(() => document.querySelector("article.message[data-role=user] .message-actions [aria-label=Edit]").click());
        await walk.write(".words-edit textarea", "calc 6*7");
        await page.keyboard.press("Enter");
      },
      check: (_, fail) => answered("42")(fail),
    },
    "answer in words": {
      over: "POST /session$",
      async begin() {
        await newSession();
        await walk.send("ask Which word?");
        await page.waitForSelector(".ask:not([hidden])");
      },
      act: () => walk.send("a word of mine"),
      async check(_, fail) {
        await answered("")(fail);
        if (!JSON.stringify((await session()).messages).includes("a word of mine")) fail("lost", "the answer");
      },
    },
    "answer a question": {
      over: "POST /session$",
      async begin() {
        await newSession();
        await pauseCalls();
        await walk.send("calc 6*7");
        await page.waitForSelector(".ask:not([hidden])");
      },
      act: () => walk.press("Allow once", ".ask button"),
      check: (_, fail) => answered("42")(fail),
    },
    "answer a question, first": {
      over: "GET /health",
      async begin() {
        await newSession();
        await pauseCalls();
        await walk.send("calc 6*7");
        await page.waitForSelector(".ask:not([hidden])");
        return told("posts");
      },
      act: () => walk.press("Allow once", ".ask button"),
      async during(before, fail) {
        if (now.kind === "delay" && !await until(async () => await told("posts") > before)) fail("lost", "the answer is never sent while the server is slow");
      },
      check: (_, fail) => answered("42")(fail),
    },
    "send while every call asks": {
      over: "POST /session$|GET /info|GET /health",
      async begin() {
        if (now.kind === "restart") { // it allows a tool then that the page has never seen
          await told("deny");
          await openPage();
        }
        await newSession();
        await pauseCalls();
      },
      act: () => now.kind !== "restart" && walk.send("calc 6*7"),
      during: () => pause(20_000 / job.speed), // until the page has given up, and looked for the server
      async check(_, fail) {
        const isRestart = now.kind === "restart";
        if (isRestart) await walk.send("time");
        for (let n = 0; n < 6 && !await until(() => isThere(".ask:not([hidden])"), 2500); n++) await pressed("Try now", "button") || await pressed("Try again", "button") || await pressed("Resume", "button");
        const { messages } = await session();
        if (messages.some((one) => one.role === "tool")) fail("ignored", "the tool ran unasked");
        else await answered(isRestart ? "" : "42")(fail);
      },
    },
    "send a file": {
      over: "PUT /workspaces",
      async begin() {
        await newSession();
        await drop("form.composer", "note.txt", "a note");
        await until(() => isThere(".tray .attached")); // it takes the focus, and moves the field
      },
      act: () => walk.send("time now"), // the file follows in a line of its own
      async check(_, fail) {
        await answered("datetime")(fail);
        if (!JSON.stringify((await session()).messages).includes("note.txt")) fail("lost", "the file");
      },
    },
    "open the page": {
      over: "GET /info", begin: () => page.goto("about:blank"),
      async act() {
        await page.goto(job.url);
        await page.waitForSelector(COMPOSER, { visible: true });
        await walk.send("calc 6*7");
      },
      check: (_, fail) => answered("42")(fail),
    },
    "open the page and look": {
      over: "GET /info", begin: () => page.goto("about:blank"),
      async act() {
        await page.goto(job.url);
        await page.waitForSelector(COMPOSER, { visible: true });
      },
      async check(_, fail) {
        const isFound = () => page.evaluate(() => { const { server } = yaa.use("ui/commands").context().app; return server.state().ok && server.info().models.length > 0; });
        if (!await until(isFound)) fail("stuck", `the server is not asked again: ${(await shown()).slice(-200)}`);
      },
    },
    stop: {
      over: "POST /session/stop",
      async begin() {
        await newSession();
        await walk.send("stream 30000");
        await until(() => page.evaluate(() => (document.querySelector("article.message[data-role=assistant]")?.innerText.length ?? 0) > 100));
      },
      async act() {
        const text = () => page.evaluate(() => yaa.use("ui/commands").context().app.current.session.messages.at(-1).content?.length);
        await page.click("form.composer button.stop");
        await pause(100);
        const before = await text();
        await pause(300);
        goesOn = await text() !== before;
      },
      async during(_, fail) {
        if (goesOn) fail("false", "the text goes on");
        if (!await until(async () => !/Stopping/.test(await shown()))) fail("false", "it is stopping for ever");
      },
      async check(_, fail) {
        if (!await until(() => page.evaluate(() => !document.querySelector(".feed[aria-busy=true]")))) fail("stuck", "it never ends");
        await newSession();
        await walk.send("calc 6*7");
        await answered("42")(fail);
      },
    },
    "open the page, its script": scriptRow("page\\.js$", {
      async during(_, fail) {
        await pause(6000 / job.speed);
        if (!await isThere(COMPOSER) && !/has not come yet/.test(await page.evaluate(() => document.body?.innerText ?? ""))) fail("false", "the page is blank");
      },
    }),
    "open the page, its language": scriptRow("i18n/zh\\.js$", {
      prepare: () => page.evaluate(() => yaa.use("ui/commands").context().actions.set({ language: "zh" })),
      async during(_, fail) {
        if (!await until(() => isThere(COMPOSER), 3000)) fail("false", "the page is blank");
      },
      finish: () => page.evaluate(() => yaa.use("ui/commands").context().actions.set({ language: "en" })),
    }),
    "open the page, a late part": scriptRow("js/ext/files/launcher\\.js$", {
      act: () => page.waitForSelector(COMPOSER, { visible: true }),
      during: () => pause(15_000 / job.speed), // until the page has tried it as often as it does
      finish: async (fail) => {
        if (!await until(() => isThere(".files-button"))) fail("stuck", "the files cannot be opened without a reload");
      },
    }),
    "open the page, give it files": {
      ...scriptRow("js/ui/(?:attachments|file-drop)\\.js$", {}),
      async act() {
        page.goto(job.url).catch(() => {}); // it is not waited for
        await page.waitForSelector(COMPOSER, { visible: true });
        const isTaken = await page.evaluate((css) => {
          const data = (name) => {
            const one = new DataTransfer();
            one.items.add(new File([`in ${name}`], name));
            return one;
          };
          const field = document.querySelector(css);
          const isLeft = field.dispatchEvent(new DragEvent("drop", { dataTransfer: data("dropped.txt"), bubbles: true, cancelable: true }));
          field.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data("pasted.txt"), bubbles: true, cancelable: true }));
          return !isLeft;
        }, COMPOSER);
        if (!isTaken) throw new Error("the browser would leave for the dropped file");
        const [chooser] = await Promise.all([page.waitForFileChooser(), page.click("form.composer button[aria-label='Attach files']")]);
        await chooser.accept([job.chosen]);
      },
      async during(_, fail) {
        const isKept = (names) => page.evaluate(async (wanted) => {
          const done = (request) => new Promise((resolve) => { request.onsuccess = () => resolve(request.result); });
          if (!(await indexedDB.databases()).some(({ name }) => name === "yaa-unsent")) return false;
          const base = await done(indexedDB.open("yaa-unsent"));
          const all = await done(base.transaction("files").objectStore("files").getAll());
          base.close();
          const kept = all.flatMap((one) => one.files.map(({ name }) => name));
          return wanted.every((name) => kept.includes(name));
        }, names);
        if (!await until(() => isKept(FILES_GIVEN), 3000)) fail("lost", "the files are not stored");
        page.goto("about:blank").catch(() => {});
        await page.waitForFunction(() => location.href === "about:blank");
      },
      async check(_, fail) {
        await openPage();
        const isThereAll = () => page.$$eval(".tray b", (all, wanted) => wanted.every((name) => all.some((one) => one.textContent === name)), FILES_GIVEN);
        if (!await until(isThereAll)) return fail("lost", `after the page was opened again: ${await page.$$eval(".tray b", (all) => all.map((one) => one.textContent).join())}`);
        await walk.send("time now");
        await answered("datetime")(fail);
        const sent = JSON.stringify((await session()).messages);
        if (!FILES_GIVEN.every((name) => sent.includes(name))) fail("lost", "a file did not go along");
      },
    },
    "open the page, send, its script": scriptRow("session-defaults\\.js$", {
      async act() {
        await page.waitForSelector(COMPOSER, { visible: true });
        await walk.send("calc 6*7");
      },
      async during(_, fail) {
        const isKept = () => page.evaluate(async () => {
          const { app } = yaa.use("ui/commands").context();
          const kept = await app.store.get(app.current.session.id);
          return kept?.messages.some((one) => one.role === "user") ?? false;
        });
        if (!await until(isKept, 2000)) fail("lost", "the message is not stored");
        if (/Stopped\./.test(await shown())) fail("false", "“Stopped.” is said, and nobody stopped");
      },
    }),
    "send in one of two tabs": tabsRow(async (two) => {
      await sendIn(two);
    }),
    "send and close the tab": tabsRow(async (two) => {
      await sendIn(two);
      await two.waitForFunction(() => document.querySelectorAll("article.message[data-role=user]").length === 2);
      await pause(100);
      await two.close();
    }, { isQuiet: true }),
    "choose a server": {
      over: "GET /info|GET /health", begin: () => newSession(),
      act: () => page.evaluate((key) => { void yaa.use("ui/commands").context().actions.set({ url: location.origin.replace("127.0.0.1", "localhost"), key }); }, job.key),
      async during(_, fail) {
        const { told: kept, ok } = await page.evaluate(() => { const { server } = yaa.use("ui/commands").context().app; return { told: Boolean(server.info()), ok: server.state().ok }; });
        if (kept && !ok) fail("false", "what another server has is shown as this one's");
      },
      async check(_, fail) {
        await walk.send("calc 6*7");
        await answered("42")(fail);
        if (!await until(() => page.evaluate(() => yaa.use("ui/commands").context().app.server.state().ok))) fail("stuck", "the server is not found");
        await page.evaluate(() => yaa.use("ui/commands").context().app.settings.keepInfo(null));
        await page.evaluate((key) => yaa.use("ui/commands").context().actions.set({ url: location.origin, key }), job.key);
        await until(() => page.evaluate(() => yaa.use("ui/commands").context().app.server.state().ok));
      },
    },
    "choose a model": {
      over: "GET /info|GET /v/", begin: () => newSession(), isQuiet: true, // nothing is awaited
      act: () => page.evaluate(() => { void yaa.use("ui/commands").context().actions.choose("model", "demo"); }),
      async check(_, fail) {
        if ((await session()).config?.llm_api?.provider?.model_name !== "demo") fail("lost", "the choice");
        await walk.send("calc 6*7");
        await answered("42")(fail);
        await page.evaluate(() => yaa.use("ui/commands").context().actions.choose("model", ""));
      },
    },
    import: {
      over: "GET /", begin: () => newSession(), isQuiet: true,
      act: () => drop("#side", "talk.json", JSON.stringify([{ role: "user", content: `From elsewhere ${count}` }, { role: "assistant", content: "Indeed" }])),
      async check(_, fail) {
        if (!await until(() => page.$$eval(".row-title", (all, words) => all.some((one) => one.innerText.includes(words)), `From elsewhere ${count}`))) fail("lost", "it is not in the list");
      },
    },
    "read a skill": {
      over: "GET /skills/",
      async begin() {
        await newSession();
        await until(() => page.evaluate(() => yaa.use("ui/commands").list().some(({ id }) => id === "skills")));
        await page.evaluate(() => { void yaa.use("ui/commands").run("skills"); });
        await page.waitForSelector(`${DIALOG} [data-skill=pdf]`);
      },
      act: () => walk.press("Read", `${DIALOG} [data-skill=pdf]`),
      async check(_, fail) {
        const isRead = async () => (await shown()).includes("Pay it back.");
        if (!await until(isRead, 2000)) await pressed("Read", `${DIALOG} [data-skill=pdf]`);
        if (!await until(isRead)) fail("stuck", "it cannot be read");
        await page.keyboard.press("Escape");
      },
    },
    "name a resource": {
      over: "(GET|POST) /mcp/",
      begin: async () => (await newSession(), page.waitForSelector(".files-button")), // the list comes with it
      async act() {
        await page.click(COMPOSER);
        await page.keyboard.type("time @one");
        rows.late = now.kind === "delay" && now.seconds === 3;
        if (rows.late) return sendAsItComes(".mention:not([hidden])");
        await pause(50);
        await page.keyboard.press("Enter");
      },
      async check(_, fail) {
        if (rows.late && !await until(async () => (await session()).messages.length, 2000)) fail("false", "a list that came late took the Enter that was to send");
        if (!(await session()).messages.length) await page.keyboard.press("Enter");
        await answered("")(fail);
        await pause(2000);
        await page.click(COMPOSER);
        await page.keyboard.type("@one");
        if (!await until(async () => (await page.$$eval(".mention:not([data-late])", (all) => all.map((one) => one.innerText).join())).includes("note:///one"))) fail("stuck", "it cannot be named");
        await page.keyboard.press("Enter");
        if (!await until(() => isThere(".tray .attached"))) fail("stuck", "it cannot be attached");
      },
    },
  };

  /** A page that is opened while one of its scripts meets the fault. */
  function scriptRow(file, { prepare = async () => {}, act = async () => {}, during, finish = async () => {} }) {
    return {
      over: `GET /v/.*${file}`,
      async begin() {
        await openPage();
        await prepare();
        await page.goto("about:blank");
      },
      async act() {
        page.goto(job.url).catch(() => {}); // it is not waited for
        await page.waitForFunction(() => location.href.startsWith("http") && document.body);
        await act();
      },
      during,
      async check(_, fail) {
        const isOpen = () => isThere(COMPOSER).catch(() => false); // while it is being loaded, nobody can be asked
        for (let n = 0; n < 3 && !await until(isOpen, 4000); n++) await pressed("Try again", "button");
        if (!await until(isOpen)) return fail("stuck", "it is not there without a reload");
        if (!(await session()).messages.length) await walk.send("calc 6*7");
        await answered("42")(fail);
        await finish(fail);
      },
    };
  }

  /** Press Enter in the same moment in which something is shown. */
  const sendAsItComes = (css) => page.evaluate((selector) => new Promise((resolve) => {
    const area = document.activeElement;
    const seen = new MutationObserver(look);
    seen.observe(document.body, { childList: true, subtree: true, attributes: true });
    look();
    function look() {
      if (!document.querySelector(selector)) return;
      seen.disconnect();
      resolve(area.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true })));
    }
  }), css);

  async function sendIn(tab) {
    await tab.bringToFront();
    await tab.type(COMPOSER, "calc 6*7");
    await tab.keyboard.press("Enter");
  }

  /** The same session in two tabs. */
  function tabsRow(act, more = {}) {
    return {
      ...more,
      over: "POST /session$",
      async begin() {
        await newSession();
        await walk.send("calc 1*2");
        await answered("2")(() => {});
        const two = await walk.newPage();
        walk.page = page;
        await hurry(two);
        await two.goto(page.url());
        await two.waitForFunction(() => { try { return yaa.use("ui/other-tabs") && yaa.use("ui/commands").context().app.current.session.messages.length } catch { return false } });
        return two;
      },
      act,
      async check(two, fail) {
        const isDone = () => page.evaluate(() => [...document.querySelectorAll("article.message[data-role=assistant]")].at(-1)?.innerText.includes("42"));
        if (!two.isClosed()) {
          for (let n = 0; n < 6 && !await until(isDone, 2500); n++) {
            await two.bringToFront();
            await two.evaluate(() => [...document.querySelectorAll("button")].find((one) => one.checkVisibility() && ["Try now", "Resume"].includes(one.innerText.trim()))?.click());
            await page.bringToFront();
          }
        }
        await page.bringToFront();
        if (two.isClosed()) { // what is stored
          const { id } = await session();
          await openPage();
          await page.evaluate((one) => yaa.use("ui/commands").context().actions.open(one), id);
        }
        await answered("42", 2)(fail);
        if (!two.isClosed()) await two.close();
      },
    };
  }

  function layerRow(route, words, isDone) {
    return {
      over: `POST /workspaces/.*${route}`,
      async begin() {
        const id = await newSession("notes");
        await put(id, `mine-${count}.txt`, "1", "notes");
        if (!await isThere("aside.files")) await page.click(".files-button");
        await page.waitForFunction(() => { const tab = document.querySelectorAll(".files-tabs button")[2]; return tab && !tab.hidden; });
        await page.evaluate(() => document.querySelectorAll(".files-tabs button")[2].click());
        await walk.sees(".layer-row", `mine-${count}.txt`);
        return id;
      },
      act: () => walk.press(words, ".files-bar button"),
      async check(id, fail) {
        const there = async () => (await page.$$eval(".layer-row .path", (all) => all.map((one) => one.textContent))).length;
        const isTrue = async () => await there() === (await layerOf(id)).length;
        if (!await until(isTrue)) fail("false", `${await there()} rows; on the server: ${await layerOf(id)}`);
        if (await isDone(id) && /did not work/.test(await page.evaluate(() => document.querySelector(".toasts")?.innerText ?? ""))) fail("false", "it is said that it did not work, and it was done");
        if (!await isDone(id)) await pressed(words, ".files-bar button");
        if (!await until(() => isDone(id))) fail("stuck", "it cannot be done");
      },
    };
  }

  function settingRow(over, name, words, fill, isSaved) {
    return {
      over,
      async begin() {
        const mine = `row-${count}`;
        await openSettings(name);
        await fill(mine);
        return mine;
      },
      act: () => pressed(words, `${part(name)} .host-form button`),
      check: (mine, fail) => savedAgain(name, words, () => isSaved(mine))(fail),
    };
  }

  await page.setCacheEnabled(false);
  page.setDefaultTimeout(2 * SETTLE_MS);
  await walk.step("open", openPage);
  for (const { action, fault } of job.rows) {
    const { over, begin, act, during, check, isQuiet } = ACTIONS[action];
    await walk.step(`${action} × ${over} × ${fault.label}`, async () => {
      /** @type {string[]} */ const broken = [];
      const fail = (what, words) => broken.push(`${what}: ${words}`);
      count += 1;
      now = fault;
      try {
        const state = await begin();
        await page.evaluate(() => { for (const one of document.querySelectorAll(".toast")) one.remove(); });
        if (fault.kind !== "restart") await told("fault", { ...fault, path: over });
        const before = await shown();
        await act(state);
        if (fault.kind === "restart") await told("restart");
        const silent = 3000 / job.speed;
        await pause(silent);
        const isSaid = async () => await shown() !== before || isThere(BUSY);
        if (SILENT.has(fault.kind) && !isQuiet && (fault.seconds ?? 9) > 0.3 && !await until(isSaid, silent)) fail("false", "for 6 s nothing is said");
        await pause(Math.max(0, fault.hold - silent));
        await during?.(state, fail);
        if (await isLocked()) fail("stuck", "the field is locked meanwhile");
        const raw = (await shown()).match(RAW);
        if (raw) fail("false", `raw words: ${raw[0]}`);
        const wrong = (await shown()).match(FALSE);
        if (wrong && action !== "choose a server") fail("false", wrong[0]);
        await told("heal");
        await check(state, fail);
        if (await isLocked()) fail("stuck", "the field is locked");
        const late = (await shown()).match(RAW);
        if (late && !raw) fail("false", `raw words: ${late[0]}`);
      } catch (error) {
        fail("stuck", `${String(error.message).slice(0, 300)}: ${(await shown().catch(() => "")).slice(-300)}`);
      }
      await told("heal");
      if (broken.length) await told("red", `${action} × ${fault.label}`, broken);
      if (broken.length || action.startsWith("open the page")) await openPage();
      return { broken };
    });
  }
});
