// Finding: the results in the side panel, the bar over the thread, and the marks on what was found.

yaa.define('ext/search/style', ['ui/dom'], ({ css }) => css`
@layer dialogs {
  .found-list { list-style: none; display: grid; grid-template-columns: minmax(0, 1fr); gap: var(--s3); padding-block: var(--s2); }
  .found-list ul { list-style: none; display: grid; grid-template-columns: minmax(0, 1fr); gap: 1px; }
  .found-count { padding: var(--s2) var(--s2) 0; font-size: var(--t1); color: var(--ink-3); }
  .hit {
    inline-size: 100%; border-inline: 0; background: none; text-align: start; cursor: pointer; border-radius: var(--r1);
    padding: 0 var(--s2); border-block: var(--s1) solid transparent; background-clip: padding-box;
    font-size: var(--t2); line-height: 1.45; color: var(--ink-2);
    display: -webkit-box; -webkit-line-clamp: 3; -webkit-box-orient: vertical; overflow: hidden; overflow-wrap: anywhere;
  }
  .hit:hover { background: var(--hover); }
  .hit b { font-weight: 550; color: var(--ink-3); margin-inline-end: var(--s1); }
  .hit:focus-visible, .found-list .row-open:focus-visible { outline-offset: -2px; }
  .found-list mark { background: var(--mark); color: var(--ink); border-radius: 0.2em; }

  .find-bar {
    position: absolute; inset: 3.5rem max(var(--s4), calc(50% - var(--column) / 2)) auto auto; z-index: 6;
    display: flex; align-items: center;
    gap: var(--s1); padding: var(--s1) var(--s1) var(--s1) var(--s2); border: 1px solid var(--line); border-radius: var(--r2);
    background: var(--raised); box-shadow: var(--shadow-up); inline-size: min(26rem, 100% - 2 * var(--s4));
  }
  .find-bar .input { flex: 1; min-inline-size: 0; min-block-size: 2rem; border-color: transparent; background: none; }
  .find-bar .count {
    font-size: var(--t1); color: var(--ink-3); white-space: nowrap; font-variant-numeric: tabular-nums;
    padding-inline: var(--s1);
  }
  .find-bar .up { rotate: 180deg; }
  ::highlight(found) { background-color: var(--mark); }
  ::highlight(found-now) { background-color: light-dark(oklch(0.8 0.15 75), oklch(0.58 0.13 70)); color: light-dark(black, white); }
  :root { --mark: light-dark(oklch(0.92 0.1 95), oklch(0.42 0.08 90)); }
}
`)
