/** The saved session of the documentation, opened from disk: it reads, replays, and loads nothing. The job: {url}. */
import { main } from "./driver.mjs";

await main(async (walk, job) => {
  const { page } = walk;
  const asked = [];
  page.on("request", (request) => asked.push(request.url()));

  await walk.step("it opens", async () => {
    await page.goto(job.url);
    await page.waitForSelector(".standalone");
    // What is far up in the thread is there, but not drawn.
    for (const words of ["Book a table for two", "restaurant_book_table", "Cut off here.", "midnight"]) {
      await page.waitForFunction((wanted) => document.querySelector(".feed").textContent.includes(wanted), {}, words);
    }
    await walk.clean("the saved session");
    await walk.shot("1-open");
  });

  await walk.step("it replays", async () => {
    await page.waitForFunction(() => yaa.use("ui/commands").table().some((one) => one.id === "inspect.time"));
    await walk.singleKeys();
    await page.keyboard.press("g");
    await page.keyboard.press("t");
    await page.waitForSelector("input[type=range]");
    await walk.shot("2-replay");
  });

  await walk.step("nothing is asked of anybody", async () => {
    const others = asked.filter((url) => url !== job.url && !/^(blob|data):/.test(url));
    if (others.length) throw new Error(others.join(" "));
  });
});
