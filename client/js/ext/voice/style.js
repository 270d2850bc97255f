// The microphone in the composer.

yaa.define('ext/voice/style', ['ui/dom'], ({ css }) => css`
@layer dialogs {
  .dictation-place { flex: none; display: inline-flex; align-items: center; gap: var(--s1); }
  .dictation-place[hidden] { display: none; }
  .dictation-clock { font-size: var(--t2); font-variant-numeric: tabular-nums; color: var(--bad); }
  .dictation[data-phase="recording"] { color: var(--bad); }
}
`)
