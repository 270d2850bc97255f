/**
 * A call whose MCP server wants a sign-in: its card, the other tab, and the run that goes on when the person is back.
 * The job: {url}.
 */
import { main } from "./driver.mjs";

const COMPOSER = "form.composer textarea";

await main(async (walk, job) => {
  const { page } = walk;

  await walk.step("open", async () => {
    await page.goto(job.url);
    await page.waitForSelector(COMPOSER, { visible: true });
  });

  await walk.step("a call asks for the sign-in", async () => {
    await order(walk);
    await walk.press("Allow once", ".ask button");
    await walk.sees(".ask", "Sign in at notes");
    await walk.clean();
    await walk.shot("1-card");
    await page.setViewport({ width: 390, height: 800 });
    await page.emulateMediaFeatures?.([{ name: "prefers-color-scheme", value: "dark" }]).catch(() => {});
    await walk.shot("2-card-phone-dark");
    await page.setViewport({ width: 1280, height: 800 });
  });

  await walk.step("the answer comes in another tab, and the run goes on", async () => {
    const opened = new Promise((resolve) => walk.browser.once("targetcreated", resolve));
    await walk.press("Sign in", ".ask button");
    const tab = await (await opened).page();
    await tab.waitForFunction(() => document.body?.innerText.includes("Signed in at the MCP server notes"));
    if (await tab.evaluate(() => globalThis.opener !== null)) throw new Error("the tab can reach the page");
    await tab.close();
    await page.bringToFront();
    await page.evaluate(() => dispatchEvent(new Event("focus"))); // a headless window is never left
    await page.waitForFunction(() => !document.querySelector(".ask, .feed[aria-busy=true]"));
    const { answer: calls } = await walk.ask("calls");
    if (JSON.stringify(calls) !== '["milk"]') throw new Error(`the server was called: ${JSON.stringify(calls)}`);
  });

  await walk.step("the settings show it, and end it and begin it", async () => {
    await page.evaluate(() => yaa.use("ui/storage-notices").context().actions.openSettings("server"));
    await walk.sees(".panel .rules", "signed in");
    await walk.clean();
    await walk.shot("3-settings");
    await walk.press("Sign out", ".panel button");
    await walk.sees(".panel .rules", "not signed in");
    const opened = new Promise((resolve) => walk.browser.once("targetcreated", resolve));
    await walk.press("Sign in", ".panel button");
    const tab = await (await opened).page();
    await tab.waitForFunction(() => document.body?.innerText.includes("Signed in at the MCP server notes"));
    await tab.close();
    await page.bringToFront();
    await page.evaluate(() => dispatchEvent(new Event("focus")));
    await page.waitForFunction(() => [...document.querySelectorAll(".panel .rules p")].some((p) => /· signed in/.test(p.innerText)));
    await page.keyboard.press("Escape");
  });

  await walk.step("nobody signs in", async () => {
    await walk.ask("revoke");
    await walk.press("New session", ".side button");
    await order(walk);
    await walk.press("Allow once", ".ask button");
    await walk.sees(".ask", "Sign in at notes");
    await walk.press("Don’t sign in", ".ask button");
    await page.waitForFunction(() => !document.querySelector(".ask, .feed[aria-busy=true]"));
    const { answer: calls } = await walk.ask("calls");
    if (calls.length !== 1) throw new Error(`the server was called: ${JSON.stringify(calls)}`);
  });

  await walk.step("an authorization server that is away is said", async () => {
    await walk.ask("away");
    await walk.press("New session", ".side button");
    await order(walk);
    await walk.press("Allow once", ".ask button");
    await walk.press("Sign in", ".ask button");
    await page.waitForFunction(() => document.querySelector(".ask [role=status]")?.innerText.includes("The other server did not answer. ("));
  });
});

async function order(walk) {
  const { page } = walk;
  await page.click(COMPOSER);
  await page.evaluate((words) => document.execCommand("insertText", false, words), 'bench tokens=3 delay_us=0 tool=mcp__notes__note{"text":"milk"}');
  await page.keyboard.press("Enter");
}
