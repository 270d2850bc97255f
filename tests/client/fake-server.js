// A server that plays one conversation, for tests of what the client does when the network breaks: the model asks
// for a tool that needs approval, the tool runs, the model answers. It keeps nothing between requests, as another
// host would, and its tool is not repeatable: `executions` must never exceed one.
'use strict'

const { use } = require('./load-modules.js')

const { fold, digest } = use('core/fold')
const encoder = new TextEncoder()

/** Events of one POST, as server/agent/loop.py makes them; `started` runs when the tool gets the call. */
function* conversation(session, run, started) {
  const emit = (event) => {
    fold(session, event)
    return event
  }
  yield emit({ type: 'RUN_STARTED', threadId: session.id, runId: run, timestamp: 1, metadata: { yaa: { run: { id: run } } } })
  yield emit({ type: 'STATE_DELTA', delta: [...['calls', 'interrupts'].filter((key) => !session[key]).map((key) => ({ op: 'add', path: `/yaa/${key}`, value: key === 'calls' ? {} : [] }))] })
  const made = session.messages.find((message) => message.tool_calls && !message.open)
  const id = made?.tool_calls[0].id
  const entry = session.calls[id] ?? { name: 'shell', state: 'proposed', attempt: 0 }
  const interrupt = session.interrupts.find((each) => each.call_id === id)
  const answered = session.messages.some((message) => message.tool_call_id === id)
  const ask = function* (reason, state) {
    const question = { id: `int-${id ?? `call-${run}`}`, reason, call_id: id ?? `call-${run}`, tool: 'shell', args: {} }
    yield emit({ type: 'STATE_DELTA', delta: [
      { op: 'add', path: `/yaa/calls/${question.call_id}`, value: { ...session.calls[question.call_id], name: 'shell', state, attempt: session.calls[question.call_id]?.attempt ?? 0 } },
      { op: 'add', path: '/yaa/interrupts', value: [question] },
    ] })
    yield end(session, run, 'interrupted', 'awaiting')
  }
  if (!made) {
    yield* say(emit, `msg-${run}`, 'Let me look.', `call-${run}`)
    return yield* ask('tool_call', 'asking')
  }
  if (!answered && ['started', 'done', 'failed', 'indeterminate'].includes(entry.state)) {
    const action = interrupt?.reason === 'indeterminate' && entry.state === 'indeterminate' ? interrupt.answer?.payload.action : undefined
    if (action !== 'skip' && action !== 'retry') return yield* ask('indeterminate', 'indeterminate')
    if (action === 'skip') yield emit(result(id, 'Skipped.', 'skipped'))
    else yield* execute(emit, id, entry, started)
  } else if (!answered) {
    if (!interrupt?.answer) return yield* ask('tool_call', 'asking')
    if (interrupt.answer.payload.approved) yield* execute(emit, id, entry, started)
    else yield emit(result(id, 'Denied.', 'denied'))
  }
  const last = session.messages.findLast((message) => !message.open)
  if (last.role !== 'assistant') yield* say(emit, `msg-${run}`, 'There are two files. 你好')
  yield end(session, run, 'completed', 'completed')
}

function* say(emit, id, text, call) {
  yield emit({ type: 'TEXT_MESSAGE_START', messageId: id, role: 'assistant', timestamp: 2 })
  for (const delta of text.split(/(?<= )/)) yield emit({ type: 'TEXT_MESSAGE_CONTENT', messageId: id, delta })
  if (call) {
    yield emit({ type: 'TOOL_CALL_START', toolCallId: call, toolCallName: 'shell', parentMessageId: id })
    yield emit({ type: 'TOOL_CALL_ARGS', toolCallId: call, delta: '{"command":' })
    yield emit({ type: 'TOOL_CALL_ARGS', toolCallId: call, delta: '"ls"}' })
    yield emit({ type: 'TOOL_CALL_END', toolCallId: call })
  }
  yield emit({ type: 'TEXT_MESSAGE_END', messageId: id, timestamp: 3, metadata: { yaa: { meta: { model: 'fake' } } } })
}

function* execute(emit, id, entry, started) {
  yield emit({ type: 'STATE_DELTA', metadata: { yaa: { exec: id } }, delta: [
    { op: 'add', path: `/yaa/calls/${id}`, value: { ...entry, state: 'started', attempt: entry.attempt + 1 } },
    { op: 'add', path: '/yaa/interrupts', value: [] },
  ] })
  started()
  yield { type: 'ACTIVITY_SNAPSHOT', messageId: `out-${id}`, activityType: 'yaa.tool.output', content: { call_id: id, chunks: ['a.txt\n'] } }
  yield { type: 'ACTIVITY_DELTA', messageId: `out-${id}`, activityType: 'yaa.tool.output', patch: [{ op: 'add', path: '/chunks/-', value: 'b.txt\n' }] }
  yield emit(result(id, 'a.txt\nb.txt', 'done'))
}

function result(id, content, state) {
  return { type: 'TOOL_CALL_RESULT', messageId: `res-${id}`, toolCallId: id, content, role: 'tool', timestamp: 4, metadata: { yaa: { name: 'shell', state } } }
}

function end(session, run, status, reason) {
  const event = { type: 'RUN_FINISHED', threadId: session.id, runId: run, outcome: { type: reason === 'awaiting' ? 'interrupt' : 'success' }, result: { status, finish_reason: reason, rev: (session.rev ?? 0) + 1 } }
  fold(session, event)
  return { ...event, metadata: { yaa: { digest: digest(session), since: 0 } } }
}

class FakeServer {
  executions = 0
  /** @type {any[]} documents as they arrived */ posted = []
  /** @type {any} the last document as the server has it */ session = null
  /** how many events get through on each connection; the last one holds for all later ones */ limits = [Infinity]
  /** how a cut looks: the connection breaks, or ends as if all were well */ breaks = true
  /** what is sent before the events, after each, and in pieces of how many bytes */ preamble = ''
  piece = 0
  /** of the stream, beside its type @type {Record<string, string>} */ headers = {}
  /** @type {string[]} the sessions it was asked to stop */ stops = []
  /** @type {any[]} what it still says to a run that was stopped */ last = []
  up = true
  /** what it says when it is asked whether it is there @type {(options: any) => any} */ health = () => Response.json({ status: 'ok' })
  /** @type {((call: {method: string, path: string, options: any}) => any)[]} answers given instead of a run, once each */ instead = []

  fetch = async (url, options = {}) => {
    const { pathname: path } = new URL(url)
    options.signal?.throwIfAborted()
    const other = options.method === 'POST' ? this.instead.shift() : null
    if (other) return other({ method: options.method, path, options })
    if (!this.up) throw new TypeError('fetch failed')
    if (path === '/health') return this.health(options)
    if (path === '/session/stop') return this.stop(options)
    this.posted.push(JSON.parse(options.body))
    return new Response(this.stream(JSON.parse(options.body), options.signal), { headers: { 'Content-Type': 'text/event-stream; charset=utf-8', ...this.headers } })
  }

  /** Ends the run that is streaming; its stream still says `last`. */
  stop = (options) => {
    this.stops.push(JSON.parse(options.body).id)
    return Response.json({ stopped: true })
  }

  stream(session, signal) {
    const stopsBefore = this.stops.length
    this.session = session
    const run = `run${this.posted.length}`
    const events = conversation(session, run, () => this.executions++)
    let left = this.limits.length > 1 ? this.limits.shift() : this.limits[0]
    let pieces = [encoder.encode(this.preamble)]
    let n = 0
    return new ReadableStream({
      start: (controller) => signal?.addEventListener('abort', () => controller.error(signal.reason)),
      pull: (controller) => {
        if (!pieces.length) {
          const stopped = this.stops.length > stopsBefore
          const { value: event, done } = stopped ? { value: this.last.shift(), done: !this.last.length } : events.next()
          if (done && !event) return controller.close()
          if (left-- <= 0) {
            // the worst moment: what was being sent when the connection broke has begun already
            if (event.metadata?.yaa?.exec) events.next()
            return this.breaks ? controller.error(new TypeError('network error')) : controller.close()
          }
          pieces = this.cut(encoder.encode(`id: ${run}/${++n}\ndata: ${JSON.stringify(event)}\n\n`))
        }
        controller.enqueue(pieces.shift())
      },
    })
  }

  cut(bytes) {
    if (!this.piece) return [bytes]
    return Array.from({ length: Math.ceil(bytes.length / this.piece) }, (_, i) => bytes.slice(i * this.piece, (i + 1) * this.piece))
  }
}

/** Timers that never wait: what they were asked for is in `asked`. */
function quickTimers() {
  const asked = []
  return {
    asked,
    now: () => 0,
    set: (callback, ms) => {
      asked.push(ms)
      return setImmediate(callback)
    },
    clear: (timer) => clearImmediate(timer),
  }
}

/** Timers that fire when told to. */
function manualTimers() {
  const waiting = new Map()
  let time = 0
  let next = 1
  return {
    waiting,
    now: () => time,
    set: (callback, ms) => waiting.set(next, { callback, at: time + ms }) && next++,
    clear: (timer) => waiting.delete(timer),
    pass(ms) {
      time += ms
      for (const [timer, { callback, at }] of [...waiting]) {
        if (at > time) continue
        waiting.delete(timer)
        callback()
      }
    },
  }
}

module.exports = { FakeServer, quickTimers, manualTimers }
