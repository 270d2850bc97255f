// A card, and what is wrong with the connection: all of the cards that the page may need before it can load more.

yaa.define('css/failure', ['ui/dom'], ({ css }) => css`
@layer cards {
  .card {
    border: 1px solid var(--line); border-radius: var(--r2); background: var(--raised); min-inline-size: 0;
    overflow: clip;
  }
  .card[data-tone="ask"] { border-color: var(--ask-line); box-shadow: var(--shadow); }
  .card[data-tone="bad"] { border-color: var(--bad-line); }
  .ask-head { display: flex; gap: var(--s3); align-items: flex-start; }
  .ask-head .icon { color: var(--ask); margin-block-start: 0.1rem; inline-size: 1.25rem; block-size: 1.25rem; }
  [data-tone="bad"] .ask-head .icon { color: var(--bad); }
  .ask-head h3 { font-size: var(--t4); }
  .ask-head p {
    font-size: var(--t3); color: var(--ink-2); overflow-wrap: anywhere; white-space: pre-wrap;
    margin-block-start: 0.125rem;
  }
  .ask-actions { display: flex; flex-wrap: wrap; gap: var(--s2); align-items: center; }
  .ask-actions > .input { flex: 1 1 16rem; inline-size: auto; }
  .ask-actions .end { margin-inline-start: auto; display: inline-flex; align-items: center; }
  /* for a thumb: as wide as the screen, two in a row, and in sight however long the question is */
  @media (max-width: 30rem) {
    .ask-actions {
      position: sticky; inset-block-end: 0; background: var(--ask-wash);
      margin: 0 calc(-1 * var(--s4)) calc(-1 * var(--s4)); padding: var(--s2) var(--s4) var(--s4); border-radius: 0 0 var(--r2) var(--r2);
    }
    .ask-actions > * { min-block-size: 2.75rem; flex: 1 1 40%; }
    .ask-actions > :is(.primary, .input, .end) { flex-basis: 100%; }
    .ask-actions .end { margin: 0; justify-content: end; }
    .ask-actions .end .button { min-block-size: 2.75rem; }
    .ask-actions .end .square { min-inline-size: 2.75rem; }
  }
}
`)
