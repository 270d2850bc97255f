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
  app: import('../types').App
  context: import('../types').CommandContext
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
  interface Modules {
    'ui/files/session-files': {
      isOffered(app: import('../types').App): boolean
      foldersOf(app: import('../types').App): { name: string; mode: string; available?: boolean; reason?: string }[]
      folderOf(app: import('../types').App, session?: Session): string
      modeOf(app: import('../types').App, session?: Session): string
      routesOf(app: import('../types').App, session?: Session, watch?: (work: Promise<any>) => Promise<any>): Workspace
      adopt(app: import('../types').App, entry: import('../types').Entry, tree: any): any
      stand(session: Session, tree: any): void
      takeUploads(app: import('../types').App, entry: import('../types').Entry, take: (tree: any) => any): Promise<void>
      pin(session: Session): void
      keep(app: import('../types').App, entry: import('../types').Entry): void
      wordsOf(error: any): string
      failed(error: any): void
      LETTERS: Record<string, string>
    }
    'ui/files/file-list': { mark(change: string): any; pathOf(file: any): any; changeRow(file: any): any; openingRow(parts: any[], bring: () => Promise<any>, disabled?: boolean): { button: any; place: any; turn(on: boolean): Promise<void> }; size(bytes: number): string; leftWords(left?: Record<string, any>): string; writeLines(place: any, lines: { diff: string; added: number; removed: number }): void }
    'ui/files/copies': {
      keep(app: import('../types').App, session: Session): Promise<void>
      give(app: import('../types').App, hashes: string[], onProgress: (share: number) => void): Promise<void>
      bytesOf(id: string): Promise<Map<string, ArrayBuffer>>
      zipped(id: string, document: string): Promise<Blob>
      encoded(id: string): Promise<Record<string, string>>
      decoded(objects: any): Map<string, ArrayBuffer>
      unzipped(file: Blob): Promise<Map<string, ArrayBuffer>>
      takeBack(session: Session, objects: Map<string, ArrayBuffer>, stored: boolean): Promise<void>
      fileOf(session: Session, path: string): Promise<Blob | null>
    }
    'ui/files/diff-part': { diffPart(words: string): any; rowsPart(rows: DiffRow[], asks?: boolean): any }
    'io/layer-diffs': {
      layerOf(routes: Workspace): Promise<any>
      diffOf(routes: Workspace, layer: { base?: string; tree?: string }, path: string): Promise<{ diff: string; added: number; removed: number }>
      linesIn(routes: Workspace, layer: any, each?: (path: string, one: { diff: string; added: number; removed: number }) => void): Promise<{ added: number; removed: number } | null>
      MOST: number
    }
    'ui/files/review-bar': {
      reviewBar(app: import('../types').App, act: (what: 'review' | 'apply' | 'discard' | 'undo', seen: any) => void): { el: any; update(state: import('../types').State): void; refresh(): Promise<void>; waits(): boolean }
    }
    'ui/files/launcher': { start(context: import('../types').CommandContext): void; runs: Map<string, number> }
    'ui/files/approval-diff': { refine(app: import('../types').App, tool: string, args: any, of?: Session): Promise<any> }
  }
}
