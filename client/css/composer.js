// The composer, menus and toasts: what floats over or sits under the thread.

yaa.define('css/composer', ['ui/dom'], ({ css }) => css`
@layer dialogs {
  .composer {
    border: 1px solid var(--edge); border-radius: var(--r3); background: var(--raised); box-shadow: var(--shadow);
    display: grid; grid-template-columns: minmax(0, 1fr); transition: border-color 0.12s;
  }
  .composer:focus-within { border-color: var(--accent); box-shadow: var(--shadow), 0 0 0 3px var(--wash); }
  .composer textarea {
    border: 0; background: none; resize: none; outline: none; inline-size: 100%; field-sizing: content;
    padding: var(--s3) var(--s4) var(--s1); min-block-size: 3rem; max-block-size: min(40dvh, 20rem); line-height: 1.5;
    overflow-y: auto; scrollbar-width: thin; font-size: var(--t4);
  }
  .composer-bar {
    display: flex; align-items: center; gap: var(--s1); padding: var(--s1) var(--s2) var(--s2); min-inline-size: 0;
    container: composer / inline-size;
  }
  .composer-bar .gap { flex: 1; }
  .composer-bar:not(:has(> .permission)) > .gap { min-inline-size: 2.75rem; } /* it comes later, and moves nothing */
  @media (max-width: 30rem) { .composer-bar { gap: 0; } }
  @container composer (max-width: 27.5rem) { .composer-bar .select { padding-inline: var(--s1) 1.25rem; background-position-x: right 0.125rem; } }
  button.badge { border: 0; min-block-size: 1.5rem; cursor: pointer; }
  .composer-bar .select { min-inline-size: 4rem; flex: 0 1 auto; }
  .composer-bar .select + .select { flex-shrink: 3; } /* the agent's name is short, the model's is long */
  /* of the composer, not of the screen: large letters need the room too, and what stands beside the session takes it */
  @container composer (max-width: 21.5rem) {
    .composer-bar .select { min-inline-size: 2.5rem; }
  }
  .send { flex: none; inline-size: 2.25rem; min-block-size: 2.25rem; padding: 0; border-radius: 50%; }
  .send.stop { background: var(--ink); color: var(--bg); }
  .send.stop:hover { background: var(--ink-2); }

  .menu {
    position: fixed; inset: auto; margin: 0.25rem 0; padding: var(--s1); border: 1px solid var(--line);
    border-radius: var(--r2);
    background: var(--raised); color: var(--ink); box-shadow: var(--shadow-up); min-inline-size: 11rem; max-block-size: calc(100dvh - 2rem);
  }
  .menu:popover-open { display: grid; animation: rise 0.12s ease-out; }
  .menu button {
    display: flex; align-items: center; gap: var(--s3); min-block-size: 2.125rem; padding: 0 var(--s3); border: 0;
    background: none;
    border-radius: var(--r1); font-size: var(--t3); text-align: start; cursor: pointer;
  }
  .menu button .icon { inline-size: 1rem; block-size: 1rem; color: var(--ink-3); }
  .menu button:hover, .menu button:focus-visible { background: var(--hover); outline-offset: -2px; }
  .menu button.danger, .menu button.danger .icon { color: var(--bad); }

  .stack { display: grid; gap: var(--s1); grid-template-columns: minmax(0, 1fr); }
  .inline-row { display: flex; gap: var(--s2); align-items: center; flex-wrap: wrap; }
  .inline-row .input { flex: 1 1 12rem; inline-size: auto; min-inline-size: 0; }
  .toasts {
    position: fixed; inset: auto 0 8.5rem; margin-inline: auto; z-index: 30; display: grid; gap: var(--s2);
    justify-items: center;
    inline-size: min(26rem, 100vw - 1.5rem); pointer-events: none; border: 0; padding: 0; background: none; overflow: visible;
  }
  .toast {
    pointer-events: auto; display: flex; align-items: center; gap: var(--s3);
    padding: var(--s2) var(--s2) var(--s2) var(--s4); min-block-size: 2.75rem;
    border-radius: var(--r2); background: var(--ink); color: var(--bg); font-size: var(--t3);
    box-shadow: var(--shadow-up); animation: rise 0.16s ease-out;
  }
  .toast > span { min-inline-size: 0; overflow-wrap: anywhere; }
  .toast .button {
    flex: none; white-space: nowrap; border-color: transparent; background: none; color: inherit; font-weight: 650;
    text-decoration: underline; text-underline-offset: 0.2em;
  }
  .toast .button.square { text-decoration: none; opacity: 0.7; }
  .toast .button:hover { background: color-mix(in oklch, var(--bg) 18%, transparent); opacity: 1; }
  .toast .button:focus-visible { outline-color: currentColor; }
}
`)
