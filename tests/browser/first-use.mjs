/**
 * A newcomer's first minute: a server without any settings, its built-in demo model, and only what
 * the page itself offers to press. The job: {url}.
 */
import { main } from "./driver.mjs";
import { watchMoves } from "./layout-shift.mjs";

await main(async (walk, job) => {
  const { page } = walk;
  const moves = await watchMoves(page);
  /** What can be pressed on the screen and is too small for a finger. Links in a text are as tall as its lines. */
  const small = async (screen) => {
    const all = await page.evaluate(() => {
      const root = document.querySelector("dialog[open], .menu:popover-open") ?? document;
      const pressed = [...root.querySelectorAll("button, select, summary, .button, .input, .check, [role=option]")];
      return pressed.filter((one) => one.checkVisibility({ visibilityProperty: true }) && !one.closest(".link, .cite, .note-link, .skip, .sr-only")).map((one) => {
        const { width, height } = one.getBoundingClientRect();
        return [one.ariaLabel ?? one.textContent.trim().slice(0, 40), Math.ceil(width), Math.ceil(height)];
      }).filter(([, width, height]) => height < 44 || width < 44);
    });
    if (all.length) throw new Error(`${screen}: ${JSON.stringify(all)}`);
  };

  /** All that comes late is there, and nothing that could be pressed before has moved. */
  const stands = async () => {
    await walk.sees(".connect-card", "Paste a key");
    await page.waitForSelector(".files-button:not([hidden])");
    await page.waitForSelector(".permission:not([hidden])");
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(() => requestAnimationFrame(() => setTimeout(resolve))))));
    const all = await moves();
    if (all.length) throw new Error(all.join("\n"));
    await walk.shot(`0-first-${await page.evaluate(() => innerWidth)}`);
  };

  await walk.step("open the link that the server printed", async () => {
    await page.goto(job.url);
    await page.waitForSelector(".side .dot.good");
    await walk.sees("form.composer .badge", "emo");
  });

  await walk.step("what comes late moves nothing that can be pressed", stands);

  await walk.step("press a suggestion", async () => {
    await walk.press("Say hello", ".empty button");
    await page.waitForSelector(".card.tool[data-state=done]");
    await walk.sees(".ask", "Allow ");
    await walk.sees(".desk-button", "1");
    await walk.sees("article.message", "Welcome to yaa");
    const all = (await moves()).filter((one) => /^button.*More about this session/.test(one));
    if (all.length) throw new Error(`a count has moved it: ${all.join("\n")}`);
    await walk.shot("1-approval");
  });

  await walk.step("no barriers while something is asked", () => walk.clean());

  await walk.step("approve", async () => {
    await walk.press("Allow once", ".ask button");
    await walk.sees(".ask", "Which part of yaa");
    await walk.shot("2-question");
  });

  await walk.step("answer", async () => {
    await page.type(".ask textarea, .ask input", "All of it 好");
    await walk.press("Answer", ".ask button.primary");
    await walk.sees("article.message", "That was the tour");
    await page.waitForFunction(() => !document.querySelector(".feed[aria-busy=true]"));
    await walk.shot("3-end");
  });

  await walk.step("nothing sticks out of the column", async () => {
    const wide = await page.evaluate(() => {
      const edge = document.querySelector(".feed").getBoundingClientRect().right + 1;
      const scrolls = (el) => el && (getComputedStyle(el).overflowX === "auto" || scrolls(el.parentElement?.closest("article *")));
      const range = document.createRange();
      const out = [];
      for (const el of document.querySelectorAll("article.message *")) {
        range.selectNodeContents(el);
        if (range.getBoundingClientRect().right > edge && !scrolls(el)) out.push(el.tagName + " " + el.textContent.slice(0, 60));
      }
      return out;
    });
    if (wide.length) throw new Error(wide.join("\n"));
  });

  await walk.step("it is all there after a reload", async () => {
    const before = await page.$$eval("article.message", (all) => all.length);
    await page.reload();
    await walk.sees("article.message", "That was the tour");
    const after = await page.$$eval("article.message", (all) => all.length);
    if (after !== before) throw new Error(`${before} messages before, ${after} after`);
    if (await page.$(".ask")) throw new Error("something is asked again");
  });

  await walk.step("made anew, as for another language, it is right before the next frame", async () => {
    const shown = await page.evaluate(() => {
      yaa.use("ui/commands").context().app.mount();
      return [...document.querySelectorAll(".top button")].filter((one) => one.checkVisibility()).map((one) => one.ariaLabel ?? one.textContent);
    });
    if (shown.includes("New session") || !shown.includes("More about this session")) throw new Error(shown.join());
  });

  await walk.step("no barriers at the end", () => walk.clean());

  await walk.step("no barriers in the settings", async () => {
    await walk.press("Settings");
    await page.waitForSelector("dialog[open] [data-tab=model][aria-selected=true]"); // the connection works, so it is not what is looked for
    await walk.clean();
    await walk.press("This browser", "dialog [role=tab]");
    await walk.press("Connection", "dialog[open] summary");
    await walk.sees("dialog[open]", "commands run in"); // how well closed, in words and not by a letter
    await walk.clean();
    await walk.press("Close", "dialog button");
  });

  await walk.step("on a phone", async () => {
    await page.setViewport({ width: 390, height: 844, isMobile: true, hasTouch: true }); // in Chromium the page is loaded again
    await page.waitForFunction(() => document.documentElement.scrollWidth <= innerWidth);
    await walk.shot("4-phone");
    const isTouch = await page.evaluate(() => matchMedia("(pointer: coarse)").matches); // Firefox's protocol cannot make it so
    if (isTouch) await small("the thread");
    await page.goto("about:blank");
    await page.goto(job.url.split("#")[0]);
    await stands();
    if (isTouch) {
      await small("the first screen");
      await page.click(".top > button");
      await page.waitForSelector(".app[data-drawer=open]");
      await small("the sessions");
      await page.click(".scrim", { offset: { x: 380, y: 400 } });
      await page.waitForSelector(".app[data-drawer=closed]");
      await page.click(".top-meter > button[aria-haspopup=menu]");
      await page.waitForSelector(".menu:popover-open button");
      await small("the menu");
      await page.keyboard.press("Escape");
      for (const tab of ["model", "tools", "storage", "folders"]) {
        await page.evaluate((name) => yaa.use("ui/commands").context().actions.openSettings(name), tab);
        await page.waitForSelector(`dialog[open] [data-tab=${tab}][aria-selected=true]`);
        await small(`the settings, ${tab}`);
        await walk.shot(`4-phone-${tab}`);
        await page.keyboard.press("Escape");
        await page.waitForSelector("dialog[open]", { hidden: true });
      }
    }
    await page.setViewport({ width: 1280, height: 800 });
  });

  if (job.browser !== "chromium") return; // Firefox's protocol cannot say which colours are wanted
  await walk.step("in the dark", async () => {
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
    await walk.clean();
    await walk.shot("5-dark");
  });
});
