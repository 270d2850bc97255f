/**
 * Links that sign in: taken once, kept out of the address, and never in the place of a kept key, or for another site, without
 * a question. The job: {url, file, foreign, keys: {home, bob, mallory}}; asks: code(who).
 */
import { main } from "./driver.mjs";

const DIALOG = "dialog.small-dialog[open]";

await main(async (walk, job) => {
  const { page } = walk;
  const link = async (who) => `${job.url}/#code=${(await walk.ask("code", who)).answer}`;
  const kept = () => page.evaluate(() => yaa.use("ui/commands").context().app.settings.key());
  const keyIs = async (who) => {
    const key = await kept();
    if (key !== (job.keys[who] ?? "")) throw new Error(`the kept key is ${key}, not that of ${who || "nobody"}`);
  };
  const connected = () => page.waitForFunction(() => { try { return yaa.use("ui/commands").context().app.server.state().ok } catch { return false } });
  const refused = () => page.waitForFunction(() => { try { return yaa.use("ui/commands").context().app.server.state().failure?.kind === "key" } catch { return false } });
  const clean = async () => {
    const [address, text] = await page.evaluate(() => [location.href, document.documentElement.outerHTML]);
    if (/#(key|code)=|from=/.test(address)) throw new Error(`the address is ${address}`);
    for (const key of Object.values(job.keys)) if (text.includes(key)) throw new Error("a key is in the page");
  };
  const answer = async (words) => {
    await walk.press(words, `${DIALOG} button`);
    await page.waitForFunction((css) => !document.querySelector(css), {}, DIALOG);
  };
  // Firefox goes nowhere while a worker comes, and to no about:blank while one goes; Chromium keeps a page that leaves for
  // another site, and its worker.
  const workerHasCome = () => page.evaluate(async (own) => {
    if (!location.href.startsWith(own)) return;
    const { active } = await navigator.serviceWorker.ready;
    while (active.state !== "activated") await new Promise((done) => { active.addEventListener("statechange", done, { once: true }); });
  }, job.url);
  const leave = async () => {
    if (job.browser !== "firefox") return page.goto("about:blank");
    await workerHasCome();
    return page.goto(job.foreign);
  };
  /** Nothing is kept, as in another browser. */
  const forget = async (worker = false) => {
    await page.goto(job.url);
    if (job.browser === "firefox") await workerHasCome();
    await page.evaluate(async (stays) => {
      localStorage.clear();
      if (!stays) for (const one of await navigator.serviceWorker.getRegistrations()) await one.unregister();
    }, worker);
    await page.goto(job.browser === "firefox" ? job.foreign : "about:blank");
  };
  /** Sign in by a link; where a worker has come meanwhile, the page asks. */
  const signInBy = async (to) => {
    await leave();
    await page.goto(to);
    await page.waitForFunction((css) => { try { return document.querySelector(css) || yaa.use("ui/commands").context().app.server.state().ok } catch { return false } }, {}, DIALOG);
    if (await page.$(DIALOG)) await answer("Use the link’s key");
    await connected();
  };
  /** Another site has this page opened; it hides what it can. */
  const fromElsewhere = async (to) => {
    if (job.browser === "firefox") await workerHasCome();
    await page.goto(job.foreign);
    await page.evaluate((address) => { setTimeout(() => { location.href = address; }); }, to);
    await page.waitForFunction((url) => location.href.startsWith(url), {}, job.url);
  };

  let first = "";
  await walk.step("the printed link signs in, unasked", async () => {
    first = await link("home");
    await page.goto(first);
    await connected();
    await keyIs("home");
    await clean();
  });

  await walk.step("used again it says so, and the person stays signed in", async () => {
    await leave();
    await page.goto(first);
    await walk.sees(".toasts", "The link was used already");
    await walk.sees(".toasts", "You stay signed in");
    await connected();
    await keyIs("home");
    await page.goto(job.url);
    await connected();
  });

  await walk.step("in another browser a used link leaves the next step", async () => {
    await forget();
    await page.goto(first);
    await refused();
    await walk.sees(".toasts", "run “python3 -m server link”");
    await walk.sees(".failure", "“python3 -m server link” prints one");
    await walk.shot("1-used");
    await keyIs("");
    await clean();
  });

  await walk.step("a link into an open page asks, with and without a key", async () => {
    await page.goto(await link("home"));
    await walk.sees(DIALOG, "Sign in with the key of this link?");
    await answer("Use the link’s key");
    await connected();
    await keyIs("home");
    for (const [brought, who] of [[await link("mallory"), "mallory"], [`${job.url}/#key=${job.keys.mallory}`, "mallory"]]) {
      await page.evaluate((to) => { location.href = to; }, brought);
      await walk.sees(DIALOG, "Sign in with another key?");
      if (brought.includes("code")) await walk.sees(DIALOG, `“${who}”`);
      if (brought.includes("code")) for (const size of [[390, 844], [1280, 800]]) {
        await page.setViewport({ width: size[0], height: size[1] });
        await walk.clean(`asked at ${size[0]}`);
        await walk.shot(`2-replace-${size[0]}`);
      }
      await keyIs("home");
      await answer("Keep my key");
      await keyIs("home");
      await clean();
    }
    await page.evaluate((to) => { location.href = to; }, await link("bob"));
    await answer("Use the link’s key");
    await connected();
    await page.waitForFunction((key) => yaa.use("ui/commands").context().app.settings.key() === key, {}, job.keys.bob);
    await leave();
    await page.goto(await link("bob")); // the same key needs no question
    await connected();
    if (await page.$(DIALOG)) throw new Error("it asks for nothing");
  });

  await walk.step("another site replaces no key", async () => {
    for (const to of [await link("mallory"), `${job.url}/#key=${job.keys.mallory}`, `${job.url}/index.html?x=1#key=nonsense`]) {
      await fromElsewhere(to);
      await walk.sees(DIALOG, "Sign in with another key?");
      await keyIs("bob");
      await answer("Keep my key");
      await connected();
      await keyIs("bob");
      await clean();
    }
  });

  await walk.step("another site signs nobody in, with the page kept by a worker and without", async () => {
    for (const [to, worker] of [[await link("mallory"), true], [await link("mallory"), false], [`${job.url}/#key=${job.keys.mallory}`, true], [`${job.url}/#key=${job.keys.mallory}`, false]]) {
      await forget(worker);
      await fromElsewhere(to);
      await walk.sees(DIALOG, "Sign in with the key of this link?");
      await walk.sees(DIALOG, "another website opened it");
      await walk.shot("3-first");
      await keyIs("");
      await answer("Don’t sign in");
      await refused();
      await keyIs("");
      await clean();
    }
    await forget();
    await fromElsewhere(`${job.url}/`); // a link without anything is but a link
    await refused();
    await clean();
  });

  await walk.step("a link for another device, made by this one", async () => {
    await signInBy(await link("bob"));
    await page.evaluate(() => yaa.use("ui/commands").context().actions.openSettings("server"));
    await walk.press("Make a link", "dialog button");
    await page.waitForSelector("dialog svg.qr path");
    const made = await page.$eval("dialog input[readonly]", (el) => el.value);
    if (!made.startsWith(`${job.url}/#code=`)) throw new Error(made);
    await walk.sees("dialog", "--host 0.0.0.0"); // a phone cannot follow it yet
    await walk.clean("the link");
    await page.$eval("dialog svg.qr", (el) => el.scrollIntoView({ block: "center" }));
    await walk.shot("4-device");
    await forget();
    await signInBy(made);
    await keyIs("bob");
  });

  await walk.step("nor does the chat of auto-ai take a key from another site, or lose its own", async () => {
    await fromElsewhere(`${job.url}/auto-ai/index.html#key=${job.keys.mallory}`);
    await walk.sees("#said", "another website may have opened it");
    if (await page.$eval("#sign", (form) => form.hidden)) throw new Error("it is signed in");
    const chat = async (code) => {
      await leave();
      await page.goto(`${job.url}/auto-ai/index.html#code=${code}`);
    };
    await chat((await walk.ask("code", "bob")).answer);
    await page.waitForFunction((key) => sessionStorage.getItem("yaa.auto-ai")?.includes(key), {}, job.keys.bob);
    await chat((await walk.ask("code", "mallory")).answer);
    await walk.sees("#said", "A link brought this key");
    if (await page.$eval("#sign", (form) => form.hidden)) throw new Error("the key was replaced");
  });

  await walk.step("from disk a link is pasted, and one in the address asks", async () => {
    await page.goto(job.file);
    await page.waitForFunction(() => { try { return !yaa.use("ui/commands").context().app.server.state().checking } catch { return false } });
    await page.evaluate(() => yaa.use("ui/commands").context().actions.openSettings("server"));
    await walk.fill("dialog input[type=url]", await link("home"));
    await connected();
    await keyIs("home");
    const address = await page.evaluate(() => yaa.use("ui/commands").context().app.settings.base());
    if (address !== job.url) throw new Error(address);
  });
});
