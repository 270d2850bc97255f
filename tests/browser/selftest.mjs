/** The driver on a page that does nothing but what it is told, and complains when told to. */
import { main } from "./driver.mjs";

await main(async (walk, job) => {
  await walk.step("open", async (page) => {
    await page.goto(job.url);
    await page.waitForFunction(() => globalThis.typableMs > 0);
    return { typable_ms: await page.evaluate(() => globalThis.typableMs) };
  });
  await walk.step("type and press", async (page) => {
    await page.type("textarea", "hello 好");
    await walk.press("Say it");
    await walk.sees("#said", "hello 好");
  });
  await walk.step("ask the test", async () => {
    const answer = await walk.ask("echo");
    if (answer.ok !== true) throw new Error("no answer");
  });
  await walk.shot("selftest");
});
