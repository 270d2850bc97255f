/**
 * A moving picture of a page, with a terminal below it: screenshots as fast as they come, afterwards cut down to what
 * changed from one to the next. Chromium alone.
 */
const STRIP = 92; // pixels of the terminal
const LONGEST_MS = 2500; // that nothing moves
const COLOURS = { light: ["#1c1f24", "#e8e8e6"], dark: ["#000000", "#d8d8d4"] };

export class Film {
  #shots = [];
  #lines = [];
  #taking = null;

  /** @param {import("puppeteer-core").Page} page @param {{width: number, height: number}} size @param {"light" | "dark"} theme */
  constructor(page, size, theme = "light") {
    Object.assign(this, { page, size, theme });
  }

  start() {
    this.running = true;
    this.#taking = this.#take();
  }

  /** Lines for the terminal, from now on. */
  say(...lines) {
    this.#lines = [...this.#lines, ...lines];
  }

  /** @param {number} ms that is filmed on before the next thing is done */
  hold(ms) {
    return new Promise((resolve) => setTimeout(resolve, ms));
  }

  async #take() {
    while (this.running) {
      const at = performance.now();
      const png = await this.page.screenshot({ type: "png", encoding: "base64", captureBeyondViewport: false }).catch(() => null);
      if (!png) return; // the walk failed, and says why
      this.#shots.push({ at, png, lines: this.#lines.slice(-4) });
      await this.hold(Math.max(0, 90 - (performance.now() - at)));
    }
  }

  /** The frames, in a page of their own: {width, height, frames: [{x, y, width, height, ms, still}]}. */
  async develop(browser) {
    this.running = false;
    await this.#taking;
    const page = await browser.newPage();
    const height = this.size.height + STRIP;
    await page.evaluate(prepare, this.size.width, height, STRIP, COLOURS[this.theme]);
    const frames = [];
    for (const [n, { at, png, lines }] of this.#shots.entries()) {
      const ms = Math.round(Math.min((this.#shots[n + 1]?.at ?? at + LONGEST_MS) - at, LONGEST_MS));
      const frame = await page.evaluate((data, words) => globalThis.change(data, words), png, lines);
      if (frame) frames.push({ ...frame, ms });
      else frames.at(-1).ms = Math.min(frames.at(-1).ms + ms, LONGEST_MS);
    }
    await page.close();
    return { width: this.size.width, height, frames };
  }
}

/** In the page that develops: `change(png, lines)` draws the next picture and returns what differs from the one before. */
function prepare(width, height, strip, [ground, ink]) {
  const canvas = new OffscreenCanvas(width, height);
  const ink2d = canvas.getContext("2d", { alpha: false, willReadFrequently: true });
  let before = null;

  globalThis.change = async (png, lines) => {
    const bytes = Uint8Array.from(atob(png), (sign) => sign.charCodeAt(0));
    ink2d.drawImage(await createImageBitmap(new Blob([bytes], { type: "image/png" })), 0, 0);
    ink2d.fillStyle = ground;
    ink2d.fillRect(0, height - strip, width, strip);
    ink2d.fillStyle = ink;
    ink2d.font = "14px ui-monospace, monospace";
    lines.forEach((line, n) => ink2d.fillText(line, 16, height - strip + 22 + n * 20));
    const now = ink2d.getImageData(0, 0, width, height);
    const box = before ? boxOf(new Uint32Array(before.data.buffer), new Uint32Array(now.data.buffer)) : [0, 0, width, height];
    before = now;
    if (!box) return null;
    const [x, y, right, bottom] = box;
    const part = new OffscreenCanvas(right - x, bottom - y);
    part.getContext("2d", { alpha: false }).drawImage(canvas, -x, -y);
    const blob = await part.convertToBlob({ type: "image/webp", quality: 0.72 });
    const still = btoa(Array.from(new Uint8Array(await blob.arrayBuffer()), (one) => String.fromCharCode(one)).join(""));
    return { x, y, width: right - x, height: bottom - y, still };
  };

  /** The smallest box with all that differs, from an even place; null if nothing does. */
  function boxOf(old, now) {
    let [left, top, right, bottom] = [width, height, 0, 0];
    for (let at = 0; at < now.length; at++) {
      if (old[at] === now[at]) continue;
      const x = at % width, y = Math.floor(at / width);
      left = Math.min(left, x); right = Math.max(right, x + 1);
      top = Math.min(top, y); bottom = Math.max(bottom, y + 1);
    }
    return right ? [left & ~1, top & ~1, right, bottom] : null;
  }
}
