/** The driver on a page that does nothing but what it is told, and complains when told to: by the end of its address. */
import { main } from "./driver.mjs";

await main(async (walk, job) => {
  for (const told of ["", "#broken", "#loud"]) {
    await walk.step(`open ${told}`, async (page) => {
      await page.goto("about:blank");
      await page.goto(job.url + told);
      await page.waitForFunction(() => globalThis.typableMs > 0);
      return { typable_ms: await page.evaluate(() => globalThis.typableMs) };
    });
    await walk.step(`type and press ${told}`, async () => {
      await walk.fill("textarea", "hello 好");
      await walk.fill("textarea", "hello 世界");
      await walk.press("Say it");
      await walk.sees("#said", "hello 世界");
      const said = await walk.text("#said");
      if (said !== "hello 世界") throw new Error(said);
    });
    await walk.step(`ask the test ${told}`, async () => {
      const answer = await walk.ask("echo");
      if (answer.ok !== true) throw new Error("no answer");
    });
  }
  await walk.step("what is wrong for some is found, in parts that were clean before too", async (page) => {
    if (job.browser !== "chromium") return;
    const found = async (breaks) => {
      await page.evaluate(breaks);
      return walk.clean().then(() => "", ({ message }) => message);
    };
    const told = [
      await found("undefined"),
      await found("document.querySelector('#said').innerHTML = '<b>Words</b> <img src=data:image/gif;base64,R0lGODlhAQABAAAAACw=>'"),
      await found("document.querySelector('#said img').remove()"),
      await found("document.querySelector('main').style.color = '#eee'"),
      await found("document.querySelector('main').style.color = ''"),
    ].map((text) => /image-alt|color-contrast/.exec(text)?.[0] ?? text);
    if (told.join() !== ",image-alt,,color-contrast,") throw new Error(told.join("\n"));
  });
  await walk.step("what others left", async (page) => {
    const others = await page.evaluate(() => Object.values(localStorage));
    await page.evaluate((label) => localStorage.setItem("walk", label), job.label);
    return { others, browser: walk.browser.process().pid };
  });
  await walk.shot("selftest");
});
