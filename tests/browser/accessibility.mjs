/**
 * Every screen for everybody: axe-core in both themes, 320 pixels wide, without motion, by names and roles, and what a
 * screen reader is told while a run goes on. The job: {url, other, key}; `other` is a second server with its key.
 */
import { main } from "./driver.mjs";
import { put, session } from "./sample-session.mjs";

const COMPOSER = "form.composer textarea";
const TABS = ["server", "model", "tools", "limits", "look", "storage", "folders"];

/** The app's own commands, as the palette runs them. */
const command = (page, id, ...rest) => page.evaluate((name, more) => { yaa.use("ui/commands").run(name, ...more); }, id, rest);
const ground = (page) => page.waitForFunction(() => { try { return Boolean(yaa.use("ui/storage-notices").context()) } catch { return false } });
const closed = async (page) => {
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !document.querySelector("dialog[open]"));
};

await main(async (walk, job) => {
  const { page } = walk;
  const settings = (changes) => page.evaluate((wanted) => yaa.use("ui/storage-notices").context().actions.set(wanted), changes);
  const tab = (name) => page.evaluate((wanted) => yaa.use("ui/storage-notices").context().actions.openSettings(wanted), name);

  /** Name → how to get there; each ends with Escape. */
  const SCREENS = {
    ...Object.fromEntries(TABS.map((name) => [`settings, ${name}`, async () => {
      await tab(name);
      await page.waitForFunction((wanted) => document.querySelector(`dialog[open] :is([data-tab=${wanted}][aria-selected=true], [data-part=${wanted}][open])`), {}, name);
      if (name === "storage") await page.waitForSelector("dialog[open] section h3");
      if (name === "server") await page.waitForSelector("dialog[open] .servers li");
      if (name === "limits") await heard(page, "at most 1,000 at this server");
    }])),
    palette: async () => { await command(page, "palette"); await page.waitForSelector("dialog[open]"); },
    keys: async () => { await command(page, "keys"); await page.waitForSelector("dialog[open]"); },
    export: async () => { await command(page, "session.export"); await page.waitForSelector("dialog[open]"); },
    branches: async () => { await command(page, "session.tree"); await page.waitForSelector("dialog[open] .path-row"); },
    limits: async () => { await command(page, "session.limits"); await walk.sees("dialog[open] .limit-rows", "at most 1,000 at this server"); },
    prompts: async () => { await command(page, "prompts"); await page.waitForSelector("dialog[open]"); },
    preview: async () => {
      await page.evaluate(async () => { await yaa.load("artifact"); yaa.use("ext/artifact/preview").open("<h1>Hi</h1>", "html"); });
      await page.waitForSelector("dialog.artifact iframe");
    },
    "another server": async () => {
      await page.evaluate(async (url, key) => {
        const { app, actions } = yaa.use("ui/storage-notices").context();
        app.settings.keepKey(url, key);
        app.settings.set("servers", [url]);
        (await yaa.part("server-list")).moveSession(url, actions);
      }, job.other, job.otherKey);
      await page.waitForFunction(() => document.querySelector("dialog[open] .differences"));
    },
  };

  await walk.step("open", async () => {
    await page.goto(job.url);
    await page.waitForSelector(COMPOSER, { visible: true });
    await page.waitForSelector(".side .dot.good");
    await ground(page);
    await walk.clean("empty");
  });

  await walk.step("names and roles", async () => {
    const found = await page.evaluate(() => ({
      main: document.querySelectorAll("main").length,
      named: [...document.querySelectorAll("button, a[href], input, textarea, select, iframe, [role=button]")]
        .filter((el) => el.getClientRects().length && el.checkVisibility() && !(el.innerText || el.getAttribute("aria-label") || el.getAttribute("aria-labelledby") || el.title || el.labels?.length))
        .map((el) => el.outerHTML.slice(0, 120)),
      small: [...document.querySelectorAll("button")].filter((el) => {
        const { width, height } = el.getBoundingClientRect();
        return width && (width < 24 || height < 24) && getComputedStyle(el).display !== "inline" && !el.classList.contains("skip");
      }).map((el) => el.outerHTML.slice(0, 120)),
      feed: document.querySelector("[role=feed], .feed")?.getAttribute("aria-label"),
      live: [...document.querySelectorAll("[aria-live]")].map((el) => el.id || el.className),
    }));
    if (found.main !== 1 || found.named.length || found.small.length) throw new Error(JSON.stringify(found, null, 1));
  });

  await walk.step("what a screen reader is told", async () => {
    await page.evaluate(() => {
      globalThis.told = [];
      for (const id of ["status", "alarm"]) {
        const el = document.getElementById(id);
        new MutationObserver(() => el.textContent && globalThis.told.push(`${id}: ${el.textContent}`)).observe(el, { childList: true, characterData: true, subtree: true });
      }
    });
    await page.type(COMPOSER, "Hello");
    await page.keyboard.press("Enter");
    await walk.sees(".ask", "Allow ");
    const focus = await page.evaluate(() => document.activeElement?.localName);
    if (focus !== "textarea") throw new Error(`the focus was taken to ${focus}`);
    const inside = await page.evaluate(() => [...document.querySelectorAll(".feed [aria-live]:not([aria-live=off])")].length);
    if (inside) throw new Error("streamed text is in a live region");
    await page.waitForFunction(() => globalThis.told.some((one) => /^status: .*(?:approv|allow|ask|wait)/i.test(one)));
    const told = await page.evaluate(() => globalThis.told);
    if (told.length > 4) throw new Error(`too much is said: ${told.join(" | ")}`);
    const article = await page.evaluate(() => {
      const last = [...document.querySelectorAll("article.message")].at(-1);
      return { busy: last.getAttribute("aria-busy"), name: last.getAttribute("aria-label") ?? last.getAttribute("aria-labelledby") ?? last.querySelector("h2, h3, h4")?.textContent };
    });
    if (article.busy === "true" || !article.name) throw new Error(JSON.stringify(article));
    await walk.clean("asked");
    return { told };
  });

  await walk.step("a session that has everything", async () => {
    await put(page, session());
    await page.waitForFunction(() => document.querySelectorAll("article.message").length > 3);
    await ground(page);
    await walk.clean("session");
  });

  for (const theme of ["light", "dark"]) {
    await walk.step(`every screen, ${theme}`, async () => {
      await settings({ theme });
      const how = { colours: theme === "dark" };
      await walk.clean("session", how);
      for (const [name, open] of Object.entries(SCREENS)) {
        await open();
        await walk.clean(name, how);
        await walk.shot(`${theme}-${name.replace(/\W+/g, "-")}`);
        await closed(page);
      }
    });
  }

  await walk.step("320 pixels", async () => {
    await page.setViewport({ width: 320, height: 640 });
    for (const [name, open] of Object.entries(SCREENS)) {
      await open();
      await walk.rest();
      const wide = await page.evaluate(() => {
        const outside = [...document.querySelectorAll("dialog[open] *")].filter((el) => {
          const { right, width } = el.getBoundingClientRect();
          const scrolls = (one) => one && (/auto|scroll|hidden/.test(getComputedStyle(one).overflowX) ? one.localName !== "dialog" : scrolls(one.parentElement?.closest("dialog *")));
          return width && right > innerWidth + 1 && !scrolls(el);
        });
        return [document.documentElement.scrollWidth > innerWidth ? "the page scrolls" : "", ...outside.map((el) => el.outerHTML.slice(0, 100))].filter(Boolean);
      });
      if (wide.length) throw new Error(`${name}: ${wide.join("\n")}`);
      await closed(page);
    }
    const cut = await page.evaluate(() => {
      const title = document.querySelector(".top h1, .top h2")?.getBoundingClientRect().width ?? 0;
      const send = document.querySelector(".composer .send").getBoundingClientRect().right;
      const over = send - document.querySelector(".composer").getBoundingClientRect().right;
      const names = [...document.querySelectorAll(".composer-bar .select:not([hidden], .mode, .permission)")].map((one) => one.getBoundingClientRect().width).filter(Boolean);
      document.querySelector(".top-title").textContent = "long".repeat(50);
      const squares = [...document.querySelectorAll(".top .button.square")].map((one) => one.getBoundingClientRect()).filter(({ height }) => height);
      return { title, over, narrow: names.filter((width) => width < 60).length, squeezed: squares.filter(({ width, height }) => width < height - 1).length };
    });
    if (cut.title < 60 || cut.over > 0 || cut.narrow || cut.squeezed) throw new Error(JSON.stringify(cut));
    await walk.shot("320");
    await page.setViewport({ width: 1280, height: 800 });
  });

  await walk.step("without motion", async () => {
    if (job.browser !== "chromium") return; // Firefox's protocol cannot say that none is wanted
    await page.emulateMediaFeatures([{ name: "prefers-reduced-motion", value: "reduce" }]);
    await tab("look");
    const moving = await page.evaluate(() => document.getAnimations().filter((one) => one.playState === "running" && one.effect.getComputedTiming().duration > 20).map((one) => one.animationName ?? one.transitionProperty));
    await closed(page);
    if (moving.length) throw new Error(moving.join());
  });

  await walk.step("the session goes on at the other server", async () => {
    await SCREENS["another server"]();
    await walk.sees("dialog[open] .differences", "max_steps");
    await walk.press("Continue there", "dialog[open] button");
    await walk.sees(".side", new URL(job.other).host);
    await page.waitForFunction((url) => yaa.use("ui/storage-notices").context().app.server.state().url === url && yaa.use("ui/storage-notices").context().app.server.state().ok, {}, job.other);
    await page.click(COMPOSER);
    await page.type(COMPOSER, "Hello again");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => [...document.querySelectorAll("article.message")].some((one) => one.innerText.includes("Hello again")));
    await walk.sees("article.message", "Welcome to yaa");
    await page.click("button.gauge");
    await walk.sees(".gauge-panel", "/ 7"); // as far as this server lets it
  });
});

/** What is said of the first field of the limits, beside its name. */
function heard(page, words) {
  return page.waitForFunction((wanted) => {
    const field = document.querySelector("dialog[open] [data-part=limits][open] input");
    return document.getElementById(field?.getAttribute("aria-describedby"))?.innerText === wanted;
  }, {}, words);
}
