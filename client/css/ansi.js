// Colours of what a program wrote for a terminal.

yaa.define('css/ansi', ['ui/dom'], ({ css }) => css`
@layer thread {
  .code-ansi-strong { font-weight: 650; }
  .code-ansi-red { color: light-dark(#b3261e, #ff8a80); }
  .code-ansi-green { color: light-dark(#1b6e34, #7fd99a); }
  .code-ansi-yellow { color: light-dark(#7a5500, #e8c268); }
  .code-ansi-blue { color: light-dark(#1f57b8, #8ab4ff); }
  .code-ansi-magenta { color: light-dark(#8e2a8b, #e59ae2); }
  .code-ansi-cyan { color: light-dark(#0b6572, #6fd3e0); }
  .code-ansi-black, .code-ansi-white { color: var(--ink-2); }
}
`)
