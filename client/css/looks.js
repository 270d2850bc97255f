// The choice of a colour, in the settings.

yaa.define('css/looks', ['ui/h'], ({ css }) => css`
@layer dialogs {
  .swatches { display: flex; flex-wrap: wrap; gap: var(--s2); }
  .swatch { position: relative; cursor: pointer; }
  .swatch input { position: absolute; inset: 0; opacity: 0; cursor: pointer; }
  .swatch > span {
    display: block; inline-size: 2rem; block-size: 2rem; border-radius: 50%;
    background: light-dark(oklch(0.46 0.09 var(--hue)), oklch(0.76 0.08 var(--hue))); border: 3px solid var(--bg);
    box-shadow: 0 0 0 1px var(--line);
  }
  .swatch input:checked + span { box-shadow: 0 0 0 2px var(--ink); }
  .swatch input:focus-visible + span { outline: 2px solid var(--accent); outline-offset: 4px; }
}
`)
