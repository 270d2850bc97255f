/**
 * The night of test_night.py with two browsers: a task is begun and its page closed; the phone of the person, with a key of
 * its own, opens the link of the notice, sees the difference, allows it; the first browser shows all of it. The job: {url,
 * calls, old, new}, `url` a link of the owner.
 */
import { main, PATIENCE_MS } from "../../browser/driver.mjs";

const PHONE = { width: 390, height: 844, isMobile: true, hasTouch: true };

await main(async (walk, job) => {
  const told = async (...what) => (await walk.ask(...what)).answer;
  const ready = (page) => page.waitForFunction(() => { try { return yaa.use("ui/commands").table().some(({ id }) => id === "session.keep") && yaa.use("ui/commands").context().app.server.state().ok; } catch { return false; } });
  const first = walk.page;
  let link, phone;

  await walk.step("a task is begun, and the tab closes", async () => {
    await first.goto(job.url);
    await ready(first);
    await first.evaluate(() => yaa.use("ui/commands").run("sessions.keep"));
    await walk.sees(".toast", "New sessions are kept by the server");
    await walk.send("go");
    await walk.sees(".note.kept:not([hidden])", "This goes on when you close the page.");
    await first.close();
  });

  await walk.step("the server is killed twice, and its clock is set", async () => {
    link = await told("kill twice");
  });

  await walk.step("a phone with another key opens the link, sees the difference, and allows it", async () => {
    const second = await walk.browser.createBrowserContext();
    phone = await second.newPage();
    phone.setDefaultTimeout(PATIENCE_MS);
    walk.page = phone;
    if (!job.firefox) await phone.setViewport(PHONE);
    await phone.goto(await told("device"));
    await ready(phone);
    await walk.sees(".row", "kept");
    await phone.goto(link);
    await phone.waitForSelector("button[value=allow]");
    const seen = await phone.$eval("body", (body) => body.innerText);
    for (const words of ["edit_file", `- ${job.old.trim()}`, `+ ${job.new}`]) if (!seen.includes(words)) throw new Error(seen);
    const wide = await phone.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (wide > 0) throw new Error(`it is ${wide} px too wide`);
    await walk.shot("3-link");
    await Promise.all([phone.waitForNavigation(), phone.click("button[value=allow]")]);
    await phone.waitForFunction(() => document.body.innerText.includes("Allowed"));
    await walk.shot("3-allowed");
  });

  await walk.step("it ends, and the first browser shows all of it", async () => {
    const page = await walk.newPage();
    walk.page = page;
    await page.goto(job.url.split("#")[0]);
    await ready(page);
    await page.click(".row .row-open");
    await walk.says(`Done: ${job.calls} results.`);
    const stored = await told("stored");
    const shown = await page.evaluate(() => yaa.use("ui/commands").context().app.current.session);
    const facts = ({ status, messages, calls }) => JSON.stringify([
      status, messages.map(({ id, role, content, tool_call_id: of, tool_calls: made }) => [id, role, content, of, made?.map((each) => each.id)]),
      Object.entries(calls).map(([id, { state, fingerprint }]) => [id, state, fingerprint]).sort(),
    ]);
    if (facts(shown) !== facts(stored)) throw new Error(`${facts(shown)}, stored: ${facts(stored)}`);
    await walk.shot("4-all");
  });
});
