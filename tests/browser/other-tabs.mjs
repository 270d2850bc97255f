/**
 * A second tab shows the run of the first as it goes, stops it, answers its question; where the first is gone, it can go
 * on there. Whoever leaves in the middle is asked, and told what would happen. The job: {url, browser}.
 */
import { canBeDeaf, main } from "./driver.mjs";

const COMPOSER = "form.composer textarea";
const LONG = "bench tokens=4000 delay_us=20000";
const count = () => (document.querySelector("article.message[data-role=assistant]")?.textContent.match(/@\d+@/g) ?? []).length;

await main(async (walk, job) => {
  const home = job.url.split("#")[0];
  const one = walk.page;
  await one.goto(job.url);
  await one.waitForSelector(".side .dot.good");
  const two = await walk.newPage();
  await two.evaluateOnNewDocument(canBeDeaf);
  await two.goto(home);
  for (const page of [two, one]) {
    await page.bringToFront(); // a page behind another one draws no frames, and is not looked at
    await page.waitForFunction(() => { try { return yaa.use("ui/other-tabs") && yaa.use("ui/commands").list().length > 0 } catch { return false } });
  }
  await one.evaluate(() => yaa.use("ui/commands").context().actions.choose("yaa", "auto_title", false));

  await walk.step("what the first tab runs is shown in the second as it goes", async () => {
    await say(one, LONG);
    await one.waitForFunction(() => /@\d+@/.test(document.querySelector("article.message[data-role=assistant]")?.textContent ?? ""));
    await two.bringToFront();
    await open(two, "tokens=4000");
    await two.waitForFunction(() => document.querySelector("article[aria-busy=true]"));
    const before = await two.evaluate(count);
    await two.waitForFunction((n) => (document.querySelector("article.message[data-role=assistant]")?.textContent.match(/@\d+@/g) ?? []).length > n + 20, {}, before);
    await sees(two, ".status-line", "Another tab runs this");
    walk.page = two;
    await walk.shot("mirrored");
    await walk.clean();
  });

  await walk.step("a tab that is opened anew shows it too, and what it says waits its turn", async () => {
    await two.reload();
    await two.waitForFunction(() => document.querySelector("article[aria-busy=true]") && document.querySelector(".stop"));
    await say(two, "bench tokens=3 delay_us=0");
    await two.waitForSelector(".queue-item");
    const lost = await two.evaluate(() => yaa.use("ui/other-tabs").losses(yaa.use("ui/commands").context().app).join(" "));
    if (!lost.includes("a message that waits")) throw new Error(`closing it says: ${lost}`);
  });

  await walk.step("it is stopped from the second tab, whose message then goes", async () => {
    await two.click("form.composer button.send");
    await one.bringToFront();
    await one.waitForFunction(() => !document.querySelector(".feed[aria-busy=true]"));
    await two.bringToFront();
    await two.waitForFunction(() => !document.querySelector(".feed[aria-busy=true]") && document.querySelector(".composer .send:not(.stop)"));
    const texts = [];
    for (const page of [one, two]) texts.push(await page.evaluate(() => document.querySelector("article.message[data-role=assistant]").textContent.match(/@\d+@/g).length));
    if (texts[0] !== texts[1] || texts[0] >= 4000) throw new Error(String(texts));
    await two.click(".queue-item .button");
    await two.waitForFunction(() => document.querySelectorAll("article.message[data-role=user]").length === 2 && !document.querySelector(".queue-item"));
  });

  await walk.step("the question of the first tab is answered in the second, and the first shows what comes of it", async () => {
    await one.bringToFront();
    await one.click(".side [aria-label='New session']");
    await say(one, "bench tokens=2 delay_us=0 tool=datetime");
    await one.waitForSelector(".ask .primary");
    await two.bringToFront();
    await open(two, "tool=datetime");
    await two.waitForSelector(".ask .primary");
    await two.click(".ask .primary");
    for (const page of [two, one]) {
      await page.bringToFront();
      await page.waitForFunction(() => document.querySelectorAll("article.message[data-role=assistant]").length === 2 && !document.querySelector(".feed[aria-busy=true]") && !document.querySelector(".ask .primary"));
    }
  });

  await walk.step("what is sent where nothing is known of the other's run waits for its end, and is not refused in words", async () => {
    await one.bringToFront();
    await one.click(".side [aria-label='New session']");
    await say(one, "bench tokens=4 delay_us=0");
    await one.waitForFunction(() => /@\d+@/.test(document.querySelector("article.message[data-role=assistant]")?.textContent ?? "") && !document.querySelector(".feed[aria-busy=true]"));
    await two.bringToFront();
    await open(two, "tokens=4 ");
    await two.evaluate(() => {
      globalThis.isDeaf = true;
      globalThis.said = new Set();
      new MutationObserver(() => document.querySelectorAll(".toast, #status, .status-line").forEach((el) => globalThis.said.add(el.textContent))).observe(document.body, { childList: true, subtree: true, characterData: true });
    });
    await one.bringToFront();
    await say(one, LONG);
    await one.waitForFunction(() => document.querySelector("article[aria-busy=true]"));
    await two.bringToFront();
    await say(two, "bench tokens=5 delay_us=0");
    await two.waitForSelector(".queue-item");
    await sees(two, ".status-line", "What you send waits for its end");
    const said = await two.evaluate(() => {
      globalThis.isDeaf = false;
      return [...globalThis.said].filter((words) => words.includes("another tab") || words.includes("Another tab"));
    });
    if (!said.every((words) => words.includes("waits for its end"))) throw new Error(said.join(" | "));
    await one.bringToFront();
    await one.waitForFunction(() => document.querySelector(".queue-item"));
    await one.click("form.composer button.send");
    await one.waitForFunction(() => !document.querySelector(".feed[aria-busy=true]"));
    await one.click(".queue-item .button");
    for (const page of [one, two]) {
      await page.bringToFront();
      await page.waitForFunction(() => [...document.querySelectorAll("article.message[data-role=user]")].filter((each) => each.textContent.includes("tokens=5")).length === 1 && !document.querySelector(".queue-item") && !document.querySelector(".feed[aria-busy=true]"));
    }
  });

  await walk.step("who leaves in the middle is asked, and told", async () => {
    await one.bringToFront();
    await one.click(".side [aria-label='New session']");
    await say(one, "bench tokens=4001 delay_us=20000");
    await one.waitForFunction(() => /@\d+@/.test(document.querySelector("article.message[data-role=assistant]")?.textContent ?? ""));
    walk.stays = true;
    const asked = new Promise((resolve) => one.once("dialog", async (dialog) => (await dialog.dismiss(), resolve(dialog.type()))));
    one.evaluate(() => { location.href = "about:blank#left" }).catch(() => {});
    if (await asked !== "beforeunload") throw new Error("it was not asked");
    walk.stays = false;
    await sees(one, ".toast", "its run is stopped after a few seconds");
    walk.page = one;
    await walk.shot("asked");
  });

  await walk.step("where the first tab is gone, the second can go on", async () => {
    await two.bringToFront();
    await open(two, "tokens=4001");
    await two.waitForFunction(() => document.querySelector("article[aria-busy=true]"));
    await one.close({ runBeforeUnload: false });
    await sees(two, ".status-line", "Resume");
    const busy = await two.$(".feed[aria-busy=true]");
    if (busy) throw new Error("it still looks as if it ran");
  });
});

async function say(page, words) {
  await page.click(COMPOSER);
  await page.type(COMPOSER, words);
  await page.keyboard.press("Enter");
}

/** Opens the session that begins with these words. */
async function open(page, words) {
  await page.waitForFunction((wanted) => {
    if ([...document.querySelectorAll(".bubble")].some((one) => one.textContent.includes(wanted))) return true;
    [...document.querySelectorAll(".row-open")].find((one) => one.textContent.includes(wanted))?.click();
    return false;
  }, {}, words);
}

async function sees(page, css, words) {
  await page.waitForFunction((selector, wanted) => [...document.querySelectorAll(selector)].some((one) => one.innerText.includes(wanted)), {}, css, words);
}
