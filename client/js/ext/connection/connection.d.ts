/** What is wrong with a connection: found out, and shown. */

import type { Actions, State, View } from '../../ui/types'

declare global {
  interface Modules {
    'ext/connection/diagnosis': { explain(error: any, options: { api: Api; page?: string; fetch?: typeof fetch; permissions?: any }): Promise<Explanation> }
    'ext/connection/failure-panel': { failurePanel(actions: Actions): View<State>; explain: Modules['ext/connection/diagnosis']['explain'] }
  }
}
export {}
