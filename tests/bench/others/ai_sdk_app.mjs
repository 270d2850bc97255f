// The AI SDK on Node's own HTTP server, as its first pages show it.
import { createServer } from 'node:http'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { stepCountIs, streamText, tool } from 'ai'
import { z } from 'zod'

const provider = createOpenAICompatible({ name: 'bench', baseURL: `${process.argv[2]}/v1`, apiKey: 'k', includeUsage: true })
const tools = {
  datetime: tool({
    description: 'The time.',
    inputSchema: z.object({}),
    execute: async () => new Date().toISOString(),
  }),
}

async function chat(request, response) {
  const pieces = []
  for await (const piece of request) pieces.push(piece)
  const { messages } = JSON.parse(Buffer.concat(pieces).toString())
  const gone = new AbortController()
  response.on('close', () => gone.abort())
  response.writeHead(200, { 'Content-Type': 'text/event-stream' })
  const result = streamText({
    model: provider('scripted'),
    system: 'You are helpful.',
    messages: messages.map(({ role, content }) => ({ role, content })),
    tools,
    stopWhen: stepCountIs(5),
    abortSignal: gone.signal,
    onError: () => undefined,
  })
  for await (const text of result.textStream) response.write(`data: ${JSON.stringify({ text })}\n\n`)
  response.end()
}

const server = createServer((request, response) => {
  if (request.method === 'POST') chat(request, response).catch(() => response.destroy())
  else response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"status":"ok"}')
})
server.listen({ port: 0, host: '127.0.0.1', backlog: 2048 }, () => {
  console.log(`READY http://127.0.0.1:${server.address().port}`)
})
