// Keeps keys encrypted under a passphrase, for pages opened from disk, where every local page may read the storage: PBKDF2
// and AES-GCM. Without crypto.subtle (plain http) it is not offered.

yaa.define('io/key-storage', [], () => {
  const NAME = 'yaa.vault'
  /** About half a second on a laptop, each try (OWASP 2023). */
  const ROUNDS = 600_000

  /** @param {{storage?: Storage, subtle?: SubtleCrypto, rounds?: number}} [options] */
  function open({ storage = globalThis.localStorage, subtle = globalThis.crypto?.subtle, rounds = ROUNDS } = {}) {
    /** @returns {any} */
    function box() {
      try {
        return JSON.parse(storage.getItem(NAME) ?? 'null')
      } catch {
        return null
      }
    }

    /** @param {string} passphrase @param {any} value what goes in, as JSON */
    async function seal(passphrase, value) {
      const [salt, iv] = [16, 12].map((length) => crypto.getRandomValues(new Uint8Array(length)))
      const key = await keyOf(subtle, passphrase, salt, rounds)
      const data = await subtle.encrypt({ name: 'AES-GCM', iv }, key, new TextEncoder().encode(JSON.stringify(value)))
      storage.setItem(NAME, JSON.stringify({ v: 1, rounds, salt: toText(salt), iv: toText(iv), data: toText(new Uint8Array(data)) }))
    }

    /** @param {string} passphrase @returns {Promise<any>} what is in it; null: the passphrase is wrong, or there is no box */
    async function unseal(passphrase) {
      const found = box()
      if (!found) return null
      try {
        const key = await keyOf(subtle, passphrase, toBytes(found.salt), found.rounds)
        const data = await subtle.decrypt({ name: 'AES-GCM', iv: toBytes(found.iv) }, key, toBytes(found.data))
        return JSON.parse(new TextDecoder().decode(data))
      } catch {
        return null
      }
    }

    return { possible: Boolean(subtle), exists: () => box() !== null, seal, unseal, forget: () => storage.removeItem(NAME) }
  }

  /** @param {SubtleCrypto} subtle @param {string} passphrase @param {Uint8Array<ArrayBuffer>} salt @param {number} iterations */
  async function keyOf(subtle, passphrase, salt, iterations) {
    const words = new TextEncoder().encode(passphrase.normalize('NFKC'))
    const raw = await subtle.importKey('raw', words, 'PBKDF2', false, ['deriveKey'])
    const how = { name: 'PBKDF2', hash: 'SHA-256', salt, iterations }
    return subtle.deriveKey(how, raw, { name: 'AES-GCM', length: 256 }, false, ['encrypt', 'decrypt'])
  }

  /** @param {Uint8Array} bytes */
  const toText = (bytes) => btoa(String.fromCharCode(...bytes))
  /** @param {string} text */
  const toBytes = (text) => Uint8Array.from(atob(text), (char) => char.charCodeAt(0))

  return { open }
})
