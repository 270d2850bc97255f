/**
 * A server is killed in the middle of an answer, and another one goes on: the tool that ran does not run again. The job:
 * {url, words, theme?, frames?}; `frames` is a folder for the pictures of the film, and for the session saved as a page.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { main } from "./driver.mjs";
import { Film } from "./film.mjs";

const SIZE = { width: 960, height: 600 };
const LAST = () => [...document.querySelectorAll("article.message[data-role=assistant]")].at(-1)?.innerText ?? "";

await main(async (walk, job) => {
  const { page } = walk;
  const film = job.frames ? new Film(page, SIZE, job.theme) : null;
  if (job.theme) await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: job.theme }]);
  await page.setViewport(SIZE);
  await walk.keepSaved();

  await walk.step("a question", async () => {
    await page.goto(job.url);
    await page.waitForSelector("form.composer textarea", { visible: true });
    await page.waitForSelector(".side .dot.good");
    film?.start();
    film?.say("$ python3 -m server");
    await walk.send(job.words);
    await walk.sees(".ask", "restaurant_book_table");
    await film?.hold(900);
  });

  await walk.step("allowed, and done", async () => {
    await walk.press("Allow once", ".ask button");
    await page.waitForSelector(".card.tool[data-state=done]");
    await page.waitForFunction(`(${LAST})().includes("Booked")`);
  });

  let pid = 0;
  await walk.step("killed in the middle of the answer", async () => {
    await page.waitForFunction(`(${LAST})().includes("river")`);
    if ((await page.evaluate(LAST)).includes("midnight")) throw new Error("it was over already");
    pid = (await walk.ask("kill")).answer;
    film?.say(`$ kill -9 ${pid}`);
    await walk.sees("footer", "Connection lost");
    await page.waitForFunction(() => { const foot = document.querySelector("button:has(.server-line)"); return foot.querySelector(".dot").className !== "dot good" && !foot.innerText.includes("Connected"); });
    await film?.hold(1500);
  });

  await walk.step("another server goes on", async () => {
    film?.say("$ python3 -m server --home /another/folder");
    const other = (await walk.ask("start")).answer;
    if (other === pid) throw new Error("the same process");
    await walk.says("midnight");
    const cards = await page.$$eval(".card.tool", (all) => all.map((one) => one.dataset.state));
    if (cards.join() !== "done") throw new Error(`cards: ${cards}`);
    const { answer: bookings } = await walk.ask("bookings");
    if (bookings.length !== 1) throw new Error(`${bookings.length} bookings`);
    film?.say(`# bookings that the restaurant got: ${bookings.length}`);
    await film?.hold(2500);
    return { bookings: bookings.length };
  });

  if (!film) return;
  writeFileSync(join(job.frames, "film.json"), JSON.stringify(await film.develop(walk.browser)));
  await walk.step("saved as a page", async () => {
    await walk.press("More about this session");
    await walk.press("Export this session", "[role=menuitem]");
    await walk.sees("dialog[open]", "Nothing here looks like a key");
    await walk.press("Save", "dialog[open] .dialog-foot button");
    await page.waitForFunction(() => globalThis.savedFiles.length === 1);
    writeFileSync(join(job.frames, "session.html"), await page.evaluate(() => globalThis.savedFiles[0]));
  });
});
