/**
 * yaa on a page of another origin, with a policy of its own: a panel in an element, and a button in the corner.
 * The model is the scripted one; the page has a tool. The job: {url, server, tool}.
 */
import { main } from "./driver.mjs";

/** Runs in the page: the part of the nth widget that a selector names. */
const part = (page, css, nth = 0) => page.waitForFunction((wanted, n) => {
  const hosts = [...document.querySelectorAll("div")].filter((one) => one.shadowRoot?.querySelector(".panel"));
  return hosts[n]?.shadowRoot.querySelector(wanted);
}, {}, css, nth);

const sees = (page, css, words) => page.waitForFunction((wanted, said) => (
  [...document.querySelectorAll("div")].some((one) => [...(one.shadowRoot?.querySelectorAll(wanted) ?? [])].some((el) => el.innerText.includes(said)))
), {}, css, words);

async function send(page, words) {
  const field = await part(page, "textarea");
  await field.type(words);
  await page.keyboard.press("Enter");
}

await main(async (walk, job) => {
  const { page } = walk;

  await walk.step("open", async () => {
    await page.goto(job.url);
    await page.evaluate(() => globalThis.widget.ready);
    await part(page, "form.compose");
    await walk.shot("1-embedded");
  });

  await walk.step("a tool of the page", async () => {
    await send(page, `bench tokens=4 delay_us=0 tool=${job.tool}`);
    await sees(page, "article", "@");
    await sees(page, ".status", "Answer ready");
    const { calls, headers } = await page.evaluate(() => globalThis.heard);
    if (calls.length !== 1) throw new Error(`the tool ran ${calls.length} times`);
    if (headers < 2) throw new Error("headers are asked for before each request");
    const used = await page.evaluate(() => document.querySelector("#here > div").shadowRoot.querySelector(".used").innerText);
    if (!used.includes(job.tool)) throw new Error(used);
    await walk.shot("2-answer");
  });

  await walk.step("what the page says of itself", async () => {
    await page.evaluate(() => globalThis.widget.setEnvironment(["It rains."]));
    await send(page, "bench tokens=3 delay_us=0");
    await page.waitForFunction(() => document.querySelector("#here > div").shadowRoot.querySelectorAll(".user").length === 2);
    await sees(page, ".status", "Answer ready");
    const stored = await page.evaluate((server) => JSON.parse(sessionStorage.getItem(`yaa.widget ${server}`)), job.server);
    if (stored.environment[0] !== "It rains.") throw new Error(JSON.stringify(stored.environment));
  });

  await walk.step("the page and the widget leave each other alone", async () => {
    const found = await page.evaluate(() => {
      const root = document.querySelector("#here > div").shadowRoot;
      return { button: getComputedStyle(root.querySelector("button")).backgroundColor, own: getComputedStyle(document.querySelector("#own")).backgroundColor };
    });
    if (found.own !== "rgb(255, 0, 0)" || found.button === found.own) throw new Error(JSON.stringify(found));
  });

  await walk.step("streamed, an answer is the same as at once, and what is there stays", async () => {
    const wrong = await page.evaluate((text) => {
      const { prose } = yaa.use("widget/dom");
      const [streamed, whole] = [prose(String), prose(String)];
      for (let end = 1; end < text.length; end += 3) streamed.update(text.slice(0, end), true);
      streamed.update(text, false);
      whole.update(text, false);
      if (!streamed.el.isEqualNode(whole.el)) return streamed.el.outerHTML;
      const [link, code] = ["a", "pre"].map((css) => streamed.el.querySelector(css));
      streamed.update(`${text}\nmore\n`, false);
      const parts = ["blockquote", "ol > li > ul > li", "td", "th", "h3", "strong", "s", "hr", "pre code", "a[target=_blank]"];
      const translated = [...streamed.el.querySelectorAll("code")].filter((one) => one.translate).map((one) => one.outerHTML);
      return [...translated, ...parts.filter((css) => !streamed.el.querySelector(css)), ...[link, code].flatMap((one) => (streamed.el.contains(one) ? [] : [one.outerHTML]))].join();
    }, "# A [this](https://a.example) and **b ~~c~~** [no](javascript:x)\n\n1. one\n   - [x] in\n2. two\n\n> said\n\n| a | b |\n|---|---|\n| 1 | `2` |\n\n---\n\n```js\nconst a = 1\n");
    if (wrong) throw new Error(wrong);
  });

  await walk.step("a container that is not there is said, and no button appears in its place", async () => {
    const said = await page.evaluate(async () => {
      const lost = new YaaWidget({ ...globalThis.given, container: "#nowhere" });
      return lost.ready.then(() => "ready", String);
    });
    const hosts = await page.$$eval("div", (all) => all.filter((one) => one.shadowRoot).length);
    if (!said.includes("#nowhere") || hosts !== 1) throw new Error(`${said}, ${hosts} widgets`);
  });

  await walk.step("no barriers", () => walk.clean());

  await walk.step("it is there after a reload, and gone after a reset", async () => {
    await page.reload();
    await page.evaluate(() => globalThis.widget.ready);
    await page.waitForFunction(() => document.querySelector("#here > div")?.shadowRoot.querySelectorAll(".user").length === 2);
    await page.evaluate(() => globalThis.widget.reset());
    await page.waitForFunction(() => document.querySelector("#here > div").shadowRoot.querySelectorAll("article").length === 0);
  });

  await walk.step("an answer on its way when the page is left comes on the next one, and the first is marked as cut off", async () => {
    await send(page, "bench tokens=60 delay_us=20000");
    await sees(page, "article", "@");
    await page.reload();
    await page.evaluate(() => globalThis.widget.ready);
    await sees(page, ".status", "Answer ready");
    const said = await page.evaluate(() => [...document.querySelector("#here > div").shadowRoot.querySelectorAll("article")].map((one) => one.innerText));
    const whole = said.at(-1).match(/@\d+@/g)?.length;
    if (said.length !== 3 || whole !== 60 || !said[1].includes("Cut off here") || said[2].includes("Cut off")) throw new Error(`${said.length} articles, ${whole} words: ${said[1].slice(-40)}`);
    await page.evaluate(() => globalThis.widget.reset());
    await page.waitForFunction(() => !document.querySelector("#here > div").shadowRoot.querySelector("article"));
  });

  await walk.step("Enter stops no answer, a double click is one, and the focus stays when a card goes", async () => {
    const inside = (css) => page.evaluate((wanted) => document.querySelector("#here > div").shadowRoot.querySelector(wanted)?.innerText, css);
    const field = await part(page, "textarea");
    await send(page, "bench tokens=3000 delay_us=50000");
    await sees(page, "article", "@");
    await field.type("bench tokens=3000 delay_us=50000");
    await page.keyboard.press("Enter");
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
    const now = { status: await inside(".status"), words: await field.evaluate((one) => one.value) };
    if (!now.status.includes("Working") || !now.words) throw new Error(JSON.stringify(now));
    await page.click("form.compose button", { delay: 300 }); // as long as a finger takes; words come meanwhile
    await sees(page, ".status", "Stopped");
    await page.click("form.compose button", { count: 3 });
    await page.waitForFunction(() => document.querySelector("#here > div").shadowRoot.querySelectorAll(".user").length === 2);
    await sees(page, "article:last-child", "@");
    await page.click("form.compose button");
    await sees(page, ".status", "Stopped");
    await send(page, 'bench tokens=4 delay_us=0 tool=datetime{"zone":"\u202eUTC\u200b"}');
    await sees(page, ".status", "Waiting for your answer");
    if (!(await inside(".ask pre")).includes('"\\u{202e}UTC\\u{200b}"')) throw new Error(await inside(".ask pre"));
    const allow = await part(page, ".ask .primary");
    await allow.focus();
    await page.keyboard.press("Enter");
    await sees(page, ".status", "Answer ready");
    const held = await page.evaluate(() => document.querySelector("#here > div").shadowRoot.activeElement?.className);
    if (held !== "talk") throw new Error(`the focus is at ${held}`);
    await send(page, 'bench tokens=4 delay_us=0 tool=datetime{}');
    await sees(page, ".status", "“yes” allows it, other words deny it");
    await send(page, "not now");
    await sees(page, ".status", "Answer ready");
    const answered = await page.evaluate(() => document.querySelector("#here > div").shadowRoot.querySelectorAll(".user").length);
    if (answered !== 4) throw new Error(`what was typed went as a message: ${answered}`);
    await page.evaluate(() => globalThis.widget.reset());
  });

  await walk.step("an answer that comes between two frames is said to be ready", async () => {
    const answers = () => performance.getEntriesByType("resource").filter((one) => one.name.endsWith("/session") && one.responseEnd).length;
    const before = await page.evaluate(answers);
    await page.evaluate(() => {
      const { requestAnimationFrame } = globalThis;
      const held = [];
      globalThis.requestAnimationFrame = (draw) => held.push(draw);
      globalThis.drawAgain = () => { globalThis.requestAnimationFrame = requestAnimationFrame, held.forEach((draw) => requestAnimationFrame(draw)); };
    });
    await send(page, "bench tokens=1 delay_us=0");
    await page.waitForFunction(`(${answers})() > ${before}`, { polling: 50 });
    await page.evaluate(() => new Promise((done) => setTimeout(done))); // the page has read its end
    await page.evaluate(() => globalThis.drawAgain());
    await sees(page, ".status", "Answer ready");
    await page.evaluate(() => globalThis.widget.reset());
  });

  await walk.step("wrong key", async () => {
    await page.evaluate(() => globalThis.widget.setHeaders({ Authorization: "Bearer wrong" }));
    await send(page, "bench tokens=1 delay_us=0");
    await sees(page, ".status", "did not work");
  });

  await walk.step("a button in the corner", async () => {
    await page.evaluate(async () => {
      globalThis.widget.destroy();
      globalThis.corner = new globalThis.YaaWidget({ ...globalThis.given, container: null, title: "Help" });
      await globalThis.corner.ready;
    });
    if (await page.evaluate(() => document.querySelector("#here").childElementCount)) throw new Error("it is still there");
    await page.click(".open-button");
    await send(page, "bench tokens=3 delay_us=0");
    await sees(page, "article", "@");
    await walk.shot("3-corner");
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => {
      const root = [...document.querySelectorAll("body > div")].find((one) => one.shadowRoot).shadowRoot;
      return root.querySelector(".panel").hidden && root.activeElement === root.querySelector(".open-button");
    });
    await page.evaluate(() => globalThis.corner.destroy());
  });
});
