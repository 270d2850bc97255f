// What the modules for finding, moving and composing give one another; see client/types.d.ts.

/** A text of a session that can be found: that of one article of the thread. */
interface Page { id: string; role: string; text: string; folded: string; branch?: string }
/** A session that has every word. `parts`: text, and whether it matches. */
interface Found { score: number; inTitle: boolean; count: number; hits: { id: string; role: string; branch?: string; parts: [string, boolean][] }[] }

interface Secret { kind: string; text: string; shown: string; context: string; count: number }

/** Where a key stands in a document. */
type Place = (string | number)[]
/** What was taken out of a session from elsewhere; `path` is a JSON pointer. */
interface Removed { kind: string; path: string; value?: any }

interface Modules {
  'core/sanitize': {
    sanitize(document: any, defaults?: any): { session: any; removed: Removed[] }
    canTakeOver(item: Removed): boolean
    takeOver(session: Session, item: Removed): void
    DEFAULTS: any
    UNKNOWN: any
  }
  'core/answer-settings': {
    read(config: any): { effort: string; temperature: string; length: string }
    wrong(wishes: { effort: string; temperature: string; length: string }): 'temperature' | 'length' | null
    write(config: any, wishes: { effort: string; temperature: string; length: string }): any
    EFFORTS: string[]
  }
  'core/model-choices': { modelRows(info: any): { provider: string; model: string; name: string; window: number; price: { input: number; output: number; unit: string } | null }[] }
  'core/search': {
    foldCase(text: string): string
    terms(query: string): string[]
    ranges(text: string, words: string[]): [number, number][]
    splitMatches(text: string, words: string[]): [string, boolean][]
    snippet(text: string, words: string[]): [string, boolean][]
    pages(session: Session): Page[]
    allPages(session: Session): Page[]
    searchSession(session: { title: string; pages: Page[] }, words: string[], most?: number): Found | null
    rank(name: string, typed: string): number
    textOf(content: any): string
  }
  'core/redact': {
    scan(session: any): Secret[]
    redact<T>(session: T, secrets: Pick<Secret, 'kind' | 'text'>[]): T
    mask(text: string): string
  }
  'core/message-pieces': {
    assistantMessages(pieces: any[], base: any): any[]
    callOf(id: any, name: any, args: any): any
    withFiles(words: string, files: any[]): any
    arrayOf(value: any): any[]
    textOf(value: any): string
    at(seconds: unknown): { at?: number }
    atIso(time: any): { at?: number }
    isoOf(ms: unknown): string | undefined
  }
  'core/message-forms': {
    STATUSES: Map<string, string>
    isMessage(one: any): boolean
    messagesIn(list: any[]): { messages: any[]; left: number; parts: number }
  }
  'core/session-import': {
    readSessions(text: string, name?: string, defaults?: any, formats?: any): { kind: string; sessions: Session[]; removed: Removed[][]; prompts?: any[]; program?: string; left?: { versions: string[]; sessions: number; messages: number; parts: number } }
    importSession(raw: any, name?: string, defaults?: any): { session: Session; removed: Removed[]; left: number; parts: number } | null
    exportDocument(all: Session[], prompts: any[], exported: string): any
  }
  'core/attachments': {
    LIMITS: { files: number; text: number; image: number; side: number; inline: number; beginning: number; upload: number }
    decode(bytes: Uint8Array): string | null
    resourcePart(about: { name: string; server: string; uri: string; type: string }, text: string): any
    filePart(name: string, text: string, path?: string): any
    imagePart(url: string): any
    fileOf(part: any): { name: string; text: string; from?: string; path?: string } | null
    imageOf(part: any): string | null
    content(words: string, parts: any[]): any
    split(content: any): { words: string; files: { name: string; text: string; from?: string; path?: string }[]; images: string[] }
    withWords(value: any, words: string): any
    fit(width: number, height: number): { width: number; height: number; whole: boolean }
    isImage(file: { type: string }): boolean
    isPlainImage(type: string): boolean
  }
}
