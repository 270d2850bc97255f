/**
 * The page that loads once: its files are kept by the browser, an update is noticed, it opens without a server, and what
 * other apps share with it becomes a draft. The job: {url, plain, plainUrl, lan}: links to a server whose page can be
 * kept, to one that wants none kept, to that one without its key, and to the first by a name over plain HTTP.
 * It asks for "stop" and "restart" of the first server; restarted it wants no copies of its page.
 */
import { readFileSync } from "node:fs";
import { main } from "./driver.mjs";

const COMPOSER = "form.composer textarea";
const RELOAD = readFileSync(new URL("../../client/js/reload-page.js", import.meta.url), "utf8");

await main(async (walk, job) => {
  const scope = new URL("/", job.url).href;

  await walk.step("loaded once", async (page) => {
    await page.goto(job.plain);
    await settled(page);
    const first = await files(page);
    if (first.cold > 3 || first.came < 50 || first.plain.length) throw new Error(`asked for ${JSON.stringify(first)}`);
    await page.reload();
    await settled(page);
    const again = await files(page);
    if (again.came || again.all < 50) throw new Error(`asked again for ${JSON.stringify(again)}`);
    return { cold: first.cold, came: first.came };
  });

  await walk.step("no copies where the server wants none", async (page) => {
    equal(await kept(page), { workers: 0, caches: [] });
    equal(await page.$$eval("link[rel=manifest], iframe", (all) => all.length), 0);
  });

  await walk.step("updated while the page is open", async () => {
    const page = (walk.page = await walk.newPage());
    let updated = true;
    await intercept(page, (url) => (updated && /\/v\/.*\/settings\.js$/.test(url) ? { status: 404, contentType: "application/json", body: "{}" } : null), "HEAD");
    await page.goto(job.plainUrl);
    await walk.sees(".toast", "The server was updated. Reload the page to go on; what you wrote stays.");
    await page.waitForFunction(() => document.querySelectorAll(".toast").length === 1);
    await walk.shot("0-updated");
    await walk.clean("the notice of an update");
    updated = false;
    await Promise.all([page.waitForNavigation(), walk.press("Reload", ".toast button")]);
    await settled(page);
    await page.close();
  });

  await walk.step("a page of another version opens by itself", async () => {
    const page = (walk.page = await walk.newPage());
    let wrong = 2;
    await intercept(page, (url) => (url.endsWith("/page.js") && wrong-- > 0 ? { status: 200, contentType: "text/javascript", headers: { "cache-control": "no-store" }, body: RELOAD } : null));
    await page.setCacheEnabled(false);
    await page.goto(job.plainUrl);
    await page.waitForSelector(COMPOSER, { visible: true });
    if (wrong > 0) throw new Error("it was not asked for");
    wrong = 100;
    await page.evaluate(() => sessionStorage.clear());
    await page.reload();
    await walk.sees("body", "The server was updated. Reload the page.");
    await page.close();
  });

  await walk.step("kept by a browser", async () => {
    const page = (walk.page = await walk.newPage());
    await page.goto(job.url);
    await settled(page);
    await page.waitForFunction(async () => (await navigator.serviceWorker.getRegistrations()).some((one) => one.active?.state === "activated"));
    const { workers, caches } = await kept(page);
    if (workers !== 1 || caches.length !== 1 || !/^yaa-page-[0-9a-f]{24}$/.test(caches[0])) throw new Error(`kept: ${caches}`);
    const names = await page.evaluate(async (name) => (await (await globalThis.caches.open(name)).keys()).map(({ url }) => url), caches[0]);
    const odd = names.filter((url) => url !== scope && !url.startsWith(`${scope}v/`));
    if (odd.length || names.length < 100) throw new Error(`kept ${names.length}, and ${odd}`);
    await page.waitForFunction(() => !document.querySelector("iframe"));
    await walk.send("Remember the word marmalade");
    await page.waitForSelector("article.message[data-role=assistant]");
    await page.waitForFunction(() => !document.querySelector(".feed[aria-busy=true]"));
    await page.reload();
    await settled(page);
    await page.waitForFunction(() => navigator.serviceWorker.controller !== null);
    equal(await page.evaluate(() => performance.getEntriesByType("resource").filter(({ name }) => name.endsWith("/worker.html")).length), 0);
    const after = await kept(page);
    equal(after.caches, caches, "nothing of the API is kept");
    return { kept: names.length };
  });

  if (job.browser === "chromium") {
    await walk.step("it can be installed", async (page) => {
      const line = await page.createCDPSession();
      await line.send("Page.enable");
      const { errors } = await line.send("Page.getAppManifest");
      const { installabilityErrors } = await line.send("Page.getInstallabilityErrors");
      const wrong = installabilityErrors.filter(({ errorId }) => errorId !== "in-incognito");
      equal([errors, wrong], [[], []]);
    });
  }

  await walk.step("shared with it", async () => {
    const page = (walk.page = await walk.newPage());
    await page.goto("about:blank");
    await share(page, scope, "_top", { title: "/clear", text: "Some\u200b words 一二", url: "https://example.org/a" }, ["one.txt", "二.txt"]);
    await page.waitForFunction((css) => document.querySelector(css)?.value.includes("example.org"), {}, COMPOSER);
    equal(await page.$eval(COMPOSER, (field) => field.value), "Shared: /clear\n\nSome words 一二\n\nhttps://example.org/a");
    await page.waitForFunction(() => document.querySelectorAll(".tray .attached").length === 2);
    await walk.sees(".toast", "What was shared is in the draft. Nothing was sent.");
    equal(await page.$$eval("article.message", (all) => all.length), 0);
    equal(await page.evaluate(() => location.hash), "");
    equal((await kept(page)).caches.filter((name) => name === "yaa-shared"), []);
    for (const [name, size] of [["1-shared", [1280, 800]], ["2-shared-phone", [390, 844]]]) {
      await page.setViewport({ width: size[0], height: size[1] });
      await walk.shot(name);
    }
    await walk.clean("a shared draft");
    await page.setViewport({ width: 1280, height: 800 });
    await page.reload(); // what is in the draft stays, and comes once
    await settled(page);
    equal(await page.$eval(COMPOSER, (field) => field.value.split("example.org").length), 2);
  });

  await walk.step("shared by a page that nobody sees, and links to nothing", async (page) => {
    await page.goto("about:blank");
    await page.evaluate(() => { const frame = document.createElement("iframe"); frame.name = "hidden"; document.body.append(frame); });
    await share(page, scope, "hidden", { text: "from a frame" }, []);
    await page.waitForFunction(() => { try { return frames[0].location.href === "?" } catch { return true } }); // it has gone elsewhere
    await page.goto(`${scope}#shared=${crypto.randomUUID()}`);
    await walk.sees(".toast", "What was shared could not be kept.");
    await page.goto("about:blank");
    await page.goto(`${scope}#shared=../../info`);
    await walk.sees(".toast", "What was shared could not be kept.");
    equal(await page.$eval(COMPOSER, (field) => field.value.includes("from a frame")), false);
  });

  await walk.step("another site can neither register nor read it", async (page) => {
    await page.goto(job.plainUrl);
    const said = await page.evaluate(async (address) => {
      const tries = [
        () => navigator.serviceWorker.register(address),
        () => navigator.serviceWorker.register("/service-worker.js"),
        () => fetch(address, { headers: { "Service-Worker": "script" } }),
        async () => { const { status } = await fetch(address); if (status !== 200) throw new Error("not found"); },
      ];
      return Promise.all(tries.map(async (one) => { try { await one(); return "done" } catch { return "refused" } }));
    }, `${scope}service-worker.js`);
    equal(said, ["refused", "refused", "refused", "refused"]);
    equal(await kept(page), { workers: 0, caches: [] });
  });

  await walk.step("by a name over plain HTTP there is no worker", async (page) => {
    await page.goto(job.lan);
    await settled(page);
    equal(await page.evaluate(() => [isSecureContext, navigator.serviceWorker === undefined, document.querySelectorAll("iframe").length]), [false, true, 0]);
  });

  await walk.step("without a server", async (page) => {
    await page.goto(scope);
    await settled(page);
    await walk.ask("stop");
    // Firefox tells the one who reloads of the error, and not of the page that comes all the same.
    await page.evaluate(() => { globalThis.before = true; setTimeout(() => location.reload()); });
    await page.waitForFunction((css) => !globalThis.before && document.querySelector(css), {}, COMPOSER);
    await page.waitForFunction(() => [...document.querySelectorAll(".side a, .side button")].some((one) => one.innerText.includes("marmalade")));
    await page.evaluate(() => [...document.querySelectorAll(".side a, .side button")].find((one) => one.innerText.includes("marmalade")).click());
    await page.waitForFunction(() => document.querySelector("article.message")?.textContent.includes("marmalade"));
    await page.setViewport({ width: 390, height: 844 });
    await walk.shot("3-without-a-server");
    await page.setViewport({ width: 1280, height: 800 });
    const later = await page.evaluate(() => yaa.load().then(() => "all of it", String));
    equal(later, "all of it");
  });

  await walk.step("a server that wants no copies any more", async (page) => {
    await walk.ask("restart");
    await page.goto("about:blank");
    await page.goto(scope);
    await page.waitForSelector(COMPOSER, { visible: true });
    await page.waitForFunction(async () => !(await navigator.serviceWorker.getRegistrations()).length && !(await caches.keys()).length);
    await page.reload();
    await settled(page);
    equal(await kept(page), { workers: 0, caches: [] });
  });
});

/** Waits until nothing more of the page is loaded by itself. */
async function settled(page) {
  await page.waitForSelector(COMPOSER, { visible: true });
  await page.waitForFunction(() => { try { return Boolean(yaa.use("ui/installed-page") && yaa.use("ui/storage-notices") && yaa.use("ext/inspector/launcher")) } catch { return false } });
}

/** How many files of a version came over the network at all, and how many before anybody could type; which were not compressed. */
async function files(page) {
  return page.evaluate(() => {
    const all = performance.getEntriesByType("resource").filter(({ name }) => name.includes("/v/"));
    return { all: all.length, came: all.filter(({ transferSize }) => transferSize > 0).length, plain: all.filter((one) => one.decodedBodySize > 2000 && one.encodedBodySize >= one.decodedBodySize).map(({ name }) => name), cold: all.filter(({ startTime }) => startTime < globalThis.typableMs).length };
  });
}

async function kept(page) {
  return page.evaluate(async () => ({ workers: (await navigator.serviceWorker.getRegistrations()).length, caches: await caches.keys() }));
}

/** Answers some requests in the server's place. `also`: a method that is answered too. */
async function intercept(page, answer, also = "") {
  await page.setRequestInterception(true);
  page.on("request", (request) => {
    if (request.isInterceptResolutionHandled()) return;
    const own = ["GET", also].includes(request.method()) ? answer(request.url()) : null;
    if (own) request.respond(own);
    else request.continue();
  });
}

/** Sends the form of a share menu, or of any page that pretends to be one. */
async function share(page, scope, target, texts, names) {
  await page.evaluate((given) => {
    const form = Object.assign(document.createElement("form"), { action: `${given.scope}share`, method: "post", enctype: "multipart/form-data", target: given.target });
    for (const [name, value] of Object.entries(given.texts)) {
      const field = Object.assign(document.createElement("textarea"), { name, value });
      form.append(field);
    }
    const files = Object.assign(document.createElement("input"), { type: "file", name: "files", multiple: true });
    const list = new DataTransfer();
    for (const name of given.names) list.items.add(new File([`the text of ${name}`], name, { type: "text/plain" }));
    files.files = list.files;
    form.append(files);
    document.body.append(form);
    form.submit();
  }, { scope, target, texts, names });
}

function equal(found, wanted, what = "found") {
  if (JSON.stringify(found) !== JSON.stringify(wanted)) throw new Error(`${what}: ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`);
}
