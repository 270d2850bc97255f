/**
 * How much a session asks: the chip beside the model, the three buttons of an approval, and where a mode is not offered.
 * The job: {url}. The sandbox of this machine has to keep programs in a folder.
 */
import { main } from "./driver.mjs";
import { asking, put } from "./sample-session.mjs";

const CHIP = "button.permission:not([hidden])";
const ROWS = "[role=menuitemradio]";

await main(async (walk, job) => {
  const { page } = walk;
  const said = () => page.evaluate(() => yaa.use("ui/commands").context().app.current.session.config?.yaa?.ask);
  const rows = () => page.$$eval(ROWS, (all) => all.map((one) => `${one.ariaChecked} ${one.ariaDisabled === "true"} ${one.innerText.replace("\n", ": ")}`));
  const buttons = () => page.$$eval(".ask .ask-actions .button", (all) => all.filter((one) => one.checkVisibility()).map((one) => one.textContent).filter(Boolean));
  // Firefox's protocol cannot say which theme is wanted.
  const dark = (value) => job.browser === "chromium" && page.emulateMediaFeatures([{ name: "prefers-color-scheme", value }]);

  await walk.step("three choices, each with what it does", async () => {
    await page.goto(job.url);
    await walk.sees(CHIP, "Ask");
    await page.click(CHIP);
    await page.waitForSelector(ROWS);
    const found = await rows();
    const wanted = ["true false Ask: Reading runs", "false false Edits run: Changes to files run in the copy", "false false All in the copy runs: Commands and programs run"];
    for (const [n, words] of wanted.entries()) if (!found[n]?.startsWith(words)) throw new Error(`${words}: ${found.join(" | ")}`);
    await walk.clean();
    await walk.shot("1-menu");
    await page.keyboard.press("Escape");
  });

  await walk.step("chosen with keys, and said to a screen reader", async () => {
    await page.focus(CHIP);
    await page.keyboard.press("Enter");
    await page.waitForSelector(ROWS);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await walk.sees(CHIP, "Edits run");
    const label = await page.$eval(CHIP, (one) => one.ariaLabel);
    if (!label.startsWith("Permissions: Edits run. Changes to files run")) throw new Error(label);
    if (await page.evaluate(() => !document.activeElement.matches(".permission"))) throw new Error("the focus is lost");
  });

  await walk.step("closed and opened again at once, it is the menu with the focus", async () => {
    await page.click(CHIP);
    await page.waitForSelector(ROWS);
    await page.waitForFunction((css) => document.querySelector(css).popoverTargetElement, {}, CHIP);
    const role = await page.evaluate((css) => {
      document.querySelector("[popover]:popover-open").hidePopover();
      document.querySelector(css).focus();
      document.querySelector(css).click();
      return document.activeElement.role;
    }, CHIP);
    if (role !== "menuitemradio") throw new Error(`the focus is on ${role}`);
    await page.keyboard.press("Escape");
    await page.waitForSelector(ROWS, { hidden: true });
  });

  await walk.step("an edit runs, a program asks, and one press lets programs run", async () => {
    await walk.send("write a.txt");
    await walk.says("a.txt");
    if (await said() !== "edits_run") throw new Error(await said());
    await walk.send("shell make one; echo one");
    await page.waitForSelector(".ask .by-rule:not([hidden])");
    const offered = await buttons();
    const wanted = ["Allow once", "Allow “make one; echo one”", "Allow all commands here", "Deny"];
    if (!wanted.every((words, n) => offered[n] === words)) throw new Error(offered.join(" | "));
    await walk.clean("the card");
    await walk.shot("2-card");
    await page.setViewport({ width: 390, height: 844 });
    await dark("dark");
    await walk.shot("2-card-phone-dark");
    await page.setViewport({ width: 1280, height: 800 });
    await dark("light");
    await walk.press("Allow all commands here", ".ask button");
    await walk.says("one");
    await walk.sees(CHIP, "All in the copy runs");
    await walk.send("shell echo two");
    await walk.says("two");
    if (await said() !== "copy_runs") throw new Error(await said());
  });

  await walk.step("a new session begins with Ask", async () => {
    await walk.press("New session", ".side button");
    await walk.sees(CHIP, "Ask");
  });

  await walk.step("one press allows calls like this one", async () => {
    await walk.send("shell mkdir -pv many");
    await page.waitForSelector(".ask .by-rule:not([hidden])");
    await walk.press("Allow “mkdir …”", ".ask button");
    await walk.says("many");
    await walk.send("shell mkdir -pv more");
    await walk.says("more");
    const [grant] = await page.evaluate(() => yaa.use("ui/commands").context().app.current.session.grants);
    if (grant.match.command !== "mkdir *" || await said() !== "by_rules") throw new Error(JSON.stringify(grant));
  });

  await walk.step("where changes are final, and it says so", async () => {
    await put(page, { id: "real", version: 1, rev: 0, title: "Real", messages: [{ id: "u1", role: "user", content: "shell echo three" }], workspace: { folder: "real" }, config: { yaa: { ask: "copy_runs" } } });
    await walk.sees(CHIP, "Ask");
    await page.click(CHIP);
    await page.waitForSelector(ROWS);
    const found = await rows();
    if (!found[1].startsWith("false true Edits run: What is changed in this folder stays changed")) throw new Error(found.join(" | "));
    await walk.clean("not offered");
    await walk.shot("3-final");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Enter");
    await walk.sees(".toast", "stays changed");
    await walk.press("Resume", ".status-line button");
    await page.waitForSelector(".ask");
    if ((await buttons()).some((words) => words.includes("here"))) throw new Error("a mode is offered");
    await walk.sees(".warnings", "has no effect here");
    await walk.shot("3-final-card");
  });

  await walk.step("in Chinese, on a phone, in the dark", async () => {
    await put(page, asking("zh", "write_file", { path: "notes/a.txt", content: "x" }));
    await page.evaluate(() => yaa.use("ui/commands").context().actions.set({ language: "zh" }));
    await page.waitForFunction(() => document.documentElement.lang.startsWith("zh")); // its words come late
    await page.setViewport({ width: 390, height: 844 });
    await dark("dark");
    await page.waitForSelector(CHIP);
    await page.waitForFunction((css) => document.querySelector(css).getBoundingClientRect().width < 60, {}, CHIP); // its sign alone
    await page.click(CHIP);
    await page.waitForSelector(ROWS);
    if (!(await rows())[2].includes("副本内全部运行")) throw new Error((await rows()).join(" | "));
    await walk.clean("Chinese");
    await walk.shot("4-zh-phone");
    await page.keyboard.press("Escape");
    await page.setViewport({ width: 1280, height: 800 });
    await walk.shot("4-zh");
  });
});
