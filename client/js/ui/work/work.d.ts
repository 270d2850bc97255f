// The modules that make long runs readable.

import type { Actions, CommandContext, View } from '../types'

export interface CallGroup { id: string; items: any[] }

declare global {
  interface Modules {
    'core/call-groups': {
      groupsOf(items: readonly any[]): CallGroup[]
      summaryOf(items: readonly any[]): { counts: [kind: string, n: number][]; failed: CallItem[]; denied: number; ms: number }
      hasFailed(result: any): boolean
    }
    'css/work': {}
    'ui/work/groups': {
      fold(items: any[]): any[]
      unfold(items: any[], id: string): boolean
      lineView(actions: Actions): View
    }
    'core/ansi': { parseAnsi(source: string): { text: string; spans: [kind: string, start: number, end: number][] } }
    'core/call-marks': { marksOf(args: any): { kind: 'deletes' | 'network' | 'outside' | 'invisible'; what: string }[] }
    'ui/work/call-marks': { marksView(tool: string, args: any, changes: any, info: any): any }
    'ui/work/plan-strip': {
      planStrip(): View<{ session: Session; live: boolean }>
      tasksOf(session: any): { title: string; status: string; result?: string }[]
    }
    'ui/work/launcher': { start(context: CommandContext): void }
  }
}
