/**
 * What was said and done is changed, and the run goes on from there: tool results, arguments, words,
 * other answers, and every branch found again, after a reload too. The model is the demo, which
 * quotes what its tools returned. The job: {url}.
 */
import { main } from "./driver.mjs";

const ANSWER = "article.message[data-role=assistant]";

await main(async (walk, job) => {
  const { page } = walk;
  /** Presses a button below the answer, once they are drawn. */
  const act = async (name) => {
    const css = `${ANSWER} .message-actions:not([hidden]) [aria-label="${name}"]`;
    await page.waitForSelector(css, { visible: true });
    await page.click(css);
  };

  await walk.step("a call and an answer", async () => {
    await page.goto(job.url);
    await page.waitForSelector(".side .dot.good");
    await walk.send("calc 6*7");
    await walk.says("calculator: 42");
  });

  await walk.step("another result, and the answer to it", async () => {
    await openCard(walk);
    await walk.press("More", ".call-edits button");
    await walk.press("Edit result", ".menu button");
    await page.waitForSelector("dialog[open] textarea");
    await walk.write("dialog[open] textarea", '{"result": 43}');
    await walk.shot("1-edit-result");
    await walk.clean();
    await walk.press("Save", "dialog[open] button");
    await walk.sees(".aside", "1 edit, 1 later item set aside");
    await page.waitForSelector(".card.tool .edited:not([hidden])");
    await walk.shot("2-set-aside");
    await page.reload();
    await walk.sees(".aside", "1 edit, 1 later item set aside");
    await walk.press("Continue from here");
    await walk.says("43");
    await walk.sees(".switch", "calculator 2/2");
    await page.waitForSelector(".aside[hidden]");
    await walk.shot("3-continued");
    await walk.clean();
  });

  await walk.step("back and forth by keyboard, over a reload", async () => {
    await page.focus(".switch [data-step='-1']");
    await page.keyboard.press("Enter");
    await walk.says("calculator: 42");
    await walk.sees(".switch", "calculator 1/2");
    await focused(walk, ".switch [data-step='-1']");
    await walk.sees("#status", "Branch 1 of 2"); // what a screen reader hears
    await page.reload();
    await walk.says("calculator: 42");
    // what keys do comes a moment after the page
    await walk.singleKeys();
    await page.evaluate(() => document.activeElement?.blur());
    await page.keyboard.press(".");
    await walk.says("43");
    await page.keyboard.press(",");
    await walk.says("calculator: 42");
    await page.focus(".switch [data-step='1']");
    await page.keyboard.press("Enter");
    await walk.says("43");
  });

  await walk.step("other arguments run anew", async () => {
    await openCard(walk);
    await walk.press("More", ".call-edits button");
    await walk.press("Edit arguments", ".menu button");
    await page.waitForSelector("dialog[open] input:not([type=checkbox], [type=file])");
    await walk.write("dialog[open] input:not([type=checkbox], [type=file])", "6*8");
    await walk.shot("4-edit-arguments");
    await walk.press("Save", "dialog[open] button");
    await focused(walk, ".aside .button");
    await page.keyboard.press("Enter");
    await walk.says("calculator: 48");
  });

  await walk.step("other words", async () => {
    await page.hover("article.message[data-role=user]");
    await page.click("article.message[data-role=user] .message-actions [aria-label=Edit]");
    await walk.write(".words-edit textarea", "calc 1+1");
    await walk.shot("5-edit-words");
    await page.keyboard.press("Enter");
    await walk.says("calculator: 2");
    await walk.sees("article.message[data-role=user] .switch", "2/2");
  });

  await walk.step("another answer", async () => {
    await act("Answer again");
    await walk.sees(`${ANSWER} .switch`, "2/2");
    await walk.says("calculator: 2");
  });

  await walk.step("a branch is deleted, and is back", async () => {
    await act("More");
    await walk.press("Delete this branch", ".menu button");
    await page.waitForFunction((css) => ![...document.querySelectorAll(`${css} .switch`)].length, {}, ANSWER);
    await walk.press("Undo", ".toast button");
    await walk.sees(`${ANSWER} .switch`, "2/2");
  });

  await walk.step("all branches", async () => {
    await act("More");
    await walk.press("All branches", ".menu button");
    await page.waitForSelector(".path-row");
    const rows = await page.$$eval(".path-row", (all) => all.length);
    if (rows !== 5) throw new Error(`${rows} rows in the tree`);
    await walk.shot("6-tree");
    await walk.clean();
    await page.click(".path-row:last-child [aria-label='Name this branch']");
    await page.type(".path-row .input", "the first");
    await page.keyboard.press("Enter");
    await walk.sees(".path-row", "the first");
    await page.click(".path-row:last-child [aria-label='Mark as favourite']");
    await page.waitForSelector(".path-row:last-child [aria-pressed=true]");
    await page.click(".path-row:last-child [aria-label^='Delete this branch']");
    await page.waitForFunction(() => document.querySelectorAll(".path-row").length === 4);
    await walk.press("Undo", ".toast button");
    await walk.press("Close", "dialog[open] .dialog-head button");
    await page.keyboard.press("g");
    await page.keyboard.press("b");
    await walk.sees(".path-row", "the first");
    await walk.press("calc 6*7", ".path-open");
    await walk.says("calculator: 48");
  });

  await walk.step("a branch begins with nothing said yet, and one can go back", async () => {
    await page.hover("article.message[data-role=user]");
    await page.click("article.message[data-role=user] .message-actions [aria-label=More]");
    await walk.press("Branch from here", ".menu button");
    await focused(walk, "form.composer textarea");
    await walk.sees(".aside", "later items set aside");
    await walk.press("Go back", ".aside button");
    await walk.says("calculator: 48");
  });

  await walk.step("the last message is taken back into the field, the first is edited", async () => {
    const field = "form.composer textarea";
    await walk.send("calc 2+3");
    await walk.says("calculator: 5");
    await walk.send("/undo");
    await page.waitForFunction((css) => document.querySelector(css).value === "calc 2+3", {}, field);
    await walk.sees(".aside", "later items set aside");
    await walk.shot("7-taken-back");
    await walk.write(field, "/undo");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector(".words-edit textarea")?.value === "calc 6*7");
    await page.keyboard.press("Escape");
    await walk.press("Go back", ".aside button");
    await walk.says("calculator: 5");
  });

  await walk.step("a session of its own", async () => {
    await page.hover("article.message[data-role=user]");
    await page.click("article.message[data-role=user] .message-actions [aria-label=More]");
    await walk.press("New session from here", ".menu button");
    await walk.sees(".top-title", "(copy)");
    await page.waitForFunction(() => document.querySelectorAll("article.message").length === 1);
  });

  await walk.step("words that a run came before are not gone, and are sent when it has ended", async () => {
    await page.hover("article.message[data-role=user]");
    await page.click("article.message[data-role=user] .message-actions [aria-label=Edit]");
    await walk.write(".words-edit textarea", "calc 1+2");
    await walk.send("bench tokens=4000 delay_us=20000");
    await page.waitForSelector(".feed[aria-busy=true]");
    await walk.press("Send", ".words-edit button");
    await walk.sees(".toast", "A run is writing this session.");
    const typed = await page.$eval(".words-edit textarea", (area) => area.value);
    if (typed !== "calc 1+2") throw new Error(typed);
    await walk.shot("7-edit-kept");
    await page.click("form.composer button.send");
    await page.waitForFunction(() => !document.querySelector(".feed[aria-busy=true]"));
    await walk.press("Send", ".words-edit button");
    await walk.says("calculator: 3");
  });

  await walk.step("nor are arguments in their dialog", async () => {
    const field = "dialog[open] input:not([type=checkbox], [type=file])";
    await openCard(walk);
    await walk.press("More", ".call-edits button");
    await walk.press("Edit arguments", ".menu button");
    await page.waitForSelector(field);
    await walk.write(field, "9*9");
    await page.evaluate(() => { yaa.use("ui/commands").context().actions.send("bench tokens=4000 delay_us=20000"); });
    await page.waitForSelector(".feed[aria-busy=true]");
    await walk.press("Save", "dialog[open] button");
    await walk.sees(".toast", "A run is writing this session.");
    const typed = await page.$eval(field, (input) => input.value);
    if (typed !== "9*9") throw new Error(typed);
    await page.evaluate(() => yaa.use("ui/commands").context().app.current.run.stop());
    await page.waitForFunction(() => !document.querySelector(".feed[aria-busy=true]"));
    await walk.press("Save", "dialog[open] button");
    await walk.press("Continue from here");
    await walk.says("calculator: 81");
  });
});

async function openCard(walk) {
  await walk.page.click(".card.tool summary");
  // what is in the card comes later, and moves the buttons under it
  await walk.sees(".tool-body", "Result");
  await walk.page.waitForSelector(".call-edits button");
}

async function focused(walk, selector) {
  await walk.page.waitForFunction((css) => document.activeElement?.matches(css), {}, selector);
}
