/**
 * Two people: the owner sees who runs what and ends one run, which stays ended, as one does that is stopped from
 * another device; and of a key that is gone the page says so. The job: {url, link, key, bob}, the link and the key of
 * the owner, and the key of the other.
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
  const ask = async (key, method, path, body) => {
    const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
    return (await fetch(job.url + path, { method, headers, body: body && JSON.stringify(body) })).json();
  };
  /** The run of bob has ended, his page says who it was, and has sent nothing since. */
  const stopped = async (words) => {
    await bob.waitForFunction((said) => !document.querySelector("article[aria-busy=true]") && [...document.querySelectorAll(".error-note")].at(-1)?.innerText.includes(said), {}, words);
    const { active } = await ask(job.key, "GET", "/settings/runs");
    if (active.length) throw new Error(`${active[0].key_name} runs on`);
  };
  const rowOfBob = (at) => [...document.querySelectorAll(`${at} tbody tr`)].find((row) => row.innerText.includes("bob") && row.querySelector("button"));

  await walk.step("two people sign in, and one runs something long", async () => {
    await owner.goto(job.link);
    await owner.waitForSelector(".side .dot.good");
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
        const right = await owner.$eval(`${part("runs")} tbody button`, (el) => el.getBoundingClientRect().right);
        if (right > width) throw new Error(`the button ends at ${right} of ${width} pixels`);
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
    await stopped("By an owner of this server.");
    await walk.clean("ended by the owner");
    await walk.shot("ended");
  });

  await walk.step("it goes on when asked to, and stays stopped when another device stops it", async () => {
    await bob.click(".error-note button:not([hidden])");
    await bob.waitForSelector("article[aria-busy=true]");
    let run;
    while (!run) [run] = (await ask(job.key, "GET", "/settings/runs")).active; // the page is ahead of the server
    await ask(job.bob, "POST", "/session/stop", { id: run.session });
    await stopped("With your key, from another tab or device.");
    await bob.reload();
    await stopped("With your key, from another tab or device.");
    await walk.shot("stopped-elsewhere");
  });

  await walk.step("a key that is gone: the run ends, and the page says what to do", async () => {
    await says(LONG);
    await ask(job.key, "DELETE", "/settings/keys/bob");
    await walk.sees(".status-line", "Could not continue. This browser is not signed in at the server.");
    await walk.sees("body", "prints a link that signs in");
    const { active } = await ask(job.key, "GET", "/settings/runs");
    if (active.length) throw new Error(`${active[0].key_name} runs on`);
    await walk.clean("of a key that is gone");
    await walk.shot("revoked");
  });

  await context.close();
});
