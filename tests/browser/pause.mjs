/**
 * "Ask before every call" on a bad network: what the page knows of the server (/info) comes late, not at all, is of
 * before, or of another server. Every call asks all the same, and nothing is said that the document does not carry.
 * The job: {url}.
 */
import { main } from "./driver.mjs";
import { asking, put } from "./sample-session.mjs";

const ORDER = "calc 6*7";
/** /info as it is in each row; the page is opened anew for it. */
const MODES = ["late", "lost", "html", "before", "empty"];

await main(async (walk, job) => {
  const { page } = walk;

  // The network, as sessionStorage says; `release()` lets what is late come.
  await page.evaluateOnNewDocument(() => {
    const real = globalThis.fetch;
    const released = new Promise((resolve) => { globalThis.release = resolve; });
    globalThis.fetch = async (resource, options) => {
      const path = new URL(resource.url ?? resource, location.href).pathname;
      const mode = sessionStorage.getItem("network");
      if (globalThis.outage) throw new TypeError("Failed to fetch");
      if (path !== "/info" || !mode) return real(resource, options);
      if (mode === "lost") return new Response("Bad gateway", { status: 502 });
      if (mode === "html") return new Response("<!doctype html><p>Sign in to the Wi-Fi", { headers: { "Content-Type": "text/html" } });
      const answer = await real(resource, options);
      if (mode === "late") await released;
      if (mode === "late") return answer;
      const info = await answer.json();
      const tools = mode === "empty" ? [] : info.tools.map((tool) => ({ ...tool, policy: tool.name === "calculator" ? "deny" : tool.policy }));
      return new Response(JSON.stringify({ ...info, tools, agents: [], models: [] }), { headers: { "Content-Type": "application/json" } });
    };
  });
  const config = () => page.evaluate(() => yaa.use("ui/commands").context().app.current.session.config);
  const open = async (mode) => {
    const address = await page.evaluate((value) => (sessionStorage.setItem("network", value), location.origin + location.pathname), mode);
    await page.goto(address);
    await page.waitForSelector("form.composer textarea", { visible: true });
  };

  await walk.step("the pause is written into the open session, and only then said to hold", async () => {
    await page.goto(job.url);
    await page.waitForSelector(".side .dot.good");
    await walk.send(ORDER);
    await walk.says("42");
    await page.evaluate(() => yaa.use("ui/commands").context().actions.pause(true));
    await walk.sees(".note", "every call asks.");
    if ((await config()).yaa.ask !== "every_call") throw new Error(JSON.stringify((await config()).yaa));
    await walk.send(ORDER);
    await walk.sees(".ask", "Allow calculator?");
    await walk.sees(".ask", "asks before every call");
    await walk.press("Allow once", ".ask button");
    await walk.says("42");
  });

  for (const mode of MODES) {
    await walk.step(`a new session while /info is ${mode}`, async () => {
      await open(mode);
      await walk.sees(".note", "from the next run on");
      await walk.send(ORDER);
      await walk.sees(".ask", "Allow calculator?");
      await walk.sees(".note", "every call asks.");
      const { yaa: said } = await config();
      if (said.ask !== "every_call") throw new Error(JSON.stringify(said));
      await page.evaluate(() => globalThis.release());
    });
  }

  await walk.step("after an outage, with Try now", async () => {
    await open("");
    await page.waitForSelector(".side .dot.good");
    await page.evaluate(() => { globalThis.outage = true; });
    await walk.send(ORDER);
    await walk.sees("main", "Try now");
    await page.evaluate(() => { globalThis.outage = false; });
    await walk.press("Try now");
    await walk.sees(".ask", "Allow calculator?");
  });

  await walk.step("an approval that was drawn before /info came shows the change of the file", async () => {
    await page.evaluate(() => sessionStorage.setItem("network", "late"));
    await put(page, asking("late-diff", "write_file", { path: "new.txt", content: "one\ntwo\n" }));
    await page.waitForSelector(".ask .diff-row");
    await page.evaluate(() => globalThis.release());
    await walk.sees(".ask", "new file");
    await page.evaluate(() => sessionStorage.removeItem("network"));
  });

  await walk.step("the end of the pause: rules count again, and the note goes", async () => {
    await open("");
    await walk.send(ORDER);
    await walk.sees(".ask", "Allow calculator?");
    await walk.press("Allow once", ".ask button");
    await walk.says("42");
    await walk.press("End the pause", ".note button");
    await page.waitForFunction(() => ![...document.querySelectorAll(".note")].some((one) => one.checkVisibility()));
    await walk.send(ORDER);
    await page.waitForFunction(() => [...document.querySelectorAll("article.message[data-role=assistant]")].filter((one) => one.innerText.includes("42")).length > 1);
  });

  await walk.step("a session that says it itself is told so, and ended where it is", async () => {
    const own = asking("own-pause", "calculator", { expression: "6*7" });
    await put(page, { ...own, config: { yaa: { ask: "every_call" } } });
    await walk.sees(".note", "every call asks.");
    await walk.press("End the pause", ".note button");
    await page.waitForFunction(() => yaa.use("ui/commands").context().app.current.session.config.yaa.ask === "by_rules");
    await page.waitForFunction(() => ![...document.querySelectorAll(".note")].some((one) => one.checkVisibility()));
  });

  await walk.step("what a page of before had put aside is there when the session is opened", async () => {
    const old = asking("held", "calculator", { expression: "6*7" });
    const held = { grants: [{ tool: "shell", decision: "allow" }], tool: {} };
    await put(page, { ...old, grants: [], config: { tool: { calculator: { auto_approve: false } } }, ext: { held } });
    const now = await page.waitForFunction(() => {
      const { session } = yaa.use("ui/commands").context().app.current;
      return session.id === "held" && { grants: session.grants, tool: session.config.tool, ext: session.ext };
    });
    const said = JSON.stringify(await now.jsonValue());
    if (said !== JSON.stringify({ grants: held.grants, tool: {} })) throw new Error(said);
  });
});
