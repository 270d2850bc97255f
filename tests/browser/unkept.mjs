/**
 * Who lets pages store nothing has a page that works until it is closed, and is told so. The job: {url, browser, prefs}.
 */
import { main } from "./driver.mjs";

const COMPOSER = "form.composer textarea";
/** Pieces of the last answer. */
const HEARD = (wanted) => [...document.querySelectorAll("article.message[data-role=assistant]")].at(-1)?.innerText.match(/@\d+@/g)?.length === wanted;

await main(async (walk, job) => {
  await walk.step("open", async (page) => {
    await page.goto(job.url);
    await page.waitForSelector(COMPOSER, { visible: true });
    const open = await page.evaluate(() => {
      try {
        return String(localStorage);
      } catch (error) {
        return error.name;
      }
    });
    if (open !== "SecurityError") throw new Error(`this browser lets the page store something: ${open}`);
  });

  await walk.step("an answer", async (page) => {
    await page.type(COMPOSER, "bench tokens=8 delay_us=1000");
    await page.keyboard.press("Enter");
    await page.waitForFunction(HEARD, {}, 8);
  });

  await walk.step("what that means is said", async () => walk.sees(".notice", "gone when the page is closed"));

  await walk.step("what is said during a run waits its turn", async (page) => {
    await page.type(COMPOSER, "bench tokens=100 delay_us=20000");
    await page.keyboard.press("Enter");
    await page.waitForSelector("button.send.stop");
    await page.type(COMPOSER, "bench tokens=3 delay_us=1000");
    await page.keyboard.press("Enter");
    await walk.sees(".queue-words", "tokens=3");
    await page.waitForFunction(HEARD, {}, 3);
  });
});
