/**
 * A page of the internet, over https, and servers it may not reach: one that speaks only http, one on this very machine.
 * The browser is told that the page's address is public; the refusals are its own.
 * The job: {url, lan, loop, browser, flags, prefs, insecure}.
 */
import { main } from "./driver.mjs";
import { put } from "./sample-session.mjs";
import { FAILURE, address, checks, clean, says } from "./failure-page.mjs";

await main(async (walk, job) => {
  const { page } = walk;

  await walk.step("open", async () => {
    await page.goto(job.url);
    await page.waitForSelector(".side-foot .dot.good");
  });

  await walk.step("mixed content", async () => {
    await address(walk, job.lan);
    await says(walk, "A secure page may not call an http server", "from disk");
    await clean(walk);
    await walk.shot("1-mixed");
  });

  await walk.step("permission", async () => {
    await address(walk, job.loop);
    await page.waitForFunction((css) => /permission|needs a key/.test(document.querySelector(css)?.innerText ?? ""), {}, FAILURE);
    if ((await walk.text(FAILURE)).includes("needs a key")) return { skipped: "this browser lets a public page reach the machine it runs on" };
    await says(walk, "The browser wants your permission", "at the address bar");
    await checks(page, { "Browser permission": "here is the problem" });
    await clean(walk);
    await walk.shot("2-permission");
    return { reproduced: true };
  });

  if (job.browser !== "chromium") return; // Firefox's protocol cannot give a permission
  await walk.step("permission is given", async () => {
    const session = await walk.browser.target().createCDPSession();
    for (const name of ["local-network-access", "loopback-network", "local-network"]) {
      await session.send("Browser.setPermission", { permission: { name }, setting: "granted", origin: new URL(job.url).origin }).catch(() => {});
    }
    // The page asks again by itself, too, and may have done so: then there is nothing to press.
    await page.evaluate((css) => [...document.querySelectorAll(css)].find((one) => one.innerText.includes("Try again"))?.click(), `${FAILURE} button`);
    await says(walk, "The server needs a key");
  });

  await walk.step("what comes with the mouse over a message takes no line while it is away", async () => {
    await page.goto(job.url);
    await put(page, { id: "said", version: 1, rev: 1, title: "Said", status: "completed", messages: [
      { id: "u1", role: "user", content: "Say hello.", at: 1 }, { id: "a1", role: "assistant", content: "Hello." },
    ] });
    await page.waitForSelector("article[data-role=user] .message-actions button");
    const found = await page.$eval(".said", (one) => ({
      height: one.offsetHeight - one.querySelector(".bubble").offsetHeight, shown: getComputedStyle(one.querySelector(".message-actions")).opacity,
    }));
    if (found.height > 4 || found.shown !== "0") throw new Error(JSON.stringify(found));
    await page.hover("article[data-role=user]");
    await page.waitForFunction(() => getComputedStyle(document.querySelector(".said .message-actions")).opacity === "1");
    await walk.shot("3-mouse");
  });
});
