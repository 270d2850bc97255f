// What stands in a saved page in the place of the field.

yaa.define('ext/saved/style', ['ui/dom'], ({ css }) => css`
@layer dialogs {
  .standalone {
    display: grid; gap: var(--s3); padding: var(--s4); border: 1px solid var(--line); border-radius: var(--r3);
    background: var(--raised); box-shadow: var(--shadow); font-size: var(--t3); color: var(--ink-2);
  }
  .standalone[data-joined="true"] {
    display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; padding: var(--s2) var(--s3);
    box-shadow: none; margin-block-end: var(--s2);
  }
}
`)
