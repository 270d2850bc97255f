// How the widget looks: one sheet inside its shadow root, so that neither page nor widget changes the other. The page may
// set --yaa-accent and --yaa-font on the element, and color-scheme decides between light and dark.

yaa.define('widget/style', [], () => `
:host { all: initial; display: contents; color-scheme: inherit; }
* { box-sizing: border-box; margin: 0; }
.root {
  --accent: var(--yaa-accent, light-dark(oklch(0.46 0.09 212), oklch(0.76 0.08 212))); --bg: light-dark(#fff, #1b1f21); --ink: light-dark(#1b2427, #e8eced);
  --soft: light-dark(#566165, #a5b0b4); --line: light-dark(#d9dfe1, #394246); --sunken: light-dark(#f1f4f5, #15181a); --bad: light-dark(#a3261b, #f2a49c);
  font: 15px/1.5 var(--yaa-font, system-ui, sans-serif); color: var(--ink);
}
[hidden] { display: none !important; }
.panel { display: grid; grid-template-rows: auto minmax(0, 1fr) auto auto; background: var(--bg); block-size: 100%; overflow: hidden; }
.floating .panel {
  position: fixed; inset-block: 0; inset-inline-end: 0; inline-size: min(26rem, 100vw); z-index: 2147483000; border-inline-start: 1px solid var(--line);
  box-shadow: 0 0 2rem rgb(0 0 0 / 0.18);
}
.embedded, .embedded .panel { block-size: 100%; min-block-size: 20rem; }
.embedded .panel { border: 1px solid var(--line); border-radius: 12px; }
.open-button {
  position: fixed; inset-block-end: 1.25rem; inset-inline-end: 1.25rem; z-index: 2147483000; inline-size: 3.25rem; block-size: 3.25rem; border: 0; border-radius: 50%;
  background: var(--accent); color: var(--bg); box-shadow: 0 4px 14px rgb(0 0 0 / 0.25); cursor: pointer; display: grid; place-items: center;
}
svg { inline-size: 1.35rem; block-size: 1.35rem; fill: none; stroke: currentColor; stroke-width: 1.7; stroke-linecap: round; stroke-linejoin: round; }
header { display: flex; align-items: center; gap: 0.25rem; padding: 0.5rem 0.5rem 0.5rem 1rem; border-block-end: 1px solid var(--line); }
h2 { flex: 1; font-size: 1rem; font-weight: 650; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
button { font: inherit; }
.icon { inline-size: 2.25rem; block-size: 2.25rem; border: 0; border-radius: 8px; background: none; color: var(--soft); cursor: pointer; display: grid; place-items: center; }
.icon:hover { background: var(--sunken); color: var(--ink); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
.talk { overflow-y: auto; padding: 1rem; display: grid; gap: 0.9rem; align-content: start; overflow-wrap: anywhere; }
.user { justify-self: end; max-inline-size: 85%; padding: 0.5rem 0.8rem; border-radius: 12px 12px 3px 12px; background: var(--sunken); white-space: pre-wrap; }
.error { color: var(--bad); }
.prose { display: grid; gap: 0.6rem; grid-template-columns: minmax(0, 1fr); }
.prose p { white-space: pre-line; }
.prose :is(h3, h4, h5, h6) { font-size: 1.02rem; }
.prose :is(ul, ol) { padding-inline-start: 1.3rem; }
.prose pre { overflow-x: auto; padding: 0.6rem 0.8rem; border-radius: 8px; background: var(--sunken); font: 13px/1.45 ui-monospace, monospace; }
.prose code { font: 0.92em ui-monospace, monospace; }
.prose blockquote { padding-inline-start: 0.8rem; border-inline-start: 3px solid var(--line); color: var(--soft); }
.prose .table { overflow-x: auto; }
.prose table { border-collapse: collapse; font-size: 0.93em; }
.prose :is(th, td) { border: 1px solid var(--line); padding: 0.25rem 0.5rem; text-align: start; }
a { color: var(--accent); }
.used { color: var(--soft); font-size: 0.87em; display: flex; gap: 0.4rem; align-items: center; }
.used svg { inline-size: 1rem; block-size: 1rem; }
.ask { border: 1px solid var(--accent); border-radius: 10px; padding: 0.8rem; display: grid; gap: 0.6rem; }
.ask pre { overflow: auto; max-block-size: 10rem; font: 13px/1.4 ui-monospace, monospace; white-space: pre-wrap; }
.row { display: flex; flex-wrap: wrap; gap: 0.5rem; }
.button { border: 1px solid var(--line); border-radius: 8px; background: var(--bg); color: var(--ink); padding: 0.35rem 0.8rem; min-block-size: 2.1rem; cursor: pointer; }
.button.primary { background: var(--accent); border-color: var(--accent); color: var(--bg); }
.status { padding: 0 1rem; min-block-size: 1.6rem; font-size: 0.87em; color: var(--soft); }
form.compose { display: flex; gap: 0.5rem; align-items: end; padding: 0.25rem 0.75rem 0.75rem; }
textarea, input, select {
  font: inherit; color: inherit; background: var(--bg); border: 1px solid light-dark(#7d888c, #78848a); border-radius: 8px; padding: 0.45rem 0.65rem; inline-size: 100%;
}
textarea { resize: none; field-sizing: content; min-block-size: 2.5rem; max-block-size: 9rem; }
label { display: grid; gap: 0.2rem; font-size: 0.93em; }
.seen-only { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
@media (prefers-reduced-motion: no-preference) { .floating .panel { animation: in 0.16s ease-out; } @keyframes in { from { translate: 1.5rem 0; opacity: 0; } } }
`)
