// The shell: sessions at the side, one session in the middle, the composer at its foot.
// Under 48rem the side panel becomes a drawer.

yaa.define('css/layout', ['ui/dom'], ({ css }) => css`
@layer layout {
  .app {
    display: grid; block-size: 100dvh; overflow: hidden;
    grid-template-columns: auto minmax(0, 1fr);
  }

  /* side panel */
  .side {
    inline-size: 17rem; display: grid; grid-template-rows: auto auto minmax(0, 1fr) auto; grid-template-columns: minmax(0, 1fr);
    background: var(--sunken); border-inline-end: 1px solid var(--line); min-block-size: 0; position: relative;
  }
  .app[data-side="closed"] .side { display: none; }
  .side-head { display: flex; align-items: center; gap: var(--s2); padding: var(--s3) var(--s3) var(--s2) var(--s4); }
  .side-name { flex: 1; font-size: var(--t5); font-weight: 650; letter-spacing: -0.02em; }
  /* files are over it: the whole of it takes them */
  :is(.side, .main)[data-drop]::after {
    content: attr(data-drop); position: absolute; inset: var(--s1); z-index: 5; pointer-events: none; display: grid; place-items: center;
    border: 2px dashed var(--accent); border-radius: var(--r2); background: color-mix(in oklch, var(--wash) 88%, transparent); font-weight: 600;
  }
  .side-find { display: grid; gap: var(--s2); padding: 0 var(--s2) var(--s1); grid-template-columns: minmax(0, 1fr); }
  .field-icon { position: relative; }
  .field-icon .icon { position: absolute; inset: 0 auto 0 0.5rem; margin-block: auto; inline-size: 1rem; block-size: 1rem; color: var(--ink-3); pointer-events: none; }
  .side-search { padding-inline-start: 2rem; min-block-size: 2rem; --field: var(--bg); border-color: var(--line); }
  .chips { display: flex; gap: var(--s1); overflow-x: auto; scrollbar-width: none; padding: 2px; margin: -2px; }
  .chip {
    flex: none; min-block-size: 1.625rem; padding: 0 var(--s3); border: 1px solid var(--line); border-radius: 999px; background: var(--raised);
    font-size: var(--t1); font-weight: 550; color: var(--ink-2); cursor: pointer; white-space: nowrap; max-inline-size: 12rem;
    overflow: hidden; text-overflow: ellipsis;
  }
  .chip:hover { border-color: var(--edge); color: var(--ink); }
  .chip[aria-pressed="true"] { background: var(--accent); border-color: transparent; color: var(--on-accent); }
  .side-list { overflow: hidden auto; padding: var(--s1) var(--s2) var(--s4); scrollbar-width: thin; }
  .side-list h2 {
    padding: var(--s4) var(--s2) var(--s1); font-size: var(--t1); font-weight: 550; color: var(--ink-3);
  }
  .side-list ul { list-style: none; display: grid; grid-template-columns: minmax(0, 1fr); gap: 1px; }
  .side-note { padding: var(--s3) var(--s2); font-size: var(--t2); color: var(--ink-3); }

  .row { position: relative; display: flex; align-items: center; border-radius: var(--r1); min-block-size: 2.25rem; }
  .row:hover { background: var(--hover); }
  .row[data-current="true"] { background: var(--wash); }
  .row-open {
    flex: 1; min-inline-size: 0; display: flex; align-items: center; gap: var(--s2);
    padding: 0.375rem var(--s2); border: 0; background: none; text-align: start; cursor: pointer;
    font-size: var(--t3); line-height: 1.4; border-radius: inherit; min-block-size: 2.25rem; color: var(--ink);
  }
  .row-mark { display: contents; }
  .row-words { flex: 1; min-inline-size: 0; display: grid; }
  .row-title, .row-tags { min-inline-size: 0; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
  .row-tags { font-size: var(--t1); color: var(--ink-3); line-height: 1.3; }
  .row[data-current="true"] .spinner { animation: none; border-style: dotted; } /* it would be styled in every frame of the answer */
  .row-check { inline-size: 1.0625rem; block-size: 1.0625rem; flex: none; margin-inline: var(--s2) 0; }
  .row[data-current="true"] .row-title { font-weight: 550; }
  .row-more { opacity: 0; margin-inline-end: 0.125rem; }
  .row:hover .row-more, .row:focus-within .row-more, .row-more[aria-expanded="true"] { opacity: 1; }
  .row:hover .row-open, .row:focus-within .row-open { padding-inline-end: 0; }
  .row:not(:hover, :focus-within) .row-more { position: absolute; inset-inline-end: 0; pointer-events: none; }
  .row .input { min-block-size: 2rem; margin: 0.125rem; }
  @media (hover: none) { .row .row-more { opacity: 1; position: static !important; pointer-events: auto !important; } }

  .side-foot { border-block-start: 1px solid var(--line); padding: var(--s2); }
  .side-foot .button { inline-size: 100%; justify-content: flex-start; text-align: start; min-block-size: 2.75rem; }
  .server-line { flex: 1; min-inline-size: 0; display: grid; font-size: var(--t2); line-height: 1.35; }
  .server-line b { font-weight: 550; color: var(--ink); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
  .server-line span { font-weight: 400; color: var(--ink-3); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }

  /* the session */
  .main {
    display: grid; grid-template-rows: auto minmax(0, 1fr) auto; min-inline-size: 0; min-block-size: 0;
    position: relative; grid-column: -2 / -1;
  }
  .top {
    display: flex; align-items: center; gap: var(--s2); min-block-size: 3.25rem;
    padding: var(--s1) var(--s4); border-block-end: 1px solid transparent; min-inline-size: 0;
  }
  .main[data-scrolled="true"] .top { border-block-end-color: var(--line); }
  .top-title {
    min-inline-size: 0; flex: 0 1 auto; border: 0; background: none; cursor: text; text-align: start;
    padding: 0.25rem var(--s2); border-radius: var(--r1); font-size: var(--t4); font-weight: 600;
    white-space: nowrap; overflow: hidden; text-overflow: ellipsis; line-height: 1.4;
  }
  .top-title:hover { background: var(--hover); }
  .top h2 { min-inline-size: 0; display: flex; }
  .top .title-edit { max-inline-size: 26rem; min-block-size: 2rem; font-weight: 600; }
  .top-meter {
    margin-inline-start: auto; display: flex; gap: var(--s3); align-items: center; font-size: var(--t2);
    color: var(--ink-3); white-space: nowrap; font-variant-numeric: tabular-nums;
  }

  .files-place { display: grid; min-inline-size: 2.125rem; } /* its button comes later */

  .scroll {
    overflow-y: auto; overflow-x: hidden; scrollbar-gutter: stable both-edges; overscroll-behavior: contain;
    min-block-size: 0; contain: strict; container: thread / inline-size; /* what grows in it lays out nothing around it */
  }
  .column { inline-size: min(100% - 2rem, var(--column)); margin-inline: auto; }
  .scroll > .column { padding-block: var(--s4) var(--s6); min-block-size: 100%; }
  .scroll > .column[data-empty="true"] { display: flex; flex-direction: column; }
  .thread > * + * { margin-block-start: var(--s4); }
  .foot { padding-block-end: max(var(--s4), env(safe-area-inset-bottom)); position: relative; }
  .foot > .column { display: grid; grid-template-columns: minmax(0, 1fr); gap: var(--s2); }
  .foot::before {
    content: ""; position: absolute; inset: auto 0 100%; block-size: 1.25rem; pointer-events: none;
    background: linear-gradient(transparent, var(--bg));
  }

  .to-end {
    position: absolute; inset-block-start: -3rem; inset-inline: 0; margin-inline: auto; inline-size: fit-content; z-index: 2;
    border-radius: 999px; box-shadow: var(--shadow);
  }

  /* a quiet line above the composer: connection lost, resuming, working */
  .status-line {
    display: flex; align-items: center; gap: var(--s2); min-block-size: 1.75rem; padding-inline: var(--s2);
    font-size: var(--t2); color: var(--ink-2);
  }
  .status-line[data-tone="bad"] { color: var(--bad); }
  .status-line[data-tone="ask"] { color: var(--ask); }
  .status-line > span:first-child { display: grid; flex: none; }
  .status-line .icon { inline-size: 1rem; block-size: 1rem; }
  .status-line .button { margin-inline-start: auto; }

  /* empty session: from above, so that what comes later moves nothing */
  .empty { display: grid; gap: var(--s5); padding-block: clamp(var(--s5), min(18vh - 6rem, 8vw), 9rem) var(--s5); }
  .empty h2 { font-size: clamp(1.5rem, 1.2rem + 1.4vw, 2rem); font-weight: 600; letter-spacing: -0.025em; }
  .empty-lead { color: var(--ink-2); max-inline-size: 36rem; margin-block-start: var(--s2); }
  .starters {
    display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 17rem), 1fr)); gap: var(--s2);
    list-style: none;
  }
  .starter {
    inline-size: 100%; block-size: 100%; display: flex; gap: var(--s3); align-items: flex-start; text-align: start;
    padding: var(--s3) var(--s4); border: 1px solid var(--line); border-radius: var(--r2); background: var(--raised);
    cursor: pointer; font-size: var(--t3); line-height: 1.45; color: var(--ink);
    transition: border-color 0.12s, background-color 0.12s;
  }
  .starter:hover { border-color: var(--accent); background: var(--wash); }
  .starter .icon { color: var(--accent); margin-block-start: 0.1rem; }
  .starter b { display: block; font-weight: 550; color: var(--ink); font-size: var(--t3); }
  .starter span { color: var(--ink-3); font-size: var(--t2); }

  .scrim { display: none; }

  @media (max-width: 48rem) {
    .app { grid-template-columns: minmax(0, 1fr); }
    .side {
      position: fixed; inset-block: 0; inset-inline-start: 0; z-index: 20; inline-size: min(19rem, 86vw);
      box-shadow: var(--shadow-up);
    }
    .app:not([data-drawer="open"]) .side { display: none; }
    .app[data-side="closed"][data-drawer="open"] .side { display: grid; }
    .app[data-drawer="open"] .side { animation: slide 0.16s ease-out; }
    .app[data-drawer="open"] .scrim {
      display: block; position: fixed; inset: 0; z-index: 19; background: oklch(0 0 0 / 0.4); border: 0;
    }
    .top { padding-inline: var(--s2); }
    .top-meter > span { display: none; } /* the title needs the room; the figures are in the gauge */
    .column { inline-size: min(100% - 1.5rem, var(--column)); }
    .scroll { scrollbar-gutter: stable; }
    .foot { padding-block-end: max(var(--s3), env(safe-area-inset-bottom)); }
  }
  @keyframes slide { from { translate: -2rem 0; opacity: 0.4; } }
}
`)
