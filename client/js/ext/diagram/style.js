// Diagrams: lines and words in the colours of the page.

yaa.define('ext/diagram/style', ['ui/dom'], ({ css }) => css`
@layer thread {
  .diagram-figure { overflow: auto; padding: var(--s3); max-block-size: 40rem; scrollbar-width: thin; }
  .code[data-drawn] .code-more { display: none; }
  .diagram { display: block; margin-inline: auto; max-inline-size: none; font-family: var(--sans); }
  .diagram .node { fill: var(--raised); stroke: var(--ink-3); stroke-width: 1.2; }
  .diagram .group { fill: var(--hover); stroke: var(--edge); stroke-dasharray: 4 3; fill-opacity: 0.5; }
  .diagram .remark { fill: var(--ask-wash); stroke: var(--ask-line); }
  .diagram .paper { fill: var(--sunken); }
  .diagram .edge { fill: none; stroke: var(--ink-3); stroke-width: 1.3; }
  .diagram .dotted { stroke-dasharray: 3 3; }
  .diagram .thick { stroke-width: 2.6; }
  .diagram :is(.arrow, .dot) { fill: var(--ink-3); }
  .diagram .ring { fill: none; stroke: var(--ink-3); }
  .diagram .words { fill: var(--ink); font-size: 14px; }
  .diagram .small { font-size: 13px; fill: var(--ink-2); }
  .diagram .strong { font-weight: 600; }
  .diagram .slice { stroke: var(--raised); stroke-width: 1.5; fill: light-dark(oklch(0.62 0.11 var(--turn)), oklch(0.7 0.1 var(--turn))); }
  .diagram .slice-0 { --turn: 220; } .diagram .slice-1 { --turn: 60; } .diagram .slice-2 { --turn: 150; } .diagram .slice-3 { --turn: 300; }
  .diagram .slice-4 { --turn: 20; } .diagram .slice-5 { --turn: 100; } .diagram .slice-6 { --turn: 190; } .diagram .slice-7 { --turn: 260; }
}
`)
