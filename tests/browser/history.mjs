/**
 * What a browser keeps of a sign-in by a link, once it is closed. The job: {url, link, key, code}. Each step returns the
 * files of the profile that hold the key, and those that hold the code.
 */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { main } from "./driver.mjs";

/** Where a page's own storage is: there the key belongs. */
const STORAGE = /Local Storage|IndexedDB|WebStorage|storage[/\\]default|webappsstore|Cache|CacheStorage|Service Worker|cache2/;

await main(async (walk, job) => {
  const { page } = walk;
  const connected = () => page.waitForFunction(() => { try { return yaa.use("ui/commands").context().app.server.state().ok } catch { return false } });

  await walk.step("sign in, and look around", async () => {
    await page.goto(job.link);
    await connected();
    await page.goto(`${job.url}/auto-ai/index.html`);
    await page.goto(`${job.url}/`);
    await connected();
  });

  await walk.step("what is kept", async () => {
    await walk.browser.close();
    const profile = join(walk.downloads, "..", "profile");
    const files = readdirSync(profile, { recursive: true, withFileTypes: true }).filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name));
    const holding = (text) => files.filter((file) => {
      const bytes = readFileSync(file);
      return bytes.includes(text) || bytes.includes(Buffer.from(text, "utf16le"));
    }).map((file) => file.slice(profile.length + 1));
    return { key: holding(job.key).filter((file) => !STORAGE.test(file)), storage: holding(job.key).length, code: holding(job.code) };
  });
});
