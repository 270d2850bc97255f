// The settings: their tabs and panels, rows of rules, choices.

yaa.define('css/settings', ['ui/dom'], ({ css }) => css`
@layer dialogs {
  .dialog-body { display: grid; grid-template-columns: 10.5rem minmax(0, 1fr); min-block-size: 0; }
  .tabs {
    display: grid; align-content: start; gap: 1px; padding: var(--s3) var(--s2);
    border-inline-end: 1px solid var(--line); background: var(--sunken); overflow: auto; scrollbar-width: none;
  }
  .tabs button {
    border: 0; background: none; text-align: start; padding: 0 var(--s3); min-block-size: 2.125rem; border-radius: var(--r1);
    font-size: var(--t3); cursor: pointer; color: var(--ink-2); white-space: nowrap;
  }
  .tabs button:hover { background: var(--hover); color: var(--ink); }
  .tabs button[aria-selected="true"] { background: var(--wash); color: var(--ink); font-weight: 550; }
  .tabs button:focus-visible { outline-offset: -2px; }
  .panel {
    overflow-y: auto; padding: var(--s5); display: grid; align-content: start; gap: var(--s5);
    grid-template-columns: minmax(0, 1fr); scrollbar-width: thin;
  }
  .panel h3 { font-size: var(--t4); } .host > div:empty { display: none; } /* nothing to be said of a part leaves no gap */
  .panel .group { display: grid; gap: var(--s5); grid-template-columns: minmax(0, 1fr); }
  .group > .config-group + .config-group { margin-block-start: calc(var(--s2) - var(--s5)); }
  .status-box {
    display: flex; gap: var(--s2); align-items: baseline; font-size: var(--t3); padding: var(--s3);
    border-radius: var(--r2); background: var(--sunken); border: 1px solid var(--line);
  }
  .status-box > span { min-inline-size: 0; overflow-wrap: anywhere; }

  .rules { list-style: none; display: grid; border: 1px solid var(--line); border-radius: var(--r2); overflow: clip; }
  .rules li {
    display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: var(--s1) var(--s3); align-items: center;
    padding: var(--s2) var(--s3);
  }
  .rules li + li { border-block-start: 1px solid var(--line); }
  .rules code { font-weight: 600; overflow-wrap: anywhere; }
  .rules p { font-size: var(--t2); color: var(--ink-3); line-height: 1.4; white-space: pre-line; overflow-wrap: anywhere; }
  .rules .why { color: var(--bad); display: block; overflow-wrap: anywhere; }
  .rules summary { min-block-size: 1.5rem; font-size: var(--t2); color: var(--ink-2); cursor: pointer; }
  .rules .badge { margin-inline-start: var(--s2); }

  /* a row of choices of which one is taken */
  .segments {
    display: inline-flex; flex-wrap: wrap; padding: 2px; gap: 2px; background: var(--sunken); border-radius: var(--r1);
    border: 1px solid var(--line);
  }
  .segments label { position: relative; cursor: pointer; }
  .segments input { position: absolute; inset: 0; opacity: 0; cursor: pointer; }
  .segments span {
    display: block; padding: 0.2rem var(--s3); border-radius: calc(var(--r1) - 2px); min-block-size: 1.625rem;
    font-size: var(--t2); color: var(--ink-2); white-space: nowrap; text-align: center;
  }
  .segments input:checked + span {
    background: var(--raised); color: var(--ink); font-weight: 550; box-shadow: 0 0 0 1px var(--line);
  }
  .segments input:focus-visible + span { outline: 2px solid var(--accent); outline-offset: 1px; }

  .swatches { display: flex; flex-wrap: wrap; gap: var(--s2); }
  .swatch { position: relative; cursor: pointer; }
  .swatch input { position: absolute; inset: 0; opacity: 0; cursor: pointer; }
  .swatch > span {
    display: block; inline-size: 2rem; block-size: 2rem; border-radius: 50%;
    background: light-dark(oklch(0.46 0.09 var(--hue)), oklch(0.76 0.08 var(--hue))); border: 3px solid var(--bg);
    box-shadow: 0 0 0 1px var(--line);
  }
  .swatch input:checked + span { box-shadow: 0 0 0 2px var(--ink); }
  .swatch input:focus-visible + span { outline: 2px solid var(--accent); outline-offset: 4px; }
  @media (max-width: 48rem) {
    .dialog-body { grid-template-columns: minmax(0, 1fr); grid-template-rows: auto minmax(0, 1fr); }
    /* in two rows where they do not fit in one: what scrolls away here is not found */
    .tabs { display: flex; flex-wrap: wrap; border-inline-end: 0; border-block-end: 1px solid var(--line); padding: var(--s2); }
    .panel { padding: var(--s4); }
  }
}
`)
