/** What a browser knows of a session that a server keeps: in its local storage, by the session's id. */
interface KeptRecord {
  /** the address of the server */
  base: string
  /** of the server, from which what is here was made; '' before it was stored there */
  revision: string
  /** which write of it here is the same as that */
  stamp: string
  /** ids of what a person has said in it (`saidIn`) when it was the same */
  said: string[]
  /** a run was writing it: what the server has is newer */
  stale?: boolean
  /** it was stored to run, and the server has not said that it does */
  unbegun?: boolean
  /** the server has it no more */
  gone?: boolean
}

/** The stream of a kept session in this page. */
interface KeptLink {
  /** the id of the last frame that was folded */
  last: string
  /** the server's run is followed, or was when the line broke */
  following: boolean
  /** answers were sent, and may have arrived */
  asked?: boolean
  /** the end of a run, until it is known that no other one follows */
  held: YaaEvent | null
  /** of the last frame after which nothing had changed */
  revision: string
  /** what the server said for display: running, followers, attempts, pause_s, branch */
  sign: any
  /** a person has changed something under the run */
  touched?: boolean
  /** nothing runs, and what changes comes at once */
  live?: boolean
}
