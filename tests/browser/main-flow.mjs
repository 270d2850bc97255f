/**
 * What a person does with the page, start to end, in one browser and one place (disk or server): signs in, chats,
 * approves, reloads, is cut off, changes what a tool said, forks, searches, exports, imports, opens the saved page and
 * goes on at another server.
 *
 * The model is the scripted one of the benchmark: what is typed tells it how many deltas to send,
 * how far apart, and which tool to call first. So the walk knows what has to appear, and has time
 * to cut the line in the middle. What the page saves is caught where it is made, and written where a browser would have
 * put it. The job: {url, server, key, place, tool, folder, second: {url, key}}.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { main } from "./driver.mjs";

const COMPOSER = "form.composer textarea";
const ANSWERS = "article.message[data-role=assistant]";
const STATUS = ".status-line";
const DIALOG = "dialog[open]";

await main(async (walk, job) => {
  const { page } = walk;
  await walk.keepSaved();

  await walk.step("open", async () => {
    await page.goto(job.url);
    await page.waitForSelector(COMPOSER, { visible: true });
    if (job.place === "file") await connect(walk, job);
    await page.waitForSelector(".side .dot.good");
    await walk.sees(".side-foot", new URL(job.server).host);
    const hash = await page.evaluate(() => location.hash);
    if (hash.includes("key")) throw new Error(`the key stays in the address: ${hash}`);
    await walk.shot("1-open");
  });

  await walk.step("chat", async () => {
    await walk.send("bench tokens=30 delay_us=10000");
    await answered(walk, 30);
    await walk.shot("2-answer");
  });

  await walk.step("approve", async () => {
    await walk.send(`bench tokens=5 delay_us=0 tool=${job.tool}`);
    await walk.sees(".ask", `Allow ${job.tool}?`);
    await walk.shot("3-approval");
    await walk.press("Allow once", ".ask button");
    await answered(walk, 5);
    await page.waitForSelector(".card.tool[data-state=done]");
    await walk.shot("4-approved");
  });

  await walk.step("reload while an approval is open", async () => {
    await walk.send(`bench tokens=6 delay_us=0 tool=${job.tool}`);
    await walk.sees(".ask", `Allow ${job.tool}?`);
    await page.reload();
    await walk.sees(".ask", `Allow ${job.tool}?`);
    const messages = await page.$$eval("article.message", (all) => all.length);
    await walk.press("Allow once", ".ask button");
    await answered(walk, 6);
    return { messages };
  });

  await walk.step("killed, and another server goes on", async () => {
    await walk.send(`bench tokens=7 delay_us=0 tool=${job.tool}`);
    await walk.sees(".ask", `Allow ${job.tool}?`);
    await walk.ask("another server");
    await walk.press("Allow once", ".ask button");
    await answered(walk, 7);
  });

  await walk.step("cut in the middle", async () => {
    await walk.send("bench tokens=150 delay_us=20000");
    await speaking(walk, 10);
    const { answer: cut } = await walk.ask("cut");
    if (!cut) throw new Error("there was no line to cut");
    await answered(walk, 150);
    await walk.shot("5-after-the-cut");
    return { cut };
  });

  await walk.step("stop", async () => {
    await walk.send("bench tokens=2000 delay_us=20000");
    await speaking(walk, 3);
    await walk.press("Stop", "form.composer button");
    await walk.sees(STATUS, "Stopped.");
    await walk.shot("6-stopped");
  });

  await walk.step("edit a tool result, and continue", async () => {
    await walk.press("New session");
    await allowAsDrawn(page);
    await walk.send(`bench tokens=4 delay_us=0 tool=${job.tool}`);
    await answered(walk, 4);
    await page.click(".card.tool summary");
    await walk.sees(".tool-body", "Result"); // what is in the card comes later, and moves the buttons under it
    await walk.press("More", ".call-edits button");
    await walk.press("Edit result", ".menu button");
    await page.waitForSelector(`${DIALOG} textarea`);
    await walk.fill(`${DIALOG} textarea`, '{"now": "the year 3000"}');
    await walk.press("Save", `${DIALOG} button`);
    await walk.press("Continue from here");
    await walk.sees(".switch", "2/2");
    await answered(walk, 4);
    await walk.shot("7-edited");
  });

  await walk.step("fork", async () => {
    await page.hover("article.message[data-role=user]");
    await page.click("article.message[data-role=user] .message-actions [aria-label=More]");
    await walk.press("New session from here", ".menu button");
    await walk.sees(".top-title", "(copy)");
    await page.waitForFunction(() => document.querySelectorAll("article.message").length === 1);
  });

  await walk.step("search", async () => {
    await page.type(".side-search", "tokens=150");
    await walk.sees(".hit mark", "tokens=150");
    await walk.shot("8-search");
    await walk.press("tokens=150", ".hit");
    await page.waitForFunction(() => document.activeElement.textContent.includes("tokens=150"));
    await page.click(".side-search", { count: 3 });
    await page.keyboard.press("Backspace");
    await page.waitForFunction(() => !document.querySelector(".side")?.innerText.includes("tokens=150"));
  });

  let saved = "";
  await walk.step("export", async () => {
    await walk.press("More about this session");
    await walk.press("Export this session", "[role=menuitem]");
    await walk.press("Save", `${DIALOG} .dialog-foot button`);
    await page.waitForFunction(() => globalThis.savedFiles.length === 1);
    saved = await page.evaluate(() => globalThis.savedFiles[0]);
    writeFileSync(join(job.folder, "saved.html"), saved);
    return { kilobytes: Math.round(saved.length / 1024) };
  });

  await walk.step("import again", async () => {
    const count = () => page.$$eval(".row-open", (all) => all.length);
    const before = await count();
    await page.click(".row[data-current=true] .row-more");
    await walk.press("Delete", "[role=menuitem]");
    await page.waitForFunction((wanted) => document.querySelectorAll(".row-open").length === wanted, {}, before - 1);
    await walk.drop("#side", ["saved.html", saved]);
    await walk.sees(".toast", "Imported 1 session.");
    await page.waitForFunction((wanted) => document.querySelectorAll(".row-open").length === wanted, {}, before);
  });

  await walk.step("open the saved page", async () => {
    await page.goto(pathToFileURL(join(job.folder, "saved.html")).href);
    await page.waitForSelector(".standalone");
    const said = await page.$$eval(".bubble", (all) => all.map((one) => one.textContent).join());
    if (!said.includes("tokens=150")) throw new Error(said);
    await walk.shot("9-saved");
  });

  await walk.step("continue there, on a second server", async () => {
    await walk.press("Continue …", ".standalone button");
    await page.waitForSelector(`${DIALOG} input[type=url]`);
    await walk.fill(`${DIALOG} input[type=url]`, job.second.url);
    await walk.fill(`${DIALOG} input[type=password]`, job.second.key);
    await walk.press("Connect", `${DIALOG} button`);
    await page.waitForSelector(COMPOSER, { visible: true });
    await walk.send("bench tokens=8 delay_us=0");
    await answered(walk, 8);
    await walk.shot("10-continued");
  });

  await walk.step("what was said there is not closed without a question", async () => {
    walk.stays = true;
    const asked = new Promise((resolve) => page.once("dialog", async (dialog) => (await dialog.dismiss(), resolve(dialog.type()))));
    page.evaluate(() => { location.href = "about:blank#left" }).catch(() => {});
    if (await asked !== "beforeunload") throw new Error("it was not asked");
    walk.stays = false;
  });
});

/** From disk the page knows no server: it is told in the settings, and told to keep the key. */
async function connect(walk, job) {
  const { page } = walk;
  await walk.press("Settings");
  await page.waitForSelector("dialog[open]");
  // what is at hand is the link that the server printed: its key goes where keys go
  await walk.fill("dialog input[type=url]", `${job.server}/#key=${job.key}`);
  await page.click("dialog input[type=checkbox]");
  await page.waitForFunction((key) => document.querySelector("dialog input[type=password]").value === key, {}, job.key);
  const address = await page.$eval("dialog input[type=url]", (field) => field.value);
  if (address !== job.server) throw new Error(address);
  await walk.shot("0-settings");
  await walk.press("Close", "dialog button");
}

/** In the moment in which it is asked: most often, the run that asks has not come to rest. */
async function allowAsDrawn(page) {
  await page.evaluate(() => {
    const look = new MutationObserver(() => {
      const allow = document.querySelector(".ask .ask-actions:not([hidden]) .primary");
      if (allow) look.disconnect();
      allow?.click();
    });
    look.observe(document.body, { childList: true, subtree: true });
  });
}

/** Waits until the last answer has so many deltas, is finished, and nothing is running. */
async function answered(walk, tokens) {
  await walk.page.waitForFunction(
    (css, wanted) => {
      const last = [...document.querySelectorAll(css)].at(-1);
      const found = last?.innerText.match(/@\d+@/g) ?? [];
      const idle = !document.querySelector(".feed[aria-busy=true], article[aria-busy=true]");
      return idle && found.length === wanted;
    },
    {},
    ANSWERS,
    tokens,
  );
}

/** Waits until the last message has at least so many deltas and is still being written. */
async function speaking(walk, tokens) {
  await walk.page.waitForFunction(
    (wanted) => {
      const last = [...document.querySelectorAll("article.message")].at(-1);
      const found = last?.innerText.match(/@\d+@/g) ?? [];
      return last?.getAttribute("aria-busy") === "true" && found.length >= wanted;
    },
    {},
    tokens,
  );
}
