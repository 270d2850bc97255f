/**
 * After a run that changed files in a copy, the bar over the field says so: how many, how many lines, and what can be done
 * with them. What programs make for themselves is not counted and not applied. The job: {url}: of servers as in
 * folder_servers.py.
 */
import { main } from "./driver.mjs";

const BAR = ".review:not([hidden])";

await main(async (walk, job) => {
  const { page } = walk;
  const dark = (value) => job.browser === "chromium" && page.emulateMediaFeatures([{ name: "prefers-color-scheme", value }]);
  const notes = async () => (await walk.ask("folder", "notes")).answer;
  /** Has the scripted model run a command. */
  const order = async (words, command) => {
    await walk.ask("order", "shell", { command });
    await walk.send(words);
    await page.waitForFunction((wanted) => [...document.querySelectorAll("article.message[data-role=user]")].some((one) => one.innerText.includes(wanted)), {}, words);
    await walk.says("It is done.");
  };

  await walk.step("a run that only looks leaves no bar", async () => {
    await page.goto(job.url);
    await page.waitForSelector(".composer-bar .folder:not([hidden])");
    await page.click(".composer-bar .folder");
    await walk.press("notes", ".menu button");
    await order("Look.", "ls");
    await page.waitForFunction(() => document.querySelector(".review")?.hidden);
  });

  await walk.step("files and lines are counted, without caches and repositories", async () => {
    await order("Change them.", "mkdir -p src/__pycache__ node_modules/x; echo a > node_modules/x/i.js; echo c > src/__pycache__/app.pyc; printf 'one\\ntwo\\n' > new.txt; printf 'one\\n3\\nfour\\n' > draft.txt");
    await walk.sees(BAR, "2 files changed in the copy");
    await walk.sees(`${BAR} .review-lines`, "+4 −2");
    await page.waitForFunction(() => document.querySelector(".files-button .desk-count").textContent === "2");
    await walk.clean("the bar");
    await walk.shot("1-bar");
  });

  await walk.step("every diff in one view, and what is not meant when it is asked for", async () => {
    await walk.press("Review", `${BAR} button`);
    await page.waitForFunction(() => document.querySelectorAll(".layer-row .diff").length === 2);
    await page.waitForFunction(() => [...document.querySelectorAll(".layer-row .part-note")].map((one) => one.innerText).join() === "+2 −2,+2 −0"); // after the diffs
    await walk.sees(".files-tabs [aria-selected=true]", "Changes");
    if (await page.$$eval(".files-tabs button", (all) => all.filter((one) => one.checkVisibility()).length) !== 2) throw new Error("two lists of changes");
    await walk.press("Compare with an earlier moment", ".files-view button");
    await page.waitForSelector(".point-row");
    await page.$eval(".point-row select", (one) => { one.selectedIndex = [...one.options].findIndex(({ value }) => value === "base"); one.dispatchEvent(new Event("change")); });
    await page.waitForFunction(() => document.querySelectorAll(".layer-row .diff").length === 2);
    await walk.clean("every diff");
    await walk.shot("2-review");
    await walk.press("Show 2 files of caches", ".files-view button");
    await page.waitForFunction(() => document.querySelectorAll(".layer-row").length === 4);
    await page.waitForFunction(() => document.querySelectorAll(".layer-row .diff").length === 4); // what comes moves the button below
    const ticked = await page.$$eval(".layer-row input", (all) => all.map((one) => one.checked).join());
    if (ticked !== "true,true,false,false" && ticked !== "true,false,true,false") throw new Error(ticked);
    await walk.press("Hide 2 files", ".files-view button");
    await page.waitForFunction(() => document.querySelectorAll(".layer-row").length === 2);
    await page.keyboard.press("Escape");
    await page.waitForSelector(".files", { hidden: true });
  });

  await walk.step("applied from the bar: the folder has them, and no cache", async () => {
    await walk.press("Apply", `${BAR} button.primary`);
    await walk.sees(".toast", "2 files applied to the folder.");
    await page.waitForSelector(BAR, { hidden: true });
    const found = await notes();
    if (found["new.txt"] !== "one\ntwo\n" || found["draft.txt"] !== "one\n3\nfour\n") throw new Error(JSON.stringify(found));
    if (Object.keys(found).some((path) => /pycache|node_modules/.test(path))) throw new Error(Object.keys(found).join());
  });

  await walk.step("what came into the copy since it was seen is not applied", async () => {
    await order("Once more.", "echo more >> new.txt; rm draft.txt");
    await walk.sees(BAR, "2 files changed");
    await page.evaluate(async () => {
      const { app } = yaa.use("ui/commands").context();
      await yaa.use("ext/files/session-files").routesOf(app).upload("late.txt", new Blob(["EVIL"]));
    });
    await walk.press("Apply", `${BAR} button.primary`);
    await walk.sees(".toast", "The copy has changed since you looked at it");
    await walk.sees(BAR, "3 files changed");
    if ((await notes())["late.txt"]) throw new Error("it was applied unseen");
  });

  await walk.step("discarded, on a phone, in the dark, in Chinese; and brought back", async () => {
    await page.evaluate(() => yaa.use("ui/commands").context().actions.set({ language: "zh" }));
    await walk.sees(BAR, "副本中有 3 个文件被更改");
    await page.setViewport({ width: 390, height: 844 });
    await dark("dark");
    await walk.clean("Chinese");
    await walk.shot("3-zh-phone");
    await page.setViewport({ width: 1280, height: 800 });
    await walk.press("放弃", `${BAR} button`);
    await page.waitForSelector(BAR, { hidden: true });
    await walk.press("撤销", ".toast button");
    await walk.sees(BAR, "副本中有 3 个文件被更改");
    await page.reload();
    await walk.sees(BAR, "副本中有 3 个文件被更改");
    if ((await notes())["draft.txt"] !== "one\n3\nfour\n") throw new Error("the folder has changed");
  });

  await walk.step("in files of its own and in a folder that is written to: what the last turn changed, and its undo", async () => {
    await page.evaluate(() => yaa.use("ui/commands").context().actions.set({ language: "en" }));
    for (const [folder, words] of [["", "2 files of this session changed"], ["shared", "2 files changed in the folder shared"]]) {
      await page.evaluate(() => { yaa.use("ui/commands").run("session.new"); });
      if (folder) {
        await page.waitForSelector(".composer-bar .folder:not([hidden])");
        await page.click(".composer-bar .folder");
        await walk.press(folder, ".menu button");
      }
      await order("Write.", "printf 'a\\nb\\n' > made.txt; echo second > plan.txt; mkdir -p __pycache__; echo c > __pycache__/x.pyc");
      await walk.sees(BAR, words);
      await walk.sees(`${BAR} .review-lines`, folder ? "+3 −1" : "+3 −0");
      if ((await walk.text(BAR)).includes("Apply")) throw new Error("there is no copy to be applied");
      await walk.clean(words);
      await walk.shot(`4-${folder || "own"}`);
      await walk.press("Review", `${BAR} button`);
      await walk.sees(".files-tabs [aria-selected=true]", "Changes");
      await walk.sees(".files-view .file-row", "made.txt");
      await page.keyboard.press("Escape");
      await page.waitForSelector(".files", { hidden: true });
      await walk.press("Undo", `${BAR} button`);
      await walk.sees(".toast", "The changes of the last turn are undone.");
      await page.waitForSelector(BAR, { hidden: true });
      if (folder) {
        const found = (await walk.ask("folder", folder)).answer;
        if (found["plan.txt"] !== "first\n" || found["made.txt"] !== undefined) throw new Error(JSON.stringify(found));
      }
      await page.$$eval(".toast button[aria-label]", (all) => all.forEach((one) => one.click()));
    }
  });
});
