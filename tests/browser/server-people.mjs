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
    const kept = () => page.evaluate(async () => [await yaa.use("ext/server/routes").open(() => yaa.use("ui/commands").context().app.server.api()).agents()].flatMap((found) => found.agents ?? found).find((one) => one.name === "pirate").agent);
    const agent = await kept();
    if ("tools" in agent || "provider" in agent) throw new Error(JSON.stringify(agent));
    await walk.press("Duplicate: pirate", `${part("agents")} button`);
    await walk.press("Save", `${part("agents")} .host-form button`);
    await walk.sees(`${part("agents")} .host-rows`, "pirate-2");
    await walk.clean("the agents");
    await walk.shot("1-agents");
    await walk.press("Remove: pirate-2", `${part("agents")} button`);
    await walk.press("Remove", "dialog.small-dialog[open] footer button");
    await page.waitForFunction((at) => !document.querySelector(at).innerText.includes("pirate-2"), {}, part("agents"));
    // which tools it has: by boxes, and what is not there now stays until it is unticked
    const tick = async (name) => page.$$eval(`${part("agents")} fieldset label`, (all, words) => all.find((one) => one.innerText.trim() === words).click(), name);
    const edit = async (...names) => {
      await walk.press("Edit: pirate", `${part("agents")} button`);
      await page.waitForSelector(`${part("agents")} fieldset`);
      for (const name of names) await tick(name);
      await walk.clean("the tools");
    };
    const save = async (tools, provider) => {
      await walk.press("Save", `${part("agents")} .host-form button`);
      await page.waitForFunction((at) => !document.querySelector(`${at} .host-form`), {}, part("agents"));
      const found = await kept();
      if (JSON.stringify(found.tools) !== JSON.stringify(tools) || found.provider !== provider) throw new Error(JSON.stringify(found));
    };
    await edit("All tools", "calculator", "read_file");
    await walk.sees(`${part("agents")} fieldset`, "Reads files of the folder");
    await walk.shot("2-tools");
    await page.select(await field("agents", "Provider"), "main");
    await save(["calculator", "read_file"], "main");
    await page.evaluate(async () => {
      const routes = yaa.use("ext/server/routes").open(() => yaa.use("ui/commands").context().app.server.api());
      const { agent, revision } = [await routes.agents()].flatMap((found) => found.agents ?? found).find((one) => one.name === "pirate");
      await routes.saveAgent("pirate", { ...agent, tools: ["Calculator", "mcp__gone__look", "mcp__notes__*"] }, revision);
    });
    await page.reload();
    await openServer();
    await open("agents");
    await edit("datetime");
    await walk.sees(`${part("agents")} fieldset`, "Not on this server now.");
    await walk.sees(`${part("agents")} fieldset`, "A pattern: all tools that it fits.");
    await save(["mcp__gone__look", "mcp__notes__*", "calculator", "datetime"], "main");
    await edit("mcp__gone__look", "mcp__notes__*", "calculator", "datetime");
    await save([], "main"); // none, which is not the same as all
    await edit("All tools");
    await page.select(await field("agents", "Provider"), "");
    await save(undefined, undefined);
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
    await walk.sees(`${part("keys")} .host-form`, "used at once, and written into the server’s config.json");
    await walk.write(await field("keys", "Steps in a run"), "7");
    await walk.write(await field("keys", "Money in a run"), "0.5");
    // a notice that comes now covers neither the field in use nor the form's buttons, wherever they stand
    for (const width of [1280, 390]) {
      await page.setViewport({ width, height: width === 390 ? 640 : 800 });
      const covered = await page.evaluate((form) => {
        const [panel, submit] = ["dialog[open] .panel", `${form} [type=submit]`].map((at) => document.querySelector(at));
        const fields = [...document.querySelectorAll(`${form} input`)];
        const found = [];
        for (const used of [fields.at(-2), fields.at(-1), submit]) {
          used.focus();
          for (let up = 0; up < 240; up += 20) {
            used.scrollIntoView({ block: "end" });
            panel.scrollTop += up;
            yaa.use("ui/popup").toast("Something happened in another session.", { label: "Undo" });
            const toast = document.querySelector(".toasts").getBoundingClientRect(); // which does not move as they rise into it
            for (const one of [used, submit]) {
              const { top, bottom } = one.getBoundingClientRect();
              if (top < Math.min(toast.bottom, panel.getBoundingClientRect().bottom) && bottom > toast.top) found.push(`${up}: ${one.outerHTML.slice(0, 50)}`);
            }
            document.querySelector(".toast .square").click();
          }
        }
        yaa.use("ui/popup").toast("Something happened in another session.", { label: "Undo" });
        return found;
      }, `${part("keys")} .host-form`);
      await walk.shot(`2-notice-${width}`);
      await walk.press("Close", ".toast button");
      if (covered.length) throw new Error(`${width}: ${covered.join(", ")}`);
    }
    await page.setViewport({ width: 1280, height: 800 });
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

  await walk.step("what the runs of each key have used stands beside it", async () => {
    const home = `${part("keys")} .host-rows li:last-child`;
    await walk.sees(home, "The key of the first start");
    await walk.sees(home, "1 run");
    const [{ person, runs, tokens }] = await page.evaluate(async () => (await yaa.use("ui/commands").context().app.server.api().ask("/usage")).months[0].people);
    if (person !== "" || runs !== 1 || !(tokens > 0)) throw new Error(JSON.stringify([person, runs, tokens]));
    await walk.sees(home, " tokens");
    await walk.clean("what was used");
    await walk.shot("2-used");
  });

  await walk.step("the last runs", async () => {
    await open("runs");
    await page.waitForSelector(`${part("runs")} tbody tr`);
    await walk.sees(part("runs"), "pirate");
    await walk.clean("the runs");
    await walk.shot("3-runs");
  });

  await walk.step("who has the link is no owner, and looks for no other folder", async () => {
    await told("change", "others");
    // the server looks at its file now and then
    await page.waitForFunction(async () => (await yaa.use("ui/commands").context().app.server.api().info()).folders?.some(({ name }) => name === "others"));
    await page.goto("about:blank");
    await page.goto(link);
    await walk.sees("dialog[open]", "“bob”"); // the owner's key is kept here
    await walk.press("Use the link’s key", "dialog[open] button");
    await page.waitForFunction(() => { try { return yaa.use("ui/commands").context().app.server.info()?.owner === false } catch { return false } });
    await page.waitForSelector(".select.folder", { visible: true });
    await page.click(".select.folder");
    const folders = await page.$eval(".menu", (el) => el.innerText);
    if (!folders.includes("others") || folders.includes("Another folder")) throw new Error(folders);
    await page.keyboard.press("Escape");
    await page.focus(COMPOSER);
    await walk.send("Ahoy.");
    await walk.says("Understood.");
    // what their own runs have used is shown to them, and nobody else's
    await page.evaluate(() => yaa.use("ui/commands").context().actions.openSettings("server"));
    await walk.sees(part("server"), "Used since");
    await walk.sees(part("server"), "1 run");
    await walk.clean("what one has used oneself");
    await walk.shot("4-own");
  });
});
