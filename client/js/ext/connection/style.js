// What is wrong with the connection.

yaa.define('ext/connection/style', ['ui/dom'], ({ css }) => css`
@layer cards {
  /* what is wrong with the connection: four checks, in the order in which they fail */
  .failure { display: grid; gap: var(--s3); padding: var(--s4); grid-template-columns: minmax(0, 1fr); }
  .card.failure { background: var(--bad-wash); max-block-size: 60dvh; overflow-y: auto; }
  .card.failure[data-tone="ask"] { background: var(--ask-wash); }
  .foot > .column > .failure { margin-block-end: var(--s3); }
  .checks { list-style: none; display: grid; gap: var(--s2); }
  .checks li { display: flex; gap: var(--s2); align-items: baseline; font-size: var(--t3); }
  .checks .dot { translate: 0 -0.05rem; }
  .checks li > span:last-child { min-inline-size: 0; overflow-wrap: anywhere; }
  .checks b { font-weight: 600; }
  .checks .why { color: var(--ink-2); }
}
`)
