/**
 * What there is to see of a run: pictures of tool calls, the gauge, the inspector's tabs, the time slider, the desk.
 * First with a session that has seen everything, then with a run of the built-in demo. The job: {url}.
 */
import { main } from "./driver.mjs";
import { asking, openGroups, put, session } from "./sample-session.mjs";

/** What each card shows once it is open, by the name of its tool. */
const PICTURES = [
  ["list_files", ".tree .node", 6], ["read_file", ".code.numbered .gutter", 1], ["search_files", ".found-line[data-hit]", 2],
  ["edit_file", ".diff-row mark", 2], ["write_file", ".diff-row[data-kind=added]", 3], ["shell", ".badge.bad", 1], ["python", ".notice[data-tone=ask]", 1],
  ["forecast", ".grid tbody tr", 2], ["fetch_url", ".page-head a", 1], ["chart", ".handed > li", 3],
];
const TABS = ["context", "waterfall", "compare", "checks", "json", "desk"];

await main(async (walk, job) => {
  const { page } = walk;
  const count = (css) => page.$$eval(css, (all) => all.length);
  const expect = (wanted, found, what) => {
    if (wanted !== found) throw new Error(`${what}: expected ${wanted}, found ${found}`);
  };

  await walk.step("open a session that has everything", async () => {
    await page.goto(job.url);
    const other = session({ id: "seen-2", title: "First try" });
    other.messages.splice(3, 2);
    const own = session();
    for (const one of [...own.messages, ...other.messages]) if (["t1", "t5"].includes(one.id)) one.content += " ".repeat(50_000);
    await put(page, own, other);
    await page.waitForSelector(".gauge:not([hidden])");
  });

  await walk.step("pictures of tool calls", async () => {
    await walk.singleKeys();
    await openGroups(page);
    await page.$$eval(".card.tool details", (all) => all.forEach((one) => (one.open = true)));
    await page.waitForFunction((wanted) => document.querySelectorAll(".tool-parts").length === wanted, {}, 11);
    await page.waitForSelector(".handed");
    for (const [tool, css, wanted] of PICTURES) {
      const found = await page.$$eval(".card.tool", (cards, name, inner) => {
        const card = cards.find((one) => one.querySelector(".tool-name").textContent === name);
        return card.querySelectorAll(inner).length;
      }, tool, css);
      expect(wanted, found, `${tool} ${css}`);
    }
    await has(page, ".notice[data-tone=bad]", "allowed 1024, observed 1042");
    // in its own colours, also beside the notices over the message field
    await page.waitForFunction(() => { try { return Boolean(yaa.use("ui/storage-notices").context()) } catch { return false } });
    const plain = await page.$eval(".notice[data-tone=bad]", (one) => getComputedStyle(one).backgroundColor === getComputedStyle(one.closest(".card")).backgroundColor);
    if (plain) throw new Error("what must not be overlooked looks like everything else");
    await has(page, ".tool-gist", "exit 1");
    await walk.clean();
    await walk.shot("1-tools");
  });

  await walk.step("the JSON of a call is in its menu", async () => {
    const card = await page.$eval(".card.tool:has(.tool-parts > .picture) .call-edits button", (el) => (el.closest(".card").id = "looked-at"));
    const looks = async (words) => {
      await walk.press("More", `#${card} .call-edits button`);
      await walk.press(words, ".menu button");
    };
    await looks("Show as JSON");
    await page.waitForFunction((id) => !document.querySelector(`#${id} .tool-parts > .picture`), {}, card);
    await looks("Show as picture");
    await page.waitForSelector(`#${card} .tool-parts > .picture`);
  });

  await walk.step("marks of compactions", async () => {
    await has(page, ".marker", "24,000 → 9,500");
    await page.$$eval(".marker", (all) => all.forEach((one) => (one.open = true)));
    await has(page, ".marker", "2 results replaced by a placeholder");
    await has(page, ".marker", "does not know: rewind");
    await page.reload();
    await page.waitForSelector(".gauge:not([hidden])");
  });

  await walk.step("the gauge opens", async () => {
    await page.click(".gauge");
    await walk.sees(".gauge-panel", "Tool results");
    await walk.sees(".gauge-panel", "12 / 20");
    await walk.shot("2-gauge");
    await walk.clean();
    const parts = await page.$$eval(".gauge-panel .gauge-stack i", (all) => all.map((one) => getComputedStyle(one).backgroundColor));
    if (new Set(parts).size !== 5 || parts.includes("rgba(0, 0, 0, 0)")) throw new Error(`parts of one colour: ${parts}`);
    const tones = await page.evaluate(() => {
      const { app } = yaa.use("ui/commands").context();
      const { session } = app.current;
      const { used } = yaa.use("core/context").contextUsage(session, app.server.info());
      return [0.5, 0.75, 0.95].map((share) => {
        const view = yaa.use("ext/inspector/context-gauge").gaugeView({ app }, () => {});
        document.querySelector(".gauge-place").after(view.el);
        view.update({ whole: true, session: { ...session, config: { ...session.config, yaa: { ...session.config?.yaa, max_context: Math.round(used / share) } } } });
        const gauge = view.el.querySelector(".gauge");
        const found = [gauge.dataset.tone ?? "", getComputedStyle(gauge).color];
        view.el.remove();
        return found;
      });
    });
    if (tones.map(([tone]) => tone).join() !== ",ask,bad" || new Set(tones.map(([, colour]) => colour)).size !== 3) throw new Error(JSON.stringify(tones));
    await page.keyboard.press("Escape");
  });

  for (const [n, tab] of TABS.entries()) {
    await walk.step(`the ${tab} tab`, async () => {
      if (!n) await key(page, "g", "c");
      else await page.keyboard.press("ArrowRight");
      await page.waitForSelector(`[role=tab][aria-selected=true][id$="${tab}"]`);
      if (tab === "context") expect(2, await count('.lens li[data-lens="stub"]'), "placeholders");
      if (tab === "waterfall") expect(1, await count('.bars li[data-kind="human"]'), "waits");
      if (tab === "compare") {
        await page.waitForSelector(".totals");
        await walk.press("First difference", ".inspect-view button");
        expect("added", await page.evaluate(() => document.activeElement.dataset.op), "the first difference");
        await page.focus(`[role=tab][aria-selected=true]`);
      }
      if (tab === "checks") {
        const found = await page.$$eval(".findings li", (all) => all.map((one) => one.innerText).filter((one) => one.includes("characters")));
        if (found.length !== 1 || !/5\d,\d{3} characters is sent/.test(found[0])) throw new Error(`a placeholder is sent in place of the first: ${found}`);
      }
      if (tab === "json") await walk.sees(".json", "messages");
      await walk.shot(`3-${tab}`);
      await walk.clean();
    });
  }

  await walk.step("the panel stands beside the conversation, not over it", async () => {
    const [side, main, panel] = await page.$$eval(".side, .main, .inspector", (all) => all.map((one) => one.getBoundingClientRect().toJSON()));
    const row = [side.right <= main.left + 1, main.right <= panel.left + 1, main.width > 400, panel.width > 400, panel.top === 0, panel.right <= 1281];
    if (row.includes(false)) throw new Error(`where things are: ${row} ${JSON.stringify([side, main, panel])}`);
  });

  await walk.step("search in the JSON", async () => {
    await page.keyboard.press("ArrowLeft");
    await page.waitForSelector(".inspect-view input[type=search]");
    await page.type(".inspect-view input[type=search]", "hog");
    await walk.sees(".json", "arguments");
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => !document.querySelector(".inspector"));
  });

  await walk.step("the time slider: step, turn, play", async () => {
    await page.evaluate(() => document.activeElement?.blur());
    await key(page, "g", "t");
    await page.waitForSelector(".time input");
    const whole = await count("article.message");
    await page.keyboard.press("Home");
    await page.waitForFunction(() => !document.querySelector("article.message"));
    await page.keyboard.press("]");
    await walk.sees("article.message", "Make the amounts");
    expect(true, await page.$eval("form.composer", (one) => one.inert), "the composer is out of reach");
    await page.waitForSelector(".message-actions");
    expect(1, await page.$$eval(".message-actions button", (all) => all.filter((one) => one.checkVisibility()).length), "all one can do is copy");
    expect(false, await page.$eval(".time-band", (one) => one.hidden), "the band");
    await walk.shot("4-past");
    await walk.clean();
    await page.keyboard.press("[");
    await page.waitForFunction(() => !document.querySelector("article.message"));
    await page.keyboard.down("Shift");
    await page.keyboard.press("]");
    await page.keyboard.up("Shift");
    await walk.sees(".time-where", "Event 1 of");
    await page.select(".time select", "16");
    await page.focus(".time input");
    await page.keyboard.press(" ");
    await page.waitForFunction((wanted) => document.querySelectorAll("article.message").length === wanted && document.querySelector(".time-band").hidden, {}, whole);
    expect(false, await page.$eval("form.composer", (one) => one.inert), "now can be written to");
  });

  await walk.step("what was written at an earlier moment was not cut off", async () => {
    const cut = await page.$eval(".time input", async (one) => {
      for (let n = 0; n < one.max; n += 3) {
        one.value = String(n);
        one.dispatchEvent(new Event("input"));
        await new Promise(requestAnimationFrame);
        if (document.querySelector(".cut-note, [data-state=cut]")) return n;
      }
      return "never";
    });
    expect("never", cut, "cut off at event");
  });

  await walk.step("fork in the past", async () => {
    const middle = await page.$eval(".time input", (one) => {
      one.value = String(Math.round(one.max / 2));
      one.dispatchEvent(new Event("input"));
      return one.value;
    });
    await walk.press("Fork here", ".time button");
    await walk.sees(".top-title", `(from event ${middle})`);
    if (await page.$(".time")) throw new Error("the slider stays");
    if (await page.$('.main[data-past="true"]')) throw new Error("still in the past");
  });

  await walk.step("what a call would change is seen before it is allowed", async () => {
    await put(page, asking("seen-3", "edit_file", { path: "a.py", old: "x = 1\ny = 2", new: "x = 1\r\ny = 3\u202e", replace_all: true }));
    await page.waitForSelector(".ask .diff-row");
    const shown = await page.$eval(".ask", (one) => one.textContent);
    for (const words of ["a.py", "y = 2", "␍", "\\u{202e}", "replace_all"]) if (!shown.includes(words)) throw new Error(`${words} is not in ${shown}`);
    await walk.clean();
    await walk.shot("5-before");
    await page.evaluate(async () => {
      const store = await globalThis.yaa.use("io/store-idb").open();
      await store.delete("seen-3");
      store.close();
    });
    await page.goto(page.url().split("#")[0]);
    await page.reload();
    await page.waitForSelector(".empty");
  });

  await walk.step("approve from the desk, in another session", async () => {
    await walk.press("New session", ".side button");
    await walk.press("Say hello", ".empty button");
    await walk.sees(".ask", "Allow ");
    await walk.press("New session", ".side button");
    await page.waitForFunction(() => document.title.startsWith("(1) "));
    await page.click(".desk-button");
    await walk.sees(".desk .ask", "Allow ");
    await walk.shot("5-desk");
    await walk.clean();
    await walk.press("Allow once", ".desk .ask button");
    await walk.sees(".desk .ask", "Which part of yaa");
    await page.type(".desk .ask textarea, .desk .ask input", "All of it");
    await walk.press("Answer", ".desk .ask button.primary");
    await walk.sees(".desk-none", "Nothing waits");
    await page.waitForFunction(() => !document.title.startsWith("("));
  });

  await walk.step("a run that was seen is played as it came", async () => {
    await page.click(".inspector [aria-label='Close the inspector']");
    await page.click(".side .row-open");
    await walk.sees("article.message", "That was the tour");
    await atRest(page);
    await page.evaluate(() => document.activeElement?.blur());
    await page.waitForFunction(async () => {
      await globalThis.yaa.part("event-log");
      const id = new URLSearchParams(location.hash.slice(1)).get("s");
      return (await globalThis.yaa.use("ext/time/event-log").load(id)).length >= 2;
    });
    await key(page, "g", "t");
    await page.waitForFunction(() => Number(document.querySelector("#status").textContent.match(/(\d+) of them as they came/)?.[1]) > 20);
    await page.keyboard.press("Home");
    await page.keyboard.press("End");
    await walk.sees("article.message", "That was the tour");
    await page.click(".time [aria-label='Close and return to now']");
  });

  await walk.step("a program shows what it prints while it runs", async () => {
    await walk.press("New session", ".side button");
    await page.click("form.composer textarea");
    // it ends when the test says so: on a slow machine a run of a second would be over before it was seen
    await page.type("form.composer textarea", "shell echo tick 1; until [ -e go ]; do sleep 0.1; done; echo tick 2; exit 3");
    await page.keyboard.press("Enter");
    await walk.press("Allow once", ".ask button");
    await has(page, ".card.tool[data-state=started] .picture", "tick 1");
    await walk.ask("go");
    await page.waitForSelector(".card.tool[data-state=done] details:not([open])"); // at rest it is a line again
    await atRest(page); // an answer that comes in moves what is above it
    await page.click(".card.tool[data-state=done] summary");
    await has(page, ".card.tool[data-state=done] .picture .badge.bad", "exit code 3");
    await has(page, ".card.tool[data-state=done] .picture", "tick 2");
  });

  await walk.step("two sessions of the list, side by side", async () => {
    await page.evaluate(() => globalThis.yaa.use("ui/commands").run("sessions.compare", ["seen-2", "seen-1"]));
    await walk.sees(".top-title", "First try"); // the one that was written last
    await page.waitForFunction(() => document.querySelector(".inspect-view select")?.value === "session seen-1" && document.querySelector(".totals"));
    await page.keyboard.press("Escape");
  });

  await walk.step("what deleted sessions leave behind is forgotten", async () => {
    await page.evaluate(async () => {
      await globalThis.yaa.part("event-log");
      await globalThis.yaa.use("ext/time/event-log").save("ghost", "r", [{ at: 1, event: { type: "RUN_STARTED" } }]);
    });
    await page.reload();
    await page.waitForSelector(".gauge:not([hidden])");
    await page.waitForFunction(async () => {
      await globalThis.yaa.part("event-log");
      return !(await globalThis.yaa.use("ext/time/event-log").load("ghost")).length;
    });
    await page.evaluate(async () => {
      const { app, actions } = globalThis.yaa.use("ui/commands").context();
      const { save } = globalThis.yaa.use("ext/time/event-log");
      await app.sessionStore.restore({ id: "gone", title: "Gone", messages: [{ id: "m", role: "user", content: "Hi" }] });
      await save("gone", "r", [{ at: 1, event: { type: "RUN_STARTED" } }]);
      app.drawNow();
      await actions.remove("gone");
    });
    await page.waitForFunction(async () => !(await globalThis.yaa.use("ext/time/event-log").load("gone")).length);
  });

  await walk.step("another language", async () => {
    await key(page, "g", "h");
    await walk.sees(".inspect-view", "Why it stands still");
    const speak = (language) => page.evaluate((wanted) => {
      const commands = globalThis.yaa.use("ui/commands");
      commands.register({ id: "speak", title: "speak", run: ({ actions }) => actions.set({ language: wanted }) });
      commands.run("speak");
    }, language);
    await speak("zh");
    await page.waitForFunction(() => document.querySelector(".gauge")?.title === "发送给模型的内容" && !document.querySelector(".inspector"));
    await has(page, ".marker", "被压缩");
    await page.evaluate(() => document.activeElement?.blur()); // it went to the message field, from what is gone
    await key(page, "g", "h");
    await walk.sees(".inspect-view", "为什么停在这里");
    await walk.clean();
    await walk.shot("5-zh");
    await speak("en");
    await page.waitForFunction(() => document.querySelector(".gauge")?.title === "What the model is sent" && !document.querySelector(".inspector"));
    await page.evaluate(() => document.activeElement?.blur());
  });

  await walk.step("on a phone, narrow", async () => {
    await page.setViewport({ width: 320, height: 640 });
    await key(page, "g", "w");
    await page.waitForSelector(".bars li");
    await page.waitForFunction(() => document.documentElement.scrollWidth <= innerWidth);
    await walk.rest();
    const edge = await page.$$eval(".inspector .bars, .inspector .legend", (all) => Math.max(...all.map((one) => one.getBoundingClientRect().right)));
    if (edge > 320) throw new Error(`the panel is cut off: ${edge}`);
    await walk.shot("6-phone");
    await walk.clean();
    await page.keyboard.press("Escape");
    await key(page, "g", "t");
    await page.waitForSelector(".time input");
    await page.waitForFunction(() => document.documentElement.scrollWidth <= innerWidth);
    await walk.rest();
    const ends = await page.$$eval(".time button", (all) => Math.max(...all.map((one) => one.getBoundingClientRect().right)));
    if (ends > 320) throw new Error(`the slider is cut off: ${ends}`);
    await walk.shot("7-phone-time");
    await page.click(".time [aria-label='Close and return to now']");
    await page.setViewport({ width: 1280, height: 800 });
  });

  if (job.browser !== "chromium") return; // Firefox's protocol cannot say which colours are wanted
  await walk.step("in the dark", async () => {
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
    await page.reload(); // colours that change where nothing is rendered never come to rest
    await page.waitForSelector(".gauge:not([hidden])");
    await key(page, "g", "w");
    for (let n = 0; n < TABS.length; n += 1) {
      const tab = await page.waitForSelector("[role=tab][aria-selected=true]");
      await walk.clean("in the dark", { colours: true });
      await walk.shot(`8-dark-${await tab.evaluate((one) => one.innerText)}`);
      await page.keyboard.press("ArrowRight");
    }
  });
});

/** Like `sees`, also for what is so far away that the browser does not render it. */
async function has(page, css, words) {
  await page.waitForFunction((selector, wanted) => [...document.querySelectorAll(selector)].some((el) => el.textContent.includes(wanted)), {}, css, words);
}

/** Two keys, one after the other, as a person presses them: sent at once, since the second has to come soon. */
async function key(page, ...keys) {
  await page.waitForFunction((id) => globalThis.yaa.use("ui/commands").list().some((one) => one.id === id), {}, "inspect.time");
  await Promise.all(keys.map((one) => page.keyboard.press(one)));
}

/** No run is on in the session that is shown. */
async function atRest(page) {
  await page.waitForFunction(() => !document.querySelector(".feed[aria-busy=true], article[aria-busy=true]"));
}
