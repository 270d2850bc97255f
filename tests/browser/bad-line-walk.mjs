/**
 * A person works for minutes on a line that changes its fault every few seconds, and presses what the page offers. Then the
 * same turns on a good line: the two sessions are the same but for ids, times and how often was tried. The job: {url, direct,
 * key, seconds, speed}, of a server and a line as in bad_line.py.
 */
import { main } from "./driver.mjs";

const COMPOSER = "form.composer textarea";
/** What a person presses when something did not work, in this order. */
const OFFERS = [["Allow once", ".ask button"], ["Try now", "button"], ["Try again", ".failure button, .message button, .status button, button"], ["Resume", "button"]];

await main(async (walk, job) => {
  const { page } = walk;
  const told = async (...what) => (await walk.ask(...what)).answer;
  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const turnText = (n) => (n % 5 === 4 ? `stream ${20 + n}` : `calc ${n}*7`);
  const state = () => page.evaluate(() => {
    const { app } = yaa.use("ui/commands").context();
    const { session } = app.current;
    return { id: session.id, busy: Boolean(document.querySelector(".feed[aria-busy=true]")), status: session.status ?? "", messages: session.messages };
  });
  const press = (words, css) => page.evaluate((wanted, selector) => {
    const found = [...document.querySelectorAll(selector)].find((one) => one.checkVisibility() && !one.disabled && one.innerText.trim() === wanted);
    found?.click();
    return Boolean(found);
  }, words, css);

  /** Whether the last message is an answer that came to its end. @param {any} now */
  const isAnswered = ({ busy, messages }) => !busy && messages.at(-1)?.role === "assistant" && !messages.at(-1).open && !messages.at(-1).tool_calls?.length;

  /** One turn; false if the time was over before it was answered. */
  async function turn(n, end) {
    const before = (await state()).messages.filter((one) => one.role === "user").length;
    await walk.write(COMPOSER, turnText(n));
    await page.keyboard.press("Enter");
    for (;;) {
      const now = await state();
      if (now.messages.filter((one) => one.role === "user").length === before + 1 && isAnswered(now)) return;
      if (performance.now() > end) throw new Error(`turn ${n} (${turnText(n)}) never came to its end: ${(await page.evaluate(() => document.body.innerText)).slice(-600)}`);
      let isPressed = false;
      for (const [words, css] of OFFERS) isPressed ||= await press(words, css);
      await pause(300);
    }
  }

  /** What two sessions have in common: neither ids nor times. */
  const plain = ({ messages }) => messages.map((one) => ({
    role: one.role, content: one.content, name: one.name, calls: one.tool_calls?.map((call) => [call.function.name, call.function.arguments]), result: one.result?.status, open: one.open,
  }));

  const newSession = () => page.evaluate(() => { yaa.use("ui/commands").context().actions.newSession(); });
  let turns = 0;
  let [bad, good] = [[], []];

  await walk.step("open", async () => {
    await page.goto(job.url);
    await page.waitForSelector(COMPOSER, { visible: true });
    await page.waitForFunction(() => { try { return yaa.use("ui/commands").context().app.server.info() } catch { return null } });
  });

  await walk.step("on the bad line", async () => {
    const over = performance.now() + job.seconds * 1000;
    await told("begin");
    while (performance.now() < over) await turn(turns++, over + 60_000 + job.seconds * 200);
    await told("end");
    bad = plain(await state());
    return { turns };
  });

  await walk.step("the same on a good one", async () => {
    await newSession();
    for (let n = 0; n < turns; n++) await turn(n, performance.now() + 60_000);
    good = plain(await state());
    const at = good.findIndex((one, n) => JSON.stringify(one) !== JSON.stringify(bad[n]));
    if (at >= 0 || good.length !== bad.length) throw new Error(`${bad.length} messages, not ${good.length}; the first that differs: ${JSON.stringify([at, bad[at], good[at]])}`);
  });
});
