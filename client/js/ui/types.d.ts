/** What the views share, and what each module of js/ui gives the others. */

/** A piece of the page: its element, how to bring it up to date, what to do when it goes. */
export interface View<T = any> {
  el: any
  update(item: T): void
  destroy?(): void
}

/** What the server said about itself, or why it said nothing. */
export interface ServerState {
  url: string
  hasKey: boolean
  checking: boolean
  ok: boolean
  version?: string
  tier?: string
  command: string
  failure?: { kind: Explanation['cause']; detail?: string; checks: Explanation['checks'] }
}

/** Of the server, on a session: what is no mistake, but hardly meant. The facts that it names come beside its words. */
export interface Remark { code?: string; message: string; [fact: string]: any }

/** An open session and the run that is writing it, if one is. */
export interface Entry {
  session: Session
  run: Run | null
  state: RunState | null
  /** its run, from its first moment until it has come to rest */
  going: Promise<any> | null
  /** answers that wait until then */
  given: Map<string, Answer>
  /** another tab is running it */
  elsewhere?: boolean
  /** and sends what happens in it: `run` has its output, and stops it */
  mirrored?: boolean
  /** changes that this tab has not stored yet */
  later: SessionChange[]
  /** changes that wait in the store for who has its lock next */
  stored: SessionChange[]
  /** which write of it this tab knows */
  stamp?: string
  /** its run has its lock, and has read what was stored: before, nothing is written */
  locked?: boolean
  /** its run was begun elsewhere, and is only followed here: nothing of this browser goes into it */
  watched?: boolean
}

/** An agent a session can name. `first`: that of a session which names none. */
export interface AgentOffer { name: string; label: string; title: string; first: boolean }
/** A provider a session can name. `first`: what the server takes when none is named. */
export interface Offer { name: string; label: string; demo: boolean }
export interface ToolRule { name: string; description: string; policy: 'run' | 'ask' | 'deny'; readOnly: boolean; unavailable: string }

/** A row of a menu. `label`: words or an element; `checked`: of rows of which one is chosen. */
export interface MenuEntry { label: any; icon: string; danger?: boolean; checked?: boolean; disabled?: boolean; action: () => void }

/** One line above the composer. */
export interface Line { text: string; tone?: string; busy?: boolean; icon?: string; action?: string; until?: number }

/** Everything the views are drawn from; made anew for each drawing. */
export interface State {
  session: Session
  /** for display; only those of the last turn when `whole` is false */
  items: Item[]
  outputs: Map<string, string>
  /** is a run of this session going on? */
  live: boolean
  /** false while an answer streams in: only the last turn changed, and nothing of what follows here is given */
  whole: boolean
  title: string
  line: Line | null
  /** what waits to be said when the run has ended */
  queue: { id: string; content: any }[]
  server: ServerState
  sideOpen: boolean
  sessions: { id: string; title: string; when: string; updated: number; current: boolean; mark: string; pinned: boolean; tags: string[]; archived: boolean; temporary: boolean }[]
  models: Offer[]
  provider: string
  agents: AgentOffer[]
  agent: string
  demo: boolean
  info: any
  onDisk: boolean
  settings: Record<string, any>
}

export type How = 'pushState' | 'replaceState'

/** What views can do; made in ui/app. */
export interface Actions {
  /** later: it waits its turn, as under a run */
  send(text: any, id?: string, later?: boolean): void
  stop(): void
  goOn(): void
  answer(id: string, answer: Answer | null): void
  answerAll(answers: [string, Answer | null][]): void
  newSession(): void
  /** Focus the message field. */
  write(): void
  open(id: string, how?: How): void
  rename(id: string, title: string): void
  remove(id: string): void
  draft(text: string, draft: string): void
  /** stores files before the scripts that show them are there; whether it could */
  keepFiles(draft: string, files: File[]): Promise<boolean>
  connect(): void
  set(changes: Record<string, any>): void
  /** kept for new sessions, and written into the open one: see ui/session-choices */
  choose(what: string, ...rest: any[]): Promise<void>
  /** in all sessions from their next run on; in the open one it is written at once, or when its run has ended */
  pause(on: boolean): void
  setAgent(name: string): void
  openSettings(tab?: string): Promise<void>
  draw(): void
  /** groups of calls, once their scripts are there */
  work: Modules['ui/work/groups'] | null
  /** makes links of the citations that name a source of the open session */
  cite(marks: any[]): void
  toggleSide(): void
  /** a file that a tool of the open session made, from the server that has it; `asked`: a person has pressed for it */
  file(path: string, asked?: boolean): Promise<Blob>
  /** an action of ui/branch-actions, by name */
  branch(name: string, ...rest: any[]): Promise<any>
  asking: Asking
  queue: App['queue']
  setTemporary(on: boolean): void
}

/** What a card that asks may do beside answering. */
export interface Asking {
  approvalMenu(anchor: any, interrupt: any, asked: { tool: string; args: any; answer: (payload: any) => void; place: any }): void
  /** which calls like this one need not be asked about again; null for none at one press */
  offer?(asked: { interrupt: any; tool: string; args: any }): Promise<{ match: Record<string, string>; words: string } | null>
  choose(what: string, ...rest: any[]): Promise<void>
  /** what is striking about a call; null for nothing */
  marks?(tool: string, args: any, changes?: any): Promise<any>
  /** an editor for arguments, as a form and as JSON */
  valueField(args: any): Promise<Field>
  /** what a call would change, drawn; null where names and values say it best. `of`: its session, if that is not open */
  picture?(tool: string, args: any, of?: Session): Promise<any>
  /** the messages that take the most room, to be opened */
  largest?(interrupt: any, again: () => void): Promise<any>
  limits(): void
  chooseModel(): void
  changeKey(): void
  costUnit(): string
  /** Are other questions of the open session unanswered? */ others(): boolean
  api(): Api
}

/** A page that holds one session: which, what stands at its foot until there is a server, what has to wait for one. */
/** A session from elsewhere, once it is stored, and what was taken out of it; `beside`: another state of it was here. */
export interface ImportedSession { id: string; title?: string; removed: Removed[]; beside?: boolean }

export interface StandalonePage { id: string; foot(app: App, actions: Actions, composer: any): any; hold(app: App, actions: Actions): Actions }

/** What a command works on. `state()` is made when it is asked for. */
export interface CommandContext {
  app: App
  actions: Actions
  state(): State
  /** loads the table of commands, which comes after the page */
  more?(): Promise<any>
}
/** Something the app can do: see ui/commands. */
export interface Command {
  id: string
  /** key of its text, or what makes its text */
  title: string | (() => string)
  icon?: string
  /** `Mod+K` (Ctrl or ⌘) works everywhere; `?` and the pair `g a` only outside of fields */
  keys?: string | string[]
  /** its word after `/` in the composer; with `rest`, `run` gets the rest of the line */
  slash?: string
  rest?: boolean
  /** is it in the menu of the open session? */
  /** That of a session with messages, or of an empty one. */
  menu?: 'session' | 'empty'
  /** The row of a message's menu, null where it is none of this one's. */
  entry?(message: Message): MenuEntry | null
  danger?: boolean
  /** only for other parts of the page */
  hidden?: boolean
  when?(context: CommandContext): boolean
  run(context: CommandContext, ...rest: any[]): any
}

/** What others do at the turns of a run. */
export interface Hooks {
  /** The run waits for what it returns. */
  onStart(entry: Entry): any
  onEvent(entry: Entry, event: YaaEvent): void
  onRest(entry: Entry): void
  /** Another tab has deleted it; true if it is shown all the same. */
  onGone?(entry: Entry): boolean
  /** A session that is not in this browser, once it is stored here. */
  fetch?(id: string): Promise<Session | null | undefined>
  /** Before a session is deleted; the one that was elsewhere. What it throws keeps the session. */
  onRemove?(id: string): Promise<Session | null | undefined>
  /** What the list shows: with those that are elsewhere. */
  rows?(heads: Head[]): Head[]
}

export interface SessionStore {
  refresh(): Promise<void>
  open(id: string): Promise<Entry | null>
  fresh(): Entry
  setTemporary(entry: Entry, on: boolean): void
  send(entry: Entry, words: any, queued?: string): void
  queue(entry: Entry, id: string, content?: any): void
  answer(entry: Entry, answers: [string, Answer | null][]): Promise<void>
  retry(entry: Entry): void
  edit<T>(entry: Entry, work: (session: Session) => T): Promise<T | null>
  mark<T>(entry: Entry, work: (session: Session) => T): Promise<T | null>
  amend(entry: Entry, work: (session: Session) => any): Promise<any>
  rename(id: string, title: string): Promise<void>
  change(id: string, edit: (session: Session) => void, quiet?: boolean): Promise<void>
  remove(id: string, quiet?: boolean): Promise<Session | null>
  /** `said`: when it was, of one from elsewhere */
  restore(session: Session, quiet?: boolean, said?: number): Promise<boolean>
  changed(...ids: string[]): Promise<void>
  heads(): Head[]
  /** these, and those that are elsewhere */
  listed(): Head[]
  entry(id: string): Entry | undefined
  /** whether the tab that had it is gone: then what it left is read */
  /** Store what waits: `waits` also what other tabs left. True: it is made. */
  settle(entry: Entry, waits?: boolean, quiet?: boolean): Promise<any>
  redraw(id: string, whole: boolean): void
  hooks: Hooks[]
}

export interface ServerLink {
  connect(): Promise<void>
  /** asks again what there is, without a word about it */
  refresh(): Promise<void>
  /** the same after an outage, if it has been asked before */
  again(): void
  /** when /info has come for the first time; never without a server */
  ready: Promise<void>
  api(): Api
  state(): ServerState
  info(): any
}

/** What the parts of ui/app share. */
export interface App {
  settings: Settings
  server: ServerLink
  sessionStore: SessionStore
  store: Store
  current: Entry
  /** an earlier moment of the session that is looked at, instead of how it is */
  past: Session | null
  /** called after each drawing */
  watchers: Set<(state: State) => void>
  queue: ReturnType<Modules['ui/composer-notices']['queueOf']>
  /** the page holds one session of its own */
  standalone?: StandalonePage
  /** is the side panel open on a narrow screen? */
  drawer: boolean
  views: any
  show(entry: Entry, how?: How): void
  draw(): void
  /** at once, not with the next frame */
  drawNow(): void
  mount(): Promise<void> | undefined
}

export interface Field<T = any> { el: any; read(): { ok: boolean; value?: T }; focus(): void }

declare global {
  interface Modules {
    'i18n/en': Record<string, string>
    'i18n/zh': Record<string, string>
    'ui/dom': {
      h(selector: string, props?: Record<string, any> | null, ...children: any[]): any
      attr(el: Element, name: string, value: any): void
      hide(el: any, hidden: boolean): void
      text(el: Node, value: string): void
      fill(el: Element, ...children: any[]): void
      grow(el: Element, value: string): void
      icon(name: string, className?: string): SVGElement
      iconButton(name: string, label: string, props: Record<string, any>, classes?: string): any
      list(parent: Element, items: readonly any[], keyOf: (item: any, index: number) => string, make: (item: any) => View, from?: number): Map<string, View>
      uid(prefix: string): string
      fromRight(text: string): boolean
      css(parts: TemplateStringsArray): CSSStyleSheet
    }
    'ui/i18n': {
      t(key: string, values?: Record<string, any>): string
      use(wanted: string): Promise<Error | null>
      extend(more: Record<string, Record<string, string>>): Modules['ui/i18n']
      count(n: number): string
      duration(ms: number): string
      moment(ms: number): string
      words(text: string): number
      language(): string
    }
    'ui/suggestions': {
      suggestions(el: any, given: { key: (one: any) => string; option: (one: any) => View; choose: (one: any) => void }): {
        show(field: any, next: any[]): boolean; close(): void; onkeydown(event: KeyboardEvent): boolean; hover(one: any): void; first(): any
      }
    }
    'ui/popup': {
      toast(message: string, options?: { label?: string; action?: () => void; bad?: boolean }): void
      say(message: string, bad?: boolean): void
      copy(text: string, button: any): void
      openMenu(anchor: any, entries: MenuEntry[], label?: string): void
    }
    'ui/form': {
      jsonField(options: { label: string; value?: any; object?: boolean }): Field & { write(value: any): void }
      schemaForm(schema: any, code?: boolean): Field<Record<string, any>>
      isFlat(schema: any): boolean
    }
    'ui/code-block': { codeBlock(options?: { plain?: boolean }): View<{ text: string; lang?: string; spans?: [string, number, number][] }> }
    'ui/markdown-view': { markdownView(cite?: (marks: any[]) => void): View<string> }
    'ext/citations/cite': { draw(marks: any[], sessionOf: () => Session): void }
    'ui/interrupt-cards': {
      interruptCard(interrupt: Interrupt, actions: Actions, call?: ToolCall): View<Interrupt>
      argsList(args: Record<string, any>): any
      /** an object, or the text itself where it isn't JSON */
      parseArgs(source: any): any
      /** words in which nothing is invisible or turns the direction of what follows */
      escapeControls(words: string): string
      /** the inside of a card by the reason of its interrupt */
      bodies: Record<string, (interrupt: any, answer: (payload: any, status?: string) => void, call?: any, does?: any) => {
        icon: string; title: string; text?: string; content: any[]; update?(interrupt: any): void
      }>
      declineForm(answer: (payload: any, status?: string) => void, back: () => void): { el: any; show(): void }
      callArgs(interrupt: any, call: any): any
      button(key: string, classes: string, onclick: () => void): any
    }
    'ui/question-cards': Record<never, never>
    'ui/mcp-sign-in-card': Record<never, never>
    'ui/mcp-sign-in': {
      signInButton(api: () => Api, server: string, style: string, back: () => void): { start: any; note: any; end(): void }
      signInsPart(actions: Actions): View
      listed(api: Api): Promise<{ server: string; host: string; state: string; interactive: boolean; issuer?: string; scopes?: string[] }[]>
    }
    'ui/tool-card': { toolCard(actions: Actions): View, filesUnder(place: any, part: string, make: (module: any) => any): (all: any) => Promise<void> }
    'ui/message': { messageView(item: any, actions: Actions): View; plainText(content: any): string }
    'ui/connection-checks': {
      failureView(actions: Actions): View<State>
      emptyView(actions: Actions): View<State>
      toneOf(server: ServerState): string
      wordsOf(server: ServerState): string
    }
    'ui/typed-answer': { open(context: CommandContext, area: any, hasFiles: () => boolean): { update(session: Session | null, command?: boolean): void; take(words: string): 'message' | 'later' | 'stays' | 'answered' } }
    'ui/approve-all': { allBar(actions: Actions): { el: any; update(interrupts: any[]): void } }
    'ui/thread': { threadView(actions: Actions): View<State> & { toEnd: any; follow(): void; showAsk(): void; reveal(id: string): HTMLElement | null } }
    'ui/composer': { draftOf(session: Session): string; isSendKey(event: KeyboardEvent): boolean; composerView(actions: Actions): View<State> & { write(words: string): void; insert(words: string): void; read(): string; attach(files: File[]): Promise<void>; pick(): void; bringBack(): void; focus(): void } }
    'ui/sidebar': { sidebarView(actions: Actions): View<State> & { search(): void }; headerView(actions: Actions): View<State> }
    'ui/tool-rules': { toolsOf(info: any): ToolRule[] }
    'ui/settings': { settingsDialog(actions: Actions): View<State> & { show(tab?: string): void } }
    'ui/client-tools': { open(app: App, store: Store): void; switches(actions: Actions): View<any> }
    'ui/builtin-tools': Record<never, never>
    'ui/focus-recovery': { start(context: CommandContext): void }
    'ui/mode-picker': { start(context: CommandContext): void }
    'ui/permission-picker': { start(context: CommandContext): void }
    'ui/server-warnings': { start(context: CommandContext): void; warningText(remark: Remark): string; remarks(session: Session): Remark[]; versionRemark(server: ServerState): Remark[]; VERSION: string }
    'ui/run-announcement': { announce(entry: Entry): void }
    'ui/large-session': { start(context: CommandContext): void; isTooLarge(entry: Entry): boolean }
    'ui/wait-line': { start(context: CommandContext): void; waitText(wait: any, passed: number): string }
    'ui/status-line': {
      statusLine(entry: Entry): Line | null
      markOf(entry: Entry): '' | 'busy' | 'asking' | 'failed'
    }
    'ui/session-store': {
      openSessionStore(options: {
        store: Store
        api: () => Api
        /** writes the person's settings into a session before it is sent */
        prepare: (session: Session) => any
        /** `whole`: more than its last turn changed */
        onChange: (id: string, whole: boolean) => void
        onEnd: (entry: Entry) => void
        /** a message to a session that another tab runs comes back */
        onUnsaid: (entry: Entry, words: any) => void
        /** A run's line to the server broke. */
        onLost?: () => void
      }): SessionStore
      isActive(entry?: Entry): boolean
      isBusy(entry?: Entry): boolean
    }
    'ui/server-state': {
      openServer(options: { settings: Settings; onChange: () => void }): ServerLink
      explainBy(explain: any): void
      modelsOf(info: any, said: { name?: string; model_name?: string }): Offer[]
      agentsOf(info: any, current: string | undefined, usual: string | undefined): { agents: AgentOffer[]; agent: string }
    }
    'ui/commands': {
      register(command: Command): () => void
      bind(context: CommandContext): void
      context(): CommandContext
      list(): Command[]
      table(): Command[]
      run(id: string, ...rest: any[]): Promise<any>
      find(event: any): Command | null
      onkeydown(event: KeyboardEvent): void
      titleOf(command: Command): string
      keysOf(command: Command): string[]
      label(keys: string): string[]
    }
    'ui/answer-settings': { open(context: CommandContext): void }
    'ui/other-tabs': { start(context: CommandContext): void; losses(app: Pick<App, 'sessionStore' | 'store'>): string[] }
    'ui/session-choices': {
      choose(app: App, entry: Entry, what: string, ...rest: any[]): void
    }
    'ui/view-state': { stateOf(app: App, whole: boolean): State; NARROW: MediaQueryList }
    'ui/app': { startApp(given: { root: HTMLElement; settings: Settings; store: Store; standalone?: StandalonePage }): { start(): Promise<void> } }
    'ui/dialog': { openDialog(given: { title: string; body: any; buttons?: any[]; wide?: boolean; onclose?: () => void }): any; button(label: string, onclick: () => void, look?: string): any }
    'main': { main(): Promise<void> }
  }
}
