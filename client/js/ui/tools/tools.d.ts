/** What the pictures of tool calls share. */

declare global {
  /** A tool call as its picture sees it. */
  interface ToolShown { name: string; args: any; result: any; live?: string; done: boolean }
  /** `covers`: the parts of the card that need not be shown beside it. */
  interface ToolPicture { el: any; update(shown: ToolShown): void; destroy?(): void; covers: ('args' | 'output' | 'result')[] }

  interface Modules {
    'ui/tools/parts': {
      part(title: string, words: () => string, ...content: any[]): { el: any; head: any; note: any }
      notice(words: string, tone?: 'bad' | 'ask' | '', sign?: string): any
      textPart(options: { lang?: string; title: string }): { el: any; update(next: string, noted?: string): void }
      longList(holder: any, all: readonly any[], make: (row: any, index: number) => any, first?: number): void
      block(): { el: any; update(item: { text: string; lang?: string }): void }
      size(bytes: number): string
    }
    'ui/tools/shell': { shellView(): ToolPicture }
    'ui/tools/diff': { diffView(options?: { asks?: boolean }): ToolPicture; drawRows(table: any, rows: DiffRow[], asks?: boolean): void }
    'ui/tools/lists': { searchView(): ToolPicture; resultsView(): ToolPicture; treeView(): ToolPicture; tableView(): ToolPicture }
    'ui/tools/file': { fileView(): ToolPicture; pageView(): ToolPicture }
    'ui/tools/result-media': { resultMediaView(): { el: any; update(media: any[]): void } }
    'ui/tools/result-files': { resultFilesView(fetched: (path: string) => Promise<Blob>): { el: any; update(attachments: any[]): void } }
    'ui/tools/card-body': { toolBody(body: any): { update(item: any): void; destroy(): void; looks(): import('../types').MenuEntry[] }; previewOf(name: string, args: any, app?: import('../types').App, of?: Session): Promise<any> }
  }
}
export {}
