// The keys of changes. A change that is sent again, by the page or by a person, is the same one until the server itself has
// answered: what was made and whose answer was lost is not made twice, nor refused because it is there.

yaa.define('io/changes', ['core/ids'], ({ id }) => {
  /** Keys of changes that no server has answered, by what they change. @type {Map<string, string>} */
  const unanswered = new Map()

  /**
   * @template T @param {string} change what is changed: method and address @param {(headers: Record<string, string>) => Promise<T>} send
   * @returns {Promise<T>}
   */
  async function once(change, send) {
    const key = unanswered.get(change) ?? id('change')
    unanswered.set(change, key)
    try {
      const answer = await send({ 'Idempotency-Key': key })
      unanswered.delete(change)
      return answer
    } catch (error) {
      if (/** @type {Failure} */ (error).status) unanswered.delete(change)
      throw error
    }
  }

  return { once }
})
