/**
 * What a run brings besides words: files its tools made, a question in the middle of a call, a view that was made
 * smaller; and all of it once more on a server that has none of the files. The job: {url, size}.
 */
import { main } from "./driver.mjs";

const COMPOSER = "form.composer textarea";
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

const GREY = "iVBORw0KGgoAAAANSUhEUgAAAEAAAAAwCAAAAACEICPDAAAAJUlEQVR4nO3MQREAAAwCIKMb3RD77SAA6VEEAoFAIBAIBALB12AwvgBbmDKUOwAAAABJRU5ErkJggg=="; // 64 by 48

await main(async (walk, job) => {
  const { page } = walk;
  await page.evaluateOnNewDocument(() => {
    const make = URL.createObjectURL;
    globalThis.saved = [];
    URL.createObjectURL = (blob) => (blob.text().then((text) => globalThis.saved.push([blob.type, text.length, text])), make(blob));
  });

  await walk.step("open", async () => {
    await page.goto(job.url);
    await page.waitForSelector(COMPOSER, { visible: true });
  });

  await walk.step("files of a call", async () => {
    const command = `mkdir -p out; echo ${PIXEL} | base64 -d > out/dot.png; printf 'über <b>alles</b>\\nzwei' > out/notes.txt; printf broken > out/no.png; head -c 300000 /dev/zero > out/big.bin`;
    await order(walk, "shell", { command });
    await page.waitForSelector(".card.tool[data-state=done] .handed");
    await page.waitForFunction(() => document.querySelectorAll(".handed > li").length === 4);
    // the picture by itself, once it is on the screen; the other one is none
    await page.waitForFunction(() => document.querySelector(".handed img[alt='dot.png']")?.naturalWidth === 1);
    await walk.sees(".handed-row", "cannot show this picture");
    await walk.sees(".handed-row", "300 KB");
    await walk.clean();
    await walk.shot("1-files");
  });

  await walk.step("a text opens and closes", async () => {
    await page.focus(".handed button[aria-expanded]");
    await page.keyboard.press("Enter");
    await walk.sees(".handed-inside", "über <b>alles</b>");
    if (await page.$(".handed b:not(.icon)")) throw new Error("the text became an element");
    await page.waitForSelector(".handed button[aria-expanded=true]");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".handed button[aria-expanded=false]");
    await page.waitForFunction(() => [...document.querySelectorAll(".handed-inside")].at(-1).hidden);
  });

  await walk.step("each can be saved", async () => {
    await page.evaluate(() => { globalThis.saved.length = 0; });
    await walk.press("Save big.bin", ".handed button");
    await page.waitForFunction((wanted) => globalThis.saved.some(([, length, text]) => length === wanted && /^\0+$/.test(text)), {}, 300_000);
  });

  await walk.step("what the model looks at is shown, and grows at a press", async () => {
    await order(walk, "shell", { command: `echo ${GREY} | base64 -d > .grey.png` }); // hidden, so that it is not attached
    await page.waitForFunction(() => !document.querySelector(".feed[aria-busy=true]"));
    await order(walk, "read_file", { path: ".grey.png" });
    const shown = ".shown .shown-image";
    await page.waitForFunction((one) => document.querySelector(`${one} img`)?.naturalWidth === 64, {}, shown);
    await page.waitForFunction(() => !document.querySelector(".feed[aria-busy=true]"));
    await walk.sees(".shown .handed-row", "64 × 48 pixels");
    await page.focus(shown);
    await page.keyboard.press("Enter");
    await page.waitForSelector(`${shown}[aria-pressed=true]`);
    await walk.clean();
    await walk.shot("1-shown");
  });

  await walk.step("what is attached is a file of the workspace, and of a long text the message has the beginning", async () => {
    await page.evaluate(async (grey) => {
      const bytes = Uint8Array.from(atob(grey), (one) => one.charCodeAt(0));
      const rows = Array.from({ length: 9_000 }, (_, n) => `${n},ä`).join("\n");
      await yaa.use("ui/commands").context().app.views.composer.attach([
        new File([rows], "long table.csv", { type: "text/csv" }), new File([bytes], "grey.png", { type: "image/png" }), new File([bytes.slice(0, 9)], "some.zip", { type: "application/zip" }),
      ]);
    }, GREY);
    await page.waitForFunction(() => document.querySelectorAll(".tray .attached").length === 3);
    await walk.shot("1-tray");
    await order(walk, "list_files", { path: "attachments" });
    await page.waitForFunction(() => [...document.querySelectorAll(".card.tool[data-state=done] .tool-name")].at(-1)?.textContent === "list_files" && !document.querySelector(".feed[aria-busy=true]"));
    const { content, tree, listed } = await page.evaluate(() => {
      const { messages } = yaa.use("ui/commands").context().app.current.session;
      const said = messages.filter(({ role }) => role === "user").at(-1);
      return { content: said.content, tree: said.tree, listed: messages.filter(({ role }) => role === "tool").at(-1).content };
    });
    const texts = content.filter(({ type }) => type === "text").map(({ text }) => text);
    if (!texts[1].startsWith('<file name="long table.csv" path="attachments/long table.csv">\n0,ä\n1,ä') || texts[1].length > 4_300 || !texts[1].includes("read_file shows")) throw new Error(texts[1].slice(0, 200) + texts[1].length);
    if (texts[2] !== '<file name="grey.png" path="attachments/grey.png">\n\n</file>' || !texts[3].includes("application/zip, 9 bytes")) throw new Error(texts.slice(2).join());
    if (!tree) throw new Error("the message does not say in which state the files are");
    for (const name of ["long table.csv", "grey.png", "some.zip"]) if (!listed.includes(name)) throw new Error(listed);
    await walk.sees(".sent-file", "attachments/long table.csv");
    await order(walk, "read_file", { path: "attachments/grey.png" });
    await page.waitForFunction(() => document.querySelector(".shown img[alt='grey.png']") && !document.querySelector(".feed[aria-busy=true]"));
    await walk.clean();
    await walk.shot("1-sent");
  });

  await walk.step("a hostile document shows no more than a picture", async () => {
    const { drawn, said } = await page.evaluate(async () => {
      await yaa.load("tools");
      const { resultMediaView } = yaa.use("ui/tools/result-media");
      const view = resultMediaView();
      const svg = btoa("<svg xmlns='http://www.w3.org/2000/svg' onload='globalThis.ran = 1'><script>globalThis.ran = 1</script></svg>");
      view.update([{ media_type: "image/svg+xml", data: svg, name: "a.svg" }, { media_type: "text/html", data: svg, name: "<img src=x onerror=ran=1>" },
        { media_type: "image/png\" onerror=\"ran=1", data: svg }, { media_type: "image/png", data: "\" onerror=ran=1" }, { media_type: "image/png" },
        { media_type: {}, data: 5, width: "9", bytes: null }, null, 5, ...Array(50).fill({ media_type: "image/gif", data: "AAAA", name: "x" })]);
      document.body.append(view.el);
      await new Promise((resolve) => setTimeout(resolve));
      const found = { drawn: view.el.querySelectorAll("img, script, iframe, [onload], [onerror]").length, said: view.el.textContent };
      view.el.remove();
      return found;
    });
    if (await page.evaluate(() => globalThis.ran)) throw new Error("it ran");
    if (drawn !== 2 || !said.includes("Not in this session")) throw new Error(`${drawn}: ${said}`);
  });

  for (const [words, said] of [["Decline", "answer decline"], ["Don’t answer", "answer cancel"], ["Answer", "answer accept"]]) {
    await walk.step(`a question in the middle of a call: ${words}`, async () => {
      await walk.press("New session", ".side button");
      await order(walk, "mcp__s__ask", {});
      await walk.press("Allow once", ".ask button");
      await walk.sees(".ask", "Your name?");
      if (words === "Answer") await page.type(".ask textarea, .ask input", "Ann");
      else await walk.clean();
      // with the keyboard where the driver can: its Firefox is not always the active window, and only there keys press buttons
      if (job.browser === "firefox") await walk.press(words, ".ask button");
      else await byKeyboard(page, words);
      await page.waitForFunction(() => !document.querySelector(".ask, .feed[aria-busy=true]"));
      const { answer: noted } = await walk.ask("notes");
      if (!noted.includes(said)) throw new Error(`the tool was told: ${noted}`);
    });
  }

  await walk.step("a result that came in short is marked, and the mark opens", async () => {
    await walk.press("New session", ".side button");
    await order(walk, "shell", { command: "seq 1 4000" });
    const shown = ".marker summary";
    await walk.sees(shown, "made smaller here");
    await page.click(shown);
    await walk.sees(".marker[open]", "1 message shortened to beginning and end");
    await walk.sees(".marker[open]", "a large result came in");
    await page.waitForFunction(() => document.querySelector(".marker").closest("article.message").querySelector(".card.tool"));
    await walk.clean();
    await walk.shot("2-marker");
    await page.reload();
    await walk.sees(shown, "made smaller here");
  });

  await walk.step("sent whole again, and pinned", async () => {
    const lens = () => page.$$eval(".lens li", (all) => all.map((one) => one.dataset.lens).join());
    await page.evaluate(async () => { (await yaa.load("inspector"), yaa.use("ui/commands").run("inspect.context")); });
    await page.waitForSelector('.lens li[data-lens="preview"]');
    await page.focus('.lens li[data-lens="preview"] .lens-actions button');
    await walk.clean();
    await walk.shot("3-lens");
    await page.$eval('.lens li[data-lens="preview"] .lens-actions button', (one) => one.click());
    await page.waitForFunction(() => !document.querySelector('.lens li[data-lens="preview"]'));
    if ((await lens()) !== "whole,whole,whole,whole") throw new Error(await lens());
    await page.$eval(".lens li:nth-child(3) [aria-pressed=false]", (one) => one.click());
    await walk.sees(".lens li:nth-child(3)", "pinned");
    await page.keyboard.press("Escape");
    await order(walk, "datetime", {}); // the server takes it
    await page.waitForFunction(() => document.querySelectorAll(".card.tool[data-state=done]").length === 2);
  });

  await walk.step("an edit before it takes the mark back", async () => {
    const left = await page.evaluate(async () => {
      await yaa.load("branches");
      const { app } = yaa.use("ui/commands").context();
      yaa.use("core/message-edits").editMessage(app.current.session, app.current.session.messages[0].id, "something else");
      app.draw();
      return app.current.session.context;
    });
    if (left.events.length || left.ops.some((op) => op.by !== "person")) throw new Error(JSON.stringify(left));
    await page.waitForFunction(() => !document.querySelector(".marker"));
  });

  await walk.step("/compact makes the view smaller without a message, and says what came of it", async () => {
    await walk.press("New session", ".side button");
    await order(walk, "shell", { command: "seq 1 90" });
    await page.waitForSelector(".card.tool[data-state=done]");
    await page.waitForFunction(() => !document.querySelector(".feed[aria-busy=true]"));
    const count = () => page.$$eval("article.message", (all) => all.length);
    const before = await count();
    await walk.send("/compact");
    await walk.sees(".toast", "The model sees less now");
    await page.click(".marker summary");
    await walk.sees(".marker[open]", "you asked for it");
    await walk.sees(".marker[open]", "1 result replaced by a placeholder");
    await walk.clean();
    await walk.shot("4-compact");
    await walk.send("/compact");
    await walk.sees(".toast", "Nothing could be made smaller");
    await walk.sees(".marker:last-child", "Nothing could be made smaller here");
    const kept = await page.evaluate(() => yaa.use("ui/commands").context().app.current.session.context);
    if (kept.compact !== undefined || kept.events.map((one) => one.trigger).join() !== "asked,asked") throw new Error(JSON.stringify(kept));
    if ((await count()) !== before) throw new Error("a message was sent");
    await order(walk, "datetime", {}); // the server goes on with it
    await page.waitForFunction(() => document.querySelectorAll(".card.tool[data-state=done]").length === 2);
  });

  await walk.step("/compact says why it cannot be done now", async () => {
    await walk.press("New session", ".side button");
    await order(walk, "mcp__s__ask", {});
    await page.waitForSelector(".ask button");
    await walk.send("/compact");
    await walk.sees(".toast", "First finish what is open");
    if (await page.evaluate(() => yaa.use("ui/commands").context().app.current.session.context?.compact)) throw new Error("it was asked for");
    await walk.press("Deny", ".ask button");
    await walk.sees(".ask", "Back");
    await walk.press("Deny", ".ask button");
    await page.waitForFunction(() => !document.querySelector(".ask, .feed[aria-busy=true]"));
  });

  await walk.step("a file that has gone says so", async () => {
    await page.evaluate(async () => {
      const { app } = yaa.use("ui/commands").context();
      const copy = await app.store.get(app.sessionStore.heads().at(-1).id); // the oldest
      copy.id = "elsewhere";
      await app.store.put(copy);
    });
    await page.goto("about:blank");
    await page.goto(`${job.url.split("#")[0]}#s=elsewhere`);
    await walk.press("Save notes.txt", ".handed button");
    await walk.sees(".handed-row", "Not on this server");
    await walk.clean();
  });
});

/** Has the scripted model call a tool, and waits until the run rests or asks. */
async function order(walk, tool, args) {
  const { page } = walk;
  await page.click(COMPOSER);
  await page.evaluate((words) => document.execCommand("insertText", false, words), `bench tokens=3 delay_us=0 tool=${tool}${JSON.stringify(args)}`);
  await page.keyboard.press("Enter");
  if (tool === "shell") await walk.press("Allow once", ".ask button");
}

/** Tab from the first field of the question to the button, and press it. */
async function byKeyboard(page, words) {
  await page.focus(".ask textarea, .ask input");
  do await page.keyboard.press("Tab");
  while (await page.evaluate((wanted) => document.activeElement.closest(".ask") && document.activeElement.textContent !== wanted, words));
  await page.keyboard.press("Enter");
}
