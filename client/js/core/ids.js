// Fresh identifiers. crypto.randomUUID is missing on plain-http addresses, so getRandomValues makes them.

yaa.define('core/ids', [], () => {
  /** @param {number} bytes */
  function hex(bytes) {
    const random = crypto.getRandomValues(new Uint8Array(bytes))
    return Array.from(random, (byte) => byte.toString(16).padStart(2, '0')).join('')
  }

  /** A version 4 UUID (RFC 9562 section 5.4). */
  function uuid() {
    const digits = hex(16)
    const variant = '89ab'[parseInt(digits[16], 16) & 3]
    const parts = [digits.slice(0, 8), digits.slice(8, 12), `4${digits.slice(13, 16)}`, variant + digits.slice(17, 20)]
    return [...parts, digits.slice(20)].join('-')
  }

  /** `msg_…`, in the server's manner: 96 random bits. @param {string} kind */
  const id = (kind) => `${kind}_${hex(12)}`

  return { uuid, id }
})
