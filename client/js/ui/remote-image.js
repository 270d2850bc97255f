// A picture of another site, fetched when the reader asks for it.

yaa.define('ui/remote-image', ['ui/dom', 'ui/i18n', 'i18n/markup'], ({ h, fill, icon }, { t }) => {
  /** @param {any} el where the picture would stand @param {{src: string, alt?: string, host: string}} image */
  function offer(el, { src, alt, host }) {
    const words = h('span', null, [alt || t('image.alt'), t('image.load', { host })].join(' · '), h('span.why', null, t('image.why', { host })))
    const button = h('button.image-off', { type: 'button', title: src, onclick: () => load(button, src, alt) }, icon('image'), words)
    fill(el, button)
  }

  /**
   * Put a picture in the place of its button. The page's policy allows no foreign pictures, so it is fetched without
   * cookies or referrer and shown from memory.
   * @param {any} button @param {string} src @param {string} [alt]
   */
  async function load(button, src, alt) {
    button.disabled = true
    try {
      const reply = await fetch(src, { credentials: 'omit', referrerPolicy: 'no-referrer' })
      const blob = await reply.blob()
      if (!blob.type.startsWith('image/')) throw new TypeError(`not an image: ${blob.type}`)
      button.replaceWith(h('img', { src: URL.createObjectURL(blob), alt: alt ?? '' }))
    } catch {
      // the other site does not let a page read it: leave a link the reader can open
      button.replaceWith(h('a', { href: src }, alt || src))
    }
  }

  return { offer }
})
