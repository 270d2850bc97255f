/**
 * One browser with one page, and the few verbs a walk is written in.
 *
 * The walk talks to the test that started it in lines of JSON: out go `{step, ms}`, `{ask}` and at
 * the end `{done, …}`; an `ask` (cut the line, restart the server) is answered by one line in.
 * Everything the page complains about is kept with the step it happened in.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import puppeteer from "puppeteer-core";

export const PATIENCE_MS = 40_000;

const COMPOSER = "form.composer textarea";

const CHROMIUM_FLAGS = [
  // No calls home, no first-run pages; English, so that buttons can be found by what they say.
  "--no-first-run", "--disable-background-networking", "--disable-component-update",
  "--disable-sync", "--disable-quic", "--disable-gpu", "--lang=en-US",
  // A plain-http name, as on a LAN: not a secure context, so that half of the browser's functions are missing.
  "--host-resolver-rules=MAP yaa.test 127.0.0.1, MAP lan.yaa.test 127.0.0.1",
  // Its own sandbox needs rights that root in a container does not have.
  ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
];
const FIREFOX_PREFS = {
  // The default of every user. Puppeteer's profile turns it off, and with it much of what file:// forbids.
  "security.fileuri.strict_origin_policy": true,
  "intl.accept_languages": "en-US",
  "network.dns.localDomains": "yaa.test,lan.yaa.test",
  "app.update.disabledForTesting": true,
  "network.captive-portal-service.enabled": false,
  "network.connectivity-service.enabled": false,
  "datareporting.policy.dataSubmissionEnabled": false,
  // It opens with a file that is saved, and takes the focus out of the page.
  "browser.download.alwaysOpenPanel": false,
  "browser.download.folderList": 2,
};

/**
 * @param {{browser: "chromium" | "firefox", executable: string, shots: string, label: string, flags?: string[], prefs?: object, insecure?: boolean, forbidden?: boolean}} job
 *   `flags` of Chromium, `prefs` of Firefox; `insecure`: a certificate that nobody signed is taken;
 *   `forbidden`: the page may store nothing, nor look whether it could
 */
export async function open(job) {
  const profile = mkdtempSync(join(tmpdir(), "yaa-browser-"));
  const isFirefox = job.browser === "firefox";
  const prefs = { ...FIREFOX_PREFS, "browser.download.dir": profile, ...(job.forbidden ? { "network.cookie.cookieBehavior": 2 } : {}), ...job.prefs };
  if (job.forbidden && !isFirefox) {
    mkdirSync(join(profile, "Default"));
    writeFileSync(join(profile, "Default", "Preferences"), JSON.stringify({ profile: { default_content_setting_values: { cookies: 2 } } }));
  }
  const browser = await puppeteer.launch({
    browser: isFirefox ? "firefox" : "chrome",
    executablePath: job.executable,
    headless: true,
    userDataDir: profile,
    defaultViewport: { width: 1280, height: 800 },
    protocolTimeout: PATIENCE_MS * 3,
    acceptInsecureCerts: job.insecure === true,
    downloadBehavior: { policy: "allow", downloadPath: profile },
    ...(isFirefox ? { extraPrefsFirefox: prefs } : { args: [...CHROMIUM_FLAGS, ...(job.flags ?? [])] }),
  });
  const walk = new Walk(job, browser, profile);
  await walk.newPage();
  return walk;
}

class Walk {
  /** @type {{step: string, text: string}[]} */
  complaints = [];
  #step = "start";
  #answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

  constructor(job, browser, profile) {
    Object.assign(this, { job, browser, profile });
  }

  /** A fresh tab, watched from its first moment. */
  async newPage() {
    const page = (this.page = await this.browser.newPage());
    page.setDefaultTimeout(PATIENCE_MS);
    page.on("console", (message) => {
      if (message.type() === "error") this.#complain(`${message.text()} ${message.location()?.url ?? ""}`);
    });
    page.on("pageerror", (error) => this.#complain(String(error?.stack ?? error)));
    // When a person could begin to type: the first frame that shows an enabled field.
    await page.evaluateOnNewDocument(() => {
      const look = () => {
        const field = document.querySelector("textarea");
        const usable = field && field.getClientRects().length && !field.disabled;
        if (usable) globalThis.typableMs = performance.now();
        else requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    });
    return page;
  }

  #complain(text) {
    this.complaints.push({ step: this.#step, text: text.trim() });
  }

  /** One thing a person does, and what comes of it. */
  async step(name, does) {
    this.#step = name;
    const began = performance.now();
    try {
      const found = await does(this.page);
      say({ step: name, ms: Math.round(performance.now() - began), ...(found ?? {}) });
    } catch (error) {
      await this.shot(`failed-${name}`).catch(() => {});
      const text = await this.text("body").catch(() => "(the page is gone)");
      throw new Error(`step "${name}": ${error?.message ?? error}\nthe page says: ${text.slice(0, 1500)}`);
    }
  }

  /** Has the test do something to the world, and waits until it is done. */
  async ask(what, ...given) {
    say({ ask: what, given });
    return JSON.parse((await this.#answers.next()).value);
  }

  /** Waits for what moves to come to rest; a spinner never does, nor does what the browser passes over, perhaps only since we looked. */
  async rest() {
    await this.page.evaluate(async () => {
      const seen = (one) => one.effect?.target?.checkVisibility({ contentVisibilityAuto: true });
      const ends = document.getAnimations().filter((one) => one.effect?.getComputedTiming().endTime < 5000 && seen(one));
      const enough = new Promise((resolve) => setTimeout(resolve, 5000));
      await Promise.race([Promise.allSettled(ends.map((one) => one.finished)), enough]);
    });
  }

  /** A picture for people, in the folder of the job: Firefox takes some seconds for each, and only for what went wrong. */
  async shot(name) {
    await this.rest();
    if (this.job.browser !== "chromium" && !name.startsWith("failed")) return;
    const path = join(this.job.shots, `${this.job.label}-${name}.png`);
    await this.page.screenshot({ path });
  }

  async text(selector) {
    return this.page.$eval(selector, (element) => element.innerText);
  }

  /** Waits until an element's text contains the words. */
  async sees(selector, words) {
    await this.page.waitForFunction(
      (css, wanted) => [...document.querySelectorAll(css)].some((el) => el.innerText.includes(wanted)),
      {},
      selector,
      words,
    );
  }

  /** Presses the first visible button (or what the selector names) that says these words, when it is where it was a moment ago. */
  async press(words, selector = "button") {
    const handle = await this.page.waitForFunction(
      async (css, wanted) => {
        const found = [...document.querySelectorAll(css)].find((el) => {
          const said = `${el.innerText} ${el.getAttribute("aria-label") ?? ""}`;
          return el.getClientRects().length && !el.disabled && said.includes(wanted);
        });
        if (!found) return null;
        const place = () => JSON.stringify(found.getBoundingClientRect());
        found.scrollIntoView({ block: "nearest" });
        const before = place();
        await new Promise((resolve) => setTimeout(resolve, 40));
        return place() === before && found;
      },
      {},
      selector,
      words,
    );
    await handle.asElement().click();
  }

  /** Writes into a field, in place of what is there, and leaves it. A dialog may be on its way in: nothing is aimed at. */
  async fill(selector, value) {
    const field = await this.page.waitForSelector(selector, { visible: true });
    await field.evaluate((el) => (el.focus(), el.select()));
    await this.page.keyboard.type(value);
    await this.page.keyboard.press("Tab");
  }

  /** Asks the model from the field, as a person does. */
  async send(words) {
    await this.page.click(COMPOSER);
    await this.page.type(COMPOSER, words);
    await this.page.keyboard.press("Enter");
  }

  /** Waits until the last answer has these words, and nothing is running. */
  async says(words) {
    await this.page.waitForFunction(
      (wanted) => {
        const last = [...document.querySelectorAll("article.message[data-role=assistant]")].at(-1);
        return !document.querySelector(".feed[aria-busy=true]") && last?.innerText.includes(wanted);
      },
      {},
      words,
    );
  }

  /** Writes into a field, in place of what is there, and stays in it. */
  async write(selector, words) {
    await this.page.waitForSelector(selector, { visible: true });
    await this.page.focus(selector);
    await this.page.keyboard.down("Control");
    await this.page.keyboard.press("a");
    await this.page.keyboard.up("Control");
    await this.page.type(selector, words);
  }

  /**
   * Nobody is shut out: fails with what axe-core finds wrong for people who use the page with other means than eyes and
   * mouse. In Chromium alone: elements, roles, names and colours are the same in both, and this takes seconds each time.
   */
  async clean(where = "the page") {
    if (this.job.browser !== "chromium") return;
    await this.rest();
    if (!(await this.page.evaluate(() => "axe" in globalThis))) {
      await this.page.evaluate(`${readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8")}; undefined`);
    }
    const found = await this.page.evaluate(async () => {
      const { violations } = await globalThis.axe.run(document, { resultTypes: ["violations"] });
      return violations.map(({ id, help, nodes }) => `${id}: ${help} (${nodes.map((n) => n.target).join(" ").slice(0, 300)})`);
    });
    if (found.length) throw new Error(`${where}: ${found.join("\n")}`);
  }

  async close(result) {
    await this.browser.close().catch(() => {});
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
    say({ done: true, complaints: this.complaints, ...result });
  }
}

function say(message) {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

/** Runs a walk to its end, whatever happens, and lets the process go. */
export async function main(walk) {
  const job = JSON.parse(process.argv[2]);
  const opened = await open(job);
  let error = "";
  try {
    await walk(opened, job);
  } catch (problem) {
    error = String(problem?.stack ?? problem);
  }
  await opened.close({ error });
  process.exit(0);
}
