/**
 * Two people: the owner sees who runs what and ends one run, which stays ended. The job: {url, link, bob},
 * the link of the owner, and the key of the other.
 */
import { main, PATIENCE_MS } from "./driver.mjs";
import { parts } from "./server-parts.mjs";

const COMPOSER = "form.composer textarea";
const LONG = "bench tokens=4000 delay_us=20000";

await main(async (walk, job) => {
  const owner = walk.page;
  const { part, openServer, open } = parts(walk);
  const context = await walk.browser.createBrowserContext();
  const bob = await context.newPage();
  bob.setDefaultTimeout(PATIENCE_MS);

  /** A page behind another one draws no frames. */
  const front = async (page) => {
    walk.page = page;
    await page.bringToFront();
  };
  const says = async (words) => {
    await front(bob);
    await bob.waitForSelector(`${COMPOSER}:enabled`);
    await bob.focus(COMPOSER);
    await bob.keyboard.type(words);
    await bob.keyboard.press("Enter");
    await bob.waitForFunction(() => document.querySelector("article[aria-busy=true]")?.textContent.match(/@\d+@/));
  };
  const rowOfBob = (at) => [...document.querySelectorAll(`${at} tbody tr`)].find((row) => row.innerText.includes("bob") && row.querySelector("button"));

  await walk.step("two people sign in, and one runs something long", async () => {
    await owner.goto(job.link);
    await owner.waitForSelector(".first-line .dot.good");
    await bob.goto(`${job.url}/#key=${job.bob}`);
    await bob.waitForFunction(() => { try { return yaa.use("ui/commands").context().app.server.info()?.owner === false } catch { return false } });
    await says(LONG);
  });

  await walk.step("the owner sees who runs what", async () => {
    await front(owner);
    await openServer();
    await open("runs");
    await owner.waitForFunction(rowOfBob, {}, part("runs"));
    await walk.clean("the runs");
    for (const [width, height] of [[1280, 800], [390, 844]]) {
      for (const theme of ["light", "dark"]) {
        await owner.setViewport({ width, height });
        await owner.evaluate((value) => { yaa.use("ui/commands").context().actions.set({ theme: value }); }, theme);
        await owner.$eval(part("runs"), (el) => el.scrollIntoView());
        await walk.shot(`runs-${width}-${theme}`);
      }
    }
    await owner.setViewport({ width: 1280, height: 800 });
  });

  await walk.step("and ends one run, which is told to whoever runs it", async () => {
    await owner.evaluate((at) => [...document.querySelectorAll(`${at} tbody tr`)].find((row) => row.innerText.includes("bob") && row.querySelector("button")).querySelector("button").click(), part("runs"));
    await owner.waitForFunction((at) => ![...document.querySelectorAll(`${at} tbody button`)].length, {}, part("runs"));
    await owner.waitForFunction((at) => [...document.querySelectorAll(`${at} tbody tr`)].some((row) => row.innerText.includes("bob")), {}, part("runs"));
    await front(bob);
    await bob.waitForFunction(() => !document.querySelector("article[aria-busy=true]"));
    await walk.shot("ended");
  });

  await context.close();
});
