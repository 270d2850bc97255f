/** What the inspector shows of a run: its time, its steps beside those of another one, what is odd. */

declare global {
  interface Bar {
    kind: 'model' | 'tool' | 'human' | 'retry' | 'error'; name: string; from: number; to: number; ms: number; message: string; call?: string
    tokens?: number; cost_micro?: number; cost_unit?: string; first_ms?: number; failed?: boolean; stalled?: boolean
  }
  interface Timeline { bars: Bar[]; from: number; to: number; totals: Record<string, number> }

  interface RunStep {
    kind: 'user' | 'answer' | 'call' | 'error' | 'system'; name: string; args: string; text: string; message: string; call?: string; failed?: boolean
  }
  interface RunRow { op: 'same' | 'changed' | 'removed' | 'added'; before?: RunStep; after?: RunStep }
  interface RunTotals { turns: number; calls: number; tokens: number; cost_micro: number; cost_unit: string; ms: number }
  interface RunDiff { rows: RunRow[]; first: number; totals: [RunTotals, RunTotals]; settings: { path: string; before: any; after: any }[] }

  interface Finding { rule: string; level: 'bad' | 'warn' | 'note'; message?: string; call?: string; detail?: string; shown?: string }

  interface Modules {
    'ext/inspector/timeline': { timeline(session: Session, options?: { live?: boolean }): Timeline; axis(bars: Bar[], most: number): { place(at: number): number; length: number } }
    'ext/inspector/run-diff': { steps(session: Session): RunStep[]; compare(before: Session, after: Session): RunDiff; isWords(one: RunStep): boolean }
    'ext/inspector/session-checks': { checkSession(session: Session, options?: { live?: boolean }): Finding[] }
  }
}
export {}
