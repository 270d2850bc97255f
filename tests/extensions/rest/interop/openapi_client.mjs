// Builds the requests of OpenAPI documents with swagger-client. The first line of stdin is a list of files; their documents
// are the first line of stdout, as JSON. Each further line is a list of calls {document, path, method, parameters, body?, kind?}, whose
// answer is a line with a list of requests, or errors. `kind`: json or form, of the body.

import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

import yaml from 'js-yaml'
import SwaggerClient from 'swagger-client'

const METHODS = ['get', 'post', 'put', 'patch', 'delete']
const BASE = 'https://api.test'

/** A document with an id for each operation, whose parameters and body are no references. */
function prepared(document) {
  const follow = (value) => {
    let found = value
    while (found?.$ref) found = found.$ref.slice(2).split('/').reduce((one, key) => one?.[key.replaceAll('~1', '/').replaceAll('~0', '~')], document)
    return found
  }
  const { protocol, host } = new URL(BASE)
  Object.assign(document, document.swagger ? { host, basePath: '/', schemes: [protocol.slice(0, -1)] } : { servers: [{ url: BASE }] })
  for (const [path, described] of Object.entries(document.paths)) {
    const item = document.paths[path] = structuredClone(follow(described) ?? {})
    delete item.servers
    for (const method of METHODS.filter((name) => item[name])) {
      const operation = item[method]
      delete operation.servers
      operation.operationId = `${method} ${path}`
      const own = (operation.parameters ?? []).map(follow)
      const shared = (item.parameters ?? []).map(follow).filter((one) => !own.some(({ name, in: place }) => name === one.name && place === one.in))
      operation.parameters = [...shared, ...own].map((one) => (one.schema ? { ...one, schema: follow(one.schema) } : one))
      if (operation.requestBody) operation.requestBody = follow(operation.requestBody)
    }
    delete item.parameters
  }
  return document
}

/** The request as plain values; a body of fields is written out as a form. */
async function built(spec, { path, method, parameters, body, kind }) {
  try {
    const types = Object.keys(spec.paths[path][method].requestBody?.content ?? {})
    const more = body === undefined ? {} : { requestBody: body, requestContentType: types.find((type) => type.includes(kind)) ?? types[0] }
    const request = SwaggerClient.buildRequest({ spec, operationId: `${method} ${path}`, parameters, ...more })
    return { method: request.method, url: request.url, headers: request.headers, body: request.body ?? null }
  } catch (error) {
    return { error: String(error.message) }
  }
}

let documents = null
for await (const line of createInterface({ input: process.stdin })) {
  const given = JSON.parse(line)
  if (documents) {
    const answers = await Promise.all(given.map((call) => built(documents[call.document], call)))
    process.stdout.write(`${JSON.stringify(answers)}\n`)
    continue
  }
  documents = given.map((file) => yaml.load(readFileSync(file, 'utf8'), { schema: yaml.JSON_SCHEMA }))
  process.stdout.write(`${JSON.stringify(documents)}\n`)
  documents = documents.map((one) => prepared(structuredClone(one)))
}
