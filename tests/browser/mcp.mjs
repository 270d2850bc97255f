/**
 * Resources, prompts and questions of MCP servers: a resource is named with @ and goes along, one of a template too, a prompt
 * is chosen after / and stands in the field, and a tool asks in the middle of its call. The job: {url}.
 */
import { main } from "./driver.mjs";

const COMPOSER = "form.composer textarea";
const PHONE = { width: 390, height: 844, deviceScaleFactor: 2, hasTouch: true, isMobile: true };

await main(async (walk, job) => {
  const { page } = walk;
  const last = () => page.evaluate(() => yaa.use("ui/commands").context().app.current.session.messages.filter((one) => one.role === "user").at(-1).content);
  const field = () => page.$eval(COMPOSER, (one) => one.value);
  const chips = (count) => page.waitForFunction((count) => document.querySelectorAll(".tray .attached").length === count, {}, count);

  await walk.step("open", async () => {
    await page.goto(job.url);
    await page.waitForSelector(COMPOSER, { visible: true });
    await page.waitForSelector(".composer-bar .folder");
  });

  await walk.step("@ lists resources, and one goes along with the message", async () => {
    await page.click(COMPOSER);
    await page.keyboard.type("Look at @one");
    await walk.sees(".mention:not([data-late])", "note:///one");
    await walk.clean("the resources");
    await walk.shot("01-mention");
    await page.keyboard.press("Enter");
    await chips(1);
    if ((await field()) !== "Look at ") throw new Error(await field());
    await walk.sees(".tray", "one");
    await walk.clean("the tray");
    await page.keyboard.type("please");
    await page.keyboard.press("Enter");
    await walk.says("Understood.");
    const content = await last();
    if (content[0].text !== "Look at please") throw new Error(JSON.stringify(content));
    const wanted = /^<resource name="one" server="(old|new)" uri="note:\/\/\/one" type="text\/plain">\ncontent of note:\/\/\/one\n<\/resource>$/;
    if (!wanted.test(content[1].text)) throw new Error(JSON.stringify(content));
    await walk.sees(".sent-file summary", "one");
    await walk.shot("02-sent");
  });

  await walk.step("a picture goes along as one", async () => {
    await page.click(COMPOSER);
    await page.keyboard.type("@pixel");
    await walk.sees(".mention:not([data-late])", "A pixel");
    await page.keyboard.press("Enter");
    await chips(2);
    await page.keyboard.press("Enter");
    await walk.says("Understood.");
    const [about, picture] = await last();
    if (!about.text.includes('uri="note:///pixel" type="image/png"') || !picture.image_url.url.startsWith("data:image/png;base64,")) throw new Error(JSON.stringify([about, picture]));
  });

  await walk.step("of a template the rest of the address is asked for", async () => {
    // The list is asked for again, and its answer is late and longer: what was first stays so, and is taken.
    await page.evaluate(() => {
      const { fetch } = globalThis;
      const now = Date.now;
      Date.now = () => now() + 30_000;
      globalThis.fetch = (address, ...rest) => {
        if (!String(address).endsWith("/mcp/resources")) return fetch(address, ...rest);
        return new Promise((resolve) => {
          globalThis.answerLate = async () => {
            const body = await (await fetch(address, ...rest)).json();
            for (const { templates } of body.servers) templates?.push({ uriTemplate: "later:///{id}/added", name: "added later" });
            Date.now = () => now() + 40_000;
            resolve(Response.json(body));
            Object.assign(globalThis, { fetch });
          };
        });
      };
    });
    await page.click(COMPOSER);
    await page.keyboard.type("@{id}");
    await walk.sees(".mention:not([data-late])", "by id");
    await page.evaluate(() => globalThis.answerLate());
    await walk.sees(".mention", "added later");
    await page.keyboard.press("Enter");
    await walk.sees("dialog", "id (needed)");
    await walk.clean("the form of a template");
    await page.keyboard.type("a b");
    await page.waitForFunction(() => [...document.querySelectorAll("dialog datalist option")].some((one) => one.value === "a bly"));
    await page.keyboard.press("Enter");
    await chips(1);
    await page.waitForFunction((css) => document.activeElement === document.querySelector(css), {}, COMPOSER);
    await page.keyboard.press("Enter");
    await walk.says("Understood.");
    const [about] = await last();
    if (!about.text.includes("content of note:///a%20b")) throw new Error(about.text);
  });

  await walk.step("/ lists prompts, and one is written into the field", async () => {
    await page.click(COMPOSER);
    await page.keyboard.type("/old:rev");
    await walk.sees(".slash:not(.mention)", "Review it");
    await walk.clean("the prompts");
    await walk.shot("03-prompts");
    await page.keyboard.press("Enter");
    await walk.sees("dialog", "what (needed)");
    await walk.clean("the form of a prompt");
    await walk.shot("04-prompt");
    await page.keyboard.type("the tests");
    await page.keyboard.press("Enter");
    await page.waitForFunction((css) => document.querySelector(css).value.includes("Review the tests, kindly."), {}, COMPOSER);
    await page.$eval(COMPOSER, (one) => { one.value = ""; one.dispatchEvent(new Event("input", { bubbles: true })); });
    // typed in one go, with its argument behind it
    await page.click(COMPOSER);
    await page.keyboard.type("/new:review my code");
    await page.keyboard.press("Enter");
    await page.waitForFunction((css) => document.querySelector(css).value.includes("Review my code, kindly."), {}, COMPOSER);
    await page.$eval(COMPOSER, (one) => { one.value = ""; one.dispatchEvent(new Event("input", { bubbles: true })); });
  });

  await walk.step("what a server does not give is said, and nothing is sent", async () => {
    const before = await page.evaluate(() => yaa.use("ui/commands").context().app.current.session.messages.length);
    await page.evaluate(() => yaa.use("ext/mcp/composer").attach(yaa.use("ui/commands").context(), { server: "old", uri: "note:///empty", name: "the empty one" }));
    await walk.sees(".toast", "the empty one could not be used");
    const after = await page.evaluate(() => yaa.use("ui/commands").context().app.current.session.messages.length);
    if (before !== after) throw new Error("something was sent");
    await page.$$eval(".toast button[aria-label]", (all) => all.forEach((one) => one.click()));
  });

  await walk.step("a tool of a legacy server asks in the middle of its call", async () => {
    await walk.ask("order", "mcp__old__ask", {});
    await page.click(COMPOSER);
    await page.keyboard.type("Ask me.");
    await page.keyboard.press("Enter");
    await walk.press("Allow once", ".ask button");
    await walk.sees(".ask h3", "The server old asks (tool ask), and gets your answer:");
    await walk.sees(".ask blockquote", "Your name, please");
    // a key of this server is no answer
    await page.evaluate(() => { globalThis.ownKey = yaa.use("ui/commands").context().app.settings.key(); });
    await page.type(".ask input:not([type=checkbox])", await page.evaluate(() => globalThis.ownKey));
    await walk.press("Answer", ".ask button");
    await walk.sees(".ask .problem", "the key of your server");
    await page.$eval(".ask input:not([type=checkbox])", (field) => { field.value = ""; });
    await walk.clean("the question");
    await walk.shot("05-question");
    await page.type(".ask input:not([type=checkbox])", "Ann");
    await walk.press("Answer", ".ask button");
    await walk.says("It is done.");
    const result = await page.evaluate(() => yaa.use("ui/commands").context().app.current.session.messages.filter((one) => one.role === "tool").at(-1).content);
    if (result !== "hello Ann, accept") throw new Error(result);
  });

  await walk.step("a tool that changed since it was allowed asks again, and says what changed", async () => {
    const ask = async (args) => {
      await walk.ask("order", "mcp__old__grow", args);
      await page.click(COMPOSER);
      await page.keyboard.type("Let it grow.");
      await page.keyboard.press("Enter");
    };
    await page.evaluate(async () => {
      const { app } = yaa.use("ui/commands").context();
      await app.sessionStore.edit(app.current, (session) => { session.grants = [{ tool: "mcp__old__grow", decision: "allow" }]; });
    });
    await ask({});
    await walk.says("It is done.");
    // its list is read again with the next run
    await walk.send("Thanks.");
    await walk.says("Understood.");
    await page.waitForFunction(async () => {
      const answer = await fetch("/info", { headers: { "yaa-api-key": yaa.use("ui/commands").context().app.settings.key() } });
      return (await answer.json()).tools.some((one) => one.description === "Grow, and run a command.");
    }, { polling: 200 });
    await page.evaluate(() => yaa.use("ui/commands").context().app.server.connect());
    await ask({ command: "id" });
    await walk.sees(".ask", "mcp__old__grow changed since a rule allowed it, so it asks again");
    await walk.sees(".ask", "Another description: Grow, and run a command.");
    await walk.sees(".ask", "New arguments: command");
    await walk.clean("the card of a tool that changed");
    await walk.shot("06-changed");
    for (const [name, width, theme] of [["06-changed-phone-dark", 390, "dark"]]) {
      await page.setViewport({ width, height: 844 });
      await page.evaluate((value) => { document.documentElement.dataset.theme = value; }, theme);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      if (wide > width) throw new Error(`${wide} pixels wide`);
      await walk.clean(name);
      await walk.shot(name);
    }
    await page.setViewport({ width: 1280, height: 800 });
    await page.evaluate(() => { delete document.documentElement.dataset.theme; });
    await walk.press("Deny", ".ask button");
    await walk.press("Deny", ".ask button.danger");
    await walk.says("It is done.");
  });

  await walk.step("in Chinese, on a phone, in the dark", async () => {
    await page.setViewport(PHONE); // the page is loaded again
    await page.waitForSelector(".files-button:not([hidden])");
    await page.evaluate(() => yaa.use("ui/commands").context().actions.set({ language: "zh", theme: "dark" }));
    await page.waitForFunction(() => document.documentElement.lang === "zh-CN" && document.querySelector(".files-button:not([hidden])"));
    await page.focus(COMPOSER);
    await page.keyboard.type("@one");
    await walk.sees(".mention:not([data-late])", "note:///one");
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    if (wide > PHONE.width) throw new Error(`${wide} pixels wide`);
    await walk.shot("06-phone");
    await page.$eval(COMPOSER, (one) => { one.value = ""; one.dispatchEvent(new Event("input", { bubbles: true })); });
    await page.keyboard.type("/old:review");
    await walk.sees(".slash:not(.mention)", "Review it");
    await page.keyboard.press("Enter");
    await walk.sees("dialog", "what（必填）");
    await walk.clean("the form on a phone");
    await walk.shot("07-phone-form");
  });
});
