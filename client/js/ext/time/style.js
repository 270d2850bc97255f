// The time slider below the head of the page.

yaa.define('ext/time/style', ['ui/dom'], ({ css }) => css`
@layer dialogs {
  .top[data-time="open"] { flex-wrap: wrap; border-block-end-color: var(--line); }
  .top[data-time="open"] h2 { flex: 1 1 0; }
  .time { flex: 1 0 100%; display: grid; gap: var(--s1); padding-block-end: var(--s2); min-inline-size: 0; }
  .time-row { display: flex; align-items: center; gap: var(--s2); min-inline-size: 0; }
  .time-row input { flex: 1; min-inline-size: 3rem; block-size: 1.75rem; }
  .time-row .button { flex: none; white-space: nowrap; }
  .time-words {
    font-size: var(--t1); color: var(--ink-3); font-variant-numeric: tabular-nums; justify-content: space-between;
    padding-inline: var(--s1);
  }
  .time-what { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
  .flip .icon { rotate: 180deg; }
  .time-band {
    display: flex; align-items: center; gap: var(--s2); padding: var(--s1) var(--s3); border-radius: var(--r1); font-size: var(--t2);
    background: var(--bad-wash); color: var(--bad); box-shadow: inset 0 0 0 1px var(--bad-line);
  }
  .time-band .icon { inline-size: 1rem; block-size: 1rem; }
  .main[data-past="true"] :is(.ask, .all-bar, form.composer) { opacity: 0.55; }
  @media (max-width: 40rem) {
    .time-row:not(.time-words) { flex-wrap: wrap; }
    .time-row input { flex-basis: calc(100% - 9rem); }
  }
}
@layer overrides {
  /* in the past nothing is changed, and nothing offers to */
  .main[data-past="true"] :is(.message-actions > :not(:first-child), .message-bar > :not(.message-actions)),
  .main[data-past="true"] :is(.call-edits, .aside) { display: none; }
}
`)
