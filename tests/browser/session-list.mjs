/**
 * From session to session: the way back and on again, a search of many, tags. The model is the scripted one of the benchmark.
 * The job: {url, browser}.
 */
import { main } from "./driver.mjs";
import { put } from "./sample-session.mjs";

const AREA = "form.composer textarea";

await main(async (walk, job) => {
  const { page } = walk;
  const ready = () => page.waitForFunction(() => {
    try {
      return yaa.use("ext/search/results") && yaa.use("ui/manage-sessions") && Boolean(yaa.use("ui/storage-notices").context());
    } catch {
      return false;
    }
  });
  const expect = (found, wanted, what) => {
    if (JSON.stringify(found) !== JSON.stringify(wanted)) throw new Error(`${what}: ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`);
  };
  const current = () => page.evaluate(() => yaa.use("ui/commands").context().app.current.session.id);
  const isCurrent = (id) => page.waitForFunction((wanted) => yaa.use("ui/commands").context().app.current.session.id === wanted, {}, id);
  const say = async (words) => {
    await page.type(AREA, words);
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector("article[data-role=assistant]") && !document.querySelector(".feed[aria-busy=true]"));
    return current();
  };

  await walk.step("open", async () => {
    await page.goto(job.url);
    await page.waitForSelector(".side .dot.good");
    await ready();
    await say("bench tokens=3 delay_us=0");
  });

  await walk.step("a notice goes by itself, but not from under the focus", async () => {
    const left = await page.evaluate(() => {
      const [begin, end] = [globalThis.setTimeout, globalThis.clearTimeout];
      const long = new Map(); // what would happen after some seconds, now
      globalThis.setTimeout = (run, ms) => {
        const id = begin(ms > 5000 ? () => {} : run, ms);
        if (ms > 5000) long.set(id, run);
        return id;
      };
      globalThis.clearTimeout = (id) => (long.delete(id), end(id));
      const count = (held) => {
        yaa.use("ui/popup").toast("Deleted.", { label: "Undo" });
        if (held) document.querySelector(".toast button").focus();
        long.forEach((run) => run());
        return document.querySelectorAll(".toast").length;
      };
      const counts = [count(false), count(true)];
      [globalThis.setTimeout, globalThis.clearTimeout] = [begin, end];
      return counts;
    });
    expect(left, [0, 1], "notices, without the focus and with it");
    await walk.press("Close", ".toast button");
  });

  await walk.step("back, and on again", async () => {
    const first = await current();
    await walk.press("New session", ".side button");
    await page.waitForSelector(".empty:not([hidden])");
    await page.evaluate(() => history.back());
    await page.waitForSelector("article.message");
    expect(await current(), first, "the session before");
    await page.evaluate(() => history.forward());
    await page.waitForSelector(".empty:not([hidden])");
  });

  await walk.step("back to temporary sessions, which no address names", async () => {
    const temporary = async () => {
      await page.evaluate(() => yaa.use("ui/commands").run("session.temporary"));
      return say("bench tokens=2 delay_us=0");
    };
    const [first, second] = [await temporary(), await temporary()];
    await page.click(".row:not([data-current=true], :has(.badge)) .row-open");
    await page.waitForFunction(() => location.hash);
    const kept = await current();
    for (const id of [second, first]) {
      await page.evaluate(() => history.back());
      await isCurrent(id);
    }
    for (const id of [second, kept]) {
      await page.evaluate(() => history.forward());
      await isCurrent(id);
    }
    await page.evaluate(() => history.back());
    await isCurrent(second);
    await page.reload(); // it is gone with its page, and nothing speaks of it
    await page.waitForSelector(".empty:not([hidden])");
    expect(await page.$$eval(".toast", (all) => all.length), 0, "notices");
    await ready();
    const here = await current();
    await page.evaluate(() => history.back()); // nor does it hold anybody on the way
    await page.waitForFunction((id) => yaa.use("ui/commands").context().app.current.session.id !== id, {}, here);
    await page.evaluate(() => history.back());
    await isCurrent(kept);
  });

  await walk.step("tags that were switched hold, however their dialog is left", async () => {
    await page.click(".row-open");
    await page.waitForSelector("article.message");
    const id = await current();
    const tagsOf = () => page.evaluate(async (one) => (await yaa.use("ui/commands").context().app.store.get(one)).ext?.tags ?? [], id);
    const before = await page.evaluate(() => yaa.use("ui/commands").context().app.sessionStore.heads()[0].updated);
    for (const [words, wanted] of [["", []], ["zoo", ["zoo"]]]) {
      await page.keyboard.press("Escape");
      await page.evaluate(() => { yaa.use("ui/commands").run("session.tags"); });
      await page.waitForSelector("dialog[open] input.input");
      if (words) {
        await page.type("dialog[open] input.input", words);
        await page.keyboard.press("Enter");
        await page.waitForSelector("dialog[open] .chip[aria-pressed=true]");
      }
      await page.keyboard.press("Escape");
      await page.waitForSelector("dialog[open]", { hidden: true });
      if (words) await walk.sees(".row-tags", "#zoo");
      expect(await tagsOf(), wanted, "tags");
      if (!words) expect(await page.evaluate(() => yaa.use("ui/commands").context().app.sessionStore.heads()[0].updated), before, "nothing was switched, nothing written");
    }
  });

  await walk.step("many sessions are searched without holding up what is typed", async () => {
    const text = `${"Some words of an answer. ".repeat(1500)} omega`;
    const says = (n) => ({ id: `m${n}`, role: n % 2 ? "assistant" : "user", content: text, at: n, ...(n % 2 ? { meta: {} } : {}) });
    const call = { id: "c1", type: "function", function: { name: "python", arguments: JSON.stringify({ code: "if found:\n\tprint(\"omicron\")" }) } };
    const code = { id: "code", version: 1, rev: 1, title: "Code", status: "completed", calls: {}, messages: [{ id: "u", role: "user", content: "go" }, { id: "a", role: "assistant", content: "", tool_calls: [call] }] };
    await put(page, code, ...Array.from({ length: 150 }, (_, n) => ({ id: `old${n}`, version: 1, rev: 1, title: `Old ${n}`, status: "completed", calls: {}, messages: [0, 1, 2, 3].map(says) })));
    await ready();
    await page.type(".side-search", "bench");
    await walk.sees(".found-count", "1 session");
    const turns = await page.evaluate(() => new Promise((done) => {
      let [n, over] = [0, false];
      const turn = () => over || (n += 1, setTimeout(turn));
      new MutationObserver(() => { over = true; done(n); }).observe(document.querySelector(".found-count"), { childList: true, characterData: true, subtree: true });
      const field = document.querySelector(".side-search");
      field.value = "Old omega";
      field.dispatchEvent(new Event("input"));
      setTimeout(turn);
    }));
    if (!turns) throw new Error("everything else waited until all was searched");
  });

  await walk.step("what is found in a call is shown as it reads", async () => {
    await walk.write(".side-search", "omicron");
    await walk.sees(".hit", 'if found: print("omicron")');
    await walk.write(".side-search", "Old omega");
    await walk.sees(".found-count", "150 sessions");
  });

  await walk.step("not all that was found is listed at once, and all can be", async () => {
    const listed = () => page.$$eval(".found-list > li", (all) => all.length);
    for (const [n, words] of [[60, "Show 60 more"], [120, "Show 30 more"]]) {
      expect(await listed(), n, "listed");
      await walk.press(words);
    }
    expect(await listed(), 150, "listed");
    expect(await page.$$eval(".side button", (all) => all.filter((one) => one.checkVisibility() && one.innerText.startsWith("Show")).length), 0, "and no more are offered");
    expect(await page.evaluate(() => [...document.querySelectorAll(".found-list > li")].findIndex((one) => one.contains(document.activeElement))), 120, "where the focus is");
    await page.$eval(".side-search", (field) => { field.value = ""; field.dispatchEvent(new Event("input")); });
  });
});
