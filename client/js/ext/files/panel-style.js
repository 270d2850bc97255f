// The files panel: at the end of the page, the whole screen of a phone.

yaa.define('ext/files/panel-style', ['ui/dom'], ({ css }) => css`
@layer dialogs {
  .app[data-files="open"] { grid-template-columns: auto minmax(0, 1fr) minmax(0, min(38rem, 46vw)); }
  .app[data-files="open"] > .main { grid-column: 2; }
  .files {
    display: grid; grid-template: auto auto auto minmax(0, 1fr) auto / minmax(0, 1fr); grid-area: 1 / 3; min-block-size: 0; min-inline-size: 0;
    background: var(--bg); border-inline-start: 1px solid var(--line);
  }
  .files[data-drop="true"] { outline: 2px dashed var(--accent); outline-offset: -4px; background: var(--wash); }
  .files-head { display: flex; align-items: center; gap: var(--s1); padding: var(--s2) var(--s2) 0 var(--s4); min-block-size: 2.75rem; }
  .files-head h2 { font-size: var(--t4); flex: none; }
  .files-head .folder { margin-inline-start: var(--s2); max-inline-size: none; flex: 0 1 auto; }
  .files-head .folder:disabled { background-image: none; opacity: 1; cursor: default; padding-inline-end: var(--s2); }
  .files .gap { flex: 1; }
  .files-tabs { display: flex; padding: 0 var(--s2); border-block-end: 1px solid var(--line); overflow-x: auto; scrollbar-width: none; }
  .files-tabs button {
    border: 0; background: none; padding: 0 var(--s3); min-block-size: 2.375rem; font-size: var(--t2); color: var(--ink-2); cursor: pointer; display: inline-flex;
    align-items: center; gap: var(--s2); border-block-end: 2px solid transparent; white-space: nowrap; flex: none;
  }
  .files-tabs button:hover { color: var(--ink); }
  .files-tabs button[aria-selected="true"] { color: var(--ink); font-weight: 550; border-block-end-color: var(--accent); }
  .files-tabs button:focus-visible { outline-offset: -2px; border-radius: var(--r1); }
  .files-tabs .desk-count { font-size: var(--t1); color: var(--ink-2); background: var(--hover); border-radius: 999px; padding: 0 0.4rem; font-variant-numeric: tabular-nums; }
  .files-notice { display: grid; gap: var(--s2); padding: var(--s2) var(--s3) 0; }
  .files-notice:empty { display: none; }
  .files-notice .notice { align-items: center; flex-wrap: wrap; }
  .files-notice .notice > span { flex: 1 1 14rem; }
  .files-body { grid-row: 4; overflow: hidden auto; padding: var(--s3); scrollbar-width: thin; min-block-size: 0; }
  .files-body:focus-visible { outline-offset: -2px; }
  .files-view { display: grid; grid-template-columns: minmax(0, 1fr); gap: var(--s3); align-content: start; }
  .files-bar { display: flex; flex-wrap: wrap; align-items: center; gap: var(--s1) var(--s2); }
  .files-bar [aria-pressed="true"] { background: var(--wash); color: var(--accent-strong); }

  .file-tree { max-block-size: none; border: 0; background: none; padding: 0; overflow: visible; font-family: var(--sans); font-size: var(--t3); }
  .tree.file-tree .node {
    padding-inline: calc(var(--s2) + var(--level, 0) * 1.1rem) var(--s2); min-block-size: 2rem; cursor: pointer; min-inline-size: 0;
  }
  .file-tree .node:hover { background: var(--hover); }
  .file-tree .node:focus-visible { outline-offset: -2px; }
  .file-tree .node[aria-selected="true"] { background: var(--wash); }
  .file-tree .icon { inline-size: 1rem; block-size: 1rem; }
  .file-tree .chevron { inline-size: 0.75rem; block-size: 0.75rem; margin-inline-end: -0.25rem; }
  .file-tree [aria-expanded="true"] > .chevron { rotate: 90deg; }
  .file-tree .node:not([aria-expanded]) > .icon:first-child { margin-inline-start: 1rem; }
  .file-tree .name { min-inline-size: 0; overflow-wrap: anywhere; }
  .file-tree .pick { inline-size: 1.125rem; block-size: 1.125rem; border: 1px solid var(--edge); border-radius: 0.25rem; display: grid; place-items: center; flex: none; }
  .file-tree [aria-selected="true"] .pick { background: var(--accent); border-color: transparent; }
  .file-tree .pick .icon { color: var(--on-accent); inline-size: 0.875rem; block-size: 0.875rem; margin: 0; }

  .file-head { display: flex; align-items: center; gap: var(--s2); min-inline-size: 0; }
  .file-head .path { min-inline-size: 0; overflow-wrap: anywhere; font-family: var(--mono); font-size: var(--t3); font-weight: 600; }
  .file-head .change { margin-inline-start: var(--s2); display: inline-block; }
  .segmented { display: inline-flex; border: 1px solid var(--line); border-radius: var(--r1); overflow: clip; }
  .segmented button { border: 0; background: none; padding: 0 var(--s3); min-block-size: 1.75rem; font-size: var(--t2); color: var(--ink-2); cursor: pointer; }
  .segmented button + button { border-inline-start: 1px solid var(--line); }
  .segmented button[aria-pressed="true"] { background: var(--wash); color: var(--ink); font-weight: 550; }
  .segmented button:focus-visible { outline-offset: -2px; }
  .file-place { display: grid; grid-template-columns: minmax(0, 1fr); gap: var(--s3); min-inline-size: 0; }
  .file-place .whole { max-block-size: none; }
  .file-place .code.numbered pre { max-block-size: none; }
  .file-place .diff { max-block-size: none; }
  .file-place .prose { font-size: var(--t3); }
  .file-picture {
    max-inline-size: 100%; block-size: auto; border: 1px solid var(--line); border-radius: var(--r1);
    background: repeating-conic-gradient(var(--sunken) 0 25%, var(--bg) 0 50%) 0 0 / 1.25rem 1.25rem;
  }
  .file-offer { display: grid; justify-items: center; gap: var(--s3); padding: var(--s6) var(--s4); text-align: center; color: var(--ink-2); font-size: var(--t3); }
  .file-offer > .icon { inline-size: 2rem; block-size: 2rem; color: var(--ink-3); }

  .point-row { display: grid; grid-template-columns: minmax(0, 1fr) auto minmax(0, 1fr); gap: var(--s2); align-items: end; }
  .point-row > .icon { inline-size: 1rem; block-size: 1rem; margin-block-end: 0.625rem; color: var(--ink-3); }
  .opening > li { display: grid; grid-template-columns: minmax(0, 1fr); gap: 0; border-block-end: 1px solid var(--line); }
  .opening > .layer-row { grid-template-columns: auto minmax(0, 1fr); }
  .layer-row > :is(label, .layer-alone) { display: grid; place-items: center; padding-inline: var(--s1) var(--s2); }
  .layer-row input { inline-size: 1.0625rem; block-size: 1.0625rem; }
  .layer-alone { color: var(--bad); }
  .layer-row > .file-diff { grid-column: 1 / -1; }
  .file-row {
    display: flex; align-items: center; gap: var(--s2); inline-size: 100%; min-block-size: 2.375rem; padding: var(--s1) var(--s1); border: 0; background: none; cursor: pointer;
    text-align: start; min-inline-size: 0; border-radius: var(--r1);
  }
  .file-row:hover { background: var(--hover); }
  .file-row:focus-visible { outline-offset: -2px; }
  .file-row > .part-note { display: block; }
  .file-row > .chevron { inline-size: 0.875rem; block-size: 0.875rem; color: var(--ink-3); }
  .file-row[aria-expanded="true"] > .chevron { rotate: 90deg; }
  .file-diff { display: grid; grid-template-columns: minmax(0, 1fr); gap: var(--s2); padding: var(--s1) 0 var(--s3); justify-items: start; }
  .file-diff > :is(.diff, .notice, .files-bar) { inline-size: 100%; }

  .uploads { grid-row: 5; list-style: none; padding: var(--s2) var(--s3); border-block-start: 1px solid var(--line); display: grid; gap: var(--s2); max-block-size: 30dvh; overflow-y: auto; }
  .uploads li { display: grid; grid-template-columns: minmax(0, 1fr) auto auto auto; gap: 0 var(--s2); align-items: center; font-size: var(--t2); }
  .uploads .path { font-family: var(--mono); overflow-wrap: anywhere; }
  .uploads progress { grid-column: 1 / -1; inline-size: 100%; block-size: 0.375rem; accent-color: var(--accent); }
  .uploads [data-tone="bad"] .part-note { color: var(--bad); white-space: normal; }

  @media (max-width: 64rem) {
    .app[data-files="open"] { grid-template-columns: auto minmax(0, 1fr); }
    .files { position: fixed; inset-block: 0; inset-inline-end: 0; inline-size: min(36rem, 100vw); z-index: 15; box-shadow: var(--shadow-up); }
  }
  @media (max-width: 48rem) {
    .app[data-files="open"] { grid-template-columns: minmax(0, 1fr); }
    .app[data-files="open"] > .main { grid-column: 1; }
    .files { inline-size: 100vw; border: 0; padding-block-end: env(safe-area-inset-bottom); }
  }
  @media (pointer: coarse), (max-width: 48rem) {
    .files :is(.button, .segmented button, .files-tabs button, .file-row, .folder, .check), .tree.file-tree .node { min-block-size: 2.75rem; }
    .files .button.square { inline-size: 2.75rem; }
    .file-row:has(> .badge) { flex-wrap: wrap; } /* the path has a line of its own */
    .file-row:has(> .badge) > .path { flex: 1 1 calc(100% - 4rem); }
    .files-bar { gap: var(--s1); }
    .files-bar > .gap { flex: 1 0 0; margin-inline: calc(-1 * var(--s1)); }
    .files-bar > .button:not(.square) { padding-inline: 0.375rem; }
    .file-bar .segmented button { padding-inline: var(--s2); }
    .file-bar > .button { inline-size: 2.75rem; position: relative; }
    .file-bar > .button > span { position: absolute; inline-size: 1px; overflow: hidden; clip-path: inset(50%); }
    .layer-row > :is(label, .layer-alone) { min-inline-size: 2.75rem; min-block-size: 2.75rem; padding: 0; }
    .layer-row input { inline-size: 1.5rem; block-size: 1.5rem; }
  }
}
`)
