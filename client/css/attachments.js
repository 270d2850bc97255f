// Files beside a message: in the composer and in the thread. And the list that opens with a slash.

yaa.define('css/attachments', ['ui/dom'], ({ css }) => css`
@layer dialogs {
  .tray-note { padding: var(--s2) var(--s3) 0; font-size: var(--t1); color: var(--ink-3); }
  .tray { list-style: none; display: flex; flex-wrap: wrap; gap: var(--s2); padding: var(--s3) var(--s3) 0; }
  .attached {
    display: flex; align-items: center; gap: var(--s2); max-inline-size: 15rem; min-block-size: 2.5rem;
    padding: var(--s1) var(--s1) var(--s1) var(--s2);
    border: 1px solid var(--line); border-radius: var(--r2); background: var(--bg); font-size: var(--t2); line-height: 1.3;
  }
  .attached > .icon { color: var(--ink-3); }
  .attached > span { display: grid; min-inline-size: 0; }
  .attached b { font-weight: 550; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
  .attached small, .sent-file small { color: var(--ink-3); font-size: var(--t1); white-space: nowrap; }
  .attached > img { inline-size: 2rem; block-size: 2rem; object-fit: cover; border-radius: var(--r1); flex: none; }

  .sent-files { display: flex; flex-wrap: wrap; align-items: end; justify-content: flex-end; gap: var(--s2); margin-block-end: var(--s2); }
  .sent-image {
    padding: 0; border: 1px solid var(--line); border-radius: var(--r2); background: var(--sunken); overflow: clip;
    cursor: zoom-in;
  }
  .sent-image img { display: block; max-inline-size: 100%; block-size: 7.5rem; inline-size: auto; object-fit: cover; }
  .sent-image[aria-pressed="true"] { cursor: zoom-out; }
  .sent-image[aria-pressed="true"] img { block-size: auto; max-block-size: 80dvh; object-fit: contain; }
  .sent-file {
    border: 1px solid var(--line); border-radius: var(--r2); background: var(--raised); max-inline-size: 100%;
    min-inline-size: 0; font-size: var(--t2);
  }
  .sent-file[open] { flex: 1 1 100%; }
  .sent-file summary {
    display: flex; align-items: center; gap: var(--s2); min-block-size: 2.25rem; padding: 0 var(--s3); cursor: pointer;
    list-style: none; border-radius: inherit;
  }
  .sent-file summary::-webkit-details-marker { display: none; }
  .sent-file b { font-weight: 550; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
  .sent-file .icon { inline-size: 1rem; block-size: 1rem; color: var(--ink-3); }
  .sent-file pre {
    max-block-size: 20rem; overflow: auto; padding: var(--s3); border-block-start: 1px solid var(--line);
    white-space: pre-wrap; overflow-wrap: anywhere; scrollbar-width: thin;
  }
}
`)
