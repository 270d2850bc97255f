/** The files of one session, whichever is open. */
export interface Target {
  id: string
  routes: Workspace
  isOpen(): boolean
  /** what the server answered to a change: the document says it, and what is shown of it is asked anew */
  changed(answer: any): Promise<void>
}

/** What the parts of the files panel share. */
export interface Shared {
  app: import('../../ui/types').App
  context: import('../../ui/types').CommandContext
  /** as it is shown: an earlier moment, where the time slider is */
  session(): Session
  routes(): Workspace
  mode(): string
  /** the tree that is shown; undefined: the files as they are */
  tree(): string | undefined
  /** of the server, null until it has answered */
  state(): any
  canWrite(): boolean
  open(path: string, diff?: { from: string; to: string }): void
  list(name: 'tree' | 'changes' | 'layer'): void
  refresh(): Promise<void>
  /** what was to be shown did not come: it is asked for once more in a while */
  again(error: any): void
  target(): Target
  failed(error: any): void
  wordsOf(error: any): string
  upload?(folder: string): void
}

declare global {
  /** `message`: the result that says so */
  interface FileChange { path: string; change: 'added' | 'modified' | 'deleted' | 'mode'; bytes?: number; message?: string; conflict?: boolean; unkept?: boolean; [key: string]: Json }
  interface FilePoint { kind: 'start' | 'turn' | 'call'; tree: string; id: string; words: string }
  interface FileEntry { path: string; kind: string; bytes?: number; mode?: number; modified_ms?: number }
  interface KeptObjects { objects: string[]; bytes: number; left: { count: number; bytes: number } }
  /** The files of one session, on a server. Every failure is an ApiError. */
  interface Workspace {
    list(path: string, options?: { tree?: string; depth?: number; offset?: number; limit?: number }): Promise<{ entries: FileEntry[]; complete: boolean }>
    /** What is there, null for nothing; of kind `unknown` behind 10,000 entries of a folder. */
    find(path: string): Promise<FileEntry | null>
    read(path: string, options?: { tree?: string; most?: number }): Promise<Blob>
    upload(path: string, file: Blob, options?: { signal?: AbortSignal; onProgress?: (sent: number) => void; pause?: (ms: number, signal?: AbortSignal) => Promise<void> }): Promise<any>
    remove(path: string): Promise<any>
    move(from: string, to: string): Promise<any>
    state(): Promise<any>
    record(): Promise<any>
    diff(from: string, to: string, path?: string): Promise<{ files: FileChange[]; count: number; diff?: string }>
    status(): Promise<{ files: FileChange[]; tree?: string; base?: string; count: number; left_out?: Record<string, any> }>
    /** `tree`: the one that was looked at */
    apply(paths?: string[], force?: boolean, tree?: string): Promise<any>
    discard(paths?: string[], tree?: string): Promise<any>
    /** `after`: undo only the change that made this tree of it */
    restore(tree: string, after?: string, paths?: string[]): Promise<any>
    archive(options?: { tree?: string; paths?: string[] }): Promise<Blob>
  }

  interface Modules {
    'ext/files/file-changes': {
      linesOf(diff: string): { added: number; removed: number }
      changesOf(session: Session, from?: number): { files: FileChange[]; count: number; leftOut: Record<string, any> }
      pointsOf(session: Session): FilePoint[]
      turnStart(session: Session): number
      treeBefore(session: Session, index: number): string | null
    }
    'ext/files/csv': { parseTable(text: string, most?: number): { rows: string[][]; columns: number; more: boolean } }
    'ext/files/zip': { zip(files: { name: string; bytes: Uint8Array }[]): Uint8Array[] }
    'ext/files/directory-object': {
      readDirectory(text: string): { folders: { name: string; sha256: string }[]; files: { name: string; sha256: string; bytes: number }[] } | null
      isHash(value: any): boolean
    }
    'ext/files/workspace-api': { open(api: Api, session: string, folder?: string, watch?: (work: Promise<any>) => Promise<any>): Workspace }
    'ext/files/kept-objects': {
      save(session: string, found: KeptObjects, bytes: Map<string, ArrayBuffer>): Promise<void>
      of(session: string): Promise<KeptObjects | null>
      get(hash: string): Promise<ArrayBuffer | null>
      remove(session: string): Promise<void>
      removeUnused(here: Set<string>): Promise<void>
      hold(session: string, bytes: Map<string, ArrayBuffer>): void
    }
    'ext/files/object-fetch': {
      gather(session: Session, options: { get(hash: string): Promise<ArrayBuffer>; known?: Map<string, number>; mostBytes?: number; mostObjects?: number }): Promise<KeptObjects & { fetched: Map<string, ArrayBuffer> }>
      sound(bytes: Map<string, ArrayBuffer>): Map<string, ArrayBuffer>
    }
    'ext/files/session-files': {
      isOffered(app: import('../../ui/types').App): boolean
      foldersOf(app: import('../../ui/types').App): { name: string; mode: string; available?: boolean; reason?: string }[]
      folderOf(app: import('../../ui/types').App, session?: Session): string
      modeOf(app: import('../../ui/types').App, session?: Session): string
      routesOf(app: import('../../ui/types').App, session?: Session, watch?: (work: Promise<any>) => Promise<any>): Workspace
      adopt(app: import('../../ui/types').App, entry: import('../../ui/types').Entry, tree: any): any
      stand(session: Session, tree: any): void
      takeUploads(app: import('../../ui/types').App, entry: import('../../ui/types').Entry, take: (tree: any) => any): Promise<void>
      pin(session: Session): void
      keep(app: import('../../ui/types').App, entry: import('../../ui/types').Entry): void
      wordsOf(error: any): string
      failed(error: any): void
      LETTERS: Record<string, string>
    }
    'ext/files/file-list': { mark(change: string): any; pathOf(file: any): any; changeRow(file: any): any; openingRow(parts: any[], bring: () => Promise<any>, disabled?: boolean): { button: any; place: any; turn(on: boolean): Promise<void> }; size(bytes: number): string; leftWords(left?: Record<string, any>): string; writeLines(place: any, lines: { diff: string; added: number; removed: number }): void }
    'ext/files/copies': {
      keep(app: import('../../ui/types').App, session: Session): Promise<void>
      give(app: import('../../ui/types').App, hashes: string[], onProgress: (share: number) => void): Promise<void>
      keptWords(id: string): Promise<string>
      bytesOf(id: string): Promise<Map<string, ArrayBuffer>>
      zipped(id: string, document: string): Promise<Blob>
      encoded(id: string): Promise<Record<string, string>>
      decoded(objects: any): Map<string, ArrayBuffer>
      unzipped(file: Blob): Promise<Map<string, ArrayBuffer>>
      takeBack(session: Session, objects: Map<string, ArrayBuffer>, stored: boolean): Promise<void>
      fileOf(session: Session, path: string): Promise<Blob | null>
    }
    'ext/files/diff-part': { diffPart(words: string): any; rowsPart(rows: DiffRow[], asks?: boolean): any }
    'ext/files/layer-diffs': {
      layerOf(routes: Workspace): Promise<any>
      diffOf(routes: Workspace, layer: { base?: string; tree?: string }, path: string): Promise<{ diff: string; added: number; removed: number }>
      linesIn(routes: Workspace, layer: any, each?: (path: string, one: { diff: string; added: number; removed: number }) => void): Promise<{ added: number; removed: number } | null>
      MOST: number
    }
    'ext/files/review-bar': {
      reviewBar(app: import('../../ui/types').App, act: (what: 'review' | 'apply' | 'discard' | 'undo', seen: any) => void): { el: any; update(state: import('../../ui/types').State): void; refresh(): Promise<void>; waits(): boolean }
    }
    'ext/files/launcher': { start(context: import('../../ui/types').CommandContext): void; runs: Map<string, number> }
    'ext/files/approval-diff': { refine(app: import('../../ui/types').App, tool: string, args: any, of?: Session): Promise<any> }
  }
}
