// Formulas.

yaa.define('ext/math/style', ['ui/dom'], ({ css }) => css`
@layer thread {
  .prose math { font-family: math; font-size: 1.12em; }
  /* of what may scroll these alone keep the baseline of what is in them */
  .prose .formula:has(> math:not([display])) { display: inline-grid; max-inline-size: 100%; overflow-x: auto; overflow-y: hidden; }
  .prose math[display="block"] { margin-block: 0.2em; }
  /* a cell holds a block, which only the second of these moves in Chromium */
  .prose mtd.left { text-align: left; text-align: -webkit-left; }
  .prose mtd.right { text-align: right; text-align: -webkit-right; }
  .prose mtable.aligned mtd { padding-inline: 0; }
  .prose mtable.aligned mtd.left + mtd.right { padding-inline-start: 1.5em; }
  .prose mrow:is(.cancel, .bcancel, .xcancel) {
    --up: linear-gradient(to top right, #0000 calc(50% - 0.5px), currentColor, #0000 calc(50% + 0.5px));
    --down: linear-gradient(to bottom right, #0000 calc(50% - 0.5px), currentColor, #0000 calc(50% + 0.5px));
    background: var(--up);
  }
  .prose mrow.bcancel { background: var(--down); }
  .prose mrow.xcancel { background: var(--up), var(--down); }
  .prose mrow.boxed { border: 1px solid currentColor; padding: 0.25em 0.4em; }
}`)
