/** The driver on a page that does nothing but what it is told, and complains when told to: by the end of its address. */
import { main } from "./driver.mjs";

await main(async (walk, job) => {
  for (const told of ["", "#broken", "#loud"]) {
    await walk.step(`open ${told}`, async (page) => {
      await page.goto("about:blank");
      await page.goto(job.url + told);
      await page.waitForFunction(() => globalThis.typableMs > 0);
      return { typable_ms: await page.evaluate(() => globalThis.typableMs) };
    });
    await walk.step(`type and press ${told}`, async () => {
      await walk.fill("textarea", "hello 好");
      await walk.fill("textarea", "hello 世界");
      await walk.press("Say it");
      await walk.sees("#said", "hello 世界");
      const said = await walk.text("#said");
      if (said !== "hello 世界") throw new Error(said);
    });
    await walk.step(`ask the test ${told}`, async () => {
      const answer = await walk.ask("echo");
      if (answer.ok !== true) throw new Error("no answer");
    });
  }
  await walk.step("what is wrong for some is found, in parts that were clean before too", async (page) => {
    if (job.browser !== "chromium") return;
    const found = async (breaks) => {
      await page.evaluate(breaks);
      return walk.clean().then(() => "", ({ message }) => message);
    };
    const told = [
      await found("undefined"),
      await found("document.querySelector('#said').innerHTML = '<b>Words</b> <img src=data:image/gif;base64,R0lGODlhAQABAAAAACw=>'"),
      await found("document.querySelector('#said img').remove()"),
      await found("document.querySelector('main').style.color = '#eee'"),
      await found("document.querySelector('main').style.color = ''"),
    ].map((text) => /image-alt|color-contrast/.exec(text)?.[0] ?? text);
    if (told.join() !== ",image-alt,,color-contrast,") throw new Error(told.join("\n"));
  });
  await walk.step("what was clean in one page is not looked at in the next", async (page) => {
    await page.reload();
    await walk.clean();
    await page.reload();
    await walk.clean();
    return { looked: await page.evaluate(() => "axe" in globalThis) };
  });
  await walk.step("what is waited for is seen, with no frame drawn for it", async (page) => {
    await page.evaluate(() => {
      const draw = globalThis.requestAnimationFrame;
      globalThis.drawn = 0;
      globalThis.requestAnimationFrame = (does) => (globalThis.drawn += 1, draw(does));
    });
    const drawn = [];
    for (const [later, look] of [[() => (globalThis.isThere = true), () => globalThis.isThere], [() => document.body.append("There"), () => document.body.innerText.includes("There")]]) {
      await page.evaluate(`setTimeout(${later}, 300)`);
      await page.waitForFunction(look);
      drawn.push(await page.evaluate(() => globalThis.drawn));
    }
    return { drawn };
  });
  await walk.step("a module that comes late is waited for, and so is its beginning", async (page) => {
    await page.evaluate(() => {
      const modules = new Map();
      globalThis.yaa = { use: (name) => modules.get(name) ?? (() => { throw new Error(`${name} is not defined. Is its script on the page?`); })() };
      let begun = null;
      setTimeout(() => modules.set("late", { context: () => begun }), 200);
      setTimeout(() => (begun = "begun"), 400);
    });
    return { said: [await page.evaluate(() => yaa.use("late").context()), await page.waitForFunction(() => yaa.use("late").context()).then((one) => one.jsonValue())] };
  });
  await walk.step("a late part comes at once, or later", async (page) => {
    const isAtOnce = await page.evaluate(() => {
      const part = Object.assign(document.createElement("script"), { id: "part", type: "text/plain" });
      document.head.append(part);
      return part.isConnected;
    });
    await page.waitForSelector("#part");
    return { isAtOnce };
  });
  await walk.step("a press lands where it is aimed, or nowhere", async (page) => {
    const told = async (does) => {
      const failed = await does().then(() => "", ({ message }) => message);
      return [failed, await page.evaluate(() => globalThis.pressed.splice(0).join())];
    };
    await page.evaluate(moving);
    const still = await told(() => walk.press("Wanted"));
    await page.evaluate(() => (globalThis.moves = 1));
    const once = await told(() => walk.press("Wanted"));
    await page.evaluate(() => (globalThis.moves = 100));
    const always = await told(() => page.click("#wanted"));
    await page.evaluate(() => (globalThis.moves = 0, document.querySelector("#cover").hidden = false));
    page.setDefaultTimeout(1000);
    const covered = await told(() => walk.press("Wanted"));
    const none = await told(() => page.click("#nowhere"));
    const below = '<div style="height: 9000px"></div><p style="content-visibility: auto"><button id="far">Far</button></p>';
    await page.evaluate((html) => document.body.insertAdjacentHTML("beforeend", html), below);
    const far = await told(() => walk.press("Far"));
    return { told: [still, once, always, covered, none, far] };
  });
  await walk.step("what others left", async (page) => {
    const others = await page.evaluate(() => Object.values(localStorage).filter((text) => text !== "false")); // driver.mjs sets it
    await page.evaluate((label) => localStorage.setItem("walk", label), job.label);
    return { others, browser: walk.browser.process().pid };
  });
  await walk.shot("selftest");
});

/** In the page: a button, with another below it, from which it moves away when the pointer comes, and a cover. */
function moving() {
  document.body.innerHTML = `
    <button id="below" style="position: fixed; left: 50px; top: 50px; width: 100px; height: 40px">Below</button>
    <button id="wanted" style="position: fixed; left: 50px; top: 50px; width: 100px; height: 40px">Wanted</button>
    <div id="cover" hidden style="position: fixed; inset: 0">Wait</div>`;
  globalThis.pressed = [];
  globalThis.moves = 0;
  for (const kind of ["pointerdown", "click"]) addEventListener(kind, ({ target }) => globalThis.pressed.push(target.id));
  const wanted = document.querySelector("#wanted");
  addEventListener("pointermove", ({ target }) => {
    if (target !== wanted || globalThis.moves-- <= 0) return;
    document.querySelector("#below").style.top = wanted.style.top;
    wanted.style.top = `${(parseInt(wanted.style.top) + 60) % 600}px`;
  });
}
