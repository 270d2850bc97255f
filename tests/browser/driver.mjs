/**
 * A page in a browser, and the few verbs a walk is written in.
 *
 * The walk talks to the test that asked for it in lines of JSON: out go `{step, ms}`, `{ask}` and at
 * the end `{done, …}`; an `ask` (cut the line, restart the server) is answered by one line in.
 * Everything the page complains about is kept with the step it happened in.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { hover, press } from "./press.mjs";
import "./wait.mjs";

/** What the test says: jobs, and the answers to what their walks ask for. */
export const input = createInterface({ input: process.stdin });
export const lines = input[Symbol.asyncIterator]();

/** How long a page may take for one thing, on this machine today. */
export let PATIENCE_MS = 40_000;

const COMPOSER = "form.composer textarea";
const ANSWERS = "article.message[data-role=assistant]";

/**
 * A page reloads itself, and is loaded. Firefox's own command fails where a frame is just being loaded, such as that which
 * registers the service worker: the end of the frame is taken for that of the new page.
 */
async function reloadByItself(page) {
  await page.evaluate(() => {
    globalThis.isBeforeReload = true;
    setTimeout(() => location.reload());
  });
  await page.waitForFunction(() => !globalThis.isBeforeReload && document.readyState === "complete");
}

/**
 * A page whose presses land where they are aimed (press.mjs), whose fields are written in at once, but for the last letter,
 * and which is looked at when what is looked at is there.
 */
function withAim(page) {
  const { $eval: read, focus } = page;
  page.$eval = async (css, ...rest) => {
    await page.waitForSelector(css);
    return read.call(page, css, ...rest);
  };
  page.focus = async (css) => {
    await page.waitForSelector(css);
    return focus.call(page, css);
  };
  page.click = (css, options) => press(page, { css }, options);
  page.hover = (css) => hover(page, { css });
  const { type } = page;
  page.type = async (css, words, options) => {
    if (options?.delay) return type.call(page, css, words, options);
    await page.waitForFunction((one) => {
      const field = document.querySelector(one);
      field?.focus();
      return field && document.activeElement === field;
    }, {}, css);
    await write(page, words);
  };
  return page;
}

/** In a page before its scripts: it hears no other tab while it has `isDeaf`. */
export function canBeDeaf() {
  const { BroadcastChannel } = globalThis;
  globalThis.BroadcastChannel = class extends BroadcastChannel {
    addEventListener(kind, callback) {
      super.addEventListener(kind, (event) => globalThis.isDeaf || callback(event));
    }
  };
}

/**
 * In a page before its scripts: each late part comes 300 to 1,500 ms later, by the seed, and so in another order.
 * The patience of the kernel with each begins before.
 */
function comeLate(seed) {
  const { append } = Element.prototype;
  Element.prototype.append = function (...nodes) {
    const [part] = nodes;
    if (this !== document.head || part?.localName !== "script") return append.apply(this, nodes);
    let ms = seed;
    for (const letter of part.getAttribute("src") ?? "") ms = (ms * 31 + letter.codePointAt(0)) % 1201;
    setTimeout(() => append.apply(this, nodes), 300 + ms);
  };
}

/** Writes where the focus is: the last character by its key, what is before it at once, as each key has the page laid out. */
async function write(page, words) {
  const last = [...words].at(-1) ?? "";
  const before = words.slice(0, words.length - last.length);
  // A key of a line may do something.
  const isAtOnce = !before.includes("\n") && (await page.evaluate((text) => document.execCommand("insertText", false, text), before));
  await page.keyboard.type(isAtOnce ? last : words);
}

class Walk {
  /** @type {{step: string, text: string}[]} */
  complaints = [];
  #step = "start";

  constructor(job, context, downloads) {
    Object.assign(this, { job, context, downloads, browser: context.browser() });
  }

  /** A fresh tab, watched from its first moment. */
  async newPage() {
    const opened = await this.context.newPage();
    const page = (this.page = withAim(opened));
    page.setDefaultTimeout(PATIENCE_MS);
    page.on("console", (message) => {
      if (message.type() === "error") this.#complain(`${message.text()} ${message.location()?.url ?? ""}`);
    });
    // Who leaves in the middle of something is asked: here they mean it.
    page.on("dialog", (dialog) => dialog.type() === "beforeunload" && !this.stays && dialog.accept().catch(() => {}));
    page.on("pageerror", (error) => this.#complain(String(error?.stack ?? error)));
    if (this.job.browser === "firefox") page.reload = () => reloadByItself(page);
    if (!this.job.requests) {
      const { on } = page;
      page.on = (kind, ...rest) => {
        if (/^request|^response/.test(kind)) throw new Error(`who hears of a ${kind} is told by WATCHES in walks.py`);
        return on.call(page, kind, ...rest);
      };
    }
    if (this.job.late) await page.evaluateOnNewDocument(comeLate, Number(this.job.late));
    if (this.job.slow > 1) await page.emulateCPUThrottling(this.job.slow);
    if (!this.job.worker) await page.evaluateOnNewDocument(() => { delete Navigator.prototype.serviceWorker; });
    // Most walks are about runs of the page itself; the owner's are kept by the server unless they say otherwise.
    if (!this.job.keeps) await page.evaluateOnNewDocument(() => {
      const { getItem } = Storage.prototype;
      Storage.prototype.getItem = function (name) {
        return getItem.call(this, name) ?? (name === "yaa.settings" ? '{"keep":false}' : null);
      };
    });
    // When a person could begin to type: the first frame that shows an enabled field. Until then each frame is drawn.
    if (this.job.times) await page.evaluateOnNewDocument(() => {
      const look = () => {
        const field = document.querySelector("textarea");
        const usable = field && field.getClientRects().length && !field.disabled;
        if (usable) globalThis.typableMs = performance.now();
        else requestAnimationFrame(look);
      };
      if (globalThis === top) requestAnimationFrame(look);
    });
    // Over plain HTTP to another machine a link asks before it signs in: the walks there are about other things.
    if (this.job.url?.startsWith("http://yaa.test")) {
      await page.evaluateOnNewDocument(() => {
        const press = () => [...document.querySelectorAll("dialog[open] button:enabled")].find((one) => one.textContent === "Use the link’s key")?.click();
        new MutationObserver(press).observe(document, { attributeFilter: ["disabled"], subtree: true });
      });
    }
    return page;
  }

  #complain(text) {
    if (!isAbandoned(text)) this.complaints.push({ step: this.#step, text: text.trim() });
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
      const text = await this.page.evaluate(words).catch(() => "(the page is gone)");
      const [, place] = /([\w-]+\.mjs(?:\?\d+)?:\d+)/.exec(String(error?.stack).replace(/^.*(?:driver|press|wait)\.mjs.*$/gm, "")) ?? [];
      throw new Error(`step "${name}"${place ? ` at ${place}` : ""}: ${error?.message ?? error}${error?.cause ? ` (${error.cause.message})` : ""}\nthe page says: ${text.length > 1500 ? `${text.slice(0, 300)} … ${text.slice(-1200)}` : text}`);
    }
  }

  /** From the next page on, the texts of files that it saves are in `savedFiles`. */
  async keepSaved() {
    await this.page.evaluateOnNewDocument(() => {
      const make = URL.createObjectURL;
      globalThis.savedFiles = [];
      URL.createObjectURL = (blob) => (blob.text().then((text) => globalThis.savedFiles.push(text)), make(blob));
    });
  }

  /** Has the test do something to the world, and waits until it is done. */
  async ask(what, ...given) {
    say({ ask: what, given });
    return JSON.parse((await lines.next()).value);
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

  /** A picture for people, in the folder of the job: of what went wrong, and where they are asked for, of Chromium; Firefox takes some seconds for each. */
  async shot(name) {
    await this.rest();
    const isShot = this.job.browser === "chromium" && this.job.shoots;
    if (!isShot && !name.startsWith("failed")) return;
    const path = join(this.job.shots, `${this.job.label}-${name}.png`);
    await this.page.screenshot({ path });
  }

  async text(selector) {
    return this.page.$eval(selector, (element) => element.innerText);
  }

  /** Waits until an element's text contains the words. */
  async sees(selector, words) {
    await this.page.waitForFunction(
      (css, wanted) => [...document.querySelectorAll(css)].some((el) => (el.innerText || el.textContent).includes(wanted)),
      {},
      selector,
      words,
    );
  }

  /** Presses the first visible button (or what the selector names) that says these words. */
  async press(words, selector = "button") {
    return press(this.page, { css: selector, words });
  }

  /** Holds files over an element until the page takes them, then lets go; each is [name, text, whether the text is base64]. */
  async drop(selector, ...files) {
    const send = (type) => this.page.waitForFunction(
      (css, all, kind) => {
        const target = document.querySelector(css);
        if (!target) return false;
        const dataTransfer = new DataTransfer();
        const bytes = (text) => Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
        for (const [name, text, packed] of all) dataTransfer.items.add(new File([packed ? bytes(text) : text], name));
        return !target.dispatchEvent(new DragEvent(kind, { dataTransfer, bubbles: true, cancelable: true }));
      },
      {},
      selector,
      files,
      type,
    );
    await send("dragover");
    await send("drop");
  }

  /** Switches keys without a modifier on; until then they are letters of the message. */
  async singleKeys() {
    await this.page.waitForFunction(() => globalThis.yaa?.use("ui/commands").list().length > 0);
    await this.page.evaluate(() => globalThis.yaa.use("ui/commands").context().actions.set({ keys: "on" }));
  }

  /** Writes into a field, in place of what is there, and leaves it. A dialog may be on its way in: nothing is aimed at. */
  async fill(selector, value) {
    const field = await this.page.waitForSelector(selector, { visible: true });
    await field.evaluate((el) => (el.focus(), el.select()));
    await this.type(value);
    await this.page.keyboard.press("Tab");
  }

  /** Writes where the focus is. */
  async type(words) {
    await write(this.page, words);
  }

  /** Asks the model from the field, as a person does. */
  async send(words) {
    await this.page.click(COMPOSER);
    await this.type(words);
    await this.page.evaluate((css) => document.querySelectorAll(css).forEach((one) => { one.isBeforeSend = true; }), ANSWERS);
    await this.page.keyboard.press("Enter");
  }

  /** Waits until the last answer, which was not there when something was sent, has these words, and nothing is running. */
  async says(words) {
    await this.page.waitForFunction(
      (wanted, css) => {
        const last = [...document.querySelectorAll(css)].at(-1);
        return !document.querySelector(".feed[aria-busy=true]") && last && !last.isBeforeSend && last.innerText.includes(wanted);
      },
      {},
      words,
      ANSWERS,
    );
  }

  /** Writes into a field, in place of what is there, and stays in it. */
  async write(selector, words) {
    await this.page.waitForSelector(selector, { visible: true });
    await this.page.focus(selector);
    await this.page.keyboard.down("Control");
    await this.page.keyboard.press("a");
    await this.page.keyboard.up("Control");
    await this.type(words);
  }

  /**
   * Nobody is shut out: fails with what axe-core finds wrong for people who use the page with other means than eyes and
   * mouse. In Chromium alone: elements, roles, names and colours are the same in both, and this takes seconds each time.
   * `colours`: by them alone, where only they are others than at the last look.
   */
  async clean(where = "the page", { colours = false } = {}) {
    if (this.job.browser !== "chromium") return;
    await this.rest();
    const look = () => this.page.evaluate(findWrong, [...CLEAN], colours ? { type: "rule", values: ["color-contrast", "link-in-text-block"] } : null);
    const load = () => this.page.evaluate(`${readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8")}; undefined`);
    const { found, clean } = (await look()) ?? (await load(), await look());
    clean.forEach((part) => CLEAN.add(part));
    if (found.length) throw new Error(`${where}: ${found.join("\n")}`);
  }
}

/** Parts of pages in which axe-core found nothing wrong, by `findWrong`, in all walks of this process. */
const CLEAN = new Set();

/**
 * In the page: what axe-core finds wrong. A part of the page that was clean before, in the same place, at the same width and
 * in the same colours, also in the page of another walk, is not looked at again. `runOnly`: the rules. Null: axe-core is not here yet.
 */
async function findWrong(before, runOnly) {
  const known = new Set(before);
  const isBehind = Boolean(document.querySelector("dialog[open], :popover-open"));
  const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  const tag = (element) => element.cloneNode(false).outerHTML;
  // What the browser passes over, axe does too.
  const isPassedOver = (element) => element.checkVisibility() && !element.checkVisibility({ contentVisibilityAuto: true });
  const unseen = [...document.querySelectorAll("body *")].filter(isPassedOver);
  const [exclude, parts] = [[], []];
  const page = [location.pathname, innerWidth, innerHeight, isBehind, isDark, runOnly?.values, tag(document.documentElement)].join();
  /** 53 bits of a text. */
  const hash = (text) => {
    let [a, b] = [0xdeadbeef, 0x41c6ce57];
    for (let i = 0; i < text.length; i++) {
      a = Math.imul(a ^ text.charCodeAt(i), 2654435761);
      b = Math.imul(b ^ text.charCodeAt(i), 1597334677);
    }
    return 4294967296 * (2097151 & b) + (a >>> 0);
  };
  const look = (element, place) => {
    const part = hash(`${place}${element.outerHTML}`);
    if (known.has(part)) return exclude.push(element);
    if (!unseen.some((one) => element.contains(one))) parts.push(part);
    for (const child of element.children) if (child.firstElementChild) look(child, place + tag(element));
  };
  look(document.body, page);
  if (exclude.includes(document.body)) return { found: [], clean: [] };
  if (!globalThis.axe) return null;
  const context = { include: [document.documentElement], ...(exclude.length ? { exclude } : {}) };
  const { violations } = await globalThis.axe.run(context, { resultTypes: ["violations"], ...(runOnly ? { runOnly } : {}) });
  const found = violations.map(({ id, help, nodes }) => `${id}: ${help} (${nodes.map((n) => n.target).join(" ").slice(0, 300)})`);
  return { found, clean: found.length ? [] : parts };
}

/** In the page: what a person reads, also in parts of it that are closed to its scripts' selectors. */
function words() {
  const inside = [...document.querySelectorAll("*")].filter((one) => one.shadowRoot).map((one) => [...one.shadowRoot.children].map((el) => el.innerText).join("\n"));
  return [document.body.innerText, ...inside].join("\n");
}

function say(message) {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

/** @type {{job: object, context: object, downloads: string}} what the next walk is given */
let given;

/** Sets the job, the browser context and the folder of downloads for the module that is loaded next. */
export function give(job, context, downloads) {
  given = { job, context, downloads };
  PATIENCE_MS = job.patience_ms;
}

/** Runs a walk to its end, whatever happens, and says what came of it. A walk's module calls this once. */
export async function main(walk) {
  const opened = new Walk(given.job, given.context, given.downloads);
  let error = "";
  try {
    await opened.newPage();
    await walk(opened, given.job);
  } catch (problem) {
    error = String(problem?.stack ?? problem);
  }
  done(error, opened.complaints);
}

/** Firefox says so when a page goes while the worker brings it a file of its version. */
const isAbandoned = (text) => /Failed to load .\S+\/v\/\w+\/\S+. A ServiceWorker intercepted the request and encountered an unexpected error/.test(text);

export function done(error, complaints = []) {
  say({ done: true, complaints, error });
}
