// Rules and limits; put on the page when they are first looked at.

yaa.define('css/limits', ['ui/dom'], ({ css }) => css`
@layer cards {
  .rule { display: grid; gap: var(--s3); grid-template-columns: minmax(0, 1fr); padding-block-start: var(--s3); border-block-start: 1px solid var(--ask-line); }
  .rule h4 { font-size: var(--t3); }
  .rule-row { display: grid; grid-template-columns: minmax(6rem, 9rem) minmax(0, 1fr); gap: var(--s2); align-items: center; }
  .rule-row code { overflow-wrap: anywhere; }
  .rule-row > .button { grid-column: -2; justify-self: start; white-space: normal; text-align: start; overflow-wrap: anywhere; }
  .rule-row textarea { resize: vertical; overflow-wrap: anywhere; }
}
@layer dialogs {
  .edit-form .group { display: grid; gap: var(--s3); grid-template-columns: minmax(0, 1fr); }
  .edit-form h3 { font-size: var(--t4); }
  .limit-rows { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 15rem), 1fr)); gap: var(--s4); }
  .grants { list-style: none; display: grid; border: 1px solid var(--line); border-radius: var(--r2); font-size: var(--t3); }
  .grants li { display: flex; gap: var(--s2); align-items: center; justify-content: space-between; padding: var(--s1) var(--s2) var(--s1) var(--s3); min-block-size: 2.25rem; }
  .grants li + li { border-block-start: 1px solid var(--line); }
  .grants span { min-inline-size: 0; overflow-wrap: anywhere; }
  .tools-menu > summary { display: flex; align-items: center; gap: var(--s2); min-block-size: 2rem; cursor: pointer; list-style: none; font-size: var(--t3); }
  .tools-menu > summary::-webkit-details-marker { display: none; }
  .tools-menu > summary .icon { inline-size: 1rem; block-size: 1rem; transition: rotate 0.12s; }
  .tools-menu[open] > summary .icon { rotate: 90deg; }
  @media (max-width: 30rem) { .rule-row { grid-template-columns: minmax(0, 1fr); } }
}
`)
