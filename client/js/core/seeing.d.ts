/** What the modules that show a run in its parts give: differences, events of a document, time, context. */

declare global {
  interface DiffStep { op: 'same' | 'added' | 'removed'; before: number; after: number }
  interface DiffPart { text: string; changed: boolean }
  /** A line of a difference; `before` and `after` are line numbers, counted from 1. */
  interface DiffRow { kind: 'same' | 'added' | 'removed' | 'gap'; text: string; before?: number; after?: number; count?: number; parts?: DiffPart[] }

  type ToolKind = 'shell' | 'diff' | 'search' | 'tree' | 'file' | 'page' | 'table' | 'generic'
  interface FoundFile { file: string; lines: { number: number; text: string; hit: boolean; gap: boolean }[] }
  interface TreeNode { name: string; type: string; size?: number; children: TreeNode[] }

  interface Modules {
    'core/shape': {
      kindOf(call: { name?: string; args?: any; result?: any }): ToolKind
      numbered(content: string): { start: number; lines: string[] } | null
      foundIn(text: string): FoundFile[]
      treeOf(files: { path: string; type?: string; size?: number }[]): TreeNode[]
      tableOf(value: any): { columns: string[]; rows: any[][]; rest: Record<string, any>; name: string } | null
      changeOf(args: any, result: any): DiffRow[]
      cutOf(text: string): { head: string; left: number; unit: string; tail: string }
      breachOf(envelope: any): { limit: string; allowed: any; observed: any } | null
    }
    'core/diff': {
      align<A>(before: readonly A[], after: readonly A[], same?: (a: A, b: A) => boolean): DiffStep[]
      rows(before: string, after: string, context?: number): DiffRow[]
      parse(text: string): DiffRow[]
      words(before: string, after: string): { before: DiffPart[]; after: DiffPart[]; alike: number }
      count(rows: DiffRow[]): { added: number; removed: number }
      linesOf(text: string): string[]
    }
  }
}
export {}
