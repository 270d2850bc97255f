// The list of prompts.

yaa.define('ext/prompts/style', ['ui/dom'], ({ css }) => css`
@layer dialogs {
  .prompts {
    list-style: none; display: grid; border: 1px solid var(--line); border-radius: var(--r2); overflow: clip;
    grid-template-columns: minmax(0, 1fr);
  }
  .prompts li { display: flex; align-items: center; gap: var(--s1); padding-inline-end: var(--s2); }
  .prompts li + li { border-block-start: 1px solid var(--line); }
  .prompts li:hover { background: var(--hover); }
  .prompt-open {
    flex: 1; min-inline-size: 0; display: grid; gap: 2px; padding: var(--s2) var(--s3); border: 0; background: none;
    text-align: start; cursor: pointer; font-size: var(--t3);
  }
  .prompt-open:focus-visible { outline-offset: -2px; }
  .prompt-open > span { display: flex; gap: var(--s2); align-items: baseline; min-inline-size: 0; }
  .prompt-open b { font-weight: 550; } .prompt-open code { color: var(--ink-3); }
  .prompt-open .hint { display: block; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
}
`)
