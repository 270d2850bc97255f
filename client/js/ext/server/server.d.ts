/** What the parts of the server's settings share. */

import type { App, CommandContext } from '../../ui/types'

/** A field of the server's settings. `problem('')` takes the words away. */
export interface TextField { el: any; input: any; value(): string; problem(words: string): void; focus(): void }

/** The settings of the server, for its owner; `now()` is null before they were read. */
export interface ServerStore {
  routes: any
  app: App
  read(): Promise<any>
  change(changes: any[]): Promise<any>
  now(): any
  listen(listener: () => void): () => void
}

declare global {
  /** Who gives out keys of models, as `GET /settings` names them. `key_shape`: how its keys begin. */
  interface Vendor { vendor?: string; preset: string; title: string; key_shape?: string; key_url?: string; api_url?: string; model_name?: string; needs_url?: boolean }

  interface Modules {
    'ext/server/values': {
      isObject(value: any): value is Record<string, any>
      isSecret(value: any): boolean
      holds(file: any, changes: { path: string[]; value?: any; remove?: boolean }[]): boolean
      vendorsOf(key: string, vendors: Vendor[]): Vendor[]
      freeName(name: string, taken: Record<string, any>): string
      mcpEntries(source: string): { entries: { name: string; entry: any }[]; problem?: string }
      problemsAt(errors: { pointer?: string; detail?: string }[], fields: Record<string, string[]>): { fields: Record<string, string>; rest: string[] }
      numberOf(text: string): number | undefined | null
      NAME: RegExp
    }
    'ext/server/launcher': { start(context: CommandContext): void }
    'ext/server/store': { storeOf(app: App): ServerStore }
    'ext/server/parts': {
      textField(label: string, given?: { hint?: string; value?: string; rows?: number; mono?: boolean; [property: string]: any }): TextField
      secretField(label: string, kept: any, hint?: string): TextField & { read(): any }
      choiceField(label: string, options: [value: string, words: string][], value: string, hint?: string): TextField
      checkField(label: string, checked: boolean, hint?: string): { el: any; input: any }
      busy(pressed: any, note: any, work: () => Promise<any>): Promise<void>
      attempt(note: any, work: () => Promise<any>): Promise<void>
      problemLine(): any
      formOf(given: {
        fields: Record<string, TextField>; label: string; save: () => Promise<{ wrong?: Record<string, string | undefined> } | void>
        paths?: () => Record<string, string[]>; more?: any; buttons?: any[]; cancel?: () => void; kept?: string
      }): { el: any; note: any; submit: any }
      row(about: any[], buttons: any[], below?: any): any
      badge(words: string, look?: string): any
      confirm(title: string, words: string, work: () => Promise<any>): void
      small(label: string, name: string, onclick: () => any, look?: string): any
      listPart(given: {
        lead: string; add?: string; rows: (settings: any) => any[]; none: string
        form?: (settings: any, name: string, close: () => void) => any
      }): { el: any; update(settings: any): void; open(name: string): void }
    }
    'ext/server/trial': {
      trialOf(given: {
        label: string; going: string; what: () => any; ask: (wanted: any, signal: AbortSignal) => Promise<any>
        show: (found: any) => any; then?: (found: any) => void
      }): { press: HTMLButtonElement; note: any; said: any; run(): Promise<void>; end(): void }
      trialView(store: { routes: any }, given: {
        label: string; what: () => any; onModels?: (found: any) => void; onCandidates?: (vendors: Vendor[]) => void
      }): { press: any; note: any; said: any; run(): Promise<any>; end(): void }
      factsOf(model: any): string
      offersOf(input: any): { el: any; write(models: any[]): void }
    }
    'ext/server/connect': {
      connectView(store: ServerStore, given?: { done?: () => void; demo?: () => void }): { el: any; focus(): void; end(): void }
      open(context: CommandContext): void
    }
  }
}
export {}
