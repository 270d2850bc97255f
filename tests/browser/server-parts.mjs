/** What walks of the server's settings do with each part of them. */

const DIALOG = "dialog[open]";

/** @param walk as driver.mjs gives it */
export function parts(walk) {
  const { page } = walk;
  const told = async (...what) => (await walk.ask(...what)).answer;
  const part = (name) => `${DIALOG} [data-part=${name}]`;

  /** What is in the clipboard comes in at once, after the event that says so. */
  const paste = async (selector, text) => {
    await page.waitForSelector(selector, { visible: true });
    await page.focus(selector);
    await page.evaluate((words) => {
      document.activeElement.select();
      document.activeElement.dispatchEvent(new ClipboardEvent("paste", { bubbles: true }));
      document.execCommand("insertText", false, words);
    }, text);
  };

  const openServer = async () => {
    await page.waitForFunction(() => { try { return yaa.use("ui/commands").context().app.server.info() } catch { return null } });
    await open("providers");
  };

  const open = async (name) => {
    await page.evaluate((wanted) => { yaa.use("ui/commands").context().actions.openSettings(wanted); }, name);
    await page.waitForSelector(`${part(name)} .host-part`, { visible: true });
  };

  /** The open form's field, by the beginning of its label. */
  const field = async (name, label) => {
    const id = await page.waitForFunction((at, words) => [...document.querySelectorAll(`${at} .host-form label`)].find((one) => one.innerText.trim().startsWith(words))?.htmlFor, {}, part(name), label);
    return `#${await id.jsonValue()}`;
  };

  return { told, part, paste, openServer, open, field };
}
