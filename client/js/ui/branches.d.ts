/** Branches, editing and what a session waits for. */

declare global {
  interface Modules {
    'ui/message-actions': {
      actionBar(actions: import('./types').Actions, words: (message: Message) => string): import('./types').View
      isMarked(shown: any): boolean
      callEdits(actions: import('./types').Actions, looks: () => import('./types').MenuEntry[]): import('./types').View
      setAsideView(actions: import('./types').Actions): { el: any; update(session: Session, live: boolean): void }
    }
    'ui/limits': {
      limitActions(app: import('./types').App, actions: import('./types').Actions): Record<string, (...rest: any[]) => any>
      setLimits(session: Session, own: Record<string, number>): boolean
    }
    'ui/composer-notices': {
      noticesView(actions: import('./types').Actions): import('./types').View<import('./types').State>
      queueOf(app: import('./types').App): {
        of(session?: Session): { id: string; content: any }[]
        add(content: any, entry?: import('./types').Entry): void
        sendNow(id: string): void
        onEnd(entry: import('./types').Entry): void
      }
    }
    'ui/editors': {
      editInline(place: HTMLElement, options: { value: string; hint: string; sends: boolean; save: (words: string) => Promise<boolean> }): void
      editValue(options: {
        title: string; hint: string; value: any; object?: boolean; isError?: boolean
        save: (made: { value: any; isError: boolean }) => Promise<boolean>
      }): void
      valueField(value: any, object: boolean): { el: any; read(): { ok: boolean; value?: any }; focus(): void; write(words: string): void }
    }
    'ui/branch-list': { openTree(app: import('./types').App, actions: import('./types').Actions): void }
    'ui/one-answer-model': { lend(sessionStore: import('./types').App['sessionStore'], entry: import('./types').Entry, name: string, model: string): Promise<any> }
    'ui/branch-actions': { branchActions(app: import('./types').App, actions: import('./types').Actions): Record<string, (...rest: any[]) => any> }
  }
}
export {}
