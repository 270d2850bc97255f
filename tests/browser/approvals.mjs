/**
 * What a run asks, and every way to answer: changed arguments, a reason, a rule, a pause of all
 * rules, limits; what is written meanwhile; sessions that are not kept. The job: {url}; ask: go.
 */
import { main } from "./driver.mjs";
import { asking, put } from "./sample-session.mjs";

const COMPOSER = "form.composer textarea";

await main(async (walk, job) => {
  const { page } = walk;

  await walk.step("arguments are changed in a form and as JSON, after a reload", async () => {
    await page.goto(job.url);
    await page.waitForSelector(".side .dot.good");
    await walk.send("shell echo one");
    await walk.sees(".ask", "Allow shell?");
    await page.reload();
    await walk.sees(".ask", "Allow shell?");
    await walk.press("Edit arguments", ".ask button");
    await page.waitForSelector(".ask .value-field input");
    const fonts = await page.$$eval(".ask .value-field input, .ask .args dt", (all) => all.map((one) => getComputedStyle(one).fontFamily));
    if (new Set(fonts).size !== 1) throw new Error(`code is not edited in its own font: ${fonts}`);
    await walk.write(".ask .value-field input", "echo two");
    await walk.press("As JSON", ".ask button");
    const json = await page.$eval(".ask .value-field textarea", (area) => area.value);
    if (JSON.parse(json).command !== "echo two") throw new Error(json);
    await walk.write(".ask .value-field textarea", '{"command": "echo three"}');
    await walk.shot("1-edit-arguments");
    await walk.clean();
    await walk.press("Allow once", ".ask button");
    await walk.says("three");
  });

  await walk.step("denied, with the reason", async () => {
    await walk.send("shell echo no");
    await walk.press("Deny", ".ask button");
    await page.waitForSelector(".ask .ask-actions input", { visible: true });
    await page.type(".ask .ask-actions input", "not today");
    await page.keyboard.press("Enter");
    await walk.says("not today");
  });

  await walk.step("a rule made from a call", async () => {
    await walk.send("shell echo four");
    await walk.press("More choices", ".ask button");
    await walk.shot("2-menu");
    await walk.press("Make a rule", ".menu button");
    const pattern = await page.$eval(".rule-row .mono", (input) => input.value);
    if (pattern !== "echo four") throw new Error(pattern);
    await walk.press("Cancel", ".rule button");
    await walk.press("More choices", ".ask button");
    await walk.press("Make a rule", ".menu button");
    if (await page.$eval(".rule-row .mono", (field) => field.value) !== "echo four") throw new Error("not the narrowest rule");
    await walk.write(".rule-row .mono", "ls *");
    await walk.sees(".rule", "This call itself does not match.");
    if (!(await page.$eval(".rule .button.primary", (one) => one.disabled))) throw new Error("a rule that misses its call can be made");
    await walk.write(".rule-row .mono", "echo *");
    await walk.sees(".rule", "Would also have matched 2 earlier calls.");
    await walk.shot("3-rule");
    await walk.clean();
    const buttons = await page.$$eval(".rule .ask-actions button", (all) => all.map((one) => one.innerText));
    if (buttons.join() !== "Allow such calls,Cancel") throw new Error(buttons.join()); // what allows denies nothing
    await walk.press("Allow such calls", ".rule button");
    await walk.says("four");
    await walk.send("shell echo five");
    await walk.says("five");
  });

  await walk.step("a pause asks about everything, and forgets nothing", async () => {
    await walk.send("shell ls");
    await walk.press("More choices", ".ask button");
    await walk.press("Pause all automatic approval", ".menu button");
    await walk.sees(".note", "Automatic approval is paused");
    await walk.press("Deny", ".ask button");
    await page.keyboard.press("Enter");
    await walk.says("denied");
    await walk.send("shell echo six");
    await walk.sees(".ask", "Allow shell?");
    await walk.shot("4-paused");
    await walk.press("Allow once", ".ask button");
    await walk.says("six");
    await walk.send("calc 6*7");
    await walk.sees(".ask", "Allow calculator?");
    await walk.press("Allow once", ".ask button");
    await walk.says("42");
    await walk.press("End the pause", ".note button");
    await walk.send("shell echo seven");
    await walk.says("seven");
    await walk.send("calc 6*7");
    await walk.says("42");
  });

  await walk.step("limits of this session, seen, set, reached and raised", async () => {
    await walk.send("shell pwd");
    await walk.press("More choices", ".ask button");
    await walk.press("Limits and rules", ".menu button");
    await walk.sees("dialog[open] .limit-rows", "used so far: 1");
    await walk.sees("dialog[open] .grants", "command: echo *");
    await page.type("dialog[open] .limit-rows input", "1");
    await walk.write("dialog[open] .limit-rows .field:last-child input", "none");
    await walk.press("Save", "dialog[open] button");
    await page.waitForSelector("dialog[open] .limit-rows .field:last-child input:focus ~ .problem:not([hidden])");
    await walk.write("dialog[open] .limit-rows .field:last-child input", "45");
    await walk.shot("5-limits");
    await walk.clean();
    await walk.press("Save", "dialog[open] button");
    await page.waitForFunction(() => {
      const { max_steps: steps, tool } = yaa.use("ui/commands").context().app.current.session.config.limits;
      return steps === 1 && tool.wall_s === 45 && tool.memory_mb;
    });
    await walk.press("Allow once", ".ask button");
    await walk.sees(".ask", "The limit was reached");
    await walk.shot("6-limit");
    await walk.write(".ask .more-row input", "ten");
    await walk.press("Continue", ".ask button");
    await page.waitForSelector(".ask .more-row input[aria-invalid=true]:focus");
    await walk.write(".ask .more-row input", "10");
    await walk.press("Continue", ".ask button");
    await walk.says("shell");
    await page.waitForFunction(() => yaa.use("ui/commands").context().app.current.session.run.extended?.max_steps === 10);
    await page.click("button.gauge");
    await walk.sees(".gauge-panel", " / 11"); // 1 and 10 more
    await page.keyboard.press("Escape");
  });

  await walk.step("a call that is stopped says when, and how much it had printed", async () => {
    await walk.press("New session");
    await walk.send("shell for n in 1 2 3; do echo line $n; done; sleep 1000");
    await walk.press("Allow once", ".ask button");
    await page.waitForFunction(() => [...document.querySelectorAll(".card.tool[data-state=started] .tool-body")].some((one) => one.innerText.includes("line 3")));
    await page.waitForSelector(".card.tool[data-state=started] .tool-state[data-for]"); // for how long it has been running
    await walk.press("Stop", ".send.stop");
    await walk.sees(".status-line", "Stopped.");
    const said = await page.$$eval(".card.tool", (all) => all.map((one) => [one.dataset.state, one.querySelector(".tool-state").textContent]));
    if (said.length !== 1 || said[0][0] !== "failed" || !/^stopped after [\d.]+ m?s, 3 lines$/.test(said[0][1])) throw new Error(JSON.stringify(said));
    await walk.shot("6b-stopped");
    await walk.clean();
  });

  await walk.step("what is written during a run waits for its end", async () => {
    await walk.press("New session");
    await walk.send("shell until [ -e go ]; do sleep 0.1; done");
    await walk.press("Allow once", ".ask button");
    await page.waitForSelector(".feed[aria-busy=true] .card.tool[data-state=started]");
    await walk.send("calc 2+2");
    await walk.sees(".queue-item", "calc 2+2");
    await page.click(".queue-words");
    await walk.write(".queue-item textarea", "calc 2+3");
    await page.keyboard.press("Enter");
    await walk.sees(".queue-item", "calc 2+3");
    await walk.shot("7-queue");
    await walk.clean();
    await walk.ask("go");
    await walk.says("calculator: 5");
    await page.waitForFunction(() => !document.querySelector(".queue-item"));
  });

  await walk.step("or stops it", async () => {
    await walk.send("stream 100000");
    await page.waitForSelector(".feed[aria-busy=true]");
    await walk.send("calc 3+3");
    await walk.press("Stop and send", ".queue-item button");
    await walk.says("calculator: 6");
  });

  await walk.step("who clicks twice sends once, and stops without sending", async () => {
    await walk.press("New session");
    await page.type(COMPOSER, "stream 100000");
    await page.click(".send", { count: 2, delay: 60 });
    await page.waitForSelector(".feed[aria-busy=true]");
    await page.type(COMPOSER, "a draft"); // what stops at once has stopped by now
    await page.waitForSelector(".feed[aria-busy=true]");
    await page.click(".send.stop", { count: 2, delay: 60 });
    await page.waitForFunction(() => !document.querySelector(".feed[aria-busy=true]"));
    await walk.sees(".status-line", "Stopped.");
    const draft = await page.$eval(COMPOSER, (area) => area.value);
    if (draft !== "a draft") throw new Error(draft);
    await walk.write(COMPOSER, " ");
    await walk.press("New session");
  });

  await walk.step("a message that waits is taken out, and put back", async () => {
    await walk.send("stream 100000");
    await page.waitForSelector(".feed[aria-busy=true]");
    await walk.send("calc 4+4");
    await walk.press("Take it out", ".queue-item button");
    await page.waitForFunction(() => !document.querySelector(".queue-item"));
    await walk.press("Undo", ".toast button");
    await walk.sees(".queue-item", "calc 4+4");
    await walk.press("Stop", ".send.stop");
    await page.waitForFunction(() => !document.querySelector(".feed[aria-busy=true]"));
    await walk.sees(".queue-item", "calc 4+4");
    await walk.press("Send now", ".queue-item button");
    await walk.says("calculator: 8");
  });

  await walk.step("a model that fails is asked again, or left", async () => {
    await walk.press("New session");
    await walk.send("fail");
    await walk.sees(".ask", "The model did not answer");
    await walk.press("Choose another model", ".ask button");
    await page.waitForSelector("dialog[open] [role=tab][aria-selected=true][data-tab=model]");
    await page.keyboard.press("Escape");
    await walk.press("Try again", ".ask button");
    await page.waitForFunction(() => document.querySelectorAll("article.message[data-role=error]").length === 1);
    await walk.sees(".ask", "The model did not answer");
    await walk.press("Leave it here", ".ask button");
    await page.waitForFunction(() => !document.querySelector(".ask") && !document.querySelector(".feed[aria-busy=true]"));
  });

  await walk.step("a question is answered", async () => {
    await walk.press("New session");
    await walk.send("ask Which colour?");
    await walk.sees(".ask h3", "The model asks:");
    await walk.sees(".ask blockquote", "Which colour?");
    await page.reload();
    await walk.sees(".ask", "Which colour?");
    await page.waitForSelector(".ask textarea, .ask input", { visible: true });
    await page.type(".ask textarea, .ask input", "Blue");
    await walk.press("Answer", ".ask button.primary");
    await walk.says("Blue");
    await walk.sees(".card.tool .tool-line", "Blue"); // what was answered, without opening anything
  });

  await walk.step("what became of a lost call is told by hand", async () => {
    await page.evaluate(async () => {
      const call = { id: "call_lost", type: "function", function: { name: "shell", arguments: '{"command":"date"}' } };
      const messages = [
        { id: "u1", role: "user", content: "shell date" },
        { id: "a1", role: "assistant", content: "", tool_calls: [call] },
      ];
      const calls = { call_lost: { name: "shell", state: "started", attempt: 1 } };
      const store = await globalThis.yaa.use("io/store-idb").open();
      await store.put({ id: "lost", title: "Lost", version: 1, rev: 1, status: "in_progress", messages, calls, interrupts: [] });
      location.hash = "#s=lost";
    });
    await walk.press("Resume", ".status-line button");
    await walk.sees(".ask", "Did shell run?");
    await walk.press("Give the result", ".ask button");
    await page.waitForSelector(".ask textarea", { visible: true });
    await page.type(".ask textarea", "It was Monday.");
    await walk.press("Use this result", ".ask button");
    await walk.says("It was Monday.");
  });

  await walk.step("a temporary session leaves nothing behind", async () => {
    await walk.press("New session");
    await walk.press("More about this session", ".top button");
    await walk.press("New temporary session", "[role=menuitem]");
    await walk.sees(".note", "Temporary session: kept in memory only");
    await walk.send("calc 123*1");
    await walk.says("calculator: 123");
    await walk.shot("8-temporary");
    await walk.clean();
    const kept = await page.evaluate(async () => {
      const request = indexedDB.open("yaa");
      const database = await new Promise((resolve) => (request.onsuccess = () => resolve(request.result)));
      const found = [];
      for (const name of database.objectStoreNames) {
        const all = database.transaction(name).objectStore(name).getAll();
        found.push(await new Promise((resolve) => (all.onsuccess = () => resolve(all.result))));
      }
      database.close();
      return JSON.stringify([found, { ...sessionStorage }, { ...localStorage }, location.hash]).includes("123*1");
    });
    if (kept) throw new Error("the session was stored");
    await page.reload();
    await page.waitForSelector(".side .dot.good");
    if ((await walk.text("body")).includes("123*1")) throw new Error("the session is still there");
  });

  await walk.step("a temporary session that is kept", async () => {
    await walk.press("More about this session", ".top button");
    await walk.press("New temporary session", "[role=menuitem]");
    await walk.send("calc 321*1");
    await walk.says("calculator: 321");
    await walk.press("Keep it", ".note button");
    await page.waitForSelector(".note:not([hidden])", { hidden: true });
    await page.waitForFunction(() => location.hash.startsWith("#s="));
    await page.reload();
    await walk.says("calculator: 321");
  });

  await walk.step("a long text says what is not shown, and shows it; what it would do is pointed at", async () => {
    const lines = Array.from({ length: 34 }, (_, n) => `echo line ${n + 1}`);
    lines[24] = "rm -rf ~/important";
    await put(page, asking("long-text", "shell", { command: lines.join("\n") }));
    await walk.sees(".ask .more-text", "22 more lines");
    await walk.sees(".ask .marks-list", "Can delete: rm");
    await walk.sees(".ask .marks-list", "outside of the folder: ~/important");
    await walk.shot("2-long");
    await walk.clean();
    await walk.press("22 more lines", ".ask button");
    const whole = await page.$eval(".ask .args dd", (one) => one.textContent);
    if (whole !== lines.join("\n")) throw new Error(whole);
    const hidden = await page.$eval(".ask .args dd", (one) => one.scrollHeight - one.clientHeight);
    if (hidden > 1) throw new Error(`${hidden} pixels are out of sight`);
    // a rule for it begins as all of it, with its lines
    await walk.press("More choices", ".ask button");
    await walk.press("Make a rule", ".menu button");
    const rule = () => page.$eval(".rule", (one) => [one.querySelector("textarea").value, one.querySelector(".primary").disabled, one.querySelector(".problem").hidden]);
    const whole34 = JSON.stringify([lines.join("\n"), false, true]);
    if (JSON.stringify(await rule()) !== whole34) throw new Error(JSON.stringify(await rule()));
    await page.type(".rule textarea", "x");
    const [, disabled, quiet] = await rule();
    if (!disabled || quiet) throw new Error("a rule that misses its call can be made");
    await walk.press("Cancel", ".rule button");
  });

  await walk.step("keys answer the card that has the focus, and no other", async () => {
    await put(page, asking("keys", "shell", { command: "true" }));
    await page.waitForSelector(".ask");
    await page.waitForFunction(() => yaa.use("ui/commands").list().some(({ id }) => id === "thread.ask"));
    await page.focus(COMPOSER);
    await page.keyboard.type("yes");
    if (await page.$eval(".ask-answered", (one) => one.checkVisibility())) throw new Error("answered from the message field");
    await page.keyboard.down("Control");
    await page.keyboard.press("j");
    await page.keyboard.up("Control");
    await page.waitForFunction(() => document.activeElement.matches(".ask"));
    await page.keyboard.press("e");
    await page.waitForSelector(".ask .value-field");
    await page.keyboard.press("y");
    if (!(await page.$(".ask .value-field"))) throw new Error("a letter in a field answered");
    await page.focus(".ask");
    await page.keyboard.press("e");
    await page.waitForFunction(() => !document.querySelector(".ask .value-field")?.checkVisibility());
    await page.focus(".ask");
    await page.keyboard.press("n");
    await page.waitForSelector(".ask .ask-actions input", { visible: true });
    await page.keyboard.press("Escape");
  });

  await walk.step("so does a long change of a file, on every screen", async () => {
    const lines = Array.from({ length: 60 }, (_, n) => (n === 59 ? `last_${"wide_".repeat(60)}end` : `value_${n} = ${n}`));
    for (const [width, height] of [[1280, 800], [390, 844]]) {
      await page.setViewport({ width, height });
      await put(page, asking(`long-change-${width}`, "write_file", { path: "values.py", content: `${lines.join("\n")}\n` }));
      await walk.sees(".ask .more-rows", "36 more lines");
      await page.waitForFunction(() => { const { scrollHeight, clientHeight } = document.querySelector(".ask .diff"); return scrollHeight - clientHeight < 2; });
      await walk.shot(`2-change-${width}`);
      await walk.press("36 more lines", ".ask .more-rows");
      await page.waitForFunction(() => document.querySelectorAll(".ask .diff-row").length === 60);
      const out = await page.$eval(".ask .diff", (one) => [one.scrollHeight - one.clientHeight > 1, one.scrollWidth - one.clientWidth > 1]);
      if (out.some(Boolean)) throw new Error(`out of sight at ${width}: ${out}`);
    }
    await page.setViewport({ width: 1280, height: 800 });
  });

  await walk.step("of several questions the first is in sight, and edits can be allowed for the session", async () => {
    // what is said of the files comes late, and moves the buttons
    const told = () => page.waitForFunction(() => [...document.querySelectorAll(".thread .ask")].every((one) => one.innerText.includes("no such file")));
    await put(page, edits("several", 3));
    await page.waitForSelector(".all-bar:not([hidden])");
    const inView = (n) => page.waitForFunction((at) => {
      const [view, card] = [document.querySelector(".scroll"), document.querySelectorAll(".thread .ask")[at]].map((one) => one.getBoundingClientRect());
      return card.top >= view.top && card.top < view.bottom;
    }, {}, n);
    await inView(0);
    await told();
    await walk.shot("9-several");
    // a notice stands on no button that answers, wherever the thread is moved to
    await page.evaluate(() => {
      yaa.use("ui/popup").toast("Something else happened meanwhile, in another session.", { label: "Undo" });
      document.querySelector(".toast button").focus(); // so that it stays
    });
    for (const share of [0, 0.3, 0.6, 1]) {
      await page.$eval(".scroll", (one, at) => { one.scrollTop = at * (one.scrollHeight - one.clientHeight); }, share);
      await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
      const covered = await page.evaluate(() => {
        const toast = document.querySelector(".toast").getBoundingClientRect();
        const meets = (one) => one.top < toast.bottom && one.bottom > toast.top && one.left < toast.right && one.right > toast.left;
        return [...document.querySelectorAll(".ask-actions .button, .all-bar .button, .composer")].filter((one) => one.checkVisibility() && meets(one.getBoundingClientRect())).map((one) => one.innerText);
      });
      if (covered.length) throw new Error(`covered at ${share}: ${covered}`);
    }
    await walk.press("Close", ".toast button");
    await page.$eval(".scroll", (one) => { one.scrollTop = 0; });
    await page.$eval(".scroll > .column", (one) => { one.style.paddingTop = "400px"; });
    await page.focus(".ask");
    await page.keyboard.press("y");
    await page.waitForFunction(() => document.activeElement === document.querySelectorAll(".ask")[1]);
    await inView(1);
    // what is above it becomes smaller afterwards
    await page.$eval(".scroll > .column", (one) => { one.style.paddingTop = "0"; });
    await inView(1);
    await page.$eval(".scroll", (one) => { one.scrollTop = one.scrollHeight; });
    await page.evaluate(() => yaa.use("ui/commands").context().actions.draw());
    await walk.rest();
    if (await page.$eval(".scroll", (one) => one.scrollHeight - one.scrollTop - one.clientHeight > 2)) throw new Error("it was brought away from where the reader went");
    await put(page, edits("edits", 2));
    await page.evaluate(() => { yaa.use("ui/commands").context().app.sessionStore.answer = (_, answers) => { globalThis.given = answers; }; });
    await told();
    await walk.press("Allow every edit_file of this session", ".all-bar button");
    const given = await page.waitForFunction(() => globalThis.given).then((one) => one.jsonValue());
    const wanted = ["int-edits-0", "int-edits-1"].map((id) => [id, { status: "resolved", payload: { approved: true, remember: "session" } }]);
    if (JSON.stringify(given) !== JSON.stringify(wanted)) throw new Error(JSON.stringify(given));
  });

  await walk.step("on a phone a thumb reaches everything that answers", async () => {
    await page.setViewport({ width: 390, height: 844, isMobile: true, hasTouch: true }); // the page is loaded again
    for (const theme of ["light", "dark"]) {
      await put(page, edits(`thumb-${theme}`, 2));
      await page.waitForSelector(".all-bar:not([hidden])");
      await page.evaluate((one) => yaa.use("ui/commands").context().actions.set({ theme: one }), theme);
      const small = await page.evaluate(() => {
        const touch = matchMedia("(pointer: coarse)").matches;
        const all = [...document.querySelectorAll(touch ? ".ask-actions .button, .all-bar .button, .top .button, .message-actions .button" : ".ask-actions .button")];
        return all.filter((one) => one.checkVisibility()).map((one) => [one.innerText || one.ariaLabel, one.offsetWidth, one.offsetHeight]).filter(([, wide, high]) => wide < 44 || high < 44);
      });
      if (small.length) throw new Error(JSON.stringify(small));
      if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)) throw new Error("wider than the screen");
      await walk.shot(`9-phone-${theme}`);
      await walk.clean();
    }
    await page.evaluate(() => yaa.use("ui/commands").context().actions.set({ theme: "" }));
    await page.setViewport({ width: 1280, height: 800 });
  });
});

/** Several changes of files that wait, each taller than a card of one line. */
function edits(id, n) {
  const made = asking(id, "edit_file", { path: "a.py", old: "a", new: "b" });
  const [, answer] = made.messages;
  const args = (at) => ({ path: `part${at}.py`, old: Array.from({ length: 10 }, (_, line) => `line ${line}`).join("\n"), new: `line ${at}` });
  answer.tool_calls = Array.from({ length: n }, (_, at) => ({ ...answer.tool_calls[0], id: `k${at}`, function: { name: "edit_file", arguments: JSON.stringify(args(at)) } }));
  made.calls = Object.fromEntries(answer.tool_calls.map((call) => [call.id, { name: "edit_file", state: "asking" }]));
  made.interrupts = answer.tool_calls.map((call, at) => ({ ...made.interrupts[0], id: `int-${id}-${at}`, call_id: call.id, args: args(at) }));
  return made;
}
