// What stands beside the page from the start: the gauge under the composer, marks of compactions, the desk's count.

yaa.define('ext/inspector/gauge-style', ['ui/dom'], ({ css }) => css`
@layer dialogs {
  :root {
    --part-system: light-dark(oklch(0.55 0.1 300), oklch(0.72 0.1 300));
    --part-tools: light-dark(oklch(0.58 0.1 250), oklch(0.72 0.1 250));
    --part-history: light-dark(oklch(0.55 0.09 200), oklch(0.75 0.09 200));
    --part-results: light-dark(oklch(0.6 0.11 150), oklch(0.75 0.11 150));
    --part-summaries: light-dark(oklch(0.65 0.11 75), oklch(0.8 0.11 75));
  }
  i[data-part="system"] { background: var(--part-system); }
  i[data-part="tools"] { background: var(--part-tools); }
  i[data-part="history"] { background: var(--part-history); }
  i[data-part="results"] { background: var(--part-results); }
  i[data-part="summaries"] { background: var(--part-summaries); }

  .gauge-place { flex: none; display: inline-flex; }
  .gauge { gap: var(--s2); font-weight: 400; color: var(--ink-3); font-variant-numeric: tabular-nums; white-space: nowrap; }
  .gauge-bar, .gauge-stack { display: flex; overflow: hidden; background: var(--hover); box-shadow: inset 0 0 0 1px var(--line); }
  .gauge-bar { inline-size: 2.75rem; block-size: 0.4375rem; border-radius: 999px; }
  .gauge-bar i, .gauge-stack i { flex: 0 0 0; }
  .gauge[data-tone="ask"] { color: var(--ask); }
  .gauge[data-tone="bad"] { color: var(--bad); }
  @media (max-width: 30rem) {
    .gauge-bar { inline-size: 1.75rem; }
    .badge:not([hidden]) ~ .gauge-place { display: none; } /* of the demo it says little, and the agent's name needs the room */
  }
  @container composer (max-width: 30rem) { .gauge-bar:not([hidden]) + .gauge-words { display: none; } } /* the bar says it too */
  @container composer (max-width: 21.5rem) { .gauge-words { display: none; } }
  @container composer (max-width: 15rem) { .gauge-place { display: none; } }
  .gauge-panel {
    position: fixed; inset: auto; margin: 0; padding: var(--s4); border: 1px solid var(--line); border-radius: var(--r2);
    background: var(--raised); color: var(--ink); box-shadow: var(--shadow-up); inline-size: min(22rem, 100vw - 1rem);
    max-block-size: calc(100dvh - 1rem); overflow: auto; font-size: var(--t2);
  }
  .gauge-panel:popover-open { display: grid; gap: var(--s2); animation: rise 0.12s ease-out; }
  .gauge-panel > div { display: contents; }
  .gauge-panel h3 { font-size: var(--t2); margin-block-start: var(--s1); }
  .gauge-panel .button { justify-self: start; margin-block-start: var(--s1); }
  .gauge-stack { block-size: 0.75rem; border-radius: var(--r1); }
  .figures { display: grid; gap: 0.125rem; }
  .figures > div { display: flex; gap: var(--s3); justify-content: space-between; align-items: baseline; }
  .figures dt { display: flex; gap: var(--s2); align-items: center; color: var(--ink-2); }
  .figures dt i { inline-size: 0.625rem; block-size: 0.625rem; border-radius: 0.15rem; flex: none; }
  .figures dt i[data-part="free"] { background: var(--hover); box-shadow: inset 0 0 0 1px var(--line); }
  .figures dd { font-variant-numeric: tabular-nums; text-align: end; }
  .figures small { color: var(--ink-3); font-size: var(--t1); }

  .desk-button { color: var(--ask); gap: var(--s1); background: var(--ask-wash); border-color: var(--ask-line); font-weight: 600; }
  .desk-button .icon { inline-size: 0.9375rem; block-size: 0.9375rem; }

  .marker { margin-block-start: var(--s4); font-size: var(--t2); color: var(--ink-2); }
  .marker > summary {
    display: flex; align-items: center; gap: var(--s2); min-block-size: 1.75rem; cursor: pointer; list-style: none;
    border-block: 1px dashed var(--edge); padding-inline: var(--s2);
  }
  .marker > summary::-webkit-details-marker { display: none; }
  .marker > summary:hover { background: var(--hover); }
  .marker > summary .icon { inline-size: 1rem; block-size: 1rem; color: var(--ink-3); }
  .marker > summary small { margin-inline-start: auto; color: var(--ink-3); font-variant-numeric: tabular-nums; font-size: var(--t1); }
  .marker[open] > summary .chevron { rotate: 90deg; }
  .marker-body { padding: var(--s2) var(--s3); display: grid; gap: var(--s1); }
  .largest { padding-inline-start: 2.5rem; display: grid; gap: var(--s1); overflow-wrap: anywhere; }
  .largest .link { text-align: start; }
  .marker-body ul { padding-inline-start: 1.2em; }
  .marker-body pre {
    padding: var(--s2); margin-block: var(--s1); background: var(--sunken); border-radius: var(--r1); white-space: pre-wrap;
    overflow-wrap: anywhere;
    max-block-size: 14rem; overflow: auto; font-size: var(--t1);
  }
}
`)
