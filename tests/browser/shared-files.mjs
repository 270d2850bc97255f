/**
 * Two tabs with one session: what one uploads, deletes, imports or sets aside while the other has an older state of it, or
 * runs it. The job: {url}: of servers as in folder_servers.py.
 */
import { canBeDeaf, main } from "./driver.mjs";

const COMPOSER = "form.composer textarea";

await main(async (walk, job) => {
  const home = job.url.split("#")[0];
  const told = async (...what) => (await walk.ask(...what)).answer;
  const one = walk.page;
  const two = await walk.newPage();
  await two.evaluateOnNewDocument(canBeDeaf);

  /** The tab that a person looks at: one behind another draws nothing. */
  async function at(page) {
    walk.page = page;
    await page.bringToFront();
    return page;
  }

  const idOf = (page) => page.evaluate(() => yaa.use("ui/commands").context().app.current.session.id);
  const rests = (page) => page.waitForFunction(() => {
    const { going, elsewhere, state } = yaa.use("ui/commands").context().app.current;
    return !going && !elsewhere && state?.phase === "done" && !document.querySelector(".queue-item");
  });

  async function say(page, words, order) {
    await at(page);
    if (order) await told("order", ...order);
    await page.evaluate((text) => { yaa.use("ui/commands").context().actions.send(text); }, words);
  }

  /** What the last call gave back. */
  const result = (page) => page.evaluate(() => yaa.use("ui/commands").context().app.current.session.messages.findLast((one) => one.role === "tool").content);

  async function open(page, id) {
    await page.goto("about:blank");
    await page.goto(id ? `${home}#s=${id}` : job.url);
    await at(page);
    await page.waitForSelector(COMPOSER, { visible: true });
    await page.waitForFunction(() => { try { return yaa.use("ui/other-tabs") && yaa.use("ext/files/launcher") && yaa.use("ext/inspector/launcher") && yaa.use("ui/commands").context().app.server.info() } catch { return false } });
  }

  async function upload(name) {
    await at(one);
    if (!await one.$(".files .file-tree")) await one.evaluate(() => yaa.use("ui/commands").run("files"));
    await one.waitForSelector(".files .file-tree");
    await walk.drop(".files", [name, name]);
    await one.waitForFunction((wanted) => [...document.querySelectorAll(".file-tree .name")].some((row) => row.textContent === wanted), {}, name);
  }

  await open(one);
  await say(one, "Make a file.", ["shell", { command: "echo one > one.txt" }]);
  await rests(one);
  const id = await idOf(one);
  await open(two, id);

  await walk.step("what one tab uploads is there for the other, which knows an older tree", async () => {
    await two.evaluate(() => { globalThis.isDeaf = true; });
    await upload("up.txt");
    await two.evaluate(() => { globalThis.isDeaf = false; });
    await say(two, "What is there?", ["shell", { command: "ls" }]);
    await rests(two);
    const found = await result(two);
    if (!found.includes("one.txt") || !found.includes("up.txt")) throw new Error(found);
  });

  await walk.step("and what it uploads under a run of the other is there in the next, which begins by itself", async () => {
    await told("hold");
    await say(two, "Wait.");
    await at(one);
    await one.waitForFunction(() => yaa.use("ui/commands").context().app.current.elsewhere);
    await upload("late.txt");
    await say(two, "And now?", ["shell", { command: "ls" }]);
    await two.waitForSelector(".queue-item");
    await told("let go");
    await two.waitForFunction(() => yaa.use("ui/commands").context().app.current.session.messages.filter((message) => message.role === "user").length === 4);
    await rests(two);
    const found = await result(two);
    if (!found.includes("late.txt")) throw new Error(found);
  });

  await walk.step("a copy with another branch, under a run of the other tab, is kept beside it, and said so", async () => {
    await told("hold");
    await say(two, "Wait again.");
    await at(one);
    await one.waitForFunction(() => yaa.use("ui/commands").context().app.current.elsewhere);
    const copy = await one.evaluate(async () => {
      await Promise.all([yaa.load("branches"), yaa.load("dialogs")]);
      const { app } = yaa.use("ui/commands").context();
      const session = await app.store.get(app.current.session.id);
      const made = structuredClone(session);
      yaa.use("core/message-edits").editMessage(made, made.messages.filter((message) => message.role === "user")[1].id, "Make another file.");
      return JSON.stringify(made);
    });
    await walk.drop("#side", ["copy.json", copy]);
    await walk.sees(".toast", "differs from one you have");
    await one.waitForSelector("dialog[open]"); // what the copy wanted to allow
    await one.evaluate(() => document.querySelector("dialog[open]").close());
    await told("let go");
    await at(two);
    await rests(two);
    const all = await two.evaluate(async () => {
      const store = await yaa.use("io/store-idb").open();
      return Promise.all((await store.list()).map(async (head) => (await store.get(head.id)).messages.map((message) => message.content)));
    });
    const [other, own] = ["Make another file.", "Wait again."].map((words) => all.filter((texts) => texts.includes(words)).length);
    if (other !== 1 || own !== 1) throw new Error(JSON.stringify(all));
  });

  await walk.step("what is compared follows what the other tab does to it", async () => {
    await at(one);
    const other = await one.evaluate(() => yaa.use("ui/commands").context().app.sessionStore.heads().map((head) => head.id).find((id) => id !== yaa.use("ui/commands").context().app.current.session.id));
    await at(two);
    await two.evaluate(() => yaa.use("ui/commands").run("sessions.compare"));
    const choices = (count) => two.waitForFunction((n) => document.querySelectorAll(".inspect-view select option").length === n, {}, count);
    await choices(1);
    const turns = () => two.$eval(".totals tbody td", (cell) => cell.textContent);
    const before = await turns();
    const change = (what) => one.evaluate(async (kind) => {
      await yaa.load("branches");
      const { app } = yaa.use("ui/commands").context();
      const [edits, tree] = [yaa.use("core/message-edits"), yaa.use("core/branch-tree")];
      await app.sessionStore.edit(app.current, (session) => {
        if (kind === "edit") edits.editMessage(session, session.messages.findLast((message) => message.role === "user").id, "Another way.");
        else for (const { id: branch } of tree.listBranches(session).filter((found) => found.id)) tree.remove(session, branch);
      });
    }, what);
    await change("edit");
    await choices(2);
    await change("remove");
    await choices(1);
    await at(one);
    await one.evaluate((wanted) => yaa.use("ui/commands").context().actions.open(wanted), other);
    await say(one, "Go on.");
    await rests(one);
    await at(two);
    await two.waitForFunction((was) => document.querySelector(".totals tbody td").textContent !== was, {}, before);
    await walk.shot("compared");
    await one.evaluate((wanted) => yaa.use("ui/commands").context().app.sessionStore.remove(wanted), other);
  });

  await walk.step("a ZIP file of what was deleted, brought in by one tab, gives the other its files, for a server that has none", async () => {
    await at(one);
    await one.evaluate((wanted) => yaa.use("ui/commands").context().actions.open(wanted), id);
    const zip = await one.evaluate(async () => {
      await yaa.load("kept-files");
      const { session } = yaa.use("ui/commands").context().app.current;
      const [copies, kept] = [yaa.use("ext/files/copies"), yaa.use("ext/files/kept-objects")];
      const stand = yaa.use("core/workspace-stand").standOf(session);
      while (!(await kept.of(session.id))?.objects.includes(stand)) await copies.keep(yaa.use("ui/commands").context().app, session);
      const bytes = new Uint8Array(await (await copies.zipped(session.id, JSON.stringify(session))).arrayBuffer());
      await yaa.use("ui/commands").context().app.sessionStore.remove(session.id);
      await kept.remove(session.id);
      return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
    });
    await at(two);
    await walk.sees(".toast", "deleted in another tab");
    await two.evaluate(() => yaa.use("ui/commands").run("session.new"));
    await walk.drop("#side", ["session.zip", zip, true]);
    await walk.sees(".toast", "Imported 1 session.");
    await at(one);
    await one.waitForFunction(() => document.querySelector(".row-open"));
    await one.evaluate((wanted) => yaa.use("ui/commands").context().actions.open(wanted), id);
    await one.waitForFunction((wanted) => yaa.use("ui/commands").context().app.current.session.id === wanted, {}, id);
    await told("another server");
    await say(one, "Is all of it here?", ["shell", { command: "cat one.txt up.txt late.txt" }]);
    await walk.press("Upload the copies", ".ask button");
    await rests(one);
    const found = await result(one);
    if (!["one", "up.txt", "late.txt"].every((words) => found.includes(words))) throw new Error(found);
  });
});
