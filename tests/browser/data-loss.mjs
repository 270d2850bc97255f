/**
 * Nothing that arrived is lost: the tab is killed while an answer streams in, several times, and what comes back is what
 * had been received. Then storage that refuses, and a copy that brings everything back. The job: {url, browser}.
 */
import { main } from "./driver.mjs";

const COMPOSER = "form.composer textarea";
const COUNT = () => [...document.querySelectorAll("article.message[data-role=assistant]")].at(-1)?.innerText.match(/@\d+@/g)?.length ?? 0;

async function ready(page) {
  await page.waitForSelector(COMPOSER, { visible: true });
}

/** The session as it is stored. */
const stored = (page, id) => page.evaluate(async (wanted) => (await yaa.use("io/store-idb").open()).get(wanted), id);

await main(async (walk, job) => {
  await walk.step("open", async () => {
    await walk.page.goto(job.url);
    await walk.page.waitForSelector(".side .dot.good"); // the link has signed in: the other pages have none
  });

  for (const heard of [1, 17, 60]) {
    await walk.step(`killed after ${heard} pieces`, async () => {
      const page = await walk.newPage();
      await page.goto(job.url.split("#")[0]);
      await ready(page);
      await page.type(COMPOSER, "bench tokens=160 delay_us=20000");
      await page.keyboard.press("Enter");
      await page.waitForFunction((wanted) => ([...document.querySelectorAll("article.message[data-role=assistant]")].at(-1)?.innerText.match(/@\d+@/g)?.length ?? 0) >= wanted, {}, heard);
      const { id, seen } = await page.evaluate(() => ({
        id: new URLSearchParams(location.hash.slice(1)).get("s"),
        seen: [...document.querySelectorAll("article.message[data-role=assistant]")].at(-1).innerText.match(/@\d+@/g).length,
      }));
      await kill(walk, page);
      const next = await walk.newPage();
      await next.goto(`${job.url.split("#")[0]}#s=${id}`);
      await next.waitForFunction(() => document.querySelectorAll("article.message").length >= 2);
      const session = await stored(next, id);
      const kept = session.messages.at(-1).content.match(/@\d+@/g).length;
      await next.waitForFunction(COUNT); // the text comes a frame behind its message
      const shown = await next.evaluate(COUNT);
      if (kept < seen) throw new Error(`${seen} were seen, ${kept} are kept`);
      if (shown < kept) throw new Error(`${kept} are kept, ${shown} are shown`);
      await walk.press("Resume", ".status-line button");
      await next.waitForFunction(() => {
        const last = [...document.querySelectorAll("article.message[data-role=assistant]")].at(-1);
        return last?.innerText.match(/@\d+@/g)?.length === 160 && !document.querySelector(".feed[aria-busy=true]");
      });
      return { seen, kept };
    });
  }

  await walk.step("killed under a hand that never rests", async () => {
    const page = await walk.newPage();
    await page.goto(job.url.split("#")[0]);
    await ready(page);
    const words = "x".repeat(64);
    await page.type(COMPOSER, words, { delay: 100 }); // 6.4 s, and kept after 5 at the latest
    await kill(walk, page);
    const next = (walk.page = await walk.newPage());
    await next.goto(job.url.split("#")[0]);
    await ready(next);
    const kept = await next.$eval(COMPOSER, (field) => field.value);
    if (kept.length < 20 || !words.startsWith(kept)) throw new Error(`kept: “${kept}”`);
    await next.click(COMPOSER, { count: 3 });
    await next.keyboard.press("Backspace");
    await next.waitForFunction(() => !Object.keys(localStorage).some((name) => name.startsWith("yaa.draft ")));
    return { kept: kept.length };
  });

  await walk.step("storage that refuses says what to do", async () => {
    const { page } = walk;
    await page.evaluate(() => Promise.all([yaa.load("storage"), yaa.load("dialogs")]));
    await page.waitForFunction(() => document.querySelector(".notices"));
    await listen(page);
    await page.evaluate(() => dispatchEvent(new CustomEvent("yaa-storage", { detail: { code: "quota", message: "full" }, cancelable: true })));
    await walk.sees(".keep-note", "no room left");
    await walk.sees(".keep-note", "delete sessions");
    await heard(page, "no room left");
    await walk.shot("1-quota");
    await walk.clean();
  });

  await walk.step("alarms at the same moment are all heard", async () => {
    const { page } = walk;
    await page.evaluate(() => ["First.", "Second.", "Second.", "Third."].forEach((words) => yaa.use("ui/popup").say(words, true)));
    await heard(page, "Third.");
    const told = await page.evaluate(() => globalThis.told.slice(-4).join(" "));
    if (told !== "First. Second. Second. Third.") throw new Error(told);
  });

  await walk.step("a copy brings everything back", async () => {
    const { page } = walk;
    const { before, text } = await page.evaluate(async () => {
      const { backup } = yaa.use("core/backup");
      const store = await yaa.use("io/store-idb").open();
      const all = await Promise.all((await store.list()).map(({ id }) => store.get(id)));
      const text = JSON.stringify(backup(all, Date.now()));
      for (const { id } of all) await store.delete(id);
      return { before: all.length, text };
    });
    const after = await page.evaluate(async (words) => {
      await yaa.use("ui/storage-notices").restore(new File([words], "copy.json"));
      const store = await yaa.use("io/store-idb").open();
      return (await store.list()).length;
    }, text);
    if (after !== before || before < 3) throw new Error(`${before} before, ${after} after`);
  });

  await walk.step("damaged records hide no session of the list, and each is there once", async () => {
    const { page } = walk;
    const names = () => page.evaluate(async () => (await (await yaa.use("io/store-idb").open()).list()).map(({ id }) => String(id)));
    const sound = await names();
    const damage = (heads) => page.evaluate(async (all) => {
      const transaction = await new Promise((resolve) => { indexedDB.open("yaa").onsuccess = ({ target }) => resolve(target.result.transaction("heads", "readwrite")); });
      for (const head of all) transaction.objectStore("heads")[head.title ? "put" : "delete"](head.title ? { ...head, updated: head.updated ?? NaN } : head.id);
      await new Promise((resolve) => { transaction.oncomplete = resolve; });
      transaction.db.close();
    }, heads);
    const damaged = [
      { id: "bad1", title: "Twice", updated: "yesterday", tags: "work" }, { id: "bad2", title: { a: 1 }, updated: {}, tags: [1, {}] },
      { id: "bad3", title: "Twice", tags: null }, { id: "bad4", title: 7, updated: -1, tags: ["work"] }, { id: 5, title: "A number", said: "long ago", tags: [[]] },
    ];
    await damage(damaged);
    await page.goto("about:blank");
    await page.goto(job.url.split("#")[0]);
    await ready(page);
    const rows = (count) => page.waitForFunction((n) => document.querySelectorAll(".side-list .row-open").length === n, {}, count);
    await rows(sound.length + damaged.length);
    await page.evaluate((id) => yaa.use("ui/commands").context().actions.open(id), sound[0]);
    await page.waitForFunction(() => document.querySelector(".side-list .row[data-current]"));
    await rows(sound.length + damaged.length);
    await damage(damaged.map(({ id }) => ({ id })));
  });

  await walk.step("a folder has every session as a file", async () => {
    const { page } = walk;
    if (job.browser !== "chromium" || !(await page.evaluate(() => isSecureContext))) return { skipped: true };
    const names = await page.evaluate(async () => {
      const { folder, copyToFolder } = yaa.use("ui/storage-notices");
      const root = await navigator.storage.getDirectory(); // the browser's own folder stands in for one of the person's
      await folder.use(await root.getDirectoryHandle("chats", { create: true }));
      const store = await yaa.use("io/store-idb").open();
      for (const { id } of await store.list()) await copyToFolder(await store.get(id));
      await folder.write({ id: "last", title: "Last", messages: [] });
      const names = [];
      for await (const name of (await root.getDirectoryHandle("chats")).keys()) names.push(name);
      await folder.forget();
      return names;
    });
    if (names.length < 4 || !names.every((name) => name.endsWith(".yaa.json"))) throw new Error(names.join());
    return { files: names.length };
  });

  await walk.step("a key under a passphrase", async () => {
    const { page } = walk;
    const found = await page.evaluate(async () => {
      const { keyStorage, sealKeys, context } = yaa.use("ui/storage-notices");
      if (!keyStorage.possible) return "there is none here";
      const { settings } = context().app;
      const key = settings.key();
      await sealKeys("open sesame");
      const plain = JSON.stringify({ ...localStorage }).includes(key);
      const [wrong, right] = [await keyStorage.unseal("x"), await keyStorage.unseal("open sesame")];
      keyStorage.forget();
      settings.setKey(key, { remember: true });
      return plain || wrong !== null || Object.values(right)[0] !== key ? "it is not kept" : "";
    });
    if (found) throw new Error(found);
  });

  await walk.step("one writer: another tab does not run the same session", async () => {
    const [one, two] = [walk.page, await walk.newPage()];
    const id = await one.evaluate(async () => {
      const store = await yaa.use("io/store-idb").open();
      await store.put({ id: "shared", title: "Shared", messages: [] });
      return "shared";
    });
    const address = `${job.url.split("#")[0]}#s=${id}`;
    for (const page of [one, two]) {
      await page.goto("about:blank");
      await page.goto(address);
      await page.bringToFront(); // a tab behind another draws no frames, and what is visible is looked for in frames
      await ready(page);
    }
    await one.bringToFront();
    await one.type(COMPOSER, "bench tokens=300 delay_us=8000");
    await one.keyboard.press("Enter");
    await one.waitForFunction(() => document.querySelector("article[aria-busy=true]"));
    const refused = await two.evaluate(async () => {
      const locks = yaa.use("io/lock").create();
      return (await locks.acquire("session shared")) === null;
    });
    if (!refused) throw new Error("two tabs may write");
    await one.bringToFront();
    await one.evaluate(() => document.querySelector("form.composer button.send").click());
  });

  await walk.step("where a newer page has taken the storage, that is said, and a copy has what is only here", async () => {
    const page = await walk.newPage();
    await walk.keepSaved();
    await page.goto(job.url.split("#")[0]);
    await ready(page);
    await page.bringToFront();
    await page.waitForFunction(() => document.querySelector(".notices"));
    await walk.send("bench tokens=2 delay_us=0 kept");
    await page.waitForFunction(() => yaa.use("ui/commands").context().app.current.state?.phase === "done");
    await page.evaluate(() => new Promise((resolve, reject) => Object.assign(indexedDB.open("yaa", 99), { onsuccess: resolve, onerror: reject })));
    await walk.send("bench tokens=2 delay_us=0 only here");
    await walk.sees(".keep-note", "stored by a newer version of this page");
    await page.waitForFunction(() => { const { going, state } = yaa.use("ui/commands").context().app.current; return !going && state?.phase === "done" });
    await walk.press("Copy everything to a file", ".keep-note button");
    await page.waitForFunction(() => globalThis.savedFiles.some((text) => text.includes("only here")));
    await walk.sees(".toast", "could not be read");
  });
});

/** From now on, all that is said to who interrupts for it. */
function listen(page) {
  return page.evaluate(() => {
    const line = document.querySelector("#alarm");
    globalThis.told = [];
    new MutationObserver(() => line.textContent && globalThis.told.push(line.textContent)).observe(line, { childList: true });
  });
}

function heard(page, words) {
  return page.waitForFunction((wanted) => globalThis.told.some((one) => one.includes(wanted)), {}, words);
}

/** As the system does it, where the browser lets a test: without a word to the page. */
async function kill(walk, page) {
  if (walk.job.browser === "chromium") {
    const session = await page.createCDPSession();
    session.send("Page.crash").catch(() => {});
    await new Promise((resolve) => page.once("error", resolve));
  }
  await page.close({ runBeforeUnload: false }).catch(() => {});
}
