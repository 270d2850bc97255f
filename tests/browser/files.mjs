/**
 * The story of a folder: it is chosen, the agent works on it, a person sees what changed, uploads, names files with @,
 * allows a change by its diff, goes back two turns, applies a part, discards the rest, and goes on at another server. The
 * job: {url, pictures}: of servers as in folder_servers.py, and the folder of the documentation's pictures if they are taken.
 */
import { join } from "node:path";
import { main } from "./driver.mjs";

const COMPOSER = "form.composer textarea";
const PHONE = { width: 390, height: 844, deviceScaleFactor: 2, hasTouch: true, isMobile: true };

await main(async (walk, job) => {
  const { page } = walk;
  const told = async (...what) => (await walk.ask(...what)).answer;
  const picture = (name) => job.pictures && page.screenshot({ path: join(job.pictures, `${name}-light-en.webp`), type: "webp", quality: 82 });
  const rows = () => page.$$eval(".file-tree .node .name", (all) => all.map((one) => one.textContent));

  await walk.step("open", async () => {
    await page.goto(job.url);
    await page.waitForSelector(COMPOSER, { visible: true });
  });

  await walk.step("choose a folder", async () => {
    await page.waitForSelector(".composer-bar .folder:not([hidden])");
    await page.click(".composer-bar .folder");
    await walk.sees(".menu", "The agent changes a copy");
    await walk.clean("the menu of folders");
    await walk.shot("01-folders");
    await walk.press("notes", ".menu button");
    await walk.sees(".composer-bar .folder", "notes");
  });

  await walk.step("look at its files before anything is said", async () => {
    await page.click(".files-button");
    await page.waitForFunction(() => document.querySelectorAll(".file-tree .node").length >= 6);
    const names = await rows();
    // what would turn the text around is shown as what it is
    if (!names.includes("evil\\u{202e}gnp.txt")) throw new Error(names.join());
    await walk.clean("the panel");
    await walk.shot("02-tree");
  });

  await walk.step("ask, and see what changed", async () => {
    await order(walk, "Note down what is new, and drop the draft.", "shell", { command: "mkdir -p notes && echo a new file > notes/new.txt && rm draft.txt" });
    await walk.says("It is done.");
    await page.$$eval(".handed button[aria-expanded]", (all) => all.at(-1).click()); // what was made is fetched from the folder
    await walk.sees(".handed-inside", "a new file");
    await page.waitForFunction(() => document.querySelector(".files-button .desk-count")?.textContent === "2");
    await walk.press("Changes", ".files-tabs button");
    await page.waitForFunction(() => document.querySelectorAll(".layer-row .file-row").length === 2);
    await walk.sees(".opening", "notes/new.txt");
    await walk.press("Compare with an earlier moment", ".files-view button");
    await page.waitForFunction(() => document.querySelector(".point-row") && document.querySelectorAll(".opening .file-row").length === 2);
    const point = await page.$eval(".point-row select", (one) => one.selectedOptions[0].textContent);
    if (point !== "Before this turn") throw new Error(`nobody chose to compare with: ${point}`);
    await page.waitForFunction(() => [...document.querySelectorAll(".opening .part-note")].map((one) => one.textContent).sort().join() === "+0 −3,+1 −0"); // as the bar counts
    await walk.press("draft.txt", ".file-row");
    await walk.sees(".file-diff .diff", "three");
    await walk.clean("the changes");
    await walk.shot("03-changes");
  });

  await walk.step("a page that was made is shown, and the panel has its place again", async () => {
    await order(walk, "Make a page.", "shell", { command: "echo '<h1>Board</h1>' > notes/board.html" }, "It is done: see [the page](./notes/board.html) and [yaa](https://yaa.example/).");
    await walk.says("It is done");
    await page.click(".handed button[aria-label='Open page board.html']");
    await page.waitForSelector("aside.artifact iframe");
    await walk.clean("a page beside the thread");
    await walk.shot("03-page");
    await walk.press("Close the preview", ".artifact button");
    await page.waitForSelector("aside.files .files-tabs");
    await page.waitForFunction(() => document.activeElement?.getAttribute("aria-label") === "Open page board.html");
  });

  await walk.step("a link in an answer opens its file", async () => {
    await page.waitForSelector(".prose a[href='https://yaa.example/']");
    await page.click(".prose button.file-link");
    await walk.sees(".file-head .path", "notes/board.html");
    await walk.press("Open page", ".files-view button");
    await page.waitForSelector("aside.artifact iframe");
    await page.keyboard.press("Escape");
    await walk.sees(".file-head .path", "notes/board.html");
    await walk.clean("a file that an answer links to");
    await page.click(".file-head button");
    await order(walk, "Drop it.", "shell", { command: "rm notes/board.html" });
    await walk.says("It is done.");
  });

  await walk.step("a change is allowed by the diff that it would make", async () => {
    await order(walk, "Greet the whole world.", "edit_file", { path: "src/app.py", old: 'main():\n    print("hello")', new: 'main():\n    print("hello, world")' });
    await page.waitForSelector(".ask .approval .diff");
    const numbers = await page.$$eval(".ask .diff-row .no", (all) => all.map((one) => one.textContent).filter(Boolean));
    if (!numbers.includes("5")) throw new Error(`no line numbers of the file: ${numbers}`);
    // the buttons are in sight, however late the diff came
    const signs = await page.$$eval(".ask .diff-row", (all) => all.map((one) => one.textContent).join(""));
    if (signs.includes("␍")) throw new Error("line ends that are all alike are no change");
    await page.waitForFunction(() => document.querySelector(".ask .ask-actions").getBoundingClientRect().bottom <= document.querySelector(".composer").getBoundingClientRect().top);
    await walk.clean("the approval");
    await walk.shot("04-approval");
    await walk.press("Arguments", ".approval button");
    await page.waitForFunction(() => document.querySelector(".approval .args")?.checkVisibility());
    await walk.press("Allow once", ".ask button");
    await walk.says("It is done.");
  });

  await walk.step("so are several edits, and a patch with wrong numbers; what will fail is said before", async () => {
    const told = { path: "src/lib/tools.py", patch: "--- a/src/lib/tools.py\n+++ b/src/lib/tools.py\n@@ -70,9 +71,2 @@\n def double(x):\n-    return 2 * x\n+    return x + x\n" };
    await order(walk, "Make it simpler.", "edit_file", told);
    await page.waitForSelector(".ask .approval .diff-row[data-kind=added]");
    const rows = await page.$$eval(".ask .diff-row", (all) => all.map((one) => `${one.dataset.kind} ${one.textContent}`));
    if (rows.join() !== "same 11def double(x):,removed 2    return 2 * x,added 2    return x + x") throw new Error(rows.join());
    await walk.press("Allow once", ".ask button");
    await walk.says("It is done.");
    await order(walk, "And again.", "edit_file", { path: "src/lib/tools.py", edits: [{ old: "double", new: "twice" }, { old: "return 2", new: "return 3" }] });
    await walk.sees(".ask .approval .notice", "Change 2: The file does not have the text");
    await walk.press("Allow once", ".ask button");
    await walk.says("It is done.");
    await page.waitForFunction(() => yaa.use("ui/commands").context().app.current.session.messages.findLast((one) => one.role === "tool").content.includes("edit 2 of 2: the text was not found"));
    await order(walk, "Back to what it was.", "edit_file", { path: "src/lib/tools.py", patch: "*** Begin Patch\n*** Update File: src/lib/tools.py\n@@\n-    return x + x\n+    return 2 * x\n*** End Patch" });
    await page.waitForSelector(".ask .approval .diff-row[data-kind=added]");
    await walk.press("Allow once", ".ask button");
    await walk.says("It is done.");
  });

  await walk.step("what shrinks and grows late leaves the end in sight", async () => {
    const rest = await page.evaluate(async () => {
      const view = document.querySelector(".scroll");
      const late = document.createElement("div");
      const frames = async () => { for (let n = 0; n < 5; n++) await new Promise(requestAnimationFrame); };
      late.style.height = "400px";
      view.firstChild.append(late);
      await frames();
      // grown after the view has followed, and before it hears that it was moved
      const sizes = new ResizeObserver(() => { if (late.style.height === "100px") late.style.height = "900px"; });
      sizes.observe(late);
      late.style.height = "100px";
      await frames();
      const left = view.scrollHeight - view.scrollTop - view.clientHeight;
      const height = late.style.height;
      sizes.disconnect();
      late.remove();
      return { left, height };
    });
    if (rest.height !== "900px" || rest.left > 1) throw new Error(JSON.stringify(rest));
  });

  await walk.step("view files in their ways", async () => {
    await walk.press("All", ".files-tabs button");
    await view(page, "README.md");
    await walk.sees(".file-place .prose strong", "notes");
    await walk.press("Source", ".segmented button");
    await walk.sees(".file-place .numbered", "**notes**");
    await walk.press("All files", ".file-head button");
    await view(page, "dot.png");
    await page.waitForFunction(() => document.querySelector(".file-picture")?.naturalWidth === 1);
    await walk.press("All files", ".file-head button");
    await openFolder(page, "data");
    await view(page, "data/table.csv");
    await walk.sees(".file-place td", "Bob, jr");
    await walk.clean("a table");
    await walk.press("All files", ".file-head button");
    await openFolder(page, "src");
    await view(page, "src/app.py");
    await walk.sees(".file-place .numbered code", "hello, world");
    await page.waitForSelector(".file-place .code-keyword");
    await walk.shot("05-view");
    await picture("files-desktop");
    await walk.press("Changes", ".segmented button");
    await walk.sees(".file-place .diff ins", "hello, world");
    await walk.clean("a file");
  });

  await walk.step("the tree goes by keys", async () => {
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => document.activeElement?.dataset.path === "src/app.py");
    await page.keyboard.press("ArrowLeft");
    await page.waitForFunction(() => document.activeElement?.dataset.path === "src");
    await page.keyboard.press("ArrowLeft");
    await page.waitForFunction(() => document.activeElement?.dataset.path === "src" && document.activeElement.getAttribute("aria-expanded") === "false");
    await page.keyboard.press("Home");
    await page.keyboard.press("End");
    await page.waitForFunction(() => document.activeElement?.matches(".file-tree .node:last-child"));
  });

  await walk.step("upload in pieces, one of which is lost", async () => {
    // the second piece arrives, and nobody hears of it
    await page.evaluate(() => {
      const { fetch } = globalThis;
      let pieces = 0;
      globalThis.fetch = async (address, options) => {
        const response = await fetch(address, options);
        if (options?.headers?.["Content-Range"] && ++pieces === 2) throw new TypeError("Failed to fetch");
        return response;
      };
    });
    await walk.drop(".files", ["big.bin", "A".repeat(3 * 2 ** 20 + 5)]);
    await page.waitForFunction(() => [...document.querySelectorAll(".file-tree .name")].some((one) => one.textContent === "big.bin"));
    await walk.sees(".toast", "big.bin is there");
    await walk.press("Undo", ".toast button");
    await page.waitForFunction(() => [...document.querySelectorAll(".file-tree .name")].every((one) => one.textContent !== "big.bin"));
    await walk.drop(".files", ["small.txt", "A".repeat(12)]);
    await page.waitForFunction(() => [...document.querySelectorAll(".file-tree .name")].some((one) => one.textContent === "small.txt"));
    await page.$$eval(".toast button[aria-label]", (all) => all.forEach((one) => one.click()));
  });

  await walk.step("an upload is a part of the document: the next run finds it", async () => {
    await order(walk, "And one more, please.", "shell", { command: "cat small.txt > other.txt" });
    await walk.says("It is done.");
    await page.waitForFunction(() => ["small.txt", "other.txt"].every((name) => [...document.querySelectorAll(".file-tree .name")].some((one) => one.textContent === name)));
    // the tab counts what its list shows: what was uploaded, too
    await walk.press("Changes", ".files-tabs button");
    await walk.press("Compare with an earlier moment", ".files-view button");
    for (const [point, rows] of [["Start of this session", 5], ["Before this turn", 2]]) {
      await page.$eval(".point-row select", (one, words) => {
        one.selectedIndex = [...one.options].findIndex(({ text }) => text === words);
        one.dispatchEvent(new Event("change"));
      }, point);
      await page.waitForFunction((rows) => {
        const listed = [...document.querySelectorAll(".opening .file-row .path")].map((one) => one.textContent);
        return listed.length === rows && listed.includes("small.txt") && document.querySelector(".files-tabs [aria-selected=true] .desk-count").textContent === String(rows);
      }, {}, rows);
    }
    await walk.press("All", ".files-tabs button");
  });

  await walk.step("@ names a file", async () => {
    await page.click(COMPOSER);
    await page.keyboard.type("Look at @tool");
    await walk.sees(".mention:not([data-late])", "tools.py");
    await walk.clean("the names");
    await walk.shot("06-mention");
    await picture("mention-desktop");
    await page.keyboard.press("Enter");
    const words = await page.$eval(COMPOSER, (one) => one.value);
    if (words !== "Look at src/lib/tools.py ") throw new Error(words);
    await page.keyboard.press("Enter");
    await walk.says("Understood.");
  });

  await walk.step("the time slider takes the files along", async () => {
    await page.evaluate(() => yaa.use("ui/commands").run("inspect.time"));
    await page.waitForSelector(".time input[type=range]");
    await page.$eval(".time input[type=range]", (one) => { one.value = "0"; one.dispatchEvent(new Event("input")); });
    await walk.sees(".files-notice", "as they were at this point");
    await page.waitForFunction(() => [...document.querySelectorAll(".file-tree .name")].some((one) => one.textContent === "draft.txt"));
    await page.$eval(".time input[type=range]", (one) => { one.value = String(Math.round(Number(one.max) * 0.45)); one.dispatchEvent(new Event("input")); });
    await walk.sees(".files-notice", "as they were at this point");
    await page.waitForFunction(() => ![...document.querySelectorAll(".file-tree .name")].some((one) => one.textContent === "other.txt"));
    if (!(await page.$eval(".files-bar .button", (one) => one.disabled))) throw new Error("the past can be written to");
    await walk.clean("the past");
    await walk.shot("07-past");
    await walk.press("Close", ".time button");
    await page.waitForFunction(() => [...document.querySelectorAll(".file-tree .name")].some((one) => one.textContent === "other.txt"));
  });

  await walk.step("go back two turns: the files stand there too", async () => {
    await told("order", "shell", { command: "echo here > branch.txt" });
    await page.evaluate(async () => {
      await yaa.load("branches");
      const { app } = yaa.use("ui/commands").context();
      const users = app.current.session.messages.filter((one) => one.role === "user");
      await app.sessionStore.edit(app.current, (session) => yaa.use("core/message-edits").editMessage(session, users.at(-2).id, "Try another way."));
      app.draw();
    });
    await walk.sees(".files-notice", "These are the files at this point of the conversation.");
    await walk.sees(".files-notice button", "Restore files");
    await page.waitForFunction(() => ![...document.querySelectorAll(".file-tree .name")].some((one) => one.textContent === "other.txt"));
    await walk.press("Continue from here", "button");
    await walk.says("It is done.");
    await page.waitForFunction(() => {
      const names = [...document.querySelectorAll(".file-tree .name")].map((one) => one.textContent);
      // what was uploaded before that message went with it
      return names.includes("branch.txt") && names.includes("small.txt") && !names.includes("other.txt");
    });
  });

  await walk.step("apply a part of the layer; what changed in the folder too is asked about", async () => {
    await told("write", "notes", "src/app.py", "somebody else was here\n");
    await walk.press("Changes", ".files-tabs button:not([hidden])");
    await page.waitForFunction(() => document.querySelectorAll(".layer-row").length === 5);
    await walk.sees(".layer-row .badge", "conflict");
    await walk.press("branch.txt", ".file-row");
    await walk.sees(".layer-row .diff ins", "here");
    await walk.clean("the layer");
    await walk.shot("08-layer");
    await picture("layer-desktop");
    await walk.press("Apply this file", ".layer-row button");
    await page.waitForFunction(() => document.querySelectorAll(".layer-row").length === 4);
    let notes = await told("folder", "notes");
    if (notes["branch.txt"] !== "here\n" || notes["notes/new.txt"] || !notes["draft.txt"] || notes["src/app.py"] !== "somebody else was here\n") throw new Error(JSON.stringify(notes));
    await page.$eval('.layer-row input[aria-label*="app.py"]', (one) => one.click());
    await walk.press("Apply all", ".files-bar button");
    await walk.sees("dialog", "1 file has changed in the folder too");
    await walk.clean("the question");
    await walk.shot("09-conflict");
    await walk.press("Apply the other 3", "dialog button");
    await page.waitForFunction(() => document.querySelectorAll(".layer-row").length === 1);
    notes = await told("folder", "notes");
    if (notes["src/app.py"] !== "somebody else was here\n" || notes["draft.txt"] || !notes["notes/new.txt"]) throw new Error(JSON.stringify(notes));
  });

  await walk.step("discard the rest: the layer is the folder again", async () => {
    await walk.press("app.py", ".file-row");
    await walk.sees(".layer-row .notice", "changed in the folder too");
    await walk.press("Discard this file", ".layer-row button");
    await walk.sees(".files-body", "The copy holds no changes");
    await walk.press("All", ".files-tabs button");
    await openFolder(page, "src");
    await view(page, "src/app.py");
    await walk.sees(".file-place", "somebody else was here");
    await walk.press("All files", ".file-head button");
  });

  await walk.step("it goes on at another server, which has none of its files", async () => {
    await page.waitForFunction(async () => {
      await yaa.load("kept-files");
      const { session } = yaa.use("ui/commands").context().app.current;
      const kept = await yaa.use("ext/files/kept-objects").of(session.id);
      return kept?.left.count === 0 && kept.objects.includes(yaa.use("core/workspace-stand").standOf(session));
    });
    await told("another server");
    const calls = await page.evaluate(() => yaa.use("ui/commands").context().app.current.session.messages.filter((one) => one.role === "tool").length);
    await order(walk, "Is all of it here?", "shell", { command: "cat branch.txt notes/new.txt src/app.py; ls" });
    await walk.sees(".ask", "does not have all files");
    await walk.sees(".ask", "copies of all of them");
    await walk.clean("the card of what is missing");
    await walk.shot("10-missing");
    await walk.sees(".files-none", "This server does not have the files");
    await walk.press("Upload the copies", ".ask button");
    const called = await page.waitForFunction((calls) => {
      const results = yaa.use("ui/commands").context().app.current.session.messages.filter((one) => one.role === "tool");
      return results.length > calls && results.at(-1).result;
    }, {}, calls);
    const { result, status } = await called.jsonValue();
    if (!result?.output.startsWith("here\na new file\nsomebody else was here\n") || result.output.includes("draft.txt")) throw new Error(JSON.stringify([status, result]));
    await walk.says("It is done.");
    await walk.sees(".file-tree", "branch.txt");
    const notes = await told("folder", "notes");
    if (!notes["draft.txt"] || notes["branch.txt"]) throw new Error(`the folder of the other server: ${JSON.stringify(notes)}`);
  });

  await walk.step("a ZIP file and a saved page carry the files", async () => {
    const [zipped, saved, other] = await page.evaluate(async () => {
      await Promise.all([yaa.load("dialogs"), yaa.load("kept-files"), yaa.load("saved")]);
      const { app } = yaa.use("ui/commands").context();
      const [copies, kept, exporter] = ["ext/files/copies", "ext/files/kept-objects", "ui/import-export"].map((name) => yaa.use(name));
      const { session } = app.current;
      const before = (await kept.of(session.id)).objects.sort().join();
      const files = [
        new File([await copies.zipped(session.id, JSON.stringify(session))], "session.zip"),
        new File([yaa.use("ext/saved/page-file").page({ source: "", session, objects: await copies.encoded(session.id) })], "session.html"),
      ];
      const found = [];
      for (const file of files) {
        await kept.remove(session.id);
        await exporter.importFiles(yaa.use("ui/commands").context(), [file]);
        found.push((await kept.of(session.id))?.objects.sort().join() === before);
      }
      return [...found, before.length > 64];
    });
    if (!zipped || !saved || !other) throw new Error(JSON.stringify([zipped, saved, other]));
    await page.evaluate(() => yaa.use("ui/commands").run("session.export"));
    await walk.sees("dialog .choices", "ZIP file");
    await walk.sees("dialog", "Kept in this browser");
    await walk.clean("the export");
    await walk.press("Close", "dialog button");
  });

  const first = await page.evaluate(() => yaa.use("ui/commands").context().app.current.session.id);

  await walk.step("a folder that others changed is asked about", async () => {
    await walk.press("New session", ".side button");
    await page.waitForSelector(".composer-bar .folder:not([hidden])");
    await page.click(".composer-bar .folder");
    await walk.press("shared", ".menu button");
    await order(walk, "Write down the second plan.", "shell", { command: "echo second > plan.txt" });
    await walk.says("It is done.");
    await order(walk, "Now the third one.", "shell", { command: "echo third > plan.txt" });
    await walk.says("It is done.");
    await page.evaluate(async () => {
      const { app } = yaa.use("ui/commands").context();
      const users = app.current.session.messages.filter((one) => one.role === "user");
      await app.sessionStore.edit(app.current, (session) => yaa.use("core/message-edits").editMessage(session, users.at(-1).id, "and now?"));
      app.draw();
    });
    await walk.press("Continue from here", "button");
    await walk.sees(".ask", "not as this conversation left it");
    await walk.sees(".ask .file-list", "plan.txt");
    await walk.clean("the card of a restore");
    await walk.shot("11-restore");
    await walk.press("Take the files back", ".ask button");
    await walk.says("Understood.");
    const shared = await told("folder", "shared");
    if (shared["plan.txt"] !== "second\n") throw new Error(JSON.stringify(shared));
  });

  await walk.step("another folder later is asked about; one that is read is not written", async () => {
    await page.click(".files-head .folder");
    await walk.press("library", ".menu button");
    await walk.sees("dialog", "Another folder?");
    await walk.press("Change the folder", "dialog button");
    await walk.sees(".files-head .folder", "library");
    await page.waitForFunction(() => document.querySelector(".files-bar .button")?.disabled);
    await page.waitForFunction(() => [...document.querySelectorAll(".file-tree .name")].some((one) => one.textContent === "book.txt"));
  });

  await walk.step("and one that no run has used keeps its files", async () => {
    for (const [name, file] of [["site", "index.html"], ["shared", "plan.txt"]]) {
      await page.click(".files-head .folder");
      await walk.press(name, ".menu button");
      await walk.press("Change the folder", "dialog button");
      await walk.sees(".file-tree", file);
      await order(walk, `Add to ${name}.`, "shell", { command: `echo more > added-${name}` });
      await walk.sees(".file-tree", `added-${name}`);
      await walk.says("It is done.");
      const files = Object.keys(await told("folder", name)).sort().join();
      if (files !== [`added-${name}`, file].sort().join()) throw new Error(files);
    }
  });

  await walk.step("an upload belongs to the session it was begun in", async () => {
    const stand = () => page.evaluate(() => yaa.use("core/workspace-stand").standOf(yaa.use("ui/commands").context().app.current.session));
    await page.$eval(".files-tabs button", (one) => one.click());
    await openSession(page, first);
    await walk.sees(".file-tree", "README.md"); // its first row is a folder, which nobody has chosen
    const before = await stand();
    await closeGate(page);
    await walk.drop(".files", ["late1.txt", "AAAAA"]);
    await walk.drop(".files", ["late2.txt", "AAAAA"]);
    await page.waitForFunction(() => document.querySelectorAll(".uploads li").length === 2);
    // its rows are as high as what is in them, at the end of the panel
    const heights = await page.$$eval(".uploads li", (all) => all.map((one) => one.offsetHeight));
    if (Math.max(...heights) > 80) throw new Error(`uploads stand apart: ${heights}`);
    await page.evaluate(() => yaa.use("ui/commands").run("session.new"));
    await page.waitForFunction((id) => yaa.use("ui/commands").context().app.current.session.id !== id, {}, first);
    await page.evaluate(() => globalThis.openGate());
    await page.waitForFunction(() => !document.querySelectorAll(".uploads li").length && document.querySelector(".toast"));
    const other = await stand();
    if (other) throw new Error(`the open session took the tree ${other}`);
    await openSession(page, first);
    await page.waitForFunction(() => ["late1.txt", "late2.txt"].every((name) => [...document.querySelectorAll(".file-tree .name")].some((one) => one.textContent === name)));
    if ((await stand()) === before) throw new Error("the session does not know its files");
  });

  await walk.step("a panel that was closed shows no files of the session before", async () => {
    await page.click(".files-head button:last-child");
    await page.evaluate(() => yaa.use("ui/commands").run("session.new"));
    await page.waitForFunction((id) => yaa.use("ui/commands").context().app.current.session.id !== id, {}, first);
    await page.evaluate(() => { // the server takes its time
      const { fetch } = globalThis;
      globalThis.fetchNow = fetch;
      globalThis.fetch = (address, options) => (String(address).includes("/workspaces/") ? new Promise(() => {}) : fetch(address, options));
    });
    await page.evaluate(() => yaa.use("ui/commands").run("files"));
    await page.waitForSelector(".files-body .files-none");
    if ((await rows()).length) throw new Error(`files of another session: ${await rows()}`);
    await page.evaluate(() => { globalThis.fetch = globalThis.fetchNow; });
  });

  await walk.step("rules that are too many ignore nothing, and the panel says which", async () => {
    await page.evaluate(() => yaa.use("ui/commands").run("session.new"));
    await page.waitForSelector(".composer-bar .folder:not([hidden])");
    await page.click(".composer-bar .folder");
    await walk.press("notes", ".menu button");
    await order(walk, "Ignore a lot.", "shell", { command: "seq 20000 > .gitignore; mkdir many; seq 20000 > many/.gitignore" });
    await walk.says("It is done.");
    await page.evaluate(() => document.querySelector(".files")?.checkVisibility() || yaa.use("ui/commands").run("files"));
    await walk.sees(".files", "Too many patterns, so that nothing is ignored by them: .gitignore, many/.gitignore.");
    await walk.clean("rules that are too many");
    await walk.shot("16-rules");
  });

  await walk.step("somebody's copy of a session takes no file's place unasked", async () => {
    await page.evaluate(() => yaa.use("ui/commands").run("session.new"));
    await order(walk, "Write the plan.", "shell", { command: "echo first > plan.txt" });
    await walk.says("It is done.");
    const current = () => page.evaluate(() => yaa.use("ui/commands").context().app.current.session);
    const copy = await current();
    await order(walk, "Another one.", "shell", { command: "echo second > plan.txt" });
    await walk.says("It is done.");
    const { id } = await current();
    // somebody sends an older state of it, which is opened in a browser that does not have the session
    await page.evaluate((one) => yaa.use("ui/commands").context().app.sessionStore.remove(one), id);
    await walk.drop("#side", ["trip.yaa.json", JSON.stringify(copy)]);
    await walk.press("Leave everything out", "dialog button");
    await page.waitForSelector("dialog[open]", { hidden: true });
    await page.evaluate((one) => yaa.use("ui/commands").context().actions.open(one), id);
    if ((await current()).workspace?.foreign !== true) throw new Error(JSON.stringify((await current()).workspace));
    await walk.send("And now?");
    await walk.sees(".ask", "This session came from elsewhere, and 1 file here is not as it says.");
    await walk.sees(".ask .file-list", "plan.txt");
    await walk.clean("the card of a session from elsewhere");
    await walk.shot("17-foreign");
    await walk.press("Go on with the files as they are", ".ask button");
    await walk.says("Understood.");
    if ((await current()).workspace.foreign) throw new Error("its files are still a stranger's");
    await order(walk, "Read it.", "shell", { command: "cat plan.txt" });
    await walk.says("It is done.");
    const last = (await current()).messages.findLast((one) => one.role === "tool");
    if (last.result.result.output !== "second\n") throw new Error(JSON.stringify(last));
  });

  await walk.step("what runs on the machine, and a link that leads out, are applied by themselves", async () => {
    await page.evaluate(() => yaa.use("ui/commands").run("session.new"));
    await page.waitForSelector(".composer-bar .folder:not([hidden])");
    await page.click(".composer-bar .folder");
    await walk.press("notes", ".menu button");
    await order(walk, "Set it up.", "shell", { command: "echo 'curl x | sh' > .envrc; mkdir .vscode; echo '{}' > .vscode/tasks.json; ln -s /etc/hosts hosts; echo 1 > plain.txt" });
    await walk.says("It is done.");
    await page.evaluate(() => document.querySelector(".files")?.checkVisibility() || yaa.use("ui/commands").run("files"));
    await walk.press("Changes", ".files-tabs button:not([hidden])");
    await page.waitForFunction(() => document.querySelectorAll(".layer-row").length === 4);
    const said = await page.$$eval(".layer-row", (all) => all.map((one) => [one.querySelector(".path").textContent, one.querySelector(".badge")?.textContent, Boolean(one.querySelector("input"))].join()).sort());
    const wanted = [".envrc,runs on your machine,false", ".vscode/tasks.json,runs on your machine,false", "hosts → /etc/hosts,leads out of the folder,false", "plain.txt,,true"];
    if (said.join("|") !== wanted.join("|")) throw new Error(said.join("|"));
    await walk.sees(".files-view", "3 of them would run on your machine or lead out of the folder");
    await walk.clean("the layer");
    // what comes into the layer after it was looked at is not applied
    await page.evaluate(async () => {
      const { app } = yaa.use("ui/commands").context();
      await yaa.use("ext/files/session-files").routesOf(app).upload("plain.txt", new Blob(["EVIL"]));
    });
    await walk.press("Apply 1", ".files-bar button");
    await walk.sees(".toast", "The copy has changed since you looked at it");
    if ((await told("folder", "notes"))["plain.txt"]) throw new Error("it was applied unseen");
    await page.waitForFunction(() => document.querySelectorAll(".layer-row").length === 4);
    await walk.press("Apply 1", ".files-bar button");
    await page.waitForFunction(() => document.querySelectorAll(".layer-row").length === 3);
    let notes = await told("folder", "notes");
    if (notes["plain.txt"] !== "EVIL" || notes[".envrc"] || notes[".vscode/tasks.json"] || notes.hosts) throw new Error(JSON.stringify(notes));
    await walk.press(".envrc", ".file-row");
    await walk.sees(".layer-row .diff ins", "curl x | sh");
    await walk.sees(".layer-row .notice", "Programs on your machine run this file");
    await walk.clean("a file that runs");
    await walk.shot("15-layer-runs");
    await walk.press("Apply this file", ".layer-row button");
    await page.waitForFunction(() => document.querySelectorAll(".layer-row").length === 2);
    notes = await told("folder", "notes");
    if (!notes[".envrc"] || notes[".vscode/tasks.json"]) throw new Error(JSON.stringify(notes));
    await walk.press("hosts", ".file-row");
    await walk.sees(".layer-row .diff ins", "-> /etc/hosts");
    if (job.browser === "chromium") {
      const id = await page.evaluate(() => yaa.use("ui/commands").context().app.current.session.id);
      await page.setViewport(PHONE); // the page is loaded again
      await page.waitForSelector(".files-button:not([hidden])");
      await openSession(page, id);
      await page.$$eval(".files-tabs button", (all) => all[2].click());
      await page.waitForSelector(".layer-row .file-row");
      await page.$eval(".layer-row .file-row", (one) => one.click());
      await page.waitForSelector(".layer-row .diff");
      await walk.clean("the layer on a phone");
      await fits(page);
      await walk.shot("15-phone-layer-runs");
      const set = (how) => page.evaluate((values) => yaa.use("ui/commands").context().actions.set(values), how);
      await set({ theme: "dark", language: "zh" });
      await page.waitForFunction(() => document.documentElement.lang.startsWith("zh") && document.querySelector(".files-button:not([hidden])"));
      await openSession(page, id);
      await page.$$eval(".files-tabs button", (all) => all[2].click());
      await page.waitForSelector(".layer-row .file-row");
      await walk.clean("the layer on a phone, dark, in Chinese");
      await fits(page);
      await walk.shot("15-phone-layer-runs-dark");
      await set({ theme: "light", language: "en" });
      await page.waitForFunction(() => document.documentElement.lang.startsWith("en"));
      await page.setViewport({ width: 1280, height: 800 });
      await page.waitForSelector(".files-button:not([hidden])");
      await openSession(page, id);
      await page.$$eval(".files-tabs button", (all) => all[2].click());
    }
    await walk.press("Discard all", ".files-bar button");
    await walk.sees(".files-body", "The copy holds no changes");
  });

  if (job.browser !== "chromium") return;
  await walk.step("on a phone, light, in English", async () => {
    await page.setViewport(PHONE); // the page is loaded again
    await page.waitForSelector(".files-button:not([hidden])");
    await openSession(page, first);
    const small = await page.$$eval(".files :is(button, [role=treeitem])", (all) => all.filter((one) => one.checkVisibility() && (one.getBoundingClientRect().height < 43.5)).map((one) => one.outerHTML.slice(0, 90)));
    if (small.length) throw new Error(`too small for a finger: ${small.join("\n")}`);
    await walk.clean("the tree on a phone");
    await fits(page);
    await walk.shot("12-phone-tree");
    await page.$$eval(".files-tabs button", (all) => all[1].click());
    await page.waitForSelector(".opening .file-row");
    await page.click(".opening .file-row");
    await page.waitForSelector(".file-diff .diff");
    await walk.clean("changes on a phone");
    await fits(page);
    await walk.shot("13-phone-changes");
    await picture("files-phone");
    await page.$$eval(".files-tabs button", (all) => all[2].click());
    await page.waitForSelector(".layer-row");
    await walk.clean("the layer on a phone");
    await fits(page);
    await walk.shot("14-phone-layer");
    await page.$$eval(".files-tabs button", (all) => all[0].click());
    await view(page, "README.md"); // which can be looked at in three ways
    await inOneRow(page);
    await page.$eval(".file-head button", (one) => one.click()); // back
    await openFolder(page, "src");
    await view(page, "src/app.py");
    await fits(page);
    await walk.clean("a file on a phone");
    await walk.shot("15-phone-view");
    await closeGate(page);
    await walk.drop(".files", ["from-a-phone-with-a-long-name.txt", "AAAAA"]);
    await walk.drop(".files", ["large.txt", "A".repeat(3_000_000)]);
    await page.waitForFunction(() => document.querySelectorAll(".uploads li").length === 2);
    await fits(page);
    await walk.clean("uploads on a phone");
    await walk.shot("15-phone-uploads");
    await page.evaluate(() => globalThis.openGate());
    await page.waitForFunction(() => !document.querySelectorAll(".uploads li").length);
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await order(walk, "Once more.", "edit_file", { path: "src/app.py", old: "somebody else", new: "the other one" });
    await page.waitForSelector(".ask .approval .diff");
    const thin = await page.$$eval(".ask button, .handed button", (all) => all.filter((one) => one.checkVisibility() && one.getBoundingClientRect().height < 43.5).map((one) => one.outerHTML.slice(0, 90)));
    if (thin.length) throw new Error(`too small for a finger: ${thin.join("\n")}`);
    await walk.clean("the approval on a phone");
    await walk.shot("16-phone-approval");
    await page.click(".ask .ask-actions .primary");
    await walk.says("It is done.");
    await fits(page);
    await walk.shot("17-phone-answer");
    await page.evaluate(() => yaa.use("ui/commands").run("inspect.time"));
    await page.waitForSelector(".time input[type=range]");
    await page.$eval(".time input[type=range]", (one) => { one.value = String(Math.round(Number(one.max) * 0.45)); one.dispatchEvent(new Event("input")); });
    await page.evaluate(() => yaa.use("ui/commands").run("files"));
    await walk.sees(".files-none", "This server does not have the files"); // it is the other one
    await fits(page);
    await walk.clean("the past on a phone");
    await walk.shot("17-phone-past");
    await page.keyboard.press("Escape");
    await fits(page);
    await walk.shot("17-phone-slider");
    await page.$eval(".time button:last-child", (one) => one.click());
  });

  await walk.step("on a desktop, dark, in Chinese", async () => {
    await page.setViewport({ width: 1280, height: 800 });
    await page.waitForSelector(".files-button:not([hidden])");
    await page.evaluate((how) => yaa.use("ui/commands").context().actions.set(how), { theme: "dark", language: "zh" });
    await page.waitForFunction(() => document.documentElement.lang.startsWith("zh") && document.querySelector(".files-button:not([hidden])"));
    await openSession(page, first);
    await openFolder(page, "src");
    await view(page, "src/app.py");
    await walk.clean("a file in the dark");
    await page.$eval(".files-tabs button:nth-child(2)", (one) => one.click());
    await page.waitForSelector(".opening .file-row");
    await page.$eval(".opening .file-row", (one) => one.click());
    await page.waitForSelector(".file-diff .diff");
    await walk.clean("the panel");
    await walk.shot("18-desktop-changes");
    await page.$eval(".files-tabs button:nth-child(3)", (one) => one.click());
    await page.waitForSelector(".layer-row");
    await page.$eval(".layer-row .file-row", (one) => one.click());
    await page.waitForSelector(".layer-row .diff");
    await walk.clean("the layer");
    await walk.shot("19-desktop-layer");
  });
});

/** A session, and its files. */
async function openSession(page, id) {
  await page.evaluate(async (one) => {
    await yaa.use("ui/commands").context().actions.open(one);
    await yaa.use("ui/commands").run("files");
  }, id);
  await page.waitForSelector(".file-tree .node");
}

/** Says something, upon which the scripted model calls a tool. */
async function order(walk, words, tool, args, ...done) {
  const said = () => document.querySelectorAll("article.message[data-role=user]").length;
  const before = await walk.page.evaluate(said);
  await walk.page.click(COMPOSER);
  await walk.ask("order", tool, args, ...done);
  await walk.page.keyboard.type(words);
  if (walk.page.viewport()?.hasTouch) await walk.page.click(".composer .send"); // where Enter is a new line
  else await walk.page.keyboard.press("Enter");
  // from here on the page is busy: what an earlier answer says does not count
  await walk.page.waitForFunction((n) => document.querySelectorAll("article.message[data-role=user]").length > n, {}, before);
}

function row(path) {
  return `.file-tree .node[data-path="${path}"]`;
}

async function openFolder(page, path) {
  await page.waitForSelector(row(path));
  if ((await page.$eval(row(path), (one) => one.getAttribute("aria-expanded"))) === "false") await page.$eval(row(path), (one) => one.click());
}

async function view(page, path) {
  await page.waitForSelector(row(path));
  await page.$eval(row(path), (one) => one.click());
  await page.waitForFunction((name) => document.querySelector(".file-head .path")?.checkVisibility() && document.querySelector(".file-head .path").textContent.includes(name) && document.querySelector(".file-place").firstChild, {}, path);
}

/** Lets uploads wait until `openGate` is called in the page. */
async function closeGate(page) {
  await page.evaluate(() => {
    const { fetch } = globalThis;
    const opened = new Promise((resolve) => { globalThis.openGate = resolve; });
    globalThis.fetch = async (address, options) => {
      if (options?.method === "PUT") await opened;
      return fetch(address, options);
    };
  });
}

/** Nothing of the conversation or of the panel is wider than the screen. */
async function fits(page) {
  const wide = await page.evaluate(() => [document.scrollingElement, ...document.querySelectorAll(".scroll, .scroll article, .files, .files-body, .composer")]
    .filter((one) => one.scrollWidth > one.clientWidth + 1 || one.getBoundingClientRect().right > innerWidth + 1)
    .map((one) => `${one.tagName}.${one.className} ${one.scrollWidth} > ${one.clientWidth}`));
  if (wide.length) throw new Error(`wider than the screen: ${wide.join("\n")}`);
}

/** The buttons over a file are beside each other. */
async function inOneRow(page) {
  const middles = await page.$$eval(".file-bar > *", (all) => all.filter((one) => one.offsetHeight).map((one) => Math.round(one.offsetTop + one.offsetHeight / 2)));
  if (Math.max(...middles) - Math.min(...middles) > 4) throw new Error(`the buttons over a file are in several rows: ${middles}`);
}

