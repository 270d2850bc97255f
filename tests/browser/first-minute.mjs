/**
 * From the printed link to an answer: a model is connected by a pasted key, asked, allowed a call, and answers. No file is
 * edited. The job: {url, provider, key, frames?}; `frames` is a folder for the film.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { main } from "./driver.mjs";
import { Film } from "./film.mjs";

const FORM = "dialog[open] details[open]";

await main(async (walk, job) => {
  const { page } = walk;
  const film = job.frames ? new Film(page, { width: 1280, height: 800 }) : null;

  await walk.step("the link that the server printed", async () => {
    await page.goto(job.url);
    await walk.sees(".empty .connect-card", "Connect a model");
    film?.start();
    film?.say(`$ ${job.command}`);
  });

  await walk.step("a pasted key", async () => {
    await page.click(".composer-bar .badge");
    await walk.press("Another server", "dialog[open] summary");
    await walk.write(`${FORM} input[type=url]`, `${job.provider}/v1`);
    await walk.write(`${FORM} input[type=password]`, job.key);
    await walk.press("Try it", `${FORM} button`);
    await walk.press("Use this model", `${FORM} button`);
    await page.waitForFunction(() => !document.querySelector("dialog[open]") && document.querySelector(".composer-bar .badge").hidden);
  });

  await walk.step("a question, a call, an answer", async () => {
    await walk.ask("order", "shell", { command: "echo hello" });
    await walk.send("Say hello.");
    await walk.press("Allow once", ".ask button");
    await walk.says("It is done.");
    await film?.hold(1500);
  });

  if (film) writeFileSync(join(job.frames, "film.json"), JSON.stringify(await film.develop(walk.browser)));
});
