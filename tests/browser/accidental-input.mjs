/**
 * What hands do that know other chat pages, are in a hurry, or slip: files let go beside the field, Enter before a picture is
 * read, dialogs left by accident, links to what is gone, a page on paper. The job: {url, browser}.
 */
import { main } from "./driver.mjs";
import { asking, put, session } from "./sample-session.mjs";

const AREA = "form.composer textarea";
const LONG = Array.from({ length: 120 }, (_, i) => `Paragraph ${i} of an answer that is longer than any screen.`).join("\n\n");

await main(async (walk, job) => {
  const { page } = walk;
  const command = (id) => page.evaluate((name) => { yaa.use("ui/commands").run(name); }, id);
  const ready = () => page.waitForFunction(() => {
    try {
      for (const name of ["ext/search/find-bar", "ui/branch-actions", "ui/attachments", "ui/settings", "ext/prompts/library"]) yaa.use(name);
      return Boolean(yaa.use("ui/storage-notices").context());
    } catch {
      return false;
    }
  });
  /** A command can be run; what it uses is not made yet. */
  const known = (id) => page.waitForFunction((name) => yaa.use("ui/commands").table().some((one) => one.id === name), {}, id);
  const expect = (found, wanted, what) => {
    if (JSON.stringify(found) !== JSON.stringify(wanted)) throw new Error(`${what}: ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`);
  };
  const current = (read) => page.evaluate(`(${read})(yaa.use("ui/commands").context().app.current.session)`);

  await walk.step("open", async () => {
    await page.goto(job.url);
    await page.waitForSelector(".side .dot.good");
  });

  await walk.step("a dialog has its words, whatever was opened before", async () => {
    await known("session.limits");
    await command("session.limits");
    await page.waitForSelector("dialog[open] select");
    const keys = await page.$$eval("dialog[open] *", (all) => all.flatMap((one) => [one.ariaLabel, one.textContent]).filter((words) => /^[a-z]+\.[a-zA-Z.]+$/.test(words)));
    expect(keys, [], "words that are not there");
    await page.keyboard.press("Escape");
    await ready();
  });

  await walk.step("a file goes along that is still being read, wherever it was let go", async () => {
    const left = await page.evaluate(async () => {
      const make = globalThis.createImageBitmap;
      globalThis.createImageBitmap = (file) => new Promise((resolve) => { globalThis.read = () => resolve(make(file)) });
      const blob = await new Promise((made) => document.createElement("canvas").toBlob(made));
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([blob], "shot.png", { type: "image/png" }));
      const send = (type) => {
        const event = new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true });
        document.querySelector(".scroll").dispatchEvent(event);
        return [event.defaultPrevented, document.querySelector(".main").dataset.drop ?? ""];
      };
      return [send("dragover"), send("drop")];
    });
    expect(left, [[true, "Let go to attach these files"], [true, ""]], "the browser leaves the page for the file, or the page does not say where it may be let go");
    await page.waitForFunction(() => globalThis.read);
    await page.type(AREA, "bench tokens=3 delay_us=0");
    await page.keyboard.press("Enter");
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
    expect(await page.$$eval("article.message", (all) => all.length), 0, "sent without its picture");
    await page.evaluate(() => globalThis.read());
    await page.waitForSelector(".sent-image img");
    await page.waitForFunction(() => document.querySelector("article[data-role=assistant]") && !document.querySelector("[aria-busy=true]"));
  });

  await walk.step("other words for a message leave its files alone", async () => {
    await page.evaluate(() => { // a text beside the picture, as if it had been attached too
      yaa.use("ui/commands").context().app.current.session.messages[0].content.push(yaa.use("core/attachments").filePart("a.txt", "zebra"));
    });
    const before = await current((one) => one.messages[0].content);
    await page.hover("article[data-role=user]");
    await walk.press("Edit", "article[data-role=user] button");
    const area = "article .words-edit textarea";
    expect(await page.$eval(area, (field) => field.value), "bench tokens=3 delay_us=0", "what is edited");
    await page.$eval(area, (field) => field.select());
    await page.keyboard.type("bench tokens=4 delay_us=0");
    await page.keyboard.press("Escape"); // by mistake
    await page.waitForSelector(area, { hidden: true });
    await walk.press("Undo", ".toast button");
    await page.waitForSelector(area);
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => (document.querySelector("article[data-role=assistant]")?.textContent.match(/@\d+@/g) ?? []).length === 4 && !document.querySelector("[aria-busy=true]"));
    expect(await current((one) => one.messages[0].content), [{ type: "text", text: "bench tokens=4 delay_us=0" }, ...before.slice(1)], "what was sent");
  });

  await walk.step("what cannot be read is said in one notice", async () => {
    await page.evaluate(() => {
      const folder = (n) => ({ name: `folder ${n}`, type: "", size: 4096, arrayBuffer: () => Promise.reject(new DOMException("", "NotReadableError")) });
      const all = [...Array.from({ length: 5 }, (_, n) => folder(n)), new File(["words"], "good.txt")];
      return yaa.use("ui/commands").context().app.views.composer.attach(all);
    });
    expect(await page.$$eval(".tray .attached b", (all) => all.map((one) => one.textContent)), ["good.txt"], "the one that can be");
    const notices = await page.$$eval(".toast span", (all) => all.map((one) => one.textContent));
    expect(notices, ["folder 0 cannot be read. folder 1 cannot be read. folder 2 cannot be read. 2 more were left out."], "notices");
    await walk.press("Close", ".toast button");
    await walk.press("Remove good.txt", ".tray button");
  });

  await walk.step("a folder among the files that are imported keeps none of them out", async () => {
    await page.evaluate(() => {
      const folder = { name: "folder", text: () => Promise.reject(new DOMException("", "NotReadableError")) };
      const talk = new File([JSON.stringify([{ role: "user", content: "From elsewhere" }])], "talk.json");
      return yaa.use("ui/commands").run("sessions.import", [folder, talk]);
    });
    await walk.sees(".toast", "Imported 1 session. Nothing was recognised: folder");
    await walk.press("Close", ".toast button");
  });

  await walk.step("a dialog that is left gives back what was typed in it", async () => {
    const dialogs = { "session.tags": "input.input", "session.character": "textarea", "session.limits": "input.input" };
    for (const [id, field] of Object.entries(dialogs)) {
      const css = `dialog[open] ${field}`;
      await command(id);
      await page.waitForSelector(css);
      const first = await page.$eval(css, (field) => (field.focus(), field.value));
      await page.keyboard.press("Escape");
      await page.waitForSelector("dialog[open]", { hidden: true });
      expect(await page.$$eval(".toast", (all) => all.length), 0, "nothing was typed");
      for (const cross of [false, true]) {
        await command(id);
        await page.waitForSelector(css);
        await page.$eval(css, (field) => (field.focus(), field.select()));
        await page.keyboard.type("zoo, work");
        if (cross) await walk.press("Close", "dialog[open] button");
        else await page.keyboard.press("Escape");
        await walk.press("Undo", ".toast button");
        await page.waitForSelector(css);
        expect(await page.$eval(css, (field) => field.value), "zoo, work", id);
        await page.$eval(css, (field, words) => { field.value = words; }, first);
        await page.keyboard.press("Escape");
        await page.waitForSelector("dialog[open]", { hidden: true });
      }
    }
  });

  await walk.step("a prompt that was deleted comes back, and the one made since stays", async () => {
    const names = () => page.evaluate(() => yaa.use("ext/prompts/library").all(yaa.use("ui/commands").context().app.settings).map(({ name }) => name));
    await page.evaluate(() => {
      const { settings } = yaa.use("ui/commands").context().app;
      yaa.use("ext/prompts/library").add(settings, [{ name: "One", text: "1" }, { name: "Two", text: "2" }]);
    });
    await command("prompts");
    await walk.press("Delete prompt", "dialog[open] .prompts button");
    await walk.sees(".toast", "Deleted");
    await page.evaluate(() => yaa.use("ext/prompts/library").add(yaa.use("ui/commands").context().app.settings, [{ name: "Three", text: "3" }]));
    expect(await names(), ["Two", "Three"], "deleted");
    await walk.press("Undo", ".toast button");
    expect(await names(), ["One", "Two", "Three"], "brought back");
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog[open]", { hidden: true });
  });

  await walk.step("what is typed outside of the field is the message, and starts nothing", async () => {
    const posts = [];
    const note = (request) => request.method() === "POST" && posts.push(request.url());
    page.on("request", note);
    const id = await current((one) => one.id);
    for (const place of [".side .row", ".scroll", "body"]) {
      await page.$eval(place, (one) => (one.tabIndex < 0 && (one.tabIndex = 0), document.activeElement?.blur(), one.focus()));
      await page.keyboard.type("Now and also again");
      await page.waitForFunction((css) => document.activeElement.matches(css), {}, AREA);
      expect(await page.$eval(AREA, (one) => one.value), "Now and also again", place);
      await walk.write(AREA, " ");
      await page.keyboard.press("Backspace");
    }
    page.off("request", note);
    expect(await current((one) => one.id), id, "the open session");
    expect(posts.filter((url) => !url.endsWith("/health")), [], "requests");
  });

  await walk.step("the message field has the focus when a session was opened, a card answered, an edit saved", async () => {
    const held = () => page.evaluate((css) => document.activeElement.matches(css) || document.activeElement.outerHTML.slice(0, 80), AREA);
    await put(page, asking("focus-one", "shell", { command: "true" }), asking("focus-two", "shell", { command: "true" }));
    await page.waitForSelector(".side .row:not([data-current=true]) .row-open");
    await page.click(".side .row:not([data-current=true]) .row-open");
    await page.waitForFunction((css) => document.activeElement.matches(css), {}, AREA);
    const double = asking("focus-three", "datetime", { zone: "UTC" });
    const [message] = double.messages.slice(-1);
    message.tool_calls.push({ ...message.tool_calls[0], id: "second" });
    double.calls.second = structuredClone(Object.values(double.calls)[0]);
    double.interrupts.push({ ...double.interrupts[0], id: "int-second", call_id: "second" });
    await put(page, double);
    await page.waitForFunction(() => document.querySelectorAll(".ask").length === 2);
    await page.focus(".ask");
    await page.keyboard.press("y");
    await page.waitForFunction(() => document.activeElement === document.querySelectorAll(".ask")[1]);
    await page.keyboard.press("n");
    await page.keyboard.press("Enter");
    await page.waitForFunction((css) => document.activeElement.matches(css), {}, AREA);
    await page.waitForSelector(".feed:not([aria-busy])");
    expect(await held(), true, "after the answers");
    await page.focus("article[data-role=user]");
    await walk.press("Edit", "article[data-role=user] button");
    await page.waitForSelector(".words-edit textarea");
    await page.keyboard.type(" bench tokens=2 delay_us=0");
    await page.keyboard.press("Enter");
    await page.waitForFunction((css) => document.activeElement.matches(css), {}, AREA);
    await page.keyboard.type("and");
    expect(await page.$eval(AREA, (one) => one.value), "and", "what is typed then");
    await walk.write(AREA, " ");
    await page.keyboard.press("Backspace");
  });

  await walk.step("a link to a session that is not here says so, and what is said then has its own", async () => {
    await page.goto("about:blank");
    await page.goto(`${job.url.split("#")[0]}#s=gone`);
    await walk.sees(".toast", "not in this browser");
    await page.type(AREA, "bench tokens=2 delay_us=0");
    await page.keyboard.press("Enter");
    await page.waitForSelector("article[data-role=assistant]");
    const id = await current((one) => one.id);
    await page.waitForFunction((wanted) => location.hash === `#s=${wanted}`, {}, id);
    await page.evaluate(() => { location.hash = "#s=gone"; });
    await page.waitForFunction((wanted) => location.hash === `#s=${wanted}`, {}, id);
  });

  await walk.step("a page down in a long answer is a page, at its end the next message", async () => {
    const at = Date.UTC(2026, 10, 20);
    const says = (id, role, content) => ({ id, role, content, at, ...(role === "assistant" ? { meta: {} } : {}) });
    await put(page, { id: "long", version: 1, rev: 1, title: "Long", status: "completed", finish_reason: "completed", calls: {},
      messages: [says("u1", "user", "Tell me"), says("a1", "assistant", LONG), says("u2", "user", "More"), says("a2", "assistant", "No.")] });
    await ready();
    const view = () => page.evaluate(() => [document.activeElement.id, Math.round(document.querySelector(".scroll").scrollTop)]);
    await page.evaluate(() => {
      const { thread } = yaa.use("ui/commands").context().app.views;
      thread.reveal("a1");
      document.getElementById("message-a1").scrollIntoView({ block: "start" });
      document.getElementById("message-a1").focus({ preventScroll: true });
    });
    const [, before] = await view();
    await page.keyboard.press("PageDown");
    await page.waitForFunction((top) => document.querySelector(".scroll").scrollTop > top + 100, {}, before);
    expect((await view())[0], "message-a1", "still in the answer");
    await page.evaluate(() => document.getElementById("message-a1").scrollIntoView({ block: "end", behavior: "instant" }));
    await page.keyboard.press("PageDown");
    await page.waitForFunction(() => document.activeElement.id === "message-u2");
  });

  await walk.step("an answer that its limit or a filter ended says so", async () => {
    const says = (id, finish_reason) => ({ id, role: "assistant", content: "And then", at: 1, meta: { finish_reason } });
    const messages = ["length", "content_filter", "network_error", "stop"].flatMap((reason, n) => [{ id: `u${n}`, role: "user", content: "?", at: 0 }, says(`a${n}`, reason)]);
    await put(page, { id: "ended", version: 1, rev: 1, title: "Ended", status: "completed", finish_reason: "completed", calls: {}, messages });
    await page.waitForFunction(() => document.querySelectorAll("article.message").length === 8);
    const notes = await page.$$eval("article[data-role=assistant]", (all) => all.map((one) => one.querySelector(".cut-note")?.textContent ?? ""));
    for (const [at, words] of ["limit of tokens", "filter", "broke off"].entries()) if (!notes[at].includes(words)) throw new Error(JSON.stringify(notes));
    expect(notes[3], "", "one that is whole says nothing");
    await walk.shot("ended");
  });

  await walk.step("the end of a long session is one press away", async () => {
    const words = (n) => Array.from({ length: 1 + (n % 9) }, () => "A paragraph of some words. ".repeat(20)).join("\n\n");
    const messages = Array.from({ length: 300 }, (_, n) => ({ id: `m${n}`, role: n % 2 ? "assistant" : "user", content: n % 2 ? words(n) : `Question ${n}`, at: n, ...(n % 2 ? { meta: {} } : {}) }));
    await put(page, { id: "many", version: 1, rev: 1, title: "Many", status: "completed", finish_reason: "completed", calls: {}, messages });
    await page.waitForFunction(() => document.querySelectorAll("article.message").length === 300);
    await page.$eval(".scroll", (one) => { one.scrollTop = 0; });
    await walk.press("Jump to the end", "button");
    await page.waitForFunction(() => {
      const { scrollHeight, scrollTop, clientHeight } = document.querySelector(".scroll");
      return scrollHeight - scrollTop - clientHeight < 2 && document.querySelector("#message-m299").getBoundingClientRect().bottom < innerHeight;
    });
  });

  await walk.step("what was changed on one card is what allowing all of them allows", async () => {
    await walk.press("New session", ".side button");
    await page.type(AREA, 'bench tokens=3 delay_us=0 tool=datetime{"zone":"UTC"} tool=datetime{"zone":"Asia/Tokyo"}');
    await page.keyboard.press("Enter");
    await page.waitForSelector(".all-bar:not([hidden])");
    await walk.press("Edit arguments", ".ask button");
    await page.waitForSelector(".ask .value-field input");
    await page.$eval(".ask .value-field input", (field) => (field.focus(), field.select()));
    await page.keyboard.type("America/Lima");
    await walk.press("Allow all once", ".all-bar button");
    await page.waitForFunction(() => document.querySelectorAll(".card.tool[data-state=done]").length === 2);
    const zones = await current((one) => one.messages.filter(({ role }) => role === "tool").map(({ result }) => result.result.zone));
    expect(zones, ["America/Lima", "Asia/Tokyo"], "where it was asked for");
  });

  await walk.step("what a call would be given is seen as it is", async () => {
    await put(page, asking("turned", "shell", { command: "cat \u202egpj.exe\u200b # \u{e0068}\u{e0069} 👨‍👩‍👧" }));
    await page.waitForSelector(".ask .args dd");
    const shown = await page.$eval(".ask .args dd", (one) => one.textContent);
    expect(shown, "cat \\u{202e}gpj.exe\\u{200b} # \\u{e0068}\\u{e0069} 👨‍👩‍👧", "the command");
  });

  await walk.step("words of a language that is written from the right", async () => {
    const found = await page.evaluate(() => {
      const view = yaa.use("ui/markdown-view").markdownView();
      document.querySelector(".feed").append(view.el);
      view.update("An answer that is longer than the one that takes its place, so that nothing of that is new behind it.");
      view.update("שלום, מה שלומך?\n\n- אחת\n- שתיים\n\nHello");
      const right = (el) => { const range = document.createRange(); range.selectNodeContents(el); return Math.round(el.getBoundingClientRect().right - range.getBoundingClientRect().right); };
      const [first, , last] = view.el.children;
      const made = { first: right(first) < 2, list: getComputedStyle(view.el.querySelector("ul")).direction, last: right(last) > 100 };
      view.el.remove();
      return made;
    });
    expect(found, { first: true, list: "rtl", last: true }, "where they begin");
  });

  await walk.step("an answer goes on while a program translates the page, and its code is not translated", async () => {
    const found = await page.evaluate(() => {
      const view = yaa.use("ui/markdown-view").markdownView();
      document.querySelector(".feed").append(view.el);
      const translate = (el) => {
        const texts = document.createTreeWalker(el, NodeFilter.SHOW_TEXT);
        for (const text of [...(function* all() { while (texts.nextNode()) yield texts.currentNode; })()]) {
          const font = document.createElement("font");
          text.replaceWith(font);
          font.textContent = text.data;
        }
      };
      const words = "Some words and `a name`.\n\n```js\nconst one = 1\nconst two = 2\n```\n\nThe end.";
      for (let at = 1; at <= words.length; at++) {
        view.update(words.slice(0, at));
        translate(view.el);
      }
      const made = { text: [...view.el.children].map((one) => (one.querySelector("pre") ?? one).textContent), code: [...view.el.querySelectorAll("code")].map((one) => one.translate) };
      view.el.remove();
      return made;
    });
    expect(found, { text: ["Some words and a name.", "const one = 1\nconst two = 2", "The end."], code: [false, false] }, "what is there");
  });

  await walk.step("where there is little room, everything is within reach", async () => {
    await put(page, session());
    await ready();
    await page.setViewport({ width: 640, height: 220 });
    await walk.press("More about this session", ".top button");
    const menu = await page.$eval(".menu", (one) => {
      const { top, bottom } = one.getBoundingClientRect();
      return { inside: top >= 0 && bottom <= innerHeight, scrolls: one.scrollHeight > one.clientHeight && getComputedStyle(one).overflowY === "auto" };
    });
    expect(menu, { inside: true, scrolls: true }, "a menu");
    const item = () => page.evaluate(() => {
      const { top, bottom } = document.activeElement.getBoundingClientRect();
      return [[...document.activeElement.parentElement.children].indexOf(document.activeElement), top >= 0 && bottom <= innerHeight];
    });
    const last = await page.$eval(".menu", (one) => one.childElementCount - 1);
    for (const [key, at] of [["ArrowUp", last], ["ArrowDown", 0], ["End", last], ["Home", 0]]) {
      await page.keyboard.press(key);
      expect(await item(), [at, true], key);
    }
    await page.keyboard.press("Tab");
    await page.waitForFunction(() => !document.querySelector(".menu") && document.activeElement.matches(".top button, .composer *, .scroll, article, article *, .to-end"));
    for (const [width, size] of [[390, ""], [390, "huge"], [320, "huge"]]) {
      await page.setViewport({ width, height: 640 });
      await page.evaluate((one) => yaa.use("ui/commands").context().actions.set({ size: one }), size);
      await walk.rest();
      expect(await page.$eval(".composer .send", (one) => one.getBoundingClientRect().right < innerWidth), true, `Send at ${width}, letters ${size}`);
    }
    await page.evaluate(() => yaa.use("ui/commands").context().actions.set({ size: "" }));
    for (const width of [390, 320]) {
      await page.setViewport({ width, height: 640 });
      await command("settings");
      await page.waitForSelector("dialog[open] [role=tab]");
      await walk.rest();
      expect(await page.$$eval("dialog[open] [role=tab]", (all) => all.filter((one) => one.getBoundingClientRect().right > innerWidth).map((one) => one.textContent)), [], `tabs at ${width}`);
      await page.keyboard.press("Escape");
      await page.waitForSelector("dialog[open]", { hidden: true });
    }
    await page.evaluate(() => yaa.load("artifact").then(() => { yaa.use("ext/artifact/preview").show("<h1>A page</h1>", "html"); }));
    await walk.rest();
    expect(await page.$eval("dialog[open]", (one) => [one.offsetWidth, one.offsetHeight]), [320, 640], "a page that a model wrote fills the screen");
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog[open]", { hidden: true });
    await page.focus(".top button");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.activeElement.closest(".side") && document.querySelector("main").inert);
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => document.activeElement.matches(".top button") && !document.querySelector("main").inert);
    await command("session.tree");
    await page.waitForSelector("dialog[open] .paths");
    await walk.rest();
    expect(await page.$eval("dialog[open]", (one) => Math.round(innerHeight - one.getBoundingClientRect().bottom)), 0, "under the list of branches");
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog[open]", { hidden: true });
    expect(await page.$$eval(".handed .part-note", (all) => all.filter((one) => one.getClientRects().length && one.getBoundingClientRect().height > 24 && one.textContent.length < 8).map((one) => one.textContent)), [], "sizes in two lines");
    await page.setViewport({ width: 1280, height: 800 });
  });

  await walk.step("what is set in another tab is seen here, and the words are of one language", async () => {
    const other = await walk.context.newPage();
    await other.goto(job.url);
    await other.waitForSelector(AREA);
    await other.evaluate(() => yaa.use("ui/commands").context().actions.set({ language: "zh", theme: "dark" }));
    await other.waitForFunction(() => document.documentElement.lang === "zh-CN");
    await other.close();
    await page.bringToFront();
    await page.waitForFunction(() => document.documentElement.dataset.theme === "dark" && document.documentElement.lang === "zh-CN");
    const set = (changes) => page.evaluate((all) => yaa.use("ui/commands").context().actions.set(all), changes);
    await set({ density: "compact" });
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
    expect(await page.evaluate((css) => [document.documentElement.lang, document.querySelector(css).placeholder], AREA), ["zh-CN", "给 yaa 发消息…"], "the words here");
    await set({ language: "", theme: "", density: "" });
    await page.waitForFunction((css) => document.documentElement.lang === "en" && document.querySelector(css)?.placeholder === "Message yaa …", {}, AREA);
  });

  if (job.browser !== "chromium") return; // Firefox's protocol cannot say how it is printed, or which colours there are

  await walk.step("on paper the whole session, and nothing to press", async () => {
    await page.reload(); // no dialog was opened yet, which would bring the rules along
    await known("palette");
    await page.waitForSelector("article.message");
    await page.emulateMediaType("print");
    await page.waitForSelector(".side", { hidden: true });
    const found = await page.evaluate(() => {
      const shown = (css) => [...document.querySelectorAll(css)].filter((one) => one.checkVisibility()).length;
      const { scrollHeight } = document.documentElement;
      const last = [...document.querySelectorAll("article.message")].at(-1).getBoundingClientRect();
      return { pressed: shown(".side, form.composer, .message-actions button"), whole: scrollHeight > innerHeight && Math.abs(scrollHeight - last.bottom) < 100 };
    });
    await page.emulateMediaType();
    expect(found, { pressed: 0, whole: true }, "on paper");
  });

  await walk.step("what is chosen can be told without colours", async () => {
    const session = await page.createCDPSession();
    await session.send("Emulation.setEmulatedMedia", { features: [{ name: "forced-colors", value: "active" }] });
    await command("palette");
    await page.waitForSelector("dialog[open] [role=option][aria-selected=true]");
    for (const [all, chosen] of [[".row", ".row[data-current=true]"], ["[role=option]", "[aria-selected=true]"]]) {
      const outlined = await page.$$eval(all, (found, css) => found.filter((one) => (getComputedStyle(one).outlineStyle === "solid") !== one.matches(css)).length, chosen);
      expect(outlined, 0, chosen);
    }
    await walk.shot("forced-colours");
  });
});
