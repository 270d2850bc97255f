/**
 * A session with a picture of a result and a citation, saved as a page and opened from the disk: both are in it, and nothing
 * is fetched. The job: {url, folder, picture}, its bytes in base64.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { main } from "./driver.mjs";

const COMPOSER = "form.composer textarea";

await main(async (walk, job) => {
  const { page } = walk;
  await walk.keepSaved();

  await walk.step("a search and a picture", async () => {
    await page.goto(job.url);
    await page.waitForSelector(COMPOSER, { visible: true });
    await turn(walk, "Search.", "web_search", { query: "moon landing" });
    await turn(walk, "Draw.", "shell", { command: `echo ${job.picture} | base64 -d > plot.png` });
    await turn(walk, "Look at it.", "read_file", { path: "plot.png" }, false);
    await shown(page, job.picture);
  });

  const file = join(job.folder, "saved.html");
  await walk.step("saved as a page", async () => {
    await walk.press("More about this session");
    await walk.press("Export this session", "[role=menuitem]");
    await page.waitForSelector("dialog[open] .dialog-foot button");
    await page.evaluate(() => { globalThis.savedFiles.length = 0; });
    await walk.press("Save", "dialog[open] .dialog-foot button");
    await page.waitForFunction(() => globalThis.savedFiles.some((text) => text.startsWith("<!doctype html>")));
    writeFileSync(file, await page.evaluate(() => globalThis.savedFiles.find((text) => text.startsWith("<!doctype html>"))));
  });

  const asked = [];
  await walk.step("the saved page", async () => {
    page.on("request", (request) => {
      if (request.isNavigationRequest()) asked.length = 0; // what is before is of the page that is left
      asked.push(request.url());
    });
    await page.goto(pathToFileURL(file).href);
    await page.waitForSelector(".standalone");
    await page.waitForSelector("button.cite");
    await shown(page, job.picture);
    // and what the call made for the person, beside its card
    await page.waitForFunction(() => document.querySelector(".handed img[alt='plot.png']")?.naturalWidth === 64);
    await walk.clean("the saved page");
    await walk.shot("1-saved");
    await page.$eval("button.cite", (el) => el.click());
    await walk.sees(".cited blockquote", "It was on 20 July 1969.");
    await page.keyboard.press("Escape");
    const fetched = asked.filter((url) => !/^(file|blob|data|about):/.test(url));
    if (!asked.length || fetched.length) throw new Error(`asked for ${JSON.stringify(asked)}`);
  });
});

/** Says something, and allows the call that is ordered with it. */
async function turn(walk, words, tool, args, asks = true) {
  const results = await walk.page.$$eval(".card.tool[data-state=done]", (all) => all.length);
  await walk.ask("order", tool, args);
  await walk.page.click(COMPOSER);
  await walk.page.keyboard.type(words);
  await walk.page.keyboard.press("Enter");
  if (asks) {
    await walk.sees(".ask", `Allow ${tool}?`);
    await walk.press("Allow once", ".ask button");
  }
  await walk.page.waitForFunction((before) => document.querySelectorAll(".card.tool[data-state=done]").length > before
    && !document.querySelector(".ask, .feed[aria-busy=true]"), {}, results);
}

/** Holds the bytes of the picture that is on the screen against those that were drawn. */
async function shown(page, wanted) {
  const opened = await page.$(".shown .shown-image");
  if (!opened) await page.$$eval(".tool-line", (all) => all.at(-1).click());
  await page.waitForFunction(() => document.querySelector(".shown .shown-image img")?.naturalWidth > 0);
  const bytes = await page.$eval(".shown .shown-image img", async (img) => {
    const { src } = img;
    const data = src.startsWith("data:") ? atob(src.split(",")[1]) : String.fromCharCode(...new Uint8Array(await (await fetch(src)).arrayBuffer()));
    return btoa(data);
  });
  if (bytes !== wanted) throw new Error(`${bytes.slice(0, 60)} is not ${wanted.slice(0, 60)}`);
}
