// The list of what may be secret.

yaa.define('ext/export/style', ['ui/dom'], ({ css }) => css`
@layer dialogs {
  .secrets { list-style: none; display: grid; gap: var(--s2); margin-block-start: var(--s2); }
  .secrets li {
    padding: var(--s2) var(--s3); border: 1px solid var(--ask-line); background: var(--ask-wash);
    border-radius: var(--r1); min-inline-size: 0;
  }
  .secrets .check { flex-wrap: wrap; min-block-size: 1.5rem; }
}
`)
