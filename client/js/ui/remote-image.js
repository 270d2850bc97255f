// A picture of another site, fetched when the reader asks for it. Loaded with the first one.

yaa.define('ui/remote-image', ['ui/dom'], ({ h }) => {
  /**
   * Put a picture in the place of its button. The page's policy allows no foreign pictures, so it is fetched without
   * cookies or referrer and shown from memory.
   * @param {any} button @param {string} src @param {string} alt
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

  return { load }
})
