/** What modules of core give that show a run: differences, kinds of tool calls, context. */

declare global {
  interface DiffStep { op: 'same' | 'added' | 'removed'; before: number; after: number }
  interface DiffPart { text: string; changed: boolean }
  /** A line of a difference; `before` and `after` are line numbers, counted from 1. */
  interface DiffRow { kind: 'same' | 'added' | 'removed' | 'gap'; text: string; before?: number; after?: number; count?: number; parts?: DiffPart[]; unended?: boolean }

  type ToolKind = 'shell' | 'diff' | 'search' | 'tree' | 'file' | 'page' | 'results' | 'table' | 'generic'
  interface FoundFile { file: string; lines: { number: number; text: string; hit: boolean; gap: boolean }[] }
  interface TreeNode { name: string; type: string; size?: number; children: TreeNode[] }

  /** How a message is sent: `never` is for errors and what was cut off. */
  interface MessageView {
    message: Message; state: 'whole' | 'preview' | 'stub' | 'args' | 'summary' | 'fold' | 'never'; full: number; sent: number; pinned: boolean; op?: any
  }
  interface ContextUsage { used: number; window: number | null; free: number | null; parts: Record<string, number>; measured: boolean; share: number | null }
  interface Marker {
    id: string; after: string; trigger: string; before: number | null; to: number | null
    ops: { kind: string; known: boolean; text: string; count: number; op: any }[]
  }

  interface Modules {
    'core/workspace-stand': { standOf(session: Session): string | null }
    'core/context': {
      estimate(value: any): number
      messageViews(session: Session): MessageView[]
      contextUsage(session: Session, info?: any): ContextUsage
      roomFrom(info: any, session: Session): number | null
      limitOf(session: Session, info: any, name: string): number | null
      markers(session: Session): Marker[]
      pin(session: Session, id: string, on: boolean): void
      restore(session: Session, id: string): void
    }
    'core/tool-call-kind': {
      kindOf(call: { name?: string; args?: any; result?: any }): ToolKind
      parseNumberedLines(content: string): { start: number; lines: string[] } | null
      parseGrep(text: string): FoundFile[]
      treeOf(files: { path: string; type?: string; size?: number }[]): TreeNode[]
      tableOf(value: any): { columns: string[]; rows: any[][]; rest: Record<string, any>; name: string } | null
      changeOf(args: any, result: any): DiffRow[]
      splitTruncated(text: string): { head: string; left: number; unit: string; tail: string }
      breachOf(envelope: any): { limit: string; allowed: any; observed: any } | null
      /** What a call returned, as it is shown. */
      shownResult(result: any): any
    }
    'core/diff': {
      align<A>(before: readonly A[], after: readonly A[], same?: (a: A, b: A) => boolean): DiffStep[]
      rows(before: string, after: string, context?: number): DiffRow[]
      parse(text: string): DiffRow[]
      parseLoose(text: string): DiffRow[]
      words(before: string, after: string): { before: DiffPart[]; after: DiffPart[]; alike: number }
      count(rows: DiffRow[]): { added: number; removed: number }
    }
  }
}
export {}
