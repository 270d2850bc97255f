/**
 * The settings of sessions, as a person changes them: titles by the model, the language of answers, a provider of a
 * session's own, every other key in one form, settings as a file; and old sessions that are archived and deleted. The model
 * is the scripted one of the benchmark. The job: {url, browser, own: address of the same model}.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { main } from "./driver.mjs";

const COMPOSER = "form.composer textarea";
const SECRET = "sk-a-secret-of-mine-0123456789";
const DAY = 86_400_000;
const field = (pointer) => `.config-field[data-pointer="${pointer}"]`;

await main(async (walk, job) => {
  const { page } = walk;
  /** The settings that the last run was sent with. */
  const last = () => page.evaluate(() => globalThis.sentWith);

  await walk.step("13: titles by the model are on where a real model answers, and are switched in the settings", async () => {
    await page.goto(job.url);
    await page.waitForSelector(COMPOSER, { visible: true });
    await page.waitForFunction(() => yaa.use("ui/commands").context().app.server.info());
    await page.evaluate(() => {
      const onStart = ({ session }) => { globalThis.sentWith = structuredClone(session.config); };
      yaa.use("ui/commands").context().app.sessionStore.hooks.push({ onStart, onEvent() {}, onRest() {} });
    });
    await tab(walk, "model");
    await page.waitForFunction(() => [...document.querySelectorAll("dialog[open] .panel input[type=checkbox]")].some((one) => one.checked));
    await walk.clean();
    await walk.shot("1-model");
    await close(page);
    await ask(walk, "bench tokens=3 delay_us=0", 1);
    same((await last()).yaa.auto_title, true);
    await tab(walk, "model");
    await page.click("dialog[open] .panel input[type=checkbox]");
    await close(page);
    await fresh(walk);
    await ask(walk, "bench tokens=3 delay_us=0", 1);
    same((await last()).yaa.auto_title, false);
  });

  await walk.step("19: the language of answers is not that of the page, and what a session says is sent", async () => {
    await tab(walk, "model");
    await walk.fill("dialog[open] .panel input:not([list])", "Français");
    await close(page);
    await page.waitForFunction(() => yaa.use("ui/commands").context().app.current.session.config.yaa.language === "Français");
    await speak(page, "zh");
    await ask(walk, "bench tokens=3 delay_us=0", 2);
    same((await last()).yaa.language, "Français");
    const own = { api_url: job.own, api_key: SECRET, model_name: "own-model" };
    const config = { yaa: { language: "Deutsch", auto_title: false }, llm_api: { provider: own, retry: { times: 1, delay: 0 } }, limits: { max_steps: 7 } };
    await put(walk, { id: "own", title: "Its own", messages: [], config, start_time: "2026-01-01T00:00:00Z" });
    await ask(walk, "bench tokens=3 delay_us=0", 1);
    same((await last()).llm_api.provider, own);
    same([(await last()).yaa.language, (await last()).limits.max_steps], ["Deutsch", 7]);
    await speak(page, "en");
    await page.waitForFunction(() => document.querySelector(".composer-bar select[aria-label=Model]")?.selectedOptions[0]?.textContent === "own-model");
    await page.select(".composer-bar select[aria-label=Model]", "small");
    await walk.press("Undo", ".toast button");
    await page.waitForFunction((url) => yaa.use("ui/commands").context().app.current.session.config.llm_api.provider.api_url === url, {}, job.own);
  });

  await walk.step("38: every key of the schema is a field, the most used first", async () => {
    await tab(walk, "config");
    await page.waitForSelector(field("/llm_api/provider/api_url"), { visible: true });
    const [shown, wanted] = await page.evaluate(() => [
      [...document.querySelectorAll(".config-field")].map((one) => one.dataset.pointer), yaa.use("ui/commands").context().app.server.info().config_schema["x-order"],
    ]);
    const missing = wanted.filter((pointer) => !shown.includes(pointer));
    if (missing.length || wanted.length < 60) throw new Error(`${wanted.length}, without ${missing}`);
    same(shown.slice(0, 7).map((one) => one.split("/").at(-1)), ["name", "api_url", "api_key", "model_name", "use_custom_temp", "temperature", "language"]);
    const key = await page.$eval(`${field("/llm_api/provider/api_key")} input`, (one) => [one.type, one.value, one.placeholder]);
    if (key[0] !== "password" || key[1] || key[2].includes(SECRET) || !key[2].includes("sk-a…")) throw new Error(String(key));
    if ((await page.content()).includes(SECRET)) throw new Error("the key is in the page");
    await walk.clean();
    await walk.shot("2-form");
  });

  await walk.step("38: a key is changed for this session, wrong values are named, and taken back", async () => {
    await walk.fill(`${field("/llm_api/model_settings/temperature")} input`, "9");
    await walk.sees(`${field("/llm_api/model_settings/temperature")} .problem`, "2");
    await walk.fill(`${field("/llm_api/model_settings/temperature")} input`, "0,4");
    await config(page, (one) => one.llm_api.model_settings.temperature === 0.4 && one.llm_api.model_settings.use_custom_temp === true);
    await open(page, "/limits/max_steps");
    await page.click(`${field("/limits/max_steps")} input[type=checkbox]`);
    await config(page, (one) => one.limits.max_steps === null);
    await walk.fill(`${field("/limits/max_steps")} input:not([type])`, "11");
    await config(page, (one) => one.limits.max_steps === 11);
    await open(page, "/context/enabled");
    await page.select(`${field("/context/enabled")} select`, "false");
    await config(page, (one) => one.context.enabled === false);
    await page.click(`${field("/context/enabled")} .config-head button`);
    await config(page, (one) => one.context.enabled === undefined);
    await open(page, "/yaa/output_schema");
    await walk.fill(`${field("/yaa/output_schema")} textarea`, "{");
    await page.waitForSelector(`${field("/yaa/output_schema")} [aria-invalid=true]`);
    await walk.fill(`${field("/yaa/output_schema")} textarea`, '{"type": "string"}');
    await config(page, (one) => one.yaa.output_schema?.type === "string");
    await page.click(`${field("/yaa/output_schema")} .config-head button`);
    await close(page);
    await ask(walk, "bench tokens=3 delay_us=0", 2);
    same([(await last()).llm_api.model_settings.temperature, (await last()).limits.max_steps, (await last()).llm_api.provider.api_key], [0.4, 11, SECRET]);
  });

  await walk.step("39: sections of the prompt, with a preview, as default of new sessions", async () => {
    await tab(walk, "config");
    await walk.press("New sessions", "dialog[open] .segments label");
    await open(page, "/prompt/append");
    await walk.fill(`${field("/prompt/persona")} textarea`, "You are {character} on {date}, {charakter}.");
    await walk.sees(`${field("/prompt/persona")} .problem`, "{charakter}");
    await page.click(`${field("/prompt/persona")} summary`);
    await walk.sees(`${field("/prompt/persona")} pre`, `on ${new Date().toISOString().slice(0, 10)}`);
    await walk.shot("3-prompt");
    await walk.clean();
    await walk.fill(`${field("/prompt/append")} textarea`, "Say “ok” 好。");
    await page.type("dialog[open] .panel input[type=search]", "retry times");
    await page.waitForFunction(() => [...document.querySelectorAll(".config-field")].filter((one) => one.checkVisibility()).length === 1);
    await walk.fill(`${field("/llm_api/retry/times")} input`, "2");
    await close(page);
    await fresh(walk);
    await ask(walk, "bench tokens=3 delay_us=0", 1);
    same([(await last()).prompt.append, (await last()).llm_api.retry.times, (await last()).prompt.persona], ["Say “ok” 好。", 2, "You are {character} on {date}, {charakter}."]);
    if ((await last()).llm_api.model_settings?.temperature) throw new Error("the other session’s");
    await walk.sees(".warnings", "{charakter}");
  });

  await walk.step("38: what the server says of an unknown key stands with the other remarks", async () => {
    const warnings = [{ code: "config_key_unknown", message: "Said.", key: "limits.max_stepz", nearest: "limits.max_steps" }];
    await put(walk, { id: "odd", title: "Odd", messages: [{ id: "u", role: "user", content: "hi" }, { id: "a", role: "assistant", content: "hello" }], run: { id: "r", warnings }, status: "completed", start_time: "2026-01-01T00:00:00Z" });
    await walk.sees(".warnings", "limits.max_steps");
  });

  await walk.step("38, 39: settings and prompts go out as a file without keys, and come in", async () => {
    await page.evaluate(() => {
      const { settings } = yaa.use("ui/commands").context().app;
      settings.set("prompts", [{ id: "p", name: "Greet", text: "Hello {{name}}" }]);
    });
    await tab(walk, "config");
    await walk.press("New sessions", "dialog[open] .segments label");
    await find(page, "");
    await walk.fill(`${field("/llm_api/provider/api_url")} input`, job.own);
    await walk.fill(`${field("/llm_api/provider/api_key")} input`, SECRET);
    await page.waitForFunction((css) => document.querySelector(css).placeholder.includes("…"), {}, `${field("/llm_api/provider/api_key")} input`);
    const kept = await page.evaluate(() => localStorage.getItem("yaa.setting config"));
    if (kept.includes(SECRET)) throw new Error("a key among the settings");
    await walk.press("Export settings", "dialog[open] button");
    const path = join(walk.downloads, "yaa-settings.json");
    const text = await until(() => existsSync(path) && readFileSync(path, "utf8"));
    if (text.includes(SECRET)) throw new Error("the key went out");
    const file = JSON.parse(text);
    same([file.format, file.config.prompt.append, file.prompts[0].name, file.config.llm_api.provider.api_url], ["yaa.settings", "Say “ok” 好。", "Greet", job.own]);
    file.page.tools = { shell: "allow", datetime: "ask" };
    file.config.yaa.language = "日本語";
    file.prompts.push({ name: "Bye", text: "Bye" });
    file.config.llm_api.provider.api_url = "https://elsewhere.example/v1";
    const other = join(walk.downloads, "other.json");
    writeFileSync(other, JSON.stringify(file));
    await (await page.waitForSelector("dialog[open] input[type=file]")).uploadFile(other);
    await walk.sees("dialog[open]", "https://elsewhere.example/v1");
    await walk.sees("dialog[open]", "Run without asking: shell");
    await walk.clean();
    await walk.shot("4-import");
    await walk.press("Import", ".dialog-foot button");
    await page.waitForFunction(() => yaa.use("ui/commands").context().app.settings.get("config").yaa.language === "日本語");
    const settings = await page.evaluate(() => yaa.use("ui/commands").context().app.settings.all());
    same(settings.tools, { datetime: "ask" });
    same(settings.config.llm_api.provider.api_url, job.own);
    same(settings.prompts.map((one) => one.name), ["Greet", "Bye"]);
    await page.$eval(`${field("/llm_api/provider/api_url")} .config-head button`, (one) => one.click());
    await close(page);
  });

  await walk.step("90: old sessions are counted, archived, and deleted when the person says so", async () => {
    await page.evaluate(async (day) => {
      const { app } = yaa.use("ui/commands").context();
      const made = (id, more) => ({ id, title: `Old ${id}`, version: 1, rev: 1, status: "completed", start_time: "2026-01-01T00:00:00Z", messages: [{ id: `u${id}`, role: "user", content: "hi" }, { id: `a${id}`, role: "assistant", content: "ho" }], ...more });
      for (const [id, more] of [["a", {}], ["b", {}], ["pinned", { ext: { pinned: true } }], ["ancient", {}]]) await app.store.put(made(id, more));
      const database = await new Promise((resolve) => { const request = indexedDB.open("yaa"); request.onsuccess = () => resolve(request.result); });
      const ages = { a: 40, b: 40, pinned: 400, ancient: 400 };
      const heads = database.transaction("heads", "readwrite").objectStore("heads");
      await Promise.all(Object.entries(ages).map(([id, days]) => new Promise((resolve) => {
        const request = heads.get(id);
        request.onsuccess = () => { heads.put({ ...request.result, updated: Date.now() - days * day }).onsuccess = resolve; };
      })));
      database.close();
      await app.sessionStore.refresh();
      app.draw();
    }, DAY);
    await tab(walk, "storage");
    await walk.sees("dialog[open] [role=status]", "1 pinned");
    const [archive, remove] = await page.$$("dialog[open] .panel input[inputmode=numeric]");
    await archive.type("x");
    await page.keyboard.press("Tab");
    await page.waitForSelector("dialog[open] .panel input[inputmode=numeric][aria-invalid=true]");
    await archive.evaluate((one) => one.select());
    await archive.type("30");
    await page.keyboard.press("Tab");
    await remove.type("365");
    await page.keyboard.press("Tab");
    await walk.press("Archive 2 now", "dialog[open] button");
    await walk.sees("dialog[open] [role=status]", "2 archived");
    await walk.clean();
    await walk.shot("5-storage");
    await walk.press("Delete 1 now", "dialog[open] button");
    await walk.sees(".expiring", "Old ancient");
    await walk.shot("6-delete");
    await walk.press("Delete it", ".dialog-foot button");
    await page.waitForFunction(() => !yaa.use("ui/commands").context().app.sessionStore.heads().some(({ id }) => id === "ancient"));
    await close(page);
    await page.evaluate(() => [...document.querySelectorAll(".toast")].find((one) => one.innerText.includes("Deleted")).querySelector("button").click());
    await page.waitForFunction(() => yaa.use("ui/commands").context().app.sessionStore.heads().some(({ id }) => id === "ancient"));
    const listed = await page.$$eval(".side .row-title", (all) => all.map((one) => one.textContent));
    if (listed.includes("Old a") || !listed.includes("Old pinned")) throw new Error(listed.join());
    await walk.press("Archived (2)", ".chips button");
    await walk.sees(".side", "Old b");
    await walk.shot("7-archive");
    await walk.press("More about “Old b”", ".side button");
    await walk.press("Take out of the archive", "[role=menu] button");
    await walk.sees(".chips", "Archived (1)");
  });

  await walk.step("90: at the next start the page asks, and what runs or is pinned stays", async () => {
    await page.evaluate(async (day) => {
      const database = await new Promise((resolve) => { const request = indexedDB.open("yaa"); request.onsuccess = () => resolve(request.result); });
      const heads = database.transaction("heads", "readwrite").objectStore("heads");
      await new Promise((resolve) => {
        const request = heads.get("ancient");
        request.onsuccess = () => { heads.put({ ...request.result, updated: Date.now() - 400 * day }).onsuccess = resolve; };
      });
      database.close();
    }, DAY);
    await page.reload();
    await walk.sees(".keep-note", "not been used for 365 days");
    await walk.shot("8-asks");
    await walk.press("Look and delete", ".keep-note button");
    await walk.sees(".expiring", "Old ancient");
    if ((await walk.text(".expiring")).includes("pinned")) throw new Error("a pinned one");
    await walk.press("Keep them", ".dialog-foot button");
  });

  await walk.step("on a phone, in the dark, in Chinese, with keys alone", async () => {
    await page.setViewport({ width: 390, height: 844 });
    await page.evaluate(() => yaa.use("ui/commands").context().actions.set({ theme: "dark" }));
    await speak(page, "zh");
    await tab(walk, "config");
    await page.waitForSelector(field("/llm_api/provider/api_url"), { visible: true });
    await walk.sees(`${field("/llm_api/provider/api_url")} .label`, "地址");
    await page.focus(".later .config-group:nth-of-type(2) > summary");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    await page.waitForFunction(() => document.activeElement?.closest(".config-field"));
    const wide = await page.evaluate(() => [document.documentElement, document.querySelector("dialog[open] .panel")].some((one) => one.scrollWidth > one.clientWidth));
    if (wide) throw new Error("it scrolls sideways");
    await walk.clean();
    await walk.shot("9-phone");
    await tab(walk, "storage");
    await walk.rest();
    await walk.clean();
    await walk.shot("9-phone-storage");
    await close(page);
    await page.evaluate(() => yaa.use("ui/commands").context().actions.set({ theme: "light" }));
    await speak(page, "en");
    await tab(walk, "config");
    await page.waitForSelector(field("/llm_api/provider/api_url"), { visible: true });
    await walk.shot("9-phone-light");
  });
});

async function tab(walk, name) {
  await walk.page.evaluate((wanted) => yaa.use("ui/commands").context().actions.openSettings(wanted), name);
  await walk.page.waitForSelector(`dialog[open] :is([data-tab=${name}][aria-selected=true], [data-part=${name}][open])`);
  await walk.rest();
}

/** The page is made anew with it. */
async function speak(page, language) {
  await page.$eval(COMPOSER, (one) => { one.dataset.old = "yes"; });
  await page.evaluate((wanted) => yaa.use("ui/commands").context().actions.set({ language: wanted }), language);
  await page.waitForFunction((css) => !document.querySelector(css).dataset.old, {}, COMPOSER);
}

async function close(page) {
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !document.querySelector("dialog[open]"));
}

async function fresh(walk) {
  await walk.press("New session", ".side button");
  await walk.page.waitForFunction(() => !document.querySelector("article.message"));
}

async function ask(walk, words, n) {
  await walk.send(words);
  await walk.page.waitForFunction((count) => document.querySelectorAll("article.message[data-role=assistant]").length >= count && !document.querySelector(".feed[aria-busy=true]"), {}, n);
}

/** A session from nowhere, opened. */
async function put(walk, session) {
  await walk.page.evaluate(async (given) => {
    const { app, actions } = yaa.use("ui/commands").context();
    await app.sessionStore.restore(given);
    await actions.open(given.id);
  }, session);
  await walk.page.waitForFunction((id) => yaa.use("ui/commands").context().app.current.session.id === id, {}, session.id);
}

function config(page, holds) {
  return page.waitForFunction(`(${holds})(yaa.use("ui/commands").context().app.current.session.config)`);
}

/** Opens the group of a field. */
function open(page, pointer) {
  return page.$eval(field(pointer), (one) => { one.closest("details.config-group").open = true; });
}

function find(page, words) {
  return page.$eval("dialog[open] .panel input[type=search]", (one, value) => {
    one.value = value;
    one.dispatchEvent(new Event("input"));
  }, words);
}

function same(found, wanted) {
  const [one, other] = [found, wanted].map((value) => JSON.stringify(value));
  if (one !== other) throw new Error(`${one} instead of ${other}`);
}

/** A file that the browser writes, once it is there. */
async function until(look) {
  for (;;) {
    const found = look();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
