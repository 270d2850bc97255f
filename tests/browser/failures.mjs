/**
 * What is wrong is named, with what to do next: a server that is not there, a key that is missing or wrong, a page the
 * server does not allow. The page is opened from disk. The job: {url, server, key, strict, down}.
 */
import { main } from "./driver.mjs";
import { FAILURE, address, checks, clean, says } from "./failure-page.mjs";

await main(async (walk, job) => {
  const { page } = walk;
  await page.goto(job.url);
  await page.waitForSelector("form.composer textarea", { visible: true });

  await walk.step("sign in, at the server's own page", async () => {
    await page.goto(job.server);
    await says(walk, "The server needs a key", "“python3 -m server link” prints one");
    await clean(walk);
    await page.setViewport({ width: 390, height: 844 });
    await clean(walk);
    await walk.shot("0-sign-in");
    await page.setViewport({ width: 1280, height: 800 });
    // the link is opened in this very tab: only what is behind the # is new, and nothing is loaded again
    await page.evaluate((link) => { location.href = link; }, `${job.server}/#key=${job.key}`);
    await walk.press("Use the link’s key", "dialog[open] button"); // nobody can say who brought the open page here
    await page.waitForSelector(".side .dot.good");
    const left = await page.evaluate(() => location.hash);
    if (left) throw new Error(`the key stays in the address: ${left}`);
    await page.goto(job.url);
    await page.waitForSelector("form.composer textarea", { visible: true });
  });

  await walk.step("nobody is there", async () => {
    await address(walk, job.down);
    await says(walk, "The server does not answer", new URL(job.down).host, "python3 -m server");
    await checks(page, { Server: "here is the problem", Key: "not known yet" });
    await clean(walk);
    await walk.shot("1-server");
  });

  await walk.step("not for this page", async () => {
    await address(walk, job.strict);
    await says(walk, "The server does not allow this page", "server.cors_origins");
    await checks(page, { Server: "works", "Cross-origin access": "here is the problem" });
    if (/does not answer|cannot be reached/.test(await walk.text(FAILURE))) throw new Error("two causes are named");
    await clean(walk);
    await walk.shot("2-cors");
  });

  await walk.step("no key, a wrong key, the right one", async () => {
    await address(walk, job.server);
    await says(walk, "The server needs a key", "“python3 -m server link” prints one");
    await page.type(`${FAILURE} input[type=password]`, "wrong");
    await page.keyboard.press("Enter");
    await says(walk, "The server needs a key", "does not know this key");
    await clean(walk);
    await walk.shot("3-key");
    await page.type(`${FAILURE} input[type=password]`, `${job.server}/#key=${job.key}`); // the link that the server prints
    await page.keyboard.press("Enter");
    await page.waitForSelector(".side-foot .dot.good");
    await page.waitForFunction((css) => !document.querySelector(css), {}, FAILURE);
  });

  await walk.step("what this machine cannot produce has its words too", async () => {
    const shown = await page.evaluate(() => ["other"].map((kind) => {
      const panel = yaa.use("ext/connection/failure-panel").failurePanel({});
      panel.update({ server: { url: "http://h", failure: { kind, checks: { permission: "bad" } } } });
      return panel.el.textContent;
    }));
    for (const [i, words] of [["Something went wrong", "its log"]].entries()) {
      for (const one of words) if (!shown[i].includes(one)) throw new Error(`${one}: ${shown[i]}`);
    }
  });

  await walk.step("a name that is not served has a page", async () => {
    const other = await walk.context.newPage();
    await other.goto(job.server.replace("127.0.0.1", "yaa.test"));
    const words = await other.$eval("body", (one) => one.innerText);
    if (!words.includes("This name is not served here") || !words.includes("此处不以这个名称提供服务")) throw new Error(words);
    await other.close();
  });

  await walk.step("it comes back by a press", async () => {
    await address(walk, job.down);
    await says(walk, "The server does not answer");
    await walk.ask("start");
    await walk.press("Try again", `${FAILURE} button`);
    await page.waitForFunction((css) => document.querySelector(css)?.innerText.includes("The server needs a key"), {}, FAILURE);
  });
});
