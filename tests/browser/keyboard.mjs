/**
 * Everything with the keyboard alone: no pointer, and nothing that a script presses. Wherever a key leads, the focus is
 * somewhere, can be seen, and comes back when a dialog closes. The model is the scripted one of the benchmark.
 * Keys follow one another as soon as the page has answered to the one before: who types fast loses none, and none lands
 * elsewhere. Waited for is only what a person would look at first. The job: {url, key, browser, file}.
 */
import { main } from "./driver.mjs";

const MOST_TABS = 120;

await main(async (walk, job) => {
  const { page } = walk;
  const { keyboard } = page;

  /** What has the focus: its element, its name, whether that can be seen. */
  const held = () => page.evaluate(() => {
    const el = document.activeElement;
    const label = el.labels?.[0]?.textContent ?? el.ariaLabel ?? document.getElementById(el.getAttribute("aria-labelledby"))?.textContent ?? "";
    const style = getComputedStyle(el);
    const ring = (one) => one.outlineStyle !== "none" && parseFloat(one.outlineWidth) >= 1;
    // a field may show it on the box around it
    const box = el.closest("form.composer, .field-icon, .field");
    const { left, top, width, height } = el.getBoundingClientRect();
    const at = document.elementFromPoint(left + Math.min(width / 2, 8), top + Math.min(height / 2, 8));
    return {
      tag: el.localName, name: `${label} ${el.innerText ?? ""} ${el.title ?? ""}`.replace(/\s+/g, " ").trim(), within: el.closest("dialog, .ask, article, nav, form, aside")?.className ?? "",
      here: document.hasFocus(),
      seen: el.matches(".skip") || ring(style) || // (.skip is there only while it has the focus)
      Boolean(box && (ring(getComputedStyle(box)) || getComputedStyle(box).boxShadow !== "none" || getComputedStyle(box).borderColor !== getComputedStyle(document.body).borderColor)),
      covered: Boolean(width > 4 && at && !el.contains(at) && !at.contains(el) && !el.closest("label")?.contains(at) && top >= 0 && top < innerHeight),
    };
  });

  const press = async (...keys) => {
    for (const one of keys) {
      const parts = one.split("+");
      const last = parts.pop();
      for (const part of parts) await keyboard.down(part);
      await keyboard.press(last);
      for (const part of parts.reverse()) await keyboard.up(part);
    }
  };

  /** Tab until what has the focus has this name, and is in a place whose class has these words. */
  const tabTo = async (words, { back = false, within = "" } = {}) => {
    const way = [];
    for (let n = 0; n < MOST_TABS; n += 1) {
      const now = await held();
      // there Firefox has bars of its own, and its protocol presses keys in the page alone
      if (!now.here) throw new Error(`the way to “${words}” leads out of the page: ${way.join(" → ")}`);
      if (n && now.tag !== "body" && !now.seen) throw new Error(`its focus cannot be seen: ${JSON.stringify(now)}`);
      // what stands over a field that has just grown moves with the next frame
      if (n && now.covered && (await page.evaluate(() => new Promise(requestAnimationFrame)), (await held()).covered)) throw new Error(`it is covered: ${JSON.stringify(now)}`);
      if (now.name.includes(words) && now.within.includes(within) && now.tag !== "body") return now;
      way.push(`${now.tag} ${now.name.slice(0, 30)} (${now.within})`);
      await press(back ? "Shift+Tab" : "Tab");
    }
    throw new Error(`no way to “${words}” in “${within}”: ${way.join(" → ")}`);
  };

  const has = async (words, what) => {
    await page.waitForFunction((wanted) => {
      const el = document.activeElement;
      return `${el.labels?.[0]?.textContent ?? ""} ${el.ariaLabel ?? ""} ${el.innerText} ${el.placeholder ?? ""} ${el.localName}.${el.className}`.includes(wanted);
    }, {}, words).catch(async () => { throw new Error(`${what ?? words}: the focus is at ${JSON.stringify(await held())}`); });
  };
  const kept = async (what) => {
    await page.waitForFunction(() => document.activeElement !== document.body).catch(() => { throw new Error(`${what}: the focus is lost`); });
  };
  const atRest = () => page.waitForFunction(() => !document.querySelector(".feed[aria-busy=true], article[aria-busy=true]"));
  const answered = async (tokens) => {
    await page.waitForFunction((wanted) => {
      const last = [...document.querySelectorAll("article.message")].at(-1);
      return (last?.textContent.match(/@\d+@/g) ?? []).length === wanted && !document.querySelector(".feed[aria-busy=true]");
    }, {}, tokens);
    await kept("an answer");
  };
  /** As fast as the keys go: each is pressed as soon as the page has answered to the one before. */
  const palette = async (words) => {
    await press("Control+k");
    await keyboard.type(words);
    await press("Enter");
  };
  /** With the arrows, in a list of tabs or a menu. */
  const arrowTo = async (words) => {
    for (let n = 0; n < 20; n += 1) {
      if (await page.evaluate((wanted) => document.activeElement.innerText.includes(wanted), words)) return;
      await press("ArrowDown");
    }
    throw new Error(`the arrows do not lead to ${words}: ${JSON.stringify(await held())}`);
  };
  const choose = async (words) => {
    await page.waitForSelector("[role=menu]");
    await arrowTo(words);
    await press("Enter");
  };
  const say = async (words) => {
    await tabTo("Message");
    await has("textarea");
    await keyboard.type(words);
    await press("Enter");
  };

  await talk();
  await around();

  async function talk() {
    await walk.step("sign in", async () => {
      await page.goto(job.url);
      await walk.sees(".failure", "The server needs a key");
      // all that comes while the page is idle
      await page.waitForFunction(() => {
        try {
          for (const name of ["ext/search/find-bar", "ui/branch-actions", "ui/attachments", "ui/settings"]) yaa.use(name);
        } catch {
          return false;
        }
        return ["mode", "inspect.time"].every((id) => yaa.use("ui/commands").table().some((one) => one.id === id));
      });
      await tabTo("Key", { within: "inline-row" });
      await keyboard.type(job.key);
      await press("Enter");
      await page.waitForSelector(".side .dot.good");
      await has("textarea", "after signing in");
    });

    await walk.step("write and send", async () => {
      await say("bench tokens=3 delay_us=0");
      await answered(3);
      await has("textarea", "after sending");
    });

    await walk.step("allow, with other arguments", async () => {
      await say('bench tokens=4 delay_us=0 tool=datetime{"zone":"UTC"}');
      await walk.sees(".ask", "Allow datetime?");
      await has("textarea", "a question takes no focus");
      await tabTo("Edit arguments", { back: true, within: "ask" });
      await press("Enter");
      await has("zone", "the editor");
      await press("Control+a");
      await keyboard.type("Asia/Tokyo");
      await tabTo("Allow once", { within: "ask" });
      await press("Enter");
      await answered(4);
      const args = await page.evaluate(() => Object.values(yaa.use("ui/commands").context().app.current.session.calls).at(-1).args);
      if (args?.zone !== "Asia/Tokyo") throw new Error(JSON.stringify(args));
    });

    await walk.step("deny, with a reason", async () => {
      await say('bench tokens=5 delay_us=0 tool=datetime{}');
      await walk.sees(".ask", "Allow datetime?");
      await tabTo("Deny", { back: true, within: "ask" });
      await press("Enter");
      await has("Why not?");
      await press("Escape");
      await has("Deny", "back from the reason");
      await press("Enter");
      await keyboard.type("Not now");
      await press("Enter");
      await answered(5);
      await page.waitForFunction(() => document.querySelector(".card.tool[data-state=denied]"));
    });

    await walk.step("answer a question", async () => {
      await say('bench tokens=6 delay_us=0 tool=ask_user{"question":"Which one?"}');
      await walk.sees(".ask", "Which one?");
      await palette("Go to what waits for an answer");
      await has("ask", "the card");
      await tabTo("Your answer", { within: "ask" });
      await keyboard.type("The second");
      await press("Enter");
      await answered(6);
    });

    await walk.step("the buttons of a message are one stop, and a list of headings tells the messages apart", async () => {
      const heads = await page.$$eval(".feed h3:not([hidden])", (all) => all.map((one) => one.ariaLabel));
      if (heads[0] !== "You: bench tokens=3 delay_us=0" || heads.filter((one) => /^yaa: @\d+@ /.test(one)).length !== 4 || heads.filter((one) => one === "yaa: datetime").length !== 2) throw new Error(heads.join("; "));
      await tabTo("Message");
      const stops = [];
      while (await page.evaluate(() => !document.activeElement.closest("article:first-child .message-actions"))) {
        await press("Shift+Tab");
        stops.push(await page.evaluate(() => (document.activeElement.closest(".message-actions") ? document.activeElement.closest("article").id : "")));
        if (stops.length > MOST_TABS) throw new Error(stops.join(" "));
      }
      const rows = stops.filter(Boolean);
      if (rows.length !== 8 || new Set(rows).size !== rows.length) throw new Error(rows.join(" "));
      const names = [];
      for (const key of ["ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft", "ArrowLeft", "ArrowLeft"]) {
        await press(key);
        names.push((await held()).name.split(" ")[0]);
      }
      if (names.join() !== "Edit,More,More,Edit,Copy,Copy") throw new Error(names.join());
    });

    await walk.step("edit a message and continue", async () => {
      await tabTo("Message");
      await tabTo("Copy", { back: true, within: "message" });
      for (let n = 0; !(await page.evaluate(() => document.activeElement.closest("article")?.dataset.role === "user")); n += 1) {
        await press("Shift+Tab");
        await tabTo("Copy", { back: true, within: "message" });
        if (n > 5) throw new Error("no way to the message of the user");
      }
      await press("ArrowRight");
      await has("Edit");
      await press("Enter");
      await has("textarea", "the editor");
      await press("Control+a");
      await keyboard.type("bench tokens=7 delay_us=0");
      await press("Enter");
      await answered(7);
      await walk.sees(".switch", "2/2");
    });

    await walk.step("switch branches", async () => {
      await tabTo("Message");
      await tabTo("Previous branch", { back: true });
      await press("Enter");
      await walk.sees(".switch", "1/2");
      await has("Previous branch", "the switch keeps the focus");
      await tabTo("Next branch");
      await press(" ");
      await walk.sees(".switch", "2/2");
      await has("Next branch", "the switch keeps the focus");
    });

    await walk.step("fork into a session of its own", async () => {
      await tabTo("Copy", { back: true, within: "message" });
      await press("ArrowRight", "ArrowRight", "ArrowRight");
      await has("More");
      await press("Enter");
      await page.waitForSelector("[role=menu]");
      await press("Escape");
      await page.waitForFunction(() => !document.querySelector("[role=menu]"));
      await has("More", "the menu closes");
      await press("Enter");
      await choose("New session from here");
      await walk.sees(".top-title", "(copy)");
      await kept("a fork");
    });

  }

  async function around() {
    await walk.step("two sessions", async () => {
      for (const tokens of [9, 3]) {
        await tabTo("New session", { back: true, within: "side" });
        await press("Enter");
        await keyboard.type(`bench tokens=${tokens} delay_us=0`);
        await press("Enter");
        await answered(tokens);
      }
    });

    await walk.step("search, and open what is found", async () => {
      await press("Control+Shift+f");
      await keyboard.type("tokens=9");
      await walk.sees(".hit mark", "tokens=9");
      await has("Search all sessions");
      await tabTo("You bench tokens=9", { within: "side" });
      // what is found is drawn again, as it is while more of it is read
      await page.evaluate(() => document.querySelector(".side-search").dispatchEvent(new Event("input")));
      await press("Enter");
      await page.waitForFunction(() => document.activeElement.closest("article")?.textContent.includes("tokens=9")).catch(async () => { throw new Error(`the focus is at ${JSON.stringify(await held())}`); });
      await press("Control+Shift+f", "Escape");
      await page.waitForFunction(() => !document.querySelector(".hit")?.checkVisibility());
    });

    await walk.step("find in this chat", async () => {
      await palette("Find in this session");
      await keyboard.type("tokens=9");
      await press("Enter");
      await walk.sees(".find-bar", "1 of 1");
      await press("Escape");
      await kept("the find bar");
    });

    await walk.step("the sheet of keys, and back", async () => {
      await tabTo("Message");
      await palette("Keys");
      await walk.sees("dialog[open] .key-list", "From button to button of a message");
      await press("Escape");
      await page.waitForFunction(() => !document.querySelector("dialog[open]"));
      await has("textarea", "back from the dialog");
    });

    await walk.step("change a setting", async () => {
      await palette("Settings");
      await page.waitForSelector("dialog[open] [role=tab]");
      await arrowTo("Appearance");
      await tabTo("System", { within: "dialog" });
      await press("ArrowRight", "ArrowRight");
      await page.waitForFunction(() => getComputedStyle(document.documentElement).colorScheme === "dark");
      await press("Escape");
      await page.waitForFunction(() => !document.querySelector("dialog[open]"));
      await has("textarea", "back from the settings");
      await tabTo("Settings", { back: true, within: "side" });
      await press("Enter");
      await page.waitForSelector("dialog[open] [role=tab]");
      await press("Escape");
      await page.waitForFunction(() => !document.querySelector("dialog[open]"));
      await has("Settings", "back at the button of the settings");
      await tabTo("Message");
    });

    await walk.step("export", async () => {
      await palette("Export this session");
      await page.waitForSelector("dialog[open] .dialog-foot");
      await page.evaluate(() => {
        const make = URL.createObjectURL;
        globalThis.saved = 0;
        URL.createObjectURL = (blob) => (globalThis.saved += 1, make(blob));
      });
      await tabTo("Save", { within: "dialog" });
      await press("Enter");
      await page.waitForFunction(() => globalThis.saved === 1 && !document.querySelector("dialog[open]"));
      await has("textarea", "back from the export");
    });

    await walk.step("the inspector and its tabs", async () => {
      await palette("What the model sees");
      await page.waitForSelector(".inspector [role=tab][aria-selected=true]");
      const names = [];
      for (let n = 0; n < 6; n += 1) {
        names.push(await page.evaluate(() => document.activeElement.innerText));
        await press("ArrowRight");
      }
      if (new Set(names).size !== 6) throw new Error(names.join());
      await press("Tab");
      await kept("into the panel");
      await press("Escape");
      await page.waitForFunction(() => !document.querySelector(".inspector"));
      await has("textarea", "back from the inspector");
    });

    await walk.step("attach a file, as far as keys go", async () => {
      await tabTo("Attach files", { within: "composer" });
      if (job.browser !== "chromium") return; // Firefox's protocol does not hand over the file dialog
      const coming = page.waitForFileChooser();
      await page.evaluate(() => 0); // a key may overtake the word that the dialog is wanted, and the browser then opens its own
      await press("Enter");
      await (await coming).accept([job.file]);
      await page.waitForFunction(() => document.querySelector("form.composer")?.textContent.includes("notes.txt"));
      await has("textarea", "after choosing a file");
      await tabTo("notes.txt", { back: true, within: "composer" });
      await press("Enter");
      await page.waitForFunction(() => !document.querySelector("form.composer")?.textContent.includes("notes.txt"));
      await kept("the file is taken out");
    });

    await walk.step("rename and delete in the list, with a way back", async () => {
      await tabTo("More about", { back: true, within: "side" });
      await press("Enter");
      await choose("Rename");
      await has("Session title");
      await press("Control+a");
      await keyboard.type("Named with keys");
      await press("Enter");
      await walk.sees(".row-title", "Named with keys");
      await kept("a new name");
      await tabTo("More about “Named", { within: "side" });
      await press("Enter");
      await choose("Delete");
      await walk.sees(".toast", "Deleted");
      await kept("a deletion");
      await tabTo("Undo");
      await press("Enter");
      await walk.sees(".row-title", "Named with keys");
      await kept("an undo");
    });

    await walk.step("what goes away hands the focus on before the next key", async () => {
      const found = await page.evaluate(async () => {
        const held = () => document.activeElement.dataset.here ?? document.activeElement.localName;
        const made = {};
        const make = (host) => {
          const box = document.createElement("div");
          const [one, two] = [document.createElement("button"), document.createElement("button")];
          Object.entries({ box, one, two }).forEach(([name, el]) => { el.dataset.here = name; });
          box.append(one, two);
          host.append(box);
          one.focus();
          return { box, one };
        };
        const inside = (does) => { const at = make(document.querySelector("main .column")); at.box.tabIndex = -1; return does(at), at.box; };
        const cases = {
          removed: () => inside(({ one }) => one.remove()),
          hidden: () => inside(({ one }) => { one.hidden = true; }),
          disabled: () => inside(({ one }) => { one.disabled = true; }),
          moved: () => inside(({ box, one }) => box.append(one)),
          "all of it": () => inside(({ box }) => box.remove()),
          left: () => inside(({ box, one }) => { one.blur(); box.append("more"); }),
          "gone when it was left": () => inside(({ box, one }) => { one.blur(); box.append("more"); queueMicrotask(() => one.remove()); }),
          "in a dialog": () => {
            const dialog = document.createElement("dialog");
            document.body.append(dialog);
            dialog.showModal();
            make(dialog).one.remove();
            return dialog;
          },
        };
        for (const [name, does] of Object.entries(cases)) {
          const used = does();
          await null;
          made[name] = held();
          used.remove();
        }
        return made;
      });
      const wanted = {
        removed: "box", hidden: "box", disabled: "box", moved: "one", "all of it": "textarea",
        left: "body", "gone when it was left": "body", "in a dialog": "two",
      };
      if (JSON.stringify(found) !== JSON.stringify(wanted)) throw new Error(JSON.stringify(found));
    });

    await walk.step("stop a run", async () => {
      await tabTo("New session", { back: true, within: "side" });
      await press("Enter");
      await keyboard.type("bench tokens=3000 delay_us=20000");
      await press("Enter");
      await page.waitForFunction(() => /@\d+@/.test(document.querySelector("article.message[data-role=assistant]")?.innerText ?? ""));
      await tabTo("Stop", { within: "composer" });
      await press("Enter");
      await walk.sees(".status-line", "Stopped.");
      await atRest();
      await kept("a stop");
      await say("bench tokens=3000 delay_us=20000");
      await page.waitForFunction(() => /@\d+@/.test([...document.querySelectorAll("article.message[data-role=assistant]")].at(-1)?.innerText ?? "") && document.querySelector(".feed[aria-busy=true]"));
      await press("Control+.");
      await atRest();
      await walk.sees(".status-line", "Stopped.");
    });
  }
});
