// Checks which untrusted addresses may become a link or a picture. The result is the address as the browser parses it,
// so that what was checked is what is followed.

yaa.define('core/safe-urls', [], () => {
  const PICTURE = /^data:image\/(?:png|jpeg|gif|webp|avif)[;,]/i
  const WWW = /^www\./
  /** A bare name counts with the most usual endings alone: README.md and main.py are names of files. */
  const ADDRESS = /^(https?:\/\/)?((?:www\.[^/?#]+|(?<=\/)[^/?#]+|[^/?#]+\.(?:com|org|net|edu|gov|cn))(?=[/?#]|$))/i

  /**
   * @param {string} url
   * @returns {URL | null} absolute addresses only: a relative one would mean this page's own server
   */
  function parse(url) {
    try {
      return new URL(url)
    } catch {
      return null
    }
  }

  /** @param {string} url @returns {string | null} */
  function link(url) {
    const parsed = parse(url)
    if (!parsed) return null
    if (parsed.protocol === 'mailto:') return parsed.href
    return isWeb(parsed) ? parsed.href : null
  }

  /**
   * A remote picture tells its host who looks at it, and can carry data out in its address: it is shown on request only.
   * @param {string} url @returns {{src: string, remote: boolean, host: string} | null}
   */
  function image(url) {
    if (PICTURE.test(url)) return { src: url, remote: false, host: '' }
    const parsed = parse(url)
    return parsed && isWeb(parsed) ? { src: parsed.href, remote: true, host: parsed.host } : null
  }

  /** http and https without user:password@, which only serves to make one host look like another. @param {URL} url */
  function isWeb(url) {
    return (url.protocol === 'https:' || url.protocol === 'http:') && url.host !== '' && !url.username && !url.password
  }

  /** The host that a link leads to, where its words are the address of another one; else ''. @param {string} words @param {string} href */
  function otherHost(words, href) {
    const [, scheme, name] = ADDRESS.exec(words.replace(/[\p{Cf}\s]/gu, '')) ?? []
    const [said, real] = [name && parse(`http://${name}`)?.hostname.replace(WWW, ''), parse(href)?.hostname.replace(WWW, '')]
    const same = !said || !real || said === real || (!scheme && real.endsWith(`.${said}`))
    return same ? '' : real
  }

  return { link, image, otherHost }
})
