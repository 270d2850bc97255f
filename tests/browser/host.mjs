/**
 * One browser, and walks in it, one after another: each in a context of its own, with nothing in its storage.
 *
 * A line of JSON in is a job, a walk's module answers it (driver.mjs); at the end of the input the browser is closed.
 * The first job says how the browser is started, in `{browser, executable, patience_ms, requests, flags?, prefs?, insecure?,
 * forbidden?}`: `requests`: a walk hears of each, which is dear; `flags` of Chromium, `prefs` of Firefox; `insecure`:
 * a certificate that nobody signed is taken; `forbidden`: the page may store nothing, nor look whether it could. A job that is `alone` has the browser's own
 * context, as a person has, and no other may follow. Every job has `{script, shots, label, patience_ms}`.
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import puppeteer from "puppeteer-core";
import { done, give, input, lines } from "./driver.mjs";

const CHROMIUM_FLAGS = [
  // No calls home, no first-run pages; English, so that buttons can be found by what they say.
  "--no-first-run", "--disable-background-networking", "--disable-component-update",
  "--disable-sync", "--disable-quic", "--lang=en-US",
  // Pixels are made once, in the processor, and not by a graphics card that the processor plays.
  "--disable-gpu", "--disable-software-rasterizer",
  // A page that a walk has left is not kept alive for a way back that no walk goes, and no process waits for a page to come:
  // else each load of a page takes twice the processor time.
  "--disable-features=BackForwardCache,SpareRendererForSitePerProcess",
  // A plain-http name, as on a LAN: not a secure context, so that half of the browser's functions are missing.
  "--host-resolver-rules=MAP yaa.test 127.0.0.1, MAP lan.yaa.test 127.0.0.1",
  // A microphone that hums, and that nobody asks about.
  "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream",
  // Its own sandbox needs rights that root in a container does not have.
  ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
];
const FIREFOX_PREFS = {
  // The default of every user. Puppeteer's profile turns it off, and with it much of what file:// forbids.
  "security.fileuri.strict_origin_policy": true,
  "intl.accept_languages": "en-US",
  "network.dns.localDomains": "yaa.test,lan.yaa.test",
  "app.update.disabledForTesting": true,
  "media.navigator.streams.fake": true,
  "media.navigator.permission.disabled": true,
  "network.captive-portal-service.enabled": false,
  "network.connectivity-service.enabled": false,
  "datareporting.policy.dataSubmissionEnabled": false,
  // It opens with a file that is saved, and takes the focus out of the page.
  "browser.download.alwaysOpenPanel": false,
  "browser.download.folderList": 2,
  // What costs processor time and no walk looks at: processes started ahead, the window's own movement, records.
  "dom.ipc.processPrelaunch.enabled": false,
  "toolkit.cosmeticAnimations.enabled": false,
  "accessibility.force_disabled": 1,
  "browser.sessionstore.interval": 3_600_000,
  "places.history.enabled": false,
  "toolkit.telemetry.enabled": false,
};

/** Starts one with a fresh profile. */
async function launch(job, profile, downloads) {
  const isFirefox = job.browser === "firefox";
  const prefs = { ...FIREFOX_PREFS, "browser.download.dir": downloads, ...(job.forbidden ? { "network.cookie.cookieBehavior": 2 } : {}), ...job.prefs };
  if (job.forbidden && !isFirefox) {
    mkdirSync(join(profile, "Default"));
    writeFileSync(join(profile, "Default", "Preferences"), JSON.stringify({ profile: { default_content_setting_values: { cookies: 2 } } }));
  }
  return puppeteer.launch({
    browser: isFirefox ? "firefox" : "chrome",
    executablePath: job.executable,
    headless: job.executable.includes("headless-shell") ? "shell" : true,
    networkEnabled: job.requests,
    userDataDir: profile,
    defaultViewport: { width: 1280, height: 800 },
    protocolTimeout: job.patience_ms * 3,
    acceptInsecureCerts: job.insecure === true,
    downloadBehavior: { policy: "allow", downloadPath: downloads },
    ...(isFirefox ? { extraPrefsFirefox: prefs } : { args: [...CHROMIUM_FLAGS, ...(job.flags ?? [])] }),
  });
}

const folder = mkdtempSync(join(tmpdir(), "yaa-browser-"));
const [profile, downloads] = [join(folder, "profile"), join(folder, "downloads")];
let browser;

/** In the middle of a walk, too: the test that asked for it is gone. */
async function end() {
  await browser?.close().catch(() => {});
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  process.exit(0);
}

input.once("close", end);
mkdirSync(profile);
mkdirSync(downloads);
for (let count = 1; ; count += 1) {
  const line = await lines.next();
  if (line.done) break;
  const job = JSON.parse(line.value);
  browser ??= await launch(job, profile, downloads);
  const downloadBehavior = { policy: "allow", downloadPath: downloads };
  const context = job.alone ? browser.defaultBrowserContext() : await browser.createBrowserContext({ downloadBehavior });
  give(job, context, downloads);
  // A module is run once for each address.
  await import(`./${job.script}?${count}`).catch((problem) => done(String(problem?.stack ?? problem)));
  if (!job.alone) await context.close();
  for (const name of readdirSync(downloads)) rmSync(join(downloads, name), { force: true, recursive: true });
}
