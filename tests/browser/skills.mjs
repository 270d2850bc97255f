/**
 * Skills as a person meets them: which are offered, one switched off, a text with hidden characters, one that is used, one
 * that has changed since, an approval that names it, and a session saved as a skill. The job: {url}, of a server as in
 * test_skills.py.
 */
import { main } from "./driver.mjs";

const COMPOSER = "form.composer textarea";
const DIALOG = "dialog[open]";
const CHANGED = "---\nname: pdf\ndescription: Reads PDF files\n---\nNever run scripts/count.sh.\n";

await main(async (walk, job) => {
  const { page } = walk;
  const told = async (...what) => (await walk.ask(...what)).answer;
  const open = async () => {
    await walk.singleKeys();
    await page.evaluate(() => document.activeElement?.blur());
    await page.keyboard.press("g");
    await page.keyboard.press("k");
    await page.waitForSelector(`${DIALOG} .skills`);
  };
  const close = async () => {
    await page.keyboard.press("Escape");
    await page.waitForFunction((one) => !document.querySelector(one), {}, DIALOG);
  };

  const offers = (words) => page.$$eval(".ask button", (all, said) => all.some((one) => one.innerText.trim().startsWith(said)), words);

  await walk.step("open, in a folder that is trusted", async () => {
    await page.goto(job.url);
    await page.waitForSelector(".composer-bar .folder:not([hidden])");
    await page.click(".composer-bar .folder");
    await walk.press("site", ".menu button");
    await walk.sees(".composer-bar .folder", "site");
  });

  await walk.step("by two keys: what is offered", async () => {
    await open();
    await walk.sees(DIALOG, "Reads PDF files");
    await walk.sees(DIALOG, "2 hidden characters");
    const names = await page.$$eval(`${DIALOG} .skill-list b`, (all) => all.map((one) => one.textContent));
    if (names.join() !== "odd,pdf,shop:refunds") throw new Error(names.join());
    await walk.clean("the dialog");
    await walk.shot("1-offered");
  });

  await walk.step("a text is read, and nothing in it is invisible", async () => {
    await walk.press("Read", `${DIALOG} [data-skill=odd]`);
    await walk.sees(`${DIALOG} .skill-text`, "Be\\u{202e} nice.\\u{200b}");
    const marks = await page.$$eval(`${DIALOG} mark`, (all) => all.length);
    if (marks !== 2) throw new Error(`${marks} marks`);
    await walk.clean("the text");
    await walk.shot("2-hidden");
    await walk.press("Back", `${DIALOG} button`);
    const focused = await page.evaluate(() => document.activeElement?.dataset.skill);
    if (focused !== "odd") throw new Error(`the focus is at ${focused}`);
  });

  await walk.step("that of an MCP server is fetched when it is read", async () => {
    await walk.sees(DIALOG, "of an MCP server");
    await walk.press("Read", `${DIALOG} [data-skill="shop:refunds"]`);
    await walk.sees(`${DIALOG} .skill-text`, "Pay it back.");
    await walk.sees(DIALOG, "allowed-tools: shell. It permits nothing here.");
    await walk.clean("the text of an MCP server");
    await walk.shot("2-mcp");
    await walk.press("Back", `${DIALOG} button`);
  });

  await walk.step("one is switched off, by its key", async () => {
    await page.focus(`${DIALOG} input[aria-label="Offer odd"]`);
    await page.keyboard.press(" ");
    await close();
  });

  await walk.step("the model uses the other one", async () => {
    await told("order", "skill", { name: "pdf" });
    await page.focus(COMPOSER);
    await walk.send("Read the PDF.");
    await walk.says("It is done.");
    await open();
    await walk.sees(DIALOG, "Used in this session");
    await walk.sees(DIALOG, "as at this server");
    await walk.sees(DIALOG, "What the model is told of this folder");
    if (await page.$eval(`${DIALOG} input[aria-label="Offer odd"]`, (box) => box.checked)) throw new Error("odd is on");
    await page.click(`${DIALOG} summary`);
    await walk.sees(`${DIALOG} details`, "Use tabs.");
    await walk.clean("the skills that were used");
    await walk.shot("3-used");
    await close();
  });

  await walk.step("it changes at the server, and the page says so", async () => {
    await told("write", "pdf", CHANGED);
    await page.focus(COMPOSER);
    await walk.send("And another one.");
    await walk.says("Understood.");
    await page.waitForSelector(".note.warnings:not([hidden])");
    await walk.sees(".note.warnings", "The skill “pdf” has changed since this session loaded it.");
    await open();
    await walk.sees(DIALOG, "changed since");
    await walk.press("Load the new version", `${DIALOG} button`);
    await walk.sees(DIALOG, "The model loads it anew in the next run.");
    await walk.shot("4-changed");
    await close();
  });

  await walk.step("it is loaded anew", async () => {
    await told("order", "skill", { name: "pdf" });
    await page.focus(COMPOSER);
    await walk.send("Now again.");
    await page.waitForFunction(() => document.body.textContent.match(/It is done\./g)?.length === 2);
    await open();
    await walk.sees(DIALOG, "as at this server");
    await walk.press("Read", `${DIALOG} section:not(:last-of-type) [data-skill=pdf]`);
    await walk.sees(`${DIALOG} .skill-text`, "Never run scripts/count.sh.");
    await close();
  });

  await walk.step("the session is saved as a skill, by an approval that shows all of it", async () => {
    await open();
    await walk.press("Save this session as a skill", `${DIALOG} button`);
    await page.waitForFunction((field) => document.querySelector(field).value.includes("skill_save"), {}, COMPOSER);
    const files = { "scripts/count.py": 'import sys\n\nprint("pages:", len(sys.argv))\n', "references/odd.md": "Odd pages <b>count</b>." };
    await told("order", "skill_save", { name: "count-pages", description: "Counts pages", instructions: "Count them, page by page.", files });
    await page.focus(COMPOSER);
    await page.keyboard.press("Enter");
    await page.waitForSelector(".ask:not([hidden])");
    await walk.sees(".ask", "Count them, page by page.");
    const shown = await page.$eval(".ask .args .args", (list) => [...list.children].map((one) => one.textContent));
    if (JSON.stringify(shown) !== JSON.stringify(Object.entries(files).flat())) throw new Error(JSON.stringify(shown));
    if (await offers("Allow all") || await page.$(".ask .by-rule:not([hidden])")) throw new Error("a grant is offered that would not help");
    await walk.clean("the approval");
    await walk.shot("5-save");
    await page.setViewport({ width: 390, height: 844 });
    await walk.shot("5-save-phone");
    await page.setViewport({ width: 1280, height: 800 });
    await walk.press("Allow once", ".ask button");
    await page.waitForFunction(() => document.body.textContent.match(/It is done\./g)?.length === 3);
    const text = await told("saved", "count-pages");
    if (!text.includes("name: count-pages") || !text.endsWith("Count them, page by page.\n")) throw new Error(text);
  });

  await walk.step("an approval names the skill that it comes from", async () => {
    await told("order", "shell", { command: "/skills/pdf/scripts/count.sh" });
    await page.focus(COMPOSER);
    await walk.send("Run its script.");
    await page.waitForSelector(".ask");
    await walk.sees(".ask", "Comes from the skill pdf");
    await page.waitForSelector(".ask .by-rule:not([hidden])");
    await walk.shot("6-origin");
    await walk.press("Deny", ".ask button");
    await walk.press("Deny", ".ask button");
  });

  await walk.step("on a phone, in the dark", async () => {
    await page.setViewport({ width: 390, height: 844 });
    await page.evaluate(() => yaa.use("ui/commands").context().actions.set({ theme: "dark" }));
    await open();
    const wide = await page.evaluate((one) => document.querySelector(one).scrollWidth - document.querySelector(one).clientWidth, DIALOG);
    if (wide > 0) throw new Error(`${wide} px too wide`);
    await walk.clean("the dialog on a phone");
    await walk.shot("7-phone");
    await close();
  });

  await walk.step("in Chinese, by the words of the composer", async () => {
    await page.setViewport({ width: 1280, height: 800 });
    await open();
    await page.evaluate(() => yaa.use("ui/commands").context().actions.set({ language: "zh" }));
    await walk.sees(DIALOG, "本会话用过的技能"); // it was open in English
    const left = await page.$eval(DIALOG, (one) => one.textContent.match(/[A-Z][a-z]+ this session/g));
    if (left || (await page.$$(DIALOG)).length !== 1) throw new Error(String(left));
    await close();
    await page.focus(COMPOSER);
    await page.type(COMPOSER, "/skills");
    await walk.sees("[role=listbox] [aria-selected=true]", "/skills");
    await page.keyboard.press("Enter");
    await walk.sees(DIALOG, "本会话用过的技能");
    await page.waitForSelector(`${DIALOG} [data-skill=count-pages]`); // saved since the page was opened
    await walk.shot("8-zh");
  });
});
