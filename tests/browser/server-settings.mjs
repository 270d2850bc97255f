/**
 * A model is connected in the page, from an empty home: the key of a scripted provider is pasted, tried, kept and used. Then
 * each part of the server's settings. The job: {url, provider, key, site, second, closed, mcp, guest, plain}, of servers as in test_server_settings.py;
 * `guest` is the link of one who does not own the second; the third, `plain`, knows no vendors.
 */
import { main } from "./driver.mjs";
import { parts } from "./server-parts.mjs";

const COMPOSER = "form.composer textarea";
const DIALOG = "dialog[open]";
const CARD = ".empty .connect-card";

await main(async (walk, job) => {
  const { page } = walk;
  const { told, part, paste, openServer, open, field } = parts(walk);
  const secretsHere = () => page.evaluate((key) => {
    const texts = { page: document.documentElement.outerHTML, local: JSON.stringify({ ...localStorage }), session: JSON.stringify({ ...sessionStorage }) };
    const fields = [...document.querySelectorAll("input, textarea")].map((one) => one.value).join("\n");
    return Object.entries({ ...texts, fields, open: JSON.stringify(yaa.use("ui/commands").context().app.current.session) }).filter(([, text]) => text.includes(key)).map(([name]) => name);
  }, job.key);

  await walk.step("an empty home: an empty session offers to connect a model", async () => {
    await page.goto(job.url);
    await walk.sees(CARD, "Connect a model");
    await page.waitForSelector(`${CARD} input[type=password]`);
    await walk.clean("the card");
    await walk.shot("1-card");
  });

  await walk.step("a key that may be of several vendors is sent to none of them", async () => {
    await paste(`${CARD} input[type=password]`, "sk-0123456789abcdef0123456789abcdef");
    await walk.sees(CARD, "Whose key is it?");
    await page.waitForSelector(`${CARD} select`, { visible: true });
    await walk.clean("the choice");
    await walk.shot("2-several");
    await walk.write(`${CARD} input[type=password]`, "sk-ant-0123456789");
    await walk.sees(CARD, "Looks like a key of Anthropic.");
    await page.$eval(`${CARD} input[type=password]`, (el) => ((el.value = ""), el.dispatchEvent(new Event("input"))));
  });

  await walk.step("the badge opens the same; a wrong key is said to be one, and nothing is kept", async () => {
    await page.click(".composer-bar .badge");
    await page.waitForSelector(`${DIALOG} .connect-folds summary`);
    await walk.clean("the dialog");
    await walk.press("Another server", `${DIALOG} summary`);
    await walk.write(`${DIALOG} input[type=url]`, "ftp://somewhere");
    await walk.press("Try it", `${DIALOG} details[open] button`);
    await walk.sees(DIALOG, "begins with http://");
    await walk.write(`${DIALOG} input[type=url]`, `${new URL(job.provider).host}/v1`);
    await paste(`${DIALOG} details[open] input[type=password]`, "sk-wrong-0123456789abcdef");
    await walk.press("Try it", `${DIALOG} details[open] button`);
    await walk.sees(`${DIALOG} details[open] .host-problem:not([hidden])`, `${new URL(job.provider).hostname} answered 401`);
    await walk.shot("3-wrong-key");
    if ((await told("file")) !== null) throw new Error("something was written");
  });

  await walk.step("the right one shows its models, and is used without a restart", async () => {
    await paste(`${DIALOG} details[open] input[type=password]`, job.key);
    await walk.press("Try it", `${DIALOG} details[open] button`);
    await walk.sees(DIALOG, "2 models");
    const said = await page.$eval(DIALOG, (el) => el.innerText);
    if (!/after (\d+ ms|[1-9][\d.]* s)\./.test(said)) throw new Error(said);
    const models = await page.$$eval(`${DIALOG} details[open] select option`, (all) => all.map((one) => one.value));
    if (models.join() !== "scripted-large,scripted-small") throw new Error(models.join());
    await page.select(`${DIALOG} details[open] select`, "scripted-small");
    await walk.shot("4-models");
    await walk.press("Use this model", `${DIALOG} details[open] button`);
    await page.waitForFunction(() => !document.querySelector("dialog[open]") && document.querySelector(".composer-bar .badge").hidden && !document.querySelector(".connect-card"));
    const { server, mode } = await told("file");
    const [[name, entry]] = Object.entries(server.providers);
    if (mode !== "0o600" || server.default_provider !== name || entry.api_key !== job.key || entry.model_name !== "scripted-small") throw new Error(`${mode} ${name}`);
    const found = await secretsHere();
    if (found.length) throw new Error(`the key is in: ${found}`);
  });

  await walk.step("beside the field: a folder of the machine is looked for, kept, and worked in", async () => {
    const chip = ".composer-bar .folder";
    await walk.sees(chip, "Own files");
    await page.click(chip);
    await walk.press("Another folder of this machine", "[role^=menuitem]");
    const form = `${DIALOG} .host-form`;
    await page.waitForSelector(form);
    await walk.clean("the form of a folder");
    const path = await page.$eval(`${form} label`, (one) => one.htmlFor);
    await walk.write(`#${path}`, job.closed);
    await walk.press("Save", `${form} button`);
    await walk.sees(".toast", "changes to its copy could not be applied");
    await walk.sees(chip, "Own files");
    await page.click(chip);
    await walk.press("Another folder of this machine", "[role^=menuitem]");
    await page.waitForSelector(form);
    await walk.write(`#${await page.$eval(`${form} label`, (one) => one.htmlFor)}`, job.second);
    await walk.press("Save", `${form} button`);
    await walk.sees(chip, "second");
    const { folder } = await page.evaluate(() => yaa.use("ui/commands").context().app.current.session.workspace);
    const { folders } = (await told("file")).server;
    if (folder !== "second" || folders.second.path !== job.second || folders.second.mode !== "overlay") throw new Error(JSON.stringify([folder, folders]));
    await page.waitForFunction((css) => document.activeElement === document.querySelector(css), {}, chip);
    await walk.clean("the chip");
    await walk.shot("4-folder");
    await page.click(chip);
    await walk.press("Own files", "[role^=menuitem]");
    await walk.sees(chip, "Own files");
  });

  await walk.step("ask, approve, and get an answer", async () => {
    await told("order", "shell", { command: "echo hello" });
    await walk.send("Say hello.");
    await page.waitForSelector(".ask:not([hidden])");
    await walk.press("Allow once", ".ask button");
    await walk.says("It is done.");
    const found = await secretsHere();
    if (found.length) throw new Error(`the key is in: ${found}`);
  });

  await walk.step("by keys: five tabs, and each part of the server's beside what it is for", async () => {
    await page.evaluate(() => yaa.use("ui/commands").context().actions.openSettings("model"));
    await page.waitForSelector(`${DIALOG} [data-tab=model][aria-selected=true]`);
    const found = [];
    for (let n = 0; n < 5; n += 1) {
      const shown = await page.$$eval(`${DIALOG} :is([role=tab][aria-selected=true], [data-part]:not([hidden]))`, (all) => all.map((one) => one.dataset.tab ?? one.dataset.part));
      found.push(shown.join(" "));
      await page.keyboard.press("ArrowDown");
    }
    const wanted = ["model model providers agents limits config", "folders folders keys runs", "tools mcp skills sandbox tools", "look look", "storage server storage"];
    if (found.join() !== wanted.join()) throw new Error(found.join());
    await page.waitForSelector(`${DIALOG} [data-tab=model][aria-selected=true]`);
    await walk.clean("the tab");
    await page.evaluate(() => document.querySelector("dialog[open] [data-part=providers] summary").focus());
    await page.keyboard.press("Enter");
    await page.waitForSelector(`${part("providers")} .host-rows`, { visible: true });
  });

  await walk.step("a provider is tested, and gets a window and a price", async () => {
    await walk.press("Test", `${part("providers")} button`);
    await walk.sees(part("providers"), "2 models");
    await walk.clean("the providers");
    await walk.shot("5-providers");
    await walk.press("Edit", `${part("providers")} button`);
    const key = await field("providers", "Key");
    if (await page.$eval(key, (el) => el.value)) throw new Error("the key came back");
    await walk.press("More", `${part("providers")} details summary`);
    await walk.write(await field("providers", "Context window"), "many");
    await walk.write(await field("providers", "Price of a million tokens in"), "1,5");
    await walk.press("Save", `${part("providers")} button`);
    await walk.sees(part("providers"), "Please enter a number.");
    await walk.write(await field("providers", "Context window"), "32768");
    await walk.clean("the form");
    await walk.shot("6-provider");
    await walk.press("Save", `${part("providers")} button`);
    await page.waitForFunction((at) => !document.querySelector(`${at} .host-form`), {}, part("providers"));
    const [entry] = Object.values((await told("file")).server.providers);
    if (entry.max_context !== 32768 || entry.costs.input !== 0.0015 || entry.api_key !== job.key) throw new Error(JSON.stringify({ ...entry, api_key: entry.api_key === job.key }));
  });

  await walk.step("the server dies while it tries: what was typed stays", async () => {
    await told("silence");
    await walk.press("Edit", `${part("providers")} button`);
    await walk.write(await field("providers", "Model"), "scripted-large");
    await walk.press("Test", `${part("providers")} .host-form button`);
    await told("kill");
    await walk.sees(`${part("providers")} .host-form`, "The server does not answer.");
    if ((await page.$eval(await field("providers", "Model"), (el) => el.value)) !== "scripted-large") throw new Error("it is gone");
    await told("start");
    await walk.press("Test", `${part("providers")} .host-form button`);
    await walk.sees(`${part("providers")} .host-form`, "2 models");
    await walk.press("Cancel", `${part("providers")} .host-form button`);
  });

  await walk.step("two tabs at once: nothing is lost, and what was typed stays", async () => {
    await open("folders");
    await walk.press("Add a folder", `${part("folders")} button`);
    await walk.press("Look for it", `${part("folders")} .host-form button`);
    await walk.sees(`${part("folders")} .folder-names`, "names no folder to look in");
    await walk.write(await field("folders", "Path"), "/no/such/place");
    await walk.press("Save", `${part("folders")} .host-form button`);
    await walk.sees(`${part("folders")} .field .problem:not([hidden])`, "no such folder");
    await walk.write(await field("folders", "Path"), "no/such/place");
    await walk.press("Save", `${part("folders")} .host-form button`);
    await page.waitForSelector(`${part("folders")} .field .problem:not([hidden])`);
    await walk.shot("7-folder-wrong");
    await told("change", "others");
    await walk.write(await field("folders", "Path"), job.site);
    await walk.write(await field("folders", "For whom"), "ann, bob");
    if (await page.$(`${part("folders")} .field .problem:not([hidden])`)) throw new Error("what was corrected is still called wrong");
    await walk.press("Save", `${part("folders")} .host-form button`);
    await walk.sees(`${part("folders")} .host-form`, "changed elsewhere");
    if ((await page.$eval(await field("folders", "Path"), (el) => el.value)) !== job.site) throw new Error("it is gone");
    await walk.clean("the conflict");
    await walk.press("Save", `${part("folders")} .host-form button`);
    await page.waitForFunction((at) => !document.querySelector(`${at} .host-form`), {}, part("folders"));
    const { folders } = (await told("file")).server;
    if (Object.keys(folders).sort().join() !== "closed,others,second,site") throw new Error(Object.keys(folders).join());
    if (JSON.stringify(folders.site.people) !== '["ann","bob"]') throw new Error(JSON.stringify(folders.site));
    await walk.sees(part("folders"), "for ann, bob");
    // what is wrong with a folder stands in its row, and nowhere else
    const rows = await page.$$eval(`${part("folders")} .host-rows li`, (all) => all.map((one) => one.innerText));
    const problems = ["closed", "site"].map((name) => rows.find((one) => one.startsWith(name)).split("\n").at(-1));
    if (problems.some((words, n) => !words.includes(["could not be applied", "no key is ann, bob's"][n]))) throw new Error(JSON.stringify(rows));
    const whole = await page.$eval(DIALOG, (el) => el.textContent);
    if (problems.some((words) => whole.split(words).length !== 2)) throw new Error(`said twice: ${problems}`);
    await walk.sees(part("folders"), "others");
    await walk.clean("the folders");
    await walk.shot("8-folders");
    await walk.press("Remove: others", `${part("folders")} button`);
    await walk.press("Remove", "dialog.small-dialog[open] footer button");
    await page.waitForFunction((at) => document.querySelectorAll(`${at} .host-rows li`).length === 3, {}, part("folders"));
  });

  await walk.step("an MCP server is pasted, tried and kept", async () => {
    await open("mcp");
    await walk.press("Add an MCP server", `${part("mcp")} button`);
    await paste(`${part("mcp")} textarea`, '{"mcpServers": ');
    await walk.sees(`${part("mcp")} .host-form`, "This is not valid JSON.");
    await paste(`${part("mcp")} textarea`, job.mcp);
    await walk.press("See its tools", `${part("mcp")} .host-form button`);
    await walk.sees(`${part("mcp")} .host-form`, "count_words");
    await walk.clean("the tools");
    await walk.shot("9-mcp");
    await walk.press("Save", `${part("mcp")} .host-form button`);
    await page.waitForFunction((at) => !document.querySelector(`${at} .host-form`), {}, part("mcp"));
    const names = Object.keys((await told("file")).server.mcpServers);
    if (names.length !== 1) throw new Error(names.join());
    await page.waitForFunction(() => yaa.use("ui/commands").context().app.server.info()?.tools.some((one) => one.name.includes("count_words")));
  });

  await walk.step("a part of the settings is found by its name", async () => {
    await page.keyboard.press("Escape");
    await page.evaluate(() => { yaa.use("ui/commands").run("palette"); });
    await page.waitForSelector(".palette[open] input");
    await page.keyboard.type("settings sandbox");
    await page.keyboard.press("Enter");
    await page.waitForSelector(`${part("sandbox")}[open] .host-part`, { visible: true });
  });

  await walk.step("skills, and the sandbox", async () => {
    for (const name of ["skills", "sandbox"]) await open(name);
    await walk.sees(part("skills"), "Read them");
    await walk.sees(part("sandbox"), "Tier");
    const tint = await page.$eval(part("tools"), (el) => getComputedStyle(el).backgroundColor);
    if (tint !== "rgba(0, 0, 0, 0)") throw new Error(`a colour that is the gauge's: ${tint}`);
    await walk.clean("the rest");
  });

  await walk.step("on a phone, in the dark, in Chinese", async () => {
    await page.evaluate(() => yaa.use("ui/commands").context().actions.set({ theme: "dark", language: "zh" }));
    await page.setViewport({ width: 390, height: 844 });
    await page.reload();
    await openServer();
    for (const name of ["providers", "folders", "mcp", "keys", "sandbox"]) {
      await open(name);
      const wide = await page.$eval(`${DIALOG} .panel`, (el) => el.scrollWidth - el.clientWidth);
      if (wide > 0) throw new Error(`${name}: ${wide} px too wide`);
    }
    await walk.clean("the phone");
    await walk.shot("13-phone");
  });

  await walk.step("who is no owner sees none of it", async () => {
    await page.goto(job.guest);
    await page.waitForFunction(() => { try { return yaa.use("ui/commands").context().app.server.info()?.owner === false } catch { return false } });
    await walk.sees(".empty", "Ask its owner to connect a model.");
    if (await page.$(CARD)) throw new Error("the card is there");
    await page.click(".composer-bar .badge");
    await walk.sees("[popover], .toast", "Ask its owner");
    await walk.shot("14-guest");
    await page.evaluate(() => yaa.use("ui/commands").context().actions.openSettings("folders"));
    await page.waitForSelector(`${DIALOG} [data-tab=model][aria-selected=true]`);
    const shown = await page.$$eval(`${DIALOG} :is([role=tab], [data-part])`, (all) => all.filter((el) => el.checkVisibility()).map((el) => el.dataset.tab ?? el.dataset.part));
    if (shown.join() !== "model,tools,look,storage,model,limits,config") throw new Error(shown.join());
    if (await page.$(".host-part")) throw new Error("a part of the owner's is there");
    const status = await page.evaluate(async () => {
      try {
        await yaa.use("ui/commands").context().app.server.api().request("/settings", {});
        return 200;
      } catch (error) {
        return error.status;
      }
    });
    if (status !== 403) throw new Error(`${status}`);
  });

  await walk.step("a server that knows no vendors asks for an address alone", async () => {
    await page.goto(job.plain);
    await walk.sees(CARD, "Connect a model");
    await page.waitForSelector(`${CARD} details[open] input[type=url]`, { visible: true });
    if (/Paste a key|Keys are made/.test(await page.$eval(CARD, (el) => el.innerText))) throw new Error("it asks for a key");
    await walk.clean("the card without vendors");
    await walk.shot("15-no-vendors");
    await openServer();
    await walk.press("Add a provider", `${part("providers")} button`);
    await field("providers", "Address");
    const labels = await page.$$eval(`${part("providers")} .host-form label`, (all) => all.filter((el) => el.checkVisibility()).map((el) => el.innerText.trim()));
    if (labels.some((label) => label.startsWith("Vendor"))) throw new Error(labels.join());
    await walk.write(await field("providers", "Address"), `${job.provider}/v1`);
    await walk.write(await field("providers", "Key"), job.key);
    await walk.press("Test", `${part("providers")} .host-form button`);
    await walk.sees(part("providers"), "2 models");
    const first = await page.$eval(await field("providers", "Model"), (el) => el.value);
    if (first !== "scripted-large") throw new Error(`the first model is not taken: ${first}`);
  });
});
