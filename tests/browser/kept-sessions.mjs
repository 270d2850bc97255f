/**
 * A kept session as a person meets it: a task is begun, the page closed, a second device sees it live and answers, the first
 * one shows all of it; both look at once; what both have changed becomes a branch; it is taken back. The job: {url}, a link
 * of the owner, of a server as in test_kept_sessions.py.
 */
import { main, PATIENCE_MS } from "./driver.mjs";

const COMPOSER = "form.composer textarea";
const NOTE = ".note.kept:not([hidden])";
const CURRENT = ".row[data-current=true]";

await main(async (walk, job) => {
  const told = async (...what) => (await walk.ask(...what)).answer;
  const only = async () => Object.values(await told("documents"));
  let first = walk.page;
  /** A page behind another one draws no frames. */
  const front = async (page) => {
    walk.page = page;
    await page.bringToFront();
  };
  const command = (id) => walk.page.evaluate((one) => yaa.use("ui/commands").run(one), id);
  const ready = (page) => page.waitForFunction(() => { try { return yaa.use("ui/commands").table().some(({ id }) => id === "session.keep") && yaa.use("ui/commands").context().app.server.state().ok; } catch { return false; } });
  const second = await walk.browser.createBrowserContext();
  let phone;

  await walk.step("a task is begun, and says that it goes on without the page", async () => {
    await first.goto(job.url);
    await ready(first);
    await told("hold");
    await told("order", "shell", { command: "echo hello" });
    await walk.send("Say hello.");
    await walk.sees(NOTE, "This goes on when you close the page.");
    await walk.clean("a kept run");
    await walk.shot("1-goes-on");
    const [document] = await only();
    if (document.messages[0].content !== "Say hello.") throw new Error(JSON.stringify(document.messages));
    await first.close();
  });

  await walk.step("another device lists it, opens it, and sees it live", async () => {
    const link = await told("device");
    phone = await second.newPage();
    phone.setDefaultTimeout(PATIENCE_MS);
    walk.page = phone;
    await phone.goto(link);
    await ready(phone);
    await walk.sees(".row", "Say hello.");
    await walk.sees(".row", "kept");
    await walk.shot("2-list");
    await phone.click(".row .row-open");
    await walk.sees("article.message", "Say hello.");
    await walk.sees(NOTE, "This goes on when you close the page.");
    await told("let go");
    await phone.waitForSelector(".ask:not([hidden])");
    await walk.sees(".ask", "echo hello");
    await walk.clean("a question of a kept session");
    await walk.shot("2-asks");
  });

  await walk.step("it answers", async () => {
    await walk.press("Allow once", ".ask button");
    await walk.sees("article.message", "It is done.");
  });

  await walk.step("the first browser shows all of it", async () => {
    first = await walk.newPage();
    await first.goto(job.url.split("#")[0]);
    await ready(first);
    await first.click(".row .row-open");
    await walk.sees("article.message", "Say hello.");
    await walk.sees("article.message", "It is done.");
    await walk.sees(NOTE, "Also open in one other place");
    await walk.shot("3-all");
    const calls = Object.values((await only())[0].calls);
    if (calls.length !== 1 || calls[0].state !== "done") throw new Error(JSON.stringify(calls));
  });

  await walk.step("what one says, the other sees", async () => {
    await walk.send("And now?");
    await walk.says("Understood.");
    await front(phone);
    await walk.sees("article.message", "And now?");
    await walk.sees("article.message", "Understood.");
    await phone.evaluate(() => { const { app, actions } = yaa.use("ui/commands").context(); actions.rename(app.current.session.id, "Hello there"); });
    await front(first);
    await walk.sees(".top-title", "Hello there");
  });

  await walk.step("what both have changed is a branch, and that is said", async () => {
    await front(phone);
    await told("cut");
    await phone.waitForFunction(() => yaa.use("ext/keeper/runs").linkOf(yaa.use("ui/commands").context().app.current.session.id).live === false);
    await phone.evaluate(() => { const { app } = yaa.use("ui/commands").context(); app.sessionStore.edit(app.current, (one) => { one.messages[0].content = "Say hi."; }); });
    await front(first);
    await walk.send("A third thing.");
    await walk.says("Understood.");
    await front(phone);
    await told("mend");
    await walk.sees(".toast", "goes on in a branch of it");
    await walk.sees("article.message", "Say hi.");
    await walk.shot("5-branch");
    const documents = await told("documents");
    const said = Object.values(documents).map(({ messages }) => messages[0].content).sort();
    if (said.join() !== "Say hello.,Say hi.") throw new Error(said.join());
  });

  await walk.step("it is taken back to this browser", async () => {
    await front(first);
    await command("session.keep");
    await walk.sees(".toast", "This session is in this browser only now.");
    if ((await only()).length !== 1) throw new Error("it is kept still");
    await walk.send("Here.");
    await walk.says("Understood.");
    if ((await only()).length !== 1) throw new Error("it is kept again");
    await command("session.keep");
    await walk.sees(".toast", "The server keeps this session now.");
    if ((await only()).length !== 2) throw new Error("it is not kept");
  });

  await walk.step("a run of this page goes on without it when a person says so", async () => {
    await command("session.keep");
    await walk.sees(".toast", "This session is in this browser only now.");
    await told("hold");
    await told("order", "shell", { command: "echo moved" });
    await told("order", "shell", { command: "echo moved" }); // what was asked before the line was left is asked anew
    await walk.send("Say moved.");
    await walk.sees(NOTE, "This ends when you close the page.");
    await walk.clean("a run that ends with the page");
    await walk.shot("6-ends");
    await walk.press("Keep going without this page", `${NOTE} button`);
    await walk.sees(NOTE, "This goes on when you close the page.");
    await told("let go");
    await first.waitForSelector(".ask:not([hidden])");
    await first.reload();
    await ready(first);
    await first.waitForSelector(".ask:not([hidden])");
    await walk.press("Allow once", ".ask button");
    await walk.says("It is done.");
    const calls = (await only()).flatMap(({ calls }) => Object.values(calls)).filter(({ state }) => state !== "done");
    if (calls.length) throw new Error(JSON.stringify(calls));
  });

  await walk.step("the other device stops it, and what it does meanwhile is seen", async () => {
    await told("hold");
    await walk.send("Never mind.");
    await walk.sees(NOTE, "This goes on when you close the page.");
    await first.reload();
    await ready(first);
    await walk.sees(NOTE, "This goes on when you close the page.");
    await front(phone);
    await phone.waitForFunction(() => yaa.use("ui/commands").context().app.sessionStore.listed().some(({ mark }) => mark === "busy"));
    const id = await first.evaluate(() => yaa.use("ui/commands").context().app.current.session.id);
    await phone.evaluate((one) => yaa.use("ui/commands").context().actions.open(one), id);
    await walk.sees("article.message", "Never mind.");
    await phone.waitForSelector(".feed[aria-busy=true]"); // before that there is no button to stop it
    await phone.evaluate(() => yaa.use("ui/commands").context().actions.stop());
    await phone.waitForFunction(() => !document.querySelector(".feed[aria-busy=true]"));
    await front(first);
    await first.waitForFunction(() => !document.querySelector(".feed[aria-busy=true]"));
    await told("let go"); // it has ended although the model has not answered
  });

  await walk.step("deleted at both ends, and brought back", async () => {
    await front(phone);
    await phone.evaluate(() => { const { app, actions } = yaa.use("ui/commands").context(); actions.remove(app.current.session.id); });
    await walk.sees(".toast", "Deleted");
    await walk.press("Undo", ".toast button");
    await walk.sees("article.message", "Never mind.");
    await walk.sees(CURRENT, "kept");
  });

  await walk.step("who does not look is told of a question by the browser", async () => {
    await first.evaluate(() => {
      Object.assign(globalThis, { told: [], isHidden: true });
      globalThis.Notification = class { static permission = "granted"; constructor(_, { body }) { globalThis.told.push(body); } };
      yaa.use("ui/commands").context().actions.newSession();
      Object.defineProperty(document, "hidden", { configurable: true, get: () => globalThis.isHidden });
    });
    await told("order", "shell", { command: "echo back" });
    await walk.send("Are you there?");
    await phone.waitForSelector(".ask:not([hidden])");
    await first.evaluate(() => {
      globalThis.isHidden = false;
      document.dispatchEvent(new Event("visibilitychange")); // the list is read
      globalThis.isHidden = true;
    });
    await first.waitForFunction(() => globalThis.told.some((words) => words.includes("asks something")), { polling: 200 });
    await first.evaluate(() => { delete document.hidden; });
    await front(first);
  });

  await walk.step("old ones come as one scrolls, and what is no session says why", async () => {
    await told("plant");
    await first.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
    await walk.sees(".row", "Cannot be used");
    const count = () => first.$$eval(".row", (all) => all.length);
    const before = await count();
    await walk.shot("8-many");
    await first.evaluate(() => { const list = document.querySelector(".side-list"); list.scrollTop = list.scrollHeight; });
    await first.waitForFunction((n) => document.querySelectorAll(".row").length > n, {}, before);
    await walk.sees(".row", "Old 0");
    const toasts = () => first.$$eval(".toast", (all) => all.map(({ textContent }) => textContent));
    const earlier = await toasts(); // on a slow machine one of an earlier step is there still
    await first.evaluate(() => [...document.querySelectorAll(".row")].find(({ textContent }) => textContent.includes("Cannot be used")).querySelector(".row-open").click());
    await walk.sees(".toast", "It is no session");
    const also = (await toasts()).filter((words) => !words.includes("It is no session") && !earlier.includes(words));
    if (also.length) throw new Error(`and it says: ${also}`);
    await walk.clean("a long list");
    await first.evaluate(() => { document.querySelector(".side-list").scrollTop = 0; });
    await first.click(".row .row-open");
  });

  await walk.step("on a phone, in the dark, in Chinese", async () => {
    await first.setViewport({ width: 390, height: 844 });
    await told("hold");
    await walk.send("Once more.");
    await walk.sees(NOTE, "This goes on when you close the page.");
    await walk.shot("7-phone");
    await first.evaluate(() => yaa.use("ui/commands").context().actions.set({ theme: "dark", language: "zh" }));
    await walk.sees(NOTE, "关闭页面后运行会继续。");
    await walk.clean("on a phone", { colours: true });
    await walk.shot("7-phone-dark-zh");
    await told("let go");
    await walk.says("Understood.");
  });
});
