// The inspector: a panel at the end of the page, over it where there is no room beside.

yaa.define('ext/inspector/style', ['ui/dom'], ({ css }) => css`
@layer dialogs {
  .app[data-inspector="open"] { grid-template-columns: auto minmax(0, 1fr) minmax(0, min(32rem, 40vw)); }
  .app[data-inspector="open"] > .main { grid-column: 2; }
  .inspector {
    display: grid; grid-template: auto minmax(0, 1fr) / minmax(0, 1fr); grid-area: 1 / 3; min-block-size: 0; min-inline-size: 0;
    background: var(--bg);
    border-inline-start: 1px solid var(--line);
  }
  .inspector-head {
    display: flex; align-items: center; gap: var(--s1); padding: var(--s2) var(--s2) 0; border-block-end: 1px solid var(--line);
  }
  .inspector-tabs { display: flex; flex: 1; min-inline-size: 0; overflow-x: auto; scrollbar-width: none; padding: 2px; }
  .inspector-tabs button {
    border: 0; background: none; padding: 0 var(--s3); min-block-size: 2.375rem; font-size: var(--t2); color: var(--ink-2);
    cursor: pointer;
    border-block-end: 2px solid transparent; white-space: nowrap; flex: none;
  }
  .inspector-tabs button:hover { color: var(--ink); }
  .inspector-tabs button[aria-selected="true"] { color: var(--ink); font-weight: 550; border-block-end-color: var(--accent); }
  .inspector-tabs button:focus-visible { outline-offset: -2px; border-radius: var(--r1); }
  .inspector-body { overflow: hidden auto; padding: var(--s4); scrollbar-width: thin; }
  .inspector-body:focus-visible { outline-offset: -2px; }
  .inspect-view { display: grid; gap: var(--s3); grid-template-columns: minmax(0, 1fr); align-content: start; }
  .inspect-view h3 { font-size: var(--t4); }
  @media (max-width: 64rem) {
    .app[data-inspector="open"] { grid-template-columns: auto minmax(0, 1fr); }
    .inspector {
      position: fixed; inset-block: 0; inset-inline-end: 0; inline-size: min(30rem, 100vw); z-index: 15;
      box-shadow: var(--shadow-up);
    }
  }
  @media (max-width: 48rem) {
    .app[data-inspector="open"] { grid-template-columns: minmax(0, 1fr); }
    .app[data-inspector="open"] > .main { grid-column: 1; }
    .inspector {
      inset-block-start: auto; inline-size: 100vw; block-size: 65dvh; border-block-start: 1px solid var(--line);
      border-radius: var(--r3) var(--r3) 0 0;
    }
  }

  .lens, .bars, .steps, .findings { list-style: none; padding: 0; }
  .steps, .findings { display: grid; grid-template-columns: minmax(0, 1fr); }
  /* as the thread: plain blocks, and what is not seen is not laid out */
  :is(.lens, .bars) li { content-visibility: auto; contain-intrinsic-size: auto 1.75rem; }
  .bars li { contain-intrinsic-size: auto 2.5rem; }
  .lens li { border-inline-start: 3px solid var(--rail, transparent); }
  .lens li > button {
    inline-size: 100%; display: grid; grid-template-columns: 6.5rem minmax(0, 1fr) auto; gap: var(--s2); align-items: baseline;
    text-align: start;
    border: 0; background: none; padding: 0.2rem var(--s2); font-size: var(--t2); cursor: pointer; min-block-size: 1.75rem;
  }
  .lens li > button:hover, .bars button:hover { background: var(--hover); }
  .lens button:focus-visible, .bars button:focus-visible { outline-offset: -2px; }
  .lens li { position: relative; }
  .lens-actions { display: flex; gap: var(--s1); position: absolute; inset-block: 0; inset-inline-end: 0; align-items: center; background: var(--bg); opacity: 0; }
  .lens li:is(:hover, :focus-within) .lens-actions { opacity: 1; }
  @media (hover: none) { .lens-actions { position: static; opacity: 1; } }
  .lens-state { color: var(--ink-2); font-size: var(--t1); }
  .lens-words { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; color: var(--ink-2); }
  .lens-tokens { font-variant-numeric: tabular-nums; color: var(--ink-3); font-size: var(--t1); }
  .lens-sum { font-size: var(--t3); }
  [data-lens="whole"] { --rail: var(--part-history); }
  :is([data-lens="preview"], [data-lens="args"], [data-lens="summary"]) { --rail: var(--part-summaries); }
  [data-lens="fold"] { --rail: var(--part-system); }
  [data-lens="stub"] { --rail: var(--edge); }
  [data-lens="never"] { --rail: var(--bad); }
  article.message[data-lens]::before {
    content: ""; position: absolute; inset-block: 0; inset-inline-start: 0; inline-size: 3px; border-radius: 2px; background: var(--rail);
  }
  article.message[data-lit] { outline: 2px solid var(--accent); outline-offset: -2px; border-radius: var(--r1); }

  .legend {
    list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: var(--s1) var(--s4); font-size: var(--t2);
    color: var(--ink-2);
  }
  .legend li { display: flex; gap: var(--s2); align-items: center; }
  .legend i { inline-size: 0.625rem; block-size: 0.625rem; border-radius: 0.15rem; }
  .legend b { font-weight: 550; color: var(--ink); font-variant-numeric: tabular-nums; }
  [data-kind="model"] { --bar: var(--part-history); }
  [data-kind="tool"] { --bar: var(--part-results); }
  [data-kind="retry"] { --bar: var(--part-summaries); }
  [data-kind="error"] { --bar: var(--bad); }
  .legend i, .track i { background: var(--bar); }
  :is(.legend, .track) i[data-kind="human"] {
    background: repeating-linear-gradient(45deg, var(--edge) 0 2px, transparent 2px 6px); box-shadow: inset 0 0 0 1px var(--edge);
  }
  .scale {
    position: relative; block-size: 1.25rem; font-size: var(--t1); color: var(--ink-3); font-variant-numeric: tabular-nums;
    margin-inline: var(--s2);
  }
  .scale span { position: absolute; translate: -50% 0; white-space: nowrap; }
  .scale span:first-child { translate: 0 0; }
  .scale span:last-child { translate: -100% 0; }
  @media (max-width: 30rem) { .scale span:nth-child(even) { display: none; } }
  .bars button {
    inline-size: 100%; display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: 0 var(--s2); text-align: start; border: 0;
    background: none;
    padding: 0.2rem var(--s2) 0.35rem; cursor: pointer; font-size: var(--t2);
  }
  .bar-words { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
  .bar-words small { margin-inline-start: var(--s2); color: var(--ink-3); font-variant-numeric: tabular-nums; font-size: var(--t1); }
  .bar-signs { display: flex; gap: var(--s1); }
  .track {
    grid-column: 1 / -1; position: relative; block-size: 0.5rem; background: var(--sunken); border-radius: 2px;
    margin-block-start: 0.15rem;
  }
  .track i { position: absolute; inset-block: 0; border-radius: 2px; overflow: hidden; min-inline-size: 2px; }
  .track u { position: absolute; inset-block: 0; inset-inline-start: 0; background: light-dark(oklch(1 0 0 / 0.5), oklch(0 0 0 / 0.45)); }
  .bars li[data-kind="human"] .bar-words { color: var(--ink-3); font-style: italic; }

  .totals { inline-size: 100%; font-size: var(--t2); font-variant-numeric: tabular-nums; }
  .totals :is(th, td) { padding: 0.2rem var(--s2); text-align: end; border-block-end: 1px solid var(--line); font-weight: 400; }
  .totals :is(th:first-child) { text-align: start; padding-inline-start: 0; color: var(--ink-2); }
  .totals thead th { color: var(--ink-3); font-size: var(--t1); }
  .totals td:last-child { font-weight: 550; }
  .inspect-view > .field { inline-size: 100%; }
  .inspect-view > div { display: grid; gap: var(--s3); grid-template-columns: minmax(0, 1fr); justify-items: start; }
  .inspect-view > div > * { max-inline-size: 100%; }
  .steps { gap: var(--s2); inline-size: 100%; }
  .step {
    border: 1px solid var(--line); border-radius: var(--r1); padding: var(--s2); font-size: var(--t2);
    scroll-margin-block: var(--s5);
  }
  .step[data-op="same"] { display: flex; gap: var(--s2); border-style: dashed; color: var(--ink-3); padding-block: var(--s1); }
  .step[data-op="changed"] { border-color: var(--ask-line); }
  .step-name { display: flex; gap: var(--s2); align-items: center; white-space: nowrap; }
  .step-line { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
  .step-pair { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: var(--s2); margin-block-start: var(--s1); }
  .step-side { display: grid; gap: var(--s1); align-content: start; min-inline-size: 0; }
  .step-side pre {
    white-space: pre-wrap; overflow-wrap: anywhere; font-size: var(--t1); padding: var(--s1) var(--s2); background: var(--sunken);
    border-radius: var(--r1);
    max-block-size: 14rem; overflow: auto; scrollbar-width: thin;
  }
  .step-side.absent { color: var(--ink-3); font-style: italic; }
  :is(.step, .settings-diff) ins {
    text-decoration: none; background: light-dark(oklch(0.9 0.07 152), oklch(0.37 0.07 155)); border-radius: 0.2em;
  }
  :is(.step, .settings-diff) del { background: light-dark(oklch(0.91 0.055 22), oklch(0.37 0.07 22)); border-radius: 0.2em; }
  .settings-diff { font-size: var(--t2); }
  .settings-diff summary { cursor: pointer; min-block-size: 1.5rem; }
  .settings-diff dt { font-family: var(--mono); color: var(--ink-3); margin-block-start: var(--s1); }
  .settings-diff dd { font-family: var(--mono); overflow-wrap: anywhere; }

  .why { font-size: var(--t3); overflow-wrap: anywhere; }
  .findings { gap: var(--s1); }
  .findings li { display: flex; gap: var(--s2); align-items: center; font-size: var(--t2); min-block-size: 2rem; }
  .findings li > span { flex: 1; min-inline-size: 0; overflow-wrap: anywhere; }
  .findings .icon { inline-size: 1rem; block-size: 1rem; color: var(--ink-3); }
  .findings li[data-tone="bad"] > .icon { color: var(--bad); }
  .findings li[data-tone="warn"] > .icon { color: var(--ask); }

  .json-head { grid-template-columns: minmax(0, 1fr) auto !important; align-items: center; }
  .json { font-family: var(--mono); font-size: var(--t1); line-height: 1.7; justify-items: stretch !important; }
  .json ul { list-style: none; padding: 0; }
  .json ul ul { padding-inline-start: 1rem; border-inline-start: 1px solid var(--line); margin-inline-start: 0.3rem; }
  .json li { overflow-wrap: anywhere; }
  .json summary { cursor: pointer; min-block-size: 1.5rem; }
  .json b { font-weight: 600; }
  .json-brief { color: var(--ink-3); }
  .json [data-kind="string"] { color: light-dark(oklch(0.45 0.1 150), oklch(0.83 0.11 152)); }
  .json :is([data-kind="number"], [data-kind="boolean"], [data-kind="null"]) {
    color: light-dark(oklch(0.5 0.12 45), oklch(0.82 0.1 60));
  }
  .json-text { display: inline-block; max-inline-size: 100%; vertical-align: top; }
  .json pre {
    white-space: pre-wrap; overflow-wrap: anywhere; max-block-size: 20rem; overflow: auto; background: var(--sunken);
    padding: var(--s2); border-radius: var(--r1);
  }

  .desk { gap: var(--s5) !important; inline-size: 100%; justify-items: stretch !important; }
  .desk-head { display: flex; gap: var(--s3); align-items: baseline; justify-content: space-between; margin-block-end: var(--s2); }
  .desk-head h4 { min-inline-size: 0; overflow-wrap: anywhere; }
  .desk-head .link { text-align: start; }
  .desk-head .hint { flex: none; }
  .desk-none { display: flex; gap: var(--s2); align-items: center; color: var(--ink-2); font-size: var(--t3); }
  .desk-none .icon { color: var(--good); }
  .inspect-view > .button { justify-self: start; }
}
`)
