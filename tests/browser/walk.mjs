/**
 * What a person does with the page, start to end, in one browser and one place (disk or server).
 *
 * The model is the scripted one of the benchmark: what is typed tells it how many deltas to send,
 * how far apart, and which tool to call first. So the walk knows what has to appear, and has time
 * to cut the line in the middle. The job: {url, server, key, place, tool, …}.
 */
import { main } from "./driver.mjs";

const COMPOSER = "form.composer textarea";
const ANSWERS = "article.message[data-role=assistant]";
const STATUS = ".status-line";

await main(async (walk, job) => {
  const { page } = walk;

  await walk.step("open", async () => {
    await page.goto(job.url);
    await page.waitForSelector(COMPOSER, { visible: true });
    if (job.place === "file") await connect(walk, job);
    await walk.sees(".first-line", new URL(job.server).host);
    await page.waitForSelector(".first-line .dot.good");
    const hash = await page.evaluate(() => location.hash);
    if (hash.includes("key")) throw new Error(`the key stays in the address: ${hash}`);
    await walk.shot("1-open");
  });

  await walk.step("chat", async () => {
    await send(walk, "bench tokens=30 delay_us=10000");
    await answered(walk, 30);
    await walk.shot("2-answer");
  });

  await walk.step("approve", async () => {
    await send(walk, `bench tokens=5 delay_us=0 tool=${job.tool}`);
    await walk.sees(".ask", `Allow ${job.tool}?`);
    await walk.shot("3-approval");
    await walk.press("Allow once", ".ask button");
    await answered(walk, 5);
    await page.waitForSelector(".card.tool[data-state=done]");
    await walk.shot("4-approved");
  });

  await walk.step("reload while an approval is open", async () => {
    await send(walk, `bench tokens=6 delay_us=0 tool=${job.tool}`);
    await walk.sees(".ask", `Allow ${job.tool}?`);
    await page.reload();
    await walk.sees(".ask", `Allow ${job.tool}?`);
    const messages = await page.$$eval("article.message", (all) => all.length);
    await walk.press("Allow once", ".ask button");
    await answered(walk, 6);
    return { messages };
  });

  await walk.step("killed, and another server goes on", async () => {
    await send(walk, `bench tokens=7 delay_us=0 tool=${job.tool}`);
    await walk.sees(".ask", `Allow ${job.tool}?`);
    await walk.ask("another server");
    await walk.press("Allow once", ".ask button");
    await answered(walk, 7);
  });

  await walk.step("cut in the middle", async () => {
    await send(walk, "bench tokens=150 delay_us=20000");
    await speaking(walk, 10);
    const { answer: cut } = await walk.ask("cut");
    if (!cut) throw new Error("there was no line to cut");
    await answered(walk, 150);
    await walk.shot("5-after-the-cut");
    return { cut };
  });

  await walk.step("stop", async () => {
    await send(walk, "bench tokens=2000 delay_us=20000");
    await speaking(walk, 3);
    await walk.press("Stop", "form.composer button");
    await walk.sees(STATUS, "Stopped.");
    await walk.shot("6-stopped");
  });

  await walk.step("type at once", async () => {
    const times = [];
    for (let round = 0; round < 3; round += 1) {
      await page.goto("about:blank");
      await page.goto(job.url.split("#")[0]);
      await page.waitForFunction(() => globalThis.typableMs > 0);
      times.push(await page.evaluate(() => globalThis.typableMs));
    }
    return { typable_ms: Math.round(Math.min(...times)) };
  });
});

/** From disk the page knows no server: it is told in the settings, and told to keep the key. */
async function connect(walk, job) {
  const { page } = walk;
  await walk.press("Settings");
  await page.waitForSelector("dialog[open]");
  await fill(page, "dialog input[type=url]", job.server);
  await fill(page, "dialog input[type=password]", job.key);
  await page.click("dialog input[type=checkbox]");
  await walk.shot("0-settings");
  await walk.press("Close", "dialog button");
}

async function fill(page, selector, value) {
  await page.click(selector, { count: 3 });
  await page.keyboard.press("Backspace");
  await page.type(selector, value);
  await page.keyboard.press("Tab");
}

async function send(walk, words) {
  await walk.page.click("form.composer textarea");
  await walk.page.type("form.composer textarea", words);
  await walk.page.keyboard.press("Enter");
}

/** Waits until the last answer has so many deltas, is finished, and nothing is running. */
async function answered(walk, tokens) {
  await walk.page.waitForFunction(
    (css, wanted) => {
      const last = [...document.querySelectorAll(css)].at(-1);
      const found = last?.innerText.match(/@\d+@/g) ?? [];
      const idle = !document.querySelector(".feed[aria-busy=true], article[aria-busy=true]");
      return idle && found.length === wanted;
    },
    {},
    ANSWERS,
    tokens,
  );
}

/** Waits until the last message has at least so many deltas and is still being written. */
async function speaking(walk, tokens) {
  await walk.page.waitForFunction(
    (wanted) => {
      const last = [...document.querySelectorAll("article.message")].at(-1);
      const found = last?.innerText.match(/@\d+@/g) ?? [];
      return last?.getAttribute("aria-busy") === "true" && found.length >= wanted;
    },
    {},
    tokens,
  );
}
