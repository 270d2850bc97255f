/** A browser in which no page may store anything, nor look whether it could: it says so, and works. The job: {url, forbidden}. */
import { main } from "./driver.mjs";

const AREA = "form.composer textarea";

await main(async (walk, job) => {
  const { page } = walk;

  await walk.step("open", async () => {
    await page.goto(job.url);
    await page.waitForSelector(".side .dot.good");
    await walk.sees(".keep-note", "does not let the page store anything");
    const denied = await page.evaluate(() => ["localStorage", "sessionStorage"].every((name) => { try { return !globalThis[name] } catch { return true } }));
    if (!denied) throw new Error("it may store something");
  });

  await walk.step("say something, and wait with the next until that is answered", async () => {
    await page.type(AREA, "bench tokens=40 delay_us=50000");
    await page.keyboard.press("Enter");
    await page.waitForSelector("article[data-role=assistant]");
    await page.type(AREA, "bench tokens=3 delay_us=0");
    await page.keyboard.press("Enter");
    await walk.sees(".queue", "tokens=3");
    await page.waitForFunction(() => document.querySelectorAll("article[data-role=assistant]").length === 2 && !document.querySelector("[aria-busy=true]"));
  });
});
