// Talks to a server as the page does: `node talk-with-base.js URL KEY` asks, approves and edits, and prints what each
// POST was like and how the runs ended. For tests/api/test_session_bases.py.
'use strict'

const { use } = require('./load-modules.js')

const { start } = use('io/run-stream')
const apis = use('io/api')
const sessions = use('core/session')

async function main(url, key) {
  const posts = []
  const api = apis.create({
    base: url,
    key,
    fetch: async (address, options) => {
      const body = options.body ? JSON.parse(options.body) : {}
      const response = await fetch(address, options)
      if (body.messages) posts.push([response.status, body.base?.messages ?? 0, body.messages.length])
      return response
    },
  })
  const { hold } = api
  let held
  api.hold = (session) => (held = hold(session))
  const session = sessions.create({ id: 'page' })
  const ends = []
  const say = async (text) => {
    if (text) sessions.append(session, text)
    const end = await start(session, { api }).done
    await held
    ends.push([end.reason, end.error?.message ?? end.diverged ?? null])
  }
  for (let n = 0; n < 24; n++) sessions.append(session, `before ${n} é😀`)
  await say('hello')
  await say('time')
  await say('rm time')
  sessions.answer(session, sessions.openInterrupts(session)[0].id, { status: 'resolved', payload: { approved: true } })
  await say('')
  session.messages[27].content = 'edited'
  await say('hello')
  process.stdout.write(`${JSON.stringify({ posts, ends, session })}\n`)
}

main(...process.argv.slice(2))
