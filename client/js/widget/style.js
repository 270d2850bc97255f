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
  position: fixed; inset-block: 0; inset-inline-end: 0; inline-size: min(416px, 100vw); z-index: 2147483000; border-inline-start: 1px solid var(--line);
  box-shadow: 0 0 32px rgb(0 0 0 / 0.18);
}
.embedded, .embedded .panel { block-size: 100%; min-block-size: 320px; }
.embedded .panel { border: 1px solid var(--line); border-radius: 12px; }
.open-button {
  position: fixed; inset-block-end: 20px; inset-inline-end: 20px; z-index: 2147483000; inline-size: 52px; block-size: 52px; border: 0; border-radius: 50%;
  background: var(--accent); color: var(--bg); box-shadow: 0 4px 14px rgb(0 0 0 / 0.25); cursor: pointer; display: grid; place-items: center;
}
svg { inline-size: 21.6px; block-size: 21.6px; fill: none; stroke: currentColor; stroke-width: 1.7; stroke-linecap: round; stroke-linejoin: round; }
header { display: flex; align-items: center; gap: 4px; padding: 8px 8px 8px 16px; border-block-end: 1px solid var(--line); }
h2 { flex: 1; font-size: 16px; font-weight: 650; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
button { font: inherit; }
.icon { inline-size: 36px; block-size: 36px; border: 0; border-radius: 8px; background: none; color: var(--soft); cursor: pointer; display: grid; place-items: center; }
.icon:hover { background: var(--sunken); color: var(--ink); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
.talk { overflow-y: auto; padding: 16px; display: grid; gap: 14.4px; align-content: start; overflow-wrap: anywhere; }
.user { justify-self: end; max-inline-size: 85%; padding: 8px 12.8px; border-radius: 12px 12px 3px 12px; background: var(--sunken); white-space: pre-wrap; }
.error { color: var(--bad); }
.prose { display: grid; gap: 9.6px; grid-template-columns: minmax(0, 1fr); }
.prose p { white-space: pre-line; }
.prose :is(h3, h4, h5, h6) { font-size: 16.3px; }
.prose :is(ul, ol) { padding-inline-start: 20.8px; }
.prose pre { overflow-x: auto; padding: 9.6px 12.8px; border-radius: 8px; background: var(--sunken); font: 13px/1.45 ui-monospace, monospace; }
.prose code { font: 0.92em ui-monospace, monospace; }
.prose blockquote { padding-inline-start: 12.8px; border-inline-start: 3px solid var(--line); color: var(--soft); }
.prose .table { overflow-x: auto; }
.prose table { border-collapse: collapse; font-size: 0.93em; }
.prose :is(th, td) { border: 1px solid var(--line); padding: 4px 8px; text-align: start; }
a { color: var(--accent); }
.user, .prose :is(p, h3, h4, h5, h6, th, td) { unicode-bidi: plaintext; }
.used { color: var(--soft); font-size: 0.87em; display: flex; gap: 6.4px; align-items: center; }
.used svg { inline-size: 16px; block-size: 16px; }
.ask { border: 1px solid var(--accent); border-radius: 10px; padding: 12.8px; display: grid; gap: 9.6px; }
.ask blockquote { margin: 0; padding-inline-start: 12.8px; border-inline-start: 3px solid var(--line); color: var(--soft); white-space: pre-wrap; overflow-wrap: anywhere; }
.ask pre { overflow: auto; max-block-size: 160px; font: 13px/1.4 ui-monospace, monospace; white-space: pre-wrap; }
.row { display: flex; flex-wrap: wrap; gap: 8px; }
.button { border: 1px solid var(--line); border-radius: 8px; background: var(--bg); color: var(--ink); padding: 5.6px 12.8px; min-block-size: 33.6px; cursor: pointer; }
.button.primary { background: var(--accent); border-color: var(--accent); color: var(--bg); }
.status { padding: 0 16px; min-block-size: 25.6px; font-size: 0.87em; color: var(--soft); }
form.compose { display: flex; gap: 8px; align-items: end; padding: 4px 12px 12px; }
textarea, input, select {
  font: inherit; color: inherit; background: var(--bg); border: 1px solid light-dark(#7d888c, #78848a); border-radius: 8px; padding: 7.2px 10.4px; inline-size: 100%;
}
textarea { resize: none; field-sizing: content; min-block-size: 40px; max-block-size: 144px; }
@media (max-width: 48rem) { textarea, input, select { font-size: 16px; } } /* under that iOS zooms the page on focus */
label { display: grid; gap: 3.2px; font-size: 0.93em; }
.seen-only { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
@media (prefers-reduced-motion: no-preference) { .floating .panel { animation: in 0.16s ease-out; } @keyframes in { from { translate: 24px 0; opacity: 0; } } }
`)
