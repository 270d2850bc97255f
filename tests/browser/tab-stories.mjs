/**
 * Stories of three tabs (tests/client/tab-stories.js) in a browser, with its storage, its channels and its locks; what a run
 * says comes from its own tab. The tabs stay from story to story, which have sessions of their own. The job: {url, seed, stories}.
 */
import { createRequire } from "node:module";
import { main } from "./driver.mjs";

const load = createRequire(import.meta.url);
const { storyOf } = load("../client/tab-stories.js");
const { actsOf, serverOf } = load("../client/tab-acts.js");
const { Player } = load("../client/tab-player.js");
const { random } = load("../client/random.js");
const LENGTH = 10;

/** In the page, before its scripts: requests of runs stay in it, and it hears no other tab while it is frozen. */
function before() {
  globalThis.tabOwner = { mark: Math.random().toString(36).slice(2), frozen: false };
  const { fetch, BroadcastChannel } = globalThis;
  globalThis.fetch = (url, options = {}) => globalThis.tabServer?.answer(new URL(url, location.href).pathname, options) ?? fetch(url, options);
  globalThis.BroadcastChannel = class extends BroadcastChannel {
    addEventListener(kind, callback) {
      super.addEventListener(kind, (event) => globalThis.tabOwner.frozen || callback(event));
    }
  };
}

/** In the page, as text. */
const PARTS = `(() => {
  const { sessionStore, queue, settings, store } = yaa.use('ui/commands').context().app
  const owner = globalThis.tabOwner
  const server = globalThis.tabServer = (${serverOf})(owner)
  globalThis.tabActs = (${actsOf})({
    sessionStore, queue, settings, store, storage: localStorage, server, owner,
    isBusy: yaa.use('ui/session-store').isBusy, canResume: yaa.use('core/session').canResume,
  })
})()`;

class World {
  quiet = 5;
  tries = 40;
  tabs = [];

  constructor(walk, url) {
    Object.assign(this, { walk, url });
  }

  turn = () => this.tabs[0].page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 20)));

  async tab() {
    const page = await this.walk.newPage();
    await page.evaluateOnNewDocument(before);
    await page.goto(this.url);
    await page.waitForFunction(() => {
      try {
        return yaa.use("ui/other-tabs") && yaa.use("ui/commands").context().app.server.info();
      } catch {
        return false;
      }
    });
    await page.evaluate(PARTS);
    return { page, act: (act) => page.evaluate((one) => globalThis.tabActs[one.what](one), act), crash: () => this.crash(page) };
  }

  /** In Chromium its process is killed; Firefox closes it without a question. */
  async crash(page) {
    if (this.walk.job.browser === "chromium") {
      const line = await page.createCDPSession();
      await Promise.race([line.send("Page.crash").catch(() => {}), new Promise((resolve) => page.once("error", resolve))]);
    }
    await page.close().catch(() => {});
  }

  /** Three of them go on with the next story; after one that went wrong all are new. @param {boolean} isWell */
  async leave(isWell) {
    const gone = this.tabs.splice(0, isWell ? this.tabs.length - 3 : this.tabs.length);
    for (const { page } of gone) await page.close().catch(() => {});
  }
}

await main(async (walk, job) => {
  await walk.page.goto(job.url); // signs in
  await walk.page.waitForSelector(".side .dot.good");
  const world = new World(walk, job.url.split("#")[0]);
  for (let seed = job.seed; seed < job.seed + job.stories; seed += 1) {
    await walk.step(`story ${seed}`, async () => {
      const player = new Player(world, `-${seed}`);
      let wrong = [];
      try {
        await player.begin();
        for (const act of storyOf(random(seed), seed, LENGTH)) await player.play(act);
        wrong = await player.over();
      } catch (error) {
        wrong = [String(error?.stack ?? error)];
      }
      await world.leave(!wrong.length);
      return { wrong };
    });
  }
});
