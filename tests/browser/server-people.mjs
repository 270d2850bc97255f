/**
 * Agents, keys for other people, and the last runs, in the server's settings. The job: {url}, of a server as in
 * test_server_people.py, whose provider is set.
 */
import { main } from "./driver.mjs";
import { parts } from "./server-parts.mjs";

const COMPOSER = "form.composer textarea";
const DIALOG = "dialog[open]";

await main(async (walk, job) => {
  const { page } = walk;
  const { told, part, openServer, open, field } = parts(walk);

  await walk.step("open the server's settings", async () => {
    await page.goto(job.url);
    await openServer();
  });

  await walk.step("an agent is made, copied, tried and deleted", async () => {
    await open("agents");
    await walk.press("New agent", `${part("agents")} button`);
    await walk.write(await field("agents", "Name"), "Pirate!");
    await walk.write(await field("agents", "What it is told"), "Say arr.");
    await walk.press("Save", `${part("agents")} .host-form button`);
    await walk.sees(`${part("agents")} .host-form`, "Up to 64 letters");
    await walk.write(await field("agents", "Name"), "pirate");
    await walk.write(await field("agents", "What it is for"), "Answers like a pirate");
    await walk.clean("the form");
    await walk.press("Save", `${part("agents")} .host-form button`);
    await walk.sees(`${part("agents")} .host-rows`, "Answers like a pirate");
    await walk.press("Duplicate: pirate", `${part("agents")} button`);
    await walk.press("Save", `${part("agents")} .host-form button`);
    await walk.sees(`${part("agents")} .host-rows`, "pirate-2");
    await walk.clean("the agents");
    await walk.shot("1-agents");
    await walk.press("Remove: pirate-2", `${part("agents")} button`);
    await walk.press("Remove", "dialog.small-dialog[open] footer button");
    await page.waitForFunction((at) => !document.querySelector(at).innerText.includes("pirate-2"), {}, part("agents"));
    await walk.press("Try: pirate", `${part("agents")} button`);
    await page.waitForFunction(() => !document.querySelector("dialog[open]"));
    await page.waitForFunction(() => yaa.use("ui/commands").context().app.current.session.agent === "pirate");
    await page.focus(COMPOSER);
    await walk.send("Ahoy.");
    await walk.says("Understood.");
  });

  let link = "";
  await walk.step("a key for another person, shown once, with its link and code", async () => {
    await openServer();
    await open("keys");
    await walk.press("Make a key", `${part("keys")} button`);
    await walk.write(await field("keys", "Name"), "bob");
    await walk.write(await field("keys", "Steps in a run"), "7");
    await walk.write(await field("keys", "Money in a run"), "0.5");
    await walk.press("Make it", `${part("keys")} .host-form button`);
    await page.waitForSelector(`${part("keys")} svg.qr path`);
    link = await page.$eval(await field("keys", "Link that signs"), (el) => el.value);
    const key = await page.$eval(await field("keys", "Key"), (el) => el.value);
    if (!link.includes("/#code=") || !key) throw new Error(link);
    await walk.clean("the key");
    await walk.shot("2-key");
    await walk.press("I have written it down", `${part("keys")} button`);
    await walk.sees(`${part("keys")} .host-rows`, "bob");
    await walk.sees(`${part("keys")} .host-rows`, "Money in a run: 0.5");
    if (!JSON.stringify(await told("file")).includes('"max_cost_micro":500000')) throw new Error("another limit is in the file");
    const here = await page.evaluate((secret) => document.documentElement.outerHTML.includes(secret) || [...document.querySelectorAll("input")].some((one) => one.value.includes(secret)), key);
    if (here) throw new Error("it is still in the page");
    if (JSON.stringify(await told("file")).includes(key)) throw new Error("the file has the key itself");
  });

  await walk.step("the last runs", async () => {
    await open("runs");
    await page.waitForSelector(`${part("runs")} tbody tr`);
    await walk.sees(part("runs"), "pirate");
    await walk.clean("the runs");
    await walk.shot("3-runs");
  });

  await walk.step("who has the link is no owner", async () => {
    await page.goto("about:blank");
    await page.goto(link);
    await walk.sees("dialog[open]", "“bob”"); // the owner's key is kept here
    await walk.press("Use the link’s key", "dialog[open] button");
    await page.waitForFunction(() => { try { return yaa.use("ui/commands").context().app.server.info()?.owner === false } catch { return false } });
  });
});
