/**
 * What is typed while something is asked is the answer: to a question, to an approval, to one of several; what is written
 * before it was asked is not, and nothing is withdrawn because somebody typed. The job: {url, browser}.
 */
import { main } from "./driver.mjs";
import { asking, put } from "./sample-session.mjs";

const AREA = "form.composer textarea";
const LINE = ".composer .typed:not([hidden])";

await main(async (walk, job) => {
  const { page } = walk;
  /** The run has come to its end, and its calls to these states. */
  const ends = (wanted) => page.waitForFunction((states) => {
    const { session, going } = yaa.use("ui/commands").context().app.current;
    return !going && session.status === "completed" && Object.values(session.calls).map(({ state }) => state).join() === states;
  }, {}, wanted);
  const dark = (value) => job.browser === "chromium" && page.emulateMediaFeatures([{ name: "prefers-color-scheme", value }]);
  const expect = (found, wanted, what) => {
    if (found !== wanted) throw new Error(`${what}: ${found}, not ${wanted}`);
  };

  await walk.step("open", async () => {
    await page.goto(job.url);
    await page.waitForSelector(".side .dot.good");
  });

  await walk.step("words and Enter answer a question, which the line names", async () => {
    await walk.send("ask Which colour?");
    await walk.sees(`${LINE} .typed-what`, "Which colour?");
    await page.type(AREA, "Blue");
    await walk.sees(`${LINE} [role=status]`, "Sending this answers it.");
    expect(await page.$eval(AREA, (area) => document.getElementById(area.getAttribute("aria-describedby")).textContent), "Sending this answers it.", "what the field is described by");
    await walk.clean("a question");
    await walk.shot("1-question");
    await page.keyboard.press("Enter");
    await ends("done");
    expect(await page.$eval(AREA, (area) => area.value), "", "the field");
    await page.waitForSelector(LINE, { hidden: true });
  });

  await walk.step("yes allows, said before", async () => {
    await walk.press("New session");
    await walk.send("shell echo one");
    await walk.sees(`${LINE} .typed-what`, "Allow shell? echo one");
    await walk.sees(`${LINE} [role=status]`, "“yes” allows it.");
    await page.type(AREA, "Yes!");
    await walk.sees(`${LINE}[data-kind=allow] [role=status]`, "allows it, once");
    await walk.shot("2-yes");
    await page.keyboard.press("Enter");
    await ends("done");
  });

  await walk.step("a yes allows the arguments that were changed on the card", async () => {
    await walk.send("shell echo two");
    await walk.press("Edit arguments", ".ask button");
    await walk.write(".ask .value-field input", "echo three");
    await walk.send("ok");
    await ends("done,done");
    await walk.says('"output":"three');
  });

  await walk.step("a command answers nothing, other words deny and are the reason", async () => {
    await walk.send("shell echo four");
    await walk.sees(LINE, "echo four");
    await page.type(AREA, "/");
    await walk.sees(`${LINE}[data-kind=later] [role=status]`, "A command: the question stays open.");
    await page.type(AREA, "keys");
    await walk.sees(`${LINE}[data-kind=later] [role=status]`, "A command");
    await walk.clean("a command over an approval");
    await walk.shot("3-command");
    await page.type(AREA, "tone");
    await walk.sees(`${LINE}[data-kind=deny] [role=status]`, "denies it");
    await page.$eval(AREA, (area) => { area.value = ""; area.dispatchEvent(new Event("input", { bubbles: true })); });
    await walk.sees(`${LINE}[data-kind=later] [role=status]`, "“yes” allows it.");
    await page.type(AREA, "yes, but not today");
    await walk.sees(`${LINE}[data-kind=deny] [role=status]`, "denies it");
    await walk.clean("an approval");
    await page.setViewport({ width: 390, height: 844 });
    await dark("dark");
    await walk.shot("3-deny-phone-dark");
    await page.setViewport({ width: 1280, height: 800 });
    await dark("light");
    await page.keyboard.press("Enter");
    await ends("done,done,denied");
    await walk.says("yes, but not today");
  });

  await walk.step("the way out is a message, and there is a way back", async () => {
    await walk.press("New session");
    await walk.send("shell echo five");
    await walk.sees(LINE, "echo five");
    await page.focus(AREA);
    await page.keyboard.down("Shift"); // with keys alone
    await page.keyboard.press("Tab");
    await page.keyboard.up("Shift");
    expect(await page.evaluate(() => document.activeElement.ariaLabel), "Don’t answer: send a message", "before the field");
    await page.keyboard.press("Enter");
    expect(await page.evaluate((css) => document.activeElement.matches(css), AREA), true, "the focus is in the field");
    await walk.sees(`${LINE}[data-kind=message] [role=status]`, "withdraws the open question");
    await walk.shot("4-message");
    await walk.press("Answer with this", `${LINE} button`);
    await walk.sees(`${LINE} [role=status]`, "“yes” allows it.");
    await walk.press("Don’t answer", `${LINE} button`);
    await walk.send("calc 2+3");
    await ends("skipped,done");
  });

  await walk.step("what was written before it was asked is no answer, and waits", async () => {
    await walk.press("New session");
    await walk.send("shell echo six");
    await walk.sees(LINE, "echo six");
    await page.type(AREA, "yes");
    await page.evaluate(() => dispatchEvent(new Event("pagehide"))); // a draft is kept
    await page.reload();
    await walk.sees(`${LINE} [role=status]`, "Written before this was asked");
    await page.focus(AREA);
    await page.keyboard.press("Enter");
    await walk.sees(".queue-item", "yes");
    expect(await page.$$eval(".queue-item .button", (all) => all.filter((one) => one.checkVisibility() && one.textContent).length), 0, "buttons that would withdraw it");
    await walk.sees(LINE, "echo six");
    await walk.shot("5-waits");
    await walk.press("Take it out", ".queue-item button");
    await page.waitForFunction(async () => { // what is taken out is taken out of the store, too
      const { store, current } = yaa.use("ui/commands").context().app;
      return !Object.keys((await store.get(current.session.id)).ext?.queue ?? {}).length;
    });
    await page.type(AREA, "yes");
    await page.evaluate(() => dispatchEvent(new Event("pagehide")));
    await page.reload();
    await walk.press("Answer with this", `${LINE} button`);
    await walk.sees(`${LINE}[data-kind=allow]`, "allows it");
    await page.keyboard.press("Enter");
    await ends("done");
  });

  await walk.step("of several the first one, and another where it is chosen", async () => {
    await walk.press("New session");
    await page.evaluate(() => yaa.use("ui/commands").context().actions.pause(true)); // also what only reads asks
    await walk.send("two tools");
    await walk.sees(`${LINE} .typed-words`, "Answering 1 of 2:");
    await walk.sees(LINE, "Allow calculator? 6*7");
    await walk.press("Answer the next one", `${LINE} button`);
    await walk.sees(LINE, "Allow datetime?");
    await walk.clean("several");
    await walk.shot("6-several");
    await walk.send("not that one");
    await walk.sees(LINE, "Allow calculator?");
    await walk.send("y");
    await ends("done,denied");
    await page.evaluate(() => yaa.use("ui/commands").context().actions.pause(false));
  });

  await walk.step("a choice says what it takes, and other words wait", async () => {
    const schema = { type: "string", enum: ["Lyon", "Bern"] };
    const one = asking("choice", "ask_user", { question: "Lyon or Bern?", response_schema: schema });
    one.calls.k1.state = "waiting";
    one.interrupts[0] = { id: "int-k1", reason: "input_required", call_id: "k1", tool: "ask_user", message: "Lyon or Bern?", response_schema: schema };
    await put(page, one);
    await walk.sees(LINE, "Lyon or Bern?");
    await page.type(AREA, "Rome");
    await walk.sees(`${LINE} [role=status]`, "One of: Lyon, Bern. Other words wait");
    await page.keyboard.press("Enter");
    await walk.sees(".queue-item", "Rome");
    await walk.press("Take it out", ".queue-item button");
    await page.evaluate(() => yaa.use("ui/commands").context().actions.set({ language: "zh" }));
    await walk.sees(`${LINE} [role=status]`, "可选：Lyon, Bern");
    await walk.clean("Chinese");
    await page.setViewport({ width: 390, height: 844 });
    await dark("dark");
    await walk.shot("7-zh-phone");
    await page.setViewport({ width: 1280, height: 800 });
    await walk.shot("7-zh-dark");
    await page.type(AREA, "bern");
    await walk.sees(`${LINE}[data-kind=answer] [role=status]`, "发送即回答");
  });
});
