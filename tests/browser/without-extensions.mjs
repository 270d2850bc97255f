/** A page from which the folder of the extensions was deleted: what they draw stands there as text, and nothing fails. The job: {url}. */
import { main } from "./driver.mjs";

const COMPOSER = "form.composer textarea";
const ANSWER = "A formula $$x^2$$ then\n\n```mermaid\ngraph TD; a-->b\n```\n\n```html\n<h1>A page</h1>\n```\n";

await main(async (walk, job) => {
  const { page } = walk;
  const warnings = [];
  page.on("console", (message) => { if (message.type() === "warn" || message.type() === "warning") warnings.push(message.text()); });

  await walk.step("a message is answered", async () => {
    await page.goto(job.url);
    await page.waitForSelector(COMPOSER, { visible: true });
    await walk.send("calc 6*7");
    await walk.says("42");
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
    if (warnings.length) throw new Error(warnings.join("\n"));
    await walk.clean("the page");
  });
});
