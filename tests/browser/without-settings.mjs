/** A server without extensions, with the whole page: it offers nothing of the server's settings, and its own work. The job: {url}. */
import { main } from "./driver.mjs";

await main(async (walk, job) => {
  const { page } = walk;

  await walk.step("no model is offered to be connected", async () => {
    await page.goto(job.url);
    await page.waitForFunction(() => yaa.use("ui/commands").context?.().app.server.state().ok);
    await page.waitForSelector(".empty");
    const info = await page.evaluate(() => yaa.use("ui/commands").context().app.server.info());
    if (!info.owner || info.models.length || info.settings) throw new Error(JSON.stringify([info.owner, info.models, info.settings]));
    await page.evaluate(() => yaa.load("server-launcher"));
    await walk.clean("the empty session");
    if (await page.$(".connect-card")) throw new Error("it offers to connect a model");
  });

  await walk.step("the settings are the page's own", async () => {
    await page.evaluate(() => yaa.use("ui/commands").context().actions.openSettings("keys"));
    await page.waitForSelector("dialog[open] [data-tab=model][aria-selected=true]");
    const hidden = (name) => page.$eval(`dialog[open] ${name}`, (one) => one.hidden);
    if (!(await hidden("[data-tab=folders]")) || !(await hidden("[data-part=providers]"))) throw new Error("they show what is the server's");
    if (await hidden("[data-part=limits]")) throw new Error("they hide their own");
    await walk.clean("the settings");
  });
});
