/** A page from which the folder of the extensions was deleted: what they draw stands there as text, and nothing fails. The job: {url}. */
import { main } from "./driver.mjs";
import { asking, put } from "./sample-session.mjs";

const COMPOSER = "form.composer textarea";
const ANSWER = "A formula $$x^2$$ then\n\n```mermaid\ngraph TD; a-->b\n```\n\n```html\n<h1>A page</h1>\n```\n";

await main(async (walk, job) => {
  const { page } = walk;
  const warnings = [];
  page.on("console", (message) => { if (message.type() === "warn" || message.type() === "warning") warnings.push(message.text()); });

  await walk.step("a message is answered", async () => {
    await page.goto(job.url);
    await page.waitForSelector(COMPOSER, { visible: true });
    await walk.send("What is 2+2?");
    await walk.says("It is");
  });

  await walk.step("what an extension would draw is text", async () => {
    await page.evaluate(async (content) => {
      const store = await yaa.use("io/store-idb").open();
      await store.put({ id: "marks", title: "Marks", messages: [{ id: "a", role: "user", content: "Show me." }, { id: "b", role: "assistant", content }] });
    }, ANSWER);
    await page.evaluate(() => yaa.use("ui/commands").context().actions.open("marks"));
    for (const text of ["x^2", "graph TD", "<h1>A page</h1>"]) await walk.sees(".prose", text);
    await page.waitForSelector(".code-bar button");
    const drawn = await page.evaluate(() => document.querySelectorAll("math, svg.diagram, .code-bar [aria-label='Show it']:not([hidden])").length);
    if (drawn) throw new Error(`${drawn} were drawn`);
  });

  await walk.step("what it offers is not offered, and the menus work", async () => {
    await page.click(COMPOSER);
    await page.keyboard.type("/");
    await walk.sees(".slash:not(.mention)", "/");
    const words = await page.$eval(".slash:not(.mention)", (list) => list.innerText);
    if (/skill/i.test(words)) throw new Error(words);
    await page.keyboard.type("he");
    await page.evaluate((selector) => { document.querySelector(selector).value = ""; }, COMPOSER);
    await page.keyboard.type("@abc");
    const offered = await page.evaluate(() => [...document.querySelectorAll(".mention, .files-button, .composer-bar .folder, .review")].map((one) => one.className));
    if (offered.length || await page.evaluate(() => yaa.use("ui/commands").list().some(({ id }) => /^(files|prompts|session.export)/.test(id)))) throw new Error(`files are offered: ${offered}`);
    if (warnings.length) throw new Error(warnings.join("\n"));
    await walk.clean("the page");
  });

  await walk.step("the settings of a session offer the choices that are there", async () => {
    const sections = await page.evaluate(() => yaa.use("ui/commands").context().app.server.info().config_schema.properties);
    const said = JSON.stringify([sections.yaa.properties.tool_mode.enum, sections.llm_api.properties.provider.properties.api.enum]);
    if (said !== '[["auto","native"],["","chat","",null]]') throw new Error(said);
  });

  await walk.step("a call that changes a file is shown as its arguments say it, and allowed", async () => {
    await put(page, asking("writes", "write_file", { path: "values.py", content: "value = 1\n" }));
    await walk.sees(".ask .diff", "value = 1");
    await walk.press("Deny", ".ask button");
    await walk.press("Deny", ".ask .ask-actions:has(input) button");
    await walk.sees(".tool", "denied");
  });

  await walk.step("a question about files is the server's own, with its choices", async () => {
    const one = asking("files", "x", {});
    const words = "This server lacks 2 parts of the session's files. Go on with the files that are there?";
    one.interrupts = [{ id: "int-workspace_missing", reason: "workspace_missing", message: words, response_schema: { type: "object", properties: { action: { enum: ["uploaded", "go_on"] } }, required: ["action"] } }];
    await put(page, one);
    await walk.sees(".ask", words);
    const shown = await walk.text(".ask");
    if (!shown.includes("A question for you") || /tool|wants something/.test(shown)) throw new Error(shown);
  });

  await walk.step("files go with the message where they are texts; others are refused", async () => {
    await page.evaluate(() => yaa.use("ui/commands").run("session.new"));
    await walk.drop(".main", ["notes.md", "# Zebra\n", false], ["x.bin", "AP8A", true]);
    await walk.sees(".toast", "x.bin");
    await walk.send("and 2+2?");
    await walk.says("It is");
    await walk.sees(".sent-file", "notes.md");
  });

  await walk.step("a session is saved in the one form that the page has itself", async () => {
    await walk.press("More about “and 2+2?”");
    await walk.press("Export …", "[role=menuitem]");
    await walk.sees(".toast", "Saved 1 session.");
    if (warnings.length) throw new Error(warnings.join("\n"));
  });
});
