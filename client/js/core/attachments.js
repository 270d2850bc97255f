// Files that go along with a message: what can be sent, and how. A picture is an `image_url` part, a text is a part
// between tags that say its name: any model reads that, and any other program shows it.

yaa.define('core/attachments', [], () => {
  /** `inline`, `beginning`: of a text that is in the workspace too, the longest that goes whole, and what goes of others */
  const LIMITS = { files: 10, text: 256 * 1024, image: 5 * 1024 * 1024, side: 1568, inline: 16 * 1024, beginning: 4000, upload: 100 * 1024 * 1024 }
  const IMAGES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])
  const FILE = /^<(file|resource) name="([^"\n]*)"([^>\n]*)>\n([^]*)\n<\/\1>$/

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
    // a text cannot end its own tag
    return { type: 'text', text: `<file name="${plain(name) || 'file'}"${path ? ` path="${path}"` : ''}>\n${text.replaceAll('</file>', '<\\/file>')}\n</file>` }
  }

  /** @param {string} value @param {number} [most] */
  const plain = (value, most = 120) => value.replace(/[\p{Cc}"<>]+/gu, ' ').trim().slice(0, most)

  /** A resource of an MCP server. @param {{name: string, server: string, uri: string, type: string}} about @param {string} text */
  function resourcePart({ name, server, uri, type }, text) {
    const told = ` server="${plain(server)}" uri="${plain(uri, 2048)}"${type ? ` type="${plain(type)}"` : ''}`
    return { type: 'text', text: `<resource name="${plain(name) || 'resource'}"${told}>\n${text.replaceAll('</resource>', '<\\/resource>')}\n</resource>` }
  }

  /** @param {string} url data: */
  const imagePart = (url) => ({ type: 'image_url', image_url: { url } })

  /** The file or resource in a part, or null. @param {any} part @returns {{name: string, text: string, from?: string, path?: string} | null} */
  function fileOf(part) {
    const [, tag, name, about, text] = (part?.type === 'text' && FILE.exec(part.text)) || []
    if (name === undefined) return null
    const from = [...about.matchAll(/="([^"]*)"/g)].map(([, value]) => value).filter(Boolean).join(' · ')
    const where = from && (tag === 'file' ? { path: from } : { from })
    return { name, text: text.replaceAll(`<\\/${tag}>`, `</${tag}>`), ...where }
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
   * @param {any} content @returns {{words: string, files: {name: string, text: string, from?: string, path?: string}[], images: string[]}}
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

  /** Other words in a content: the files of a message go along again. @param {any} value @param {string} words */
  function withWords(value, words) {
    if (!Array.isArray(value)) return words
    return content(words, value.filter((part) => fileOf(part) || (typeof part !== 'string' && part?.type !== 'text')))
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

  return { LIMITS, decode, filePart, resourcePart, imagePart, fileOf, imageOf, content, split, withWords, fit, isImage, isPlainImage }
})
