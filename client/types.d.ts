// What the modules of js/core and js/io are, for `tsc` and for people. The page never loads this file.
// A factory is checked against its entry in `Modules`, and whoever depends on the module sees that entry.

type Deps<D extends readonly string[]> = { -readonly [I in keyof D]: D[I] extends keyof Modules ? Modules[D[I]] : any }
type Made<N extends string> = N extends keyof Modules ? Modules[N] : unknown

declare var yaa: {
  define<N extends string, const D extends readonly string[]>(name: N, deps: D, factory: (...deps: Deps<D>) => Made<N>): void
  use<N extends string>(name: N): N extends keyof Modules ? Modules[N] : any
  /** Loads a group of scripts and styles that index.html keeps in a template, or all of them. */
  load(group?: string): Promise<void>
  part(purpose: string): Promise<any>
  parts(purpose: string): { name: string; group?: string }[]
  /** What the error of a script that did not come says, in the language of the page. */
  lacking?: () => string
  source(): string
}

// -- the session document (docs/reference/session.md); unknown keys are kept, so every type is open --

type Json = any
interface Session { id: string; messages: Message[]; calls?: Record<string, Entry>; interrupts?: Interrupt[]; [key: string]: Json }
interface Message { id: string; role: string; content: Json; tool_calls?: ToolCall[]; tool_call_id?: string; open?: boolean; [key: string]: Json }
interface ToolCall { id: string; type: string; function: { name: string; arguments: string }; [key: string]: Json }
interface Entry { name?: string; state: string; attempt?: number; args?: Json; [key: string]: Json }
interface Answer { status: 'resolved' | 'cancelled'; payload?: Json }
interface Interrupt { id: string; reason: string; call_id?: string; message?: string; answer?: Answer; [key: string]: Json }
/** What typed text does: `later` waits until the question is answered, `stays` is not sent; `why` and `choices` say it. */
interface TypedAnswer { kind: 'allow' | 'deny' | 'answer' | 'later' | 'stays'; payload?: Json; why?: string; choices?: string[] }
interface Marks { [callId: string]: Entry }
/** A path that was set aside; what it is made of is told in core/branch-tree. */
interface Branch {
  id: string; at: string; messages: Message[]; state: Record<string, Json>; calls: Record<string, Entry | null>
  name?: string; favourite?: boolean; fresh?: Fresh
}
/** Until a run has gone on from a path: what was changed in it, and what it was made from. */
interface Fresh { edits: number; aside: number; from?: string }
interface Tree {
  branches: Branch[]
  /** of the active path */
  active?: { id?: string; name?: string; favourite?: boolean; fresh?: Fresh }
}
/** An AG-UI event. */
interface YaaEvent { type: string; [key: string]: Json }

// -- core --

interface CallItem { call: ToolCall; entry?: Entry; result?: Message; interrupt?: Interrupt }
interface Item { message: Message; cut: boolean; calls: CallItem[] }

type Why =
  | { kind: 'empty' | 'ready' | 'running' | 'completed' }
  | { kind: 'awaiting'; open: Interrupt[] }
  | { kind: 'limit' | 'model_error'; interrupt?: Interrupt }
  | { kind: 'failed'; message?: Message }
  | { kind: 'cut'; message?: Message }

interface SseDecoder { feed(chunk: Uint8Array): string[]; ids: string[]; comments: number }

type Block =
  | { type: 'paragraph'; children: Inline[] }
  | { type: 'heading'; level: number; children: Inline[] }
  | { type: 'code'; text: string; lang: string; info: string; open?: boolean }
  | { type: 'quote'; alert?: string; children: Block[] }
  | { type: 'details'; shown: boolean; summary: Inline[]; children: Block[] }
  /** `n`: its number in the text, 0 if another note has its name */
  | { type: 'footnote'; n: number; children: Inline[] }
  | { type: 'list'; ordered: boolean; start: number; tight: boolean; items: { checked: boolean | null; children: Block[] }[] }
  | { type: 'table'; align: (null | 'left' | 'center' | 'right')[]; head: Inline[][]; rows: Inline[][][] }
  | { type: 'rule' }
  | { type: 'html'; text: string }
  | { type: 'math'; text: string; display: true }
type Inline =
  | { type: 'text' | 'code' | 'cite'; text: string }
  | { type: 'math'; text: string; display: boolean }
  | { type: 'break' }
  | { type: 'note'; n: number; text: string }
  | { type: 'emphasis' | 'strong' | 'strike' | 'kbd' | 'sub' | 'sup'; children: Inline[] }
  /** `host`: where it leads, if its text is the address of another one */
  | { type: 'link'; href: string; title: string; host?: string; children: Inline[] }
  | { type: 'image'; src: string; title: string; alt: string }
/** Link reference definitions by their normalized label. */
type References = Map<string, { href: string; title: string; note?: number }>
/** What an answer cites, to be shown: `href` may be opened. */
interface Source { id: string; href: string; host: string; title: string; text: string; date: string; page?: number }
/** A node while its block is being parsed. */
interface InlineNode {
  type: string; text?: string; href?: string; src?: string; title?: string; display?: boolean; n?: number
  prev: InlineNode | null; next: InlineNode | null; first?: InlineNode | null
}
/** A block while it is being parsed; `start` and `end` are lines, counted from 0. */
interface BlockNode {
  type: string; start: number; end: number; children: BlockNode[]; parent: BlockNode | null; lines: string[]; open: boolean
  [key: string]: any
}
interface MarkdownStream { update(text: string, options?: { live?: boolean }): { key: number; node: Block }[] }

/** An element of MathML; `limits`: what is below and above it stands there in inline formulas too. */
interface MathNode { tag: string; attrs?: Record<string, string>; children: (MathNode | string)[]; limits?: boolean }

type SpanKind = 'keyword' | 'string' | 'number' | 'comment' | 'name' | 'added' | 'removed'
interface Totals {
  prompt: number; completion: number; total: number; reasoning: number; cached: number
  cost_micro: number; cost_unit: string; calls: number; ms: number; first_ms: number; estimated: boolean
}

// -- io --

interface Failure {
  name: 'ApiError' | 'NotLoaded'; kind: 'network' | 'busy' | 'foreign' | 'refused' | 'cut' | 'aborted'
  /** 0 where the server has not said it */
  status: number; code: string; message: string
  pointer: string; errors: { pointer: string; detail: string }[]; retryAfter: number | null; url: string
  /** of an upload, where it says so: bytes that are there */
  received?: number
  /** Why a sign-in failed, as docs/reference/errors.md lists it. */
  reason?: string
  /** The whole refusal, if it was the server's. */
  facts?: any
}
/** `silence`: ms in which something has to be heard; `retry`: it may be sent twice, as GET and HEAD may; `stream`: the caller reads it as it comes */
interface RequestOptions extends RequestInit { silence?: number; retry?: boolean; stream?: boolean }
interface Api {
  readonly base: string
  readonly key: string
  /** any route, with its whole answer; whatever is no success is thrown as a Failure */
  request(path: string, options?: RequestOptions): Promise<Response>
  /** the JSON of an answer; with a `body`, which becomes JSON, by POST if nothing else is said */
  ask(path: string, options?: Omit<RequestOptions, 'body'> & { body?: any }): Promise<any>
  health(signal?: AbortSignal): Promise<any>
  info(signal?: AbortSignal): Promise<any>
  run(session: Session, options?: { signal?: AbortSignal }): Promise<Response>
  hold(session: Session): Promise<void>
  stop(id: string, signal?: AbortSignal): Promise<{ stopped: boolean; running?: boolean; detail?: string }>
  file(id: string, path: string, folder?: string): Promise<Blob>
  /** what it runs goes on without this page */
  readonly lasting?: boolean
}
interface Bases {
  hold(session: Session): Promise<void>
  shortened(session: Session): Session | null
  run: Api['run']
}
type Health = 'ok' | 'bad' | 'unknown'
interface Explanation {
  cause: 'server' | 'key' | 'cors' | 'permission' | 'mixed' | 'slow' | 'busy' | 'foreign' | 'cut' | 'other'
  error: Failure
  checks: { server: Health; key: Health; cors: Health; permission: Health }
}

/** Of a lease: it may be over, and its holder alive all the same. */
type Whose = 'mine' | 'over' | 'held'

/** Short messages between the tabs of this client. */
interface Channel { send(message: Json): void; listen(callback: (message: any) => void): () => void }

interface RunState {
  phase: 'idle' | 'posting' | 'streaming' | 'stopping' | 'lost' | 'interrupted' | 'done'
  reason?: 'queued' | 'awaiting' | 'limit' | 'model_error' | 'stopped' | 'refused' | 'gave_up' | 'completed' | 'failed'
  attempt: number
  resumed: number
  /** when it began to wait for an answer; while it streams, the last sign of the server */
  since?: number
  /** What the server waits for. */
  wait?: any
  /** The server has not confirmed the stop; why, where it said so. */
  unconfirmed?: string
  wait_ms?: number
  retry_at?: number
  error?: Failure
  diverged?: { server: string; client: string }
}
interface RunOptions {
  api: Api
  store?: Pick<Store, 'put' | 'append'>
  onEvent?: (event: YaaEvent, session: Session) => void
  onState?: (state: RunState) => void
  /** Calls back when waiting may have ended: back online, visible again. Returns how to stop listening. */
  wake?: (callback: () => void) => () => void
  delays?: number[]
  silence_ms?: number
  timers?: Timers
}
interface Timers { now(): number; set(callback: () => void, ms: number): any; clear(timer: any): void }
interface Run {
  readonly session: Session
  readonly state: RunState
  /** what may have begun, for whoever stores the session meanwhile */
  readonly marks: Marks
  readonly output: Map<string, string>
  /** what was heard, and when */
  readonly events: { at: number; event: YaaEvent }[]
  readonly done: Promise<RunState>
  /** what it asks */ api?: Api
  /** a request of it may have reached the server, which `stop` tells then */ readonly posted: boolean
  stop(): void
  retryNow(): void
  /** goes on by another way */ move?(api: Api): void
}

interface Head { id: string; title: string; status: string; updated: number; said?: number; messages: number; waiting: number; pinned?: boolean; tags?: string[]; archived?: number; mark?: string; badge?: [words: string, title: string, classes?: string]; note?: string }
interface StoreError { code: 'quota' | 'blocked' | 'newer' | 'failed' | 'unread' | 'damaged' | 'cleared'; message: string }
/** A change of a session as a plain value (core/session-changes). */
interface SessionChange { kind: 'set' | 'answer' | 'say'; [key: string]: any }
interface Store {
  readonly kind: 'idb' | 'memory'
  /** Why it is in memory only. */
  readonly trouble?: StoreError
  list(): Promise<Head[]>
  get(id: string): Promise<Session | null>
  /** `stamp` names this write; `taken`: keys of changes that `look` gave, which are in it. False: it failed, and was said to */
  put(session: Session, marks?: Marks, about?: { stamp?: string; taken?: any[]; said?: number }): Promise<boolean | void>
  /** keeps changes beside a session that is being written; true once they are stored */
  post(id: string, changes: SessionChange[]): Promise<boolean | void>
  /** which write of a session is stored, and the changes that wait for it */
  look(id: string): Promise<{ stamp: string; keys: any[]; changes: any[] }>
  append(id: string, event: YaaEvent): void
  flush(): Promise<boolean | void>
  delete(id: string): Promise<Session | null>
  close(): void
}
/** `elsewhere`: another site may have opened it; `pasted`: the person has */
interface SignInLink { address: string; key: string; code: string; elsewhere?: boolean; pasted?: boolean }
interface Settings {
  draft(id: string): string
  setDraft(id: string, text: string): void
  keepFiles(id: string, files: File[]): Promise<boolean>
  get(name: string): any
  set(name: string, value: any): void
  all(): Record<string, any>
  base(): string
  setBase(url: string): void
  key(): string
  setKey(key: string, options?: { remember?: boolean }): void
  keys(): Record<string, string>
  info(): any
  keepInfo(info: any): void
  keepKey(url: string, key: string): void
  takeKeys(more: Record<string, string>): void
  remembers(): boolean
  readonly canRememberSafely: boolean
  takeLink(): SignInLink | null
}

// -- files --

type FileKind = 'text' | 'image' | 'pdf' | 'csv' | 'markdown' | 'other'

// -- tools of the page --

/** A tool that runs in this page (docs/howto/page-tools.md). */
interface PageTool {
  name: string
  /** for the model */
  description: string
  /** JSON Schema of an object; without one it takes no arguments */
  parameters?: Json
  /** text, content parts, or any JSON; what it throws is its error. `signal` is aborted when nobody waits any more. */
  run(args: any, context: { signal: AbortSignal }): unknown
  hints?: { read_only?: boolean; destructive?: boolean; idempotent?: boolean; parallel_safe?: boolean }
  /** false: an action. The model goes on at once and never hears of it. */
  wait?: boolean
  /** a person is asked before each call */
  confirm?: boolean | ((args: any) => boolean)
  /** the browser allows it only in a click: there is a button */
  gesture?: boolean | ((args: any) => boolean)
  /** 30 if nothing is said; 0: as long as it takes */
  timeout_s?: number
  /** one line for the person who switches it on */
  about?: () => string
  /** what the button says */
  label?: () => string
  /** called in the click that switches it on */
  enabled?: () => void
}
interface Outcome { content?: Json; is_error?: boolean; gesture?: boolean }
interface CallRunnerEntry { session: Session; state?: RunState | null }
interface RunningCall { session: string; interrupt: string; controller: AbortController; running: boolean; outcome?: Outcome }
interface CallRunnerOptions {
  enabled(): Record<string, boolean>
  /** the run of this session, until it rests */
  going(entry: any): Promise<any> | null
  /** resolves when the session is kept; null: what was heard of any */
  save(entry: any, work?: (session: Session) => void): Promise<any>
  answer(entry: any, answers: [string, Answer][]): void
  /** something a card shows is different */
  changed(entry: any): void
  /** an action went wrong */
  failed(tool: PageTool, why: string): void
}
interface CallRunner {
  onStart(entry: CallRunnerEntry): void
  onEvent(entry: CallRunnerEntry, event: YaaEvent): void
  onRest(entry: CallRunnerEntry): void
  run(entry: CallRunnerEntry, interrupt: Interrupt): Promise<void>
  stop(entry: CallRunnerEntry, interrupt: Interrupt): void
  status(entry: CallRunnerEntry, interrupt: Interrupt): 'running' | 'waiting' | 'click' | 'begun'
  toolFor(interrupt: { tool?: string }): PageTool | null
}

// -- the registry --

interface Modules {
  'ext/device-link/qr': { encode(text: string, mask?: number): number[][] | null }
  'core/ids': { uuid(): string; id(kind: string): string }
  'core/canonical-json': { canonical(value: Json): string; equal(a: Json, b: Json): boolean }
  'core/crc32': { crc32(input: string | Uint8Array): string }
  'core/sha256': { sha256(input: string | Uint8Array): string }
  'core/patch': {
    parsePointer(path: unknown): string[] | null
    pointer(...parts: (string | number)[]): string
    patch(root: Json, operation: Json, parts: string[]): void
    put(target: object, key: string, value: Json): void
    own(value: Json): Json
    isObject(value: any): value is Record<string, any>
    parseJson(text: any, otherwise?: any): any
  }
  'core/fold': { fold(session: Session, event: YaaEvent): void; digest(session: Session, since?: number): string; entriesOf(session: Session, messages: Message[]): Record<string, Entry> }
  'core/client-tools': {
    register(tool: PageTool): () => void
    get(name: string): PageTool | undefined
    all(): PageTool[]
    declare(enabled: Record<string, boolean>, taken: Iterable<string>): Json[]
    perform(tool: PageTool, args: Json, signal: AbortSignal): Promise<Outcome>
    gestureNeeded(): Error
    openCallRunner(options: CallRunnerOptions): Desk
  }
  'core/session-defaults': {
    prepare(session: Session, settings: Pick<Settings, 'get' | 'keys'>, info: Json): void
    defaultsOf(settings: Pick<Settings, 'get' | 'keys'>): Json
    keepDefaults(settings: Pick<Settings, 'set' | 'keepKey'>, config: Json): void
    withRule(entry: Json, rule: string): Json
    pause(session: Session, on: boolean): void
    endPause(session: Session): void
    release(session: Session): void
    isOwn(provider: Json): boolean
    secretOf(provider: Json): string
    hasRealModel(config: Json, info: Json): boolean
  }
  'core/session': {
    titleOf(session: Session): string
    create(options?: { id?: string; title?: string; character?: string; agent?: string; config?: Json; tools?: Json[]; now?: number }): Session
    append(session: Session, content: Json, options?: { id?: string; now?: number }): Message
    openInterrupts(session: Session): Interrupt[]
    questionsOf(session: Session): Interrupt[]
    answeredInterrupts(session: Session): Interrupt[]
    answer(session: Session, id: string, answer: Answer | null): boolean
    writeAhead(session: Session): Marks
    applyMarks(session: Session, marks: Marks): Session
    items(session: Session, options?: { live?: boolean; given?: Map<string, Answer> }): Item[]
    stopReason(session: Session, options?: { live?: boolean }): Why
    canResume(session: Session): boolean
    endedBy(message: Json): "" | "length" | "filter" | "broken" | "empty"
    treeOf(session: Session): Tree
    orderOf<T extends { messages: Message[] }>(branches: T[]): T[]
    siblings(session: Session): Map<string, (string | null)[]>
    callsOf(message: Message | undefined): ToolCall[]
    hasBegun(entry: Entry | null | undefined): boolean
    wellFormed<T>(content: T): T
    markContinued(session: Session): void
    asksAlways(session: Session): boolean
  }
  'core/branch-tree': {
    beginBranch(session: Session, index: number, messages?: Message[], how?: { edits?: number }): { aside: number }
    switchTo(session: Session, id: string): boolean
    remove(session: Session, id: string): Branch[]
    restore(session: Session, branches: Branch[]): void
    merge(session: Session, other: Session): number | null
    labelBranch(session: Session, id: string | null, changes: { name?: string; favourite?: boolean }): void
    pathOf(session: Session, id: string): Message[] | null
    listBranches(session: Session): { id: string | null; depth: number; at: string; messages: Message[]; name: string; favourite: boolean; state: any }[]
    BRANCH_KEYS: string[]
  }
  'core/grant-patterns': {
    matches(text: string, pattern: string): boolean
    allows(text: string, pattern: string, format?: string): boolean
    covers(grant: { tool: string; match?: Record<string, string> }, name: string, args: Json, formats?: Record<string, string>): boolean
    formatsOf(parameters: Json): Record<string, string>
    usual: Record<string, string>
    suggest(args: Json, formats?: Record<string, string>): { key: string; value: string; pattern: string; exact: string; on: boolean }[]
    earlierCalls(session: Session, grant: { tool: string; match?: Record<string, string> }, except?: string, formats?: Record<string, string>): ToolCall[]
  }
  'core/shell-commands': {
    covers(text: string, pattern: string): boolean
    isPlain(text: string): boolean
  }
  'core/large-session': { pictures(session: Session): { n: number; bytes: number }; leaveOut(session: Session): void }
  'core/message-edits': {
    fork(session: Session, id: string): boolean
    retry(session: Session, id: string): boolean
    takeBack(session: Session): Message | false
    editMessage(session: Session, id: string, content: Json, when?: { now?: number }): boolean
    editArguments(session: Session, callId: string, args: Json, when?: { now?: number }): boolean
    takesFilesBack(session: Session, change: (session: Session) => any): boolean
    editResult(session: Session, callId: string, result: { value: Json; isError?: boolean }, when?: { now?: number }): boolean
    forkSession(session: Session, id: string, how?: { title?: string; now?: number }): Session
  }
  'core/sse': { Decoder: new () => SseDecoder }
  'core/markdown-links': {
    unescape(text: string): string
    entity(text: string, at: number): string
    label(text: string): string
    readLabel(text: string, at: number): string | null
    readInlineTarget(text: string, at: number): { href: string; title: string; end: number } | null
    readDefinition(text: string): { label: string; href: string; title: string; end: number } | null
    bareEnd(text: string, at: number): number
    readDollars(text: string, at: number): { text: string; end: number } | null
    readFormula(text: string, at: number, mark: string, ends: Map<string, number>): { text: string; end: number } | null
    match(pattern: RegExp, text: string, at: number): string
    trimSpaces(text: string): string
    characterBefore(text: string, at: number): string
  }
  'core/markdown-nodes': {
    leaf(type: string, text?: string): InlineNode
    wrap(before: InlineNode, after: InlineNode, type: string): void
    plainText(first: InlineNode | null | undefined): string
    collect(first: InlineNode | null): Inline[]
  }
  'core/markdown-inline': { inline(text: string, references: References): Inline[] }
  'core/markdown-blocks': { parseBlocks(text: string): BlockNode[]; definitionsEnd(text: string, found?: (definition: any) => void): number }
  'core/markdown': { parse(text: string): Block[]; stream(): MarkdownStream }
  'ext/math/tex': { parse(source: string): MathNode | null }
  'ext/math/tex-symbols': {
    LETTERS: Record<string, string>; OPERATORS: Record<string, string>; SUMS: Record<string, string>; INTEGRALS: Record<string, string>
    FUNCTIONS: Set<string>; LIMITS: Record<string, string>; ACCENTS: Record<string, string>; UNDERS: Record<string, string>
    SPACES: Record<string, string>; ALPHABETS: Record<string, number[]>; letterIn(char: string, alphabet: string): string
    AROUND: Record<string, [string, string]>; PAIRS: Set<string>; COLUMNS: Record<string, string>; SWITCHES: Map<string, string>; FENCE: Set<string>
    LETTER_SIZES: Set<string>; LONG_ARROWS: Record<string, string>; STYLES: Map<string, string>; TEXT: Set<string>; UNITS: Record<string, number>
    node(tag: string, children: (MathNode | string)[], attrs?: Record<string, string>): MathNode; row(nodes: MathNode[]): MathNode
    operator(sign: string, attrs?: Record<string, string>): MathNode; space(em: number): MathNode; over(above: MathNode, below: MathNode, choose: boolean): MathNode
  }
  'core/safe-urls': { link(url: string): string | null; otherHost(words: string, href: string): string; image(url: string): { src: string; remote: boolean; host: string } | null }
  'core/sources': {
    idOf(mark: string): string | null
    find(session: Session, id: string, within?: string): Source | null
  }
  'core/highlight': { spans(text: string, lang: string): [SpanKind, number, number][]; languageOf(info: string): string }
  'core/usage': {
    ofMessage(message: Message): Totals
    ofSession(session: Session): Totals
    money(micro: number, unit?: string, language?: string): string
    short(n: number, language?: string): string
  }
  'core/message-format': { format(pattern: string, values?: Record<string, any>, language?: string): string }
  'core/workspace-stand': { standOf(session: Session): string | null; treeOf(message: any): string }
  'core/file-names': {
    isJunk(path: string): boolean
    hiddenParts(words: string): { text: string; hidden: boolean }[]
    visible(name: string): string
    baseName(path: string): string
    folderOf(path: string): string
    kindOf(path: string): FileKind
    pictureType(path: string): string
    isText(bytes: Uint8Array): boolean
    mentionAt(text: string, caret: number): { from: number; typed: string } | null
    mentionOf(path: string): string
    linkedPath(address: string, known?: readonly string[]): string
    bestMatches(paths: readonly string[], typed: string, most: number): string[]
  }
  'io/changes': { once<T>(change: string, send: (headers: Record<string, string>) => Promise<T>): Promise<T> }
  'io/api': {
    create(options: { base: string; key?: string; fetch?: typeof fetch; timers?: Pick<Timers, 'set' | 'clear'>; onAnswer?: () => void }): Api
    failure(error: any, url: string, begun?: boolean): Failure
    speak(words: (name: string, values: { detail: string }) => string): void
    pause(ms: number, signal?: AbortSignal | null, timers?: Pick<Timers, 'set'>): Promise<void>
  }
  'io/session-base': { create(post: Api['run']): Bases }
  'io/run-stream': {
    start(session: Session, options: RunOptions): Run
    /** takes live output of a call; false: it is none */
    hear(output: Map<string, string>, event: YaaEvent): boolean
  }
  'io/store-memory': { open(): Store; headOf(session: Session, updated: number, said?: number): Head; readHead(head: any): Head; later(a: Head, b: Head): number }
  'io/store-idb': { open(options?: StoreOptions): Promise<Store> }
  'io/settings': {
    open(options?: { storage?: Storage | null; tab?: Storage | null; location?: Location }): Settings
    linkOf(words: string): { address: string; key: string; code: string }
  }
  'io/tab-channel': { open(name?: string): Channel & { close(): void } }
  'io/idb-transaction': {
    transact(database: IDBDatabase, tables: string[], mode: IDBTransactionMode, work: (tables: Record<string, IDBObjectStore>) => IDBRequest[] | void): Promise<any[]>
    openDatabase(name: string, make: (made: IDBDatabase) => any, indexedDB?: IDBFactory): Promise<IDBDatabase>
    lazyDatabase(name: string, make: (made: IDBDatabase) => any): (tables: string[], mode: IDBTransactionMode, work: (tables: Record<string, IDBObjectStore>) => IDBRequest[] | void) => Promise<any[]>
    factory(): IDBFactory | null
  }
  'io/lock': { create(options?: { locks?: LockManager | null; indexedDB?: IDBFactory | null; channel?: Channel }): { acquire(name: string): Promise<(() => any) | null> }; slots(options: { acquire: (name: string) => Promise<(() => void) | null>; wake?: (callback: () => void) => () => void; again_ms?: number }): Slots }
  'io/clipboard': { copy(text: string): Promise<boolean> }
  'io/unzip': { isZip(file: Blob): Promise<boolean>; texts(file: Blob, wanted: (name: string) => boolean): AsyncGenerator<{ name: string; text: string }>; files(file: Blob, wanted: (name: string) => boolean): AsyncGenerator<{ name: string; bytes: Uint8Array<ArrayBuffer> }> }
  'io/download': { blob(name: string, content: Blob): void; text(name: string, content: string, type?: string): void; json(name: string, value: Json): void; nameFor(session: Session, extension: string): string }
}

/** A shape of a diagram: an element of SVG without any behaviour. */
interface DiagramShape { tag: string; kind: string; text?: string; attrs: Record<string, string | number> }
interface Diagram { width: number; height: number; shapes: DiagramShape[] }
