// Files that go along with a message: what can be sent, and how. A picture is an `image_url` part, a text is a part
// between tags that say its name: any model reads that, and any other program shows it.

yaa.define('core/attachments', [], () => {
  /** `inline`, `beginning`: of a text that is in the workspace too, the longest that goes whole, and what goes of others */
  const LIMITS = { files: 10, text: 256 * 1024, image: 5 * 1024 * 1024, side: 1568, inline: 16 * 1024, beginning: 4000, upload: 100 * 1024 * 1024 }
  const IMAGES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])
  const FILE = /^<file name="([^"\n]*)"(?: path="([^"\n]*)")?>\n([^]*)\n<\/file>$/

  /**
   * A text out of bytes; null where they are something else.
   * @param {Uint8Array} bytes
   */
  function decode(bytes) {
    const wide = bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf-16le' : bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : ''
    try {
      const text = new TextDecoder(wide || 'utf-8', { fatal: true }).decode(bytes)
      return text.includes('\0') ? null : text.replace(/\r\n?/g, '\n')
    } catch {
      return null
    }
  }

  /** @param {string} name @param {string} text @param {string} [path] in the workspace */
  function filePart(name, text, path) {
    const plain = name.replace(/[\p{Cc}"<>]+/gu, ' ').trim().slice(0, 120) || 'file'
    // a text cannot end its own tag
    return { type: 'text', text: `<file name="${plain}"${path ? ` path="${path}"` : ''}>\n${text.replaceAll('</file>', '<\\/file>')}\n</file>` }
  }

  /** @param {string} url data: */
  const imagePart = (url) => ({ type: 'image_url', image_url: { url } })

  /** The file in a part, or null. @param {any} part @returns {{name: string, text: string, path?: string} | null} */
  function fileOf(part) {
    const [, name, path, text] = (part?.type === 'text' && FILE.exec(part.text)) || []
    return name === undefined ? null : { name, text: text.replaceAll('<\\/file>', '</file>'), ...(path ? { path } : {}) }
  }

  /** @param {any} part @returns {string | null} */
  const imageOf = (part) => (part?.type === 'image_url' && typeof part.image_url?.url === 'string' ? part.image_url.url : null)

  /**
   * What a message is made of: a plain string where nothing goes along. The words come first: a session is named
   * after them.
   * @param {string} words @param {any[]} parts
   */
  function content(words, parts) {
    if (!parts.length) return words
    return words ? [{ type: 'text', text: words }, ...parts] : parts
  }

  /**
   * A content taken apart again, for showing.
   * @param {any} content @returns {{words: string, files: {name: string, text: string, path?: string}[], images: string[]}}
   */
  function split(content) {
    const parts = Array.isArray(content) ? content : [content]
    /** @type {string[]} */ const words = []
    const files = []
    const images = []
    for (const part of parts) {
      const file = fileOf(part)
      const image = imageOf(part)
      if (file) files.push(...(file.path && !file.text ? [] : [file])) // where a picture is, which is shown itself
      else if (image) images.push(image)
      else if (typeof part === 'string' || typeof part?.text === 'string') words.push(part?.text ?? part)
    }
    return { words: words.join('\n'), files, images }
  }

  /** The size at which a picture says as much as models see. @param {number} width @param {number} height */
  function fit(width, height) {
    const scale = Math.min(1, LIMITS.side / Math.max(width, height, 1))
    return { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)), whole: scale === 1 }
  }

  /** @param {{type: string}} file */
  const isImage = ({ type }) => type.startsWith('image/') && type !== 'image/svg+xml'

  /** A type that goes as it is, without being drawn anew. @param {string} type */
  const isPlainImage = (type) => IMAGES.has(type)

  return { LIMITS, decode, filePart, imagePart, fileOf, imageOf, content, split, fit, isImage, isPlainImage }
})
