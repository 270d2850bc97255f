/**
 * Sessions on the move, from disk: exported as a page, opened, continued and kept; imported again,
 * searched, tagged, deleted and brought back; files and commands in the message field.
 *
 * What the page saves is caught where it is made, and written where a browser would have put it.
 * The job: {url, server, key, folder, …}.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { main } from "./driver.mjs";

const AREA = "form.composer textarea";
const DIALOG = "dialog[open]";
// Put together here, so that no scanner of repositories takes the test for a leak.
const SECRET = `sk-${"proj"}-abcdefghijklmnop1234`;

await main(async (walk, job) => {
  const { page } = walk;
  await walk.keepSaved();

  await walk.step("open", async () => {
    await page.goto(job.url);
    await page.waitForSelector(AREA, { visible: true });
    await walk.press("Settings");
    await page.waitForSelector(DIALOG);
    await walk.fill(`${DIALOG} input[type=url]`, job.server);
    await walk.fill(`${DIALOG} input[type=password]`, job.key);
    await walk.press("Close", `${DIALOG} button`);
    await page.waitForSelector(".side-foot .dot.good");
  });

  await walk.step("a file goes along", async () => {
    await walk.drop("form.composer", ["notes.md", "# The zebra file"], ["data.bin", "\0\0\0"]);
    await page.waitForSelector(".tray .attached");
    await walk.press("Remove data.bin", ".tray button"); // what is no text goes into the workspace
    await page.type(AREA, `My key is ${SECRET}, what now?`);
    await page.keyboard.press("Enter");
    await walk.sees(".sent-file", "notes.md");
    await walk.sees(".bubble", "what now?");
    await walk.sees(".ask", "Allow shell?");
    if ((await walk.text(".bubble")).includes("zebra")) throw new Error("the file is shown as words");
    // a session is named after the words, not after the file
    await page.waitForFunction(() => !document.title.includes("New session"));
    const title = await page.title();
    if (title.includes("<file")) throw new Error(title);
    // beside a picture a file is no taller, and its size stays in one line beside a long name
    const heights = await page.evaluate(async () => {
      const picture = document.createElement("canvas").toDataURL();
      const file = (name) => ({ type: "text", text: `<file name="${name}">\nx\n</file>` });
      const el = yaa.use("ui/attachments").filesView([{ type: "image_url", image_url: { url: picture } }, file("a.txt"), file(`${"n".repeat(120)}`)]);
      document.querySelector(".bubble").before(el);
      const image = el.querySelector("img"); // Firefox has nothing to decode before it has looked whether it is in sight
      image.loading = "eager";
      if (!image.complete) await new Promise((loaded) => (image.onload = loaded));
      const found = [...el.querySelectorAll(".sent-file, .sent-file small")].map((one) => Math.round(one.getBoundingClientRect().height));
      el.remove();
      return found;
    });
    if (heights[0] !== heights[2] || heights[1] !== heights[3]) throw new Error(heights.join());
  });

  let saved = "";
  await walk.step("saved as a page", async () => {
    await walk.press("More about this session");
    await walk.press("Export this session", "[role=menuitem]");
    await walk.sees(DIALOG, "1 possible secret");
    await walk.clean("export");
    await walk.shot("1-export");
    await walk.press("Save", `${DIALOG} .dialog-foot button`);
    await page.waitForFunction(() => globalThis.savedFiles.length === 1);
    saved = await page.evaluate(() => globalThis.savedFiles[0]);
    writeFileSync(join(job.folder, "saved.html"), saved);
    if (saved.includes(SECRET)) throw new Error("the secret went along");
    return { kilobytes: Math.round(saved.length / 1024) };
  });

  await walk.step("searched, and jumped to", async () => {
    await page.type(".side-search", "zebra");
    await walk.sees(".hit mark", "zebra");
    await walk.press("zebra", ".hit");
    await page.waitForFunction(() => CSS.highlights.get("found-now")?.size === 1);
    await page.waitForFunction(() => document.activeElement.matches("article.message[data-role=user]"));
    await walk.press("New session", ".side button");
    await page.waitForSelector(".found-list .row[data-current=false]");
    await walk.press("zebra", ".hit");
    await page.waitForSelector(".found-list .row[data-current=true]");
    await page.waitForFunction(() => document.activeElement.matches("article.message[data-role=user]"));
    await walk.clean("search");
    await walk.singleKeys();
    await page.keyboard.press("/");
    await page.waitForSelector(".find-bar");
    await page.keyboard.type("echo");
    await page.keyboard.press("Enter");
    await walk.sees(".find-bar .count", "1 of");
    await walk.clean("find");
    await page.keyboard.press("Escape");
    await page.click(".side-search", { count: 3 });
    await page.keyboard.press("Backspace");
    await page.waitForSelector(".row");
  });

  await walk.step("tagged, pinned, selected", async () => {
    await menu(walk, "Tags");
    await page.waitForSelector(DIALOG);
    await page.keyboard.type("zoo, work");
    await walk.clean("tags");
    await walk.press("Done", `${DIALOG} .dialog-foot button`);
    await walk.sees(".row-tags", "#zoo #work");
    await menu(walk, "Pin");
    await walk.sees(".side-list h2", "Pinned");
    await walk.press("zoo", ".chip");
    await page.waitForSelector(".chip[aria-pressed=true]");
    await walk.press("zoo", ".chip");
    await menu(walk, "Select");
    await walk.sees(".select-bar", "1 selected");
    await walk.clean("select");
    await walk.shot("2-selected");
    await walk.press("End selecting");
    await page.waitForSelector(".select-bar", { hidden: true });
  });

  await walk.step("imported beside itself, and once only", async () => {
    const rows = () => page.$$eval(".row-open", (all) => all.length);
    await walk.drop("#side", ["saved.html", saved]);
    await walk.sees(".toast", "differs from one you have");
    await page.waitForFunction(() => document.querySelectorAll(".row-open").length === 2);
    await walk.drop("#side", ["nothing.txt", "just words"]);
    await walk.sees(".toast", "Nothing was recognised: nothing.txt");
    await walk.drop("#side", ["talk.json", JSON.stringify([{ role: "user", content: "From elsewhere" }, { role: "assistant", content: "Indeed" }])]);
    await walk.sees(".row-title", "From elsewhere");
    const before = await rows();
    await walk.drop("#side", ["export.zip", job.zip, true], ["cut.zip", job.zip.slice(0, 80), true]);
    await walk.sees(".toast", "Imported 1 session.");
    await walk.sees(".toast", "Nothing was recognised: cut.zip (It has no end.)");
    await walk.sees(".row-title", "Out of a ZIP file");
    return { before, rows: await rows() };
  });

  await walk.step("what a model made is shown and heard, after a reload too", async () => {
    const title = await page.$eval(".row[data-current=true] .row-title", (row) => row.textContent);
    const made = [{ media_type: "image/png", name: "image-1.png", bytes: 94, width: 64, height: 48, data: job.picture }, { media_type: "audio/wav", name: "audio-2.wav", bytes: 2044, data: job.sound }, { media_type: "audio/flac", name: "audio-3.flac", bytes: job.flac.length * 0.75, data: job.flac }];
    await walk.drop("#side", ["drawn.json", JSON.stringify({ id: "drawn", messages: [{ role: "user", content: "Draw and hum" }, { role: "assistant", content: "Here", media: made }] })]);
    await walk.press("Draw and hum", ".row-open");
    const check = async () => {
      await page.waitForFunction(() => document.querySelector(".shown img[alt='image-1.png']")?.naturalWidth === 64);
      for (const name of ["audio-2.wav", "audio-3.flac"]) await page.waitForFunction((label) => document.querySelector(`.shown audio[aria-label='${label}']`)?.duration > 0, {}, name);
    };
    await check();
    await walk.clean("made");
    await walk.shot("2-made");
    await page.reload();
    await check();
    await walk.press(title, ".row-open");
    await page.waitForFunction((words) => document.querySelector(".row[data-current=true] .row-title")?.textContent === words, {}, title);
  });

  await walk.step("deleted, and brought back", async () => {
    const title = await walk.text(".row-title");
    await menu(walk, "Delete");
    await walk.sees(".toast", "Deleted");
    await walk.press("Undo", ".toast button");
    await walk.sees(".row-title", title);
  });

  await walk.step("palette, keys and slash", async () => {
    await page.focus(AREA);
    await page.keyboard.down("Control");
    await page.keyboard.press("k");
    await page.keyboard.up("Control");
    await page.waitForSelector(".palette[open]");
    await page.keyboard.type("keys");
    await walk.clean("palette");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".key-list");
    await walk.clean("keys");
    await escape(page);
    await page.focus(AREA);
    await page.keyboard.type("/pro");
    await walk.sees(".slash [aria-selected=true]", "/prompts");
    await walk.clean("slash");
    await page.keyboard.press("Enter");
    await walk.sees(DIALOG, "No prompts yet.");
    await walk.press("New prompt", `${DIALOG} .dialog-foot button`);
    await page.keyboard.type("Greet");
    await page.type(`${DIALOG} form textarea`, "Hello {{who=world}}");
    await walk.press("Save", `${DIALOG} form button`);
    await walk.sees(".prompts", "/greet");
    await walk.clean("prompts");
    await escape(page);
    await page.focus(AREA);
    await page.keyboard.type("/greet moon");
    await page.keyboard.press("Enter");
    await page.waitForFunction((css) => document.querySelector(css).value === "Hello moon", {}, AREA);
  });

  await walk.step("what is written is there after a reload", async () => {
    await page.reload();
    await page.waitForFunction((css) => document.querySelector(css)?.value === "Hello moon", {}, AREA);
    await page.waitForFunction(() => ["yaa.running", "yaa.files"].every((name) => sessionStorage.getItem(name))); // stored late
  });

  await walk.step("the saved page opens as a standalone page", async () => {
    const before = await page.evaluate(stored);
    await page.goto(pathToFileURL(join(job.folder, "saved.html")).href);
    await page.waitForSelector(".standalone");
    // Far up in the thread: there, but not drawn.
    const said = await page.$eval(".bubble", (bubble) => bubble.textContent);
    if (said !== "My key is [redacted key], what now?") throw new Error(said);
    await walk.clean("standalone");
    await walk.shot("3-standalone");
    // What keys start comes when the page is idle, part by part: until then they do nothing.
    await page.waitForFunction(() => ["find", "inspect.time"].every((id) => yaa.use("ui/commands").table().some((one) => one.id === id)));
    await walk.singleKeys();
    await page.keyboard.press("/");
    await page.waitForSelector(".find-bar");
    await page.keyboard.type("shell");
    await page.keyboard.press("Enter");
    await walk.sees(".find-bar .count", "1 of");
    await page.keyboard.press("Escape");
    // It replays, too: what does that is in the file.
    await page.keyboard.press("g");
    await page.keyboard.press("t");
    await page.waitForSelector("input[type=range]");
    await page.keyboard.press("Escape");
    // Its settings are whole, though what is under the sessions of a client never begins here.
    await walk.press("Show sessions", ".top button");
    await walk.press("Settings", "#side button");
    await walk.press("This browser", `${DIALOG} [role=tab]`);
    if (!(await page.$eval(`${DIALOG} [data-part=server]`, (one) => one.open))) await walk.press("Connection", `${DIALOG} summary`); // open where no server answers
    await walk.sees(`${DIALOG} .servers li`, "in use");
    await walk.sees(DIALOG, "This page is one saved session, and stores nothing in this browser.");
    await escape(page);
    // In Chromium every page from disk shares one storage, in Firefox this one has its own.
    const after = await page.evaluate(stored);
    if (after !== before && after !== "[[],[]]") throw new Error(`the standalone page wrote: ${before} -> ${after}`);
  });

  await walk.step("and goes on", async () => {
    // What the file was asked is asked again, by the server that goes on with it.
    if (await page.$(".ask")) throw new Error("a question out of a file");
    await walk.press("Continue", ".standalone button");
    await walk.sees(DIALOG, "Server address");
    await walk.fill(`${DIALOG} input[type=url]`, job.server);
    await walk.fill(`${DIALOG} input[type=password]`, "wrong");
    await walk.press("Connect", `${DIALOG} button`);
    await page.waitForSelector(`${DIALOG} .problem:not([hidden])`);
    await walk.clean("continue");
    await walk.fill(`${DIALOG} input[type=password]`, job.key);
    await walk.press("Connect", `${DIALOG} button`);
    await page.waitForSelector(AREA, { visible: true });
    await walk.press("Resume", ".status-line button");
    await walk.press("Deny", ".ask button");
    await walk.press("Deny", ".ask button");
    await page.waitForSelector(".card.tool[data-state=denied]");
    await walk.shot("4-continued");
  });

  await walk.step("what is said while its server is away is not lost", async () => {
    const atRest = () => page.waitForFunction(() => !yaa.use("ui/commands").context().app.current.going);
    await atRest();
    const key = await page.evaluate(async () => {
      const { app } = yaa.use("ui/commands").context();
      const was = app.settings.key();
      app.settings.setKey("wrong", { remember: false });
      await app.server.connect();
      return was;
    });
    await page.type(AREA, "are you there?");
    await walk.press("Don’t answer: send a message", ".composer .typed button");
    await page.keyboard.press("Enter");
    await walk.sees(".bubble", "are you there?");
    if (await page.$(DIALOG)) throw new Error("a dialog stands in the way");
    await atRest();
    await page.evaluate(async (was) => {
      const { app } = yaa.use("ui/commands").context();
      app.settings.setKey(was, { remember: false });
      await app.server.connect();
    }, key);
  });

  await walk.step("who leaves it is asked, as what was said since is nowhere else", async () => {
    walk.stays = true;
    const asked = new Promise((resolve) => page.once("dialog", async (dialog) => (await dialog.dismiss(), resolve(dialog.type()))));
    const left = new Promise((resolve) => page.once("framenavigated", () => resolve("it was left")));
    page.evaluate(() => { location.href = "about:blank#left" }).catch(() => {});
    const found = await Promise.race([asked, left]);
    if (found !== "beforeunload") throw new Error(found);
    walk.stays = false;
  });

  await walk.step("files beside what is not sent yet leave no traces there", async () => {
    const left = await page.evaluate(async () => {
      const tray = await yaa.use("ui/commands").run("attach.tray", "new", () => {});
      tray.rename("standalone"); // the new session has its first message
      await tray.add([new File(["words"], "a.txt")]);
      await yaa.use("io/draft-files").save("other", []); // what was written before it is there then
      const database = await new Promise((resolve) => { indexedDB.open("yaa-unsent", 1).onsuccess = ({ target }) => resolve(target.result); });
      return new Promise((resolve) => { database.transaction("files").objectStore("files").get("standalone").onsuccess = ({ target }) => resolve(target.result); });
    });
    if (left) throw new Error(JSON.stringify(left));
  });

  await walk.step("and stays, when it is told to", async () => {
    await walk.press("Keep in this browser");
    await page.waitForFunction(() => !document.querySelector(".standalone") && document.querySelector(".card.tool[data-state=denied]"));
    await walk.sees(".row-title", "My key is [redacted key]");
    await walk.sees(".bubble", "are you there?");
    // Chromium's pages from disk share a storage: what the client has of this session is as it was, beside it.
    const all = await page.evaluate(async () => {
      const store = await yaa.use("io/store-idb").open();
      return Promise.all((await store.list()).map(async ({ id }) => JSON.stringify((await store.get(id)).messages)));
    });
    const [kept, client] = ["are you there?", SECRET].map((words) => all.filter((one) => one.includes(words)).length);
    if (kept !== 1 || client !== (job.browser === "chromium" ? 1 : 0)) throw new Error(JSON.stringify([kept, client]));
    await walk.press("Settings");
    await walk.press("This browser", `${DIALOG} [role=tab]`);
    await walk.sees(DIALOG, "a page that a server gives has its own");
    await escape(page);
  });

  await walk.step("another file of the session is not taken for the one that is kept", async () => {
    const other = join(job.folder, "other.html");
    const date = saved.match(/"saved":\s*"([^"]+)"/)[1];
    writeFileSync(other, saved.replaceAll(date, "2020-01-01T00:00:00.000Z"));
    await page.goto(pathToFileURL(other).href);
    await page.waitForSelector(".standalone");
  });
});

/** What a page can read of what was written, by name: their order is another one in another page. */
function stored() {
  return JSON.stringify([localStorage, sessionStorage].map((one) => Object.entries(one).sort()));
}

/** Until it is closed a dialog keeps the focus. */
async function escape(page) {
  await page.keyboard.press("Escape");
  await page.waitForSelector(DIALOG, { hidden: true });
}

/** One entry of the menu of the first session in the list. */
async function menu(walk, words) {
  await walk.press("More about “", ".row-more");
  await walk.press(words, "[role=menuitem]");
}
