/**
 * What a walk waits for is looked at when the page changes, and ten times a second. A walk that names a module of the
 * client waits until it is there: late parts come when the browser has time.
 *
 * The driver's library looks in every frame, and has the page drawn sixty times a second for it, by the processor.
 */
import { Frame } from "puppeteer-core/internal/api/Frame.js";
import { Realm } from "puppeteer-core/internal/api/Realm.js";
import { stringifyFunction } from "puppeteer-core/internal/util/Function.js";

/** In the page: what `look` finds, or what it found last when `ms` are over, if there is such a limit. */
async function wait(look, ms) {
  const kinds = ["input", "change", "focusin", "focusout", "toggle", "load", "scroll"];
  const end = ms ? performance.now() + ms : Infinity;
  let wake = () => {};
  const change = () => wake();
  const observer = new MutationObserver(change);
  observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  for (const kind of kinds) addEventListener(kind, change, true);
  try {
    for (;;) {
      const found = await look();
      if (found || performance.now() > end) return found;
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, 100);
        // Not at each of many changes: a look may have the page laid out.
        wake = () => (clearTimeout(timer), (wake = () => {}), setTimeout(resolve, 10));
      });
    }
  } finally {
    observer.disconnect();
    for (const kind of kinds) removeEventListener(kind, change, true);
  }
}

const { waitForFunction } = Realm.prototype;

Realm.prototype.waitForFunction = function (look, options = {}, ...args) {
  const { polling = "raf", timeout = this.timeoutSettings.timeout() } = options;
  if (polling !== "raf") return waitForFunction.call(this, look, options, ...args);
  const looks = typeof look === "string" ? `() => (${look})` : stringifyFunction(look);
  const found = `(${haveBegun})(${JSON.stringify(modulesOf(looks))}) && (${looks})(...args)`;
  return waitForFunction.call(this, new Function("...args", `return (${wait})(() => ${found}, ${timeout})`), options, ...args);
};

/** In the page: whether these modules are there and have begun; a page of somebody else has none. */
function haveBegun(names) {
  return !globalThis.yaa?.use || names.every((name) => {
    try {
      const { context } = yaa.use(name);
      return !context || Boolean(context());
    } catch (error) {
      return !/is not defined\. Is its script on the page/.test(error.message);
    }
  });
}

/** The modules that `work` names, without what it loads itself. */
function modulesOf(work) {
  const text = String(work);
  return text.includes("yaa.load(") ? [] : [...text.matchAll(/yaa\.use\("([^"]+)"\)/g)].map(([, name]) => name);
}

const { evaluate } = Frame.prototype;

Frame.prototype.evaluate = async function (work, ...args) {
  const names = modulesOf(work);
  if (names.length && !(await evaluate.call(this, haveBegun, names))) await this.waitForFunction(haveBegun, {}, names).catch(() => {}); // then it says itself what is missing
  return evaluate.call(this, work, ...args);
};
