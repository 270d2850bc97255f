/**
 * What is said is written where the caret is, and not sent; what cannot be written down says why and loses nothing; an
 * answer is read aloud. The microphone is the browser's false one, the voice is one that the walk listens to.
 * The job: {url}; it asks for `says` (what the provider answers) and `heard` (what it was sent).
 */
import { main } from "./driver.mjs";

const FIELD = "form.composer textarea";
const BUTTON = ".dictation";

await main(async (walk, job) => {
  const { page } = walk;
  const value = () => page.$eval(FIELD, (one) => one.value);
  const isPhase = (phase) => page.waitForFunction((css, wanted) => document.querySelector(css)?.dataset.phase === wanted, {}, BUTTON, phase);
  const holds = (words) => page.waitForFunction((css, wanted) => document.querySelector(css).value === wanted, {}, FIELD, words);
  /** The field is empty again: what is typed next is all. */
  const empty = () => page.$eval(FIELD, (one) => { one.value = ""; one.dispatchEvent(new Event("input")); });
  const heard = async () => (await walk.ask("heard")).answer;
  /** Speak for a second. */
  const speak = async () => {
    await page.click(BUTTON);
    await isPhase("recording");
    await walk.sees(".dictation-clock", "0:01");
    await page.click(BUTTON);
  };

  await page.evaluateOnNewDocument(() => {
    globalThis.spoken = [];
    const voice = {
      speaking: false,
      speak: (one) => { globalThis.spoken.push([one.text, one.lang]), (voice.last = one); },
      cancel: () => { globalThis.spoken.push("cancel"); },
    };
    Object.defineProperty(globalThis, "speechSynthesis", { value: voice });
    globalThis.SpeechSynthesisUtterance ??= class { constructor(text) { this.text = text; } };
  });

  await walk.step("what is said is put where the caret is, and not sent", async () => {
    await page.goto(job.url);
    await page.waitForSelector(BUTTON);
    await walk.write(FIELD, "Dear , hello");
    await page.$eval(FIELD, (one) => one.setSelectionRange(5, 5));
    await walk.clean();
    await walk.shot("1-microphone");
    await page.click(BUTTON);
    await isPhase("recording");
    await walk.sees(".dictation-clock", "0:01");
    await walk.clean();
    await walk.shot("2-recording");
    await page.click(BUTTON);
    await holds("Dear spoken words , hello");
    await isPhase("idle");
    if (await page.$("article.message")) throw new Error("it was sent");
    const [[kind, size], ...more] = await heard();
    if (!/^audio\/(webm|ogg)$/.test(kind) || size < 500 || more.length) throw new Error(JSON.stringify([kind, size, more]));
  });

  await walk.step("Escape sends nothing", async () => {
    await page.click(BUTTON);
    await isPhase("recording");
    await page.keyboard.press("Escape");
    await isPhase("idle");
    if ((await heard()).length !== 1 || (await value()) !== "Dear spoken words , hello") throw new Error(await value());
  });

  await walk.step("a provider that refuses is heard in its own words, and asked again", async () => {
    await walk.ask("says", 400, { error: { message: "Audio file is too short." } });
    await speak();
    await walk.sees(".toast", "Audio file is too short.");
    if ((await value()) !== "Dear spoken words , hello") throw new Error(await value());
    await walk.clean();
    await walk.shot("3-refused");
    await walk.ask("says", 200, { text: "again" });
    await walk.press("Try again", ".toast button");
    await page.waitForFunction((css) => document.querySelector(css).value.includes("again"), {}, FIELD);
  });

  await walk.step("no words, and no microphone", async () => {
    await walk.ask("says", 200, { text: " " });
    await speak();
    await walk.sees(".toast", "No words were heard");
    for (const [name, words] of [["NotAllowedError", "may not use the microphone"], ["NotFoundError", "No microphone was found"], ["NotReadableError", "another program"]]) {
      await page.evaluate((one) => { navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException("no", one)); }, name);
      await page.click(BUTTON);
      await walk.sees(".toast", words);
      await isPhase("idle");
    }
    await page.reload();
    await page.waitForSelector(BUTTON);
  });

  await walk.step("what is as long as a recording may be is written down, said once", async () => {
    await page.evaluate(() => {
      globalThis.MediaRecorder = class {
        static isTypeSupported() { return true; }
        state = "inactive";
        mimeType = "audio/webm";
        start() {
          this.state = "recording";
          setTimeout(() => this.ondataavailable({ data: new Blob([new Uint8Array((25 << 20) - 65536 + 1)]) }));
        }
        stop() {
          this.state = "inactive";
          queueMicrotask(() => { this.ondataavailable({ data: new Blob(["end"]) }), this.onstop(); }); // as browsers do
        }
      };
    });
    await walk.ask("says", 200, { text: "long" });
    await page.click(BUTTON);
    await page.waitForFunction((css) => document.querySelector(css).value.includes("long"), {}, FIELD);
    const told = await page.$$eval(".toast", (all) => all.filter((one) => one.textContent.includes("as long as")).length);
    if (told !== 1) throw new Error(`told ${told} times`);
    await page.reload();
    await page.waitForSelector(BUTTON);
  });

  await walk.step("words for a session that was left are in its draft", async () => {
    await empty();
    await walk.send("Tell me of cats");
    await walk.says("That is all");
    await walk.ask("says", 200, { text: "for the cats" });
    await page.click(BUTTON);
    await isPhase("recording");
    await walk.sees(".dictation-clock", "0:01");
    await walk.press("New session", ".side button");
    await page.click(BUTTON);
    await walk.sees(".toast", "is in the draft of");
    if (await value()) throw new Error(await value());
    await walk.press("Cats", ".side button, .side a");
    await holds("for the cats");
    await empty();
  });

  await walk.step("an answer is read aloud, without code and addresses, and stopped", async () => {
    const menu = async () => {
      await page.hover("article.message[data-role=assistant]");
      await page.click("article.message[data-role=assistant] .message-actions [aria-label=More]");
    };
    await menu();
    await walk.sees(".menu", "Read aloud");
    await walk.clean();
    await walk.shot("4-menu");
    await walk.press("Read aloud", ".menu button");
    for (const words of ["Cats", "A cat sleeps.", "See the guide.", "That is all."]) {
      await page.waitForFunction((wanted) => globalThis.spoken.at(-1)?.[0] === wanted, {}, words);
      await page.evaluate(() => speechSynthesis.last.onend());
    }
    const all = await page.evaluate(() => globalThis.spoken);
    if (JSON.stringify(all).includes("secretCode") || all.some(([, lang]) => !lang.startsWith("en"))) throw new Error(JSON.stringify(all));
    await menu();
    await walk.press("Read aloud", ".menu button");
    await page.waitForFunction(() => globalThis.spoken.at(-1)?.[0] === "Cats");
    await menu();
    await walk.press("Stop reading", ".menu button");
    await page.waitForFunction(() => globalThis.spoken.at(-1) === "cancel");
    await walk.send("/read");
    await page.waitForFunction(() => globalThis.spoken.at(-1)?.[0] === "Cats");
    await walk.press("New session", ".side button");
    await page.waitForFunction(() => globalThis.spoken.at(-1) === "cancel");
  });

  await walk.step("on a phone, in the dark, in Chinese", async () => {
    await page.setViewport({ width: 390, height: 780, hasTouch: false });
    await walk.shot("5-phone");
    await page.click(BUTTON);
    await isPhase("recording");
    await walk.sees(".dictation-clock", "0:01");
    await walk.clean();
    await walk.shot("6-phone-recording");
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    if (wide) throw new Error("wider than the screen");
    await page.keyboard.press("Escape");
    await page.evaluate(() => { for (const [name, value] of [["theme", "dark"], ["language", "zh"]]) localStorage.setItem(`yaa.setting ${name}`, JSON.stringify(value)); });
    await page.reload();
    await page.waitForSelector(`${BUTTON}[aria-label=语音输入]`);
    await page.click(BUTTON);
    await isPhase("recording");
    await walk.sees(".dictation-clock", "0:01");
    await walk.clean();
    await walk.shot("7-phone-dark");
    await page.setViewport({ width: 1280, height: 800 });
    await walk.shot("8-dark");
    await page.keyboard.press("Escape");
    await isPhase("idle");
  });

  await walk.step("a server that is gone takes nothing along", async () => {
    await walk.send("/dictate");
    await isPhase("recording");
    await walk.write(FIELD, "kept");
    await walk.ask("gone");
    await page.click(BUTTON);
    await walk.sees(".toast", "无法连接服务器");
    await holds("kept");
  });
});
