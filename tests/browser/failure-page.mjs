/** The page that says what is wrong, for the walks that make it so: how to get there, and what it has to say. */
const DIALOG = "dialog[open]";
const STORAGE_NOTICES = () => Promise.all(["storage", "dialogs"].map(yaa.load)).then(() => yaa.use("ui/storage-notices").context()?.actions);
export const FAILURE = "section.failure:not([hidden])";

/** Another server, by its address in the settings. */
export async function address(walk, url) {
  await walk.press("Settings", ".side-foot button");
  await walk.press("This browser", `${DIALOG} [role=tab]`);
  if (!(await walk.page.$eval(`${DIALOG} [data-part=server]`, (one) => one.open))) await walk.press("Connection", `${DIALOG} summary`); // open where no server answers
  await walk.fill(`${DIALOG} input[type=url]`, url);
  await walk.press("Close", `${DIALOG} button`);
}

export async function says(walk, ...words) {
  for (const one of words) await walk.sees(FAILURE, one);
}

export async function checks(page, wanted) {
  for (const [name, health] of Object.entries(wanted)) {
    await page.waitForFunction((css, what, how) => [...document.querySelectorAll(`${css} .checks li`)]
      .some((row) => row.innerText.includes(what) && row.innerText.includes(how)), {}, FAILURE, name, health);
  }
}

/** Nobody is shut out, in either theme. */
export async function clean(walk) {
  for (const theme of ["dark", "light"]) {
    await walk.page.waitForFunction(STORAGE_NOTICES);
    await walk.page.evaluate((wanted) => yaa.use("ui/storage-notices").context().actions.set({ theme: wanted }), theme);
    await walk.clean(theme);
  }
}
