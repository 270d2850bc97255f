// The events of a run as they are kept: deltas of one text are one line with their pieces and when each of them came.
// An answer of a thousand words is a thousand events; as objects they would take more room than the session.

yaa.define('ext/time/event-recording', [], () => {
  const DELTAS = new Map([['TEXT_MESSAGE_CONTENT', 'messageId'], ['REASONING_MESSAGE_CONTENT', 'messageId'],
    ['TOOL_CALL_ARGS', 'toolCallId']])
  /** Live output is for eyes only; it can be large and is in the result. */
  const LEFT_OUT = new Set(['ACTIVITY_SNAPSHOT', 'ACTIVITY_DELTA'])

  /**
   * @param {string} run @param {{at: number, event: YaaEvent}[]} seen in the order they came
   * @returns {Recording}
   */
  function pack(run, seen) {
    /** @type {any[]} */
    const lines = []
    for (const { at, event } of seen) {
      if (LEFT_OUT.has(event.type)) continue
      const key = DELTAS.get(event.type)
      const last = lines.at(-1)
      if (!key || typeof event.delta !== 'string') lines.push({ at, event })
      else if (last?.type === event.type && last.id === event[key]) {
        last.pieces.push(event.delta)
        last.times.push(at)
      } else lines.push({ type: event.type, id: event[key], pieces: [event.delta], times: [at] })
    }
    return { run, lines }
  }

  /** The events again, each with the time it came. @param {Recording} recording @returns {YaaEvent[]} */
  function unpack({ lines }) {
    return (Array.isArray(lines) ? lines : []).flatMap((line) => {
      if (line?.event) return [{ ...line.event, timestamp: line.event.timestamp ?? line.at, seen: line.at }]
      const key = DELTAS.get(line?.type)
      if (!key || !Array.isArray(line.pieces)) return []
      return line.pieces.map((/** @type {string} */ delta, /** @type {number} */ i) => (
        { type: line.type, [key]: line.id, delta, timestamp: line.times?.[i] }
      ))
    })
  }

  /** The messages these events make. @param {YaaEvent[]} events @returns {string[]} */
  function idsOf(events) {
    const ids = new Set()
    for (const event of events) {
      if (event.type === 'TEXT_MESSAGE_START' || event.type === 'TOOL_CALL_RESULT') ids.add(event.messageId)
      if (event.type === 'REASONING_MESSAGE_START' || event.type === 'RUN_ERROR') ids.add(event.metadata?.yaa?.message_id)
    }
    ids.delete(undefined)
    return [...ids]
  }

  return { pack, unpack, idsOf }
})
