// Cards: a tool call and everything a run can wait for. A call at rest is one line; what needs the
// reader is amber and open; what went wrong is red. Colour is never the only sign: each has words.

yaa.define('css/cards', ['ui/dom'], ({ css }) => css`
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
  .quoted { margin: 0; padding-inline-start: 1em; border-inline-start: 3px solid var(--line); color: var(--ink-2); white-space: pre-wrap; overflow-wrap: anywhere; max-block-size: 40vh; overflow-y: auto; }
  .warns { color: var(--bad); }
  .typed {
    display: flex; align-items: center; gap: var(--s1); padding: var(--s1) var(--s2) var(--s1) var(--s3);
    border-block-end: 1px solid var(--line); font-size: var(--t2); color: var(--ink-2);
  }
  .typed > .icon { flex: none; inline-size: 1rem; block-size: 1rem; color: var(--ask); }
  .typed-words { flex: 1; min-inline-size: 0; display: flex; flex-wrap: wrap; column-gap: var(--s2); line-height: 1.4; }
  .typed-what {
    min-inline-size: 0; max-inline-size: 100%; border: 0; padding: 0; background: none; color: var(--ink); font: inherit; font-weight: 600;
    text-align: start; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; cursor: pointer;
  }
  .typed-what:hover { text-decoration: underline; }
  .typed-how { flex: 1 0 100%; }
  .typed[data-kind="deny"] .typed-how, .typed[data-kind="message"] .typed-how, .typed[data-kind="stays"] .typed-how { color: var(--bad); }
  .tool:has(> .ask:not([hidden])) { border-color: var(--ask-line); box-shadow: var(--shadow); }
  .tool:has(> .ask:not([hidden])) > details { display: none; }
  .tool > .ask { border-radius: inherit; }
  .calls:empty { display: none; }
  .calls { display: grid; gap: var(--s2); grid-template-columns: minmax(0, 1fr); }

  .tool-line {
    display: flex; align-items: center; gap: var(--s2); min-block-size: 2.375rem; padding: 0.25rem var(--s3);
    cursor: pointer; list-style: none; font-size: var(--t3);
  }
  .tool-line::-webkit-details-marker { display: none; }
  .tool-line:hover { background: var(--hover); }
  .tool-line:focus-visible { outline-offset: -2px; border-radius: var(--r2); }
  .tool-line > .icon { inline-size: 1rem; block-size: 1rem; color: var(--ink-3); }
  .tool-line > .sign { display: grid; place-items: center; inline-size: 1.125rem; flex: none; color: var(--ink-3); }
  .tool-line > .sign .icon { inline-size: 1rem; block-size: 1rem; }
  [data-state="done"] > details > .tool-line > .sign { color: var(--good); }
  [data-tone="bad"] > details > .tool-line > .sign { color: var(--bad); }
  [data-tone="ask"] > details > .tool-line > .sign { color: var(--ask); }
  .tool-name {
    font-family: var(--mono); font-size: var(--t2); font-weight: 600; white-space: nowrap; flex: none;
    max-inline-size: 60%; overflow: hidden; text-overflow: ellipsis;
  }
  .tool-brief {
    flex: 1; min-inline-size: 0; font-family: var(--mono); font-size: var(--t2); color: var(--ink-3);
    white-space: nowrap; overflow: hidden; text-overflow: ellipsis;
  }
  .tool-gist {
    flex: none; max-inline-size: 40%; overflow: hidden; text-overflow: ellipsis; white-space: nowrap;
    font-size: var(--t1); color: var(--ink-2); font-variant-numeric: tabular-nums;
  }
  .tool-gist:empty { display: none; }
  .tool-state {
    font-size: var(--t1); color: var(--ink-3); white-space: nowrap; font-variant-numeric: tabular-nums; flex: none;
  }
  [data-tone="bad"] > details > .tool-line .tool-state { color: var(--bad); font-weight: 550; }
  [data-tone="ask"] > details > .tool-line .tool-state { color: var(--ask); font-weight: 550; }
  .tool-line .chevron { transition: rotate 0.12s; }
  details[open] > .tool-line .chevron { rotate: 90deg; }

  .tool-body {
    display: grid; grid-template-columns: minmax(0, 1fr); gap: var(--s3); padding: var(--s3);
    border-block-start: 1px solid var(--line);
  }
  .part { display: grid; grid-template-columns: minmax(0, 1fr); gap: var(--s1); }
  .part-head {
    display: flex; align-items: center; gap: var(--s2); font-size: var(--t1); font-weight: 550; color: var(--ink-3);
    min-block-size: 1.5rem;
  }
  .part-head .button { margin-inline-start: auto; }
  .part p { font-size: var(--t3); overflow-wrap: anywhere; white-space: pre-wrap; }

  .call-edits { display: flex; justify-content: flex-end; padding: var(--s1) var(--s2); border-block-start: 1px solid var(--line); }

  /* arguments as a list of names and values: what a person has to judge before allowing */
  .args {
    display: grid; grid-template-columns: fit-content(9rem) minmax(0, 1fr); gap: var(--s1) var(--s3);
    font-size: var(--t2);
  }
  .args dt { color: var(--ink-3); font-family: var(--mono); padding-block: 0.25rem; overflow-wrap: anywhere; }
  .args dd {
    font-family: var(--mono); padding: 0.25rem var(--s2); background: var(--sunken); border-radius: var(--r1);
    white-space: pre-wrap; overflow-wrap: anywhere; max-block-size: 16rem; overflow-y: auto; scrollbar-width: thin;
  }
  .args .args { grid-template-columns: minmax(0, 1fr); }
  .args-none { font-size: var(--t2); color: var(--ink-3); }

  /* what the run waits for */
  .ask { display: grid; grid-template-columns: minmax(0, 1fr); gap: var(--s3); padding: var(--s4); }
  .tool > .ask { background: var(--ask-wash); }
  .card.wait { background: var(--ask-wash); }
  .card.wait[data-tone="bad"] { background: var(--bad-wash); }
  .more-text { display: flex; margin-block-start: var(--s1); font-family: var(--sans); }
  .ask .args dd { max-block-size: none; background: var(--raised); box-shadow: inset 0 0 0 1px var(--line); }
  .args dd:has(> .args) { padding: 0; background: none; box-shadow: none; }
  .ask-answered {
    display: flex; gap: var(--s2); align-items: center; font-size: var(--t3); color: var(--ink-2);
    min-block-size: 2rem;
  }
  .suggestions { display: flex; flex-wrap: wrap; gap: var(--s2); }
  .suggestions .button {
    border-radius: 999px; background: var(--raised); white-space: normal; text-align: start;
    padding-block: var(--s1);
  }
  .form { display: grid; gap: var(--s4); grid-template-columns: minmax(0, 1fr); }
  .form > div:empty { display: none; }
  .choices { display: grid; gap: var(--s1); }
  .more-row { display: flex; flex-wrap: wrap; gap: var(--s3) var(--s4); align-items: end; }
  .more-row .field { inline-size: 9rem; }

  .all-bar {
    display: flex; flex-wrap: wrap; gap: var(--s2); align-items: center; padding: var(--s2) var(--s2) var(--s2) var(--s4);
    font-size: var(--t3); background: var(--ask-wash); border: 1px solid var(--ask-line); border-radius: var(--r2);
  }
  .all-bar > span { flex: 1 1 8rem; color: var(--ask); font-weight: 550; }

}
`)
