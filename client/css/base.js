// Tokens, reset and the plain controls everything else is made of.
// Colours are named by their job, never by their look; both themes live in one light-dark() each,
// so a theme is nothing but color-scheme. Only --hue decides the accent.

yaa.define('css/base', ['ui/dom'], ({ css }) => css`
@layer base, layout, thread, cards, dialogs, overrides;

@layer base {
  :root {
    --hue: 212;
    --accent: light-dark(oklch(0.46 0.09 var(--hue)), oklch(0.76 0.08 var(--hue)));
    --accent-strong: light-dark(oklch(0.4 0.09 var(--hue)), oklch(0.83 0.075 var(--hue)));
    --on-accent: light-dark(oklch(0.99 0.005 var(--hue)), oklch(0.2 0.03 var(--hue)));
    --wash: light-dark(oklch(0.955 0.018 var(--hue)), oklch(0.275 0.03 var(--hue)));

    --bg: light-dark(oklch(0.99 0.002 var(--hue)), oklch(0.2 0.008 var(--hue)));
    --raised: light-dark(oklch(1 0 0), oklch(0.235 0.01 var(--hue)));
    --sunken: light-dark(oklch(0.967 0.004 var(--hue)), oklch(0.175 0.008 var(--hue)));
    --hover: light-dark(oklch(0.945 0.006 var(--hue)), oklch(0.27 0.011 var(--hue)));
    --line: light-dark(oklch(0.905 0.006 var(--hue)), oklch(0.31 0.011 var(--hue)));
    --edge: light-dark(oklch(0.65 0.012 var(--hue)), oklch(0.55 0.014 var(--hue)));
    --ink: light-dark(oklch(0.25 0.014 var(--hue)), oklch(0.93 0.006 var(--hue)));
    --ink-2: light-dark(oklch(0.44 0.016 var(--hue)), oklch(0.77 0.01 var(--hue)));
    --ink-3: light-dark(oklch(0.52 0.014 var(--hue)), oklch(0.67 0.012 var(--hue)));

    --ask: light-dark(oklch(0.5 0.105 68), oklch(0.83 0.105 78));
    --ask-wash: light-dark(oklch(0.978 0.02 85), oklch(0.25 0.017 75));
    --ask-line: light-dark(oklch(0.86 0.065 80), oklch(0.42 0.05 75));
    --bad: light-dark(oklch(0.5 0.16 25), oklch(0.77 0.13 22));
    --bad-wash: light-dark(oklch(0.972 0.014 20), oklch(0.25 0.028 22));
    --bad-line: light-dark(oklch(0.87 0.055 20), oklch(0.44 0.08 22));
    --good: light-dark(oklch(0.48 0.1 152), oklch(0.8 0.12 155));

    --s1: 0.25rem; --s2: 0.5rem; --s3: 0.75rem; --s4: 1rem; --s5: 1.5rem; --s6: 2rem; --s7: 3rem;
    --r1: 0.375rem; --r2: 0.625rem; --r3: 1rem;
    --t1: 0.75rem; --t2: 0.8125rem; --t3: 0.875rem; --t4: 0.9375rem; --t5: 1.0625rem;
    --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "PingFang SC",
      "Hiragino Sans GB", "Microsoft YaHei", "Noto Sans CJK SC", sans-serif;
    --mono: ui-monospace, "SF Mono", "Cascadia Code", Consolas, "Liberation Mono", Menlo,
      "Noto Sans Mono CJK SC", monospace;
    --column: 46rem;
    --shadow: 0 1px 2px light-dark(oklch(0.3 0.02 var(--hue) / 0.06), oklch(0 0 0 / 0.3)),
      0 4px 16px light-dark(oklch(0.3 0.02 var(--hue) / 0.06), oklch(0 0 0 / 0.25));
    --shadow-up: 0 8px 40px light-dark(oklch(0.3 0.02 var(--hue) / 0.18), oklch(0 0 0 / 0.5));

    color-scheme: light dark;
    accent-color: var(--accent);
    scrollbar-color: var(--line) transparent;
  }
  :root[data-size="small"] { font-size: 93.75%; }
  :root[data-size="large"] { font-size: 112.5%; }
  :root[data-size="huge"] { font-size: 131.25%; }
  :root[data-density="tight"] { --s3: 0.5rem; --s4: 0.75rem; --s5: 1rem; --s6: 1.25rem; --s7: 2rem; --column: 54rem; }
  :root[data-theme="light"] { color-scheme: light; }
  :root[data-theme="dark"] { color-scheme: dark; }

  *, *::before, *::after { box-sizing: border-box; }
  * { margin: 0; }
  html { height: 100%; text-size-adjust: 100%; -webkit-text-size-adjust: 100%; }
  body {
    height: 100%; background: var(--bg); color: var(--ink);
    font: 400 var(--t4) / 1.6 var(--sans);
    -webkit-font-smoothing: antialiased; overflow-wrap: break-word;
  }
  h1, h2, h3, h4, h5, h6 { font-size: inherit; font-weight: 600; line-height: 1.3; text-wrap: balance; }
  ul, ol { padding: 0; }
  a { color: var(--accent); text-underline-offset: 0.18em; text-decoration-thickness: 0.06em; }
  a:hover { color: var(--accent-strong); }
  code, pre, kbd, samp { font-family: var(--mono); font-size: 0.875em; }
  table { border-collapse: collapse; }
  hr { border: 0; border-top: 1px solid var(--line); }
  fieldset { border: 0; padding: 0; min-width: 0; }
  legend { padding: 0; margin-block-end: var(--s1); }
  button, input, select, textarea { font: inherit; color: inherit; letter-spacing: inherit; }
  textarea { resize: vertical; }
  [hidden] { display: none !important; }
  ::placeholder { color: var(--ink-3); opacity: 1; }
  ::selection { background: light-dark(oklch(0.87 0.05 var(--hue)), oklch(0.42 0.06 var(--hue))); }

  :focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
  :focus:not(:focus-visible) { outline: none; }

  .icon {
    inline-size: 1.125rem; block-size: 1.125rem; flex: none; display: block;
    fill: none; stroke: currentColor; stroke-width: 1.6; stroke-linecap: round; stroke-linejoin: round;
    pointer-events: none; /* what is pressed is the button: Firefox gives no click where the icon changes under a press */
  }
  .sr-only {
    position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden;
    clip-path: inset(50%); white-space: nowrap;
  }
  body > .sr-only { inset: 0 auto auto 0; } /* under the page it would make it a line higher, and scroll */
  .skip {
    position: fixed; inset: var(--s2) auto auto var(--s2); z-index: 50; padding: var(--s2) var(--s4);
    background: var(--accent); color: var(--on-accent); border-radius: var(--r1);
    translate: 0 -200%;
  }
  .skip:focus { translate: 0; }

  /* buttons: .button is the quiet default, .primary at most once per card, .ghost for rows of icons */
  .button {
    display: inline-flex; align-items: center; justify-content: center; gap: var(--s2);
    min-block-size: 2.125rem; padding: 0 var(--s3); border-radius: var(--r1);
    border: 1px solid var(--line); background: var(--raised); color: var(--ink);
    font-size: var(--t3); font-weight: 500; line-height: 1.2; cursor: pointer; text-decoration: none;
    transition: background-color 0.12s, border-color 0.12s, color 0.12s;
  }
  .button:hover { background: var(--hover); border-color: var(--edge); }
  .button:active { translate: 0 0.5px; }
  .button .icon { inline-size: 1rem; block-size: 1rem; }
  .button.primary { background: var(--accent); border-color: transparent; color: var(--on-accent); }
  .button.primary:hover { background: var(--accent-strong); }
  .button.danger { color: var(--bad); }
  .button.danger:hover { background: var(--bad-wash); border-color: var(--bad-line); }
  .button.ghost { border-color: transparent; background: none; color: var(--ink-2); }
  .button.ghost:hover { background: var(--hover); color: var(--ink); }
  .button.small { min-block-size: 1.75rem; padding: 0 var(--s2); font-size: var(--t2); }
  .button.square { inline-size: 2.125rem; padding: 0; flex: none; }
  .button.small.square { inline-size: 1.75rem; }
  .button:disabled, .button[aria-disabled="true"] { opacity: 0.45; cursor: default; pointer-events: none; }

  .link {
    border: 0; padding: 0; background: none; color: var(--accent); cursor: pointer; font-size: inherit;
    text-decoration: underline; text-decoration-thickness: 0.06em; text-underline-offset: 0.18em;
    min-block-size: 1.5rem;
  }
  .link:hover { color: var(--accent-strong); }

  /* fields */
  .input {
    inline-size: 100%; min-block-size: 2.25rem; padding: 0.375rem var(--s3);
    --field: var(--raised);
    background-color: var(--field); border: 1px solid var(--edge); border-radius: var(--r1);
    font-size: var(--t3); line-height: 1.45;
  }
  .input:hover { border-color: var(--ink-3); }
  .input:focus-visible { outline-offset: 0; border-color: var(--accent); }
  .input[aria-invalid="true"] { border-color: var(--bad); }
  .input.mono { font-family: var(--mono); font-size: var(--t2); }
  textarea.input { field-sizing: content; min-block-size: 4.5rem; max-block-size: 24rem; }
  select.input, .select {
    appearance: none; cursor: pointer; text-overflow: ellipsis;
    background: var(--field) right 0.5rem center / 1rem no-repeat
      url("data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath d='M4.5 6.5L8 10l3.5-3.5' fill='none' stroke='%23808a90' stroke-width='1.6' stroke-linecap='round' stroke-linejoin='round'/%3E%3C/svg%3E");
    padding-inline-end: 1.75rem;
  }
  .select {
    --field: transparent;
    field-sizing: content; min-block-size: 2rem; padding-inline-start: var(--s2); border: 1px solid transparent;
    border-radius: var(--r1); color: var(--ink-2); font-size: var(--t2);
    max-inline-size: 15rem;
  }
  .select:hover { --field: var(--hover); color: var(--ink); }
  option { background: var(--raised); color: var(--ink); }
  .field { display: grid; gap: var(--s1); align-content: start; }
  .field > label, .label { font-size: var(--t2); font-weight: 550; color: var(--ink); }
  .hint { font-size: var(--t2); color: var(--ink-3); line-height: 1.5; }
  .problem { font-size: var(--t2); color: var(--bad); line-height: 1.5; }
  .check { display: flex; gap: var(--s2); align-items: center; min-block-size: 1.75rem; font-size: var(--t3); cursor: pointer; }
  .check input { inline-size: 1.0625rem; block-size: 1.0625rem; flex: none; }

  .dot { inline-size: 0.5rem; block-size: 0.5rem; border-radius: 50%; background: var(--ink-3); flex: none; }
  .dot.good { background: var(--good); }
  .dot.bad { background: var(--bad); }
  .dot.warn { background: var(--ask); }
  .badge {
    display: inline-flex; align-items: center; gap: var(--s1); padding: 0 var(--s2); min-block-size: 1.25rem;
    border-radius: 999px; background: var(--hover); color: var(--ink-2); font-size: var(--t1); font-weight: 550;
    white-space: nowrap;
  }
  .badge.warn { background: var(--ask-wash); color: var(--ask); box-shadow: inset 0 0 0 1px var(--ask-line); }
  .badge.bad { background: var(--bad-wash); color: var(--bad); }

  .spinner {
    inline-size: 0.875rem; block-size: 0.875rem; flex: none; border-radius: 50%;
    border: 2px solid var(--line); border-top-color: var(--accent); animation: turn 0.9s linear infinite;
  }
  @keyframes turn { to { rotate: 1turn; } }
  @keyframes rise { from { opacity: 0; translate: 0 0.25rem; } }
}

@layer overrides {
  /* under 16 px iOS zooms the page on focus, and leaves it so */
  @media (pointer: coarse) {
    input, textarea, select { font-size: max(1rem, 16px); }
    :is(button, summary, select, .button, .input, .check, [role="option"]):not(.link, .cite, .note-link) { min-block-size: 2.75rem; } /* a finger; links stand in a text */
    .button, .composer-bar .select, .files-place { min-inline-size: 2.75rem; }
    .message-actions .button { margin-block: -0.5rem; } /* in a line that is no taller */
  }
  @media (prefers-reduced-motion: reduce) {
    *, *::before, *::after {
      animation-duration: 0.01ms !important; transition-duration: 0.01ms !important;
      scroll-behavior: auto !important;
    }
    .spinner { animation: none; border-top-color: var(--accent); border-style: dotted; }
  }
  @media (prefers-contrast: more) {
    :root { --line: var(--edge); --ink-2: var(--ink); --ink-3: var(--ink); }
  }
  @media (forced-colors: active) {
    .button, .input, .badge, .segments, .card, .bubble, .composer { border: 1px solid ButtonBorder; }
    .dot, .spinner { forced-color-adjust: none; }
    .segments input:checked + span { outline: 2px solid Highlight; }
  }
}
`)
