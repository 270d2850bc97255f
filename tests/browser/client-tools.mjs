/**
 * The tools of the page, as a person and a model use them. The model is the scripted one of the
 * benchmark: what is typed names the tools it calls. The job: {url, server, key, place, tool, file, text, trap}.
 */
import { main } from "./driver.mjs";

const LAST = "article.message:last-of-type";
let orders = 0;

await main(async (walk, job) => {
  const { page } = walk;

  await walk.step("open", async () => {
    await page.goto(job.url);
    await page.waitForSelector("form.composer textarea", { visible: true });
    if (job.place === "file") await connect(walk, job);
    await page.waitForSelector(".side .dot.good");
  });

  await walk.step("off until they are switched on", async () => {
    await send(walk, order('run_javascript{"code":"1"}'));
    await walk.sees(".card.tool[data-state=failed]", "run_javascript");
    await spoken(walk);
    await settings(walk);
    const on = await page.$$eval("dialog input[type=checkbox]", (all) => all.filter((box) => box.checked).length);
    if (on) throw new Error(`${on} tools are on`);
    for (const name of ["notify", "page_info", "clipboard_write", "pick_file", "run_javascript"]) {
      await walk.press(name, "dialog label code");
    }
    await page.waitForFunction(() => [...document.querySelectorAll("dialog input[type=checkbox]")].filter((box) => box.checked).length === 5);
    await walk.shot("1-switches");
    await noBarriers(walk, job);
    await walk.press("Close", "dialog button");
  });

  // What runs by itself asks nobody: its buttons are not even there for a moment.
  await walk.step("no button flashes", async () => {
    await page.evaluate(() => {
      globalThis.flashed = [];
      const look = (root) => root.querySelectorAll?.(".ask button").forEach((one) => {
        const card = one.closest(".tool")?.querySelector(".tool-name")?.textContent;
        // where it takes its time, a card says so, with a way to stop it; the words of a refusal are folded away in it
        if (card === "page_info" && one.textContent !== "Stop" && !one.closest(".ask-actions[hidden]")) globalThis.flashed.push(one.textContent);
      });
      globalThis.watching = new MutationObserver((all) => all.forEach(({ addedNodes, target }) => [...addedNodes, target].forEach(look)));
      globalThis.watching.observe(document.querySelector("main"), { childList: true, subtree: true, attributes: true });
    });
    for (let n = 0; n < 3; n += 1) {
      const said = await result(walk, "page_info", {});
      if (!said.includes("time_zone")) throw new Error(said);
    }
    const flashed = await page.evaluate(() => (globalThis.watching.disconnect(), globalThis.flashed));
    if (flashed.length) throw new Error(flashed.join());
  });

  await walk.step("a value, an expression, an exception", async () => {
    const cases = [
      ["6*7", '"result":"42"'],
      ["const wait = await Promise.resolve([1, new Map([['a', 2n]])]); console.log('hé', {a: 1}); return wait", '"result":"[1,{\\"map\\":[[\\"a\\",\\"2n\\"]]}]","console":["hé {\\"a\\":1}"]'],
      ["console.warn('before'); nope()", "ReferenceError"],
      ["const a = {}; a.a = a; return a", "seen before"],
      ["'use strict'; return typeof document + typeof window", "undefinedundefined"],
    ];
    const said = await results(walk, cases.map(([code]) => code));
    for (const [n, [code, wanted]] of cases.entries()) if (!said[n].includes(wanted)) throw new Error(`${code}: ${said[n]}`);
    await walk.shot("2-javascript");
  });

  await walk.step("nothing gets out", async () => {
    const place = JSON.stringify(`${job.trap}/x`);
    const socket = JSON.stringify(job.trap.replace("http", "ws"));
    const cases = [
      `return fetch(${place}).then(() => 'OUT', () => 'kept in')`,
      `const x = new XMLHttpRequest(); x.open('GET', ${place}, false); try { x.send(); return 'OUT' } catch { return 'kept in' }`,
      `try { importScripts(${place}); return 'OUT' } catch { return 'kept in' }`,
      `return import(${place}).then(() => 'OUT', () => 'kept in')`,
      `return new Promise((r) => { const e = new EventSource(${place}); e.onopen = () => r('OUT'); e.onerror = () => r('kept in') })`,
      `return new Promise((r) => { try { const s = new WebSocket(${socket}); s.onopen = () => r('OUT'); s.onerror = () => r('kept in') } catch { r('kept in') } })`,
      `return new Promise((r) => { const w = new Worker(URL.createObjectURL(new Blob([\`fetch(${place}).then(() => postMessage('OUT'), () => postMessage('kept in'))\`]))); w.onmessage = (e) => r(e.data); w.onerror = () => r('kept in') })`,
      `try { return await new Promise((r) => { const q = indexedDB.open('yaa'); q.onsuccess = () => r('OUT'); q.onerror = () => r('kept in') }) } catch { return 'kept in' }`,
      `const has = (see) => { try { return see() } catch { return false } }
        const open = [() => localStorage, () => RTCPeerConnection, () => postMessage, () => document].filter((one) => has(one) !== false)
        return open.length ? 'OUT ' + open : 'kept in'`,
      `try { return (await caches.keys()) && 'OUT' } catch { return 'kept in' }`,
    ];
    const said = await results(walk, cases);
    for (const [n, code] of cases.entries()) if (!said[n].includes("kept in")) throw new Error(`${code}: ${said[n]}`);
  });

  await walk.step("a loop without end", async () => {
    const frames = await page.evaluate(() => {
      globalThis.frames_ = 0;
      globalThis.counting_ = setInterval(() => { globalThis.frames_ += 1 }, 50);
    });
    const said = await result(walk, "run_javascript", { code: "console.log('in'); while (true) console.log(1)", timeout_s: 1.5 });
    if (!said.includes("ran longer than 1.5 s") || !said.includes('"in"') || !said.includes("left out")) throw new Error(said);
    return { frames: await page.evaluate(() => { clearInterval(globalThis.counting_); return globalThis.frames_ }) };
  });

  await walk.step("three at once, an action, and an approval", async () => {
    await send(walk, order('page_info{}', 'run_javascript{"code":"2+3"}', 'notify{"text":"Seen once"}', `${job.tool}{}`, 'run_javascript{"code":"[1].length"}'));
    await walk.sees(".toast", "Seen once");
    await walk.sees(".ask", `Allow ${job.tool}?`);
    await page.waitForFunction(() => document.querySelectorAll(".ask-answered:not([hidden])").length === 3);
    await walk.shot("3-at-once");
    await walk.press("Allow once", ".ask button");
    await spoken(walk);
    const states = await page.$$eval(`${LAST} .card.tool, article.message .card.tool`, (all) => all.slice(-5).map((one) => one.dataset.state));
    if (states.some((state) => state !== "done")) throw new Error(states.join());
    const stored = await session(walk);
    const results = stored.messages.filter((message) => message.role === "tool").slice(-5);
    const told = Object.fromEntries(results.map(({ name, content }) => [name, content]));
    if (!told.page_info.includes("time_zone") || !told.notify.startsWith("Sent to the page")) throw new Error(JSON.stringify(told));
    const toasts = await page.$$eval(".toast", (all) => all.filter((one) => one.innerText.includes("Seen once")).length);
    if (toasts > 1) throw new Error(`${toasts} toasts`);
    await page.$$eval(".toast button", (all) => all.forEach((one) => one.click())); // they cover the cards
  });

  await walk.step("the clipboard, with a button where the browser wants one", async () => {
    await send(walk, order('clipboard_write{"text":"Copied 好"}'));
    // only some browsers want a press
    await page.waitForFunction(() => {
      const done = [...document.querySelectorAll(".card.tool")].at(-1)?.dataset.state === "done";
      if (!done) [...document.querySelectorAll(".ask button")].find((one) => one.innerText === "Copy")?.click();
      return done;
    });
    await spoken(walk);
    const last = (await session(walk)).messages.findLast((message) => message.role === "tool");
    return { said: last.content };
  });

  await walk.step("a file", async () => {
    await send(walk, order('pick_file{"why":"to read it"}'));
    await walk.sees(".ask", "pick_file wants to run");
    await walk.shot("4-file");
    if (job.browser !== "chromium") { // Firefox's protocol does not hand over the file dialog
      await walk.press("Decline", ".ask button");
      await page.type(".ask .ask-actions:not([hidden]) input", "Not today");
      await page.keyboard.press("Enter");
      await spoken(walk);
      const { content } = (await session(walk)).messages.findLast((message) => message.role === "tool");
      if (content !== "The user cancelled this call. Reason: Not today") throw new Error(content);
      return;
    }
    const [chooser] = await Promise.all([page.waitForFileChooser(), walk.press("Choose a file", ".ask button")]);
    await chooser.accept([job.file]);
    await spoken(walk);
    const { result: envelope } = (await session(walk)).messages.findLast((message) => message.role === "tool");
    if (envelope.result.text !== job.text || envelope.result.name !== "notes.txt") throw new Error(JSON.stringify(envelope));
  });

  await walk.step("stop what runs", async () => {
    await send(walk, order('run_javascript{"code":"while (true);","timeout_s":60}'));
    await walk.press("Stop", ".ask button");
    await spoken(walk);
    const { content } = (await session(walk)).messages.findLast((message) => message.role === "tool");
    if (!content.includes("The user stopped it")) throw new Error(content);
  });

  await walk.step("a reload in the middle does not run it twice", async () => {
    await send(walk, order('run_javascript{"code":"return new Promise((r) => setTimeout(() => r(\'late\'), 30000))","timeout_s":60}'));
    await walk.sees(".ask", "It is running.");
    await page.waitForSelector("iframe[sandbox]"); // until then it has only been kept that it will
    await page.reload();
    await walk.sees(".ask", "It was begun, but its result was lost");
    await walk.shot("5-begun");
    await walk.press("Decline", ".ask button");
    await walk.press("Decline", ".ask .ask-actions:not([hidden]) button");
    await spoken(walk);
    const { content } = (await session(walk)).messages.findLast((message) => message.role === "tool");
    if (content !== "The user cancelled this call.") throw new Error(content);
  });

  // Chromium at times shows such a page an empty storage when it is loaded again (client/js/main.js).
  await walk.step("a page from disk that sees nothing kept looks again", async () => {
    if (job.place !== "file") return;
    let loads = 0;
    page.on("framenavigated", (frame) => { loads += frame === page.mainFrame() });
    await page.evaluate(() => addEventListener("pagehide", () => localStorage.clear()));
    await page.reload();
    await page.waitForSelector("form.composer textarea");
    if (loads !== 2) throw new Error(`it was loaded ${loads} times`);
  });

  await walk.step("no barriers at the end", () => noBarriers(walk, job));
});

/** Its checker reads the stylesheets, which the page's policy forbids from disk. */
async function noBarriers(walk, job) {
  if (job.place !== "file") await walk.clean();
}

/** What to type so that the model calls these tools, then says five words. */
function order(...calls) {
  return `bench tokens=5 delay_us=0 ${calls.map((call) => `tool=${call}`).join(" ")}`;
}

/** A call on its own, to its end: what the model was told of it. */
async function result(walk, name, args) {
  await send(walk, order(`${name}${JSON.stringify(args)}`));
  await spoken(walk);
  return (await session(walk)).messages.findLast((message) => message.role === "tool").content;
}

/** Programs that are called at once, each in a sandbox of its own: what the model was told of each. */
async function results(walk, programs) {
  await send(walk, order(...programs.map((code) => `run_javascript${JSON.stringify({ code, timeout_s: 60 })}`)));
  await spoken(walk);
  const { messages } = await session(walk);
  const told = Object.fromEntries(messages.filter(({ role }) => role === "tool").map((message) => [message.tool_call_id, message.content]));
  return messages.findLast((message) => message.tool_calls).tool_calls.map(({ id }) => told[id]);
}

async function settings(walk) {
  await walk.press("Settings");
  await walk.page.waitForSelector("dialog[open]");
  await walk.press("Tools", "dialog [role=tab]");
}

async function connect(walk, job) {
  const { page } = walk;
  await walk.press("Settings");
  await page.waitForSelector("dialog[open]");
  await walk.fill("dialog[open] input[type=url]", job.server);
  await walk.fill("dialog[open] input[type=password]", job.key);
  await page.click("dialog input[type=checkbox]");
  await walk.press("Close", "dialog button");
}

async function send(walk, words) {
  const field = "form.composer textarea";
  await walk.page.$eval(field, (el, value) => {
    el.value = value;
    el.dispatchEvent(new Event("input", { bubbles: true }));
  }, words);
  await walk.page.focus(field);
  await walk.page.keyboard.press("Enter");
  orders += 1;
}

/** Waits until every order has its five words and nothing runs. */
async function spoken(walk) {
  await walk.page.waitForFunction((wanted) => {
    const idle = !document.querySelector(".feed[aria-busy=true], article[aria-busy=true]");
    const answers = [...document.querySelectorAll("article.message[data-role=assistant]")].filter((one) => (one.textContent.match(/@\d+@/g) ?? []).length === 5);
    return idle && answers.length === wanted;
  }, {}, orders);
}

/** The session as the page keeps it. */
async function session(walk) {
  return walk.page.evaluate(async () => {
    const store = await globalThis.yaa.use("io/store-idb").open();
    const [head] = await store.list();
    const found = await store.get(head.id);
    store.close();
    return found;
  });
}
