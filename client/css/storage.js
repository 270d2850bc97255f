// Notices over the composer, storage and servers in the settings. Loaded with js/ui/storage-notices.js.

yaa.define('css/storage', ['ui/dom'], ({ css }) => css`
@layer dialogs {
  .notices:empty { display: none; }
  .notices { display: grid; gap: var(--s2); margin-block-end: var(--s2); }
  .keep-note {
    display: flex; flex-wrap: wrap; align-items: center; gap: var(--s2) var(--s3); padding: var(--s2) var(--s3); border: 1px solid var(--line);
    border-radius: var(--r2); background: var(--raised); font-size: var(--t3); color: var(--ink-2);
  }
  .keep-note[data-tone="bad"] { border-color: var(--bad); color: var(--ink); }
  .keep-note[data-tone="bad"] > .icon { color: var(--bad); }
  .keep-note p { flex: 1 1 14rem; min-inline-size: 0; }
  .keep-note .hint { display: inline; }
  .notice-buttons, .button-row { display: flex; flex-wrap: wrap; gap: var(--s2); }
  .keep-note .inline-row { flex: 1 1 14rem; }
  .later { display: contents; }
  .later > .group { display: grid; gap: var(--s5); }
  .expiring { max-block-size: 40dvh; overflow-y: auto; padding-inline-start: var(--s5); overflow-wrap: anywhere; font-size: var(--t3); }
  @media (max-width: 30rem) {
    .group form.inline-row { flex-wrap: wrap; }
  }
}`)
