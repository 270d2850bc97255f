// What was said: messages, Markdown, code. An assistant turn hangs on one thin rail on which
// thinking, calls and words follow one another, so that what was done can be read at a glance.

yaa.define('css/thread', ['ui/dom'], ({ css }) => css`
@layer thread {
  /* Plain blocks, not a grid: with thousands of articles a grid is laid out whole for every word that arrives.
     The padding keeps outlines and shadows of cards inside the box that containment cuts at. */
  .chunk, .message { padding-inline: 0.5rem; margin-inline: -0.5rem; }
  .chunk, .chunk[data-near] > .message { content-visibility: auto; } /* each is looked at in every frame: only those near */
  .chunk { contain-intrinsic-size: auto 400rem; }
  .chunk[data-blank] { min-block-size: 400rem; } /* with :empty Firefox styles all that follow anew */
  .message { contain-intrinsic-size: auto 12rem; position: relative; min-inline-size: 0; scroll-margin-block: var(--s5); }
  /* not .message + .message, for the same reason */
  .message { margin-block-start: var(--s5); }
  .feed { margin-block-start: calc(-1 * var(--s5)); }
  .message:focus-visible { outline-offset: 0.25rem; border-radius: var(--r1); }
  .message[data-join="true"] { margin-block-start: var(--s3); }

  .bubble {
    margin-inline-start: auto; inline-size: fit-content; max-inline-size: min(85%, 38rem); white-space: pre-wrap; overflow-wrap: anywhere;
    padding: var(--s2) var(--s4); background: var(--wash); border-radius: var(--r3) var(--r3) var(--r1) var(--r3);
  }
  .bubble:has(.piece) { inline-size: 100%; }
  .piece { content-visibility: auto; contain-intrinsic-block-size: auto 30rem; }
  .message-foot {
    display: flex; align-items: center; flex-wrap: wrap; gap: 0 var(--s3); min-block-size: 1.75rem;
    margin-block-start: var(--s1); font-size: var(--t1); color: var(--ink-3); font-variant-numeric: tabular-nums; overflow-wrap: anywhere;
  }
  .message-foot .button { margin-inline-start: -0.25rem; }
  .message-bar, .marks, .switches, .message-actions { display: inline-flex; align-items: center; flex-wrap: wrap; }
  .message-bar { gap: 0 var(--s2); }
  .message-actions { gap: var(--s1); }
  .marks, .switches { gap: 0 var(--s2); }
  .switch { display: inline-flex; align-items: center; }
  .switch .where { min-inline-size: 1.75rem; text-align: center; }
  .edited { display: inline-flex; align-items: center; gap: 0.2rem; color: var(--ask); font-size: var(--t1); white-space: nowrap; }
  .edited .icon { inline-size: 0.75rem; block-size: 0.75rem; }
  .notes { display: grid; gap: var(--s2); grid-template-columns: minmax(0, 1fr); margin-block-end: var(--s2); }
  .notes:not(:has(> :not([hidden]))) { display: none; }
  .note, .queue-item {
    display: flex; flex-wrap: wrap; gap: var(--s1) var(--s2); align-items: center; padding: var(--s1) var(--s2) var(--s1) var(--s3);
    border-radius: var(--r2); background: var(--sunken); border: 1px solid var(--line); font-size: var(--t2); color: var(--ink-2);
  }
  .note > span { flex: 1 1 12rem; }
  .note .icon, .queue-item > .icon { inline-size: 1rem; block-size: 1rem; color: var(--ink-3); }
  .queue { list-style: none; display: grid; gap: var(--s1); grid-template-columns: minmax(0, 1fr); }
  .aside {
    display: flex; flex-wrap: wrap; gap: var(--s2); align-items: center; padding: var(--s2) var(--s3);
    border: 1px dashed var(--edge); border-radius: var(--r2); font-size: var(--t3); color: var(--ink-2); margin-block-start: var(--s5);
  }
  .aside > span { flex: 1 1 10rem; }
  .message[data-role="user"] .message-foot { justify-content: flex-end; }
  .message[data-role="user"] .message-foot { flex-direction: row-reverse; justify-content: flex-start; }
  .message[data-role="user"] :is(.message-foot time, .message-actions) { opacity: 0; transition: opacity 0.12s; }
  .message[data-role="user"]:is(:hover, :focus-within) :is(.message-foot time, .message-actions) { opacity: 1; }
  @media (hover: none) { .message[data-role="user"] :is(.message-foot time, .message-actions) { opacity: 1; } }
  /* what comes under the pointer takes no line of its own: it stands beside the words */
  @media (hover: hover) {
    @container thread (min-width: 40rem) {
      .said:not([data-marked]) { display: flex; flex-wrap: wrap; justify-content: flex-end; align-items: flex-end; column-gap: var(--s2); }
      .said:not([data-marked]) > .sent-files { flex: 0 0 100%; }
      .said:not([data-marked]) > .bubble { order: 1; margin-inline-start: 0; max-inline-size: min(85%, 38rem, 100% - 9.5rem); }
      .said:not([data-marked]) > .message-foot { max-inline-size: 9rem; min-block-size: 0; margin-block-start: 0; line-height: 1; }
    }
  }

  /* Blocks here and in .prose: in a grid a paragraph that grows is laid out and painted whole each time. */
  .turn > :not([hidden]) ~ * { margin-block-start: var(--s3); }
  .turn > :not([hidden]) ~ .message-foot { margin-block-start: var(--s4); }
  .cut-note { display: flex; gap: var(--s2); align-items: center; font-size: var(--t2); color: var(--ask); }
  .error-note {
    display: flex; gap: var(--s3); padding: var(--s3) var(--s4); border-radius: var(--r2);
    background: var(--bad-wash); box-shadow: inset 0 0 0 1px var(--bad-line); font-size: var(--t3);
  }
  .error-note > .icon { color: var(--bad); margin-block-start: 0.15rem; }
  .error-note .body { min-inline-size: 0; display: grid; gap: var(--s1); justify-items: start; }
  .error-note b { font-weight: 600; }
  .error-note p { color: var(--ink-2); overflow-wrap: anywhere; white-space: pre-wrap; }

  /* thinking */
  .think { border-radius: var(--r1); }
  .think > summary {
    display: inline-flex; align-items: center; gap: var(--s2); min-block-size: 1.75rem; cursor: pointer; list-style: none;
    color: var(--ink-3); font-size: var(--t2); border-radius: var(--r1); padding-inline: 0 var(--s2);
  }
  .think > summary::-webkit-details-marker { display: none; }
  .think > summary:hover { color: var(--ink); }
  .think > summary .icon { inline-size: 1rem; block-size: 1rem; }
  .think[open] > summary .chevron { rotate: 90deg; }
  .think .chevron { transition: rotate 0.12s; }
  .think-text {
    margin: var(--s1) 0 var(--s1) 0.5rem; padding-inline-start: var(--s4); border-inline-start: 2px solid var(--line);
    color: var(--ink-2); font-size: var(--t3); line-height: 1.6; white-space: pre-wrap; overflow-wrap: anywhere;
    max-block-size: 20rem; overflow-y: auto; scrollbar-width: thin;
  }

  /* each paragraph in the direction of its own words; asked of every paragraph it would be work for each word that arrives */
  .bubble, .piece, .prose[data-bidi] :is(p, h3, h4, h5, h6, th, td) { unicode-bidi: plaintext; }

  /* Markdown */
  .prose { --gap: calc(0.8 * var(--t4)); overflow-wrap: anywhere; }
  .prose .table { overflow-wrap: break-word; }
  .prose > * { margin-block-start: var(--gap); }
  .prose p { white-space: pre-line; }
  .prose :is(h1, h2, h3, h4, h5, h6) { margin-block-start: 0.6em; letter-spacing: -0.01em; }
  .prose > :is(h1, h2, h3, h4, h5, h6) { margin-block-start: calc(var(--gap) + 0.6em); }
  .prose > :first-child { margin-block-start: 0; }
  .prose .level-1 { font-size: 1.35em; }
  .prose .level-2 { font-size: 1.2em; }
  .prose .level-3 { font-size: 1.08em; }
  .prose :is(ul, ol) { padding-inline-start: 1.5em; display: grid; gap: 0.25em; grid-template-columns: minmax(0, 1fr); }
  .prose li > :is(ul, ol, p, div) { margin-block-start: 0.3em; }
  .prose li > :first-child { margin-block-start: 0; }
  .prose li::marker { color: var(--ink-3); }
  .prose li.task { list-style: none; }
  .prose li.task > input { margin-inline: -1.4em 0.4em; vertical-align: -0.1em; }
  .prose blockquote {
    padding-inline-start: 1em; border-inline-start: 3px solid var(--line); color: var(--ink-2); display: grid;
    grid-template-columns: minmax(0, 1fr); gap: 0.6em;
  }
  .prose :not(pre) > code {
    padding: 0.1em 0.35em; border-radius: 0.3em; background: var(--hover); overflow-wrap: anywhere;
  }
  .prose .table {
    overflow-x: auto; border: 1px solid var(--line); border-radius: var(--r2); inline-size: fit-content;
    max-inline-size: 100%; scrollbar-width: thin;
  }
  .prose table { font-size: var(--t3); line-height: 1.45; }
  .prose :is(th, td) {
    padding: 0.45rem var(--s3); text-align: start; vertical-align: top; border-block-start: 1px solid var(--line);
  }
  .prose tr > * + * { border-inline-start: 1px solid var(--line); }
  .prose thead th { border-block-start: 0; background: var(--sunken); font-weight: 600; white-space: nowrap; }
  .prose .left {
    text-align: left; } .prose .center { text-align: center; } .prose .right { text-align: right;
    font-variant-numeric: tabular-nums;
  }
  .prose .formula.display { overflow-x: auto; overflow-y: hidden; padding-block: 0.15em; }
  .prose img { max-inline-size: 100%; block-size: auto; border-radius: var(--r1); }

  /* code */
  .code {
    border: 1px solid var(--line); border-radius: var(--r2); background: var(--sunken); min-inline-size: 0;
    overflow: clip; direction: ltr;
  }
  .code-bar {
    display: flex; align-items: center; gap: var(--s1); padding: 0 var(--s1) 0 var(--s3); min-block-size: 2.125rem;
    color: var(--ink-3);
    font-size: var(--t1); border-block-end: 1px solid var(--line);
  }
  .code-bar .lang { flex: 1; font-family: var(--mono); }
  .code pre {
    overflow-x: auto; padding: var(--s3); line-height: 1.55; font-size: var(--t2); tab-size: 4;
    scrollbar-width: thin;
  }
  .code pre code { font-size: inherit; }
  .code[data-wrap="true"] pre { white-space: pre-wrap; overflow-wrap: anywhere; }
  .code[data-plain="true"] { border-radius: var(--r1); background: var(--sunken); }
  .code[data-plain="true"] pre {
    max-block-size: 20rem; overflow: auto; padding: var(--s2) var(--s3); white-space: pre-wrap;
    overflow-wrap: anywhere;
  }

  .working { display: flex; gap: 0.3rem; align-items: center; min-block-size: 1.75rem; }
  .working i {
    inline-size: 0.375rem; block-size: 0.375rem; border-radius: 50%; background: var(--ink-3);
    animation: breathe 1.2s ease-in-out infinite;
  }
  .working i:nth-child(2) { animation-delay: 0.15s; }
  .working i:nth-child(3) { animation-delay: 0.3s; }
  @keyframes breathe { 0%, 70%, 100% { opacity: 0.25; } 35% { opacity: 1; } }

  .earlier { justify-self: center; }
  @media (max-width: 48rem) { .bubble { max-inline-size: 92%; } .prose pre { font-size: var(--t1); } }
}
`)
